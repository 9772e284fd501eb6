//! Hands in messages where the host sends receipts: one message or announcement at a time, each under an id
//! of its own, so that a repeat shows nothing twice. It must never be faster than the host's inbox allows,
//! nor take a message for shown that was not.

use std::time::Duration;

use tokio::time::Instant;

use super::handed_in::{Outstanding, Settled};
use super::parts::WakeUpCarrier;
use super::peer::{Receipt, ReceiptStatus, announcement_id, message_id};
use super::round::{Round, note_shown, withdraw};
use super::wake::{Form, Wake};
use super::words::numbered;
use super::{HostWakeUp, WakeUpError, WakeUpRequest, WakeUpState};
use crate::journal::{JournalError, Mailbox};
use crate::record::Record;

/// The wait for a receipt, by try; a repeat gets the verdict of the first try. The first receipt of a session
/// takes two seconds.
const WAITS: [Duration; 4] =
    [Duration::from_secs(10), Duration::from_secs(20), Duration::from_secs(40), Duration::from_secs(60)];
/// How long a dropped message waits before it is handed in again.
const DROPPED_WAIT: Duration = Duration::from_secs(30);
/// How long the user has to decide. The host's longest limit is ten minutes, apart from "never".
const HELD_WAIT: Duration = Duration::from_secs(15 * 60);
/// How long the loop waits after a session refused a message.
const REFUSED_WAIT: Duration = Duration::from_secs(3_600);
/// Settled messages whose later receipts are still understood.
const REMEMBERED_MAX: usize = 256;

impl WakeUpCarrier {
    /// Hands in one message, or one announcement. Returns when to look again.
    pub(super) async fn hand_in(&self, round: &mut Round, mut wake: Wake) -> Instant {
        let Some(last_seq) = wake.records.last().map(|record| record.seq) else { return round.next_at };
        let consumer = round.consumer.as_str();
        let id = if let ([record], true) = (&wake.records[..], wake.is_whole) {
            message_id(consumer, record)
        } else {
            let reminders = round.mailbox.as_ref().map_or(0, Mailbox::reminders);
            announcement_id(consumer, wake.form == Form::Left, last_seq, reminders)
        };
        if wake.is_whole && last_seq > round.handed_in.burst_end_seq {
            round.handed_in.burst_end_seq = self.journal.last_seq();
        }
        round.wakes += 1;
        wake.text = numbered(&wake.text, round.wakes);
        let (tries, may_be_there, is_held, next_at) = (0, false, false, Instant::now());
        let mut outstanding = Outstanding { id, wake, tries, may_be_there, is_held, next_at };
        let next_at = self.send(round, &mut outstanding).await;
        round.handed_in.outstanding = Some(outstanding);
        next_at
    }

    /// Returns when to look again at the message whose receipt is awaited, if there is one. Hands it in again
    /// when that is due.
    pub(super) async fn awaits(&self, round: &mut Round) -> Result<Option<Instant>, JournalError> {
        let Some(mut outstanding) = round.handed_in.outstanding.take() else { return Ok(None) };
        let mut waits = false;
        if let Some(mailbox) = &mut round.mailbox {
            for record in &outstanding.wake.records {
                let state = mailbox.state_of(record.seq)?;
                let is_done =
                    state.is_spoken_for() || (outstanding.wake.form == Form::Notice && state.was_shown());
                waits |= !is_done;
            }
        }
        if waits && Instant::now() < outstanding.next_at {
            return Ok(Some(round.handed_in.outstanding.insert(outstanding).next_at));
        }
        if waits && outstanding.is_held {
            tracing::warn!(
                "nobody has decided on a message that Qwen Code holds; it stays unread, decide with /peers"
            );
        } else if waits && outstanding.tries == WAITS.len() {
            tracing::warn!(
                "Qwen Code gave no receipt for a message; it stays unread, and other ways may tell it again"
            );
            self.tell(round, WakeUpState::Failing);
            if !outstanding.may_be_there {
                withdraw(round, &outstanding.shows());
            }
        } else if waits {
            let next_at = self.send(round, &mut outstanding).await;
            round.handed_in.outstanding = Some(outstanding);
            return Ok(Some(next_at));
        }
        self.settle(round, outstanding);
        Ok(None)
    }

    async fn send(&self, round: &mut Round, outstanding: &mut Outstanding) -> Instant {
        let (id, text) = (outstanding.id.clone(), outstanding.wake.text.clone());
        let sent = self.wake_ups.wake(WakeUpRequest::Peer { id, text }).await;
        let now = Instant::now();
        round.handed_in.spend(now);
        outstanding.may_be_there |= !sent.as_ref().is_err_and(WakeUpError::is_certain);
        if let Err(error) = sent {
            tracing::warn!(%error, "a message could not be handed in at Qwen Code and is tried again");
        }
        outstanding.next_at = now + WAITS[outstanding.tries.min(WAITS.len() - 1)];
        outstanding.tries += 1;
        outstanding.next_at
    }

