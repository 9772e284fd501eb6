//! The loop that wakes the host: one of a session, while its host has a wake-up that is on and the connection lives.
//!
//! It owns no message. What it brings is marked as pushed before it leaves and stays unread, so a wake-up that is lost
//! loses nothing and one that arrived is known when the same message is pulled.
//!
//! `plan` and `receipts` are the other two parts of this one loop, each a piece of its state and of its steps, so the three
//! name each other.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::{Instant, sleep_until};

use super::WakeUpSettings;
use super::plan::{Form, Plan, Wake};
use super::receipts::HandedIn;
use super::words::numbered;
use super::{ActivityWatch, HostWakeUp, InboxSocket, ToldTexts, Trust, WakeUpError, WakeUpState, WakeUps};
use crate::carrier::channel::BACKLOG_RECORDS_MAX;
use crate::journal::{ConsumerName, Journal, JournalError, Mailbox};
use crate::presence::Presence;
use crate::record::Record;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Changes, Storage};

/// A host that has just begun may not look at its wake-up yet.
const FIRST_AFTER: Duration = Duration::from_secs(2);
/// Waits between the tries of one message; after the last try it is left to the pull.
const BACKOFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// Between two looks for a place in a host that has none yet.
const PLACE_EVERY: Duration = Duration::from_secs(15);
/// Between two looks at what sessions have died with, while something is unread and another session holds something.
pub(super) const ORPHAN_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How long an inbox that can't be read is left alone.
const INBOX_EVERY: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);

/// What it is made of.
pub struct WakeUpCarrier {
    /// Uses the wake-ups of hosts.
    pub wake_ups: Arc<dyn WakeUps>,
    /// Which are on, and how often they may be used.
    pub settings: WakeUpSettings,
    /// The inbox socket of the host's session, as this server's environment names it.
    pub inbox: Option<InboxSocket>,
    /// The id of the host's process, where it is known.
    pub process: Option<String>,
    /// Where hooks of the host are met.
    pub storage: Arc<dyn Storage>,
    /// Whose words go whole.
    pub trust: Trust,
    /// Where the messages are.
    pub journal: Journal,
    /// For the time at which the connection began.
    pub clock: Arc<dyn Clock>,
    /// What is seen of the host.
    pub activity: ActivityWatch,
    /// Where it is told how the wake-up is doing.
    pub presence: Presence,
    /// This session's id.
    pub id: String,
}

/// One host, its wake-up, and how far we are.
pub(super) struct Round {
    pub(super) wake_up: HostWakeUp,
    pub(super) consumer: ConsumerName,
    since: Timestamp,
    /// Records up to here were shown or pushed.
    pub(super) done_seq: u64,
    /// Records behind that which are marked as pushed, and whose wake-up surely did not arrive.
    pub(super) claimed: BTreeSet<u64>,
    /// An announcement is noted, and its wake-up surely did not arrive.
    pub(super) is_untold: bool,
    /// Taken over from sessions that died, and whose wake-up surely did not arrive.
    pub(super) left: Vec<Record>,
    /// When it is looked whether a session has died with what it was given, while something is unread.
    pub(super) orphan_look_at: Option<Instant>,
    /// When the agent is told once more of what it was told of and did not follow.
    pub(super) remind_at: Option<Instant>,
    /// Opened at its first use, and kept, for it knows what it has pushed and who was dead before.
    pub(super) mailbox: Option<Mailbox>,
    /// Where the host says what became of messages.
    pub(super) handed_in: HandedIn,
    /// Nothing moves before.
    pub(super) next_at: Instant,
    /// The last wake-up, which is outstanding until the host calls a tool or this long has passed.
    pub(super) outstanding: Option<(Instant, Instant)>,
    /// Wake-ups so far.
    pub(super) wakes: u64,
    /// Tries of the present message that failed.
    pub(super) failures: usize,
    /// When messages of the last hour went.
    pub(super) hour: VecDeque<Instant>,
    pub(super) state: WakeUpState,
}

