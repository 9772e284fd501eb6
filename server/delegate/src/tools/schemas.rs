//! The tools, as a model is shown them.

use entraclaw_models::ToolSchema;
use serde_json::{Value, json};

struct Row {
    name: &'static str,
    description: &'static str,
    /// Each argument: its name, its type, what it is, and whether it must be given.
    arguments: &'static [(&'static str, &'static str, &'static str, bool)],
    runs_a_command: bool,
}

const PATH: &str = "path of a file, relative to the project";

const ROWS: &[Row] = &[
    Row {
        name: "read_file",
        description: "Read a text file of the project.",
        arguments: &[
            ("path", "string", PATH, true),
            ("offset", "integer", "first line, from 1", false),
            ("limit", "integer", "number of lines, at most 2000", false),
        ],
        runs_a_command: false,
    },
    Row {
        name: "write_file",
        description: "Write a whole file of the project. Folders are made. Use edit_file to change a part.",
        arguments: &[
            ("path", "string", PATH, true),
            ("content", "string", "the whole text of the file", true),
        ],
        runs_a_command: false,
    },
    Row {
        name: "edit_file",
        description: "Replace one place in a file. old_string must occur exactly once, with its spaces.",
        arguments: &[
            ("path", "string", PATH, true),
            ("old_string", "string", "the text as it is in the file", true),
            ("new_string", "string", "the text that replaces it", true),
        ],
        runs_a_command: false,
    },
    Row {
        name: "bash",
        description: "Run a command in the project. It can write in the project only and has no network. It has no input.",
        arguments: &[("command", "string", "the command, for bash", true)],
        runs_a_command: true,
    },
    Row {
        name: "glob",
        description: "List files of the project by a pattern like src/**/*.rs. What .gitignore names is left out.",
        arguments: &[
            ("pattern", "string", "the pattern", true),
            ("path", "string", "folder to look in", false),
        ],
        runs_a_command: false,
    },
    Row {
        name: "grep",
        description: "Find lines in files of the project by a regular expression. What .gitignore names is left out.",
        arguments: &[
            ("pattern", "string", "the regular expression", true),
            ("path", "string", "folder or file to look in", false),
            ("glob", "string", "only in files with such a name, like *.rs", false),
            ("ignore_case", "boolean", "whether letter case does not count", false),
        ],
        runs_a_command: false,
    },
    Row {
        name: "lsp_diagnostics",
        description: "Check the project with its own compiler or linter and list errors by file and line.",
        arguments: &[("path", "string", "only the findings of this file", false)],
        runs_a_command: true,
    },
];

/// The tools of a project, as a model is shown them.
pub fn all() -> Vec<ToolSchema> {
    ROWS.iter().map(schema).collect()
}

/// The names of all tools, as a list to read.
pub(super) fn names() -> String {
    ROWS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

/// Whether a tool runs in the sandbox.
pub(super) fn runs_a_command(name: &str) -> bool {
    ROWS.iter().any(|row| row.name == name && row.runs_a_command)
}

fn schema(row: &Row) -> ToolSchema {
    let property = |(name, kind, what, _): &(&str, &str, &str, bool)| {
        ((*name).to_owned(), json!({ "type": kind, "description": what }))
    };
    let properties: serde_json::Map<String, Value> = row.arguments.iter().map(property).collect();
    let required: Vec<&str> =
        row.arguments.iter().filter(|argument| argument.3).map(|argument| argument.0).collect();
    ToolSchema {
        name: row.name.to_owned(),
        description: row.description.to_owned(),
        parameters: json!({ "type": "object", "properties": properties, "required": required }),
    }
}