    /// Applies a receipt of the host.
    pub(super) fn heard(&self, round: &mut Round, receipt: &Receipt) {
        for settled in round.handed_in.settled.clone() {
            if receipt.ids.contains(&settled.id) {
                self.heard_late(round, &settled.shows, receipt.status);
            }
        }
        let is_it = |outstanding: &mut Outstanding| receipt.ids.contains(&outstanding.id);
        let Some(mut outstanding) = round.handed_in.outstanding.take_if(is_it) else { return };
        let (now, status) = (Instant::now(), receipt.status);
        match status {
            ReceiptStatus::Delivered => {
                let shows = outstanding.shows();
                self.tell(round, WakeUpState::Ready);
                round.hour.push_back(now);
                let wake_up = round.wake_up.name(WakeUpState::Ready);
                let (messages, announced) = (outstanding.wake.records.len(), !outstanding.wake.is_whole);
                tracing::info!(wake_up, messages, announced, "woken");
                self.settle(round, outstanding);
                // A call of a tool shows that the host runs, so the next message need not wait.
                round.outstanding = Some((now, round.next_at));
                round.next_at = round.handed_in.takes_at();
                if !shows.is_empty() {
                    note_shown(round, &shows);
                }
            }
            ReceiptStatus::Held => {
                if !outstanding.is_held {
                    self.tell(round, WakeUpState::Held);
                    tracing::warn!(
                        "Qwen Code holds a message for its user to decide; release it with /peers"
                    );
                    outstanding.is_held = true;
                    outstanding.next_at = now + HELD_WAIT;
                }
                round.handed_in.outstanding = Some(outstanding);
            }
            ReceiptStatus::Dropped => {
                tracing::warn!("Qwen Code had no room for a message; it is handed in again");
                outstanding.next_at = now + DROPPED_WAIT;
                round.handed_in.outstanding = Some(outstanding);
            }
            ReceiptStatus::Refused => {
                tracing::warn!(
                    "Qwen Code refuses messages (agents.crossSessionInbound); they wait for the other ways"
                );
                self.tell(round, WakeUpState::Refused);
                let (form, done_seq) = (outstanding.wake.form, round.done_seq);
                let (records, shows) = (outstanding.wake.records.clone(), outstanding.shows());
                self.settle(round, outstanding);
                // The agent was not told, so the announcement is sent again in the next way.
                round.is_untold = form == Form::Notice;
                if let Some(path) = self.settings.qwen_input_file.clone() {
                    self.use_instead(round, HostWakeUp::QwenFile { path });
                    // The message is sent through the file next, and later receipts for it do not count.
                    round.handed_in.settled.pop_back();
                    match form {
                        Form::Whole => {
                            round.claimed.extend(records.iter().map(|record| record.seq));
                            round.done_seq = done_seq;
                        }
                        Form::Left => drop(round.left.splice(..0, records)),
                        Form::Notice => {}
                    }
                } else {
                    withdraw(round, &shows);
                    round.next_at = now + REFUSED_WAIT;
                }
            }
            ReceiptStatus::Denied | ReceiptStatus::Expired | ReceiptStatus::Misaddressed => {
                tracing::warn!(%status, "Qwen Code did not take a message; it stays unread");
                self.tell(round, WakeUpState::Ready);
                withdraw(round, &outstanding.shows());
                self.settle(round, outstanding);
            }
        }
    }

    /// Applies a later receipt for a settled message.
    fn heard_late(&self, round: &mut Round, shows: &[Record], status: ReceiptStatus) {
        match status {
            ReceiptStatus::Delivered if shows.is_empty() => {}
            ReceiptStatus::Delivered => note_shown(round, shows),
            ReceiptStatus::Expired
            | ReceiptStatus::Misaddressed
            | ReceiptStatus::Denied
            | ReceiptStatus::Refused => {
                tracing::warn!(%status, "Qwen Code did not show a message that it had; it stays unread");
                withdraw(round, shows);
            }
            ReceiptStatus::Held | ReceiptStatus::Dropped => return,
        }
        if round.state == WakeUpState::Held && round.handed_in.outstanding.is_none() {
            self.tell(round, WakeUpState::Ready);
        }
    }

    /// Marks a message as done.
    fn settle(&self, round: &mut Round, outstanding: Outstanding) {
        let shows = outstanding.shows();
        let Outstanding { id, wake, .. } = outstanding;
        let last_seq = wake.records.last().map_or(0, |record| record.seq);
        match wake.form {
            Form::Left => {
                round.left.retain(|left| wake.records.iter().all(|record| record.seq != left.seq));
            }
            Form::Whole => {
                round.done_seq = round.done_seq.max(last_seq);
                round.claimed.remove(&last_seq);
            }
            // Announced messages still count as new.
            Form::Notice => {}
        }
        round.is_untold = false;
        round.failures = 0;
        let goes_on = wake.is_whole && (last_seq < round.handed_in.burst_end_seq || !round.left.is_empty());
        let takes_at = round.handed_in.takes_at();
        let rested_at = Instant::now() + self.settings.min_interval;
        round.next_at = if goes_on { takes_at } else { takes_at.max(rested_at) };
        if round.handed_in.settled.len() == REMEMBERED_MAX {
            round.handed_in.settled.pop_front();
        }
        round.handed_in.settled.push_back(Settled { id, shows });
    }
}
