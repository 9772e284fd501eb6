//! Collects what a reader finds in one file.
//!
//! It must never keep a secret: every text passes through here on its way out.

use jiff::Timestamp;
use serde_json::Value;

use super::session::{Message, Place, Role, Session};
use super::tally::Tally;
use crate::text;

/// Longest text of a message, in bytes.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest text of a tool's call or result: most of it is a copy of a file.
const TOOL_BYTES_MAX: usize = 8 * 1024;
/// Characters of a title.
const TITLE_CHARS: usize = 100;
/// Longest id, folder or version, in characters.
const WORD_CHARS: usize = 1024;

/// A session as far as it is known, and new messages of it.
#[derive(Debug)]
pub(super) struct Gather {
    pub(super) session: Session,
    pub(super) messages: Vec<Message>,
    pub(super) tally: Tally,
    /// Whether the agent or the person gave the title.
    pub(super) has_own_title: bool,
    /// Where the next message stands.
    place: Place,
}

impl Gather {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            messages: Vec::new(),
            tally: Tally::default(),
            has_own_title: false,
            place: Place::default(),
        }
    }

    pub(super) fn add(&mut self, role: Role, words: &str, at: Option<Timestamp>) {
        self.push(Message {
            role,
            text: words.to_owned(),
            at,
            tool: None,
            is_side: false,
            place: Place::default(),
        });
    }

    pub(super) fn add_tool(&mut self, name: Option<&str>, words: &str, at: Option<Timestamp>) {
        let tool = name.map(|name| text::safe_line(name, TITLE_CHARS));
        self.push(Message {
            role: Role::Tool,
            text: words.to_owned(),
            at,
            tool,
            is_side: false,
            place: Place::default(),
        });
    }

    pub(super) fn push(&mut self, mut message: Message) {
        self.saw(message.at);
        let bytes_max = if message.role == Role::Tool { TOOL_BYTES_MAX } else { TEXT_BYTES_MAX };
        message.text = text::safe(text::cut_bytes(&message.text, bytes_max).trim());
        if message.text.is_empty() {
            return;
        }
        if self.session.title.is_none() && message.role == Role::User && !message.is_side {
            self.session.title = Some(text::safe_line(&message.text, TITLE_CHARS));
        }
        message.place = self.place;
        self.place.nth += 1;
        self.messages.push(message);
    }

    /// Begins a line of the file.
    pub(super) fn line(&mut self, offset: u64) {
        self.place = Place { line: offset, nth: 0 };
    }

    /// Notes when something happened in the session.
    pub(super) fn saw(&mut self, at: Option<Timestamp>) {
        let Some(at) = at else { return };
        self.session.started = Some(self.session.started.map_or(at, |started| started.min(at)));
        self.session.last = Some(self.session.last.map_or(at, |last| last.max(at)));
    }

    /// Takes a title that the agent or the person gave.
    pub(super) fn title(&mut self, title: Option<&str>) {
        if let Some(title) = title.map(|title| text::safe_line(title, TITLE_CHARS)).filter(|t| !t.is_empty())
        {
            self.session.title = Some(title);
            self.has_own_title = true;
        }
    }

    pub(super) fn folder(&mut self, folder: Option<&str>) {
        take(&mut self.session.folder, folder);
    }

    pub(super) fn version(&mut self, version: Option<&str>) {
        take(&mut self.session.version, version);
    }

    /// Takes the id that the file states; the name of the file is only a guess.
    pub(super) fn id(&mut self, id: Option<&str>) {
        if let Some(id) = id.filter(|id| is_id(id)) {
            id.clone_into(&mut self.session.id);
        }
    }
}

fn take(member: &mut Option<String>, word: Option<&str>) {
    if let Some(word) = word.filter(|word| !word.is_empty()) {
        let word = text::safe_line(word, WORD_CHARS);
        *member = Some(word);
    }
}

/// Whether a word can be the id of a session. An id becomes an argument of a command, so it never begins with a dash.
pub(super) fn is_id(word: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=128).contains(&word.len()) && !word.starts_with(['-', '.']) && word.bytes().all(is_plain)
}

/// A member of an object, as text.
pub(super) fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    value.get(name)?.as_str()
}

