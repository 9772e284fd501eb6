//! Restores the state of a consumer whose file is gone or damaged, from the summary and from the journal.
//!
//! It must never call a message new that the consumer may have been shown, nor one acknowledged that it may lack.

use super::Core;
use crate::journal::consumer::ConsumerName;
use crate::journal::error::Result;
use crate::journal::index::Tally;
use crate::journal::interaction::Interaction;
use crate::journal::ledger::{Ledger, Note, ORPHANS_SLOT, Span};
use crate::record::Channel;

/// Unacknowledged messages that hooks and waiting commands show again; the others come with a pull.
const TOLD_AGAIN_MAX: usize = 1_000;

impl Core {
    /// The acknowledgements that the summary has and the consumer's file has not: a power cut may take the newest notes.
    pub(in crate::journal) fn forgotten_by(&self, consumer: &ConsumerName, left: &Ledger) -> Option<Note> {
        let through = self.state.acked_through(consumer)?;
        let spans = Channel::ALL.map(|channel| Span(channel, 1, through[channel.index()]));
        let is_forgotten = |span: &Span| span.seq() > left.acked.of(span.0).through();
        let spans: Vec<Span> = spans.into_iter().filter(is_forgotten).collect();
        (!spans.is_empty()).then_some(Note::Ack { spans, newest: None })
    }

    /// The restored ledger of a consumer, of whose file `left` could be read; `None` for an unknown or a removed consumer.
    /// The messages that it has not acknowledged count as orphaned, so they come again and are marked.
    pub(in crate::journal) fn known_of(
        &mut self,
        consumer: &ConsumerName,
        left: &Ledger,
    ) -> Result<Option<Ledger>> {
        let Some(through) = self.state.acked_through(consumer) else { return Ok(None) };
        let up_to = |places: [u64; Channel::ALL.len()]| {
            Channel::ALL.map(|channel| Span(channel, 1, places[channel.index()])).to_vec()
        };
        let mut ledger = left.clone();
        ledger.apply(&Note::Ack { spans: up_to(through), newest: None });
        let mut spans = Vec::new();
        let mut at = 0;
        while spans.len() < TOLD_AGAIN_MAX {
            let wants = |before: &Tally, end: &Tally| ledger.may_miss(Channel::ALL.into_iter(), before, end);
            let Some(page) = self.page_after(at, &wants)? else { break };
            at = page.through;
            let is_left = |channel: Channel, seq: u64| {
                let is_held = ledger.slots.values().any(|slot| slot.held.contains_key(&seq));
                !is_held && !ledger.acked.has(channel, seq)
            };
            let entries = page.entries.iter().filter(|entry| is_left(entry.record.channel, entry.record.seq));
            spans.extend(entries.map(|entry| Span(entry.record.channel, entry.prev + 1, entry.record.seq)));
        }
        spans.truncate(TOLD_AGAIN_MAX);
        let last = self.last_seq();
        ledger.apply(&Note::Show { spans: up_to([last; Channel::ALL.len()]), orphaned_by: Vec::new() });
        let at = Some(self.clock.now());
        ledger.apply(&Note::HandOut { slot: ORPHANS_SLOT, spans, at });
        Ok(Some(ledger))
    }
}

/// The audit log's entry for a consumer's file that was made again.
pub(in crate::journal) fn made_again(consumer: &ConsumerName) -> Interaction {
    Interaction::fault(format!(
        "the file of consumer {consumer} was missing or damaged and was made again; what it had not acknowledged comes \
         again, marked"
    ))
}
