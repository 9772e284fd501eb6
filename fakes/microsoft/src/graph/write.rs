//! The actions of the agent: send, quote, edit, delete, react, create a chat, add a member.
//! A request that is refused must never change the world.

use serde_json::{Value, json};

use super::chat::{Chat, MEMBERS_MAX, MESSAGES_MAX};
use super::message::{Kind, Message, Reaction};
use super::moment;
use super::payload::{self, Composed};
use super::read::message_of;
use super::reject::Rejection;
use super::route::Owner;
use super::rules::RuleId;
use super::sent::SentMessage;
use super::spec::{AGENT, ChatKind, ChatSpec, Importance, SystemEventSpec};
use super::state::{Call, FakeGraph, Reply};

/// The largest content and mentions of one message, in bytes.
pub(super) const SEND_BYTES_MAX: usize = 28 * 1024;
/// How many messages one message can quote.
const QUOTES_MAX: usize = 10;

impl FakeGraph {
    pub(super) fn send_message(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        self.chat_of(call)?;
        let body = json_body(call)?;
        let (composed, importance) = message_from(&body)?;
        call.trace.note(RuleId::Send);
        self.sent_reply(call, composed, importance, Vec::new())
    }

    pub(super) fn reply_with_quote(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let chat = self.chat_of(call)?;
        let body = json_body(call)?;
        let ids: Option<Vec<&str>> = body["messageIds"]
            .as_array()
            .and_then(|ids| ids.iter().map(Value::as_str).collect())
            .filter(|ids: &Vec<&str>| (1..=QUOTES_MAX).contains(&ids.len()));
        let Some(ids) = ids else {
            let message = format!("messageIds must hold 1 to {QUOTES_MAX} ids");
            return Err(Rejection::bad_request(RuleId::QuoteLimit, message));
        };
        let (mut composed, importance) = message_from(&body["replyMessage"])?;
        let mut quotes = Vec::new();
        for id in &ids {
            let known = chat.visible(id, call.now_ms).is_some();
            let quote = payload::quote(id, chat, &self.people, &mut call.trace);
            let quote = quote.ok().filter(|_| known).ok_or_else(|| {
                Rejection::new(RuleId::MessageGone, 404, format!("no message '{id}' in the chat"))
            })?;
            quotes.push(quote);
        }
        if !composed.html {
            composed.html = true;
            composed.content = format!("<p>{}</p>", payload::escape(&composed.content));
        }
        for quote in quotes.iter().rev() {
            composed.content.insert_str(0, &payload::marker(quote));
        }
        quotes.append(&mut composed.attachments);
        composed.attachments = quotes;
        call.trace.note(RuleId::QuoteReply);
        let ids = ids.into_iter().map(str::to_owned).collect();
        self.sent_reply(call, composed, importance, ids)
    }

    /// Stores a message of the agent and answers with it.
    fn sent_reply(
        &mut self,
        call: &mut Call<'_>,
        composed: Composed,
        importance: Importance,
        mut quotes: Vec<String>,
    ) -> Result<Reply, Rejection> {
        for attachment in &composed.attachments {
            let id = attachment["id"].as_str().unwrap_or_default();
            if attachment["contentType"] == "messageReference" && !quotes.iter().any(|q| q == id) {
                quotes.push(id.to_owned());
            }
        }
        let mentions = composed.mentions.iter().filter_map(mentioned_id).collect();
        let now_ms = call.now_ms;
        let chat = self.chat_mut(call)?;
        if chat.len() >= MESSAGES_MAX {
            return Err(Rejection::new(RuleId::SendTooLarge, 413, "the fake chat holds no more messages"));
        }
        let id = chat.free_id(now_ms);
        let sent = SentMessage {
            at: moment::timestamp(now_ms),
            chat: chat.handle.clone(),
            chat_id: chat.id.clone(),
            message_id: id.to_string(),
            content_type: if composed.html { "html" } else { "text" }.to_owned(),
            content: composed.content.clone(),
            quotes,
            mentions,
            call: call.seq,
        };
        // The agent can read the message at once, even if its id is later than now.
        chat.insert(stored(id, now_ms, AGENT, composed, importance), None);
        self.sent.push(sent);
        let chat = self.chat_of(call)?;
        let message = chat.get(id).ok_or_else(|| gone(id))?;
        call.trace.note(RuleId::MessageIds);
        Ok(self.message_reply(201, chat, message, call))
    }

