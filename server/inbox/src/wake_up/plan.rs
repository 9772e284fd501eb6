//! What a session tells its host next: orphaned deliveries, new messages, or a reminder of announced ones
//! that the agent did not read. It must never tell what another session of the consumer tells, and it claims
//! every message before the message leaves.

use std::time::Duration;

use tokio::time::Instant;

use super::parts::WakeUpCarrier;
use super::round::Round;
use super::wake::{Form, Plan, Wake};
use super::{HostWakeUp, notice, whole};
use crate::carrier::channel::BACKLOG_RECORDS_MAX;
use crate::journal::{DeliveryState, JournalError};
use crate::record::Record;

/// Records that are read together.
const PAGE_RECORDS: usize = 32;
/// The interval between two looks for orphaned deliveries, while something is unread and another session
/// holds something.
pub(super) const ORPHAN_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The interval between two looks for orphaned deliveries, while no other session holds anything.
const CALM_ORPHAN_LOOK_INTERVAL: Duration = Duration::from_secs(60);

impl WakeUpCarrier {
    /// Whether there is an orphaned delivery to tell of. It looks only when the next look is due.
    fn left(&self, round: &mut Round) -> Result<bool, JournalError> {
        let mailbox = match round.mailbox.take() {
            Some(mailbox) => mailbox,
            None => self.journal.mailbox(&round.consumer, &self.id)?,
        };
        let mailbox = round.mailbox.insert(mailbox);
        let mut is_read = Vec::new();
        for record in &round.left {
            is_read.push(mailbox.state_of(record.seq)?.is_spoken_for());
        }
        let mut is_read = is_read.into_iter();
        round.left.retain(|_| is_read.next() == Some(false));
        if !round.left.is_empty() {
            return Ok(true);
        }
        let now = Instant::now();
        if round.orphan_look_at.is_none_or(|at| at > now) {
            return Ok(false);
        }
        let has_left = mailbox.has_orphans()?;
        // While nothing is unread, no session holds anything; the next record is a reason to look again.
        let every = if mailbox.others_hold() { ORPHAN_LOOK_INTERVAL } else { CALM_ORPHAN_LOOK_INTERVAL };
        round.orphan_look_at = (mailbox.unread(None) > 0).then(|| now + every);
        Ok(has_left)
    }

    /// What there is to tell, oldest first.
    pub(super) fn plan(&self, round: &mut Round) -> Result<Plan, JournalError> {
        if self.left(round)? {
            return Ok(Plan::Left);
        }
        let (mut fresh, has_more) = self.fresh(round)?;
        if !fresh.is_empty() {
            let may_go = &fresh[..self.room(round).min(fresh.len())];
            let words = whole(may_go, false, &self.trust).filter(|_| !round.is_untold);
            return Ok(match words {
                Some(words) => {
                    fresh.truncate(words.records);
                    Plan::Whole(fresh)
                }
                None => Plan::Notice(fresh, has_more),
            });
        }
        let (overdue, has_more) = self.overdue(round)?;
        Ok(if overdue.is_empty() { Plan::Nothing } else { Plan::Notice(overdue, has_more) })
    }

    /// The oldest messages that the agent was neither shown nor told of, and whether there are more.
    fn fresh(&self, round: &mut Round) -> Result<(Vec<Record>, bool), JournalError> {
        let Some(mailbox) = &mut round.mailbox else { return Ok((Vec::new(), false)) };
        let told = if round.is_untold { 0 } else { mailbox.announced_through()? };
        let mut found = Vec::new();
        let mut at = round.done_seq.max(self.backlog());
        // Announced messages still count as new, and must be found again if their session ends.
        let mut is_done = true;
        while let Some((page, last)) = self.page(at)? {
            for record in page {
                let state = mailbox.state_of(record.seq)?;
                let is_claimed = round.claimed.contains(&record.seq) && !state.was_shown();
                let is_new = is_claimed || state == DeliveryState::New;
                is_done &= !is_new;
                if is_done {
                    round.done_seq = record.seq;
                }
                if is_new && (is_claimed || record.seq > told) {
                    found.push(record);
                }
            }
            if found.len() > PAGE_RECORDS {
                break;
            }
            at = last;
        }
        Ok(first_page(found))
    }

    /// The messages that the agent was told of, was shown in no other way, and did not ask for until the
    /// reminder is due; and whether there are more. An agent that has called a tool since has seen the
    /// announcement.
    fn overdue(&self, round: &mut Round) -> Result<(Vec<Record>, bool), JournalError> {
        round.remind_at = None;
        let Some(mailbox) = &mut round.mailbox else { return Ok((Vec::new(), false)) };
        let (Some(due_at), true) = (mailbox.reminder_at()?, mailbox.unread(None) > 0) else {
            return Ok((Vec::new(), false));
        };
        let called_at = self.activity.get().called_at;
        if round.outstanding.is_some_and(|(woke_at, _)| called_at.is_some_and(|at| at >= woke_at)) {
            return Ok((Vec::new(), false));
        }
        let left = due_at.duration_since(self.clock.now());
        if left.is_positive() {
            // A look that comes a moment too early finds nothing, and no other look would follow it.
            round.remind_at = Some(Instant::now() + left.unsigned_abs() + Duration::from_millis(1));
            return Ok((Vec::new(), false));
        }
        let mut found = Vec::new();
        let mut at = self.backlog();
        while let Some((page, last)) = self.page(at)? {
            for record in page {
                if !mailbox.state_of(record.seq)?.was_shown() {
                    found.push(record);
                }
            }
            at = last;
        }
        Ok(first_page(found))
    }

