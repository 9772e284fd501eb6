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