impl WakeUpCarrier {
    /// Wakes for ever, or never, when the host has no wake-up that is on.
    pub async fn run(self) -> Infallible {
        let since = self.clock.now();
        let (mut activity, mut grown) = (self.activity.watch(), self.journal.watch());
        let seen = activity.wait_for(|sighted| sighted.host.is_some()).await;
        let host = seen.ok().and_then(|sighted| sighted.host.clone());
        let wake_up = host.and_then(|host| {
            let (inbox, has_peer) = (self.inbox.as_ref(), self.wake_ups.has_peer());
            let wake_up = HostWakeUp::of(&host, &self.settings, inbox, has_peer, self.process.as_deref())?;
            Some((wake_up, host.consumer))
        });
        let Some((wake_up, consumer)) = wake_up else { return std::future::pending().await };
        let mut round = Round {
            state: wake_up.first_state(&self.activity.get()),
            wake_up,
            consumer,
            since,
            done_seq: self.journal.last_seq().saturating_sub(BACKLOG_RECORDS_MAX),
            claimed: BTreeSet::new(),
            is_untold: false,
            left: Vec::new(),
            orphan_look_at: None,
            remind_at: None,
            mailbox: None,
            handed_in: HandedIn::default(),
            next_at: Instant::now() + FIRST_AFTER,
            outstanding: None,
            wakes: 0,
            failures: 0,
            hour: VecDeque::new(),
        };
        self.presence.wake_up(None, round.wake_up.name(round.state));
        let mut meetings = round.wake_up.meeting().and_then(|meeting| meeting.watch(&*self.storage));
        loop {
            activity.mark_unchanged();
            grown.mark_unchanged();
            let again_at = self.turn(&mut round).await;
            tokio::select! {
                biased;
                Ok(()) = activity.changed() => {}
                Ok(()) = grown.changed() => {}
                receipt = self.wake_ups.receipt(), if round.wake_up == HostWakeUp::QwenPeer => {
                    self.heard(&mut round, &receipt);
                }
                () = next(&mut meetings), if meetings.is_some() => {}
                () = sleep_until(again_at.unwrap_or_else(Instant::now)), if again_at.is_some() => {}
                else => return std::future::pending().await,
            }
        }
    }

    /// Brings what can be brought now. Returns when to look again, if that is not only after a change.
    async fn turn(&self, round: &mut Round) -> Option<Instant> {
        if !self.activity.can_be_woken_by_hook() {
            self.is_met(round);
        }
        let sighted = self.activity.get();
        if round.state == WakeUpState::Waiting {
            self.tell(round, round.wake_up.first_state(&sighted));
        }
        match self.awaits(round).await {
            Ok(None) => {}
            Ok(until) => return until,
            Err(error) => return Some(inbox_failed(round, &error)),
        }
        let has_grown = round.done_seq < self.journal.last_seq();
        if has_grown {
            round.orphan_look_at.get_or_insert_with(|| Instant::now() + ORPHAN_LOOK_INTERVAL);
        }
        let now = Instant::now();
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let looks = is_due(round.orphan_look_at) || is_due(round.remind_at);
        if !has_grown && !looks && round.left.is_empty() {
            return sooner(round.orphan_look_at, round.remind_at);
        }
        self.tell_spent(round);
        if let Err(until) = self.is_free(round) {
            return until;
        }
        let plan = match self.plan(round) {
            Ok(Plan::Nothing) => {
                // What failed to be said was pulled meanwhile.
                round.claimed.clear();
                round.is_untold = false;
                round.failures = 0;
                return sooner(round.orphan_look_at, round.remind_at);
            }
            Ok(plan) => plan,
            Err(error) => return Some(inbox_failed(round, &error)),
        };
        if !self.is_met(round) {
            return sooner(Some(Instant::now() + PLACE_EVERY), round.remind_at);
        }
        let place = match round.wake_up.place(&*self.wake_ups, &sighted, round.since).await {
            Ok(Some(place)) => place,
            Ok(None) => {
                self.tell(round, WakeUpState::Waiting);
                return Some(Instant::now() + PLACE_EVERY);
            }
            Err(error) => return Some(self.failed(round, &plan.into_wake(), &error)),
        };
        let is_handed_in = round.wake_up == HostWakeUp::QwenPeer;
        let plan = if is_handed_in { plan.of_one() } else { plan };
        // The host may have begun to listen or to ask meanwhile.
        if let Err(until) = self.is_free(round) {
            return until;
        }
        let wake = match self.claim(round, plan) {
            Ok(Some(wake)) => wake,
            // Another session was faster.
            Ok(None) => return Some(round.next_at),
            Err(error) => return Some(inbox_failed(round, &error)),
        };
        if is_handed_in {
            return Some(self.hand_in(round, wake).await);
        }
        let text = numbered(&wake.text, round.wakes + 1);
        self.note_told(round, &wake, &text);
        let woken = match (&round.wake_up, round.wake_up.wake(&place, &text)) {
            (HostWakeUp::WakingHook(meeting), _) => meeting.tell(&*self.storage, &text).await,
            (_, Some(request)) => self.wake_ups.wake(request).await.map(|_| ()),
            (_, None) => return Some(round.next_at),
        };
        match woken {
            Ok(()) => {
                self.moved(round, &wake);
                if round.wake_up.confirms() && wake.is_whole {
                    note_shown(round, &wake.records);
                }
            }
            Err(error) if error.is_certain() => return Some(self.failed(round, &wake, &error)),
            Err(error) => {
                self.moved(round, &wake);
                self.tell(round, WakeUpState::Failing);
                tracing::warn!(%error, "a wake-up may or may not have arrived; its messages stay unread");
            }
        }
        Some(Instant::now())
    }

