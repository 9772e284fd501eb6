//! A scenario's changes to the world: people write, edit, delete, react, join and leave; tokens end; faults
//! begin. It must never serve a request; it reports a wrong name and does not guess.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use url::Url;

use super::auth::TokenSpec;
use super::chat::{Chat, MEMBERS_MAX, MESSAGES_MAX, chat_id};
use super::error_style::ErrorStyle;
use super::fault::{FAULTS_MAX, Fault, FaultSpec};
use super::log::{CallRecord, Violation};
use super::message::{Kind, Message};
use super::moment;
use super::payload;
use super::people::{Application, Person};
use super::rules::RuleId;
use super::script_error::ScriptError;
use super::sent::SentMessage;
use super::spec::{
    AGENT, ApplicationSpec, ChatKind, ChatSpec, MessageSpec, PersonSpec, SystemEventSpec, WorldSpec,
};
use super::state::FakeGraph;
use super::throttle::ThrottleSpec;
use super::trace::Trace;
use super::write::{react, stored};

/// How many chats a world can have.
const CHATS_MAX: usize = 10_000;

/// The setup of the world.
impl FakeGraph {
    /// Makes the world that a scenario describes.
    pub fn from_world(world: &WorldSpec, seed: u64, started_at: Timestamp) -> Result<Self, ScriptError> {
        let mut graph = Self::with_agent(&world.agent, seed, started_at);
        graph.latency_ms = world.latency_ms;
        graph.date_skew_ms = world.date_skew_ms;
        graph.error_style = world.error_style;
        graph.throttle.spec = world.throttle.clone();
        if let Some(scopes) = &world.scopes {
            graph.auth.set_scopes(scopes.iter().map(String::as_str));
        }
        for token in &world.tokens {
            graph.accept_token(token);
        }
        for (handle, spec) in &world.people {
            graph.add_person(handle, spec)?;
        }
        graph.set_sponsors(&world.sponsors)?;
        for (handle, spec) in &world.applications {
            graph.add_application(handle, spec);
        }
        for (handle, spec) in &world.chats {
            graph.add_chat(started_at, handle, spec)?;
        }
        if let Some(mailbox) = &world.mail {
            graph.open_mailbox(started_at, mailbox)?;
        }
        for fault in &world.faults {
            graph.add_fault(fault.clone())?;
        }
        Ok(graph)
    }

    /// Sets the origin in absolute links, without a path, e.g. `http://127.0.0.1:4000`.
    pub fn set_base_url(&mut self, base_url: &str) -> Result<(), ScriptError> {
        let base_url = base_url.trim_end_matches('/');
        let url = Url::parse(base_url).ok().filter(|url| url.has_host() && url.path() == "/");
        let Some(url) = url else {
            let reason = format!("`{base_url}` is no origin; write scheme://host:port");
            return Err(ScriptError::Invalid { field: "base_url", reason });
        };
        self.base = Some(url);
        self.last_asked.forget();
        base_url.clone_into(&mut self.base_url);
        Ok(())
    }

    /// The origin in absolute links.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Adds a person.
    pub fn add_person(&mut self, handle: &str, spec: &PersonSpec) -> Result<&Person, ScriptError> {
        if handle == AGENT {
            let reason = format!("`{AGENT}` is the agent itself; choose another handle");
            return Err(ScriptError::Invalid { field: "people", reason });
        }
        self.people.change().add_person(handle, spec);
        self.person(handle)
    }

    /// Adds a bot or webhook.
    pub fn add_application(&mut self, handle: &str, spec: &ApplicationSpec) {
        self.people.change().add_application(handle, spec);
    }

