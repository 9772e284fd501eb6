//! Messages of one role that follow each other in a file, indexed as one document.
//!
//! A word that several of them have is kept once, so that an index of pages is less than half one of messages. It must
//! never join messages of two roles: a filter decides by the page.

use jiff::Timestamp;
use tantivy::schema::Value as _;
use tantivy::{IndexWriter, TantivyDocument};

use super::fresh::Fresh;
use super::parts::MemoryError;
use super::schema::Fields;
use crate::stores::{Agent, Message, Place, Role};

/// Bytes of text after which a page is full.
const BYTES_MAX: usize = 10 * 1024;
/// Messages after which a page is full.
const MESSAGES_MAX: usize = 24;

/// Whether the files of an agent are read as a whole, so that the words of a page are kept beside it.
pub(super) fn is_kept(agent: Agent) -> bool {
    matches!(agent, Agent::Vscode | Agent::Gemini)
}

/// The number of a role in the index.
pub(super) const fn role_number(role: Role) -> u64 {
    match role {
        Role::User => 0,
        Role::Assistant => 1,
        Role::Tool => 2,
        Role::Summary => 3,
    }
}

/// Puts messages of one file on pages and hands full ones to the writer.
pub(super) struct Pages<'w> {
    writer: &'w IndexWriter,
    fields: Fields,
    file: u64,
    is_kept: bool,
    /// One for each role.
    open: [Vec<Message>; 4],
    bytes: [usize; 4],
}

impl<'w> Pages<'w> {
    pub(super) fn new(writer: &'w IndexWriter, fields: Fields, file: u64, agent: Agent) -> Self {
        Self { writer, fields, file, is_kept: is_kept(agent), open: Default::default(), bytes: [0; 4] }
    }

    pub(super) fn file(&self) -> u64 {
        self.file
    }

    pub(super) fn put(&mut self, fresh: Fresh) -> Result<(), MemoryError> {
        let message = fresh.message;
        let role = usize::try_from(role_number(message.role)).unwrap_or_default();
        let is_full =
            self.bytes[role] + message.text.len() > BYTES_MAX || self.open[role].len() >= MESSAGES_MAX;
        if is_full {
            self.close(role)?;
        }
        self.bytes[role] += message.text.len();
        self.open[role].push(message);
        Ok(())
    }

    /// Hands on what is not full.
    pub(super) fn finish(mut self) -> Result<(), MemoryError> {
        (0..self.open.len()).try_for_each(|role| self.close(role))
    }

    fn close(&mut self, role: usize) -> Result<(), MemoryError> {
        let messages = std::mem::take(&mut self.open[role]);
        self.bytes[role] = 0;
        let Some(one) = messages.first() else { return Ok(()) };
        let fields = self.fields;
        let mut document = TantivyDocument::new();
        document.add_u64(fields.file, self.file);
        document.add_u64(fields.role, role_number(one.role));
        let mut tools: Vec<&str> = messages.iter().filter_map(|message| message.tool.as_deref()).collect();
        tools.sort_unstable();
        tools.dedup();
        for tool in tools {
            document.add_text(fields.tool, tool);
        }
        let times = || messages.iter().filter_map(|message| message.at).map(Timestamp::as_second);
        if let (Some(first), Some(last)) = (times().min(), times().max()) {
            document.add_i64(fields.first, first);
            document.add_i64(fields.last, last);
        }
        for message in &messages {
            document.add_u64(fields.line, message.place.line);
            document.add_u64(fields.nth, message.place.nth);
        }
        if self.is_kept {
            let kept = serde_json::to_vec(&messages).map_err(std::io::Error::other)?;
            document.add_bytes(fields.kept, &kept);
        }
        let texts: Vec<&str> = messages.iter().map(|message| message.text.as_str()).collect();
        document.add_text(fields.text, texts.join("\n"));
        self.writer.add_document(document)?;
        Ok(())
    }
}

/// The messages that were kept with a page.
pub(super) fn kept(document: &TantivyDocument, fields: Fields) -> Vec<Message> {
    let bytes = document.get_first(fields.kept).and_then(|value| value.as_bytes());
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

/// The places of a page's messages.
pub(super) fn places(lines: impl Iterator<Item = u64>, nths: impl Iterator<Item = u64>) -> Vec<Place> {
    lines.zip(nths).map(|(line, nth)| Place { line, nth }).collect()
}
