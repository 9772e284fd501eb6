//! `notifications/cancelled`: what an open call leaves behind, and what a late cancel says about an answer.
//!
//! A cancelled call is not answered, and its messages are not lost; but a host that cancels every finished call
//! must not be given the same message for ever.

use serde_json::Value;

use super::message::{Id, Object};
use super::session::{OpenCall, Receipt, Session};
use crate::journal::{ConsumerName, DeliveryId};

impl Session {
    pub(super) fn on_cancelled(&mut self, params: &Object) {
        let Some(id) = params.get("requestId").and_then(Id::from_json) else { return };
        if let Some(call) = self.open.remove(&id) {
            // What was to be told about it is not wanted any more either.
            self.out.retract(&id);
            match call {
                // It held nothing.
                OpenCall::Wait(wait) => self.leave_batch(wait.caller.route.batch),
                // The message is on its way; only its answer is not wanted any more.
                OpenCall::Work { route, .. } => self.leave_batch(route.batch),
                OpenCall::Listen { .. } | OpenCall::Events(_) => {}
            }
        } else if let Some(receipts) = self.out.retract(&id) {
            for Receipt { consumer, delivery } in receipts {
                self.give_back(&consumer, delivery);
            }
        } else if means_lost(params.get("reason").and_then(Value::as_str)) {
            self.give_back_late(&id);
        }
    }

    /// Gives back what the newest answer to `id` held, if the consumer has not come back since.
    fn give_back_late(&mut self, id: &Id) {
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

    fn give_back(&mut self, consumer: &ConsumerName, delivery: DeliveryId) {
        let Some(inbox) = self.inboxes.get_mut(consumer) else { return };
        inbox.replies.retain(|reply| reply.delivery != delivery);
        inbox.mailbox.give_back(delivery);
        self.reopen_task(delivery);
        self.stirred = true;
    }
}

/// Whether a host that cancels after the answer means that it did not take it. One cancels every call that it has
/// finished, with nothing but the words for an aborted operation.
fn means_lost(reason: Option<&str>) -> bool {
    let Some(reason) = reason else { return false };
    let reason = reason.trim();
    let words = reason.strip_prefix("AbortError:").unwrap_or(reason).trim().trim_end_matches('.');
    let words = words.strip_prefix("The ").or_else(|| words.strip_prefix("This ")).unwrap_or(words);
    !words.is_empty() && words != "operation was aborted"
}

#[cfg(test)]
mod tests {
    use super::means_lost;

    #[test]
    fn only_a_reason_that_says_something_means_that_the_answer_was_lost() {
        for reason in [
            None,
            Some(""),
            Some("  "),
            Some("AbortError: The operation was aborted."),
            Some("This operation was aborted"),
        ] {
            assert!(!means_lost(reason), "{reason:?}");
        }
        for reason in [
            "request timeout",
            "AbortError: user-cancel",
            "SdkError: Request timed out",
            "McpError: MCP error -32001: Request timed out",
        ] {
            assert!(means_lost(Some(reason)), "{reason}");
        }
    }
}
