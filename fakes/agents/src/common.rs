//! What several CLIs do in the same way: where the prompt comes from, how a start is refused, what a tool is called.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::act::{Act, Phase};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::{Answer, Script, Tool};

/// Whether a prompt is known yet.
pub(crate) enum Prompt {
    /// This one.
    Known(String),
    /// Stdin must be read first.
    Read(Act),
}

/// The prompt of the command line together with what came on stdin.
///
/// `patience_ms` is how long the program waits for stdin where the command line has a prompt; without it, to the end.
/// `join` puts the two together.
pub(crate) fn prompt(
    argument: Option<&str>,
    invocation: &Invocation,
    patience_ms: Option<u64>,
    join: impl Fn(&str, &str) -> String,
) -> Prompt {
    let Some(bytes) = &invocation.stdin else {
        return Prompt::Read(Act::ReadInput { at_most_ms: patience_ms.filter(|_| argument.is_some()) });
    };
    let read = String::from_utf8_lossy(bytes);
    let read = read.trim_end();
    Prompt::Known(match argument {
        None => read.to_owned(),
        Some(argument) if read.is_empty() => argument.to_owned(),
        Some(argument) => join(argument, read),
    })
}

/// Ends before anything began.
pub(crate) fn refuse(pen: &mut Pen, text: &str, code: u8) {
    pen.err(text);
    pen.err("\n");
    pen.exit(code);
}

/// What the program is busy with after these acts.
pub(crate) fn phase(done: &[Act]) -> Option<Phase> {
    done.iter().rev().find_map(|act| if let Act::Enter(phase) = act { Some(*phase) } else { None })
}

/// Whether a text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The command line that a shell tool runs.
pub(crate) fn command(tool: &Tool) -> String {
    format!("{} {}", tool.name, tool.takes_ms)
}

/// The models that a script names, or this one.
pub(crate) fn model<'script>(
    script: &'script Script,
    asked: Option<&'script str>,
    usual: &'script str,
) -> &'script str {
    asked.or(script.models.first().map(String::as_str)).unwrap_or(usual)
}

/// What the forms of several CLIs hold.
pub(crate) struct Run<'run> {
    /// The script.
    pub script: &'run Script,
    /// How the program was started.
    pub invocation: &'run Invocation,
    /// The answer to the prompt.
    pub answer: Answer,
    /// The model that is shown.
    pub model: String,
    /// The id of the session.
    pub session: String,
    /// The session's file below the store.
    pub file: String,
    /// The folders that may be written besides the own one.
    pub folders: Vec<PathBuf>,
}

impl Run<'_> {
    /// Stores what was said.
    pub(crate) fn stores(&self, pen: &mut Pen, who: &str, text: &str) {
        let line = json!({"type": who, "sessionId": self.session, "cwd": self.invocation.folder,
            "timestamp": pen.now(), "message": {"role": who, "content": text}});
        pen.store(&self.file, format!("{line}\n"));
    }

    /// Whether a path is in a folder that may be written.
    pub(crate) fn is_inside(&self, path: &Path) -> bool {
        path.starts_with(&self.invocation.folder)
            || self.folders.iter().any(|folder| path.starts_with(self.invocation.path(folder)))
    }

    /// All tokens.
    pub(crate) fn tokens(&self) -> u64 {
        self.answer.usage.input_tokens + self.answer.usage.output_tokens
    }
}

/// A line of JSON.
pub(crate) fn line(pen: &mut Pen, value: &Value) {
    pen.out(format!("{value}\n"));
}

/// The folder of a project's sessions below the store.
pub(crate) fn project(invocation: &Invocation) -> String {
    let folder = invocation.folder.display().to_string();
    format!("projects/{}", folder.replace(['/', '.', '\\', ':'], "-"))
}

/// The ids of the sessions in a folder of the store, the latest at the end.
pub(crate) fn sessions(outside: &dyn Outside, folder: &str) -> Vec<String> {
    let names = outside.list(folder).into_iter();
    names.filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned)).collect()
}
