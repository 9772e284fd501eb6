//! The loop that wakes the host. A session has one, while its host has an enabled wake-up and the connection
//! is open.
//!
//! It owns no message. It marks each message as pushed before the wake-up leaves, and the message stays
//! unread. So a lost wake-up loses nothing, and a message that arrived is marked when it is pulled.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::{Instant, sleep_until};

use super::handed_in::HandedIn;
use super::parts::WakeUpCarrier;
use super::plan::ORPHAN_LOOK_INTERVAL;
use super::round::{Round, note_shown, withdraw};
use super::wake::{Form, Plan, Wake};
use super::words::numbered;
use super::{HostWakeUp, ToldTexts, WakeUpError, WakeUpState};
use crate::carrier::channel::BACKLOG_RECORDS_MAX;
use crate::journal::JournalError;
use entraclaw_seams::storage::Changes;

/// The wait before the first wake-up: a host that has just begun may not read it yet.
const FIRST_AFTER: Duration = Duration::from_secs(2);
/// The waits between the tries of one message; after the last try, the message waits for a pull.
const BACKOFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// The interval between two looks for a place in a host that has none yet.
const PLACE_EVERY: Duration = Duration::from_secs(15);
/// How long the loop waits after the inbox could not be read.
const INBOX_EVERY: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);

impl WakeUpCarrier {
    /// Runs for ever. Without an enabled wake-up it does nothing.
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

    /// Sends what can be sent now. Returns when to look again; `None` means only after a change.
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
                // What could not be sent was pulled meanwhile.
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
        // The host may have begun to listen or to ask its user meanwhile.
        if let Err(until) = self.is_free(round) {
            return until;
        }
        let wake = match self.claim(round, plan) {
            Ok(Some(wake)) => wake,
            // Another session of the consumer was faster.
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

    /// Notes a whole text that is about to be sent, if a hook of the host is shown the same text. Without the
    /// note the hook gives no receipt, and it repeats the text, marked.
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

    /// Whether the hook that takes the text is running. It runs from the end of a turn until it has woken the
    /// session.
    fn is_met(&self, round: &Round) -> bool {
        let Some(meeting) = round.wake_up.meeting() else { return true };
        let is_met = meeting.is_armed(&*self.storage);
        if is_met {
            self.activity.has_waking_hook();
        }
        is_met
    }

    /// Whether a wake-up may be used now; only one may be outstanding. The error says when to ask again;
    /// `None` means only after a change.
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

    /// The time until which no wake-up may be used, because the limit of messages in an hour is reached.
    fn spent_until(&self, round: &mut Round) -> Option<Instant> {
        let now = Instant::now();
        while round.hour.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            round.hour.pop_front();
        }
        let is_spent = round.hour.len() >= self.hour_max();
        round.hour.front().filter(|_| is_spent).map(|at| *at + HOUR)
    }

    /// Reports for `entraclaw status` whether a message waits for that limit, and until when.
    fn tell_spent(&self, round: &mut Round) {
        let until = self.spent_until(round);
        let until = until.filter(|_| !matches!(self.plan(round), Ok(Plan::Nothing)));
        self.presence.wake_ups_from(until.and_then(|until| {
            let wait = SignedDuration::try_from(until.duration_since(Instant::now())).ok()?;
            self.clock.now().checked_add(wait).ok()
        }));
    }

    /// Notes that the host has the text.
    fn moved(&self, round: &mut Round, wake: &Wake) {
        let now = Instant::now();
        let spent = if wake.form == Form::Notice { 1 } else { wake.records.len() };
        round.hour.extend(std::iter::repeat_n(now, spent));
        round.outstanding = Some((now, now + self.settings.min_interval));
        if matches!(round.wake_up, HostWakeUp::InboxSocket(_)) {
            // A message that comes too fast would be dropped without a sign, however fast the agent reads.
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

    /// Notes that the host surely was not woken. Returns when to try again.
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
}

/// Marks the messages of a wake-up as done.
fn pass(round: &mut Round, wake: &Wake) {
    match wake.form {
        Form::Left => round.left.clear(),
        Form::Whole => {
            round.done_seq = wake.records.last().map_or(round.done_seq, |record| record.seq);
            round.claimed.clear();
        }
        // Announced messages still count as new.
        Form::Notice => {}
    }
    round.is_untold = false;
    round.failures = 0;
}

/// The next change in the meeting place of the hooks.
async fn next(meetings: &mut Option<Changes>) {
    match meetings {
        Some(meetings) => meetings.next().await,
        None => std::future::pending().await,
    }
}

/// The earlier of two moments, if there is any.
fn sooner(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}

/// Nothing was sent, so no mark is added. Returns when to try again.
fn inbox_failed(round: &mut Round, error: &JournalError) -> Instant {
    tracing::warn!(%error, "messages could not be brought by the wake-up; they stay unread");
    round.next_at = Instant::now() + INBOX_EVERY;
    round.next_at
}