    pub(super) fn edit_message(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let id = self.own_message(call, RuleId::EditForeign)?;
        let body = json_body(call)?;
        let (composed, importance) = message_from(&body)?;
        for rule in [RuleId::EditOwn, RuleId::EditDates, RuleId::EtagChanges] {
            call.trace.note(rule);
        }
        let now_ms = call.now_ms;
        self.chat_mut(call)?.change(id, now_ms, |message, at_ms| {
            message.edited_ms = Some(at_ms);
            message.html = composed.html;
            message.content = composed.content;
            message.attachments = composed.attachments;
            message.mentions = composed.mentions;
            message.importance = importance;
        });
        Ok(Reply::Empty(204))
    }

    pub(super) fn soft_delete(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        if call.route.owner == Owner::Unnamed {
            let message = "softDelete is not supported here, use /me/chats or /users/{id}/chats";
            return Err(Rejection::new(RuleId::SoftDeleteForm, 405, message));
        }
        let id = self.own_message(call, RuleId::SoftDeleteForeign)?;
        call.trace.note(RuleId::SoftDelete);
        call.trace.note(RuleId::EtagChanges);
        let now_ms = call.now_ms;
        self.chat_mut(call)?.change(id, now_ms, Message::delete);
        Ok(Reply::Empty(204))
    }

    pub(super) fn set_reaction(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let id = message_of(self.chat_of(call)?, call)?.id;
        let body = json_body(call)?;
        let Some(kind) = body["reactionType"].as_str().filter(|kind| !kind.is_empty()) else {
            return Err(Rejection::bad_request(RuleId::MalformedBody, "reactionType is missing"));
        };
        let set = call.route.action.as_deref() == Some("setReaction");
        for rule in [RuleId::React, RuleId::ReactionDates, RuleId::EtagChanges] {
            call.trace.note(rule);
        }
        let now_ms = call.now_ms;
        self.chat_mut(call)?.change(id, now_ms, |message, at_ms| react(message, AGENT, kind, set, at_ms));
        Ok(Reply::Empty(204))
    }

    /// Creates a chat of the people in the request, one of whom must be the agent, or finds the existing 1:1.
    pub(super) fn create_chat(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let broken = |reason: &str| Rejection::bad_request(RuleId::CreateBroken, reason);
        let body = json_body(call)?;
        let members = body["members"].as_array().map_or(&[][..], Vec::as_slice);
        let handles: Option<Vec<String>> = members
            .iter()
            .map(|member| self.bound(&member["user@odata.bind"]).filter(|_| member["roles"].is_array()))
            .collect();
        let mut handles = handles.ok_or_else(|| broken("a member is bound to nobody, or has no role"))?;
        handles.sort();
        handles.dedup();
        let with_caller = handles.iter().any(|handle| handle == AGENT);
        let kind = match body["chatType"].as_str() {
            Some("oneOnOne") if handles.len() == 2 && with_caller => ChatKind::OneOnOne,
            Some("group") if handles.len() >= 2 && with_caller => ChatKind::Group,
            _ => return Err(broken("chatType and members do not go together, or the caller is missing")),
        };
        handles.retain(|handle| handle != AGENT);
        let mut chats = self.chats.values();
        let known = chats.find(|chat| {
            chat.kind == ChatKind::OneOnOne && kind == ChatKind::OneOnOne && chat.has_member(&handles[0])
        });
        let id = if let Some(chat) = known {
            chat.id.clone()
        } else {
            let handle = format!("created-{}", call.seq);
            let topic = body["topic"].as_str().map(str::to_owned);
            let spec = ChatSpec { kind, members: handles, topic, ..ChatSpec::default() };
            self.add_chat(moment::timestamp(call.now_ms), &handle, &spec)
                .map_err(|error| broken(&error.to_string()))?
        };
        call.trace.note(if kind == ChatKind::OneOnOne {
            RuleId::CreateOneOnOne
        } else {
            RuleId::CreateGroup
        });
        Ok(Reply::Json(201, json!({"id": id, "chatType": body["chatType"], "topic": body["topic"]})))
    }

