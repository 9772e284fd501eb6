//! Tools that a model asks for in its text, where it has no other form: `<tool_call>{"name": …, "arguments": …}</tool_call>`
//! anywhere, or such an object as the whole answer, with or without a code fence.
//!
//! What may be one is held back until it is certain, so that the asker never sees half of it.

use serde_json::Value;

use super::{Joined, arguments};

const OPENS: &str = "<tool_call>";
const CLOSES: &str = "</tool_call>";

const FENCE: &str = "```";
/// The members of a call.
const KEYS: [&str; 5] = ["name", "arguments", "parameters", "id", "type"];

/// Watches text as it comes.
#[derive(Debug)]
pub(crate) struct TextWatch {
    held: String,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Too little has come to tell whether the whole answer is a call.
    Start,
    /// Text goes through up to the next tag.
    Open,
    /// Everything is held until the end.
    Holds,
    /// No tools are offered: everything goes through.
    Off,
}

impl TextWatch {
    /// A watch. `goes_on` says that the answer has begun in an earlier stream.
    pub(crate) fn new(has_tools: bool, goes_on: bool) -> Self {
        let state = match (has_tools, goes_on) {
            (false, _) => State::Off,
            (true, true) => State::Open,
            (true, false) => State::Start,
        };
        Self { held: String::new(), state }
    }

    /// Takes text and returns what is certainly for the asker.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        if self.state == State::Start {
            match may_be_call(&self.held) {
                None => return String::new(),
                Some(true) => self.state = State::Holds,
                Some(false) => self.state = State::Open,
            }
        }
        match self.state {
            State::Off => std::mem::take(&mut self.held),
            State::Start | State::Holds => String::new(),
            State::Open => {
                let certain = if let Some(at) = self.held.find(OPENS) {
                    self.state = State::Holds;
                    at
                } else {
                    self.held.len() - tail_that_may_open(&self.held)
                };
                self.held.drain(..certain).collect()
            }
        }
    }

    /// At the end: what of the held text is for the asker, and the tools in it. Only tools that are offered count.
    pub(crate) fn finish(&mut self, offered: &dyn Fn(&str) -> bool) -> (String, Vec<Joined>) {
        let held = std::mem::take(&mut self.held);
        let (text, tools) = tagged(&held);
        if !tools.is_empty() {
            return (text, tools);
        }
        match call(held.trim()) {
            Some(tool) if offered(&tool.name) => (String::new(), vec![tool]),
            _ => (held, tools),
        }
    }
}

/// Whether an answer that begins so may be a call as a whole; nothing if more has to come first.
fn may_be_call(text: &str) -> Option<bool> {
    let begun = text.trim_start();
    if begun.len() < FENCE.len() && FENCE.starts_with(begun) {
        return None;
    }
    let inner = match begun.strip_prefix(FENCE) {
        Some(fenced) => fenced.split_once('\n')?.1.trim_start(),
        None => begun,
    };
    let Some(object) = inner.strip_prefix('{') else {
        return if inner.is_empty() { None } else { Some(false) };
    };
    let key = object.trim_start().trim_start_matches(['"', '\'']);
    if KEYS.iter().any(|known| key.starts_with(known)) {
        return Some(true);
    }
    if KEYS.iter().any(|known| known.starts_with(key)) { None } else { Some(false) }
}

/// How many bytes at the end of the text may be the beginning of a tag.
fn tail_that_may_open(text: &str) -> usize {
    (1..OPENS.len()).rev().find(|&length| text.ends_with(&OPENS[..length])).unwrap_or(0)
}

/// The text around the tagged calls, and the calls. A call that nothing closes ends with the text; one that is no call stays
/// a tool without a name, so that its form is told as a fault.
fn tagged(text: &str) -> (String, Vec<Joined>) {
    let (mut around, mut tools, mut rest) = (String::new(), Vec::new(), text);
    while let Some(at) = rest.find(OPENS) {
        around.push_str(&rest[..at]);
        rest = &rest[at + OPENS.len()..];
        let (inner, after) = rest.split_once(CLOSES).unwrap_or((rest, ""));
        let unread = || Joined { arguments: inner.trim().to_owned(), ..Joined::default() };
        tools.push(call(inner.trim()).unwrap_or_else(unread));
        rest = after;
    }
    around.push_str(rest);
    if !tools.is_empty() && around.trim().is_empty() {
        around.clear();
    }
    (around, tools)
}

