//! A script as a YAML file. A mistake is told with the line that holds it.

use crate::script::{Answer, Script};

/// Most bytes of a flood. More would be held in memory for nothing.
const FLOOD_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most children of one answer, so that a mistyped script can't fill a machine.
const CHILDREN_MAX: u32 = 64;

/// Why a script can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The text is no script.
    #[error("{name}: {problem}")]
    Form {
        /// The file.
        name: String,
        /// The parser's words.
        problem: String,
    },
    /// A number is too large.
    #[error("{name}: {field} is {value}; use {max} at most")]
    TooMuch {
        /// The file.
        name: String,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
        /// The limit.
        max: u64,
    },
}

impl Script {
    /// Reads a script; `name` is the file's, for error messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script: Self = yaml::read(text).map_err(|mistake| ScriptError::Form {
            name: name.to_owned(),
            problem: mistake.within(name, text),
        })?;
        for answer in &script.answers {
            bounded(name, answer)?;
        }
        Ok(script)
    }

    /// The answer to a prompt.
    pub fn answer(&self, prompt: &str) -> Answer {
        let fits = |answer: &&Answer| answer.when.as_ref().is_none_or(|when| prompt.contains(&when.contains));
        self.answers.iter().find(fits).cloned().unwrap_or_default()
    }

    /// The version that the agent says it is.
    pub fn version(&self) -> &str {
        self.version.as_deref().unwrap_or_else(|| self.agent.version())
    }
}

fn bounded(name: &str, answer: &Answer) -> Result<(), ScriptError> {
    let limits = [
        ("stdout_bytes", answer.stdout_bytes.unwrap_or_default(), FLOOD_BYTES_MAX),
        ("stderr_bytes", answer.stderr_bytes.unwrap_or_default(), FLOOD_BYTES_MAX),
        ("children", answer.children.into(), CHILDREN_MAX.into()),
    ];
    match limits.into_iter().find(|(_, value, max)| value > max) {
        Some((field, value, max)) => Err(ScriptError::TooMuch { name: name.to_owned(), field, value, max }),
        None => Ok(()),
    }
}
