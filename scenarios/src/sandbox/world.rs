//! The sandbox's small world in the fake Graph: what people do on the page, and what the agent's server makes of it.
//! It must never judge; it notes what was asked and said. Time comes from its caller.

use std::collections::BTreeMap;

use fakes::graph::{
    AGENT, CallRecord, ChatKind, ChatSpec, FakeGraph, MailSpec, MailboxSpec, MessageSpec, Operation,
    PersonSpec, ScriptError, SharedGraph, TokenSpec, WorldSpec,
};
use jiff::Timestamp;
use serde_json::Value;

use super::news::News;
use super::state::{Item, Place, Polling, PollingIs};
use super::text;

/// The handle of the place that is open at first.
pub(super) const FIRST: &str = "alice";
/// The handle of the mailbox among the places.
pub(super) const MAIL: &str = "mail";
/// Messages of one place that are remembered; the oldest are forgotten, Graph has its own bound.
const KEPT_MAX: usize = 2_000;
/// Messages of one place that are shown.
const SHOWN_MAX: usize = 200;
/// Chats that are shown, those that the agent began included.
const PLACES_MAX: usize = 50;
/// After this long without a request the server is taken for gone, in milliseconds.
const SILENT_AFTER_MS: i64 = 10_000;

/// What a person does on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Writes in a chat, or a mail with a subject.
    Say {
        /// Where.
        place: String,
        /// Handle of who writes.
        from: String,
        /// Of a mail.
        subject: String,
        /// What.
        text: String,
        /// The text is HTML.
        html: bool,
        /// It mentions the agent.
        mention: bool,
    },
    /// Changes a message.
    Edit {
        /// Where.
        place: String,
        /// Its id.
        message: String,
        /// The new text.
        text: String,
    },
    /// Deletes a message.
    Delete {
        /// Where.
        place: String,
        /// Its id.
        message: String,
    },
}

impl Deed {
    /// The handle of where it is done.
    pub(super) fn place(&self) -> &str {
        match self {
            Self::Say { place, .. } | Self::Edit { place, .. } | Self::Delete { place, .. } => place,
        }
    }
}

/// A message that is remembered.
struct Entry {
    id: String,
    /// Handle of who wrote it.
    from: String,
    changed_ms: i64,
    read: bool,
    reached: bool,
    /// What a mail says; Graph is asked for everything else.
    mail: Option<Mail>,
}

struct Mail {
    subject: String,
    content: String,
    html: bool,
    to: Vec<String>,
    at: Timestamp,
}

/// Somebody who may speak to the agent.
pub(super) struct Allowed {
    pub(super) tenant_id: String,
    pub(super) object_id: String,
    pub(super) mail: String,
    pub(super) name: String,
}

/// The fake Graph and what is remembered of it.
pub(crate) struct World {
    graph: SharedGraph,
    /// Handles in the order of the page.
    places: Vec<String>,
    entries: BTreeMap<String, Vec<Entry>>,
    calls_seen: u64,
    sent_seen: usize,
    mails_seen: usize,
    asked_ms: Option<i64>,
    polling: PollingIs,
    version: u64,
}

impl World {
    /// Alice, Bob and a stranger, each with a chat, a group, and a mailbox. `token` is what Graph accepts.
    pub(crate) fn new(token: &str, now: Timestamp) -> Result<Self, ScriptError> {
        let one = |member: &str| ChatSpec { members: vec![member.to_owned()], ..ChatSpec::default() };
        let group = ChatSpec {
            kind: ChatKind::Group,
            members: vec!["alice".to_owned(), "bob".to_owned()],
            topic: Some("Group".to_owned()),
            ..ChatSpec::default()
        };
        let people = ["alice", "bob", "mallory"].map(|handle| (handle.to_owned(), PersonSpec::default()));
        let chats =
            [("alice", one("alice")), ("bob", one("bob")), ("group", group), ("mallory", one("mallory"))];
        let world = WorldSpec {
            people: people.into(),
            chats: chats.map(|(handle, chat)| (handle.to_owned(), chat)).into(),
            mail: Some(MailboxSpec::default()),
            tokens: vec![TokenSpec { token: token.to_owned(), ..TokenSpec::default() }],
            ..WorldSpec::default()
        };
        // Ids of mails follow from the seed, and a home folder that is used again remembers those of before.
        let graph = FakeGraph::from_world(&world, u64::try_from(ms(now)).unwrap_or(1), now)?;
        let places = ["alice", "bob", "group", MAIL, "mallory"].map(str::to_owned).to_vec();
        Ok(Self {
            graph: SharedGraph::new(graph),
            entries: places.iter().map(|handle| (handle.clone(), Vec::new())).collect(),
            places,
            calls_seen: 0,
            sent_seen: 0,
            mails_seen: 0,
            asked_ms: None,
            polling: PollingIs::Never,
            version: 1,
        })
    }

