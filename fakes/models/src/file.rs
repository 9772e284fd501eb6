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
        let script: Self = yaml::read(text).map_err(|mistake| ScriptError::Form {
            name: name.to_owned(),
            problem: mistake.within(name, text),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::asked;

    #[test]
    fn the_task_that_was_asked_for_last_is_answered_until_it_has_ended() {
        let text = "server: openai\nanswers:\n\
                    - { when: { last: one, results: 0 }, says: one begins }\n\
                    - { when: { last: one }, says: one ends }\n\
                    - { when: { last: two }, says: two ends }\n";
        let script = Script::parse("a script", text).unwrap();
        let says = |messages: serde_json::Value| script.answer(&asked(&json!({"messages": messages}))).says;
        let user = |text: &str| json!({"role": "user", "content": text});
        let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "1"}]});
        let result = json!({"role": "tool", "content": "done"});
        let answer = json!({"role": "assistant", "content": "one ends"});
        assert_eq!(says(json!([user("two, and one")])), "one begins");
        assert_eq!(says(json!([user("one, and two")])), "two ends");
        assert_eq!(says(json!([user("one"), call, result])), "one ends");
        assert_eq!(says(json!([user("one"), call, result, user("meanwhile two")])), "one ends");
        assert_eq!(says(json!([user("one"), call, result, answer, user("two")])), "two ends");
        // What was said so far is gone on with.
        assert_eq!(says(json!([user("two"), {"role": "assistant", "content": "two"}])), "two ends");
    }
}
