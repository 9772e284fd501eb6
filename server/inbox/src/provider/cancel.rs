//! What happens to the messages of a cancelled answer. They must not be lost, but a host that cancels every
//! finished call must not get the same message for ever.

use entraclaw_mcp::message::Id;

use super::InboxProvider;
use crate::journal::{ConsumerName, DeliveryId};

impl InboxProvider {
    /// Gives back the messages of the newest answer to `id`, if the consumer has not called again since.
    pub(super) fn give_back_late(&mut self, id: &Id) {
        let mut lost = Vec::new();
        for (consumer, inbox) in &mut self.inboxes {
            let newest = inbox.replies.iter().rfind(|reply| reply.id == *id && reply.written);
            let Some((delivery, seqs)) = newest.map(|reply| (reply.delivery, reply.seqs.clone())) else {
                continue;
            };
            if inbox.count_late_cancel(&seqs) {
                lost.push((consumer.clone(), delivery));
            }
        }
        for (consumer, delivery) in lost {
            self.give_back(&consumer, delivery);
        }
    }

    pub(super) fn give_back(&mut self, consumer: &ConsumerName, delivery: DeliveryId) {
        let Some(inbox) = self.inboxes.get_mut(consumer) else { return };
        inbox.replies.retain(|reply| reply.delivery != delivery);
        inbox.mailbox.give_back(delivery);
        self.reopen_task(delivery);
        self.stirred = true;
    }
}