    pub(super) fn mark_read(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        self.chat_of(call)?;
        let body = json_body(call)?;
        if body["user"]["id"].as_str() != Some(self.people.agent().object_id.as_str()) {
            return Err(Rejection::new(RuleId::MarkReadOther, 403, "only for the signed-in user"));
        }
        call.trace.note(RuleId::MarkRead);
        Ok(Reply::Empty(204))
    }

    /// The handle of the person that an `@odata.bind` names.
    fn bound(&self, bound: &Value) -> Option<String> {
        let bound = bound.as_str()?;
        let id = bound
            .rsplit_once("users('")
            .and_then(|(_, id)| id.strip_suffix("')"))
            .or_else(|| bound.rsplit_once("users/").map(|(_, id)| id))?;
        if id == self.people.agent().object_id {
            return Some(AGENT.to_owned());
        }
        let mut people = self.people.people.values();
        people.find(|p| p.object_id == id || p.mail.as_deref() == Some(id)).map(|p| p.handle.clone())
    }

    pub(super) fn post_member(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let members = self.chat_of(call)?.members.len();
        let body = json_body(call)?;
        let bound = self.bound(&body["user@odata.bind"]);
        let Some(handle) = bound.filter(|_| members < MEMBERS_MAX) else {
            return Err(Rejection::bad_request(RuleId::MalformedBody, "user@odata.bind names nobody"));
        };
        call.trace.note(RuleId::AddMember);
        let at = moment::timestamp(call.now_ms);
        let chat_handle = self.chat_of(call)?.handle.clone();
        self.member_event(at, &chat_handle, AGENT, &handle, SystemEventSpec::MembersAdded)
            .map_err(|error| Rejection::bad_request(RuleId::MalformedBody, error.to_string()))?;
        let chat = self.chat_of(call)?;
        let membership = chat.members.iter().find(|m| m.handle == handle).map(|m| m.membership_id.as_str());
        let member = self.people.member_json(&handle, membership.unwrap_or_default(), &mut call.trace);
        Ok(Reply::Json(201, member.unwrap_or(Value::Null)))
    }

    fn chat_mut(&mut self, call: &Call<'_>) -> Result<&mut Chat, Rejection> {
        let handle = self.chat_of(call)?.handle.clone();
        self.chats
            .change()
            .get_mut(&handle)
            .ok_or_else(|| Rejection::new(RuleId::NotAMember, 404, "no such chat"))
    }

    /// The id of the message that a request names, if the agent wrote it and it is not deleted.
    fn own_message(&self, call: &Call<'_>, foreign: RuleId) -> Result<i64, Rejection> {
        let message = message_of(self.chat_of(call)?, call)?;
        if message.from.as_deref() != Some(AGENT) {
            return Err(Rejection::new(foreign, 403, "only own messages can be changed"));
        }
        if message.deleted_ms.is_some() { Err(gone(message.id)) } else { Ok(message.id) }
    }
}

fn gone(id: i64) -> Rejection {
    Rejection::new(RuleId::MessageGone, 404, format!("message '{id}' is gone"))
}

/// A message of a person or of the agent that readers see from `visible_ms` on.
pub(super) fn stored(
    id: i64,
    visible_ms: i64,
    from: &str,
    composed: Composed,
    importance: Importance,
) -> Message {
    Message {
        id,
        visible_ms,
        modified_ms: id,
        edited_ms: None,
        deleted_ms: None,
        from: Some(from.to_owned()),
        kind: Kind::Message,
        html: composed.html,
        content: composed.content,
        importance,
        attachments: composed.attachments,
        mentions: composed.mentions,
        reactions: Vec::new(),
        raw: None,
        late: false,
    }
}