    /// Notes what is about to be told whole where a hook of the host is shown the same text. Without the note there is no
    /// receipt, and the hook tells the words again, marked.
    fn note_told(&self, round: &Round, wake: &Wake, text: &str) {
        let is_shown = matches!(
            round.wake_up,
            HostWakeUp::InboxSocket(_) | HostWakeUp::WakingHook(_) | HostWakeUp::CodexQueue { .. }
        );
        let Some(process) = self.process.as_deref().filter(|_| is_shown && wake.is_whole) else { return };
        let seqs = wake.records.iter().map(|record| record.seq).collect();
        let told = ToldTexts::of(&round.consumer);
        if let Err(error) = told.note(&*self.storage, process, text, seqs, self.clock.now()) {
            tracing::warn!(%error, "what is told could not be noted; a hook may tell it again, marked");
        }
    }

    /// Whether the hook that takes the words is there. A hook is from the end of a turn until it has woken the session.
    fn is_met(&self, round: &Round) -> bool {
        let Some(meeting) = round.wake_up.meeting() else { return true };
        let is_met = meeting.is_armed(&*self.storage);
        if is_met {
            self.activity.has_waking_hook();
        }
        is_met
    }

    /// Whether a wake-up may go now; else when that is to be asked again, if not after a change. One is outstanding at a
    /// time.
    fn is_free(&self, round: &mut Round) -> Result<(), Option<Instant>> {
        let (now, sighted) = (Instant::now(), self.activity.get());
        if sighted.is_waiting {
            return Err(None);
        }
        let outstanding =
            round.outstanding.filter(|(woke_at, _)| sighted.called_at.is_none_or(|at| at < *woke_at));
        let outstanding = outstanding.map(|(_, until)| until);
        let again = self.spent_until(round);
        let until =
            [sighted.busy_until(now), again, outstanding, Some(round.next_at)].into_iter().flatten().max();
        until.filter(|until| *until > now).map_or(Ok(()), |until| Err(Some(until)))
    }