    /// The place of the oldest record that wake-ups still tell of.
    fn backlog(&self) -> u64 {
        self.journal.last_seq().saturating_sub(BACKLOG_RECORDS_MAX)
    }

    /// Records after a place, and the place of the last of them.
    fn page(&self, at: u64) -> Result<Option<(Vec<Record>, u64)>, JournalError> {
        let page = self.journal.read_after(at, PAGE_RECORDS)?;
        Ok(page.last().map(|record| record.seq).map(|last| (page, last)))
    }

    /// Notes that this session tells the messages, before it does. `None` where another session was faster.
    pub(super) fn claim(&self, round: &mut Round, plan: Plan) -> Result<Option<Wake>, JournalError> {
        match plan {
            Plan::Nothing => Ok(None),
            Plan::Left => {
                let mut records = self.take_over(round)?;
                if round.wake_up == HostWakeUp::QwenPeer
                    && let Some(first) = records.first()
                    && whole(std::slice::from_ref(first), true, &self.trust).is_some()
                {
                    records.truncate(1);
                }
                let words = whole(&records, true, &self.trust);
                let is_whole = words.is_some();
                let text = words.map_or_else(|| notice(&records, false), |words| words.text);
                Ok((!records.is_empty()).then_some(Wake { text, records, form: Form::Left, is_whole }))
            }
            Plan::Whole(records) => {
                let records = Self::claim_pushes(round, records)?;
                let Some(last) = records.last().map(|record| record.seq) else { return Ok(None) };
                if let Some(mailbox) = &mut round.mailbox {
                    mailbox.claim_announcement(last)?;
                }
                let words = whole(&records, false, &self.trust);
                Ok(words.map(|words| Wake { text: words.text, records, form: Form::Whole, is_whole: true }))
            }
            Plan::Notice(records, has_more) => {
                let last = records.last().map_or(0, |record| record.seq);
                let Some(mailbox) = &mut round.mailbox else { return Ok(None) };
                // An announcement that did not arrive is claimed already, but not for messages that came since.
                if !mailbox.claim_announcement(last)? && !round.is_untold {
                    return Ok(None);
                }
                let text = notice(&records, has_more);
                Ok(Some(Wake { text, records, form: Form::Notice, is_whole: false }))
            }
        }
    }

    /// Takes over as many orphaned deliveries as one wake-up may bring.
    fn take_over(&self, round: &mut Round) -> Result<Vec<Record>, JournalError> {
        let room = self.room(round);
        if round.left.is_empty()
            && let Some(mailbox) = &mut round.mailbox
        {
            let fits = |records: &[Record]| {
                let records = &records[..room.min(records.len())];
                whole(records, true, &self.trust).map_or(records.len(), |words| words.records)
            };
            round.left = mailbox.take_over(&fits)?;
        }
        Ok(round.left.clone())
    }

    /// Marks messages as pushed. Messages that another session marked before are left out.
    fn claim_pushes(round: &mut Round, waiting: Vec<Record>) -> Result<Vec<Record>, JournalError> {
        let Some(mailbox) = &mut round.mailbox else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        for record in waiting {
            let is_ours = if round.claimed.contains(&record.seq) {
                !mailbox.state_of(record.seq)?.was_shown()
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
}

/// The first page of what was found, and whether there is more.
fn first_page(mut found: Vec<Record>) -> (Vec<Record>, bool) {
    let has_more = found.len() > PAGE_RECORDS;
    found.truncate(PAGE_RECORDS);
    (found, has_more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Channel, Draft};

    fn record(seq: u64) -> Record {
        let draft = Draft {
            key: format!("teams/{seq}"),
            id: seq.to_string(),
            channel: Channel::Teams,
            chat_id: "19:chat@unq.gbl.spaces".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-01-02T03:04:05Z".to_owned(),
            content_text_sanitized: "Hello".to_owned(),
            meta: std::collections::BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        Record::from_draft(draft, seq, "2026-01-02T03:04:05Z".to_owned())
    }

    #[rstest::rstest]
    #[case(0, 0, false)]
    #[case(32, 32, false)]
    #[case(33, 32, true)]
    #[case(64, 32, true)]
    fn a_page_has_the_oldest_and_says_whether_more_wait(
        #[case] found: u64,
        #[case] told: u64,
        #[case] more: bool,
    ) {
        let (page, has_more) = first_page((1..=found).map(record).collect());
        let places: Vec<u64> = page.iter().map(|record| record.seq).collect();
        assert_eq!((places, has_more), ((1..=told).collect(), more));
    }
}