    /// The fake itself.
    pub(crate) fn graph(&self) -> SharedGraph {
        self.graph.clone()
    }

    /// Who may speak to the agent: tenant id, object id, address and name of each.
    pub(super) fn allowed(&self) -> Vec<Allowed> {
        let of = |handle| {
            let person = self.graph.with(|graph| graph.person(handle).ok().cloned())?;
            Some(Allowed {
                tenant_id: person.tenant_id,
                object_id: person.object_id,
                mail: person.mail.unwrap_or_default(),
                name: person.display_name.unwrap_or_default(),
            })
        };
        ["alice", "bob"].into_iter().filter_map(of).collect()
    }

    /// Grows with every change that shows.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Does what a person did on the page, and says it for the terminal.
    pub(crate) fn act(&mut self, now: Timestamp, deed: Deed) -> Result<News, ScriptError> {
        let news = match deed {
            Deed::Say { place, from, subject, text, html, mention } => {
                self.may_write(&place, &from)?;
                let news = News::Person {
                    who: self.name(&from),
                    does: format!("writes in {}", self.title(&place)),
                    text: if html { text.clone() } else { format!("{subject} {text}") },
                };
                let entry = if place == MAIL {
                    self.mail(now, from, subject, text, html)?
                } else {
                    let body = if html { text } else { text::paragraph(&text) };
                    let mut message = MessageSpec::html(&body);
                    if mention {
                        message = message.mentioning(AGENT);
                    }
                    let id = self.graph.with(|graph| graph.post(now, &place, &from, &message))?;
                    Entry { id, from, changed_ms: ms(now), read: false, reached: false, mail: None }
                };
                self.keep(place, entry);
                news
            }
            Deed::Edit { place, message, text } => {
                let who = self.own(&place, &message)?;
                let html = text::paragraph(&text);
                self.graph.with(|graph| graph.edit(now, &place, &message, &html))?;
                self.changed(&place, &message, now);
                News::Person { who, does: format!("changes a message in {}", self.title(&place)), text }
            }
            Deed::Delete { place, message } => {
                let who = self.own(&place, &message)?;
                if place == MAIL {
                    return Err(invalid("place", "a mail that was sent can't be taken back"));
                }
                self.graph.with(|graph| graph.delete(now, &place, &message))?;
                self.changed(&place, &message, now);
                let does = format!("deletes a message in {}", self.title(&place));
                News::Person { who, does, text: String::new() }
            }
        };
        self.version += 1;
        Ok(news)
    }

    /// Takes in what the server has asked and the agent has written since the last look.
    pub(crate) fn look(&mut self, now: Timestamp) -> Vec<News> {
        let mut news = Vec::new();
        let seen = self.calls_seen;
        let calls: Vec<CallRecord> = self.graph.with(|graph| {
            let new = usize::try_from(graph.calls_total().saturating_sub(seen)).unwrap_or(usize::MAX);
            let log = graph.call_log();
            let old = log.len().saturating_sub(new);
            log.skip(old).cloned().collect()
        });
        let mut changed = false;
        for call in calls {
            self.calls_seen = call.seq;
            changed |= self.called(&call, &mut news);
        }
        self.sent(&mut news);
        if self.polling == PollingIs::Now
            && self.asked_ms.is_some_and(|at| ms(now).saturating_sub(at) > SILENT_AFTER_MS)
        {
            self.polling = PollingIs::Stopped;
            news.push(News::Silent);
        }
        if changed || !news.is_empty() {
            self.version += 1;
        }
        news
    }

