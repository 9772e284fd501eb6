//! What a program that stands by asks to be permitted, in words for a person, and the decision.
//!
//! It must never permit for longer than once, nor show a person more than a line without what drives a terminal.

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome,
};
use entraclaw_sanitize::clean_line;
use entraclaw_sanitize::secrets::Secrets;
use serde_json::Value;
use tokio::sync::oneshot;

/// Longest title, in characters.
const TITLE_CHARS_MAX: usize = 120;
/// Longest command or path, in characters.
const DETAIL_CHARS_MAX: usize = 400;
/// The members of a tool's input that say what it would do, in `docs/src/facts/agents.md`.
const DETAILS: [&str; 4] = ["command", "path", "fileName", "url"];

/// A wish that is not decided yet. Dropped, it is refused.
#[derive(Debug)]
pub(super) struct Wish {
    /// What the program calls it.
    pub(super) title: String,
    detail: String,
    decides: oneshot::Sender<bool>,
}

impl Wish {
    /// The wish of a request, and its decision to come.
    pub(super) fn of(request: &RequestPermissionRequest) -> (Self, oneshot::Receiver<bool>) {
        let call = &request.tool_call.fields;
        let input = call.raw_input.as_ref();
        let detail = DETAILS.iter().find_map(|name| input?.get(name).and_then(Value::as_str));
        let (decides, decided) = oneshot::channel();
        let title = short(call.title.as_deref().unwrap_or_default(), TITLE_CHARS_MAX);
        (Self { title, detail: short(detail.unwrap_or_default(), DETAIL_CHARS_MAX), decides }, decided)
    }

    /// The wish in words, without secrets that are known.
    pub(super) fn says(&self, secrets: &Secrets) -> String {
        let says = if self.detail.is_empty() || self.detail == self.title {
            self.title.clone()
        } else {
            format!("{}: {}", self.title, self.detail)
        };
        secrets.hide(&says).into_owned()
    }

    /// Decides.
    pub(super) fn decide(self, is_permitted: bool) {
        let _ = self.decides.send(is_permitted);
    }
}

/// The decision in the words that the program offers.
pub(super) fn answer(request: &RequestPermissionRequest, is_permitted: bool) -> RequestPermissionResponse {
    let wanted =
        if is_permitted { PermissionOptionKind::AllowOnce } else { PermissionOptionKind::RejectOnce };
    let option = request.options.iter().find(|option| option.kind == wanted);
    RequestPermissionResponse::new(match option {
        Some(option) => {
            RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
        }
        None => RequestPermissionOutcome::Cancelled,
    })
}

fn short(text: &str, chars_max: usize) -> String {
    let line = clean_line(text);
    match line.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn request(input: &Value, kinds: &[&str]) -> RequestPermissionRequest {
        let options: Vec<Value> =
            kinds.iter().map(|kind| json!({"optionId": kind, "kind": kind, "name": kind})).collect();
        let call = json!({"toolCallId": "call_1", "title": "Create\u{1b}[2J file", "rawInput": input});
        serde_json::from_value(json!({"sessionId": "s", "toolCall": call, "options": options})).unwrap()
    }

    const ALL: [&str; 3] = ["allow_once", "allow_always", "reject_once"];

    #[rstest]
    #[case(json!({"fileName": "/beside/a", "diff": "x"}), "Create file: /beside/a")]
    #[case(json!({"command": "touch a\nrm b"}), "Create file: touch a rm b")]
    #[case(json!({"other": 1}), "Create file")]
    #[case(json!({"command": format!("echo ghp_{}", "a1B2".repeat(9))}), "Create file: echo [a secret was removed here]")]
    fn a_wish_is_one_clean_line(#[case] input: Value, #[case] expected: &str) {
        let (wish, _) = Wish::of(&request(&input, &ALL));
        assert_eq!(wish.says(&Secrets::new([])), expected);
    }

    #[test]
    fn a_long_command_is_shown_in_part() {
        let (wish, _) = Wish::of(&request(&json!({"command": "é".repeat(5_000)}), &ALL));
        assert!(wish.says(&Secrets::new([])).chars().count() < 600);
    }

    #[rstest]
    #[case(&ALL, true, json!({"outcome": "selected", "optionId": "allow_once"}))]
    #[case(&ALL, false, json!({"outcome": "selected", "optionId": "reject_once"}))]
    #[case(&["allow_always"], true, json!({"outcome": "cancelled"}))]
    #[case(&[], false, json!({"outcome": "cancelled"}))]
    fn nothing_is_permitted_for_longer_than_once(
        #[case] kinds: &[&str],
        #[case] is_permitted: bool,
        #[case] expected: Value,
    ) {
        let answer = answer(&request(&json!({}), kinds), is_permitted);
        assert_eq!(serde_json::to_value(answer).unwrap()["outcome"], expected);
    }

    #[tokio::test]
    async fn a_wish_that_is_dropped_is_refused() {
        let (wish, decided) = Wish::of(&request(&json!({}), &ALL));
        drop(wish);
        assert!(!decided.await.unwrap_or(false));
    }
}