/// Sets or removes a reaction.
pub(super) fn react(message: &mut Message, by: &str, kind: &str, set: bool, at_ms: i64) {
    message.reactions.retain(|reaction| reaction.by != by || reaction.kind != kind);
    if set {
        message.reactions.push(Reaction { kind: kind.to_owned(), by: by.to_owned(), at_ms });
    }
}

fn mentioned_id(mention: &Value) -> Option<String> {
    let kinds = ["user", "application", "conversation", "tag"];
    let of = |kind: &&str| mention["mentioned"][*kind]["id"].as_str().map(str::to_owned);
    kinds.iter().find_map(of)
}

/// The body of a request, which must be a JSON object.
pub(super) fn json_body(call: &Call<'_>) -> Result<Value, Rejection> {
    serde_json::from_slice::<Value>(&call.request.body).ok().filter(Value::is_object).ok_or_else(|| {
        Rejection::bad_request(RuleId::MalformedBody, "unable to read the JSON request payload")
    })
}

/// Parses a message that a client wrote.
fn message_from(message: &Value) -> Result<(Composed, Importance), Rejection> {
    let invalid = |reason: &str| Rejection::bad_request(RuleId::SendInvalid, reason);
    let content = message["body"]["content"].as_str().ok_or_else(|| invalid("body.content is missing"))?;
    let html = match &message["body"]["contentType"] {
        Value::Null => false,
        Value::String(kind) if kind.eq_ignore_ascii_case("html") => true,
        Value::String(kind) if kind.eq_ignore_ascii_case("text") => false,
        _ => return Err(invalid("body.contentType must be text or html")),
    };
    let importance = match &message["importance"] {
        Value::Null => Importance::Normal,
        other => serde_json::from_value(other.clone()).map_err(|_| invalid("importance is unknown"))?,
    };
    let attachments = array(&message["attachments"]).ok_or_else(|| invalid("attachments must be a list"))?;
    let mentions = array(&message["mentions"]).ok_or_else(|| invalid("mentions must be a list"))?;
    if content.trim().is_empty() && attachments.is_empty() {
        return Err(invalid("body.content is empty"));
    }
    let size = content.len() + mentions.iter().map(|m| m.to_string().len()).sum::<usize>();
    if size > SEND_BYTES_MAX {
        let reason = format!("the message has {size} bytes, more than {SEND_BYTES_MAX}");
        return Err(Rejection::new(RuleId::SendTooLarge, 413, reason));
    }
    let text_id = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (tag, list) in [("attachment", &attachments), ("at", &mentions)] {
        let mut listed: Vec<String> = list.iter().map(|item| text_id(&item["id"])).collect();
        let mut marked = if html { marked(content, tag) } else { Vec::new() };
        listed.sort();
        listed.dedup();
        marked.sort();
        marked.dedup();
        if listed != marked {
            let reason =
                format!("ids of <{tag}> in the body and in the list differ: {marked:?} and {listed:?}");
            return Err(Rejection::bad_request(RuleId::SendUnmatched, reason));
        }
    }
    Ok((Composed { html, content: content.to_owned(), attachments, mentions }, importance))
}

fn array(value: &Value) -> Option<Vec<Value>> {
    match value {
        Value::Null => Some(Vec::new()),
        Value::Array(items) => Some(items.clone()),
        _ => None,
    }
}

/// The ids of the markers of one kind.
fn marked(content: &str, tag: &str) -> Vec<String> {
    let open = format!("<{tag} id=");
    let id = |rest: &str| {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest.get(1..)?.split_once(quote).map(|(id, _)| id.to_owned())
    };
    content.split(&open).skip(1).filter_map(id).collect()
}
