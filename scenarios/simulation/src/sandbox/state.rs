//! The content of the page, as data; the same object is served as JSON for scripts and tests.
//! It must never hold a token.

use serde::Serialize;

/// Everything at one moment.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct State {
    /// Grows with every change that shows.
    pub(crate) version: u64,
    /// Whether a server asks.
    pub(crate) polling: Polling,
    /// Chats and the mailbox, in the order of the page.
    pub(crate) places: Vec<Place>,
    /// The session that the person drives by hand; null without `--drive`.
    pub(crate) session: Option<Session>,
}

/// Whether a server asks for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Polling {
    /// The state of the connection.
    pub(crate) is: PollingIs,
    /// Milliseconds since it last asked.
    pub(crate) ago_ms: Option<u64>,
}

/// The state of the server that should ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PollingIs {
    /// No server has asked yet.
    Never,
    /// A server asks all the time.
    Now,
    /// A server asked before, and has stopped.
    Stopped,
    /// A server asks with a wrong token.
    Refused,
}

/// A chat, or the mailbox.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Place {
    /// Its name in forms and addresses.
    pub(crate) handle: String,
    /// Its name for people.
    pub(crate) title: String,
    /// A note about it.
    pub(crate) about: String,
    /// Graph's id of the chat; null for the mailbox.
    pub(crate) chat_id: Option<String>,
    /// More than one person is in it.
    pub(crate) group: bool,
    /// It is the mailbox.
    pub(crate) mail: bool,
    /// The people who can write there: handle and name.
    pub(crate) people: Vec<(String, String)>,
    /// The number of messages.
    pub(crate) count: usize,
    /// Older messages that are not listed.
    pub(crate) left_out: usize,
    /// The newest messages, oldest first; none where they were not asked for.
    pub(crate) messages: Vec<Item>,
}

/// One message.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Item {
    /// Graph's id.
    pub(crate) id: String,
    /// Its author.
    pub(crate) name: String,
    /// The agent wrote it.
    pub(crate) by_agent: bool,
    /// When, RFC 3339 in UTC.
    pub(crate) at: String,
    /// Of a mail.
    pub(crate) subject: Option<String>,
    /// To whom the agent's mail went.
    pub(crate) to: Vec<String>,
    /// `html` or `text`.
    pub(crate) content_type: String,
    /// The body as it was sent, cut, with invisible characters as code points.
    pub(crate) source: String,
    /// The body as a reader sees it.
    pub(crate) text: String,
    /// It was changed afterwards.
    pub(crate) edited: bool,
    /// It was deleted.
    pub(crate) deleted: bool,
    /// Reactions of the agent.
    pub(crate) reactions: Vec<String>,
    /// The agent's server has asked Graph for it since it was last changed.
    pub(crate) read_by_server: bool,
    /// It was in a line to the hand-driven session.
    pub(crate) reached_session: bool,
}

/// The hand-driven session.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Session {
    /// The server runs.
    pub(crate) running: bool,
    /// Its state, in words.
    pub(crate) status: String,
    /// Older lines that are not listed.
    pub(crate) left_out: usize,
    /// The newest lines on the wire, oldest first.
    pub(crate) lines: Vec<Line>,
}

/// One line on the wire.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    /// Counts from 1.
    pub(crate) number: u64,
    /// The host, which is the person, wrote it.
    pub(crate) by_host: bool,
    /// A summary in a few words.
    pub(crate) title: String,
    /// The text of a tool's result for the model; null for any other line.
    pub(crate) says: Option<String>,
    /// The line, cut, laid out when it is JSON.
    pub(crate) text: String,
}