    /// Adds a chat with its members and history, and returns its id.
    pub fn add_chat(&mut self, now: Timestamp, handle: &str, spec: &ChatSpec) -> Result<String, ScriptError> {
        if self.chats.len() >= CHATS_MAX {
            return Err(ScriptError::TooMany { what: "chats", max: CHATS_MAX });
        }
        let mut members: Vec<&str> = if spec.without_agent { Vec::new() } else { vec![AGENT] };
        members.extend(spec.members.iter().map(String::as_str).filter(|member| *member != AGENT));
        if spec.kind == ChatKind::OneOnOne && members.len() != 2 {
            let reason =
                format!("a one_on_one chat has one member besides the agent, not {}", spec.members.len());
            return Err(ScriptError::Invalid { field: "members", reason });
        }
        if members.len() > MEMBERS_MAX {
            return Err(ScriptError::TooMany { what: "members of a chat", max: MEMBERS_MAX });
        }
        if let Some(pointer) = spec.raw.as_ref().and_then(|raw| raw.broken_pointer()) {
            return Err(no_pointer(pointer));
        }
        let ids = members
            .iter()
            .map(|member| self.people.find(member).map(|who| who.id().to_owned()))
            .collect::<Result<Vec<String>, _>>()?;
        let id = chat_id(handle, spec.kind, &ids.iter().map(String::as_str).collect::<Vec<_>>());
        if self.chats.contains_key(handle) || self.chat_handles.contains_key(&id) {
            let reason = format!("chat `{handle}` is there already, or another 1:1 with the same person");
            return Err(ScriptError::Invalid { field: "chats", reason });
        }
        let created_ms = moment::of(now).saturating_sub(moment::span(spec.created_ago_ms));
        let mut chat = Chat::new(handle, id.clone(), spec.kind, created_ms);
        chat.topic = spec.topic.clone().filter(|_| spec.kind != ChatKind::OneOnOne);
        chat.raw.clone_from(&spec.raw);
        for member in &members {
            chat.join(member);
        }
        self.chat_handles.insert(id.clone(), handle.to_owned());
        self.chats.change().insert(handle.to_owned(), chat);
        for item in &spec.history {
            self.post(now, handle, &item.from, &item.message)?;
        }
        Ok(id)
    }

    /// Accepts a token. Its expiry in `spec` counts from the start of the world.
    pub fn accept_token(&mut self, spec: &TokenSpec) {
        self.auth.accept(spec, self.started_ms);
    }

    /// Accepts a token for ever.
    pub fn accept_bearer(&mut self, token: &str) {
        self.accept_token(&TokenSpec { token: token.to_owned(), ..TokenSpec::default() });
    }

    /// Forgets a token, as if it had never been issued.
    pub fn revoke_token(&mut self, token: &str) {
        self.auth.revoke(token);
    }

    /// Answers a token with a claims challenge from now on. `claims` is not encoded.
    pub fn challenge_token(&mut self, token: &str, claims: &str) {
        self.auth.challenge(token, claims);
    }

    /// Accepts a token of the fake Entra, with its claims, until `ends_ms` in milliseconds since 1970.
    pub(crate) fn accept_issued(&mut self, token: &str, ends_ms: i64, claims: Option<Value>) {
        self.auth.accept_issued(token, ends_ms, claims);
    }

    /// From now on, answers a token with a claims challenge unless the client asked for it with these claims.
    pub fn demand_claims(&mut self, claims: Option<Value>) {
        self.auth.demand(claims);
    }

    /// Forgets every token that was accepted so far, as when an administrator revokes sessions.
    pub fn revoke_all_tokens(&mut self) {
        self.auth.revoke_all();
    }

    /// Sets the scopes that all tokens have from now on.
    pub fn set_scopes(&mut self, scopes: &[&str]) {
        self.auth.set_scopes(scopes.iter().copied());
    }

    /// Sets the request limits from now on.
    pub fn set_throttle(&mut self, spec: ThrottleSpec) {
        self.throttle.spec = spec;
    }

    /// Sets the form of errors from now on.
    pub fn set_error_style(&mut self, style: ErrorStyle) {
        self.error_style = style;
    }

    /// Sets how far the service's clock is ahead from now on, in milliseconds.
    pub fn set_date_skew_ms(&mut self, skew_ms: i64) {
        self.date_skew_ms = skew_ms;
    }

    /// Adds a fault after the existing ones.
    pub fn add_fault(&mut self, spec: FaultSpec) -> Result<(), ScriptError> {
        if let Some(chat) = &spec.chat {
            self.chat(chat)?;
        }
        if self.faults.len() >= FAULTS_MAX {
            return Err(ScriptError::TooMany { what: "faults", max: FAULTS_MAX });
        }
        self.faults.push(Fault::new(spec)?);
        Ok(())
    }

    /// Removes all faults.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }
}