    /// Notes the messages that a line to a session shows.
    pub(crate) fn reached(&mut self, line: &Value) {
        for id in shown_in(line) {
            let entries =
                self.entries.values_mut().flatten().filter(|entry| entry.id == id && !entry.reached);
            for entry in entries {
                entry.reached = true;
                self.version += 1;
            }
        }
    }

    /// Whether a server asks.
    pub(crate) fn polling(&self, now: Timestamp) -> Polling {
        let ago_ms = self.asked_ms.map(|at| u64::try_from(ms(now).saturating_sub(at)).unwrap_or(0));
        Polling { is: self.polling, ago_ms }
    }

    /// Whether there is a place of that handle.
    pub(super) fn has(&self, place: &str) -> bool {
        self.places.iter().any(|known| known == place)
    }

    /// Chats and mailbox as they are now, with the messages of those that are named.
    pub(super) fn places(&self, with_messages: impl Fn(&str) -> bool) -> Vec<Place> {
        self.places.iter().map(|handle| self.place(handle, with_messages(handle))).collect()
    }

    fn place(&self, handle: &str, with_messages: bool) -> Place {
        let entries = self.entries.get(handle).map(Vec::as_slice).unwrap_or_default();
        let mut messages: Vec<Item> = entries
            .iter()
            .rev()
            .take(if with_messages { SHOWN_MAX } else { 0 })
            .filter_map(|entry| match &entry.mail {
                Some(mail) => Some(self.mail_item(entry, mail)),
                None => self.chat_item(handle, entry),
            })
            .collect();
        messages.sort_by(|a, b| (&a.at, &a.id).cmp(&(&b.at, &b.id)));
        let about = match handle {
            "alice" | "bob" => "a 1:1 chat with the agent",
            "group" => "with Alice and Bob; the agent hears what mentions it",
            MAIL => "the agent's inbox and what it sends",
            "mallory" => "a 1:1 chat with a stranger, whom nobody has let in",
            _ => "a chat that the agent began",
        };
        Place {
            handle: handle.to_owned(),
            title: self.title(handle),
            about: about.to_owned(),
            chat_id: self.graph.with(|graph| graph.chat_id(handle).ok().map(str::to_owned)),
            group: handle == "group",
            mail: handle == MAIL,
            people: people(handle).iter().map(|person| ((*person).to_owned(), self.name(person))).collect(),
            count: entries.len(),
            left_out: entries.len().saturating_sub(messages.len()),
            messages,
        }
    }

    fn chat_item(&self, handle: &str, entry: &Entry) -> Option<Item> {
        let (json, agent_id) = self.graph.with(|graph| {
            let agent_id = graph.agent().object_id.clone();
            graph.message_json(handle, &entry.id).ok().map(|json| (json, agent_id))
        })?;
        let of = |name: &str| json[name].as_str();
        let reactions = json["reactions"].as_array().map(|list| {
            list.iter().filter_map(|one| one["reactionType"].as_str()).map(str::to_owned).collect()
        });
        let content = json["body"]["content"].as_str().unwrap_or_default();
        Some(Item {
            id: entry.id.clone(),
            name: self.name(&entry.from),
            by_agent: entry.from == AGENT,
            at: of("createdDateTime").unwrap_or_default().to_owned(),
            subject: None,
            to: Vec::new(),
            content_type: json["body"]["contentType"].as_str().unwrap_or_default().to_owned(),
            source: text::source(content),
            text: text::readable(&json, &agent_id),
            edited: of("lastEditedDateTime").is_some(),
            deleted: of("deletedDateTime").is_some(),
            reactions: reactions.unwrap_or_default(),
            read_by_server: entry.read,
            reached_session: entry.reached,
        })
    }

