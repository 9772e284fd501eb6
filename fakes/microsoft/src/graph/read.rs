//! The answers to `GET`: the agent itself, its chats, their members and messages.
//! It must never change the world. A page begins at a position, so a list may change between two pages.

use serde::Serialize;
use serde_json::{Value, json};

use super::chat::Chat;
use super::draw;
use super::memo::Told;
use super::message::Message;
use super::moment;
use super::query::{PAGE_DEFAULT, PageToken, Property, Window, id_list, seal, unseal};
use super::reject::Rejection;
use super::rules::RuleId;
use super::spec::{AGENT, ChatKind};
use super::state::{Call, FakeGraph, Reply};
use super::trace::Trace;

/// How many members a chat shows when they are expanded.
const MEMBERS_EXPANDED_MAX: usize = 25;
const ORDER_BY_PREVIEW: &str = "lastMessagePreview/createdDateTime desc";

impl FakeGraph {
    pub(super) fn me(&self, call: &mut Call<'_>) -> Value {
        call.trace.note(RuleId::Me);
        let me = self.people.agent();
        let mut user = json!({
            "@odata.context": format!("{}/v1.0/$metadata#users/$entity", self.base_url),
            "id": me.object_id,
            "displayName": me.display_name,
            "userPrincipalName": me.mail,
            "mail": me.mail,
        });
        if call.query.option("$select").is_some_and(|fields| fields.contains("proxyAddresses")) {
            let own = me.mail.iter().map(|mail| format!("SMTP:{mail}"));
            let further = self.mailbox.iter().flat_map(|mailbox| mailbox.spec.aliases.iter());
            user["proxyAddresses"] = own.chain(further.map(|alias| format!("smtp:{alias}"))).collect();
        }
        if let (Some(fields), Some(user)) = (call.query.option("$select"), user.as_object_mut()) {
            let fields: Vec<&str> = fields.split(',').map(str::trim).collect();
            user.retain(|name, _| name.starts_with('@') || fields.contains(&name.as_str()));
        }
        user
    }

    /// The chat that a request names, if the agent is in it.
    pub(super) fn chat_of(&self, call: &Call<'_>) -> Result<&Chat, Rejection> {
        let id = call.route.chat.as_deref().unwrap_or_default();
        let handle = self.chat_handles.get(id).map(String::as_str).unwrap_or_default();
        self.chats
            .get(handle)
            .filter(|chat| chat.has_member(AGENT))
            .ok_or_else(|| Rejection::new(RuleId::NotAMember, 404, "no such chat, or not a member of it"))
    }

