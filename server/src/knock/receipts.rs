//! Handing messages in where the host says what became of them: one message at a time, each under an id of its own, so
//! that a repeat shows nothing twice. It must never be faster than the host's inbox takes, nor take a message that was
//! not shown for one that was.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::carrier::{DoorCarrier, Round, note_shown};
use super::peer::{Receipt, ReceiptStatus, message_id};
use super::{DoorState, HostDoor, KnockRequest, words};
use crate::journal::JournalError;
use crate::record::Record;

/// Messages that the inbox takes at once.
const BURST: u32 = 30;
/// Then it takes one in so long.
const REFILL: Duration = Duration::from_secs(2);
/// Waits for a receipt, one a try; a repeat is told the verdict of the first. The first of a session takes two seconds.
const WAITS: [Duration; 4] =
    [Duration::from_secs(10), Duration::from_secs(20), Duration::from_secs(40), Duration::from_secs(60)];
/// How long a message that was dropped waits before it is handed in again.
const DROPPED_WAIT: Duration = Duration::from_secs(30);
/// How long the person has to decide; the host's longest time but never is ten minutes.
const HELD_WAIT: Duration = Duration::from_secs(15 * 60);
/// How long a session that refuses is left alone.
const REFUSED_WAIT: Duration = Duration::from_secs(3_600);
/// Messages whose later receipts are told.
const REMEMBERED_MAX: usize = 256;

/// What is known of the messages that were handed in.
#[derive(Debug, Default)]
pub(super) struct HandedIn {
    /// The one whose receipt is waited for.
    outstanding: Option<Outstanding>,
    /// Those before it whose story may go on, the newest last.
    settled: VecDeque<(String, Record)>,
    /// What was in the journal when this burst began goes without the pause between two knocks.
    burst_end_seq: u64,
    /// When the inbox takes a whole burst again.
    full_at: Option<Instant>,
}

#[derive(Debug)]
struct Outstanding {
    id: String,
    text: String,
    record: Record,
    /// Taken over from a session that died.
    again: bool,
    tries: usize,
    is_held: bool,
    /// When it is handed in again, or given up.
    next_at: Instant,
}

impl DoorCarrier {
    /// Hands in the first of these. Returns when to look again.
    pub(super) async fn hand_in(&self, round: &mut Round, records: Vec<Record>, again: bool) -> Instant {
        let Some(record) = records.into_iter().next() else { return round.next_at };
        if record.seq > round.handed_in.burst_end_seq {
            round.handed_in.burst_end_seq = self.journal.last_seq();
        }
        let mut outstanding = Outstanding {
            id: message_id(round.consumer.as_str(), &record),
            text: words(std::slice::from_ref(&record), again).text,
            record,
            again,
            tries: 0,
            is_held: false,
            next_at: Instant::now(),
        };
        let next_at = self.send(round, &mut outstanding).await;
        round.handed_in.outstanding = Some(outstanding);
        next_at
    }

    /// When to look at the message whose receipt is waited for again, if there is one. Hands it in again when it is time.
    pub(super) async fn awaits(&self, round: &mut Round) -> Result<Option<Instant>, JournalError> {
        let Some(mut outstanding) = round.handed_in.outstanding.take() else { return Ok(None) };
        let is_read = match &mut round.mailbox {
            Some(mailbox) => mailbox.is_spoken_for(outstanding.record.seq)?,
            None => false,
        };
        if is_read {
            self.settle(round, outstanding);
            return Ok(None);
        }
        let now = Instant::now();
        if now < outstanding.next_at {
            let next_at = outstanding.next_at;
            round.handed_in.outstanding = Some(outstanding);
            return Ok(Some(next_at));
        }
        if outstanding.is_held {
            tracing::warn!(
                "nobody has decided on a message that Qwen Code holds; it stays unread, decide with /peers"
            );
            self.settle(round, outstanding);
            return Ok(None);
        }
        if outstanding.tries == WAITS.len() {
            tracing::warn!(
                "Qwen Code gave no receipt for a message; it stays unread, and other ways may tell it again"
            );
            self.tell(round, DoorState::Failing);
            self.settle(round, outstanding);
            return Ok(None);
        }
        let next_at = self.send(round, &mut outstanding).await;
        round.handed_in.outstanding = Some(outstanding);
        Ok(Some(next_at))
    }

