//! `tools/call`: reads the arguments, hands messages out, and says so to the mailbox in the order that matters.
//!
//! Nothing may be handed out that can't be answered, and a call with a wrong argument must change nothing.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::time::Instant;

use super::dispatch::text;
use super::era::{Era, modern_client_version};
use super::hosts::{WAIT_CAP_S, why_missing};
use super::message::{Object, RpcError, kind_of, notification};
use super::session::{Caller, Inbox, OpenCall, Receipt, Reply, Session, Wait};
use crate::carrier::log_ping::{self, Level};
use crate::carrier::{pull, wait};
use crate::journal::{Batch, ConsumerName, DeliveryId, JournalError, Query};
use crate::source::ACCESS_TOKEN_VARIABLE;
use crate::tool::answer::{self, Answer, FRAME_BYTES};
use crate::tool::arguments::Arguments;
use crate::tool::catalog;
use crate::tool::nearest::nearest;
use crate::tool::{
    Door, INBOUND_QUEUE_STATS, INBOX_PULL, MessageView, PullResult, Refusal, StatsResult, ToolSet,
    WAIT_FOR_INBOUND_MESSAGE, WaitResult,
};

/// Calls whose work may be done elsewhere at a time.
pub(super) const WORKS_OPEN_MAX: usize = 8;