    /// Makes a list, or repeats the earlier answer if the list would be the same.
    pub(super) fn told_again(
        &mut self,
        call: &mut Call<'_>,
        list: impl Fn(&Self, &mut Call<'_>) -> Result<Reply, Rejection>,
    ) -> Result<Reply, Rejection> {
        let state = [self.chats.changes(), self.people.changes()];
        let asked = format!("{}\n{}", call.newer_values, call.url);
        if let Some(told) = self.memo.find(state, &asked) {
            call.trace.rules.extend(&told.rules);
            return Ok(Reply::Written(200, told.text.clone()));
        }
        let before = std::mem::take(&mut call.trace);
        let reply = list(self, call);
        if let Ok(Reply::Written(200, text)) = &reply
            && self.chats.values().all(|chat| chat.all_visible_ms <= call.now_ms)
        {
            let Trace { rules } = call.trace.clone();
            self.memo.keep(asked, Told { text: text.clone(), rules });
        }
        call.trace.rules.extend(before.rules);
        reply
    }

    pub(super) fn list_chats(&self, call: &mut Call<'_>, may_read: bool) -> Result<Reply, Rejection> {
        let plan = self.chats_plan(call)?;
        if plan.preview && !may_read {
            let message = "expanding lastMessagePreview needs 'Chat.Read, Chat.ReadWrite'";
            return Err(Rejection::new(RuleId::PreviewNeedsRead, 403, message));
        }
        let mut ranked: Vec<(i64, &Chat)> = Vec::new();
        for chat in self.chats.values().filter(|chat| chat.has_member(AGENT)) {
            if plan.ids.as_ref().is_some_and(|ids| !ids.contains(&chat.id)) {
                continue;
            }
            let rank = if plan.ordered {
                chat.newest(call.now_ms).map_or(i64::MAX, |message| message.id.saturating_neg())
            } else {
                i64::try_from(draw::bits(self.seed, &chat.id) >> 1).unwrap_or(i64::MAX)
            };
            ranked.push((rank, chat));
        }
        ranked.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
        call.trace.note(match (plan.ordered, plan.preview) {
            (true, true) => RuleId::ChatsOrdered,
            (true, false) => RuleId::ChatsOrderWithoutExpand,
            (false, _) => RuleId::ChatsUnordered,
        });
        let after = plan.after.clone();
        let mut left = ranked
            .into_iter()
            .filter(|(rank, chat)| after.as_ref().is_none_or(|a| (*rank, &chat.id) > (a.0, &a.1)));
        let page: Vec<(i64, &Chat)> = left.by_ref().take(plan.top).collect();
        let more = left.next().is_some();
        let items: Vec<Value> = page.iter().map(|(_, chat)| self.chat_json(chat, &plan, call)).collect();
        let last = page.last().map(|(rank, chat)| (*rank, chat.id.clone()));
        Ok(self.page("chats", &items, last.filter(|_| more), plan, call))
    }

    /// The options of a request for a list of chats, from its URL or from the token of an earlier page.
    fn chats_plan(&self, call: &mut Call<'_>) -> Result<PageToken, Rejection> {
        if let Some(plan) = self.next_page("chats", call)? {
            return Ok(plan);
        }
        if let Some(option) = call.query.stranger(&["$top", "$orderby", "$expand", "$filter", "$skiptoken"]) {
            let message = format!("query option '{option}' is not allowed");
            return Err(Rejection::bad_request(RuleId::ChatsOptions, message));
        }
        let top = top(call, RuleId::ChatsTop, RuleId::ChatsTopDefault)?;
        let ordered = match call.query.option("$orderby") {
            None => false,
            Some(ORDER_BY_PREVIEW) => true,
            Some(other) => {
                let message = format!("the query specified in the URI is not valid: $orderby '{other}'");
                return Err(Rejection::bad_request(RuleId::ChatsOrderby, message));
            }
        };
        let (members, preview) = expansions(call)?;
        let ids = match call.query.option("$filter") {
            None => None,
            Some(filter) => {
                let ids = id_list(filter).ok_or_else(|| {
                    let message = format!("invalid filter clause: '{filter}'");
                    Rejection::bad_request(RuleId::ChatsFilterOther, message)
                })?;
                call.trace.note(RuleId::ChatsFilterIds);
                Some(ids)
            }
        };
        let of = "chats".to_owned();
        Ok(PageToken { of, top, ordered, ids, members, preview, ..PageToken::default() })
    }

    pub(super) fn get_chat(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let chat = self.chat_of(call)?;
        let (members, preview) = expansions(call)?;
        if preview {
            let message = "lastMessagePreview can be expanded on a list of chats only";
            return Err(Rejection::bad_request(RuleId::PreviewListOnly, message));
        }
        let plan = PageToken { members, preview, ..PageToken::default() };
        let mut payload = self.chat_json(chat, &plan, call);
        payload["@odata.context"] = json!(format!("{}/v1.0/$metadata#chats/$entity", self.base_url));
        Ok(Reply::Json(200, payload))
    }

    fn chat_json(&self, chat: &Chat, plan: &PageToken, call: &mut Call<'_>) -> Value {
        call.trace.note(RuleId::ChatFields);
        call.trace.note(RuleId::ChatIdShapes);
        if chat.updated_ms > chat.created_ms {
            call.trace.note(RuleId::UpdatedByMembership);
        }
        let kind = match chat.kind {
            ChatKind::OneOnOne => "oneOnOne",
            ChatKind::Group => "group",
            ChatKind::Meeting => "meeting",
        };
        let meeting = (chat.kind == ChatKind::Meeting).then(|| {
            json!({"calendarEventId": null, "joinWebUrl": format!("https://teams.microsoft.com/l/meetup-join/{}", chat.id)})
        });
        let mut payload = json!({
            "id": chat.id,
            "topic": chat.topic,
            "createdDateTime": moment::iso(chat.created_ms),
            "lastUpdatedDateTime": moment::iso(chat.updated_ms),
            "chatType": kind,
            "webUrl": format!("https://teams.microsoft.com/l/chat/{}/0", chat.id),
            "tenantId": self.people.home_tenant_id(),
            "onlineMeetingInfo": meeting,
            "viewpoint": {"isHidden": false, "lastMessageReadDateTime": "0001-01-01T00:00:00Z"},
        });
        if plan.members {
            let members = self.members_json(chat, call);
            if members.len() > MEMBERS_EXPANDED_MAX {
                call.trace.note(RuleId::MembersCap);
            }
            payload["members"] = members.into_iter().take(MEMBERS_EXPANDED_MAX).collect();
        }
        if plan.preview {
            let newest = chat.newest(call.now_ms);
            if newest.is_none() {
                call.trace.note(RuleId::PreviewNull);
            }
            let newer_values = call.newer_values;
            payload["lastMessagePreview"] = newest.map_or(Value::Null, |message| {
                message.to_preview_json(&self.people, newer_values, &mut call.trace)
            });
        } else {
            call.trace.note(RuleId::PreviewAbsent);
        }
        if let Some(raw) = &chat.raw {
            call.trace.note(RuleId::RawOverride);
            raw.apply(&mut payload);
        }
        payload
    }

    fn members_json(&self, chat: &Chat, call: &mut Call<'_>) -> Vec<Value> {
        let of = |member: &super::chat::Member| {
            self.people.member_json(&member.handle, &member.membership_id, &mut call.trace)
        };
        chat.members.iter().filter_map(of).collect()
    }

    pub(super) fn list_members(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        call.trace.note(RuleId::MembersList);
        let chat = self.chat_of(call)?;
        let members = self.members_json(chat, call);
        Ok(Reply::Json(
            200,
            json!({
                "@odata.context": format!("{}/v1.0/$metadata#chats('{}')/members", self.base_url, chat.id),
                "@odata.count": members.len(),
                "value": members,
            }),
        ))
    }

    pub(super) fn list_messages(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let chat = self.chat_of(call)?;
        let plan = self.messages_plan(chat, call)?;
        call.trace.note(RuleId::MessagesOrder);
        let property = plan.property.unwrap_or(Property::Modified);
        let after = plan.after.as_ref().and_then(|(key, id)| Some((*key, id.parse().ok()?)));
        let mut left = chat
            .newest_first(property, after, call.now_ms)
            .filter(|(key, _)| plan.window.is_none_or(|window| window.holds(*key)));
        let page: Vec<(i64, &Message)> = left.by_ref().take(plan.top).collect();
        let more = left.next().is_some();
        let items = page
            .iter()
            .map(|(_, message)| message.shown(&chat.id, &self.people, call.newer_values, &mut call.trace))
            .collect::<Vec<_>>();
        if page.iter().any(|(_, message)| message.from.as_deref() == Some(AGENT)) {
            call.trace.note(RuleId::SendOwnAppears);
        }
        let last = page.last().map(|(key, message)| (*key, message.id.to_string()));
        let context = format!("chats('{}')/messages", chat.id);
        Ok(self.page(&context, &items, last.filter(|_| more), plan, call))
    }

    fn messages_plan(&self, chat: &Chat, call: &mut Call<'_>) -> Result<PageToken, Rejection> {
        if let Some(plan) = self.next_page(&chat.id, call)? {
            return Ok(plan);
        }
        if let Some(option) = call.query.stranger(&["$top", "$orderby", "$filter", "$skiptoken"]) {
            let message = format!("query option '{option}' is not allowed");
            return Err(Rejection::bad_request(RuleId::MessagesOptions, message));
        }
        let top = top(call, RuleId::MessagesTop, RuleId::MessagesTopDefault)?;
        let ordered_by = match call.query.option("$orderby") {
            None => None,
            Some(text) => {
                let property = text.strip_suffix(" desc").and_then(|name| Property::parse(name.trim()));
                Some(property.ok_or_else(|| {
                    let message = format!("$orderby '{text}' is not supported, only a date and desc");
                    Rejection::bad_request(RuleId::MessagesOrderby, message)
                })?)
            }
        };
        let window = match call.query.option("$filter") {
            None => None,
            Some(text) => {
                let window = Window::parse(text)
                    .map_err(|reason| Rejection::bad_request(RuleId::MessagesFilterOther, reason))?;
                let matching = ordered_by == Some(window.property);
                call.trace.note(match (matching, window.property) {
                    (false, _) => RuleId::MessagesFilterIgnored,
                    (true, Property::Modified) => RuleId::MessagesFilter,
                    (true, Property::Created) => RuleId::MessagesFilterCreated,
                });
                matching.then_some(window)
            }
        };
        let of = chat.id.clone();
        Ok(PageToken { of, top, ordered: true, property: ordered_by, window, ..PageToken::default() })
    }

    pub(super) fn get_message(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let chat = self.chat_of(call)?;
        let message = message_of(chat, call)?;
        Ok(self.message_reply(200, chat, message, call))
    }

    /// The answer that is one message.
    pub(super) fn message_reply(
        &self,
        status: u16,
        chat: &Chat,
        message: &Message,
        call: &mut Call<'_>,
    ) -> Reply {
        let mut payload = json!(message.shown(&chat.id, &self.people, call.newer_values, &mut call.trace));
        payload["@odata.context"] =
            json!(format!("{}/v1.0/$metadata#chats('{}')/messages/$entity", self.base_url, chat.id));
        Reply::Json(status, payload)
    }

    /// The options in the page token, if the request has one.
    fn next_page(&self, of: &str, call: &Call<'_>) -> Result<Option<PageToken>, Rejection> {
        let Some(text) = call.query.option("$skiptoken") else { return Ok(None) };
        match unseal(text, "page", self.seed).filter(|token: &PageToken| token.of == of) {
            Some(token) => Ok(Some(token)),
            None => Err(Rejection::bad_request(RuleId::NextLinkTampered, "the skip token is not valid")),
        }
    }

    fn page(
        &self,
        context: &str,
        items: &[impl Serialize],
        more_after: Option<(i64, String)>,
        plan: PageToken,
        call: &mut Call<'_>,
    ) -> Reply {
        let next_link = more_after.map(|last| {
            call.trace.note(RuleId::NextLink);
            let token = seal(&PageToken { after: Some(last), ..plan }, "page", self.seed);
            format!("{}{}?$skiptoken={token}", self.base_url, call.url.path())
        });
        Reply::page(&Page {
            context: format!("{}/v1.0/$metadata#{context}", self.base_url),
            count: items.len(),
            next_link,
            value: items,
        })
    }
}

/// One page of a list.
#[derive(Debug, Serialize)]
pub(super) struct Page<'a, T> {
    #[serde(rename = "@odata.context")]
    context: String,
    #[serde(rename = "@odata.count")]
    count: usize,
    #[serde(rename = "@odata.nextLink", skip_serializing_if = "Option::is_none")]
    next_link: Option<String>,
    value: &'a [T],
}

