//! A session of the versions with a handshake: what was negotiated, and what may therefore be used. It never
//! judges messages without a session.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::catalog::catalog;
use crate::down::down;
use crate::rules;
use crate::verdict::Findings;
use crate::version::{Direction, Version};

/// Most subscriptions of a host to resources.
const SUBSCRIPTIONS_MAX: usize = 4_096;

/// The agreement of `initialize` and its answer.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) version: Version,
    /// Whether the server has answered.
    pub(crate) answered: bool,
    /// Whether the host has sent `notifications/initialized`.
    pub(crate) ready: bool,
    pub(crate) host: Value,
    pub(crate) server: Value,
    subscribed: BTreeSet<String>,
}

impl Session {
    pub(crate) fn new(version: Version, host: Value) -> Self {
        Self {
            version,
            answered: false,
            ready: false,
            host,
            server: Value::Null,
            subscribed: BTreeSet::new(),
        }
    }

    pub(crate) fn subscribe(&mut self, uri: &str) {
        if self.subscribed.len() < SUBSCRIPTIONS_MAX {
            self.subscribed.insert(uri.to_owned());
        }
    }

    pub(crate) fn unsubscribe(&mut self, uri: &str) {
        self.subscribed.remove(uri);
    }

    /// Whether the host subscribed to this resource, or to one that contains it.
    pub(crate) fn wants(&self, uri: &str) -> bool {
        self.subscribed.iter().any(|wanted| uri.starts_with(wanted.as_str()))
    }

    /// Reports the use of a capability that was not declared.
    pub(crate) fn gate(
        &self,
        direction: Direction,
        message: &Value,
        method: &str,
        at: &str,
        found: &mut Findings,
    ) {
        let (host, server) = (&self.host, &self.server);
        // A method that the version does not have is reported elsewhere.
        if catalog(self.version).method(method).is_some()
            && let Some(missing) = undeclared(self.version, direction, method, host, server)
        {
            report(method, missing, at, found);
        }
        if method == "elicitation/create" && self.version >= Version::V2025_11_25 {
            let declared = &host["elicitation"];
            let url = down(message, &["params", "mode"]).and_then(Value::as_str) == Some("url");
            // An empty capability stands for forms, as in the version before.
            let empty = declared.as_object().is_some_and(serde_json::Map::is_empty);
            if url && declared.get("url").is_none() && declared.is_object() {
                report(method, "elicitation.url", at, found);
            } else if !url && declared.get("form").is_none() && declared.is_object() && !empty {
                report(method, "elicitation.form", at, found);
            }
        }
        if down(message, &["params", "task"]).is_some() && self.version == Version::V2025_11_25 {
            let missing = match method {
                "tools/call" => down(server, &["tasks", "requests", "tools", "call"]).is_none(),
                "sampling/createMessage" => {
                    down(host, &["tasks", "requests", "sampling", "createMessage"]).is_none()
                }
                "elicitation/create" => down(host, &["tasks", "requests", "elicitation", "create"]).is_none(),
                _ => false,
            };
            if missing {
                report(method, "tasks.requests", at, found);
            }
        }
    }
}

fn report(method: &str, missing: &str, at: &str, found: &mut Findings) {
    found.breaks(
        &rules::UNDECLARED_CAPABILITY,
        (at, "/method"),
        format!("`{method}` needs the capability `{missing}`, which was not declared"),
    );
}

/// The side that must declare a capability.
#[derive(Clone, Copy)]
enum By {
    Host,
    Server,
    /// The side to which the message goes.
    Receiver,
}

/// The capability that a method needs; a name that ends in `!` must be true, not only present.
const NEEDS: [(&str, By, &[&str]); 28] = [
    ("completion/complete", By::Server, &["completions"]),
    ("elicitation/create", By::Host, &["elicitation"]),
    ("logging/setLevel", By::Server, &["logging"]),
    ("notifications/elicitation/complete", By::Host, &["elicitation", "url"]),
    ("notifications/message", By::Server, &["logging"]),
    ("notifications/prompts/list_changed", By::Server, &["prompts", "listChanged!"]),
    ("notifications/resources/list_changed", By::Server, &["resources", "listChanged!"]),
    ("notifications/resources/updated", By::Server, &["resources", "subscribe!"]),
    ("notifications/roots/list_changed", By::Host, &["roots", "listChanged!"]),
    ("notifications/tasks/status", By::Server, &["tasks"]),
    ("notifications/tools/list_changed", By::Server, &["tools", "listChanged!"]),
    ("prompts/get", By::Server, &["prompts"]),
    ("prompts/list", By::Server, &["prompts"]),
    ("resources/list", By::Server, &["resources"]),
    ("resources/read", By::Server, &["resources"]),
    ("resources/subscribe", By::Server, &["resources", "subscribe!"]),
    ("resources/templates/list", By::Server, &["resources"]),
    ("resources/unsubscribe", By::Server, &["resources", "subscribe!"]),
    ("roots/list", By::Host, &["roots"]),
    ("sampling/createMessage", By::Host, &["sampling"]),
    ("tasks/cancel", By::Receiver, &["tasks", "cancel"]),
    ("tasks/get", By::Receiver, &["tasks"]),
    ("tasks/list", By::Receiver, &["tasks", "list"]),
    ("tasks/result", By::Receiver, &["tasks"]),
    ("tasks/update", By::Receiver, &["tasks"]),
    ("tools/call", By::Server, &["tools"]),
    ("tools/list", By::Server, &["tools"]),
    ("subscriptions/listen", By::Server, &[]),
];

/// The capability that a method needs and that was not declared.
pub(crate) fn undeclared(
    version: Version,
    direction: Direction,
    method: &str,
    host: &Value,
    server: &Value,
) -> Option<&'static str> {
    let (_, by, path) = NEEDS.iter().find(|(needs, ..)| *needs == method)?;
    // The first version had completion without a capability for it.
    if method == "completion/complete" && version == Version::V2024_11_05 {
        return None;
    }
    let mut declared = match (by, direction) {
        (By::Host, _) | (By::Receiver, Direction::ServerToHost) => host,
        (By::Server, _) | (By::Receiver, Direction::HostToServer) => server,
    };
    // A status comes from the side that runs the task.
    if method == "notifications/tasks/status" && direction == Direction::HostToServer {
        declared = host;
    }
    for step in *path {
        let name = step.trim_end_matches('!');
        match declared.get(name) {
            Some(Value::Bool(false)) | None => return Some(name),
            Some(inner) => declared = inner,
        }
    }
    None
}
