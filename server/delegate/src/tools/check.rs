//! Runs the project's own checker in the sandbox, without a network, and reads what it finds.

mod read;

use std::path::Path;

use serde::Deserialize;
use tokio::sync::watch;

use entraclaw_sandbox::{Approval, Cause, CommandLine, Sandbox};

use super::command::outcome;
use super::outcome::{slashes, stopped};
use super::root::Root;
use crate::tool::ToolOutcome;
use read::{Finding, Form};

/// The most findings that are told.
const FINDINGS_MAX: usize = 100;

/// Checks the syntax of Python files with nothing but Python.
const PYTHON: &str = "import ast, os, sys
names = sys.argv[1:] or [os.path.join(f, n) for f, d, ns in os.walk('.') if not {'.git', 'node_modules', '.venv'} & set(f.split(os.sep)) for n in ns if n.endswith('.py')]
bad = 0
for name in sorted(names):
    try: ast.parse(open(name, 'rb').read(), name)
    except (SyntaxError, ValueError) as error: bad = 1; print(f'{name}:{getattr(error, \"lineno\", 1) or 1}: error: {error.msg if isinstance(error, SyntaxError) else error}')
sys.exit(bad)";

/// A checker.
struct Checker {
    /// Files in the project's folder that it is for.
    markers: &'static [&'static str],
    /// Endings of files that it is for.
    endings: &'static [&'static str],
    words: &'static [&'static str],
    form: Form,
    /// Whether the file that is asked for is its last word.
    takes_a_file: bool,
}

/// All checkers; the first that is installed is used.
const CHECKERS: &[Checker] = &[
    Checker {
        markers: &["Cargo.toml"],
        endings: &["rs"],
        words: &["cargo", "check", "--message-format=json", "--quiet", "--offline", "--all-targets"],
        form: Form::Cargo,
        takes_a_file: false,
    },
    Checker {
        markers: &["tsconfig.json"],
        endings: &["ts", "tsx", "mts", "cts"],
        words: &["node_modules/.bin/tsc", "--noEmit", "--pretty", "false"],
        form: Form::Tsc,
        takes_a_file: false,
    },
    Checker {
        markers: &["tsconfig.json"],
        endings: &["ts", "tsx", "mts", "cts"],
        words: &["tsc", "--noEmit", "--pretty", "false"],
        form: Form::Tsc,
        takes_a_file: false,
    },
    Checker {
        markers: PYTHON_MARKERS,
        endings: &["py"],
        words: &["pyright", "--outputjson"],
        form: Form::Pyright,
        takes_a_file: true,
    },
    Checker {
        markers: PYTHON_MARKERS,
        endings: &["py"],
        words: &["ruff", "check", "--output-format=concise", "--no-cache"],
        form: Form::Lines,
        takes_a_file: true,
    },
    Checker {
        markers: PYTHON_MARKERS,
        endings: &["py"],
        words: &["python3", "-c", PYTHON],
        form: Form::Lines,
        takes_a_file: true,
    },
    Checker {
        markers: &["go.mod"],
        endings: &["go"],
        words: &["go", "vet", "./..."],
        form: Form::Lines,
        takes_a_file: false,
    },
];