/// The actions of people.
impl FakeGraph {
    /// Writes a message as a person, an application or the agent, and returns the id of the message.
    pub fn post(
        &mut self,
        now: Timestamp,
        chat: &str,
        from: &str,
        spec: &MessageSpec,
    ) -> Result<String, ScriptError> {
        self.people.find(from)?;
        check(spec)?;
        let now_ms = moment::of(now);
        let in_chat = self.chat(chat)?;
        if in_chat.len() >= MESSAGES_MAX {
            return Err(ScriptError::TooMany { what: "messages in a chat", max: MESSAGES_MAX });
        }
        let id = in_chat.free_id(now_ms.saturating_sub(moment::span(spec.created_ago_ms)));
        let mut trace = Trace::default();
        trace.note(RuleId::MessageIds);
        let composed =
            payload::compose(spec, &id.to_string(), in_chat, &self.people, &self.base_url, &mut trace)?;
        let visible_ms = now_ms.saturating_add(moment::span(spec.visible_after_ms));
        let mut message = stored(id, visible_ms, from, composed, spec.importance);
        message.late = spec.visible_after_ms > 0 || spec.created_ago_ms > 0;
        message.raw.clone_from(&spec.raw);
        if let Some(event) = &spec.event {
            message.kind = Kind::System(payload::event_json(event, Some(from), &self.people)?);
            message.from = None;
            message.html = true;
            "<systemEventMessage/>".clone_into(&mut message.content);
        } else if let Some(kind) = &spec.message_type {
            message.kind = Kind::New(kind.clone());
        }
        self.exercised.rules.extend(trace.rules);
        self.chat_mut_by_handle(chat)?.insert(message, spec.handle.as_deref());
        Ok(id.to_string())
    }

    /// Changes the HTML of a message, named by handle or id.
    pub fn edit(&mut self, now: Timestamp, chat: &str, message: &str, html: &str) -> Result<(), ScriptError> {
        self.exercised.note(RuleId::EditDates);
        self.change(now, chat, message, |message, at_ms| {
            message.edited_ms = Some(at_ms);
            message.html = true;
            html.clone_into(&mut message.content);
        })
    }

    /// Deletes a message, named by handle or id.
    pub fn delete(&mut self, now: Timestamp, chat: &str, message: &str) -> Result<(), ScriptError> {
        self.change(now, chat, message, Message::delete)
    }

    /// Sets or removes a reaction of a person.
    pub fn react(
        &mut self,
        now: Timestamp,
        chat: &str,
        message: &str,
        by: &str,
        kind: &str,
        set: bool,
    ) -> Result<(), ScriptError> {
        self.people.find(by)?;
        self.exercised.note(RuleId::ReactionDates);
        self.change(now, chat, message, |message, at_ms| react(message, by, kind, set, at_ms))
    }

    fn change(
        &mut self,
        now: Timestamp,
        chat: &str,
        message: &str,
        change: impl FnOnce(&mut Message, i64),
    ) -> Result<(), ScriptError> {
        self.exercised.note(RuleId::EtagChanges);
        let unknown = ScriptError::UnknownMessage { chat: chat.to_owned(), name: message.to_owned() };
        let in_chat = self.chat_mut_by_handle(chat)?;
        let id = in_chat.resolve(message).ok_or(unknown)?;
        in_chat.change(id, moment::of(now), change);
        Ok(())
    }

    /// Gives a chat a new topic; this shows as a system event.
    pub fn rename(&mut self, now: Timestamp, chat: &str, by: &str, topic: &str) -> Result<(), ScriptError> {
        self.people.find(by)?;
        let in_chat = self.chat_mut_by_handle(chat)?;
        in_chat.topic = Some(topic.to_owned());
        in_chat.updated_ms = moment::of(now);
        let event = SystemEventSpec::ChatRenamed(topic.to_owned());
        self.post(now, chat, by, &MessageSpec::event(event)).map(|_| ())
    }

    /// Adds a member, which can be the agent; this shows as a system event.
    pub fn add_member(&mut self, now: Timestamp, chat: &str, by: &str, who: &str) -> Result<(), ScriptError> {
        self.member_event(now, chat, by, who, SystemEventSpec::MembersAdded)
    }

    /// Removes a member, which can be the agent; this shows as a system event.
    pub fn remove_member(
        &mut self,
        now: Timestamp,
        chat: &str,
        by: &str,
        who: &str,
    ) -> Result<(), ScriptError> {
        self.member_event(now, chat, by, who, SystemEventSpec::MembersDeleted)
    }

    pub(super) fn member_event(
        &mut self,
        now: Timestamp,
        chat: &str,
        by: &str,
        who: &str,
        event: fn(Vec<String>) -> SystemEventSpec,
    ) -> Result<(), ScriptError> {
        self.people.find(who)?;
        self.people.find(by)?;
        let event = event(vec![who.to_owned()]);
        let in_chat = self.chat_mut_by_handle(chat)?;
        if matches!(event, SystemEventSpec::MembersAdded(_)) {
            if in_chat.members.len() >= MEMBERS_MAX {
                return Err(ScriptError::TooMany { what: "members of a chat", max: MEMBERS_MAX });
            }
            in_chat.join(who);
        } else {
            in_chat.members.retain(|member| member.handle != who);
        }
        in_chat.updated_ms = moment::of(now);
        self.post(now, chat, by, &MessageSpec::event(event)).map(|_| ())
    }
}

