//! `resources/read` of the inbox: a document that shows messages and leaves them unread.

use entraclaw_mcp::message::RpcError;
use entraclaw_mcp::page::cacheable;
use entraclaw_mcp::{Connection, FRAME_BYTES};
use rmcp::model::ErrorCode;

use super::{InboxProvider, Reader, receipt};
use crate::carrier::resource;
use crate::journal::{DeliveryId, JournalError, Purpose, Query};
use crate::tool::{InboxResource, answer};

impl InboxProvider {
    pub(super) fn read_inbox(&mut self, connection: &mut Connection, reader: &Reader) {
        match self.look_at_inbox(connection, reader) {
            Ok((inbox, delivery)) => {
                let text = serde_json::to_string(&inbox).unwrap_or_default();
                // The answer is stale at once: a message may come at any moment.
                let result = cacheable(reader.caller.route.era, resource::contents(&text), 0);
                connection.answer(
                    &reader.caller.route,
                    Ok(result),
                    vec![receipt(&reader.consumer, delivery)],
                );
            }
            Err(error) => {
                let error = format!("the inbox could not be read: {error}");
                let error = RpcError::new(ErrorCode::INTERNAL_ERROR, error);
                connection.answer(&reader.caller.route, Err(error), Vec::new());
            }
        }
    }

    /// The newest unread messages, left unread.
    fn look_at_inbox(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
    ) -> Result<(InboxResource, DeliveryId), JournalError> {
        let delivery = DeliveryId(connection.next_number());
        let journal = self.options.journal.clone();
        let mailbox = &mut self.inbox(&reader.consumer)?.mailbox;
        let unread = mailbox.unread(None);
        // A page begins with the oldest message, so the newest ones follow the message before them.
        let since_id = if unread > resource::MESSAGES_MAX {
            let before = journal.last_seq().saturating_sub(resource::MESSAGES_MAX + 1);
            journal.read_after(before, 1)?.pop().map(|record| record.id)
        } else {
            None
        };
        let query = Query {
            limit: usize::try_from(resource::MESSAGES_MAX).unwrap_or(usize::MAX),
            channel: None,
            since_id,
            bytes_max: resource::BYTES_MAX - FRAME_BYTES,
            purpose: Purpose::Peek,
        };
        let batch = mailbox.hand_out(delivery, &query)?;
        let mut messages = answer::views(&batch);
        answer::fit(&mut messages, resource::BYTES_MAX - FRAME_BYTES);
        Ok((InboxResource { unread, messages }, delivery))
    }
}
