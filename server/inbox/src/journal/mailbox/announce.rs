//! Announcements: a wake-up that only tells an agent that messages wait. One session announces, and repeats it a few times.
//!
//! An announcement shows no text, so it must never mark a record.

use jiff::{SignedDuration, Timestamp};

use super::{Mailbox, Note};
use crate::journal::error::Result;
use crate::journal::ledger::Announced;
use crate::journal::ledger_file::slot_is_taken;

/// The pauses before an announcement is repeated when the agent has made no call. After the last one it is not repeated.
const REMINDED_AFTER: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_mins(30), SignedDuration::from_hours(2)];

impl Mailbox {
    /// The place of the newest record that was announced to the agent of a running session; 0 when none was.
    pub fn announced_through(&mut self) -> Result<u64> {
        self.refresh()?;
        Ok(self.living_announcement().map_or(0, |announced| announced.through))
    }

    /// When the last announcement may be repeated, if the agent makes no call. `None` if there was none, or if it was
    /// repeated often enough.
    pub fn reminder_at(&mut self) -> Result<Option<Timestamp>> {
        self.refresh()?;
        Ok(self.reminder())
    }

    /// How often the last announcement was repeated.
    pub fn reminders(&self) -> u32 {
        self.file.ledger().announced.map_or(0, |announced| announced.reminders)
    }

    /// Claims the announcement of the messages up to the place `through` for this session. Returns true to only one of
    /// several sessions that ask. Call it before the agent is told.
    pub fn claim_announcement(&mut self, through: u64) -> Result<bool> {
        let _lock = self.begin()?;
        let now = self.journal.core().clock.now();
        let is_news = self.living_announcement().is_none_or(|announced| announced.through < through);
        let may = is_news || self.reminder().is_some_and(|at| at <= now);
        if may {
            let known = self.file.ledger().announced.filter(|known| known.through >= through);
            let reminders = known.map_or(0, |known| known.reminders.saturating_add(1));
            self.note(Note::Announce(Announced { slot: self.slot, through, at: now, reminders }));
        }
        self.end();
        Ok(may)
    }

    fn living_announcement(&self) -> Option<Announced> {
        let lives = |slot: u16| slot == self.slot || slot_is_taken(&*self.storage, &self.consumer, slot);
        self.file.ledger().announced.filter(|announced| lives(announced.slot))
    }

    fn reminder(&self) -> Option<Timestamp> {
        let announced = self.file.ledger().announced?;
        let after = REMINDED_AFTER.get(usize::try_from(announced.reminders).ok()?)?;
        // After a clock was set back, the noted time may lie in the future.
        let at = announced.at.min(self.journal.core().clock.now());
        Some(at.checked_add(*after).unwrap_or(Timestamp::MAX))
    }
}
