//! The world as the page shows it: places with their messages, read from the fake Graph as they are now.
//! It must never change anything.

use fake_microsoft::graph::AGENT;

use super::super::state::{Item, Place};
use super::super::text;
use super::{Entry, MAIL, Mail, World, people};

/// Messages of one place that are shown.
pub(super) const SHOWN_MAX: usize = 200;

impl World {
    /// Chats and mailbox as they are now, with the messages of those that are named.
    pub(crate) fn places(&self, with_messages: impl Fn(&str) -> bool) -> Vec<Place> {
        self.places.iter().map(|handle| self.place(handle, with_messages(handle))).collect()
    }

    pub(super) fn place(&self, handle: &str, with_messages: bool) -> Place {
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
            "mallory" => "a 1:1 chat with a stranger, who is not allowed",
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
}
