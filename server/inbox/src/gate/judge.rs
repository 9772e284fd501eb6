//! The gate itself: it holds the current configuration, policy and sponsors, and gives the verdict about a
//! sender. It must never let a sender in by a file that could not be read, and never forget who is denied.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::{Notify, mpsc};

use super::lists::Lists;
use super::pairing::{self, OPEN_PAIRINGS_MAX, Stranger};
use super::policy::{ChatRule, Person, Policy};
use super::policy_file::{self, Found, POLICY_FILE};
use super::{Agent, Guid, Reason, Sender, Verdict, operator};
use crate::journal::{Interaction, InteractionKind, Journal};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Stamp, Storage};

/// How long a change to the policy waits for another process. The wait must not stop the server.
const LOCK_WAIT_MS: u64 = 20;

/// The words about a broken policy.
const KEPT_ASIDE: &str = "kept aside as policy.json.broken; nobody is let in by it; repair it and put it back, or run `entraclaw allow` again";

/// The gate. Its lists change while the server runs, so a caller asks it again each time.
pub struct Gate {
    config: Vec<Person>,
    storage: Option<Arc<dyn Storage>>,
    pairing: Option<Pairing>,
    live: Mutex<Live>,
    /// Signals that a message waits until the sponsors are known.
    sponsors_wanted: Notify,
}

struct Pairing {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    replies: mpsc::Sender<PairingReply>,
}

/// A code that is to be sent to a stranger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingReply {
    /// The chat in which the stranger wrote.
    pub chat_id: String,
    /// The stranger, as `tenant/object`.
    pub who: String,
    /// The code.
    pub code: String,
}

impl PairingReply {
    /// The message for the stranger, in Teams' HTML.
    pub fn html(&self) -> String {
        format!(
            "<p>I can't read messages from you yet. If you know the person who runs this agent, read them this code: \
             <strong>{}</strong>. It can be used for one hour. Write again once they have let you in: this message was \
             not kept.</p>",
            self.code
        )
    }
}

/// The result of a look at the policy file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PolicyNews {
    /// The content of the policy has changed.
    Changed {
        /// Number of people whom the policy lets in.
        allowed: usize,
        /// Number of people whom the policy denies.
        denied: usize,
    },
    /// The policy can't be used, for this reason; it lets no sender in.
    Closed(String),
}

impl PolicyNews {
    /// The entry for the interaction log.
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
    /// Empty while the sponsors are not known.
    sponsors: BTreeSet<(Guid, Guid)>,
    sponsors_unknown: bool,
    /// Why the sponsors could not be read, with what helps.
    sponsors_trouble: Option<String>,
    /// A person who may be a sponsor has written since.
    sponsors_awaited: bool,
    /// The state of the file that `policy` was read from.
    stamp: Option<Stamp>,
    /// The state of a file that did not hold a policy. It is kept aside at the second look.
    broken: Option<Stamp>,
    /// The file was missing at the last look. If it is missing at the next one too, it counts as removed.
    gone: bool,
    looked: bool,
    /// Why the policy can't be used now.
    trouble: Option<String>,
    /// The policy lets no sender in until a good file is found.
    closed: bool,
    /// Chats that had the rule [`ChatRule::All`] in a policy that can't be used now.
    once_whole: BTreeSet<String>,
    /// Counts the changes of the lists, and of whether they are known.
    generation: u64,
}

impl Gate {
    /// A gate that lets in only these people, each a tenant id with an object id.
    pub fn new(people: impl IntoIterator<Item = (Guid, Guid)>) -> Self {
        Self::for_people(people.into_iter().map(|(tenant, object)| Person::by_ids(tenant, object)).collect())
    }

    /// A gate for the people of the configuration.
    pub fn for_people(config: Vec<Person>) -> Self {
        let gate = Self {
            config,
            storage: None,
            pairing: None,
            live: Mutex::default(),
            sponsors_wanted: Notify::new(),
        };
        gate.live().work_out(&gate.config);
        gate
    }

