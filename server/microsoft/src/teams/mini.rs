//! A small stateful Graph for the tests of this folder: chats with messages, the documented query rules, faults.
//! It must never know what the source expects.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::graph::script::{Reply, Script, Seen};

pub const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
pub const ALICE: &str = "bbbbbbbb-0000-0000-0000-00000000000a";
pub const BOB: &str = "bbbbbbbb-0000-0000-0000-00000000000b";
pub const MALLORY: &str = "bbbbbbbb-0000-0000-0000-00000000000e";
pub const AGENT: &str = "bbbbbbbb-0000-0000-0000-00000000000c";

type Fault = Box<dyn FnMut(&str) -> Option<Reply> + Send>;

#[derive(Default)]
pub struct State {
    pub chats: BTreeMap<String, Vec<Value>>,
    pub fault: Option<Fault>,
    pub members: BTreeMap<String, Value>,
    /// Answers after a message was posted, instead of the 201.
    pub lose_answer: Option<fn() -> Reply>,
    next_ms: i64,
    started: Option<tokio::time::Instant>,
}

/// The Graph; a cheap clone.
#[derive(Clone)]
pub struct Mini {
    pub state: Arc<Mutex<State>>,
    pub script: Arc<Script>,
    started: tokio::time::Instant,
}

pub fn start_of_time() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

impl Default for Mini {
    fn default() -> Self {
        Self::new()
    }
}

impl Mini {
    pub fn new() -> Self {
        let started = Some(tokio::time::Instant::now());
        let state = Arc::new(Mutex::new(State { started, ..State::default() }));
        let answering = state.clone();
        let script = Script::new(move |seen| answering.lock().unwrap().answer(seen));
        Self { state, script, started: tokio::time::Instant::now() }
    }

    pub fn now(&self) -> Timestamp {
        start_of_time() + SignedDuration::try_from(self.started.elapsed()).unwrap()
    }

    /// Alice writes; returns the message's id.
    pub fn say(&self, chat: &str, text: &str) -> String {
        self.say_as(chat, ALICE, text)
    }

    pub fn say_as(&self, chat: &str, who: &str, text: &str) -> String {
        self.put(chat, |message| {
            message["from"] =
                json!({"user": {"id": who, "tenantId": TENANT, "displayName": "Alice", "userIdentityType": "aadUser"}});
            message["body"] = json!({"contentType": "html", "content": format!("<p>{text}</p>")});
        })
    }

    /// Adds a message that `change` completes.
    pub fn put(&self, chat: &str, change: impl FnOnce(&mut Value)) -> String {
        let mut state = self.state.lock().unwrap();
        state.next_ms = (state.next_ms + 1).max(self.now().as_millisecond());
        let at = Timestamp::from_millisecond(state.next_ms).unwrap().to_string();
        let mut message = json!({
            "id": state.next_ms.to_string(), "messageType": "message", "createdDateTime": at,
            "lastModifiedDateTime": at, "lastEditedDateTime": null, "deletedDateTime": null, "attachments": [],
        });
        change(&mut message);
        let id = message["id"].as_str().unwrap_or("").to_owned();
        state.chats.entry(chat.to_owned()).or_default().push(message);
        id
    }

    /// Changes a message and stamps it as modified now.
    pub fn change(&self, chat: &str, id: &str, change: impl FnOnce(&mut Value, &str)) {
        let now = self.now().to_string();
        let mut state = self.state.lock().unwrap();
        let message = state.chats.get_mut(chat).unwrap().iter_mut().find(|m| m["id"] == id).unwrap();
        message["lastModifiedDateTime"] = json!(now);
        change(message, &now);
    }

    pub fn empty_chat(&self, chat: &str) {
        self.state.lock().unwrap().chats.entry(chat.to_owned()).or_default();
    }

    /// Answers whatever `fault` answers, instead.
    pub fn fault(&self, fault: impl FnMut(&str) -> Option<Reply> + Send + 'static) {
        self.state.lock().unwrap().fault = Some(Box::new(fault));
    }

    pub fn lines(&self) -> Vec<String> {
        self.script.seen().iter().map(Seen::line).collect()
    }
}