    /// Until when no wake-up may go because the last hour has had as many messages as it may.
    fn spent_until(&self, round: &mut Round) -> Option<Instant> {
        let now = Instant::now();
        while round.hour.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            round.hour.pop_front();
        }
        let is_spent = round.hour.len() >= self.hour_max();
        round.hour.front().filter(|_| is_spent).map(|at| *at + HOUR)
    }

    /// Tells for `entraclaw status` whether a message waits for the next hour, and until when.
    fn tell_spent(&self, round: &mut Round) {
        let until = self.spent_until(round);
        let until = until.filter(|_| !matches!(self.plan(round), Ok(Plan::Nothing)));
        self.presence.wake_ups_from(until.and_then(|until| {
            let wait = SignedDuration::try_from(until.duration_since(Instant::now())).ok()?;
            self.clock.now().checked_add(wait).ok()
        }));
    }

    fn hour_max(&self) -> usize {
        usize::try_from(self.settings.messages_per_hour).unwrap_or(usize::MAX)
    }

    pub(super) fn room(&self, round: &Round) -> usize {
        self.hour_max().saturating_sub(round.hour.len())
    }

    /// The host has the text.
    fn moved(&self, round: &mut Round, wake: &Wake) {
        let now = Instant::now();
        let spent = if wake.form == Form::Notice { 1 } else { wake.records.len() };
        round.hour.extend(std::iter::repeat_n(now, spent));
        round.outstanding = Some((now, now + self.settings.min_interval));
        if matches!(round.wake_up, HostWakeUp::InboxSocket(_)) {
            // What came too fast would vanish without a sign, however fast the agent reads.
            round.handed_in.spend(now);
            round.next_at = round.handed_in.takes_at();
        }
        round.wakes += 1;
        self.tell(round, WakeUpState::Ready);
        let wake_up = round.wake_up.name(WakeUpState::Ready);
        let announced = wake.form == Form::Notice;
        tracing::info!(wake_up, messages = wake.records.len(), announced, "woken");
        pass(round, wake);
    }

    /// The host surely was not woken. Returns when it is tried again.
    fn failed(&self, round: &mut Round, wake: &Wake, error: &WakeUpError) -> Instant {
        let wake_up = round.wake_up.name(WakeUpState::Ready);
        if let Some(backoff) = BACKOFF.get(round.failures) {
            tracing::warn!(%error, wake_up, "a wake-up failed and is tried again");
            round.failures += 1;
            round.next_at = Instant::now() + *backoff;
            round.is_untold = wake.form == Form::Notice;
        } else {
            tracing::warn!(%error, wake_up, "a wake-up failed too often; its messages wait for a pull");
            self.tell(round, WakeUpState::Failing);
            if wake.is_whole {
                withdraw(round, &wake.records);
            }
            pass(round, wake);
            round.next_at = Instant::now() + self.settings.min_interval;
        }
        round.next_at
    }

    /// Another wake-up is used from now on.
    pub(super) fn use_instead(&self, round: &mut Round, wake_up: HostWakeUp) {
        self.presence.wake_up(None, wake_up.name(WakeUpState::Ready));
        (round.wake_up, round.state) = (wake_up, WakeUpState::Ready);
    }

    pub(super) fn tell(&self, round: &mut Round, state: WakeUpState) {
        if round.state != state {
            self.presence.wake_up(Some(round.wake_up.name(round.state)), round.wake_up.name(state));
            round.state = state;
        }
    }
}

/// This wake-up is done with.
fn pass(round: &mut Round, wake: &Wake) {
    match wake.form {
        Form::Left => round.left.clear(),
        Form::Whole => {
            round.done_seq = wake.records.last().map_or(round.done_seq, |record| record.seq);
            round.claimed.clear();
        }
        // What was announced is new still.
        Form::Notice => {}
    }
    round.is_untold = false;
    round.failures = 0;
}

/// The next change where hooks are met.
async fn next(meetings: &mut Option<Changes>) {
    match meetings {
        Some(meetings) => meetings.next().await,
        None => std::future::pending().await,
    }
}

/// The sooner of two moments, where there are any.
fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// The host took them, so a hook need not tell them too.
pub(super) fn note_shown(round: &mut Round, records: &[Record]) {
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if let Some(Err(error)) = round.mailbox.as_mut().map(|mailbox| mailbox.note_shown(&seqs)) {
        tracing::warn!(%error, "that a wake-up has arrived could not be noted; a hook may tell it again, marked");
    }
}

/// The host surely showed none of these, so they come by another way without a mark.
pub(super) fn withdraw(round: &mut Round, records: &[Record]) {
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if let Some(Err(error)) = round.mailbox.as_mut().map(|mailbox| mailbox.withdraw_pushes(&seqs)) {
        tracing::warn!(%error, "that a wake-up has shown nothing could not be noted; its messages come marked as pushed");
    }
}

/// Nothing was said, so nothing is marked that was not before.
fn inbox_failed(round: &mut Round, error: &JournalError) -> Instant {
    tracing::warn!(%error, "messages could not be brought by the wake-up; they stay unread");
    round.next_at = Instant::now() + INBOX_EVERY;
    round.next_at
}
