//! Calls of the inbox's own tools: reads the arguments, hands messages out, and reports each step to the
//! mailbox in the right order.
//!
//! It must hand out nothing that can't be answered, and a call with a wrong argument must change nothing.

use std::time::Duration;

use entraclaw_mcp::hosts::WAIT_CAP_S;
use entraclaw_mcp::level::Level;
use entraclaw_mcp::message::{Id, Object};
use entraclaw_mcp::{Answer, Arguments, Connection, FRAME_BYTES, Receipt, Refusal};
use tokio::time::Instant;

use super::inboxes::{Inbox, Reply};
use super::{InboxProvider, Reader, Wait, receipt};
use crate::carrier::{log_ping, pull, wait};
use crate::journal::{Batch, ConsumerName, DeliveryId, JournalError, Purpose, Query};
use crate::tool::answer::{self, Continuation};
use crate::tool::{MessageView, PullResult, StatsResult, WaitResult};

impl InboxProvider {
    pub(super) fn call_wait(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        given: Object,
        params: &Object,
    ) -> Result<(), Refusal> {
        let asked = wait::arguments(given)?;
        self.options.presence.used("wait");
        self.supersede_wait(connection, &reader.consumer);
        self.came_back(&reader.consumer);
        let host = connection.host(reader.caller.client.as_deref());
        let now = Instant::now();
        let every = host.and_then(|row| row.progress_every_s).map(Duration::from_secs);
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
        let token = token.filter(|token| token.is_string() || token.is_i64());
        let heartbeat = every.zip(token).map(|(every, token)| wait::Heartbeat {
            token: token.clone(),
            every,
            began: now,
            next: now + every,
            sent: 0,
        });
        let may_park = host.is_some_and(|row| row.may_park(&reader.caller.version, token.is_some()));
        let is_parked = asked.timeout_s == wait::UNTIL_SOMETHING && may_park;
        let cap_s = host.map_or(WAIT_CAP_S, |row| row.wait_cap_s);
        let timeout_s =
            if asked.timeout_s == wait::UNTIL_SOMETHING { cap_s } else { asked.timeout_s.min(cap_s) };
        let wait = Wait {
            reader: reader.clone(),
            deadline: (!is_parked).then(|| now + Duration::from_secs(timeout_s)),
            began: now,
            may_park,
            is_cut_short: asked.timeout_s == wait::UNTIL_SOMETHING && !may_park,
            max_items: asked.max_items,
            heartbeat,
        };
        connection.hold(&reader.caller.route);
        self.waits.insert(reader.caller.route.id.clone(), wait);
        self.serve_wait(connection, &reader.caller.route.id);
        if asked.timeout_s == wait::UNTIL_SOMETHING {
            self.continue_as_task(connection, &reader.caller.route.id);
        }
        Ok(())
    }

