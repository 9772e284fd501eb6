//! The gate itself: configuration, policy and sponsors as they are now, and the verdict about a sender.
//! It must never let anybody in by something that could not be read, and never forget who was shut out.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::mpsc;

use super::lists::Lists;
use super::pairing::{self, OPEN_PAIRINGS_MAX, Stranger};
use super::policy::{ChatRule, Person, Policy};
use super::policy_file::{self, BROKEN_POLICY_FILE, Found, POLICY_FILE};
use super::{Agent, Guid, Sender, Verdict};
use crate::clock::Clock;
use crate::journal::{Interaction, InteractionKind};
use crate::random::Random;
use crate::storage::{Stamp, Storage};

/// How long a change of ours waits for another process: it must not stop the server.
const LOCK_WAIT_MS: u64 = 20;

/// The gate. What it holds changes under it; whoever wants to know asks again.
pub struct Gate {
    config: Vec<Person>,
    storage: Option<Arc<dyn Storage>>,
    pairing: Option<Pairing>,
    live: Mutex<Live>,
}

struct Pairing {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    replies: mpsc::Sender<PairingReply>,
}

/// A code on its way to a stranger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingReply {
    /// Where the stranger wrote.
    pub chat_id: String,
    /// Who, as `tenant/object`.
    pub who: String,
    /// The code.
    pub code: String,
}

impl PairingReply {
    /// What the stranger is told, in Teams' HTML.
    pub fn html(&self) -> String {
        format!(
            "<p>I can't read messages from you yet. If you know the person who runs this agent, read them this code: \
             <strong>{}</strong>. It can be used for one hour. Write again once they have let you in: this message was \
             not kept.</p>",
            self.code
        )
    }
}

/// What a look at the policy file brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyNews {
    /// It says something else now.
    Changed {
        /// People it lets in.
        allowed: usize,
        /// People it shuts out.
        denied: usize,
    },
    /// It can't be used, and why; nobody is let in by it.
    Closed(String),
}

impl PolicyNews {
    /// As the interaction log has it.
    pub fn interaction(&self) -> Interaction {
        Interaction::new(InteractionKind::Access).detail(self.to_string())
    }
}

impl fmt::Display for PolicyNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed { allowed, denied } => {
                write!(f, "the policy has changed: {allowed} allowed, {denied} denied")
            }
            Self::Closed(why) => f.write_str(why),
        }
    }
}

#[derive(Default)]
struct Live {
    lists: Lists,
    policy: Policy,
    sponsors: BTreeSet<(Guid, Guid)>,
    /// The state of the file that `policy` was read from.
    stamp: Option<Stamp>,
    /// A state of the file that was no policy: at the second look it is kept aside.
    broken: Option<Stamp>,
    looked: bool,
    trouble: Option<String>,
    /// Counts changes of who is in.
    generation: u64,
}

impl Gate {
    /// A gate for these people, each a tenant id with an object id, and nobody else.
    pub fn new(people: impl IntoIterator<Item = (Guid, Guid)>) -> Self {
        Self::for_people(people.into_iter().map(|(tenant, object)| Person::by_ids(tenant, object)).collect())
    }

    /// A gate for the people of the configuration.
    pub fn for_people(config: Vec<Person>) -> Self {
        let gate = Self { config, storage: None, pairing: None, live: Mutex::default() };
        gate.live().work_out(&gate.config);
        gate
    }

