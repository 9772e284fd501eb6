//! One consumer's side of a connection: its mailbox, and the answers that it may still cancel or continue.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use entraclaw_mcp::message::Id;
use tokio::time::Instant;

use super::InboxProvider;
use crate::journal::{ConsumerName, DeliveryId, JournalError, Mailbox};
use crate::tool::MessageView;

/// Answers of a consumer that are remembered until it calls again; a late cancel for an older one is ignored.
const REPLIES_MAX: usize = 64;
/// Long messages whose next parts can be asked for, per consumer.
const CUT_MESSAGES_MAX: usize = 16;
/// A call that follows an answer this soon comes from the turn that got the answer: no user can have
/// interrupted it and typed something meanwhile.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Consumers on one connection. Only requests of the modern era can bring a second one.
const INBOXES_MAX: usize = 16;
/// How often late cancels give the same record back; a host that cancels everything must not get it for ever.
pub(super) const LATE_GIVE_BACKS_MAX: u8 = 3;
/// Records whose late cancels are counted, per consumer.
const LATE_RECORDS_MAX: usize = 256;

/// An answer with messages in it.
pub(super) struct Reply {
    pub(super) id: Id,
    pub(super) delivery: DeliveryId,
    pub(super) seqs: Vec<u64>,
    pub(super) written: bool,
    pub(super) written_at: Option<Instant>,
    /// Whether it holds a message that was not shown before.
    pub(super) is_first: bool,
    /// Whether the host may have dropped it without a sign.
    pub(super) may_be_abandoned: bool,
}

/// One consumer's side of the connection.
pub(super) struct Inbox {
    pub(super) mailbox: Mailbox,
    pub(super) replies: VecDeque<Reply>,
    pub(super) late_give_backs: BTreeMap<u64, u8>,
    pub(super) cut: VecDeque<MessageView>,
}

impl Inbox {
    pub(super) fn remember_reply(&mut self, reply: Reply) {
        if self.replies.len() == REPLIES_MAX
            && let Some(oldest) = self.replies.pop_front()
        {
            self.mailbox.finish(oldest.delivery);
        }
        self.replies.push_back(reply);
    }

    /// The consumer called again, so it has received the earlier answers. Until then an answer counts as
    /// open, so that its messages are not also in the answer of another waiting call. Messages of an answer
    /// that the host may have dropped come once more, marked.
    pub(super) fn came_back(&mut self) -> Result<usize, JournalError> {
        for reply in self.replies.iter().filter(|reply| reply.written) {
            let late = reply.written_at.is_some_and(|at| at.elapsed() > AT_ONCE);
            if reply.may_be_abandoned && late {
                self.mailbox.give_back(reply.delivery);
            } else {
                self.mailbox.finish(reply.delivery);
            }
        }
        self.replies.retain(|reply| !reply.written);
        self.mailbox.acknowledge_returned()
    }

    /// The answer was written to the pipe.
    pub(super) fn on_written(&mut self, delivery: DeliveryId) {
        match self.replies.iter_mut().find(|reply| reply.delivery == delivery) {
            Some(reply) => {
                reply.written = true;
                reply.written_at = Some(Instant::now());
            }
            // The answer only showed messages, so there is nothing to acknowledge.
            None => self.mailbox.finish(delivery),
        }
    }

    pub(super) fn remember_cut(&mut self, whole: MessageView) {
        self.cut.retain(|known| known.seq != whole.seq);
        if self.cut.len() == CUT_MESSAGES_MAX {
            self.cut.pop_front();
        }
        self.cut.push_back(whole);
    }

    /// Counts a late cancel of these records. Returns whether they may still be given back.
    pub(super) fn count_late_cancel(&mut self, seqs: &[u64]) -> bool {
        if seqs.iter().any(|seq| self.late_give_backs.get(seq).is_some_and(|&n| n >= LATE_GIVE_BACKS_MAX)) {
            return false;
        }
        for seq in seqs {
            *self.late_give_backs.entry(*seq).or_default() += 1;
        }
        while self.late_give_backs.len() > LATE_RECORDS_MAX {
            self.late_give_backs.pop_first();
        }
        true
    }
}

impl InboxProvider {
    /// The consumer's inbox, opened at its first use.
    pub(super) fn inbox(&mut self, consumer: &ConsumerName) -> Result<&mut Inbox, JournalError> {
        if !self.inboxes.contains_key(consumer) {
            if self.inboxes.len() == INBOXES_MAX {
                self.close_idle_inbox();
            }
            let mailbox = self.options.journal.mailbox(consumer, &self.id)?;
            let inbox = Inbox {
                mailbox,
                replies: VecDeque::new(),
                late_give_backs: BTreeMap::new(),
                cut: VecDeque::new(),
            };
            self.inboxes.insert(consumer.clone(), inbox);
        }
        match self.inboxes.get_mut(consumer) {
            Some(inbox) => Ok(inbox),
            None => Err(JournalError::ConsumerName { name: consumer.to_string() }),
        }
    }

    /// Closes an idle consumer's inbox to make room for another. Its unacknowledged messages come again,
    /// marked.
    fn close_idle_inbox(&mut self) {
        let busy: BTreeSet<ConsumerName> = self
            .waits
            .values()
            .map(|wait| wait.reader.consumer.clone())
            .chain(self.tasks.values().filter(|task| task.is_working()).map(|task| task.consumer.clone()))
            .collect();
        let idle = self.inboxes.keys().find(|consumer| !busy.contains(*consumer)).cloned();
        if let Some(idle) = idle.or_else(|| self.inboxes.keys().next().cloned()) {
            self.inboxes.remove(&idle);
        }
    }
}
