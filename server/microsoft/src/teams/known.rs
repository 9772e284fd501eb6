//! Facts that reading learns and sending needs: who the agent is, the chats of allowed people, the sent
//! messages.
//! A model must never be able to set any of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use entraclaw_inbox::gate::Agent;
use entraclaw_seams::storage::Stamp;

/// The most chats that are remembered as acceptable.
const CHATS_MAX: usize = 1_000;
/// How long a chat counts as acceptable: its members may change without notice.
pub(super) const ACCEPTED_FOR: Duration = Duration::from_secs(600);
/// The most own messages that are remembered, for the case that the agent's own id is not known.
const SENT_MAX: usize = 500;

/// The facts that the source and the outbox share.
#[derive(Debug, Default)]
pub struct Known(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    agent: Agent,
    /// The acceptable chats, with the time at which each was found acceptable.
    chats: BTreeMap<String, Instant>,
    /// The look by which they were found acceptable.
    seen: Look,
    /// The last read state of the file by which sessions report changed members.
    told: Option<Stamp>,
    sent: VecDeque<(String, String)>,
    identity_asked: Option<Instant>,
}

/// The state on which a look at a chat rests: the gate's generation, and how often members of chats had
/// changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Look {
    generation: u64,
    changes: u64,
}

impl Known {
    /// Starts with what the configuration says about the agent.
    pub fn new(agent: Agent) -> Self {
        Self(Mutex::new(Inner { agent, ..Inner::default() }))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns who the agent is, as far as is known.
    pub fn agent(&self) -> Agent {
        self.with(|inner| inner.agent.clone())
    }

    /// Fills in unknown facts about the agent; known ones stay.
    pub(super) fn learn_agent(&self, learnt: Agent) {
        self.with(|inner| {
            inner.agent.tenant_id = inner.agent.tenant_id.take().or(learnt.tenant_id);
            inner.agent.object_id = inner.agent.object_id.take().or(learnt.object_id);
        });
    }

    /// Whether Graph may be asked who the agent is: at most once in `pause`. A true answer counts as having
    /// asked.
    pub(super) fn may_ask_identity(&self, now: Instant, pause: Duration) -> bool {
        self.with(|inner| {
            let may = inner.identity_asked.is_none_or(|asked| now.duration_since(asked) >= pause);
            if may {
                inner.identity_asked = Some(now);
            }
            may
        })
    }

    /// Allows the question again after a request that did not get through.
    pub(super) fn forget_identity_asked(&self) {
        self.with(|inner| inner.identity_asked = None);
    }

    /// Begins a look at chats by this generation of the gate.
    pub(super) fn look(&self, generation: u64) -> Look {
        self.with(|inner| {
            inner.gate_is_of(generation);
            Look { generation, changes: inner.seen.changes }
        })
    }

    /// Remembers that an allowed person was in this chat at `since`, by `look`. Nothing is remembered when
    /// the state has changed since that look.
    pub(super) fn accept_chat(&self, chat_id: &str, look: Look, since: Instant) {
        self.with(|inner| {
            inner.gate_is_of(look.generation);
            if look != inner.seen {
                return;
            }
            if inner.chats.len() >= CHATS_MAX && !inner.chats.contains_key(chat_id) {
                // A forgotten chat costs one request before the next message to it.
                inner.chats.pop_first();
            }
            let known = inner.chats.entry(chat_id.to_owned()).or_insert(since);
            *known = since.max(*known);
        });
    }

    /// Whether an allowed person was in this chat a short while ago, and no change was reported since.
    pub(super) fn is_accepted(&self, chat_id: &str, look: Look, now: Instant) -> bool {
        self.with(|inner| {
            let is_fresh = |since: &Instant| now.saturating_duration_since(*since) < ACCEPTED_FOR;
            look == inner.seen && inner.chats.get(chat_id).is_some_and(is_fresh)
        })
    }

    /// Notes that members of this chat have changed, so that they are asked for again, also by a running
    /// look.
    pub(super) fn members_changed(&self, chat_id: &str) {
        self.with(|inner| {
            inner.seen.changes += 1;
            inner.chats.remove(chat_id);
        });
    }

    /// Takes the state of the file between sessions. A new state means that some chat's members have changed.
    pub(super) fn heard_of_members(&self, word: Option<Stamp>) {
        self.with(|inner| {
            if inner.told != word {
                inner.told = word;
                inner.forget_chats();
            }
        });
    }

    /// Forgets which chats were acceptable, so that their members are asked for again.
    pub(super) fn forget_chats(&self) {
        self.with(Inner::forget_chats);
    }

    /// Remembers a message that the agent sent.
    pub(super) fn note_sent(&self, chat_id: &str, message_id: &str) {
        self.with(|inner| {
            if inner.sent.len() >= SENT_MAX {
                inner.sent.pop_front();
            }
            inner.sent.push_back((chat_id.to_owned(), message_id.to_owned()));
        });
    }

    /// Whether the agent sent this message.
    pub(super) fn was_sent(&self, chat_id: &str, message_id: &str) -> bool {
        self.with(|inner| inner.sent.iter().any(|(c, m)| c == chat_id && m == message_id))
    }
}

impl Inner {
    /// Forgets the chats that were acceptable by an older generation of the gate.
    fn gate_is_of(&mut self, generation: u64) {
        if self.seen.generation < generation {
            self.seen.generation = generation;
            self.chats.clear();
        }
    }

