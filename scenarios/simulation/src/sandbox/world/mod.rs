//! The sandbox's small world in the fake Graph: what people do on the page, and what the agent's server makes of it.
//! It must never judge; it notes what was asked and said. Time comes from its caller.

mod show;
mod watch;

use std::collections::BTreeMap;

use fake_microsoft::graph::{
    AGENT, ChatKind, ChatSpec, FakeGraph, MailSpec, MailboxSpec, MessageSpec, PersonSpec, ScriptError,
    SharedGraph, TokenSpec, WorldSpec,
};
use jiff::Timestamp;

use super::news::News;
use super::state::PollingIs;
use super::text;

/// The handle of the place that is open at first.
pub(super) const FIRST: &str = "alice";
/// The handle of the mailbox among the places.
pub(super) const MAIL: &str = "mail";
/// Messages of one place that are remembered; the oldest are forgotten, Graph has its own bound.
const KEPT_MAX: usize = 2_000;
/// Chats that are shown, those that the agent began included.
const PLACES_MAX: usize = 50;

/// An action of a person on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Writes in a chat, or a mail with a subject.
    Say {
        /// The place.
        place: String,
        /// Handle of who writes.
        from: String,
        /// Of a mail.
        subject: String,
        /// The text.
        text: String,
        /// The text is HTML.
        html: bool,
        /// It mentions the agent.
        mention: bool,
    },
    /// Changes a message.
    Edit {
        /// The place.
        place: String,
        /// Its id.
        message: String,
        /// The new text.
        text: String,
    },
    /// Deletes a message.
    Delete {
        /// The place.
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
    /// The content of a mail; Graph is asked for everything else.
    mail: Option<Mail>,
}

struct Mail {
    subject: String,
    content: String,
    html: bool,
    to: Vec<String>,
    at: Timestamp,
}

/// A person who may speak to the agent.
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

    /// The people who may speak to the agent: tenant id, object id, address and name of each.
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

    /// Whether there is a place of that handle.
    pub(super) fn has(&self, place: &str) -> bool {
        self.places.iter().any(|known| known == place)
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

    /// Whether a person can write in a place.
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

fn invalid(field: &'static str, reason: &str) -> ScriptError {
    ScriptError::Invalid { field, reason: reason.to_owned() }
}

fn ms(at: Timestamp) -> i64 {
    at.as_millisecond()
}

#[cfg(test)]
mod tests;
