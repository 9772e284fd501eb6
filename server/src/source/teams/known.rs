//! What reading has taught and sending needs: who the agent is, which chats an allowed person is in, what it sent.
//! Nothing in here may be set by a model.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::gate::Agent;

/// Chats remembered as acceptable.
const CHATS_MAX: usize = 1_000;
/// Own messages remembered, for the case that the agent's own id is not known.
const SENT_MAX: usize = 500;

/// Shared between the source and the outbox.
#[derive(Debug, Default)]
pub struct Known(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    agent: Agent,
    chats: BTreeSet<String>,
    /// Who was in when they were found acceptable: the gate's generation.
    chats_of: u64,
    sent: VecDeque<(String, String)>,
    identity_asked: Option<Instant>,
}

impl Known {
    /// Starts with what the configuration says about the agent.
    pub fn new(agent: Agent) -> Self {
        Self(Mutex::new(Inner { agent, ..Inner::default() }))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Who the agent is, as far as is known.
    pub fn agent(&self) -> Agent {
        self.with(|inner| inner.agent.clone())
    }

    /// Fills in what was not known; what is known stays.
    pub(super) fn learn_agent(&self, learnt: Agent) {
        self.with(|inner| {
            inner.agent.tenant_id = inner.agent.tenant_id.take().or(learnt.tenant_id);
            inner.agent.object_id = inner.agent.object_id.take().or(learnt.object_id);
        });
    }

    /// Whether Graph may be asked who the agent is, which it then is at most once in `pause`.
    pub(super) fn may_ask_identity(&self, now: Instant, pause: Duration) -> bool {
        self.with(|inner| {
            let may = inner.identity_asked.is_none_or(|asked| now.duration_since(asked) >= pause);
            if may {
                inner.identity_asked = Some(now);
            }
            may
        })
    }

    /// The question did not get through, so it may be asked again.
    pub(super) fn forget_identity_asked(&self) {
        self.with(|inner| inner.identity_asked = None);
    }

    /// An allowed person is in this chat, by what the gate held in this generation.
    pub(super) fn accept_chat(&self, chat_id: &str, generation: u64) {
        self.with(|inner| {
            if generation < inner.chats_of {
                return;
            }
            inner.chats_are_of(generation);
            if inner.chats.len() >= CHATS_MAX && !inner.chats.contains(chat_id) {
                // A forgotten chat costs one request when it is written to.
                inner.chats.pop_first();
            }
            inner.chats.insert(chat_id.to_owned());
        });
    }

    /// Whether an allowed person is known to be in this chat, by what the gate holds in this generation.
    pub(super) fn is_accepted(&self, chat_id: &str, generation: u64) -> bool {
        self.with(|inner| {
            inner.chats_are_of(generation);
            inner.chats.contains(chat_id)
        })
    }

    /// The agent itself sent this.
    pub(super) fn note_sent(&self, chat_id: &str, message_id: &str) {
        self.with(|inner| {
            if inner.sent.len() >= SENT_MAX {
                inner.sent.pop_front();
            }
            inner.sent.push_back((chat_id.to_owned(), message_id.to_owned()));
        });
    }

    /// Whether the agent itself sent this.
    pub(super) fn was_sent(&self, chat_id: &str, message_id: &str) -> bool {
        self.with(|inner| inner.sent.iter().any(|(c, m)| c == chat_id && m == message_id))
    }
}

impl Inner {
    /// Forgets what an older generation of the gate found acceptable.
    fn chats_are_of(&mut self, generation: u64) {
        if self.chats_of < generation {
            self.chats_of = generation;
            self.chats.clear();
        }
    }
}
