//! The states of a consumer's deliveries, for one operation of a mailbox.
//!
//! It must never try the lock of another session's slot more than once, nor that of a session that holds none of the records.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Mailbox, Span};
use crate::journal::delivery_state::DeliveryState;
use crate::journal::ledger::Held;
use crate::journal::ledger_file::slot_is_taken;
use crate::record::Channel;

/// The states of a consumer's deliveries as one of its sessions sees them.
pub(super) struct Standing<'a> {
    mailbox: &'a Mailbox,
    living: RefCell<BTreeMap<u16, bool>>,
}

impl<'a> Standing<'a> {
    pub(super) fn of(mailbox: &'a Mailbox) -> Self {
        Self { mailbox, living: RefCell::default() }
    }

    pub(super) fn state(&self, channel: Channel, seq: u64) -> DeliveryState {
        let ledger = self.mailbox.file.ledger();
        if ledger.acked.has(channel, seq) {
            return DeliveryState::Acknowledged;
        }
        if !ledger.shown.has(channel, seq) {
            let is_pushed = ledger.pushed.has(channel, seq);
            return if is_pushed { DeliveryState::Pushed } else { DeliveryState::New };
        }
        if self.mailbox.is_in_an_open_answer(seq) {
            return DeliveryState::HandedOut;
        }
        match self.holder(seq) {
            Some((slot, held)) => self.held(slot, seq, held),
            None if ledger.given_back.has(channel, seq) => DeliveryState::Doubtful,
            None => DeliveryState::Shown,
        }
    }

    /// The records that no other answer may include, by place: those that open answers of this session or other running
    /// sessions hold.
    pub(super) fn spoken_for(&self) -> BTreeMap<u64, Span> {
        let own = self.mailbox.in_open_answers().map(|span| (span.seq(), span));
        let elsewhere = self.elsewhere();
        let elsewhere = elsewhere
            .filter(|(state, ..)| *state == DeliveryState::PendingElsewhere)
            .map(|(_, seq, _, held)| (seq, held.span));
        own.chain(elsewhere).collect()
    }

    /// The orphaned deliveries by place, each with its slot, without those that this session ignores because of their age.
    pub(super) fn orphaned(&self) -> BTreeMap<u64, (u16, Held)> {
        let is_orphaned = |state| matches!(state, DeliveryState::Orphaned | DeliveryState::OrphanPushed);
        let orphaned = self.elsewhere().filter(|(state, ..)| is_orphaned(*state));
        orphaned.map(|(_, seq, slot, held)| (seq, (slot, held))).collect()
    }

    /// The records that other slots hold, each with its state, place and slot.
    fn elsewhere(&self) -> impl Iterator<Item = (DeliveryState, u64, u16, Held)> {
        let slots = self.mailbox.file.ledger().slots.iter().filter(|(slot, _)| **slot != self.mailbox.slot);
        let held = slots.flat_map(|(slot, what)| what.held.iter().map(|(seq, held)| (*slot, *seq, *held)));
        held.map(|(slot, seq, held)| (self.held(slot, seq, &held), seq, slot, held))
    }

    fn holder(&self, seq: u64) -> Option<(u16, &'a Held)> {
        let slots = &self.mailbox.file.ledger().slots;
        slots.iter().find_map(|(slot, what)| what.held.get(&seq).map(|held| (*slot, held)))
    }

    /// The state of a record that a slot holds.
    fn held(&self, slot: u16, seq: u64, held: &Held) -> DeliveryState {
        if slot == self.mailbox.slot {
            DeliveryState::Pending
        } else if self.is_living(slot) {
            DeliveryState::PendingElsewhere
        } else if self.mailbox.known.older.contains(&seq) {
            DeliveryState::Doubtful
        } else if held.is_pushed_again {
            DeliveryState::OrphanPushed
        } else {
            DeliveryState::Orphaned
        }
    }

    fn is_living(&self, slot: u16) -> bool {
        let look = || slot_is_taken(&*self.mailbox.storage, &self.mailbox.consumer, slot);
        *self.living.borrow_mut().entry(slot).or_insert_with(look)
    }
}
