//! A word of the user at the client: whether this may be done, asked by `elicitation/create` while a call is open, or in
//! protocol 2026-07-28 by an answer that says what the call needs.
//!
//! It must never take silence, a closed form or an answer that it does not know for a yes, nor ask a client that did not
//! declare forms. What is asked is shown to a person, so the caller of [`User::permits`] bounds and sanitises it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// The member of the form that is the user's choice.
const CHOICE: &str = "permit";

/// What the user said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// Yes, this once.
    Yes,
    /// No: they chose so, or declined to answer.
    No,
    /// Nothing: the form was closed, the client shows none, or nobody answered in time.
    None,
}

impl Word {
    /// The word in the result of `elicitation/create`.
    pub(crate) fn of(result: &Value) -> Self {
        match result["action"].as_str() {
            Some("accept") if result["content"][CHOICE] == true => Self::Yes,
            Some("accept" | "decline") => Self::No,
            _ => Self::None,
        }
    }
}

/// A form on its way to the client.
pub(crate) struct Form {
    pub(crate) params: Value,
    pub(crate) patience: Duration,
    pub(crate) word: oneshot::Sender<Word>,
    /// The call that needs it, where the client is asked by the call's answer.
    pub(crate) call: Option<u64>,
}

/// The user at the client of one call. Clones are cheap.
#[derive(Debug, Clone)]
pub struct User {
    forms: Option<mpsc::Sender<Form>>,
    call: Option<u64>,
}

impl User {
    /// The user at a client that shows forms. `call` is the call that needs a word, where the call's answer asks for it.
    pub(crate) fn with_forms(forms: mpsc::Sender<Form>, call: Option<u64>) -> Self {
        Self { forms: Some(forms), call }
    }

    /// The user at a client that shows none.
    pub(crate) fn without_forms() -> Self {
        Self { forms: None, call: None }
    }

    /// Whether the client shows forms.
    pub fn can_be_asked(&self) -> bool {
        self.forms.is_some()
    }

    /// Asks the user to permit this once. When the returned future is dropped, the form is taken back.
    pub async fn permits(&self, what: String, title: &str, patience: Duration) -> Word {
        let Some(forms) = &self.forms else { return Word::None };
        let schema = json!({
            "type": "object",
            "properties": {CHOICE: {"type": "boolean", "title": title, "default": false}},
            "required": [CHOICE]
        });
        let mut params = json!({"message": what, "requestedSchema": schema});
        if self.call.is_some() {
            params["mode"] = "form".into();
        }
        let (word, said) = oneshot::channel();
        if forms.send(Form { params, patience, word, call: self.call }).await.is_err() {
            return Word::None;
        }
        // The connection gives up a request of its own; a call that is to come again can't be.
        let until = if self.call.is_some() { patience } else { patience.saturating_mul(2) };
        timeout(until, said).await.ok().and_then(Result::ok).unwrap_or(Word::None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_chosen_yes_is_a_yes() {
        for (result, expected) in [
            (json!({"action": "accept", "content": {"permit": true}}), Word::Yes),
            (json!({"action": "accept", "content": {"permit": false}}), Word::No),
            (json!({"action": "accept", "content": {"permit": "true"}}), Word::No),
            (json!({"action": "accept"}), Word::No),
            (json!({"action": "decline"}), Word::No),
            (json!({"action": "cancel"}), Word::None),
            (json!({"action": "later"}), Word::None),
            (json!([]), Word::None),
        ] {
            assert_eq!(Word::of(&result), expected, "{result}");
        }
    }
}