    fn forget_chats(&mut self) {
        self.seen.changes += 1;
        self.chats.clear();
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::{MemoryStorage, Storage as _};

    use super::*;

    const CHAT: &str = "19:team@thread.v2";

    #[tokio::test(start_paused = true)]
    async fn a_chat_is_acceptable_for_ten_minutes() {
        let (known, now) = (Known::default(), Instant::now());
        let look = known.look(1);
        known.accept_chat(CHAT, look, now);
        let moment = Duration::from_millis(1);
        assert!(known.is_accepted(CHAT, look, now + ACCEPTED_FOR - moment));
        assert!(!known.is_accepted(CHAT, look, now + ACCEPTED_FOR));
        known.accept_chat(CHAT, look, now + ACCEPTED_FOR);
        known.accept_chat(CHAT, look, now);
        assert!(known.is_accepted(CHAT, look, now + ACCEPTED_FOR), "an older look takes nothing back");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_from_before_a_change_accepts_nothing() {
        let (known, now) = (Known::default(), Instant::now());
        let before = known.look(1);
        known.members_changed(CHAT);
        known.accept_chat(CHAT, before, now);
        assert!(!known.is_accepted(CHAT, known.look(1), now));
        let before = known.look(1);
        let storage = MemoryStorage::new();
        storage.replace("members", b"1").unwrap();
        let stamp = storage.stamp("members").unwrap().unwrap();
        known.heard_of_members(Some(stamp));
        known.accept_chat(CHAT, before, now);
        assert!(!known.is_accepted(CHAT, known.look(1), now));
        known.heard_of_members(Some(stamp));
        known.accept_chat(CHAT, known.look(1), now);
        assert!(known.is_accepted(CHAT, known.look(1), now), "the same word is no news");
        known.forget_chats();
        assert!(!known.is_accepted(CHAT, known.look(1), now));
    }

    #[tokio::test(start_paused = true)]
    async fn the_own_identity_is_asked_for_once_in_a_pause() {
        let (known, now, pause) = (Known::default(), Instant::now(), Duration::from_secs(60));
        let moment = Duration::from_millis(1);
        assert!(known.may_ask_identity(now, pause));
        assert!(!known.may_ask_identity(now, pause));
        assert!(!known.may_ask_identity(now + pause - moment, pause), "a refusal begins no pause");
        assert!(known.may_ask_identity(now + pause, pause));
        assert!(!known.may_ask_identity(now + pause + moment, pause));
        known.forget_identity_asked();
        assert!(known.may_ask_identity(now + pause + moment, pause));
    }

    #[test]
    fn a_sent_message_is_known_by_both_of_its_ids_while_it_is_one_of_the_newest() {
        let known = Known::default();
        for n in 1..=SENT_MAX {
            known.note_sent(CHAT, &n.to_string());
        }
        assert!(known.was_sent(CHAT, "1") && known.was_sent(CHAT, &SENT_MAX.to_string()));
        assert!(!known.was_sent("19:other@thread.v2", "1") && !known.was_sent(CHAT, "0"));
        known.note_sent(CHAT, "last");
        assert!(!known.was_sent(CHAT, "1") && known.was_sent(CHAT, "2") && known.was_sent(CHAT, "last"));
    }

    /// A person is denied after a reading is judged and before it is appended.
    #[tokio::test(start_paused = true)]
    async fn an_older_generation_of_the_gate_accepts_no_chat_again() {
        let (known, now) = (Known::default(), Instant::now());
        let old = known.look(1);
        known.accept_chat(CHAT, old, now);
        let new = known.look(2);
        assert!(!known.is_accepted(CHAT, new, now));
        known.accept_chat(CHAT, old, now);
        assert!(!known.is_accepted(CHAT, new, now) && !known.is_accepted(CHAT, old, now));
        known.accept_chat(CHAT, new, now);
        assert!(known.is_accepted(CHAT, new, now));
    }
}
