//! `notifications/cancelled`: ends an open request, and learns from a late cancel whether an answer was lost.
//!
//! A cancelled request is never answered. Its provider decides what happens to the records that it was given.

use serde_json::Value;

use crate::connection::Open;
use crate::message::{Id, Object};
use crate::session::Session;

impl Session {
    pub(crate) fn on_cancelled(&mut self, params: &Object) {
        let Some(id) = params.get("requestId").and_then(Id::from_json) else { return };
        if let Some(open) = self.connection.open.remove(&id) {
            // Its queued notifications are not wanted any more.
            self.connection.out.retract(&id);
            match open {
                Open::Held(route) => {
                    self.providers.iter_mut().for_each(|provider| provider.cancelled(&id));
                    self.connection.leave_batch(route.batch);
                }
                // The work may go on, but the answer is not wanted any more.
                Open::Work { route, cancel, .. } => {
                    cancel.send_replace(true);
                    self.connection.leave_batch(route.batch);
                }
                Open::Listen { .. } => {}
            }
        } else if let Some(receipts) = self.connection.out.retract(&id) {
            for receipt in receipts {
                self.providers.iter_mut().for_each(|provider| provider.taken_back(&receipt));
            }
        } else if means_lost(params.get("reason").and_then(Value::as_str)) {
            self.providers.iter_mut().for_each(|provider| provider.lost(&id));
        }
    }
}

/// Whether a host that cancels after the answer means that it did not read the answer. One host cancels every call that
/// it has finished, with the bare words for an aborted operation.
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
    fn only_a_specific_reason_means_that_the_answer_was_lost() {
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
