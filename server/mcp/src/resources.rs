//! `resources/read`, `resources/subscribe` and `subscriptions/listen`: documents, and notifications of their changes.
//!
//! A subscription reports that a resource changed, never how. It must never carry more than was asked for and accepted.

use std::collections::BTreeSet;

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::{Caller, Connection, Open, Route};
use crate::era::{Era, META_SUBSCRIPTION};
use crate::message::{Id, Object, RpcError, object, text};
use crate::session::Session;
use crate::tasks::needs_tasks;

/// The notification of a change, in both eras.
pub const METHOD_UPDATED: &str = "notifications/resources/updated";

/// Most open subscriptions on one connection.
pub(crate) const LISTENS_MAX: usize = 16;
/// Most resources that a client can subscribe to.
const SUBSCRIBED_MAX: usize = 256;

impl Connection {
    /// Notifies every subscription to a resource that it has changed.
    pub fn resource_changed(&mut self, uri: &str) {
        if self.ready().is_some_and(|opened| opened.subscribed.contains(uri)) {
            self.notify(METHOD_UPDATED, &json!({"uri": uri}));
        }
        let listening = |open: &Open| matches!(open, Open::Listen { resources } if resources.contains(uri));
        let ids: Vec<Id> =
            self.open.iter().filter(|(_, open)| listening(open)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            let params = json!({"_meta": {META_SUBSCRIPTION: id}, "uri": uri});
            self.notify_about(&id, METHOD_UPDATED, &params);
        }
    }

    /// The resources that clients have subscribed to.
    pub fn listened(&self) -> BTreeSet<String> {
        let streams = self.open.values().filter_map(|open| match open {
            Open::Listen { resources } => Some(resources),
            _ => None,
        });
        let subscribed = self.ready().map(|opened| &opened.subscribed);
        streams.chain(subscribed).flatten().cloned().collect()
    }

    /// Whether a client has subscribed to this resource.
    pub fn is_listened_to(&self, uri: &str) -> bool {
        self.open.values().any(|open| matches!(open, Open::Listen { resources } if resources.contains(uri)))
            || self.ready().is_some_and(|opened| opened.subscribed.contains(uri))
    }
}

impl Session {
    pub(crate) fn listen(&mut self, caller: &Caller, params: &Object) {
        let route = &caller.route;
        let asks_for_tasks =
            params.get("notifications").is_some_and(|filter| filter.get("taskIds").is_some());
        // Tasks are polled, so no notification tells of them, but only a client that declared them may ask.
        let allowed = if asks_for_tasks { needs_tasks(caller) } else { Ok(()) };
        let accepted = match allowed.and_then(|()| accepted(params, |uri| self.knows(uri))) {
            Ok(accepted) => accepted,
            Err(error) => return self.connection.answer(route, Err(error), Vec::new()),
        };
        let open = self.connection.open.values().filter(|open| matches!(open, Open::Listen { .. })).count();
        let refusal = if route.is_batched() {
            Some("subscriptions/listen must not stand in a batch".to_owned())
        } else {
            (open == LISTENS_MAX).then(|| format!("at most {LISTENS_MAX} subscriptions; cancel one first"))
        };
        if let Some(refusal) = refusal {
            let error = RpcError::invalid_request(refusal);
            return self.connection.answer(route, Err(error), Vec::new());
        }
        let uris = accepted.get("resourceSubscriptions").and_then(Value::as_array).into_iter().flatten();
        let resources = uris.filter_map(Value::as_str).map(str::to_owned).collect();
        let params = json!({"_meta": {META_SUBSCRIPTION: route.id}, "notifications": accepted});
        self.connection.notify_about(&route.id, "notifications/subscriptions/acknowledged", &params);
        self.connection.open.insert(route.id.clone(), Open::Listen { resources });
    }

