//! A script as a YAML file. A mistake is told with the line that holds it.

use crate::plan::Asked;
use crate::script::{Answer, Script};

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
    /// A server without a slot can't answer.
    #[error("{name}: slots.count is 0; use 1 or more")]
    NoSlot {
        /// The file.
        name: String,
    },
}

impl Script {
    /// Reads a script; `name` is the file's, for error messages.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script: Self = serde_saphyr::from_str(text).map_err(|error| {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            ScriptError::Form {
                name: name.to_owned(),
                problem: text.replace("--> <input>", &format!("--> {name}")),
            }
        })?;
        if script.slots.count == 0 {
            return Err(ScriptError::NoSlot { name: name.to_owned() });
        }
        Ok(script)
    }

    /// The answer to a question.
    pub(crate) fn answer(&self, asked: &Asked) -> Answer {
        let place = |text: &str| asked.task.rfind(text);
        let lasts = self.answers.iter().filter_map(|answer| answer.when.as_ref()?.last.as_deref());
        let last = lasts.filter_map(|text| Some((place(text)?, text))).max();
        let fits = |answer: &&Answer| {
            answer.when.as_ref().is_none_or(|when| {
                let results = if when.last.is_some() { asked.task_results } else { asked.results };
                when.contains.as_ref().is_none_or(|text| asked.words.contains(text))
                    && when.last.as_deref().is_none_or(|text| last.is_some_and(|(_, last)| last == text))
                    && when.results.is_none_or(|wanted| wanted == results)
            })
        };
        self.answers.iter().find(fits).cloned().unwrap_or_default()
    }
}
