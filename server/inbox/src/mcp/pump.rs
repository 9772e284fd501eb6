//! What happens by itself: messages for waiting calls, deadlines, pushes and hints, always in that order.
//!
//! Nothing here is sent while the host takes nothing: hints can be made again later, messages stay unread.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::message::{Id, notification};
use super::session::{OpenCall, Session};
use crate::carrier::log_ping::{self, Level};
use crate::carrier::{channel, wait};
use crate::journal::JournalError;
use crate::record::Record;

/// Records read at a time while pushing.
const PUSH_PAGE_RECORDS: usize = 32;

/// New messages that have a log ping each; more at once have one together.
const PINGS_MAX: usize = 32;

/// The first version of the protocol whose progress has words.
const PROGRESS_WORDS_SINCE: &str = "2025-03-26";

/// Between two looks at what another session holds while a call waits. Nobody tells when that session dies.
const HELD_LOOK_EVERY: Duration = Duration::from_secs(2);

/// Between two looks at what sessions have died with, while something is unread that could be pushed.
const GRAVE_LOOK_EVERY: Duration = Duration::from_secs(5);
/// The same while nobody else holds anything: only who takes an old message without a word and dies with it is noticed
/// later, and an idle session sleeps.
const CALM_GRAVE_LOOK_EVERY: Duration = Duration::from_secs(60);

/// Between two tries to write what the disk did not take.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

impl Session {
    /// Brings everything up to now. Cheap when nothing changed.
    pub(super) fn pump(&mut self) {
        if !self.out.has_room() {
            return;
        }
        let last_seq = *self.grown.borrow_and_update();
        if self.held_look_at.is_some_and(|at| at <= Instant::now()) {
            self.held_look_at = None;
            self.stirred = true;
        }
        if std::mem::take(&mut self.stirred) || last_seq != self.offered_seq {
            self.offered_seq = last_seq;
            for id in self.waiting(|_| true) {
                self.serve_wait(&id);
            }
        }
        self.keep_time();
        self.push_channel();
        self.push_what_the_dead_had();
        self.announce();
        self.feed_streams();
        self.settle();
    }

    /// Tries again to note who was shown what, while the disk has not taken it.
    fn settle(&mut self) {
        let now = Instant::now();
        if self.settle_at.is_some_and(|at| at <= now) {
            self.settle_at = None;
            for inbox in self.inboxes.values_mut().filter(|inbox| inbox.mailbox.owes()) {
                inbox.mailbox.settle();
            }
        }
        if self.inboxes.values().any(|inbox| inbox.mailbox.owes()) {
            self.settle_at.get_or_insert(now + SETTLE_EVERY);
        }
    }

    /// A waiting call was passed by for another session of its consumer.
    pub(super) fn look_again_at_what_is_held(&mut self) {
        self.held_look_at = Some(Instant::now() + HELD_LOOK_EVERY);
    }

    fn waiting(&self, matches: impl Fn(&super::session::Wait) -> bool) -> Vec<Id> {
        self.open
            .iter()
            .filter(|(_, call)| matches!(call, OpenCall::Wait(wait) if matches(wait)))
            .map(|(id, _)| id.clone())
            .collect()
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        for id in self.waiting(|wait| is_over(wait.deadline) && wait.is_cut_short) {
            self.end_wait(&id, wait::CUT_SHORT);
        }
        for id in self.waiting(|wait| is_over(wait.deadline)) {
            self.end_wait(&id, wait::NOBODY_WROTE);
        }
        let mut beats = Vec::new();
        // The first version of the protocol has no words in its progress.
        let has_words = self.legacy.as_ref().is_none_or(|session| session.version >= PROGRESS_WORDS_SINCE);
        for (id, call) in &mut self.open {
            if let OpenCall::Wait(wait) = call
                && let Some(heartbeat) = &mut wait.heartbeat
                && heartbeat.next <= now
            {
                heartbeat.sent += 1;
                heartbeat.next = now + heartbeat.every;
                let mut beat = json!({"progressToken": heartbeat.token, "progress": heartbeat.sent});
                if has_words {
                    beat["message"] = wait::listening(now - heartbeat.began, &self.options.listens_to).into();
                }
                beats.push((id.clone(), notification("notifications/progress", &beat)));
            }
        }
        for (id, beat) in beats {
            self.out.push_about(&beat, &id);
        }
    }

