//! The log lines about a message, one for each step: it arrived, was refused and why, was shown, handed out,
//! pushed or acknowledged.
//!
//! It must never log a message's sender, recipients or text. A step names the channel and the message's place in the
//! journal; a refused message has no place and is named by a hash of its id.

use sha2::{Digest as _, Sha256};

use super::consumer::ConsumerName;
use super::ledger::{Note, Span};
use crate::record::{Channel, Record};

/// The length of a hash in characters.
const HASH_LETTERS: usize = 12;

/// Logs that a message was stored in the journal.
pub(super) fn arrived(record: &Record) {
    let (channel, message) = (record.channel.as_str(), record.seq);
    if record.deleted {
        tracing::info!(channel, message, "a message was taken back");
    } else if record.edit_of.is_some() {
        tracing::info!(channel, message, "a message was changed");
    } else {
        tracing::info!(channel, message, "a message arrived and was let in");
    }
}

/// Logs that a message was refused. `reason` is one of a fixed list.
pub fn refused(channel: Channel, id: &str, reason: &str) {
    let (channel, id_hash) = (channel.as_str(), hash(id));
    tracing::info!(channel, id_hash, reason, "a message arrived and was refused");
}

/// Logs a consumer's note about messages.
pub(super) fn noted(consumer: &ConsumerName, note: &Note) {
    let (spans, step) = match note {
        Note::Show { spans, .. } => (spans, "shown by a hook or `entraclaw wait`"),
        Note::HandOut { spans, .. } => (spans, "handed over in a tool's answer"),
        Note::Push { spans, .. } => (spans, "pushed to the host unasked"),
        Note::Withdraw { spans } => (spans, "not shown after all by the host that it was pushed to"),
        Note::GiveBack { spans, .. } => (spans, "given back, for its answer reached nobody"),
        Note::Ack { spans, .. } => (spans, "acknowledged"),
        _ => return,
    };
    for Span(channel, from, through) in spans.iter().filter(|Span(_, from, through)| from <= through) {
        let message = if from == through { from.to_string() } else { format!("{from}-{through}") };
        tracing::info!(channel = channel.as_str(), message, %consumer, "{step}");
    }
}

fn hash(id: &str) -> String {
    let mut hash = entraclaw_seams::hex::of(&Sha256::digest(id.as_bytes()));
    hash.truncate(HASH_LETTERS);
    hash
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::fmt::MakeWriter;

    use super::super::{DeliveryId, Journal, JournalOptions, Purpose, Query};
    use super::*;
    use crate::record::Draft;
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl<'a> MakeWriter<'a> for Lines {
        type Writer = Self;

        fn make_writer(&'a self) -> Self {
            self.clone()
        }
    }

    fn draft(n: u64) -> Draft {
        Draft {
            key: format!("email/{n}"),
            id: format!("secret-id-{n}"),
            channel: Channel::Email,
            chat_id: "alice@contoso.com".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            content_text_sanitized: "the body".to_owned(),
            meta: std::collections::BTreeMap::new(),
            edit_of: None,
            deleted: false,
        }
    }

    /// Six mails of which four are refused, at the default level: each has its line, and so has each step of
    /// the other two.
    #[test]
    fn the_log_has_every_step_of_a_message_and_nothing_personal() {
        let lines = Lines::default();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::INFO)
            .with_ansi(false)
            .with_writer(lines.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let disk = Arc::new(MemoryStorage::new());
            let (journal, _) = Journal::open(disk, Arc::new(SystemClock), JournalOptions::default()).unwrap();
            let name = ConsumerName::new("claude-code").unwrap();
            let mut mailbox = journal.mailbox(&name, "test").unwrap();
            journal.append(vec![draft(1), draft(2)]).unwrap();
            for n in 3..7 {
                refused(Channel::Email, &format!("secret-id-{n}"), "not on the allowlist");
            }
            mailbox.hand_out(DeliveryId(1), &Query { limit: 1, ..Query::default() }).unwrap();
            mailbox.finish(DeliveryId(1));
            mailbox.acknowledge_returned().unwrap();
            mailbox.hand_out(DeliveryId(2), &Query { purpose: Purpose::Peek, ..Query::default() }).unwrap();
        });
        let log = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
        assert_eq!((count("arrived and was let in"), count("arrived and was refused")), (2, 4), "{log}");
        assert_eq!(count("reason=\"not on the allowlist\""), 4, "{log}");
        for step in ["handed over in a tool's answer", "acknowledged", "shown by a hook"] {
            assert_eq!(count(step), 1, "{step}\n{log}");
        }
        for secret in ["Alice", "contoso", "secret-id", "the body"] {
            assert!(!log.contains(secret), "{secret}\n{log}");
        }
    }
}