/// Whether the members are expanded, and whether the preview is.
fn expansions(call: &Call<'_>) -> Result<(bool, bool), Rejection> {
    let (mut members, mut preview) = (false, false);
    for name in call.query.option("$expand").into_iter().flat_map(|list| list.split(',')) {
        match name.trim() {
            "members" => members = true,
            "lastMessagePreview" => preview = true,
            other => {
                let message = format!("'{other}' cannot be expanded");
                return Err(Rejection::bad_request(RuleId::ChatsExpand, message));
            }
        }
    }
    Ok((members, preview))
}

/// The message that a request names, if readers can see it.
pub(super) fn message_of<'a>(chat: &'a Chat, call: &Call<'_>) -> Result<&'a Message, Rejection> {
    let id = call.route.message.as_deref().unwrap_or_default();
    chat.visible(id, call.now_ms)
        .ok_or_else(|| Rejection::new(RuleId::MessageGone, 404, format!("no message '{id}' in the chat")))
}

/// The size of a page. `refusal` is the rule for a wrong size, and `default` the rule for a missing one.
fn top(call: &mut Call<'_>, refusal: RuleId, default: RuleId) -> Result<usize, Rejection> {
    match call.query.top() {
        Ok(Some(top)) => Ok(top),
        Ok(None) => {
            call.trace.note(default);
            Ok(PAGE_DEFAULT)
        }
        Err(reason) => Err(Rejection::bad_request(refusal, reason)),
    }
}