    /// Answers every open subscription, because the connection is about to end.
    pub(crate) fn end_listens(&mut self) {
        let open = self.connection.open.iter().filter(|(_, open)| matches!(open, Open::Listen { .. }));
        let ids: Vec<Id> = open.map(|(id, _)| id.clone()).collect();
        for id in ids {
            self.connection.open.remove(&id);
            let result = json!({"_meta": {META_SUBSCRIPTION: id}});
            let route = Route { id, era: Era::Modern, batch: None };
            self.connection.answer(&route, Ok(result), Vec::new());
        }
    }

    pub(crate) fn read_resource(&mut self, caller: &Caller, params: &Object) {
        let era = caller.route.era;
        let outcome = text(params, "uri").and_then(|uri| {
            let read =
                |provider: &mut Box<dyn crate::Provider>| provider.read(uri, caller, &mut self.connection);
            if self.providers.iter_mut().any(read) { Ok(()) } else { Err(self.unknown_resource(era)) }
        });
        if let Err(error) = outcome {
            self.connection.answer(&caller.route, Err(error), Vec::new());
        }
    }

    pub(crate) fn subscribe(&mut self, params: &Object, on: bool) -> Result<Value, RpcError> {
        let uri = text(params, "uri")?;
        if !self.knows(uri) {
            return Err(self.unknown_resource(Era::Legacy));
        }
        if let Some(opened) = &mut self.connection.opened {
            if !on {
                opened.subscribed.remove(uri);
            } else if opened.subscribed.len() < SUBSCRIBED_MAX {
                opened.subscribed.insert(uri.to_owned());
            } else {
                let error =
                    format!("at most {SUBSCRIBED_MAX} resources can be subscribed to; unsubscribe one first");
                return Err(RpcError::invalid_request(error));
            }
        }
        Ok(json!({}))
    }

    /// Whether a provider has this resource: by its address, or by the text before the first variable of a template.
    fn knows(&self, uri: &str) -> bool {
        let by_template = |pattern: &str| uri.starts_with(pattern.split('{').next().unwrap_or(pattern));
        self.resources.iter().any(|resource| resource.uri == uri)
            || self.templates.iter().any(|template| by_template(&template.uri_template))
    }

    fn unknown_resource(&self, era: Era) -> RpcError {
        let code = match era {
            Era::Legacy => ErrorCode::RESOURCE_NOT_FOUND,
            Era::Modern => ErrorCode::INVALID_PARAMS,
        };
        let known: BTreeSet<&str> = self.resources.iter().map(|resource| resource.uri.as_str()).collect();
        let known: Vec<&str> = known.into_iter().collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        RpcError::new(code, format!("params.uri: no such resource; there is {known}"))
    }
}

/// The part of the requested filter that this server supports: changes of resources that it knows.
fn accepted(params: &Object, is_known: impl Fn(&str) -> bool) -> Result<Object, RpcError> {
    let filter = object(params, "notifications")?;
    let mut accepted = Object::new();
    match filter.get("resourceSubscriptions") {
        None => {}
        Some(Value::Array(uris)) => {
            if let Some(other) = uris.iter().find(|uri| !uri.is_string()) {
                return Err(RpcError::wrong_kind(
                    "notifications.resourceSubscriptions",
                    "a list of strings",
                    other,
                ));
            }
            let mut known: Vec<&str> = Vec::new();
            for uri in uris.iter().filter_map(Value::as_str).filter(|uri| is_known(uri)) {
                if !known.contains(&uri) && known.len() < SUBSCRIBED_MAX {
                    known.push(uri);
                }
            }
            if !known.is_empty() {
                accepted.insert("resourceSubscriptions".to_owned(), json!(known));
            }
        }
        Some(other) => {
            return Err(RpcError::wrong_kind("notifications.resourceSubscriptions", "a list", other));
        }
    }
    Ok(accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_takes_so_many_resources_and_no_more() {
        let uris: Vec<String> = (0..=SUBSCRIBED_MAX).map(|n| format!("toy://games/{n}")).collect();
        let Value::Object(params) = json!({"notifications": {"resourceSubscriptions": uris}}) else {
            unreachable!()
        };
        let accepted = accepted(&params, |_| true).unwrap();
        assert_eq!(accepted["resourceSubscriptions"], json!(uris[..SUBSCRIBED_MAX]));
    }
}
