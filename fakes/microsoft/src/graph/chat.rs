//! One chat as the service stores it: members, and messages ordered by creation and by change.
//! Two messages must never have the same id, and a changed message is always the newest by change.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::draw;
use super::message::Message;
use super::moment::Ms;
use super::query::Property;
use super::raw::RawOverride;
use super::spec::ChatKind;

/// How many messages a chat can have.
pub(super) const MESSAGES_MAX: usize = 100_000;
/// How many members a chat can have.
pub(super) const MEMBERS_MAX: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) handle: String,
    pub(super) membership_id: String,
}

#[derive(Debug, Clone)]
pub(super) struct Chat {
    pub(super) handle: String,
    pub(super) id: String,
    pub(super) kind: ChatKind,
    pub(super) topic: Option<String>,
    pub(super) created_ms: Ms,
    pub(super) updated_ms: Ms,
    pub(super) members: Vec<Member>,
    pub(super) raw: Option<RawOverride>,
    /// The instant from which readers see every message.
    pub(super) all_visible_ms: Ms,
    messages: BTreeMap<Ms, Message>,
    by_change: BTreeSet<(Ms, Ms)>,
    names: BTreeMap<String, Ms>,
}

impl Chat {
    pub(super) fn new(handle: &str, id: String, kind: ChatKind, created_ms: Ms) -> Self {
        Self {
            handle: handle.to_owned(),
            id,
            kind,
            topic: None,
            created_ms,
            updated_ms: created_ms,
            members: Vec::new(),
            raw: None,
            all_visible_ms: created_ms,
            messages: BTreeMap::new(),
            by_change: BTreeSet::new(),
            names: BTreeMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(super) fn has_member(&self, handle: &str) -> bool {
        self.members.iter().any(|member| member.handle == handle)
    }

    pub(super) fn join(&mut self, handle: &str) {
        if !self.has_member(handle) {
            let membership_id = URL_SAFE_NO_PAD.encode(format!("0##{}##{handle}", self.id));
            self.members.push(Member { handle: handle.to_owned(), membership_id });
        }
    }

    /// The first instant from `wanted_ms` on that is not yet the id of a message.
    pub(super) fn free_id(&self, wanted_ms: Ms) -> Ms {
        let mut id = wanted_ms;
        while self.messages.contains_key(&id) {
            id = id.saturating_add(1);
        }
        id
    }

    pub(super) fn insert(&mut self, message: Message, name: Option<&str>) {
        self.by_change.insert((message.modified_ms, message.id));
        self.all_visible_ms = self.all_visible_ms.max(message.visible_ms);
        if let Some(name) = name {
            self.names.insert(name.to_owned(), message.id);
        }
        self.messages.insert(message.id, message);
    }

    /// The id of a message, found by its handle in the scenario or by its id.
    pub(super) fn resolve(&self, name_or_id: &str) -> Option<Ms> {
        self.names.get(name_or_id).copied().or_else(|| {
            // `+17` and `017` are numbers but not ids.
            name_or_id
                .parse()
                .ok()
                .filter(|id: &Ms| id.to_string() == name_or_id && self.messages.contains_key(id))
        })
    }

    pub(super) fn get(&self, id: Ms) -> Option<&Message> {
        self.messages.get(&id)
    }

    /// All messages, visible or not.
    pub(super) fn all(&self) -> impl Iterator<Item = &Message> {
        self.messages.values()
    }

    /// The message with this id, if readers can see it.
    pub(super) fn visible(&self, id: &str, now_ms: Ms) -> Option<&Message> {
        let id = id.parse::<Ms>().ok().filter(|number| number.to_string() == id)?;
        self.messages.get(&id).filter(|message| message.is_visible(now_ms))
    }

    /// Changes a message and gives it a new date of change. Returns false when there is no such message.
    pub(super) fn change(&mut self, id: Ms, now_ms: Ms, change: impl FnOnce(&mut Message, Ms)) -> bool {
        let Some(message) = self.messages.get_mut(&id) else { return false };
        self.by_change.remove(&(message.modified_ms, id));
        message.modified_ms = now_ms.max(message.modified_ms.saturating_add(1));
        let at_ms = message.modified_ms;
        change(message, at_ms);
        self.by_change.insert((message.modified_ms, id));
        true
    }

    /// The newest message by creation among those that readers can see.
    pub(super) fn newest(&self, now_ms: Ms) -> Option<&Message> {
        self.messages.values().rev().find(|message| message.is_visible(now_ms))
    }

    /// The visible messages, newest first by `property`, after the position `(key, id)` of an earlier page.
    pub(super) fn newest_first(
        &self,
        property: Property,
        after: Option<(Ms, Ms)>,
        now_ms: Ms,
    ) -> Box<dyn Iterator<Item = (Ms, &Message)> + '_> {
        let end = after.unwrap_or((Ms::MAX, Ms::MAX));
        let visible = move |(_, message): &(Ms, &Message)| message.is_visible(now_ms);
        match property {
            Property::Created => {
                let keys = self.messages.range(..end.1).rev().map(|(id, message)| (*id, message));
                Box::new(keys.filter(visible))
            }
            Property::Modified => {
                let keys = self.by_change.range(..end).rev();
                Box::new(keys.filter_map(|(key, id)| Some((*key, self.messages.get(id)?))).filter(visible))
            }
        }
    }
}

/// The id of a chat, in the form for its kind. `members` are object ids.
pub(super) fn chat_id(handle: &str, kind: ChatKind, members: &[&str]) -> String {
    let thread = draw::guid(0, &format!("chat/{handle}"));
    match (kind, members) {
        (ChatKind::OneOnOne, [one, other]) => {
            let (first, second) = if one <= other { (one, other) } else { (other, one) };
            format!("19:{first}_{second}@unq.gbl.spaces")
        }
        (ChatKind::Meeting, _) => {
            format!("19:meeting_{}@thread.v2", URL_SAFE_NO_PAD.encode(thread))
        }
        _ => format!("19:{}@thread.v2", thread.replace('-', "")),
    }
}