impl State {
    fn answer(&mut self, seen: &Seen) -> Reply {
        let url = url::Url::parse(&seen.request.url).unwrap();
        let path = url.path().to_owned();
        if let Some(reply) = self.fault.as_mut().and_then(|fault| fault(&seen.line())) {
            return reply;
        }
        let is_post = seen.request.method == crate::http::Method::Post;
        let query: BTreeMap<String, String> = url.query_pairs().into_owned().collect();
        let parts: Vec<String> =
            path.trim_start_matches("/v1.0/").split('/').map(|part| part.replace("%2F", "/")).collect();
        let reply = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            ["me"] => Reply::json(200, &json!({"id": AGENT})),
            ["me", "chats"] => page(&url, &query, &self.list(&query)),
            ["me", "chats", chat, "messages"] => match self.chats.get(*chat) {
                Some(messages) => page(&url, &query, &read(messages, &query)),
                None => Reply::error(404, "NotFound"),
            },
            ["chats", chat] => match self.members.get(*chat) {
                Some(members) => Reply::json(200, &json!({"id": chat, "members": members})),
                None => Reply::error(404, "NotFound"),
            },
            ["chats", chat, "messages"] | ["chats", chat, "messages", "replyWithQuote"] => {
                let body: Value = serde_json::from_slice(seen.request.body.as_deref().unwrap()).unwrap();
                let body = body.get("replyMessage").cloned().unwrap_or(body);
                let id = self.post(chat, &body["body"]);
                let at = self.chats[*chat].last().unwrap()["createdDateTime"].clone();
                Reply::json(201, &json!({"id": id, "createdDateTime": at}))
            }
            _ => Reply::error(404, "NoSuchRoute"),
        };
        match self.lose_answer {
            Some(lost) if is_post => lost(),
            _ => reply,
        }
    }

    /// The agent writes; Teams rewrites the HTML a little.
    fn post(&mut self, chat: &str, body: &Value) -> String {
        self.next_ms = (self.next_ms + 1).max(self.now_ms());
        let at = Timestamp::from_millisecond(self.next_ms).unwrap().to_string();
        let content =
            body["content"].as_str().unwrap().replace("<b>", "<strong>").replace("</b>", "</strong>");
        self.chats.entry(chat.to_owned()).or_default().push(json!({
            "id": self.next_ms.to_string(), "messageType": "message", "createdDateTime": at,
            "lastModifiedDateTime": at, "from": {"user": {"id": AGENT, "tenantId": TENANT}},
            "body": {"contentType": body["contentType"], "content": content}, "deletedDateTime": null,
        }));
        self.next_ms.to_string()
    }

    fn now_ms(&self) -> i64 {
        let elapsed = self.started.map_or(Duration::ZERO, |started| started.elapsed());
        (start_of_time() + SignedDuration::try_from(elapsed).unwrap()).as_millisecond()
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Vec<Value> {
        let created = |m: &Value| m["createdDateTime"].as_str().and_then(|t| t.parse::<Timestamp>().ok());
        let mut rows: Vec<(Option<Timestamp>, Value)> = self
            .chats
            .iter()
            .map(|(id, messages)| {
                let newest = messages.iter().max_by_key(|m| created(m));
                let preview = newest.map(|m| {
                    json!({"id": m["id"], "createdDateTime": m["createdDateTime"], "body": m["body"],
                           "isDeleted": !m["deletedDateTime"].is_null()})
                });
                let at = newest.and_then(created);
                let kind = if id.contains("unq.gbl") { "oneOnOne" } else { "group" };
                (at, json!({"id": id, "chatType": kind, "lastMessagePreview": preview}))
            })
            .collect();
        if query.contains_key("$orderby") {
            rows.sort_by_key(|row| std::cmp::Reverse(row.0));
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }
}

fn read(messages: &[Value], query: &BTreeMap<String, String>) -> Vec<Value> {
    let at = |m: &Value| m["lastModifiedDateTime"].as_str().and_then(|t| t.parse::<Timestamp>().ok());
    let after: Option<Timestamp> =
        query.get("$filter").and_then(|f| f.strip_prefix("lastModifiedDateTime gt ")?.parse().ok());
    let mut found: Vec<Value> = messages
        .iter()
        .filter(|m| after.is_none_or(|after| at(m).is_none_or(|at| at > after)))
        .cloned()
        .collect();
    found.sort_by_key(|m| std::cmp::Reverse(at(m)));
    found
}

fn page(url: &url::Url, query: &BTreeMap<String, String>, all: &[Value]) -> Reply {
    let skip: usize = query.get("$skip").and_then(|s| s.parse().ok()).unwrap_or(0);
    let top: usize = query.get("$top").and_then(|t| t.parse().ok()).unwrap_or(20);
    let mut body = json!({"value": all.iter().skip(skip).take(top).collect::<Vec<_>>()});
    if skip + top < all.len() {
        let mut next = url.clone();
        let kept: Vec<(String, String)> = query.clone().into_iter().filter(|(k, _)| k != "$skip").collect();
        next.query_pairs_mut().clear().extend_pairs(kept).append_pair("$skip", &(skip + top).to_string());
        body["@odata.nextLink"] = json!(next.to_string());
    }
    Reply::json(200, &body).after(Duration::from_millis(20))
}