const PYTHON_MARKERS: &[&str] = &["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];

#[derive(Debug, Deserialize)]
pub(super) struct Diagnostics {
    #[serde(default)]
    path: Option<String>,
}

/// Runs the first checker that is for the project, or for the file, and is installed.
pub(super) async fn diagnostics(
    root: &Root,
    sandbox: &Sandbox,
    approval: Approval,
    asked: &Diagnostics,
    stop: watch::Receiver<bool>,
) -> Result<ToolOutcome, String> {
    let file = asked
        .path
        .as_deref()
        .map(|path| root.relative(path))
        .transpose()?
        .filter(|path| path != Path::new("."));
    if let Some(missing) = file.as_ref().filter(|file| !root.has(file)) {
        return Err(format!("{} is not there; look with glob", missing.display()));
    }
    let mut tried = Vec::new();
    for checker in CHECKERS.iter().filter(|checker| checker.is_for(root, file.as_deref())) {
        let program = checker.words[0];
        if !is_there(program, root, sandbox) {
            tried.push(program);
            continue;
        }
        let mut words: Vec<String> = checker.words.iter().map(|word| (*word).to_owned()).collect();
        if let (true, Some(file)) = (checker.takes_a_file, &file) {
            words.push(slashes(file));
        }
        let command = CommandLine::new(words, root.folder());
        let ended = sandbox.run(&command, approval, stop.clone()).await.map_err(|error| error.to_string())?;
        // A name may be there and lead to nothing, as those of version managers do.
        if matches!(ended.cause, Cause::NotStarted(_)) || matches!(ended.exit_code, Some(126 | 127)) {
            tried.push(program);
            continue;
        }
        if ended.cause == Cause::Stopped {
            return Ok(stopped());
        }
        let shown = if checker.words.contains(&PYTHON) {
            "python3 (syntax only)".to_owned()
        } else {
            checker.words.join(" ")
        };
        let said = (ended.stdout.text(), ended.stderr.text());
        let mut findings = checker.form.read(&said.0, &said.1, root.folder());
        findings.retain(|finding| file.as_ref().is_none_or(|file| finding.file == slashes(file)));
        let is_clean = ended.exit_code == Some(0);
        let text = if findings.is_empty() && !is_clean && file.is_none() {
            format!("{shown} failed:\n{}\n{}", said.0, said.1)
        } else {
            told(&shown, &findings)
        };
        let told = outcome(&ended, &shown, &text, sandbox);
        return Ok(ToolOutcome {
            succeeded: ended.cause == Cause::Exited && (is_clean || !findings.is_empty()),
            ..told
        });
    }
    if tried.is_empty() {
        return Err(
            "no checker is known for this; the known ones are for Rust, TypeScript, Python and Go".to_owned()
        );
    }
    Err(format!("no checker is installed; looked for {}", tried.join(", ")))
}

fn told(checker: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("{checker}: nothing found");
    }
    let mut lines = vec![format!("{checker}: {} findings", findings.len())];
    let line = |finding: &Finding| format!("{}:{}: {}", finding.file, finding.line, finding.message);
    lines.extend(findings.iter().take(FINDINGS_MAX).map(line));
    if findings.len() > FINDINGS_MAX {
        lines.push(format!("[{} more]", findings.len() - FINDINGS_MAX));
    }
    lines.join("\n")
}

impl Checker {
    fn is_for(&self, root: &Root, file: Option<&Path>) -> bool {
        match file.and_then(Path::extension) {
            Some(ending) => self.endings.iter().any(|known| ending == *known),
            None => self.markers.iter().any(|marker| root.has(Path::new(marker))) || self.is_for_files(root),
        }
    }

    /// Python needs no marker: a script in the project's folder is enough.
    fn is_for_files(&self, root: &Root) -> bool {
        let is_one = |entry: std::fs::DirEntry| {
            let path = entry.path();
            path.extension().is_some_and(|ending| self.endings.iter().any(|known| ending == *known))
        };
        self.endings == ["py"]
            && std::fs::read_dir(root.folder()).is_ok_and(|listed| listed.flatten().any(is_one))
    }
}

/// Whether a program is in the project, or in a folder where programs are looked for.
fn is_there(program: &str, root: &Root, sandbox: &Sandbox) -> bool {
    if program.contains('/') {
        return root.has(Path::new(program));
    }
    let path = sandbox.variable("PATH").unwrap_or_default();
    std::env::split_paths(path).any(|folder| {
        folder.join(program).is_file()
            || folder.join(format!("{program}.exe")).is_file()
            || folder.join(format!("{program}.cmd")).is_file()
    })
}
