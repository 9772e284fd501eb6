//! `subscriptions/listen` and `resources/read`: the inbox for clients that know resources.
//!
//! A subscription tells that something changed, never what; and it may carry only what was asked for and agreed to.

use serde_json::{Value, json};

use super::dispatch::{cacheable, known_uri};
use super::era::{Era, META_SUBSCRIPTION};
use super::message::{Id, Object, RpcError, kind_of, notification};
use super::session::{Caller, OpenCall, Receipt, Route, Session};
use super::tasks::needs_tasks;
use crate::carrier::resource;
use crate::journal::{DeliveryId, JournalError, Query};
use crate::tool::answer::{self, FRAME_BYTES};
use crate::tool::{InboxResource, MessageView};

/// Open subscriptions on one connection.
pub(super) const LISTENS_MAX: usize = 16;

impl Session {
    pub(super) fn listen(&mut self, caller: &Caller, params: &Object) {
        let route = &caller.route;
        let asks_for_tasks =
            params.get("notifications").is_some_and(|filter| filter.get("taskIds").is_some());
        // Tasks are polled here: they are not told of, yet only who declared them may ask.
        let allowed = if asks_for_tasks { needs_tasks(caller) } else { Ok(()) };
        let accepted = match allowed.and_then(|()| accepted(params)) {
            Ok(accepted) => accepted,
            Err(error) => return self.answer(route, Err(error), Vec::new()),
        };
        let open = self.open.values().filter(|call| matches!(call, OpenCall::Listen { .. })).count();
        if open == LISTENS_MAX || route.batch.is_some() {
            let error =
                RpcError::invalid_request(format!("at most {LISTENS_MAX} subscriptions; cancel one first"));
            return self.answer(route, Err(error), Vec::new());
        }
        let inbox = accepted.contains_key("resourceSubscriptions");
        let params = json!({"_meta": {META_SUBSCRIPTION: route.id.to_json()}, "notifications": accepted});
        let acknowledged = notification("notifications/subscriptions/acknowledged", &params);
        self.out.push_about(&acknowledged, &route.id);
        self.open.insert(route.id.clone(), OpenCall::Listen { inbox });
    }

    /// Answers every open subscription: the connection is about to end.
    pub(super) fn end_listens(&mut self) {
        let open = self.open.iter().filter(|(_, call)| matches!(call, OpenCall::Listen { .. }));
        let ids: Vec<Id> = open.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.open.remove(&id);
            let result = json!({"_meta": {META_SUBSCRIPTION: id.to_json()}});
            let route = Route { id, era: Era::Modern, batch: None };
            self.answer(&route, Ok(result), Vec::new());
        }
    }

    /// Tells everybody who asked that the inbox has changed.
    pub(super) fn announce_resource(&mut self) {
        if self.legacy.as_ref().is_some_and(|session| session.ready && session.subscribed) {
            let updated = notification(resource::METHOD_UPDATED, &json!({"uri": resource::URI}));
            self.out.push(&updated, None, Vec::new());
        }
        let listening: Vec<Id> = self
            .open
            .iter()
            .filter(|(_, call)| matches!(call, OpenCall::Listen { inbox: true }))
            .map(|(id, _)| id.clone())
            .collect();
        for id in listening {
            let params = json!({"_meta": {META_SUBSCRIPTION: id.to_json()}, "uri": resource::URI});
            self.out.push_about(&notification(resource::METHOD_UPDATED, &params), &id);
        }
    }

    pub(super) fn read_resource(&mut self, caller: &Caller, params: &Object) {
        let era = caller.route.era;
        let read = match known_uri(era, params) {
            Ok(()) => self.look_at_inbox(caller),
            Err(error) => return self.answer(&caller.route, Err(error), Vec::new()),
        };
        match read {
            Ok((inbox, delivery)) => {
                let text = serde_json::to_string(&inbox).unwrap_or_default();
                let receipt = Receipt { consumer: caller.consumer.clone(), delivery };
                // Stale at once: a message may come any moment.
                let result = cacheable(era, resource::contents(&text), 0);
                self.answer(&caller.route, Ok(result), vec![receipt]);
            }
            Err(error) => {
                let code = rmcp::model::ErrorCode::INTERNAL_ERROR;
                let error = RpcError::new(code, format!("the inbox could not be read: {error}"));
                self.answer(&caller.route, Err(error), Vec::new());
            }
        }
    }

    /// The newest unread messages, left unread.
    fn look_at_inbox(&mut self, caller: &Caller) -> Result<(InboxResource, DeliveryId), JournalError> {
        let delivery = DeliveryId(self.next_number());
        let journal = self.options.journal.clone();
        let mailbox = &mut self.inbox(&caller.consumer)?.mailbox;
        let unread = mailbox.unread(None);
        // A page begins with the oldest, so the newest are what comes after the one before them.
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
            peek: true,
            fresh_only: false,
            tells: false,
        };
        let batch = mailbox.hand_out(delivery, &query)?;
        let mut messages: Vec<MessageView> = batch
            .items
            .iter()
            .map(|handed| MessageView::of(&handed.record, handed.redelivered, handed.pushed))
            .collect();
        answer::fit(&mut messages, resource::BYTES_MAX - FRAME_BYTES);
        Ok((InboxResource { unread, messages }, delivery))
    }
}

/// The part of the asked filter that this server has: changes of the inbox.
fn accepted(params: &Object) -> Result<Object, RpcError> {
    let wrong = |field: &str, what: &str, got: &Value| {
        RpcError::invalid_params(format!("params.{field}: must be {what}, got {}", kind_of(got)))
    };
    let filter = match params.get("notifications") {
        Some(Value::Object(filter)) => filter,
        Some(other) => return Err(wrong("notifications", "an object", other)),
        None => return Err(RpcError::invalid_params("params.notifications: missing; it must be an object")),
    };
    let mut accepted = Object::new();
    match filter.get("resourceSubscriptions") {
        None => {}
        Some(Value::Array(uris)) => {
            if let Some(other) = uris.iter().find(|uri| !uri.is_string()) {
                return Err(wrong("notifications.resourceSubscriptions", "a list of strings", other));
            }
            if uris.iter().any(|uri| uri == resource::URI) {
                accepted.insert("resourceSubscriptions".to_owned(), json!([resource::URI]));
            }
        }
        Some(other) => return Err(wrong("notifications.resourceSubscriptions", "a list", other)),
    }
    Ok(accepted)
}