impl Session {
    pub(super) fn call_tool(&mut self, caller: &Caller, mut params: Object) {
        self.see_call(caller, &params);
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Ok(Object::new()),
            Some(Value::Object(arguments)) => Ok(arguments),
            Some(other) => Err(RpcError::invalid_params(format!(
                "params.arguments: must be an object, got {}",
                kind_of(&other)
            ))),
        };
        let call = text(&params, "name").and_then(|name| Ok((name, arguments?)));
        let trouble = self.options.trouble.clone();
        let refusal = match call {
            Ok((name, _)) if trouble.is_some() && self.names_of_tools().iter().any(|known| known == name) => {
                Err(self.with_cause(caller.client.as_deref(), trouble.unwrap_or_default()))
            }
            Ok((WAIT_FOR_INBOUND_MESSAGE, given)) if self.listens() => self.call_wait(caller, given, &params),
            Ok((INBOX_PULL, given)) if self.listens() => self.call_pull(caller, given),
            Ok((INBOUND_QUEUE_STATS, given)) if self.listens() => self.call_stats(caller, given),
            Ok((name, given)) => {
                if let Some(door) = self.door_of(name) {
                    let begun = self.call_door(caller, &*door, name, given);
                    return begun.unwrap_or_else(|refusal| {
                        self.answer_tool(&caller.route, Answer::error(&refusal), Vec::new());
                    });
                }
                let names = self.names_of_tools();
                let hint = nearest(name, &names).map(|known| format!("; did you mean {known}?"));
                let hint = hint.unwrap_or_else(|| match names.as_slice() {
                    [] => "; there is none, for `tools.sets` names only sets whose source is off".to_owned(),
                    _ => format!("; there are {}", names.join(", ")),
                });
                let error = RpcError::invalid_params(format!("params.name: no tool is named `{name}`{hint}"));
                return self.answer(&caller.route, Err(error), Vec::new());
            }
            Err(error) => return self.answer(&caller.route, Err(error), Vec::new()),
        };
        if let Err(refusal) = refusal {
            self.answer_tool(&caller.route, Answer::error(&refusal), Vec::new());
        }
    }

    fn call_wait(&mut self, caller: &Caller, given: Object, params: &Object) -> Result<(), Refusal> {
        let asked = wait::arguments(given)?;
        self.options.presence.used("wait");
        self.supersede_wait(&caller.consumer);
        self.came_back(&caller.consumer);
        let host = self.host(caller.client.as_deref());
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
        let version = match (&self.legacy, caller.route.era) {
            (Some(session), Era::Legacy) => &session.client_version,
            _ => modern_client_version(params),
        };
        let may_park = host.is_some_and(|row| row.may_park(version, token.is_some()));
        let is_parked = asked.timeout_s == wait::UNTIL_SOMETHING && may_park;
        let cap_s = host.map_or(WAIT_CAP_S, |row| row.wait_cap_s);
        let timeout_s =
            if asked.timeout_s == wait::UNTIL_SOMETHING { cap_s } else { asked.timeout_s.min(cap_s) };
        let wait = Wait {
            caller: caller.clone(),
            deadline: (!is_parked).then(|| now + Duration::from_secs(timeout_s)),
            began: now,
            may_park,
            is_cut_short: asked.timeout_s == wait::UNTIL_SOMETHING && !may_park,
            max_items: asked.max_items,
            heartbeat,
        };
        self.open.insert(caller.route.id.clone(), OpenCall::Wait(Box::new(wait)));
        self.serve_wait(&caller.route.id);
        if asked.timeout_s == wait::UNTIL_SOMETHING {
            self.continue_as_task(&caller.route.id);
        }
        Ok(())
    }

    fn call_pull(&mut self, caller: &Caller, given: Object) -> Result<(), Refusal> {
        let asked = pull::arguments(given)?;
        self.options.presence.used("pull");
        if let Some(part) = self.next_part(&caller.consumer, &asked.since_id) {
            // The reader is still at that message, so this call acknowledges nothing.
            let delivery = DeliveryId(self.next_number());
            let nothing = Query { limit: 0, ..Query::default() };
            let inbox = self.inbox(&caller.consumer).map_err(inbox_failed)?;
            let unread_remaining =
                inbox.mailbox.hand_out(delivery, &nothing).map_err(inbox_failed)?.unread_remaining;
            let result = PullResult { unread_remaining, messages: vec![part], warning: self.warning() };
            self.answer_tool(&caller.route, Answer::json(&result), Vec::new());
            return Ok(());
        }
        self.came_back(&caller.consumer);
        let since_id = (!asked.since_id.is_empty()).then_some(asked.since_id);
        let query = Query {
            limit: usize::try_from(asked.limit).unwrap_or(usize::MAX),
            channel: asked.channel,
            since_id: since_id.clone(),
            bytes_max: self.message_bytes_max(),
            peek: !asked.mark_consumed,
            fresh_only: false,
            tells: false,
        };
        let delivery = DeliveryId(self.next_number());
        let inbox = self.inbox(&caller.consumer).map_err(inbox_failed)?;
        let batch = inbox.mailbox.hand_out(delivery, &query).map_err(inbox_failed)?;
        if let Some(id) = &since_id
            && let Err(error) = inbox.mailbox.acknowledge_ids(&[id])
        {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
        let messages = self.hand_over(caller, delivery, &batch);
        let result =
            PullResult { unread_remaining: batch.unread_remaining, messages, warning: self.warning() };
        let receipt = Receipt { consumer: caller.consumer.clone(), delivery };
        self.answer_tool(&caller.route, Answer::json(&result), vec![receipt]);
        Ok(())
    }

    fn call_stats(&mut self, caller: &Caller, given: Object) -> Result<(), Refusal> {
        Arguments::new(given).finish()?;
        let stats = self.options.journal.stats();
        let gone = self.options.journal.losses().gone();
        let warning = self.warning();
        let mailbox = &mut self.inbox(&caller.consumer).map_err(inbox_failed)?.mailbox;
        let result = StatsResult {
            depth: mailbox.unread(None),
            dropped_total: stats.dropped_total + gone,
            spilled_total: stats.spilled_total,
            oldest_ts: mailbox.oldest_unread_ts(),
            warning,
        };
        self.answer_tool(&caller.route, Answer::json(&result), Vec::new());
        Ok(())
    }

    fn listens(&self) -> bool {
        self.options.tool_sets.contains(&ToolSet::Inbound)
    }

    fn names_of_tools(&self) -> Vec<String> {
        let tools = catalog::tools(&self.options.doors, &self.options.tool_sets);
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// The door that offers a tool, unless its set is left out.
    fn door_of(&self, tool: &str) -> Option<Arc<dyn Door>> {
        let sets = &self.options.tool_sets;
        let offers = |door: &&Arc<dyn Door>| {
            door.offers().iter().any(|offer| offer.tool.name == tool && sets.contains(&offer.set))
        };
        self.options.doors.iter().find(offers).cloned()
    }

    fn call_door(
        &mut self,
        caller: &Caller,
        door: &dyn Door,
        tool: &str,
        given: Object,
    ) -> Result<(), Refusal> {
        if self.works.len() >= WORKS_OPEN_MAX {
            return Err(format!(
                "{WORKS_OPEN_MAX} calls are on their way already; wait for an answer, then call {tool} again"
            ));
        }
        let started = door.call(tool, given)?;
        self.came_back(&caller.consumer);
        let named: Vec<&str> = started.answers.iter().map(String::as_str).collect();
        if let Err(error) =
            self.inbox(&caller.consumer).and_then(|inbox| inbox.mailbox.acknowledge_ids(&named))
        {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
        let number = self.next_number();
        self.works.push(started.work.map(move |answer| (number, answer)).boxed());
        self.open.insert(caller.route.id.clone(), OpenCall::Work { route: caller.route.clone(), number });
        Ok(())
    }

    /// The work of a call is done. A call that was cancelled meanwhile gets no answer.
    pub(super) fn on_worked(&mut self, (number, answer): (u64, Answer)) {
        let id = self.open.iter().find_map(|(id, call)| match call {
            OpenCall::Work { number: this, .. } if *this == number => Some(id.clone()),
            _ => None,
        });
        if let Some(OpenCall::Work { route, .. }) = id.and_then(|id| self.open.remove(&id)) {
            self.answer_tool(&route, answer, Vec::new());
        }
    }

    /// The consumer called again, so it has what it was answered before.
    fn came_back(&mut self, consumer: &ConsumerName) {
        // What can't be noted now is delivered again, marked; that is no reason to refuse the call.
        if let Err(error) = self.inbox(consumer).and_then(Inbox::came_back) {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
    }

    /// An older waiting call of the same consumer ends empty: the host may have forgotten it, and it must not take
    /// the next message with it.
    fn supersede_wait(&mut self, consumer: &ConsumerName) {
        self.supersede_tasks(consumer);
        let older = self.open.iter().find_map(|(id, call)| match call {
            OpenCall::Wait(wait) if wait.caller.consumer == *consumer => Some(id.clone()),
            _ => None,
        });
        if let Some(id) = older {
            self.end_wait(&id, wait::SUPERSEDED);
        }
    }

    /// Answers a waiting call with nothing.
    pub(super) fn end_wait(&mut self, id: &super::message::Id, next: &str) {
        let Some(OpenCall::Wait(wait)) = self.open.remove(id) else { return };
        // It is open because there was nothing to hand out.
        let result = WaitResult {
            messages: Vec::new(),
            unread_remaining: 0,
            next: next.to_owned(),
            warning: self.warning(),
        };
        self.answer_tool(&wait.caller.route, Answer::json(&result), Vec::new());
    }

    /// Answers a waiting call if anything is unread.
    pub(super) fn serve_wait(&mut self, id: &super::message::Id) {
        let Some(OpenCall::Wait(wait)) = self.open.get(id) else { return };
        let (caller, max_items, may_park) = (wait.caller.clone(), wait.max_items, wait.may_park);
        let has_waited = Instant::now() > wait.began;
        if let Some((answer, receipts)) = self.take_messages(&caller, max_items, may_park) {
            self.open.remove(id);
            let abandons = self.host(caller.client.as_deref()).is_some_and(|row| row.abandons);
            if has_waited
                && abandons
                && let Ok(inbox) = self.inbox(&caller.consumer)
                && let Some(reply) = inbox.replies.back_mut()
            {
                reply.may_be_abandoned = reply.is_first;
            }
            self.answer_tool(&caller.route, answer, receipts);
        }
    }

    /// Hands out what is unread for the answer of a waiting call; nothing when nothing is.
    pub(super) fn take_messages(
        &mut self,
        caller: &Caller,
        max_items: u64,
        may_park: bool,
    ) -> Option<(Answer, Vec<Receipt>)> {
        let delivery = DeliveryId(self.next_number());
        let query = Query {
            limit: usize::try_from(max_items).unwrap_or(usize::MAX),
            bytes_max: self.message_bytes_max(),
            ..Query::default()
        };
        let handed = match self.inbox(&caller.consumer) {
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
                self.log_for(caller, &batch);
                let messages = self.hand_over(caller, delivery, &batch);
                let result = WaitResult {
                    next: wait::next_step(batch.unread_remaining, may_park).to_owned(),
                    messages,
                    unread_remaining: batch.unread_remaining,
                    warning: self.warning(),
                };
                let receipt = Receipt { consumer: caller.consumer.clone(), delivery };
                Some((Answer::json(&result), vec![receipt]))
            }
            Err(error) => Some((Answer::error(&inbox_failed(error)), Vec::new())),
        }
    }

    /// The log ping of a request that asked for one: it belongs to that request, so it goes before its answer.
    fn log_for(&mut self, caller: &Caller, batch: &Batch) {
        let asked = caller.log_level.is_some_and(|level| level <= Level::INFO);
        if let (true, Some(newest)) = (asked, batch.items.last()) {
            let ping =
                log_ping::request_ping(&newest.record, batch.items.len() as u64, batch.unread_remaining);
            self.out.push_about(&notification(log_ping::METHOD, &ping), &caller.route.id);
        }
    }

    /// Makes a batch fit for an answer and remembers who has it.
    fn hand_over(&mut self, caller: &Caller, delivery: DeliveryId, batch: &Batch) -> Vec<MessageView> {
        let bytes_max = self.message_bytes_max();
        let Ok(inbox) = self.inbox(&caller.consumer) else { return Vec::new() };
        let whole: Vec<MessageView> = batch
            .items
            .iter()
            .map(|handed| MessageView::of(&handed.record, handed.redelivered, handed.pushed))
            .collect();
        let mut shown = whole.clone();
        answer::fit(&mut shown, bytes_max);
        for (shown, whole) in shown.iter().zip(whole) {
            if shown.rest_since_id.is_some() {
                inbox.remember_cut(whole);
            }
        }
        inbox.remember_reply(Reply {
            id: caller.route.id.clone(),
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
    fn next_part(&mut self, consumer: &ConsumerName, since_id: &str) -> Option<MessageView> {
        let (id, from) = answer::continuation(since_id)?;
        let bytes_max = self.message_bytes_max();
        let cut = self.inbox(consumer).ok()?.cut.iter().find(|message| message.id == id).cloned();
        // A command outside of this session may have shown the beginning.
        let from_journal = || Some(MessageView::of(&self.options.journal.find(id).ok()??, false, false));
        let whole = cut.or_else(from_journal)?;
        let mut part = [answer::part(whole, from)?];
        answer::fit(&mut part, bytes_max);
        let [part] = part;
        Some(part)
    }

    fn message_bytes_max(&self) -> usize {
        self.options.limits.answer_bytes_max.saturating_sub(FRAME_BYTES)
    }

    /// A trouble that a missing token may be the cause of, with why it may be missing where that is known of the host.
    fn with_cause(&self, client: Option<&str>, trouble: String) -> String {
        if !trouble.contains(ACCESS_TOKEN_VARIABLE) {
            return trouble;
        }
        let version = self.legacy.as_ref().map_or("", |session| session.client_version.as_str());
        let why = self.host(client).and_then(|row| why_missing(row, version, ACCESS_TOKEN_VARIABLE));
        why.map_or(trouble.clone(), |why| format!("{trouble} ({why})"))
    }

    /// What the model should know about the inbox's health: hosts hide stderr, so nobody else can tell.
    pub(super) fn warning(&self) -> Option<String> {
        let disk = self.options.journal.stats().disk_failure.map(|failure| {
            let failure: String = failure.chars().take(120).collect();
            format!(
                "new messages are kept in memory only, the disk takes no writes ({failure}); tell your user"
            )
        });
        let lost = self.options.journal.losses().told(self.options.clock.now());
        let client = self.legacy.as_ref().map(|session| session.client.clone());
        let health = self.options.health.as_ref().and_then(|health| health());
        let health = health.map(|warning| self.with_cause(client.as_deref(), warning));
        let warnings: Vec<String> = disk.into_iter().chain(lost).chain(health).collect();
        (!warnings.is_empty()).then(|| warnings.join("; "))
    }
}

fn inbox_failed(error: JournalError) -> Refusal {
    match error {
        JournalError::UnknownId { .. } => error.to_string(),
        error => format!("the inbox could not be read: {error}; nothing is lost, call again"),
    }
}