/// Access to the world, which changes nothing.
impl FakeGraph {
    /// The agent's ids and names.
    pub fn agent(&self) -> &Person {
        self.people.agent()
    }

    /// A person's ids and names.
    pub fn person(&self, handle: &str) -> Result<&Person, ScriptError> {
        match self.people.people.get(handle) {
            Some(person) => Ok(person),
            None => Err(self.people.find(handle).err().unwrap_or_else(|| ScriptError::Invalid {
                field: "person",
                reason: format!("`{handle}` is an application"),
            })),
        }
    }

    /// A bot's or webhook's id and name.
    pub fn application(&self, handle: &str) -> Option<&Application> {
        self.people.applications.get(handle)
    }

    /// The id of the chat with this handle.
    pub fn chat_id(&self, handle: &str) -> Result<&str, ScriptError> {
        self.chat(handle).map(|chat| chat.id.as_str())
    }

    /// The handle of the chat with this id.
    pub fn chat_handle(&self, id: &str) -> Option<&str> {
        self.chat_handles.get(id).map(String::as_str)
    }

    /// The id of a message, named by handle or id.
    pub fn message_id(&self, chat: &str, message: &str) -> Result<String, ScriptError> {
        let unknown = ScriptError::UnknownMessage { chat: chat.to_owned(), name: message.to_owned() };
        self.chat(chat)?.resolve(message).map(|id| id.to_string()).ok_or(unknown)
    }

    /// A message as Graph would show it now, visible or not, named by handle or id.
    pub fn message_json(&self, chat: &str, message: &str) -> Result<Value, ScriptError> {
        let unknown = ScriptError::UnknownMessage { chat: chat.to_owned(), name: message.to_owned() };
        let chat = self.chat(chat)?;
        let message = chat.resolve(message).and_then(|id| chat.get(id)).ok_or(unknown)?;
        Ok(json!(message.shown(&chat.id, &self.people, true, &mut Trace::default())))
    }

    /// The messages that the agent sent, oldest first. They include messages whose answer was lost.
    pub fn messages_sent_by_agent(&self) -> &[SentMessage] {
        &self.sent
    }

    /// Every call that is remembered, oldest first.
    pub fn call_log(&self) -> impl ExactSizeIterator<Item = &CallRecord> {
        self.log.calls.iter()
    }

    /// How many calls there were, including those that are forgotten.
    pub fn calls_total(&self) -> u64 {
        self.log.total
    }

    /// The calls that a well-behaved client would not have made.
    pub fn violations(&self) -> &[Violation] {
        &self.log.violations
    }

    /// How many violations there were, including those that were only counted.
    pub fn violations_total(&self) -> u64 {
        self.log.violations_total
    }

    /// The rules that the fake has followed so far.
    pub fn rules_exercised(&self) -> &BTreeSet<RuleId> {
        &self.exercised.rules
    }

    fn chat(&self, handle: &str) -> Result<&Chat, ScriptError> {
        self.chats.get(handle).ok_or_else(|| {
            let known: Vec<&str> = self.chats.keys().map(String::as_str).collect();
            ScriptError::UnknownChat { name: handle.to_owned(), known: known.join(", ") }
        })
    }

    fn chat_mut_by_handle(&mut self, handle: &str) -> Result<&mut Chat, ScriptError> {
        self.chat(handle)?;
        let unknown = || ScriptError::UnknownChat { name: handle.to_owned(), known: String::new() };
        self.chats.change().get_mut(handle).ok_or_else(unknown)
    }
}

fn no_pointer(pointer: &str) -> ScriptError {
    let reason = format!("`{pointer}` is no JSON pointer; it begins with /");
    ScriptError::Invalid { field: "raw", reason }
}

fn check(spec: &MessageSpec) -> Result<(), ScriptError> {
    if spec.html.is_some() && spec.text.is_some() {
        let reason = "give html or text, not both".to_owned();
        return Err(ScriptError::Invalid { field: "html", reason });
    }
    if spec.event.is_some() && (spec.html.is_some() || spec.text.is_some()) {
        let reason = "a system event has no body of its own; leave html and text out".to_owned();
        return Err(ScriptError::Invalid { field: "event", reason });
    }
    spec.raw.as_ref().and_then(|raw| raw.broken_pointer()).map_or(Ok(()), |pointer| Err(no_pointer(pointer)))
}