    /// Adds the policy file in this folder. It is read at the first [`Gate::refresh`] and looked at in every
    /// later one.
    #[must_use]
    pub fn with_policy(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Lets the gate give codes to strangers. The codes wait in the receiver until a sender takes them.
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

    /// Whether the gate lets no sender in.
    pub fn is_closed(&self) -> bool {
        self.live().lists.people.is_empty()
    }

    /// Whether strangers get a code.
    pub fn pairs(&self) -> bool {
        self.pairing.is_some()
    }

    /// A number that changes when a person is let in or denied, when a chat's rule changes, or when missing
    /// knowledge arrives.
    pub fn generation(&self) -> u64 {
        self.live().generation
    }

    /// Why the policy file is not used, with what helps.
    pub fn trouble(&self) -> Option<String> {
        self.live().trouble.clone()
    }

    /// All people who are let in: those of the configuration first, then those of the policy, then sponsors.
    pub fn people(&self) -> Vec<Person> {
        self.live().lists.people.clone()
    }

    /// The policy's rule for a chat.
    pub fn chat_rule(&self, chat_id: &str) -> Option<ChatRule> {
        self.live().lists.chats.get(chat_id).copied()
    }

    /// Judges a sender who writes now.
    pub fn decide(&self, sender: &Sender<'_>, agent: &Agent) -> Verdict {
        self.decide_at(sender, agent, None)
    }

    /// Whether the chat's rule is not known now and was [`ChatRule::All`] before.
    pub fn was_heard_whole(&self, chat_id: &str) -> bool {
        self.live().once_whole.contains(chat_id)
    }

    /// Judges a sender who wrote at the time `written`, by the machine's clock.
    pub fn decide_at(&self, sender: &Sender<'_>, agent: &Agent, written: Option<Timestamp>) -> Verdict {
        let ids = match sender.ids(agent) {
            Ok(ids) => ids,
            Err(verdict) => return verdict,
        };
        let mut live = self.live();
        let verdict = live.lists.judge(&ids, written);
        // Sponsors belong to the agent's own tenant.
        let may_sponsor = live.sponsors_unknown && agent.tenant_id.as_ref().is_none_or(|own| *own == ids.0);
        if !is_open(verdict) || !(may_sponsor || live.trouble.is_some()) {
            return verdict;
        }
        if may_sponsor {
            live.sponsors_awaited = true;
            self.sponsors_wanted.notify_one();
        }
        Verdict::Later
    }

    /// Judges a mail address that has passed authentication.
    pub fn decide_mail(&self, address: &str, written: Option<Timestamp>) -> Verdict {
        let live = self.live();
        let verdict = live.lists.judge_mail(&address.trim().to_ascii_lowercase(), written);
        if is_open(verdict) && live.trouble.is_some() { Verdict::Later } else { verdict }
    }

    /// Sets the sponsors; `None` when they can't be known now. `trouble` is why Graph did not name them, with
    /// what helps.
    pub fn set_sponsors(&self, sponsors: Option<BTreeSet<(Guid, Guid)>>, trouble: Option<String>) {
        let mut live = self.live();
        let unknown = sponsors.is_none();
        live.sponsors_trouble = trouble;
        live.sponsors_awaited &= unknown;
        let sponsors = sponsors.unwrap_or_default();
        if live.sponsors != sponsors || live.sponsors_unknown != unknown {
            (live.sponsors, live.sponsors_unknown) = (sponsors, unknown);
            live.work_out(&self.config);
        }
    }

    /// Why the sponsors are not known, and whether a message of a possible sponsor waits for them.
    pub fn sponsors_trouble(&self) -> Option<(String, bool)> {
        let live = self.live();
        Some((live.sponsors_trouble.clone()?, live.sponsors_awaited))
    }

    /// Returns when a possible sponsor was judged while the sponsors are not known.
    pub async fn sponsors_wanted(&self) {
        self.sponsors_wanted.notified().await;
    }

    /// Checks whether the policy file has changed, with one stat, and reads it if it has. A file that can't
    /// be read lets no sender in, but denied people stay denied.
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
            // The file can't be checked, so this program can't have changed it: the known policy stays, and
            // the next look reads the file again.
            Err(error) => {
                live.looked = false;
                let trouble = format!("{POLICY_FILE} can't be looked at: {error}");
                return live.note_trouble(trouble);
            }
        };
        let was_gone = std::mem::take(&mut live.gone);
        let policy = match found {
            // An editor may be about to put a new file in its place.
            Found::Nothing if live.stamp.is_some() && live.broken.is_none() && !live.closed => {
                (live.gone, live.stamp, live.looked) = (true, None, false);
                return live.close(&self.config, format!("{POLICY_FILE} is gone; nobody is let in by it"));
            }
            // A broken file that is missing now has not necessarily been repaired.
            Found::Nothing if (live.closed && !was_gone) || operator::kept_aside(storage).is_some() => {
                (live.stamp, live.broken) = (None, None);
                let trouble = format!("{POLICY_FILE} was broken and is {KEPT_ASIDE}");
                let trouble = live.trouble.clone().filter(|_| live.closed && !was_gone).unwrap_or(trouble);
                return live.close(&self.config, trouble);
            }
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
                let trouble = format!("{POLICY_FILE} is broken ({problem}) and {KEPT_ASIDE}");
                // An editor may still be writing the file, so it is moved only at the second look.
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
        (live.stamp, live.broken, live.closed) = (stamp, None, false);
        live.once_whole.clear();
        let was_in_trouble = live.trouble.take().is_some();
        let parts = |policy: &Policy| (policy.allow.clone(), policy.deny.clone(), policy.chats.clone());
        let is_same = parts(&live.policy) == parts(&policy);
        live.policy = policy;
        if !is_same || was_in_trouble {
            live.work_out(&self.config);
        }
        if is_same {
            return None;
        }
        let (allowed, denied) = (live.policy.allow.len(), live.policy.deny.len());
        Some(PolicyNews::Changed { allowed, denied })
    }

