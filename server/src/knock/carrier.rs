//! The loop that knocks: one of a session, while its host has a door that is on and the connection lives.
//!
//! It owns no message. What it brings is marked as pushed before it leaves and stays unread, so a knock that is lost
//! loses nothing and one that arrived is known when the same message is pulled.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, sleep_until};

use super::receipts::HandedIn;
use super::{DoorState, HostDoor, Knock, KnockError, Sight, words};
use crate::carrier::channel::BACKLOG_RECORDS_MAX;
use crate::clock::Clock;
use crate::config::Doors;
use crate::journal::{ConsumerName, Journal, JournalError, Mailbox};
use crate::mcp::Presence;
use crate::record::Record;

/// A host that has just begun may not look at its door yet.
const FIRST_AFTER: Duration = Duration::from_secs(2);
/// Records that are looked at together.
const PAGE_RECORDS: usize = 32;
/// Waits between the tries of one message; after the last try it is left to the pull.
const BACKOFF: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(30)];
/// Between two looks for a place in a host that has none yet.
const PLACE_EVERY: Duration = Duration::from_secs(15);
/// Between two looks at what sessions have died with, while something is unread and another session holds something.
const GRAVE_LOOK_EVERY: Duration = Duration::from_secs(5);
/// The same while nobody else holds anything.
const CALM_GRAVE_LOOK_EVERY: Duration = Duration::from_secs(60);
/// How long an inbox that can't be read is left alone.
const INBOX_EVERY: Duration = Duration::from_secs(30);
const HOUR: Duration = Duration::from_secs(3_600);

/// What it is made of.
pub struct DoorCarrier {
    /// Moves doors.
    pub knock: Arc<dyn Knock>,
    /// Which are on, and how often they may be used.
    pub doors: Doors,
    /// Where the messages are.
    pub journal: Journal,
    /// For the time at which the connection began.
    pub clock: Arc<dyn Clock>,
    /// What is seen of the host.
    pub sight: Sight,
    /// Where it is told how the door is doing.
    pub presence: Presence,
    /// This session's id.
    pub id: String,
}

/// One host, its door, and how far we are.
pub(super) struct Round {
    pub(super) door: HostDoor,
    pub(super) consumer: ConsumerName,
    since: Timestamp,
    /// Records up to here need no knock of ours.
    pub(super) done_seq: u64,
    /// Records behind that which are marked as pushed, and whose knock surely did not arrive.
    pub(super) claimed: BTreeSet<u64>,
    /// Taken over from sessions that died, and whose knock surely did not arrive.
    pub(super) left: Vec<Record>,
    /// When it is looked whether a session has died with what it was given, while something is unread.
    grave_look_at: Option<Instant>,
    /// Opened at its first use, and kept, for it knows what it has pushed and who was dead before.
    pub(super) mailbox: Option<Mailbox>,
    /// Where the host says what became of messages.
    pub(super) handed_in: HandedIn,
    /// Nothing moves before.
    pub(super) next_at: Instant,
    /// Tries of the present message that failed.
    pub(super) failures: usize,
    /// When messages of the last hour went.
    pub(super) hour: VecDeque<Instant>,
    pub(super) state: DoorState,
}

impl DoorCarrier {
    /// Knocks for ever, or never, when the host has no door that is on.
    pub async fn run(self) -> Infallible {
        let since = self.clock.now();
        let (mut sight, mut grown) = (self.sight.watch(), self.journal.watch());
        let seen = sight.wait_for(|sighted| sighted.host.is_some()).await;
        let host = seen.ok().and_then(|sighted| sighted.host.clone());
        let door = host.and_then(|(family, consumer)| {
            Some((HostDoor::of(family, &self.doors, self.knock.has_peer())?, consumer))
        });
        let Some((door, consumer)) = door else { return std::future::pending().await };
        let mut round = Round {
            state: door.first_state(&self.sight.get()),
            door,
            consumer,
            since,
            done_seq: self.journal.last_seq().saturating_sub(BACKLOG_RECORDS_MAX),
            claimed: BTreeSet::new(),
            left: Vec::new(),
            grave_look_at: None,
            mailbox: None,
            handed_in: HandedIn::default(),
            next_at: Instant::now() + FIRST_AFTER,
            failures: 0,
            hour: VecDeque::new(),
        };
        self.presence.door(None, round.door.name(round.state));
        loop {
            sight.mark_unchanged();
            grown.mark_unchanged();
            let again_at = self.turn(&mut round).await;
            tokio::select! {
                biased;
                Ok(()) = sight.changed() => {}
                Ok(()) = grown.changed() => {}
                receipt = self.knock.receipt(), if round.door == HostDoor::QwenPeer => {
                    self.heard(&mut round, &receipt);
                }
                () = sleep_until(again_at.unwrap_or_else(Instant::now)), if again_at.is_some() => {}
                else => return std::future::pending().await,
            }
        }
    }

