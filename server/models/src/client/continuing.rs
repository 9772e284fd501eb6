//! Whether Ollama goes on from a text that its model said: its server shows what it makes of a question, without asking the
//! model, by `_debug_render_only` (since 0.11.5: `ChatHandler` in
//! <https://github.com/ollama/ollama/blob/main/server/routes.go>). A template that leaves a last message open ends with its
//! text. Its maintainers say that this is how to go on (<https://github.com/ollama/ollama/issues/6778>), and not every
//! template does (<https://github.com/ollama/ollama/issues/5775>), so it is looked at for each model.
//!
//! It must never take the word of a server that has not shown it.

use serde_json::{Value, json};

use super::wire::Wire;
use crate::answer::ToolRequest;
use crate::limits::FACTS_TIMEOUT;
use crate::question::{Question, Role, ToolSchema, Turn};
use crate::transport::Method;

/// What the model is made to have said.
const SAID: &str = "one two";

/// Whether each form of question that is asked here goes on; `None` if the server does not show it.
pub(super) async fn proven(wire: &Wire, has_tools: bool, body: impl Fn(&Question) -> Value) -> Option<bool> {
    let forms = if has_tools { vec![plain(), with_tool()] } else { vec![plain()] };
    for form in forms {
        let mut body = body(&form);
        body["_debug_render_only"] = true.into();
        body["stream"] = false.into();
        let shown = wire.whole(Method::Post, "/api/chat", Some(&body), FACTS_TIMEOUT).await;
        let (status, text) = shown.ok()?;
        if status != 200 {
            return (400..500).contains(&status).then_some(false);
        }
        let shown: Value = serde_json::from_str(&text).ok()?;
        if !shown.pointer("/_debug_info/rendered_template")?.as_str()?.ends_with(SAID) {
            return Some(false);
        }
    }
    Some(true)
}

fn turn(role: Role, text: &str) -> Turn {
    Turn { role, text: text.to_owned(), tool_requests: Vec::new(), answers: None }
}

/// A question and the beginning of its answer. A server that is too old to show it makes one token more.
fn plain() -> Question {
    Question {
        turns: vec![turn(Role::System, "Count."), turn(Role::User, "Count to three.")],
        said: Some(SAID.to_owned()),
        tokens_max: Some(1),
        ..Question::default()
    }
}

/// The same after a tool was used.
fn with_tool() -> Question {
    let plain = plain();
    let id = "call_0".to_owned();
    let name = "read_file".to_owned();
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let request = ToolRequest { id: id.clone(), name: name.clone(), arguments: json!({"path": "a"}) };
    let asks = Turn { tool_requests: vec![request], ..turn(Role::Assistant, "") };
    let result = Turn { answers: Some(id), ..turn(Role::Tool, "3") };
    Question {
        turns: plain.turns.iter().cloned().chain([asks, result]).collect(),
        tools: vec![ToolSchema { name, description: "Reads.".to_owned(), parameters }],
        ..plain
    }
}

/// The blanks at the end of what was said. Templates take them away, so they are not sent, and the model says them again.
pub(super) struct Blanks<'a>(&'a str);

impl<'a> Blanks<'a> {
    /// What is sent of a text, and its blanks.
    pub(super) fn split(said: &'a str) -> (&'a str, Self) {
        let sent = said.trim_end();
        (sent, Self(&said[sent.len()..]))
    }

    /// A piece of the answer without the blanks that were there already.
    pub(super) fn leave_out<'t>(&mut self, piece: &'t str) -> &'t str {
        let mut rest = piece;
        while let (Some(blank), Some(next)) = (self.0.chars().next(), rest.chars().next()) {
            if blank != next {
                self.0 = "";
                break;
            }
            self.0 = &self.0[blank.len_utf8()..];
            rest = &rest[next.len_utf8()..];
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_questions_are_of_the_same_conversation_and_the_second_of_a_tool_too() {
        let (plain, with_tool) = (plain(), with_tool());
        let roles = |question: &Question| question.turns.iter().map(|turn| turn.role).collect::<Vec<_>>();
        assert_eq!(roles(&plain), [Role::System, Role::User]);
        assert_eq!(roles(&with_tool), [Role::System, Role::User, Role::Assistant, Role::Tool]);
        assert_eq!(with_tool.turns[..2], plain.turns[..]);
        assert_eq!(with_tool.turns[3].answers.as_ref(), Some(&with_tool.turns[2].tool_requests[0].id));
        // Both are cut where the model has begun to answer, and cost no more than one token.
        for question in [&plain, &with_tool] {
            assert_eq!((question.said.as_deref(), question.tokens_max), (Some(SAID), Some(1)));
        }
        assert!(plain.tools.is_empty() && with_tool.tools.len() == 1);
    }

    #[test]
    fn blanks_are_neither_lost_nor_said_twice() {
        let rest = |said: &'static str, pieces: &[&str]| {
            let (sent, mut blanks) = Blanks::split(said);
            let left: Vec<&str> = pieces.iter().map(|piece| blanks.leave_out(piece)).collect();
            (sent, left.concat())
        };
        assert_eq!(rest("one two", &[" three"]), ("one two", " three".to_owned()));
        assert_eq!(rest("one two ", &[" three"]), ("one two", "three".to_owned()));
        assert_eq!(rest("one\n\n", &["\n", "\ntwo"]), ("one", "two".to_owned()));
        // Blanks that differ from those that were there are the model's own.
        assert_eq!(rest("one \n", &["\ntwo"]), ("one", "\ntwo".to_owned()));
        assert_eq!(rest("one \n", &[" ", "", "\n", "\ntwo"]), ("one", "\ntwo".to_owned()));
        assert_eq!(rest("one ", &["two"]), ("one", "two".to_owned()));
    }
}