    /// Calls [`Gate::refresh`] before a sender is judged, so that a change made a moment ago counts at once.
    /// The interaction log is told of a change. A doubtful file is left to the next regular look, which gives
    /// an editor time.
    pub fn look(&self, journal: &Journal) {
        if self.is_settled()
            && let Some(news) = self.refresh()
        {
            journal.interaction(news.interaction());
        }
    }

    /// Whether another [`Gate::refresh`] finds nothing new unless the file changes.
    pub fn is_settled(&self) -> bool {
        let live = self.live();
        live.broken.is_none() && !live.gone
    }

    /// Handles an unknown person's message in a 1:1 chat. If pairing is on and a code is free, queues the
    /// code for sending.
    pub fn meet(&self, stranger: &Stranger) -> Option<PairingReply> {
        // No code may be made that can't be sent.
        let permit = self.pairing.as_ref()?.replies.try_reserve().ok()?;
        let reply = self.code_for(stranger)?;
        permit.send(reply.clone());
        Some(reply)
    }

    /// Makes a code for a stranger, for a caller that sends it in its own way.
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

/// Whether more knowledge could change the verdict.
fn is_open(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Refuse(Reason::NotListed | Reason::BeforeAllowed))
}

impl Default for Gate {
    /// A gate that lets no sender in.
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

    /// Stops the policy from letting anyone in. Denied people and switched-off chats stay so.
    fn close(&mut self, config: &[Person], trouble: String) -> Option<PolicyNews> {
        self.closed = true;
        let deny = std::mem::take(&mut self.policy.deny);
        let (whole, chats): (BTreeMap<_, _>, _) =
            std::mem::take(&mut self.policy.chats).into_iter().partition(|(_, rule)| *rule == ChatRule::All);
        self.once_whole.extend(whole.into_keys());
        self.policy = Policy { deny, chats, ..Policy::default() };
        self.work_out(config);
        self.note_trouble(trouble)
    }
}

#[cfg(test)]
mod tests;