    /// Brings what can be brought now. Returns when to look again, if that is not only after a change.
    async fn turn(&self, round: &mut Round) -> Option<Instant> {
        let sighted = self.sight.get();
        if round.state == DoorState::Waiting {
            self.tell(round, round.door.first_state(&sighted));
        }
        match self.awaits(round).await {
            Ok(None) => {}
            Ok(until) => return until,
            Err(error) => return Some(inbox_failed(round, &error)),
        }
        let has_grown = round.done_seq < self.journal.last_seq();
        if has_grown {
            round.grave_look_at.get_or_insert_with(|| Instant::now() + GRAVE_LOOK_EVERY);
        }
        let looks = round.grave_look_at.is_some_and(|at| at <= Instant::now());
        if !has_grown && !looks && round.left.is_empty() {
            return round.grave_look_at;
        }
        if let Err(until) = self.is_free(round) {
            return until;
        }
        let found = self.left(round).and_then(|left| {
            let waiting = if left { Vec::new() } else { self.waiting(round)? };
            Ok((left, waiting))
        });
        let (again, mut waiting) = match found {
            Ok((false, waiting)) if waiting.is_empty() => {
                // What failed to be said was pulled meanwhile.
                round.claimed.clear();
                round.failures = 0;
                return round.grave_look_at;
            }
            Ok(found) => found,
            Err(error) => return Some(inbox_failed(round, &error)),
        };
        let place = match round.door.place(&*self.knock, &sighted, round.since).await {
            Ok(Some(place)) => place,
            Ok(None) => {
                self.tell(round, DoorState::Waiting);
                return Some(Instant::now() + PLACE_EVERY);
            }
            Err(error) => return Some(self.failed(round, &waiting, again, &error)),
        };
        let is_handed_in = round.door == HostDoor::QwenPeer;
        if is_handed_in {
            waiting.truncate(1);
        }
        // The host may have begun to listen or to ask meanwhile.
        if let Err(until) = self.is_free(round) {
            return until;
        }
        let claimed = if again { self.take_over(round) } else { Self::claim(round, waiting) };
        let records = match claimed {
            Ok(records) => records,
            Err(error) => return Some(inbox_failed(round, &error)),
        };
        if is_handed_in {
            return Some(self.hand_in(round, records, again).await);
        }
        let text = words(&records, again).text;
        if !records.is_empty()
            && let Some(request) = round.door.knock(&place, &text)
        {
            match self.knock.knock(request).await {
                Ok(_) => {
                    self.moved(round, &records, again);
                    note_shown(round, &records);
                }
                Err(error) if error.is_certain() => return Some(self.failed(round, &records, again, &error)),
                Err(error) => {
                    self.moved(round, &records, again);
                    self.tell(round, DoorState::Failing);
                    tracing::warn!(%error, "a knock may or may not have arrived; its messages stay unread");
                }
            }
        }
        Some(round.next_at)
    }

    /// Whether a knock may go now; else when that is to be asked again, if not after a change.
    fn is_free(&self, round: &mut Round) -> Result<(), Option<Instant>> {
        let (now, sighted) = (Instant::now(), self.sight.get());
        if sighted.is_waiting {
            return Err(None);
        }
        while round.hour.front().is_some_and(|at| now.duration_since(*at) >= HOUR) {
            round.hour.pop_front();
        }
        let spent = round.hour.len() >= self.hour_max();
        let again = spent.then(|| round.hour.front().map(|at| *at + HOUR)).flatten();
        let until = [sighted.busy_until(now), again, Some(round.next_at)].into_iter().flatten().max();
        until.filter(|until| *until > now).map_or(Ok(()), |until| Err(Some(until)))
    }

    fn hour_max(&self) -> usize {
        usize::try_from(self.doors.messages_per_hour).unwrap_or(usize::MAX)
    }

    fn room(&self, round: &Round) -> usize {
        self.hour_max().saturating_sub(round.hour.len())
    }

    /// Whether there is something to tell that sessions have died with. Looks when it is time to.
    fn left(&self, round: &mut Round) -> Result<bool, JournalError> {
        let mailbox = match round.mailbox.take() {
            Some(mailbox) => mailbox,
            None => self.journal.mailbox(&round.consumer, &self.id)?,
        };
        let mailbox = round.mailbox.insert(mailbox);
        let mut is_read = Vec::new();
        for record in &round.left {
            is_read.push(mailbox.is_spoken_for(record.seq)?);
        }
        let mut is_read = is_read.into_iter();
        round.left.retain(|_| is_read.next() == Some(false));
        if !round.left.is_empty() {
            return Ok(true);
        }
        let now = Instant::now();
        if round.grave_look_at.is_none_or(|at| at > now) {
            return Ok(false);
        }
        let has_left = mailbox.has_left()?;
        // What nobody has to read can't be held by anybody. Of more the next record tells.
        let every = if mailbox.others_hold() { GRAVE_LOOK_EVERY } else { CALM_GRAVE_LOOK_EVERY };
        round.grave_look_at = (mailbox.unread(None) > 0).then(|| now + every);
        Ok(has_left)
    }