    fn mail_item(&self, entry: &Entry, mail: &Mail) -> Item {
        Item {
            id: entry.id.clone(),
            name: self.name(&entry.from),
            by_agent: entry.from == AGENT,
            at: format!("{:.3}", mail.at),
            subject: Some(mail.subject.clone()),
            to: mail.to.clone(),
            content_type: if mail.html { "html" } else { "text" }.to_owned(),
            source: text::source(&mail.content),
            text: if mail.html { text::readable_html(&mail.content) } else { text::source(&mail.content) },
            edited: false,
            deleted: false,
            reactions: Vec::new(),
            read_by_server: entry.read,
            reached_session: entry.reached,
        }
    }

    /// One call of the server; says whether it shows.
    fn called(&mut self, call: &CallRecord, news: &mut Vec<News>) -> bool {
        if call.status == 401 {
            let first = self.polling != PollingIs::Refused && self.polling != PollingIs::Now;
            if first {
                self.polling = PollingIs::Refused;
                news.push(News::Refused);
            }
            return first;
        }
        let is_poll =
            matches!(call.operation, Operation::ListChats | Operation::ListMessages | Operation::MailDelta);
        if !(200..300).contains(&call.status) {
            return false;
        }
        if is_poll {
            self.asked_ms = Some(ms(call.at));
            if self.polling != PollingIs::Now {
                self.polling = PollingIs::Now;
                news.push(News::Polls);
            }
        }
        match (call.operation, &call.chat) {
            (Operation::ListMessages, Some(chat)) => {
                let chat = chat.clone();
                self.read(&chat, |entry| entry.changed_ms <= ms(call.at), news)
            }
            (Operation::GetMail, _) => self.read(MAIL, |entry| call.path.contains(&entry.id), news),
            (Operation::EditMessage | Operation::SoftDelete | Operation::React, _) => true,
            _ => false,
        }
    }

    fn read(&mut self, place: &str, is_it: impl Fn(&Entry) -> bool, news: &mut Vec<News>) -> bool {
        let mut who = Vec::new();
        for entry in self.entries.get_mut(place).into_iter().flatten() {
            if !entry.read && is_it(entry) {
                entry.read = true;
                if entry.from != AGENT {
                    who.push(entry.from.clone());
                }
            }
        }
        let place = self.title(place);
        news.extend(who.iter().map(|who| News::Read { who: self.name(who), place: place.clone() }));
        !who.is_empty()
    }

    /// What the agent has written since the last look.
    fn sent(&mut self, news: &mut Vec<News>) {
        let (sent, mails) = self.graph.with(|graph| {
            let sent = graph.messages_sent_by_agent().get(self.sent_seen..).unwrap_or_default().to_vec();
            let mails = graph.mails_sent_by_agent().get(self.mails_seen..).unwrap_or_default().to_vec();
            (sent, mails)
        });
        self.sent_seen += sent.len();
        self.mails_seen += mails.len();
        for sent in sent {
            let text = text::readable_html(&sent.content);
            news.push(News::Agent { does: format!("writes in {}", self.title(&sent.chat)), text });
            if !self.has(&sent.chat) {
                if self.places.len() >= PLACES_MAX {
                    continue;
                }
                self.places.push(sent.chat.clone());
            }
            let entry = entry(sent.message_id, AGENT.to_owned(), sent.at, None);
            self.keep(sent.chat, entry);
        }
        for sent in mails {
            let does = format!("sends a mail to {}", sent.to.join(", "));
            news.push(News::Agent { does, text: sent.subject.clone() });
            let mail =
                Mail { subject: sent.subject, content: sent.content, html: true, to: sent.to, at: sent.at };
            let entry = entry(sent.message_id, AGENT.to_owned(), sent.at, Some(mail));
            self.keep(MAIL.to_owned(), entry);
        }
    }

