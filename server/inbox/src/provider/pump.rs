//! Everything that is sent without a request: messages for waiting calls, deadlines, pushes and hints, always
//! in that order.
//!
//! It must send nothing while the host does not read: hints can be made again later, and messages stay
//! unread.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use entraclaw_mcp::Connection;
use entraclaw_mcp::level::Level;
use entraclaw_mcp::message::Id;

use super::{InboxProvider, Wait};
use crate::carrier::{channel, log_ping, resource, wait};
use crate::journal::JournalError;
use crate::record::Record;

/// Records read at a time for a push.
const PUSH_PAGE_RECORDS: usize = 32;

/// The most new messages that get a log ping each; a larger number gets one ping together.
const PINGS_MAX: usize = 32;

/// The first protocol version whose progress notifications have a text.
const PROGRESS_WORDS_SINCE: &str = "2025-03-26";

/// The interval between two looks at what another session holds while a call waits; the end of that session
/// is not announced.
const HELD_LOOK_EVERY: Duration = Duration::from_secs(2);

/// The interval between two looks for orphaned deliveries, while a message is unread that could be pushed.
const ORPHAN_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The same interval while no other session holds anything. A session that gets an old message and ends
/// before it acknowledges it is noticed later, but an idle session can sleep.
const CALM_ORPHAN_LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// The interval between two tries to write what the disk did not take.
const SETTLE_EVERY: Duration = Duration::from_secs(1);

impl InboxProvider {
    /// Sends everything that is due. Cheap when nothing changed.
    pub(super) fn bring_up_to_now(&mut self, connection: &mut Connection) {
        let last_seq = *self.grown.borrow_and_update();
        if self.held_look_at.is_some_and(|at| at <= Instant::now()) {
            self.held_look_at = None;
            self.stirred = true;
        }
        if std::mem::take(&mut self.stirred) || last_seq != self.offered_seq {
            self.offered_seq = last_seq;
            for id in self.waiting(|_| true) {
                self.serve_wait(connection, &id);
            }
        }
        self.keep_time(connection);
        self.push_channel(connection);
        self.push_orphaned(connection);
        self.announce(connection);
        self.feed_streams(connection);
        self.settle();
    }

    /// Tries again to write the notes that the disk did not take.
    fn settle(&mut self) {
        let now = Instant::now();
        if self.settle_at.is_some_and(|at| at <= now) {
            self.settle_at = None;
            for inbox in self.inboxes.values_mut().filter(|inbox| inbox.mailbox.has_unwritten_notes()) {
                inbox.mailbox.settle();
            }
        }
        if self.inboxes.values().any(|inbox| inbox.mailbox.has_unwritten_notes()) {
            self.settle_at.get_or_insert(now + SETTLE_EVERY);
        }
    }

    /// Plans another look: another session of the consumer holds what a waiting call could get.
    pub(super) fn look_again_at_what_is_held(&mut self) {
        self.held_look_at = Some(Instant::now() + HELD_LOOK_EVERY);
    }

    fn waiting(&self, matches: impl Fn(&Wait) -> bool) -> Vec<Id> {
        self.waits.iter().filter(|(_, wait)| matches(wait)).map(|(id, _)| id.clone()).collect()
    }

    fn keep_time(&mut self, connection: &mut Connection) {
        let now = Instant::now();
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        for id in self.waiting(|wait| is_over(wait.deadline) && wait.is_cut_short) {
            self.end_wait(connection, &id, wait::CUT_SHORT);
        }
        for id in self.waiting(|wait| is_over(wait.deadline)) {
            self.end_wait(connection, &id, wait::NOBODY_WROTE);
        }
        let mut beats = Vec::new();
        // Older protocol versions have no text in their progress notifications.
        let has_words =
            connection.opened.as_ref().is_none_or(|session| session.version >= PROGRESS_WORDS_SINCE);
        for (id, wait) in &mut self.waits {
            if let Some(heartbeat) = &mut wait.heartbeat
                && heartbeat.next <= now
            {
                heartbeat.sent += 1;
                heartbeat.next = now + heartbeat.every;
                let mut beat = json!({"progressToken": heartbeat.token, "progress": heartbeat.sent});
                if has_words {
                    beat["message"] = wait::listening(now - heartbeat.began, &self.options.listens_to).into();
                }
                beats.push((id.clone(), beat));
            }
        }
        for (id, beat) in beats {
            connection.notify_about(&id, "notifications/progress", &beat);
        }
    }