    /// Of what sessions have died with, as much as one knock may bring.
    fn take_over(&self, round: &mut Round) -> Result<Vec<Record>, JournalError> {
        let room = self.room(round);
        if round.left.is_empty()
            && let Some(mailbox) = &mut round.mailbox
        {
            round.left =
                mailbox.take_over(&|records| words(&records[..room.min(records.len())], true).records)?;
        }
        Ok(round.left.clone())
    }

    /// The oldest messages that the host was never shown, as many as one knock may bring.
    fn waiting(&self, round: &mut Round) -> Result<Vec<Record>, JournalError> {
        let room = self.room(round);
        let Some(mailbox) = &mut round.mailbox else { return Ok(Vec::new()) };
        let mut waiting = Vec::new();
        loop {
            let page = self.journal.read_after(round.done_seq, PAGE_RECORDS)?;
            let Some(last) = page.last().map(|record| record.seq) else { return Ok(waiting) };
            for record in page {
                let of_ours = round.claimed.contains(&record.seq);
                if mailbox.is_new(record.seq)? || (of_ours && !mailbox.was_handed_out(record.seq)?) {
                    waiting.push(record);
                } else if waiting.is_empty() {
                    round.done_seq = record.seq;
                }
            }
            if !waiting.is_empty() {
                waiting.truncate(room);
                waiting.truncate(words(&waiting, false).records);
                return Ok(waiting);
            }
            round.done_seq = last;
        }
    }

    /// Marks messages as pushed. Those that another session was faster with are left out.
    fn claim(round: &mut Round, waiting: Vec<Record>) -> Result<Vec<Record>, JournalError> {
        let Some(mailbox) = &mut round.mailbox else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        for record in waiting {
            let is_ours = if round.claimed.contains(&record.seq) {
                !mailbox.was_handed_out(record.seq)?
            } else {
                mailbox.claim_push(record.seq)?
            };
            if is_ours {
                round.claimed.insert(record.seq);
                records.push(record);
            }
        }
        Ok(records)
    }

    /// The host has these messages.
    fn moved(&self, round: &mut Round, records: &[Record], again: bool) {
        let now = Instant::now();
        round.hour.extend(records.iter().map(|_| now));
        self.tell(round, DoorState::Ready);
        tracing::info!(door = round.door.name(DoorState::Ready), messages = records.len(), "knocked");
        self.pass(round, records, again);
    }

    /// The door surely did not move. Returns when it is tried again.
    fn failed(&self, round: &mut Round, records: &[Record], again: bool, error: &KnockError) -> Instant {
        let door = round.door.name(DoorState::Ready);
        if let Some(backoff) = BACKOFF.get(round.failures) {
            tracing::warn!(%error, door, "a knock failed and is tried again");
            round.failures += 1;
            round.next_at = Instant::now() + *backoff;
        } else {
            tracing::warn!(%error, door, "a knock failed too often; its messages wait for a pull");
            self.tell(round, DoorState::Failing);
            self.pass(round, records, again);
        }
        round.next_at
    }

    fn pass(&self, round: &mut Round, records: &[Record], again: bool) {
        if again {
            round.left.clear();
        } else {
            round.done_seq = records.last().map_or(round.done_seq, |record| record.seq);
            round.claimed.clear();
        }
        round.failures = 0;
        round.next_at = Instant::now() + self.doors.min_interval;
    }

    /// Another door is used from now on.
    pub(super) fn use_instead(&self, round: &mut Round, door: HostDoor) {
        self.presence.door(None, door.name(DoorState::Ready));
        (round.door, round.state) = (door, DoorState::Ready);
    }

    pub(super) fn tell(&self, round: &mut Round, state: DoorState) {
        if round.state != state {
            self.presence.door(Some(round.door.name(round.state)), round.door.name(state));
            round.state = state;
        }
    }
}

/// The host took them, so a hook need not tell them too.
pub(super) fn note_shown(round: &mut Round, records: &[Record]) {
    let seqs: Vec<u64> = records.iter().map(|record| record.seq).collect();
    if let Some(Err(error)) = round.mailbox.as_mut().map(|mailbox| mailbox.note_shown(&seqs)) {
        tracing::warn!(%error, "that a knock has arrived could not be noted; a hook may tell it again, marked");
    }
}

/// Nothing was said, so nothing is marked that was not before.
fn inbox_failed(round: &mut Round, error: &JournalError) -> Instant {
    tracing::warn!(%error, "messages could not be brought through the door; they stay unread");
    round.next_at = Instant::now() + INBOX_EVERY;
    round.next_at
}