    fn mail(
        &mut self,
        now: Timestamp,
        from: String,
        subject: String,
        content: String,
        html: bool,
    ) -> Result<Entry, ScriptError> {
        let body = Some(content.clone());
        let (as_html, as_text) = if html { (body, None) } else { (None, body) };
        let spec = MailSpec { subject: subject.clone(), html: as_html, text: as_text, ..MailSpec::default() };
        let id = self.graph.with(|graph| graph.mail(now, &from, &spec))?;
        let mail = Mail { subject, content, html, to: Vec::new(), at: now };
        Ok(entry(id, from, now, Some(mail)))
    }

    fn keep(&mut self, place: String, entry: Entry) {
        let entries = self.entries.entry(place).or_default();
        if entries.len() >= KEPT_MAX {
            entries.remove(0);
        }
        entries.push(entry);
    }

    /// Whether somebody can write in a place.
    fn may_write(&self, place: &str, from: &str) -> Result<(), ScriptError> {
        if !self.has(place) {
            return Err(invalid("place", "there is no such chat; reload the page"));
        }
        if !people(place).contains(&from) {
            return Err(invalid("from", "that person is not in this chat; choose another one"));
        }
        Ok(())
    }

    /// The name of the person who wrote a message, when a person did.
    fn own(&self, place: &str, message: &str) -> Result<String, ScriptError> {
        let entry = self.entries.get(place).and_then(|all| all.iter().find(|entry| entry.id == message));
        match entry {
            Some(entry) if entry.from != AGENT && entry.mail.is_none() => Ok(self.name(&entry.from)),
            Some(_) => Err(invalid("message", "only a person's chat message can be changed here")),
            None => Err(invalid("message", "there is no such message; reload the page")),
        }
    }

    fn changed(&mut self, place: &str, message: &str, now: Timestamp) {
        let entries = self.entries.get_mut(place).into_iter().flatten();
        for entry in entries.filter(|entry| entry.id == message) {
            entry.changed_ms = ms(now);
            entry.read = false;
        }
    }

    fn title(&self, place: &str) -> String {
        match place {
            "group" => "Group".to_owned(),
            MAIL => "Mail".to_owned(),
            other => self.name(other),
        }
    }

    fn name(&self, handle: &str) -> String {
        if handle == AGENT {
            return "Agent".to_owned();
        }
        let name =
            self.graph.with(|graph| graph.person(handle).ok().and_then(|who| who.display_name.clone()));
        name.unwrap_or_else(|| handle.to_owned())
    }
}

/// Handles of who can write in a place.
fn people(place: &str) -> &'static [&'static str] {
    match place {
        "group" | MAIL => &["alice", "bob"],
        "alice" => &["alice"],
        "bob" => &["bob"],
        "mallory" => &["mallory"],
        _ => &[],
    }
}

fn entry(id: String, from: String, at: Timestamp, mail: Option<Mail>) -> Entry {
    Entry { id, from, changed_ms: ms(at), read: false, reached: false, mail }
}

/// Ids of the messages that a server's line shows to the model: in a result, or pushed.
fn shown_in(line: &Value) -> Vec<String> {
    let blocks = ["/result/content", "/result/contents"].map(|place| line.pointer(place));
    let texts = blocks.into_iter().flatten().filter_map(Value::as_array).flatten();
    let results = texts.filter_map(|block| serde_json::from_str::<Value>(block["text"].as_str()?).ok());
    let ids = |result: &Value| -> Vec<String> {
        let messages = result["messages"].as_array().into_iter().flatten();
        messages.filter_map(|message| message["id"].as_str()).map(str::to_owned).collect()
    };
    let pushed = line.pointer("/params/meta/message_id").and_then(Value::as_str).map(str::to_owned);
    results.flat_map(|result| ids(&result)).chain(pushed).collect()
}

fn invalid(field: &'static str, reason: &str) -> ScriptError {
    ScriptError::Invalid { field, reason: reason.to_owned() }
}

fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

#[cfg(test)]
mod tests {
    use fakes::graph::Request;
    use serde_json::json;

    use super::*;
    use crate::sandbox::state::State;

