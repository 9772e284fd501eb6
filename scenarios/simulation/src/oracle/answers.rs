//! Compares the answers of the tools that send with the messages that arrived. Each is sent once or not at all, and the
//! answer is true.
//! It sees the wire and the other side; it must never ask the server, and never count an unanswered call as sent or unsent.

use std::collections::{BTreeMap, BTreeSet};

use reports::event::Failure;
use serde_json::Value;

/// The tools that send, each with its argument for the place. The mail service chooses a mail's recipients.
const CHAT: (&str, Option<&str>) = ("send_teams_message", Some("chat_id"));
const MAIL: (&str, Option<&str>) = ("send_email", None);
const BOT: (&str, Option<&str>) = ("send_bot_message", Some("conversation_id"));

/// The start of an answer that says that the outcome is not known.
const UNKNOWN: &str = "may or may not";

/// A text and the place to which it goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Letter {
    tool: &'static str,
    place: String,
    text: String,
}

impl Letter {
    /// Whether `there` is the text that this became.
    fn is(&self, posted: &Posted) -> bool {
        let is_there = posted.tool == self.tool && posted.place == self.place && !self.text.is_empty();
        // Graph puts the quotes in front, and makes HTML of what stands behind them.
        let behind_quotes = || {
            posted.text.ends_with(&self.text)
                || posted.text.ends_with(&format!("<p>{}</p>", escape(&self.text)))
        };
        is_there && (posted.text == self.text || posted.has_quotes && behind_quotes())
    }
}

/// A text that stands on the other side, written by the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The tool that writes there.
    pub tool: &'static str,
    /// The chat or conversation; empty for mail, whose recipients the mail service chooses.
    pub place: String,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether the text begins with what it quotes.
    pub has_quotes: bool,
}

impl Posted {
    /// In a chat, perhaps behind quotes.
    pub fn in_chat(place: &str, id: &str, text: &str, has_quotes: bool) -> Self {
        let (place, id, text) = (place.to_owned(), id.to_owned(), text.to_owned());
        Self { tool: CHAT.0, place, id, text, has_quotes }
    }

    /// By mail.
    pub fn by_mail(id: &str, text: &str) -> Self {
        let (id, text) = (id.to_owned(), text.to_owned());
        Self { tool: MAIL.0, place: String::new(), id, text, has_quotes: false }
    }

    /// As the bot.
    pub fn by_bot(place: &str, id: &str, text: &str) -> Self {
        Self { tool: BOT.0, ..Self::in_chat(place, id, text, false) }
    }
}

/// The outcome that the answer to a call named.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Said {
    /// Sent, as this.
    Sent(String),
    /// Not sent.
    Not,
    /// Not known.
    Perhaps,
}

/// A call that sends.
#[derive(Debug, Clone)]
struct Sending {
    letter: Letter,
    /// The time and outcome of its answer; `None` without one.
    said: Option<(u64, Said)>,
}

/// The calls of one session that send, over all its connections.
#[derive(Debug, Default)]
pub struct Answers {
    sendings: Vec<Sending>,
    /// Places in `sendings` by the request's id, of calls that are open on this connection.
    open: BTreeMap<String, usize>,
}

impl Answers {
    /// A new connection begins; what is open will never be answered.
    pub fn connect(&mut self) {
        self.open.clear();
    }

    /// Notes a message of the host, or of the server.
    pub fn line(&mut self, at_ms: u64, by_host: bool, line: &Value) {
        let Some(id) = line.get("id").map(Value::to_string) else { return };
        match (by_host, line.get("method").and_then(Value::as_str)) {
            (true, Some("tools/call")) => self.ask(id, line),
            (false, None) => {
                if let Some(place) = self.open.remove(&id) {
                    self.sendings[place].said = Some((at_ms, said(line)));
                }
            }
            _ => {}
        }
    }

    fn ask(&mut self, id: String, line: &Value) {
        let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str);
        let named = text("/params/name");
        let Some((tool, place)) = [CHAT, MAIL, BOT].into_iter().find(|(tool, _)| named == Some(*tool)) else {
            return;
        };
        let argument = |name: &str| text(&format!("/params/arguments/{name}")).unwrap_or_default().to_owned();
        let letter =
            Letter { tool, place: place.map(argument).unwrap_or_default(), text: argument("content") };
        self.open.insert(id, self.sendings.len());
        self.sendings.push(Sending { letter, said: None });
    }
}