    /// Pushes messages that the consumer was never shown, unless a waiting call can take them.
    fn push_channel(&mut self, connection: &mut Connection) {
        let last_seq = *self.grown.borrow();
        let Some(session) = &connection.opened else { return };
        let is_failing = self.push_failed_seq == Some(last_seq);
        if self.pushed_seq >= last_seq || !self.pushes_channel(connection) {
            return;
        }
        self.orphan_look_at.get_or_insert_with(|| Instant::now() + ORPHAN_LOOK_INTERVAL);
        if is_failing {
            return;
        }
        let Ok(consumer) = self.consumer_of(connection, Some(&session.client)) else { return };
        if !self.waiting(|wait| wait.reader.consumer == consumer).is_empty() {
            return;
        }
        if let Err(error) = self.push_records(connection, &consumer) {
            tracing::warn!(%error, "messages could not be pushed; they stay unread");
            self.push_failed_seq = Some(last_seq);
        }
    }

    fn push_records(
        &mut self,
        connection: &mut Connection,
        consumer: &crate::journal::ConsumerName,
    ) -> Result<(), JournalError> {
        loop {
            let page = self.options.journal.read_after(self.pushed_seq, PUSH_PAGE_RECORDS)?;
            if page.is_empty() {
                return Ok(());
            }
            for record in page {
                if !connection.has_room() {
                    return Ok(());
                }
                // The message is marked first, so that after a crash it comes again with the mark and never
                // without.
                if self.inbox(consumer)?.mailbox.claim_push(record.seq)? {
                    connection.notify(channel::METHOD, &channel::push(&record, false));
                }
                self.pushed_seq = record.seq;
            }
        }
    }

    /// Pushes the consumer's orphaned deliveries once, marked. A waiting call takes them itself.
    fn push_orphaned(&mut self, connection: &mut Connection) {
        let now = Instant::now();
        if self.orphan_look_at.is_none_or(|at| at > now) {
            return;
        }
        self.orphan_look_at = None;
        let Some(session) = &connection.opened else { return };
        let Ok(consumer) = self.consumer_of(connection, Some(&session.client)) else { return };
        let is_waiting = !self.waiting(|wait| wait.reader.consumer == consumer).is_empty();
        let Ok(inbox) = self.inbox(&consumer) else { return };
        let left = if is_waiting { Ok(Vec::new()) } else { inbox.mailbox.take_over(&<[Record]>::len) };
        // While nothing is unread, no session holds anything; the next record is a reason to look again.
        if left.is_err() || inbox.mailbox.unread(None) > 0 {
            let calm = left.is_ok() && !inbox.mailbox.others_hold();
            self.orphan_look_at =
                Some(now + if calm { CALM_ORPHAN_LOOK_INTERVAL } else { ORPHAN_LOOK_INTERVAL });
        }
        for record in left.unwrap_or_default() {
            connection.notify(channel::METHOD, &channel::push(&record, true));
        }
    }

    /// Sends hints of new messages: the log ping, then the resource.
    fn announce(&mut self, connection: &mut Connection) {
        let last_seq = *self.grown.borrow();
        if last_seq <= self.announced_seq || !connection.has_room() {
            return;
        }
        let announced_seq = std::mem::replace(&mut self.announced_seq, last_seq);
        if let Some(session) =
            connection.opened.as_ref().filter(|session| session.ready && session.level <= Level::INFO)
        {
            let consumer = self.consumer_of(connection, Some(&session.client));
            let count = last_seq - announced_seq;
            let (told, each) =
                if count <= PINGS_MAX as u64 { (announced_seq, 1) } else { (last_seq - 1, count) };
            let page = self.options.journal.read_after(told, PINGS_MAX);
            if let (Ok(consumer), Ok(page)) = (consumer, page) {
                let unread = self.inbox(&consumer).map_or(0, |inbox| inbox.mailbox.unread(None));
                for record in page.iter().filter(|record| record.is_for(consumer.as_str())) {
                    connection.notify(log_ping::METHOD, &log_ping::ping(record, each, unread));
                }
            }
        }
        connection.resource_changed(resource::URI);
    }
}