    async fn send(&self, round: &mut Round, outstanding: &mut Outstanding) -> Instant {
        let Outstanding { id, text, .. } = &*outstanding;
        let sent = self.knock.knock(KnockRequest::Peer { id: id.clone(), text: text.clone() }).await;
        let now = Instant::now();
        let full_at = round.handed_in.full_at.map_or(now, |at| at.max(now));
        round.handed_in.full_at = Some(full_at + REFILL);
        if let Err(error) = sent {
            tracing::warn!(%error, "a message could not be handed in at Qwen Code and is tried again");
        }
        outstanding.next_at = now + WAITS[outstanding.tries.min(WAITS.len() - 1)];
        outstanding.tries += 1;
        outstanding.next_at
    }

    /// The host says what became of messages.
    pub(super) fn heard(&self, round: &mut Round, receipt: &Receipt) {
        for (id, record) in round.handed_in.settled.clone() {
            if receipt.ids.contains(&id) {
                self.heard_late(round, &record, receipt.status);
            }
        }
        let is_it = |outstanding: &mut Outstanding| receipt.ids.contains(&outstanding.id);
        let Some(mut outstanding) = round.handed_in.outstanding.take_if(is_it) else { return };
        let (now, status) = (Instant::now(), receipt.status.as_str());
        match receipt.status {
            ReceiptStatus::Delivered => {
                let record = outstanding.record.clone();
                self.tell(round, DoorState::Ready);
                round.hour.push_back(now);
                tracing::info!(door = round.door.name(DoorState::Ready), messages = 1, "knocked");
                self.settle(round, outstanding);
                note_shown(round, &[record]);
            }
            ReceiptStatus::Held => {
                if !outstanding.is_held {
                    self.tell(round, DoorState::Held);
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
                self.tell(round, DoorState::Refused);
                self.settle(round, outstanding);
                if let Some(path) = self.doors.qwen_input_file.clone() {
                    self.use_instead(round, HostDoor::QwenFile { path });
                } else {
                    round.next_at = now + REFUSED_WAIT;
                }
            }
            ReceiptStatus::Denied | ReceiptStatus::Expired | ReceiptStatus::Misaddressed => {
                tracing::warn!(status, "Qwen Code did not take a message; it stays unread");
                self.tell(round, DoorState::Ready);
                self.settle(round, outstanding);
            }
        }
    }

    /// What was settled before has gone on.
    fn heard_late(&self, round: &mut Round, record: &Record, status: ReceiptStatus) {
        match status {
            ReceiptStatus::Delivered => note_shown(round, std::slice::from_ref(record)),
            ReceiptStatus::Expired | ReceiptStatus::Misaddressed | ReceiptStatus::Denied => {
                let status = status.as_str();
                tracing::warn!(status, "Qwen Code did not show a message that it had; it stays unread");
            }
            ReceiptStatus::Held | ReceiptStatus::Refused | ReceiptStatus::Dropped => return,
        }
        if round.state == DoorState::Held && round.handed_in.outstanding.is_none() {
            self.tell(round, DoorState::Ready);
        }
    }

    /// Nothing more is done for this message here.
    fn settle(&self, round: &mut Round, outstanding: Outstanding) {
        let Outstanding { id, record, again, .. } = outstanding;
        if again {
            round.left.retain(|left| left.seq != record.seq);
        } else {
            round.done_seq = round.done_seq.max(record.seq);
            round.claimed.remove(&record.seq);
        }
        round.failures = 0;
        let now = Instant::now();
        let goes_on = record.seq < round.handed_in.burst_end_seq || !round.left.is_empty();
        let full_at = round.handed_in.full_at.unwrap_or(now);
        let takes_at = full_at.checked_sub(REFILL * (BURST - 1)).unwrap_or(now).max(now);
        round.next_at = if goes_on { takes_at } else { takes_at.max(now + self.doors.min_interval) };
        if round.handed_in.settled.len() == REMEMBERED_MAX {
            round.handed_in.settled.pop_front();
        }
        round.handed_in.settled.push_back((id, record));
    }
}