/// The member `timestamp`, as RFC 3339 or as milliseconds.
pub(super) fn time(value: &Value, name: &str) -> Option<Timestamp> {
    match value.get(name)? {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => Timestamp::from_millisecond(number.as_i64()?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::Agent;
    use super::*;

    fn gather() -> Gather {
        Gather::new(Session::new(Agent::Claude, "guess", "/one.jsonl".into()))
    }

    #[test]
    fn a_message_is_cut_cleaned_and_placed_in_its_line() {
        let mut gather = gather();
        gather.line(7);
        gather.add(Role::Assistant, "  so \n", None);
        gather.add(Role::User, " \u{200b}\n", None);
        gather.add_tool(Some("Bash"), "ls", None);
        gather.line(20);
        gather.add(Role::User, "why", None);
        let found: Vec<(u64, u64, &str)> =
            gather.messages.iter().map(|one| (one.place.line, one.place.nth, one.text.as_str())).collect();
        assert_eq!(found, [(7, 0, "so"), (7, 1, "ls"), (20, 0, "why")]);
        assert_eq!(gather.messages[1].tool.as_deref(), Some("Bash"));

        for (role, bytes_max) in [(Role::User, TEXT_BYTES_MAX), (Role::Tool, TOOL_BYTES_MAX)] {
            let mut gather = self::gather();
            gather.add(role, &"x".repeat(bytes_max), None);
            gather.add(role, &"x".repeat(bytes_max + 1), None);
            assert!(gather.messages.iter().all(|one| one.text.len() == bytes_max), "{role:?}");
        }
    }

    #[test]
    fn a_title_is_what_was_given_or_else_what_the_person_said_first() {
        let mut gather = gather();
        let side = |role, is_side| Message {
            role,
            text: "beside".to_owned(),
            at: None,
            tool: None,
            is_side,
            place: Place::default(),
        };
        gather.push(side(Role::User, true));
        gather.push(side(Role::Assistant, false));
        assert_eq!(gather.session.title, None);
        gather.add(Role::User, &format!("first\n{}", "x".repeat(TITLE_CHARS)), None);
        gather.add(Role::User, "second", None);
        let title = gather.session.title.clone().unwrap();
        assert!(title.starts_with("first x") && title.ends_with('…'), "{title}");
        assert_eq!((title.chars().count(), gather.has_own_title), (TITLE_CHARS, false));
        gather.title(None);
        gather.title(Some(" \n"));
        assert_eq!((gather.session.title.as_ref(), gather.has_own_title), (Some(&title), false));
        gather.title(Some("given"));
        gather.add(Role::User, "third", None);
        assert_eq!((gather.session.title.as_deref(), gather.has_own_title), (Some("given"), true));
    }

    #[test]
    fn a_session_lasts_from_the_earliest_to_the_latest_moment() {
        let mut gather = gather();
        let at = |second: i64| Some(Timestamp::from_second(second).unwrap());
        for second in [None, Some(50), Some(20), Some(90), Some(30)] {
            gather.saw(second.and_then(at));
        }
        assert_eq!((gather.session.started, gather.session.last), (at(20), at(90)));
        gather.add(Role::User, "", at(99));
        assert_eq!(gather.session.last, at(99), "an empty message was said too");
    }

    #[test]
    fn what_is_stated_replaces_what_is_known_unless_it_is_empty_or_no_id() {
        let mut gather = gather();
        for (id, expected) in
            [(None, "guess"), (Some("--x"), "guess"), (Some("one"), "one"), (Some(""), "one")]
        {
            gather.id(id);
            assert_eq!(gather.session.id, expected);
        }
        for (word, expected) in
            [(None, None), (Some("/p"), Some("/p")), (Some(""), Some("/p")), (Some("/q"), Some("/q"))]
        {
            gather.folder(word);
            gather.version(word);
            assert_eq!(
                (gather.session.folder.as_deref(), gather.session.version.as_deref()),
                (expected, expected)
            );
        }
    }

    #[rstest]
    #[case("0cb916db-26aa", true)]
    #[case("ses_a.b", true)]
    #[case("a", true)]
    #[case("", false)]
    #[case("-a", false)]
    #[case(".a", false)]
    #[case("_a", true)]
    #[case("a/b", false)]
    #[case("a b", false)]
    #[case("ä", false)]
    fn an_id_is_a_plain_word_that_is_no_flag(#[case] word: &str, #[case] expected: bool) {
        assert_eq!(is_id(word), expected);
        assert!(is_id(&"a".repeat(128)) && !is_id(&"a".repeat(129)));
    }

    #[test]
    fn a_time_is_a_text_or_milliseconds() {
        let value =
            json!({"text": "2026-11-26T00:00:00Z", "ms": 1_500, "half": 1.5, "no": "soon", "list": []});
        let at = |name: &str| time(&value, name).map(Timestamp::as_millisecond);
        assert_eq!(at("text"), Some(1_795_651_200_000));
        assert_eq!(at("ms"), Some(1_500));
        assert_eq!(["half", "no", "list", "absent"].map(at), [None; 4]);
    }
}
