//! What a wake-up needs that tells an agent only that messages wait: to be the one session that tells it, and to know when
//! to tell it again. An announcement shows nothing, so it marks no record.

use jiff::{SignedDuration, Timestamp};

use super::{Mailbox, Note};
use crate::journal::error::Result;
use crate::journal::ledger::Announced;
use crate::journal::ledger_file::slot_is_taken;

/// After how long an announcement that no call of the agent followed is made again; after the last one it is not.
const REMINDED_AFTER: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_mins(30), SignedDuration::from_hours(2)];

impl Mailbox {
    /// Up to where the agent of a living session was told that messages wait; 0 when none was.
    pub fn announced_through(&mut self) -> Result<u64> {
        self.refresh()?;
        Ok(self.living_announcement().map_or(0, |announced| announced.through))
    }

    /// When what was announced may be announced again, because no call of the agent followed; `None` where nothing was, or often
    /// enough.
    pub fn reminder_at(&mut self) -> Result<Option<Timestamp>> {
        self.refresh()?;
        Ok(self.reminder())
    }

    /// How often what was announced last was announced again.
    pub fn reminders(&self) -> u32 {
        self.file.ledger().announced.map_or(0, |announced| announced.reminders)
    }

    /// Notes that this session's agent is told that messages wait, up to the record `through`. Of several sessions that
    /// ask, one may tell. Call it before the agent is told.
    pub fn claim_announcement(&mut self, through: u64) -> Result<bool> {
        let _lock = self.begin()?;
        let now = self.journal.core().clock.now();
        let is_news = self.living_announcement().is_none_or(|announced| announced.through < through);
        let may = is_news || self.reminder().is_some_and(|at| at <= now);
        if may {
            let known = self.file.ledger().announced.filter(|known| known.through >= through);
            let reminders = known.map_or(0, |known| known.reminders.saturating_add(1));
            self.note(Note::Announce { slot: self.slot, through, at: now, reminders });
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
        // A calendar that was set back says nothing of how long ago it was.
        let at = announced.at.min(self.journal.core().clock.now());
        Some(at.checked_add(*after).unwrap_or(Timestamp::MAX))
    }
}
