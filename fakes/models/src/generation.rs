//! An answer while it is made: a stream that waits for each token, and that knows when it is dropped.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt as _};
use tokio::sync::OwnedMutexGuard;
use tokio::time::Instant;

use crate::forms::{Cost, Form, Why};
use crate::plan::Unit;
use crate::script::Answer;
use crate::seen::End;
use crate::slots::{Slot, cached};
use crate::state::State;

/// The server broke the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection was broken")]
pub struct Dropped;

/// The body of an answer. A client that drops it before its end has closed the connection.
pub type Body = BoxStream<'static, Result<Vec<u8>, Dropped>>;

/// An answer that is being made.
pub(crate) struct Generation {
    pub(crate) server: Arc<State>,
    pub(crate) seen: usize,
    pub(crate) form: Form,
    pub(crate) answer: Answer,
    pub(crate) prompt: Vec<String>,
    pub(crate) units: Vec<Unit>,
    pub(crate) is_cut: bool,
    pub(crate) wanted_slot: Option<usize>,
    pub(crate) slot: Option<OwnedMutexGuard<Slot>>,
    pub(crate) cached: usize,
    pub(crate) sent: usize,
    pub(crate) began: Instant,
    pub(crate) end: End,
}

impl Generation {
    pub(crate) fn body(self) -> Body {
        stream::unfold(self, |mut generation| async move {
            let next = generation.next().await?;
            Some((next, generation))
        })
        .boxed()
    }

    async fn next(&mut self) -> Option<Result<Vec<u8>, Dropped>> {
        if self.end != End::Open {
            return None;
        }
        if self.slot.is_none() {
            let slot = self.server.slots.take(self.wanted_slot).await;
            self.cached = cached(&slot, &self.prompt);
            self.began = Instant::now();
            self.slot = Some(slot);
        }
        let is_at =
            |tokens: Option<u64>| tokens.and_then(|tokens| usize::try_from(tokens).ok()) == Some(self.sent);
        if is_at(self.answer.stalls_after_tokens) {
            std::future::pending::<()>().await;
        }
        let delay = if self.sent == 0 { self.answer.first_token_ms } else { self.answer.token_ms };
        tokio::time::sleep(Duration::from_millis(delay)).await;
        if is_at(self.answer.drops_after_tokens) {
            self.end = End::Dropped;
            return Some(Err(Dropped));
        }
        if let Some(failure) = self.answer.error.as_ref().filter(|failure| is_at(failure.after_tokens)) {
            self.end = End::Refused;
            return Some(Ok(self.form.failure(failure)));
        }
        if is_at(self.answer.breaks_form_after_tokens) {
            self.end = End::Whole;
            return Some(Ok(self.form.broken()));
        }
        if let Some(unit) = self.units.get(self.sent) {
            self.sent += 1;
            return Some(Ok(self.form.unit(unit)));
        }
        self.end = End::Whole;
        if self.answer.ends_without_last {
            return None;
        }
        Some(Ok(self.form.last(self.why(), self.cost())))
    }

    fn why(&self) -> Why {
        if self.is_cut {
            Why::Length
        } else if self.units.iter().any(|unit| matches!(unit, Unit::Tool { .. })) {
            Why::Tools
        } else {
            Why::Done
        }
    }

    fn cost(&self) -> Cost {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let took_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Cost { prompt: count(self.prompt.len()), cached: count(self.cached), made: count(self.sent), took_ms }
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        let closed = self.end == End::Open;
        if closed {
            self.end = End::ClosedByClient;
        }
        let goes_on = closed && self.slot.is_some() && !self.server.script.notices_close;
        let made = if goes_on { self.units.len() } else { self.sent };
        let wasted = made - self.sent;
        if let Some(slot) = &mut self.slot {
            slot.tokens = std::mem::take(&mut self.prompt);
            slot.tokens.extend(self.units.iter().take(made).map(Unit::token));
            if goes_on {
                let left_ms = u64::try_from(wasted).unwrap_or(u64::MAX).saturating_mul(self.answer.token_ms);
                slot.busy_until = Some(Instant::now() + Duration::from_millis(left_ms));
            }
        }
        let (cached, sent, end) = (self.cached, self.sent, self.end);
        self.server.update(self.seen, |seen| {
            let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
            (seen.cached_tokens, seen.sent_tokens, seen.wasted_tokens) =
                (count(cached), count(sent), count(wasted));
            seen.end = end;
        });
    }
}