/// A call by its object. The member `parameters` is Llama's word for `arguments`.
fn call(text: &str) -> Option<Joined> {
    let object = arguments("", text).ok()?;
    let name = object.get("name").and_then(Value::as_str)?.to_owned();
    if object.keys().any(|key| !KEYS.contains(&key.as_str())) {
        return None;
    }
    let arguments = match object.get("arguments").or_else(|| object.get("parameters"))? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some(Joined { id: None, name, arguments })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// The text for the asker and the tools as `NAME ARGUMENTS`, cut after so many characters, again and again.
    fn watched(text: &str, lengths: &[usize]) -> (String, Vec<String>) {
        let characters: Vec<char> = text.chars().collect();
        let mut watch = TextWatch::new(true, false);
        let (mut said, mut rest, mut lengths) =
            (String::new(), characters.as_slice(), lengths.iter().cycle());
        while !rest.is_empty() {
            let length = (*lengths.next().unwrap()).clamp(1, rest.len());
            said.push_str(&watch.push(&rest[..length].iter().collect::<String>()));
            rest = &rest[length..];
        }
        let (last, tools) = watch.finish(&|name| name == "bash");
        said.push_str(&last);
        (said, tools.into_iter().map(|tool| format!("{} {}", tool.name, tool.arguments)).collect())
    }

    const BASH: &str = r#"{"name":"bash","arguments":{"command":"ls"}}"#;
    const ASKED: &str = r#"bash {"command":"ls"}"#;

    #[rstest]
    #[case::bare(BASH, "", &[ASKED])]
    #[case::fenced("```json\n{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}\n```", "", &[ASKED])]
    #[case::parameters(r#"{"name":"bash","parameters":"{}"}"#, "", &["bash {}"])]
    #[case::tagged("I look.\n<tool_call>\n{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"},}\n</tool_call>", "I look.\n", &[ASKED])]
    #[case::twice("<tool_call>{\"name\":\"bash\",\"arguments\":{}}</tool_call>\n<tool_call>{\"name\":\"bash\",\"arguments\":{}}</tool_call>", "", &["bash {}", "bash {}"])]
    #[case::not_closed("<tool_call>{\"name\":\"bash\",\"arguments\":{}}", "", &["bash {}"])]
    #[case::cut("<tool_call>{\"name\":\"bash\",\"argu", "", &[" {\"name\":\"bash\",\"argu"])]
    #[case::not_offered(r#"{"name":"Alice","arguments":{}}"#, r#"{"name":"Alice","arguments":{}}"#, &[])]
    #[case::json_answer(r#"{"name":"bash","age":3}"#, r#"{"name":"bash","age":3}"#, &[])]
    #[case::code("```rust\nfn a() {}\n```\nDone.", "```rust\nfn a() {}\n```\nDone.", &[])]
    #[case::plain("a <tool> b", "a <tool> b", &[])]
    fn calls_are_found(#[case] text: &str, #[case] said: &str, #[case] tools: &[&str]) {
        assert_eq!(
            watched(text, &[1000]),
            (said.to_owned(), tools.iter().map(|&tool| tool.to_owned()).collect())
        );
    }

    #[test]
    fn what_may_be_a_call_is_not_shown() {
        let mut watch = TextWatch::new(true, false);
        assert_eq!(watch.push("Look <tool"), "Look ");
        assert_eq!(watch.push("s> and <tool_call>{"), "<tools> and ");
        assert_eq!(watch.push("\"name\""), "");
        for begun in ["`", "``", "```", "```json", "```json\n ", "  ", "{", "{ \"na"] {
            assert_eq!(TextWatch::new(true, false).push(begun), "", "{begun}");
        }
    }

    #[rstest]
    #[case("```rust\nfn")]
    #[case("{\"answer\": 1")]
    #[case("{}")]
    #[case("Hi")]
    fn what_is_no_call_goes_through_at_once(#[case] text: &str) {
        assert_eq!(TextWatch::new(true, false).push(text), text);
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            words in prop::collection::vec(prop::sample::select(vec![
                "<tool_call>", "</tool_call>", BASH, "```", "{", "\"na", "me\"", "\n", " ", "a", "<", "<tool", "ä",
            ]), 0..12),
            lengths in prop::collection::vec(1_usize..7, 1..9),
        ) {
            let text = words.concat();
            prop_assert_eq!(watched(&text, &lengths), watched(&text, &[1000]));
        }
    }
}