    pub(super) fn call_pull(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        given: Object,
    ) -> Result<(), Refusal> {
        let asked = pull::arguments(given)?;
        self.options.presence.used("pull");
        if let Some(part) = self.next_part(connection, &reader.consumer, &asked.since_id) {
            // The model still reads that message, so this call acknowledges nothing.
            let delivery = DeliveryId(connection.next_number());
            let nothing = Query { limit: 0, ..Query::default() };
            let inbox = self.inbox(&reader.consumer).map_err(inbox_failed)?;
            let unread_remaining =
                inbox.mailbox.hand_out(delivery, &nothing).map_err(inbox_failed)?.unread_remaining;
            let result =
                PullResult { unread_remaining, messages: vec![part], warning: self.warning(connection) };
            connection.answer_tool(&reader.caller.route, Answer::json(&result), Vec::new());
            return Ok(());
        }
        self.came_back(&reader.consumer);
        let since_id = (!asked.since_id.is_empty()).then_some(asked.since_id);
        let query = Query {
            limit: usize::try_from(asked.limit).unwrap_or(usize::MAX),
            channel: asked.channel,
            since_id: since_id.clone(),
            bytes_max: message_bytes_max(connection),
            purpose: if asked.mark_consumed { Purpose::HandOut } else { Purpose::Peek },
        };
        let delivery = DeliveryId(connection.next_number());
        let inbox = self.inbox(&reader.consumer).map_err(inbox_failed)?;
        let batch = inbox.mailbox.hand_out(delivery, &query).map_err(inbox_failed)?;
        if let Some(id) = &since_id
            && let Err(error) = inbox.mailbox.acknowledge_ids(&[id])
        {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
        let messages = self.hand_over(connection, reader, delivery, &batch);
        let result = PullResult {
            unread_remaining: batch.unread_remaining,
            messages,
            warning: self.warning(connection),
        };
        let receipt = receipt(&reader.consumer, delivery);
        connection.answer_tool(&reader.caller.route, Answer::json(&result), vec![receipt]);
        Ok(())
    }

    pub(super) fn call_stats(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        given: Object,
    ) -> Result<(), Refusal> {
        Arguments::new(given).finish()?;
        let stats = self.options.journal.stats();
        let gone = self.options.journal.losses().gone();
        let warning = self.warning(connection);
        let mailbox = &mut self.inbox(&reader.consumer).map_err(inbox_failed)?.mailbox;
        let result = StatsResult {
            depth: mailbox.unread(None),
            dropped_total: stats.counts.dropped_total + gone,
            spilled_total: stats.counts.spilled_total,
            oldest_ts: mailbox.oldest_unread_ts(),
            warning,
        };
        connection.answer_tool(&reader.caller.route, Answer::json(&result), Vec::new());
        Ok(())
    }

    /// The consumer called again, so it has received the earlier answers.
    pub(super) fn came_back(&mut self, consumer: &ConsumerName) {
        // An acknowledgement that can't be noted leads to a marked repetition, which is no reason to refuse
        // the call.
        if let Err(error) = self.inbox(consumer).and_then(Inbox::came_back) {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
    }

    /// Ends an older waiting call of the same consumer with an empty answer. The host may have forgotten that
    /// call, and it must not take the next message.
    fn supersede_wait(&mut self, connection: &mut Connection, consumer: &ConsumerName) {
        self.supersede_tasks(connection, consumer);
        let older = self.waits.iter().find(|(_, wait)| wait.reader.consumer == *consumer);
        let older = older.map(|(id, _)| id.clone());
        if let Some(id) = older {
            self.end_wait(connection, &id, wait::SUPERSEDED);
        }
    }

    /// Answers a waiting call without messages.
    pub(super) fn end_wait(&mut self, connection: &mut Connection, id: &Id, next: &str) {
        let Some(wait) = self.waits.remove(id) else { return };
        connection.release(id);
        // The call was open because there was nothing to hand out.
        let answer = self.nothing(connection, next);
        connection.answer_tool(&wait.reader.caller.route, answer, Vec::new());
    }

    /// The answer of a waiting call that brings no message.
    pub(super) fn nothing(&self, connection: &Connection, next: &str) -> Answer {
        let (messages, unread_remaining, next) = (Vec::new(), 0, next.to_owned());
        Answer::json(&WaitResult { messages, unread_remaining, next, warning: self.warning(connection) })
    }

    /// Answers a waiting call if there are unread messages.
    pub(super) fn serve_wait(&mut self, connection: &mut Connection, id: &Id) {
        let Some(wait) = self.waits.get(id) else { return };
        let (reader, max_items, may_park) = (wait.reader.clone(), wait.max_items, wait.may_park);
        let has_waited = Instant::now() > wait.began;
        if let Some((answer, receipts)) = self.take_messages(connection, &reader, max_items, may_park) {
            self.waits.remove(id);
            connection.release(id);
            let abandons = connection.host(reader.caller.client.as_deref()).is_some_and(|row| row.abandons);
            if has_waited
                && abandons
                && let Ok(inbox) = self.inbox(&reader.consumer)
                && let Some(reply) = inbox.replies.back_mut()
            {
                reply.may_be_abandoned = reply.is_first;
            }
            connection.answer_tool(&reader.caller.route, answer, receipts);
        }
    }

    /// Hands out the unread messages for the answer of a waiting call; `None` when there are none.
    pub(super) fn take_messages(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        max_items: u64,
        may_park: bool,
    ) -> Option<(Answer, Vec<Receipt>)> {
        let delivery = DeliveryId(connection.next_number());
        let query = Query {
            limit: usize::try_from(max_items).unwrap_or(usize::MAX),
            bytes_max: message_bytes_max(connection),
            ..Query::default()
        };
        let handed = match self.inbox(&reader.consumer) {
            Ok(inbox) => inbox.mailbox.hand_out(delivery, &query),
            Err(error) => Err(error),
        };
        match handed {
            Ok(batch) if batch.items.is_empty() => {
                if batch.held_elsewhere {
                    self.look_again_at_what_is_held();
                }
                None
            }
            Ok(batch) => {
                log_for(connection, reader, &batch);
                let messages = self.hand_over(connection, reader, delivery, &batch);
                let result = WaitResult {
                    next: wait::next_step(batch.unread_remaining, may_park).to_owned(),
                    messages,
                    unread_remaining: batch.unread_remaining,
                    warning: self.warning(connection),
                };
                let receipt = receipt(&reader.consumer, delivery);
                Some((Answer::json(&result), vec![receipt]))
            }
            Err(error) => Some((Answer::error(&inbox_failed(error)), Vec::new())),
        }
    }

    /// Shortens a batch to the size of an answer, and remembers the answer.
    fn hand_over(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        delivery: DeliveryId,
        batch: &Batch,
    ) -> Vec<MessageView> {
        let bytes_max = message_bytes_max(connection);
        let Ok(inbox) = self.inbox(&reader.consumer) else { return Vec::new() };
        let whole = answer::views(batch);
        let mut shown = whole.clone();
        answer::fit(&mut shown, bytes_max);
        for (shown, whole) in shown.iter().zip(whole) {
            if shown.rest_since_id.is_some() {
                inbox.remember_cut(whole);
            }
        }
        inbox.remember_reply(Reply {
            id: reader.caller.route.id.clone(),
            delivery,
            seqs: batch.items.iter().map(|handed| handed.record.seq).collect(),
            written: false,
            written_at: None,
            is_first: batch.items.iter().any(|handed| !handed.redelivered),
            may_be_abandoned: false,
        });
        shown
    }

    /// The part of a long message that `since_id` asks for.
    fn next_part(
        &mut self,
        connection: &mut Connection,
        consumer: &ConsumerName,
        since_id: &str,
    ) -> Option<MessageView> {
        let next = Continuation::read(since_id)?;
        let bytes_max = message_bytes_max(connection);
        let is_meant =
            |message: &&MessageView| message.id == next.id && next.seq.is_none_or(|seq| message.seq == seq);
        let cut = self.inbox(consumer).ok()?.cut.iter().rfind(is_meant).cloned();
        // A command outside this session may have shown the beginning of the message.
        let from_journal = || {
            let journal = &self.options.journal;
            let record = match next.seq {
                // Another record of this id has another text, so its rest would not fit what was read.
                Some(seq) => journal.at(seq).ok()?.filter(|record| record.id == next.id),
                None => journal.find(next.id).ok()?,
            };
            Some(MessageView::of(&record?, false, false))
        };
        let whole = cut.or_else(from_journal)?;
        let mut part = [answer::part(whole, next.from)?];
        answer::fit(&mut part, bytes_max);
        let [part] = part;
        Some(part)
    }

    /// The warning about the inbox's health for the model. Hosts hide stderr, so no other way reaches the
    /// user.
    pub(super) fn warning(&self, connection: &Connection) -> Option<String> {
        let disk = self.options.journal.stats().counts.disk_failure.map(|failure| {
            let failure: String = failure.chars().take(120).collect();
            format!(
                "new messages are kept in memory only, the disk takes no writes ({failure}); tell your user"
            )
        });
        let lost = self.options.journal.losses().told(self.options.clock.now());
        let client = connection.opened.as_ref().map(|session| session.client.clone());
        let health = self.options.health.as_ref().and_then(|health| health());
        let health = health.map(|warning| connection.with_cause(client.as_deref(), warning));
        let warnings: Vec<String> = disk.into_iter().chain(lost).chain(health).collect();
        (!warnings.is_empty()).then(|| warnings.join("; "))
    }
}

/// Sends the log ping of a request that asked for one. It belongs to that request, so it is sent before the
/// answer.
fn log_for(connection: &mut Connection, reader: &Reader, batch: &Batch) {
    let asked = reader.caller.log_level.is_some_and(|level| level <= Level::INFO);
    if let (true, Some(newest)) = (asked, batch.items.last()) {
        let ping = log_ping::request_ping(&newest.record, batch.items.len() as u64, batch.unread_remaining);
        connection.notify_about(&reader.caller.route.id, log_ping::METHOD, &ping);
    }
}

fn message_bytes_max(connection: &Connection) -> usize {
    connection.options.limits.answer_bytes_max.saturating_sub(FRAME_BYTES)
}

fn inbox_failed(error: JournalError) -> Refusal {
    match error {
        JournalError::UnknownId { .. } => error.to_string(),
        error => format!("the inbox could not be read: {error}; nothing is lost, call again"),
    }
}