fn said(line: &Value) -> Said {
    let result = line.get("result").filter(|result| result.get("isError") != Some(&Value::Bool(true)));
    let text = line.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
    if result.is_none() {
        return if text.contains(UNKNOWN) { Said::Perhaps } else { Said::Not };
    }
    let answer: Value = serde_json::from_str(text).unwrap_or_default();
    Said::Sent(answer.get("message_id").and_then(Value::as_str).unwrap_or_default().to_owned())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Judges all sessions that wrote to one world at their end: each answer of a tool is true, and nothing is
/// there more often than calls may have sent it.
pub fn judge<'a>(
    answers: impl IntoIterator<Item = &'a Answers>,
    posted: &[Posted],
    now_ms: u64,
) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut claimed = BTreeSet::new();
    let mut sent_at_most: BTreeMap<&Letter, usize> = BTreeMap::new();
    for Sending { letter, said } in answers.into_iter().flat_map(|answers| &answers.sendings) {
        let may_be_there = !matches!(said, Some((_, Said::Not)));
        *sent_at_most.entry(letter).or_default() += usize::from(may_be_there);
        let Some((at_ms, Said::Sent(id))) = said else { continue };
        let wrong = if !posted.iter().any(|posted| letter.is(posted) && posted.id == *id) {
            "which is not there"
        } else if !claimed.insert((letter.tool, &letter.place, id)) {
            "which another call had sent"
        } else {
            continue;
        };
        let message = format!("{} said that it sent `{}` as `{id}`, {wrong}", letter.tool, letter.text);
        failures.push(Failure::new("oracle.untrue", *at_ms, message));
    }
    for (letter, at_most) in sent_at_most {
        let count = posted.iter().filter(|posted| letter.is(posted)).count();
        if count > at_most {
            let Letter { tool, text, .. } = letter;
            let message =
                format!("`{text}` is there {count} times; by {tool} it may be there {at_most} times");
            failures.push(Failure::new("oracle.sent-twice", now_ms, message));
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn answers(lines: &[(bool, Value)]) -> Answers {
        let mut answers = Answers::default();
        for (line, at_ms) in lines.iter().zip(1..) {
            answers.line(at_ms, line.0, &line.1);
        }
        answers
    }

    fn call(id: u64, tool: &str, place: &str) -> (bool, Value) {
        let arguments = json!({place: "c", "content": "a < b"});
        (true, json!({"id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}))
    }

    fn asks(id: u64) -> (bool, Value) {
        call(id, CHAT.0, "chat_id")
    }

    fn tells(id: u64, text: &str, is_error: bool) -> (bool, Value) {
        (
            false,
            json!({"id": id, "result": {"content": [{"type": "text", "text": text}], "isError": is_error}}),
        )
    }

    fn sent(id: u64, message_id: &str) -> (bool, Value) {
        tells(id, &json!({"sent": true, "message_id": message_id}).to_string(), false)
    }

    fn there(ids: &[&str]) -> Vec<Posted> {
        ids.iter().map(|id| Posted::in_chat("c", id, "a < b", false)).collect()
    }

    #[rstest]
    #[case::sent(vec![asks(1), sent(1, "m")], &["m"], &[])]
    #[case::not_sent(vec![asks(1), tells(1, "no; nothing was sent", true)], &[], &[])]
    #[case::unanswered(vec![asks(1)], &["m"], &[])]
    #[case::unanswered_and_not_there(vec![asks(1)], &[], &[])]
    #[case::perhaps(vec![asks(1), tells(1, "it may or may not have arrived", true)], &["m"], &[])]
    #[case::two_calls(vec![asks(1), sent(1, "m"), asks(2), sent(2, "n")], &["m", "n"], &[])]
    #[case::not_there(vec![asks(1), sent(1, "m")], &["n"], &["oracle.untrue"])]
    #[case::without_an_id(vec![asks(1), tells(1, "done", false)], &["m"], &["oracle.untrue"])]
    #[case::another_call(vec![asks(1), sent(1, "m"), asks(2), sent(2, "m")], &["m"], &["oracle.untrue"])]
    #[case::twice(vec![asks(1), sent(1, "m")], &["m", "n"], &["oracle.sent-twice"])]
    #[case::perhaps_twice(vec![asks(1)], &["m", "n"], &["oracle.sent-twice"])]
    #[case::there_after_all(vec![asks(1), tells(1, "no; nothing was sent", true)], &["m"], &["oracle.sent-twice"])]
    #[case::an_error_of_the_protocol(vec![asks(1), (false, json!({"id": 1, "error": {}}))], &["m"], &["oracle.sent-twice"])]
    fn an_answer_is_compared_with_what_was_posted(
        #[case] lines: Vec<(bool, Value)>,
        #[case] ids: &[&str],
        #[case] rules: &[&str],
    ) {
        let failures = judge([&answers(&lines)], &there(ids), 9);
        assert_eq!(failures.iter().map(|failure| failure.rule.as_str()).collect::<Vec<_>>(), rules);
    }

    /// A restarted server may get a request id that its predecessor got.
    #[test]
    fn a_call_of_a_dead_server_stays_unanswered() {
        let mut both = answers(&[asks(1)]);
        both.connect();
        both.line(7, false, &sent(1, "m").1);
        assert_eq!(both.sendings[0].said, None);
    }

    #[rstest]
    #[case::mail(call(1, MAIL.0, "reply_to"), Posted::by_mail("m", "a < b"))]
    #[case::bot(call(1, BOT.0, "conversation_id"), Posted::by_bot("c", "m", "a < b"))]
    #[case::quoting(asks(1), Posted::in_chat("c", "m", "<attachment id=\"1\"></attachment>a < b", true))]
    #[case::quoting_plain(
        asks(1),
        Posted::in_chat("c", "m", "<attachment id=\"1\"></attachment><p>a &lt; b</p>", true)
    )]
    fn every_way_of_sending_is_known(#[case] asks: (bool, Value), #[case] posted: Posted) {
        let answers = answers(&[asks, sent(1, "m")]);
        assert_eq!(judge([&answers], std::slice::from_ref(&posted), 9), []);
        let rules =
            |posted: &[Posted]| judge([&answers], posted, 9).into_iter().map(|f| f.rule).collect::<Vec<_>>();
        assert_eq!(rules(&[]), ["oracle.untrue"]);
        let again = Posted { id: "n".into(), ..posted.clone() };
        assert_eq!(rules(&[posted, again]), ["oracle.sent-twice"]);
    }
}