    /// Pushes what the consumer was never shown, unless a waiting call is there to take it.
    fn push_channel(&mut self) {
        let last_seq = *self.grown.borrow();
        let Some(session) = &self.legacy else { return };
        let is_failing = session.push_failed_seq == Some(last_seq);
        if session.pushed_seq >= last_seq || !self.pushes_channel() {
            return;
        }
        self.grave_look_at.get_or_insert_with(|| Instant::now() + GRAVE_LOOK_EVERY);
        if is_failing {
            return;
        }
        let Ok(consumer) = self.consumer_of(Some(&session.client)) else { return };
        if !self.waiting(|wait| wait.caller.consumer == consumer).is_empty() {
            return;
        }
        if let Err(error) = self.push_records(&consumer) {
            tracing::warn!(%error, "messages could not be pushed; they stay unread");
            if let Some(session) = &mut self.legacy {
                session.push_failed_seq = Some(last_seq);
            }
        }
    }

    fn push_records(&mut self, consumer: &crate::journal::ConsumerName) -> Result<(), JournalError> {
        loop {
            let Some(session) = &self.legacy else { return Ok(()) };
            let page = self.options.journal.read_after(session.pushed_seq, PUSH_PAGE_RECORDS)?;
            if page.is_empty() {
                return Ok(());
            }
            for record in page {
                if !self.out.has_room() {
                    return Ok(());
                }
                // Claimed first: after a crash it is shown again marked, never unmarked.
                if self.inbox(consumer)?.mailbox.claim_push(record.seq)? {
                    let push = notification(channel::METHOD, &channel::push(&record, false));
                    self.out.push(&push, None, Vec::new());
                }
                if let Some(session) = &mut self.legacy {
                    session.pushed_seq = record.seq;
                }
            }
        }
    }

    /// Pushes what another session of the consumer was given and died with, once, marked. A waiting call takes it itself.
    fn push_what_the_dead_had(&mut self) {
        let now = Instant::now();
        if self.grave_look_at.is_none_or(|at| at > now) {
            return;
        }
        self.grave_look_at = None;
        let Some(session) = &self.legacy else { return };
        let Ok(consumer) = self.consumer_of(Some(&session.client)) else { return };
        let is_waiting = !self.waiting(|wait| wait.caller.consumer == consumer).is_empty();
        let Ok(inbox) = self.inbox(&consumer) else { return };
        let left = if is_waiting { Ok(Vec::new()) } else { inbox.mailbox.take_over(&<[Record]>::len) };
        // What nobody has to read can't be held by anybody. Of more the next record tells.
        if left.is_err() || inbox.mailbox.unread(None) > 0 {
            let calm = left.is_ok() && !inbox.mailbox.others_hold();
            self.grave_look_at = Some(now + if calm { CALM_GRAVE_LOOK_EVERY } else { GRAVE_LOOK_EVERY });
        }
        for record in left.unwrap_or_default() {
            let push = notification(channel::METHOD, &channel::push(&record, true));
            self.out.push(&push, None, Vec::new());
        }
    }

    /// Hints that something came: the log ping, then the resource.
    fn announce(&mut self) {
        let last_seq = *self.grown.borrow();
        if last_seq <= self.announced_seq || !self.out.has_room() {
            return;
        }
        let announced_seq = std::mem::replace(&mut self.announced_seq, last_seq);
        if let Some(session) =
            self.legacy.as_ref().filter(|session| session.ready && session.level <= Level::INFO)
        {
            let consumer = self.consumer_of(Some(&session.client));
            let count = last_seq - announced_seq;
            let (told, each) =
                if count <= PINGS_MAX as u64 { (announced_seq, 1) } else { (last_seq - 1, count) };
            let page = self.options.journal.read_after(told, PINGS_MAX);
            if let (Ok(consumer), Ok(page)) = (consumer, page) {
                let unread = self.inbox(&consumer).map_or(0, |inbox| inbox.mailbox.unread(None));
                for record in &page {
                    let ping = notification(log_ping::METHOD, &log_ping::ping(record, each, unread));
                    self.out.push(&ping, None, Vec::new());
                }
            }
        }
        self.announce_resource();
    }
}
