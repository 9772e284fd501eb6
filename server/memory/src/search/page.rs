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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::machine::Machine;
    use super::*;

    /// The pages of an index: the role and the messages of each.
    fn pages(machine: &Machine) -> Vec<(u64, usize)> {
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let mut found = Vec::new();
        for segment in memory.reader.searcher().segment_readers() {
            let fast = segment.fast_fields();
            let (role, line) = (fast.u64("role").unwrap(), fast.u64("line").unwrap());
            for doc in segment.doc_ids_alive() {
                found.push((role.first(doc).unwrap(), line.values_for_doc(doc).count()));
            }
        }
        found.sort_unstable();
        found
    }

    #[rstest]
    #[case::as_many_as_fit(MESSAGES_MAX, 1, &[24])]
    #[case::one_more(MESSAGES_MAX + 1, 1, &[1, 24])]
    #[case::as_long_as_fit(2, BYTES_MAX / 2, &[2])]
    #[case::a_byte_more(2, BYTES_MAX / 2 + 1, &[1, 1])]
    #[case::three(3, BYTES_MAX / 2, &[1, 2])]
    #[case::longer_than_a_page(2, BYTES_MAX + 1, &[1, 1])]
    fn a_page_is_full_by_its_messages_or_by_their_bytes(
        #[case] messages: usize,
        #[case] bytes: usize,
        #[case] expected: &[usize],
    ) {
        let machine = Machine::new();
        for _ in 0..messages {
            machine.say("one", "user", &"x".repeat(bytes), None);
        }
        let found: Vec<usize> = pages(&machine).into_iter().map(|(_, messages)| messages).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn each_role_and_each_file_has_pages_of_its_own() {
        let machine = Machine::new();
        for session in ["one", "two"] {
            machine.say(session, "user", "why", None);
            machine.call(session, "Bash", "ls");
            machine.say(session, "assistant", "so", None);
            machine.say(session, "user", "and", None);
            let summary =
                serde_json::json!({"type": "user", "message": {"content": "all"}, "isCompactSummary": true});
            machine.line(session, &summary);
        }
        let expected = [(0, 2), (1, 1), (2, 1), (3, 1)];
        assert_eq!(pages(&machine), expected.map(|page| [page; 2]).concat());
    }

    #[test]
    fn a_place_is_a_line_and_a_number_in_it() {
        let found = places([4, 9].into_iter(), [0, 2, 7].into_iter());
        assert_eq!(found, [Place { line: 4, nth: 0 }, Place { line: 9, nth: 2 }]);
    }
}