    const TOKEN: &str = "t";

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millisecond(1_767_600_000_000 + ms).unwrap()
    }

    fn say(place: &str, from: &str, text: &str) -> Deed {
        let (place, from, text) = (place.to_owned(), from.to_owned(), text.to_owned());
        Deed::Say { place, from, subject: "s".to_owned(), text, html: false, mention: false }
    }

    fn ask(world: &World, now: Timestamp, method: &str, path: &str, body: &Value) -> Value {
        let request = Request::new(method, path).bearer(TOKEN).json(body);
        world.graph().handle(now, &request).json()
    }

    fn chat(world: &World, handle: &str) -> String {
        world.graph().with(|graph| graph.chat_id(handle).unwrap().to_owned())
    }

    fn item(world: &World, place: &str, index: usize) -> Item {
        world.place(place, true).messages[index].clone()
    }

    #[test]
    fn a_message_is_read_when_the_server_has_asked_for_it() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        world.act(at(1), say("alice", "alice", "a < b")).unwrap();
        world.act(at(2), say("bob", "bob", "later")).unwrap();
        assert!(world.look(at(3)).is_empty());
        assert_eq!(
            (item(&world, "alice", 0).text.as_str(), world.polling(at(3)).is),
            ("a < b", PollingIs::Never)
        );
        let before = world.version();
        let path = format!("/v1.0/chats/{}/messages", chat(&world, "alice"));
        ask(&world, at(4), "GET", &path, &Value::Null);
        let read = News::Read { who: "Alice".to_owned(), place: "Alice".to_owned() };
        assert_eq!(world.look(at(5)), [News::Polls, read]);
        assert!(item(&world, "alice", 0).read_by_server && !item(&world, "bob", 0).read_by_server);
        assert!(world.version() > before);
        assert!(world.look(at(6)).is_empty(), "nothing is told twice");
    }

    #[test]
    fn a_change_is_unread_again_and_a_deletion_shows() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        world.act(at(1), say("alice", "alice", "first")).unwrap();
        let path = format!("/v1.0/chats/{}/messages", chat(&world, "alice"));
        ask(&world, at(2), "GET", &path, &Value::Null);
        world.look(at(3));
        let (place, message) = ("alice".to_owned(), item(&world, "alice", 0).id);
        let edit = Deed::Edit { place: place.clone(), message: message.clone(), text: "<second>".to_owned() };
        world.act(at(4), edit).unwrap();
        let changed = item(&world, "alice", 0);
        assert!(changed.edited && !changed.read_by_server && changed.text == "<second>", "{changed:?}");
        world.act(at(5), Deed::Delete { place, message }).unwrap();
        let gone = item(&world, "alice", 0);
        assert!(gone.deleted && gone.text.is_empty(), "{gone:?}");
    }

    #[test]
    fn what_the_agent_writes_comes_back() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        let path = format!("/v1.0/chats/{}/messages", chat(&world, "group"));
        let body = json!({"body": {"contentType": "html", "content": "<b>done</b><script>x()</script>"}});
        ask(&world, at(1), "POST", &path, &body);
        let wanted = News::Agent { does: "writes in Group".to_owned(), text: "done".to_owned() };
        assert_eq!(world.look(at(2)), [wanted]);
        let reply = item(&world, "group", 0);
        assert!(reply.by_agent && reply.text == "done" && reply.source.contains("<script>"), "{reply:?}");
        let id = reply.id.clone();
        let change = Deed::Edit { place: "group".to_owned(), message: id, text: "x".to_owned() };
        assert!(world.act(at(3), change).is_err(), "the agent's words are its own");
    }

    #[test]
    fn silence_and_a_wrong_token_are_told_once() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        let refused = Request::get("/v1.0/me/chats").bearer("other");
        world.graph().handle(at(1), &refused);
        assert_eq!(world.look(at(1)), [News::Refused]);
        world.graph().handle(at(2), &refused);
        assert!(world.look(at(2)).is_empty());
        ask(&world, at(3), "GET", "/v1.0/me/chats", &Value::Null);
        assert_eq!(world.look(at(4)), [News::Polls]);
        assert!(world.look(at(3 + SILENT_AFTER_MS)).is_empty());
        assert_eq!(world.look(at(4 + SILENT_AFTER_MS)), [News::Silent]);
        assert_eq!(
            world.polling(at(4 + SILENT_AFTER_MS)),
            Polling { is: PollingIs::Stopped, ago_ms: Some(10_001) }
        );
    }

    #[test]
    fn a_line_to_the_session_marks_its_messages() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        world.act(at(1), say("alice", "alice", "one")).unwrap();
        world.act(at(2), say(MAIL, "bob", "two")).unwrap();
        let result = json!({"messages": [{"id": item(&world, MAIL, 0).id}]}).to_string();
        world.reached(&json!({"id": 1, "result": {"content": [{"type": "text", "text": result}]}}));
        assert!(item(&world, MAIL, 0).reached_session && !item(&world, "alice", 0).reached_session);
        let meta = json!({"message_id": item(&world, "alice", 0).id});
        world.reached(&json!({"method": "notifications/claude/channel", "params": {"meta": meta}}));
        assert!(item(&world, "alice", 0).reached_session);
        for hostile in
            [json!(null), json!({"result": {"content": 5}}), json!({"result": {"content": [{"text": "{"}]}})]
        {
            world.reached(&hostile);
        }
    }

    #[test]
    fn nobody_writes_where_they_are_not() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        for (place, from) in [("alice", "bob"), ("mail", "mallory"), ("nowhere", "alice"), ("alice", AGENT)] {
            assert!(world.act(at(1), say(place, from, "x")).is_err(), "{from} in {place}");
        }
        let delete = Deed::Delete { place: "alice".to_owned(), message: "1".to_owned() };
        assert!(world.act(at(1), delete).is_err());
    }

    #[test]
    fn the_history_is_bounded_and_the_newest_stays() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        for n in 0..=KEPT_MAX {
            world.act(at(i64::try_from(n).unwrap()), say("alice", "alice", &n.to_string())).unwrap();
        }
        let place = world.place("alice", true);
        assert_eq!(
            (place.count, place.messages.len(), place.left_out),
            (KEPT_MAX, SHOWN_MAX, KEPT_MAX - SHOWN_MAX)
        );
        assert_eq!(place.messages.last().unwrap().text, KEPT_MAX.to_string());
    }

    #[test]
    fn a_chat_that_the_agent_begins_is_shown() {
        let mut world = World::new(TOKEN, at(0)).unwrap();
        let member = |id: &str| {
            json!({"@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": ["owner"],
                "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')")})
        };
        let ids = world.graph().with(|graph| {
            [
                graph.agent().object_id.clone(),
                graph.person("alice").unwrap().object_id.clone(),
                graph.person("bob").unwrap().object_id.clone(),
            ]
        });
        let chat = json!({"chatType": "group", "topic": "News", "members": ids.map(|id| member(&id))});
        let made = ask(&world, at(1), "POST", "/v1.0/chats", &chat);
        let path =
            format!("/v1.0/chats/{}/messages", made["id"].as_str().unwrap_or_else(|| panic!("{made}")));
        ask(&world, at(2), "POST", &path, &json!({"body": {"content": "hello, both"}}));
        world.look(at(3));
        let places = world.places(|_| true);
        let begun = places.last().unwrap();
        assert_eq!(
            (begun.messages[0].text.as_str(), begun.people.len(), places.len()),
            ("hello, both", 0, 6)
        );
    }

    #[test]
    fn the_state_is_plain_json_without_a_token() {
        let mut world = World::new("access-token", at(0)).unwrap();
        world.act(at(1), say("alice", "alice", "hello")).unwrap();
        let state = State {
            version: 7,
            polling: world.polling(at(1)),
            places: world.places(|_| true),
            session: None,
        };
        let json = serde_json::to_value(&state).unwrap();
        assert_eq!(json["polling"], json!({"is": "never", "ago_ms": null}));
        assert_eq!(json["places"][0]["handle"], "alice");
        let message = &json["places"][0]["messages"][0];
        assert_eq!((&message["text"], &message["by_agent"]), (&json!("hello"), &json!(false)));
        assert!(!json.to_string().contains("access-token"));
    }
}