    /// The same with the policy file in this folder, which is read at once and at every [`Gate::refresh`].
    #[must_use]
    pub fn with_policy(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    /// The same, telling strangers a code. The codes wait in the receiver until somebody sends them.
    #[must_use]
    pub fn with_pairing(
        mut self,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> (Self, mpsc::Receiver<PairingReply>) {
        let (replies, queue) = mpsc::channel(OPEN_PAIRINGS_MAX);
        self.pairing = Some(Pairing { clock, random, replies });
        (self, queue)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nobody is let in.
    pub fn is_closed(&self) -> bool {
        self.live().lists.people.is_empty()
    }

    /// Whether strangers are told a code.
    pub fn pairs(&self) -> bool {
        self.pairing.is_some()
    }

    /// Changes whenever somebody is let in or shut out, or a chat gets another rule.
    pub fn generation(&self) -> u64 {
        self.live().generation
    }

    /// Why the policy file is not used, with what helps.
    pub fn trouble(&self) -> Option<String> {
        self.live().trouble.clone()
    }

    /// Everybody who is in, the configuration's people first, then those of the policy, then sponsors.
    pub fn people(&self) -> Vec<Person> {
        self.live().lists.people.clone()
    }

    /// What the policy says of a chat.
    pub fn chat_rule(&self, chat_id: &str) -> Option<ChatRule> {
        self.live().lists.chats.get(chat_id).copied()
    }

    /// Judges a sender as if it wrote now.
    pub fn decide(&self, sender: &Sender<'_>, agent: &Agent) -> Verdict {
        self.decide_at(sender, agent, None)
    }

    /// Judges a sender who wrote at this moment of the machine's clock.
    pub fn decide_at(&self, sender: &Sender<'_>, agent: &Agent, written: Option<Timestamp>) -> Verdict {
        match sender.ids(agent) {
            Ok(ids) => self.live().lists.judge(&ids, written),
            Err(verdict) => verdict,
        }
    }

    /// Judges a mail address whose authentication has passed.
    pub fn decide_mail(&self, address: &str, written: Option<Timestamp>) -> Verdict {
        self.live().lists.judge_mail(&address.trim().to_lowercase(), written)
    }

    /// Sets who the sponsors are; nobody when that is not known.
    pub fn set_sponsors(&self, sponsors: BTreeSet<(Guid, Guid)>) {
        let mut live = self.live();
        if live.sponsors != sponsors {
            live.sponsors = sponsors;
            live.work_out(&self.config);
        }
    }

    /// Looks whether the policy file has changed: one stat, and a read if it has. What can't be read lets nobody in;
    /// who was shut out stays so.
    pub fn refresh(&self) -> Option<PolicyNews> {
        let storage = self.storage.as_deref()?;
        let mut live = self.live();
        let first_look = !std::mem::replace(&mut live.looked, true);
        let found = storage.stamp(POLICY_FILE).and_then(|stamp| {
            let is_known = !first_look && live.stamp == stamp && live.broken.is_none();
            Ok((stamp, if is_known { None } else { Some(policy_file::read(storage)?) }))
        });
        let (stamp, found) = match found {
            Ok((_, None)) => return None,
            Ok((stamp, Some(found))) => (stamp, found),
            // It can't be looked at, so nobody can have changed it through us: what is known stays.
            Err(error) => {
                let trouble = format!("{POLICY_FILE} can't be looked at: {error}");
                return live.note_trouble(trouble);
            }
        };
        let policy = match found {
            Found::Nothing => Policy::default(),
            Found::Good(policy) => policy,
            Found::Newer(version) => {
                live.stamp = stamp;
                let trouble = format!(
                    "{POLICY_FILE} is of version {version}, which this program does not know; nobody is let in by it"
                );
                return live.close(&self.config, trouble);
            }
            Found::Broken(problem) => {
                live.stamp = stamp;
                let trouble = format!(
                    "{POLICY_FILE} is broken ({problem}) and kept aside as {BROKEN_POLICY_FILE}; nobody is let in by it; repair it and put it back, or run `entraclaw allow` again"
                );
                // An editor may be in the middle of writing it, so it is moved at the second look only.
                if live.broken.is_some() && live.broken == stamp {
                    match policy_file::keep_aside(storage, LOCK_WAIT_MS) {
                        Ok(_) => (live.broken, live.stamp) = (None, None),
                        Err(error) => return live.note_trouble(format!("{trouble}; {error}")),
                    }
                } else {
                    live.broken = stamp;
                }
                return live.close(&self.config, trouble);
            }
        };
        (live.stamp, live.broken) = (stamp, None);
        // That a broken one is gone does not mean that it was repaired.
        if stamp.is_some() {
            live.trouble = None;
        } else if live.trouble.is_some() {
            return None;
        }
        let parts = |policy: &Policy| (policy.allow.clone(), policy.deny.clone(), policy.chats.clone());
        let is_same = parts(&live.policy) == parts(&policy);
        live.policy = policy;
        if is_same {
            return None;
        }
        live.work_out(&self.config);
        let (allowed, denied) = (live.policy.allow.len(), live.policy.deny.len());
        Some(PolicyNews::Changed { allowed, denied })
    }

    /// Whether another [`Gate::refresh`] brings nothing unless the file changes.
    pub fn is_settled(&self) -> bool {
        self.live().broken.is_none()
    }

    /// Somebody unknown wrote in a 1:1 chat. Where pairing is on and a code is free, it is on its way now.
    pub fn meet(&self, stranger: &Stranger) -> Option<PairingReply> {
        // A code that nobody would be told must not be made.
        let permit = self.pairing.as_ref()?.replies.try_reserve().ok()?;
        let reply = self.code_for(stranger)?;
        permit.send(reply.clone());
        Some(reply)
    }

    /// The same for whoever tells the stranger by a way of their own.
    pub fn code_for(&self, stranger: &Stranger) -> Option<PairingReply> {
        let (pairing, storage) = (self.pairing.as_ref()?, self.storage.as_deref()?);
        let now = pairing.clock.now();
        let asked = policy_file::change(storage, LOCK_WAIT_MS, |policy| {
            pairing::ask(policy, stranger, now, &*pairing.random)
        });
        match asked {
            Ok(changed) => Some(PairingReply {
                chat_id: stranger.chat_id.clone(),
                who: format!("{}/{}", stranger.tenant_id, stranger.object_id),
                code: changed.outcome?,
            }),
            Err(error) => {
                tracing::warn!(%error, "a stranger could not be told a code");
                None
            }
        }
    }
}

impl Default for Gate {
    /// A gate that lets nobody in.
    fn default() -> Self {
        Self::new([])
    }
}

impl Live {
    fn work_out(&mut self, config: &[Person]) {
        self.lists = Lists::of(config, &self.policy, &self.sponsors);
        self.generation += 1;
    }

    fn note_trouble(&mut self, trouble: String) -> Option<PolicyNews> {
        if self.trouble.as_ref() == Some(&trouble) {
            return None;
        }
        self.trouble = Some(trouble.clone());
        Some(PolicyNews::Closed(trouble))
    }

    /// Nobody is let in by the policy any more; who was shut out, and what was switched off, stays so.
    fn close(&mut self, config: &[Person], trouble: String) -> Option<PolicyNews> {
        let deny = std::mem::take(&mut self.policy.deny);
        let mut chats = std::mem::take(&mut self.policy.chats);
        chats.retain(|_, rule| *rule != ChatRule::All);
        self.policy = Policy { deny, chats, ..Policy::default() };
        self.work_out(config);
        self.note_trouble(trouble)
    }
}

#[cfg(test)]
mod tests;
