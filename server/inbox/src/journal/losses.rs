//! What the journal's files have lost: `inbox/lost.json`. It is written before anything is read again, and
//! kept until a person deletes it.
//!
//! It counts places in the order, because their content is not known. It must never be fatal: a file that
//! can't be read means that nothing was lost.

use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::interaction::Interaction;
use super::intervals::Intervals;
use super::line;
use super::term;
use crate::record::Channel;
use entraclaw_seams::storage::{Storage, read_whole};

/// The file's path in the first term of leadership.
pub const LOST_FILE: &str = "inbox/lost.json";
/// The largest file that is read.
const BYTES_MAX: u64 = 1024 * 1024;
/// Losses that are listed separately; older ones are merged into one.
const LOSSES_MAX: usize = 32;
/// Gaps of one loss. Beyond that, the places between two gaps count as lost too.
const GAPS_MAX: usize = 1_000;
/// How long every answer reports a loss, and how long one of which everything came again.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(24);
const TOLD_WHEN_WHOLE_FOR: SignedDuration = SignedDuration::from_hours(1);
/// How far before the last kept message a lost one may have been written: some sources show messages late.
const LATE_FOR: SignedDuration = SignedDuration::from_hours(1);
const MOMENT: SignedDuration = SignedDuration::from_millis(1);

/// The losses so far, and how many messages came again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Losses {
    losses: Vec<Loss>,
    restored: u64,
}

/// The point from which a source reads again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadAgain {
    /// When the last loss was noticed. A source that has dealt with it remembers this time.
    pub noticed_at: Timestamp,
    /// When the last message before the first loss was written; `None` where there is none.
    pub(crate) since: Option<Timestamp>,
}

impl ReadAgain {
    /// The line for the audit log, by a source that reads again from `from`.
    pub fn told(channel: Channel, from: Timestamp) -> Interaction {
        let detail = format!("messages are missing from the inbox's files; reading again from {from:.0}");
        tracing::warn!("{detail}");
        Interaction { channel: Some(channel), ..Interaction::fault(detail) }
    }

    /// The time from which on messages may be lost.
    pub fn from(self) -> Option<Timestamp> {
        self.since.map(|since| back(since, LATE_FOR))
    }
}

/// A loss that was noticed at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Loss {
    /// When it was noticed; later than the loss before.
    pub at: Timestamp,
    /// When the last message before the loss was written; `None` where there is none.
    pub(super) since: Option<Timestamp>,
    /// When the newest message that is known to have been there was written; `None` where that is not known.
    #[serde(default)]
    pub(super) until: Option<Timestamp>,
    /// First and last place of each gap that remains.
    pub(super) gaps: Vec<(u64, u64)>,
    /// Messages that the leader had in memory and wrote again at their old places.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) rewritten: u64,
    /// Whether a consumer may not have received all of it.
    pub(super) is_wanted: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Losses {
    /// The number of messages that were in no file when the loss was noticed and that a consumer had not
    /// acknowledged.
    pub fn missing(&self) -> u64 {
        self.places_missing() + self.rewritten()
    }

    fn places_missing(&self) -> u64 {
        self.wanted().flat_map(|loss| &loss.gaps).map(|(from, to)| to - from + 1).sum()
    }

    /// Of these, the messages that were written again from memory. A reader can't tell that they were
    /// missing.
    pub fn rewritten(&self) -> u64 {
        self.wanted().map(|loss| loss.rewritten).sum()
    }

    /// Of these, the messages that came again, from the source or from memory.
    pub fn restored(&self) -> u64 {
        self.restored.min(self.places_missing())
    }

    /// The number of messages that are lost for good, as far as is known now.
    pub fn gone(&self) -> u64 {
        self.places_missing() - self.restored()
    }

    fn wanted(&self) -> impl DoubleEndedIterator<Item = &Loss> {
        self.losses.iter().filter(|loss| loss.is_wanted)
    }

    /// When a message that a consumer still needed was last found missing.
    pub fn noticed_at(&self) -> Option<Timestamp> {
        self.wanted().next_back().map(|loss| loss.at)
    }

    /// The warning for the model and its user, while the loss is recent.
    pub fn told(&self, now: Timestamp) -> Option<String> {
        let at = self.noticed_at()?;
        let told_for = if self.gone() == 0 { TOLD_WHEN_WHOLE_FOR } else { TOLD_FOR };
        let marked = if self.rewritten() == self.missing() {
            "nothing is lost"
        } else {
            "what comes again is marked redelivered"
        };
        (now.duration_since(at).abs() <= told_for)
            .then(|| format!("{self}; {marked}; tell your user to run `entraclaw doctor`"))
    }

    /// What a source that has dealt with the losses up to `done` must read again.
    pub fn to_read_again(&self, done: Option<Timestamp>) -> Option<ReadAgain> {
        let due = || self.wanted().filter(|loss| !loss.gaps.is_empty() && Some(loss.at) > done);
        let noticed_at = due().next_back()?.at;
        let since = due().map(|loss| loss.since).min()?;
        Some(ReadAgain { noticed_at, since })
    }

    /// Whether a message that is new now, and that was written at this time, may be one that was lost.
    pub(super) fn may_have_had(&self, written: Timestamp) -> bool {
        self.gone() > 0
            && self.wanted().filter(|loss| !loss.gaps.is_empty()).any(|loss| {
                let since = loss.since.map_or(Timestamp::MIN, |since| back(since, LATE_FOR));
                (since..=loss.until.unwrap_or(loss.at)).contains(&written)
            })
    }

    /// The given places that are not known to be lost.
    pub(super) fn unknown(&self, gaps: impl IntoIterator<Item = (u64, u64)>) -> Intervals {
        gaps.into_iter().collect::<Intervals>().without(&self.places())
    }

    /// Every place that is known to be lost; no message will ever have it.
    pub(super) fn places(&self) -> Intervals {
        self.losses.iter().flat_map(|loss| &loss.gaps).copied().collect()
    }

    /// Adds a loss that was noticed now.
    pub(super) fn note(&mut self, mut loss: Loss) {
        if let Some(known) = self.losses.last() {
            loss.at = loss.at.max(known.at.saturating_add(MOMENT).unwrap_or(known.at));
        }
        if let Some((_, last)) = loss.gaps.last().copied().filter(|_| loss.gaps.len() > GAPS_MAX) {
            loss.gaps.truncate(GAPS_MAX);
            loss.gaps[GAPS_MAX - 1].1 = last;
        }
        self.losses.push(loss);
        if self.losses.len() > LOSSES_MAX {
            let oldest = self.losses.remove(0);
            let next = &mut self.losses[0];
            next.since = next.since.min(oldest.since);
            next.gaps = [oldest.gaps, std::mem::take(&mut next.gaps)].concat();
            next.until = next.until.max(oldest.until);
            next.rewritten += oldest.rewritten;
            next.is_wanted |= oldest.is_wanted;
        }
    }

    /// A copy with gaps that a process met which may not note them; the leader will.
    pub(super) fn with_met(mut self, gaps: &Intervals, at: Timestamp) -> Self {
        let gaps = gaps.iter().collect();
        self.note(Loss { at, since: None, until: None, gaps, rewritten: 0, is_wanted: true });
        self
    }

    /// Counts messages that came again.
    pub(super) fn count_restored(&mut self, restored: u64) {
        self.restored += restored;
    }

    /// Reads the file of this term, or of the newest term before it that has one.
    pub(super) fn load(storage: &dyn Storage, term: u64) -> io::Result<Self> {
        let path = term::newest_path(storage, term, LOST_FILE)?;
        let Ok(Some(bytes)) = read_whole(storage, &path, BYTES_MAX) else { return Ok(Self::default()) };
        Ok(line::parse_file(&bytes).filter(Self::is_sound).unwrap_or_default())
    }

    fn is_sound(&self) -> bool {
        self.losses.iter().flat_map(|loss| &loss.gaps).all(|(from, to)| from <= to)
    }

    /// Writes it durably, for the leader of a term.
    pub(super) fn save(&self, storage: &dyn Storage, term: u64) -> io::Result<()> {
        storage.replace(&term::path_in(term, LOST_FILE), &line::seal_file(self)?)
    }
}

impl std::fmt::Display for Losses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let messages = |count: u64| match count {
            1 => "1 message".to_owned(),
            _ => format!("{count} messages"),
        };
        let were = |count: u64| if count == 1 { "was" } else { "were" };
        let are = |count: u64| if count == 1 { "is" } else { "are" };
        let (missing, rewritten) = (self.missing(), self.rewritten());
        let (restored, gone) = (self.restored(), self.gone());
        write!(f, "{} {} missing from the inbox's files", messages(missing), were(missing))?;
        if let Some(at) = self.noticed_at() {
            write!(f, " at {at:.0}")?;
        }
        if rewritten == missing {
            return write!(f, ", and {} written there again", were(missing));
        }
        if gone == 0 && rewritten == 0 {
            return write!(f, ", and came again");
        }
        if gone == missing {
            return write!(f, ", and none has come again so far");
        }
        let parts = [
            (rewritten, format!("{rewritten} {} written there again", were(rewritten))),
            (restored, format!("{restored} came again")),
            (gone, format!("{gone} {} still missing", are(gone))),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|(n, _)| *n > 0).map(|(_, part)| part).collect();
        write!(f, ": {}", parts.join(", "))
    }
}

fn back(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_sub(by).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn loss(second: i64, gaps: &[(u64, u64)]) -> Loss {
        Loss {
            at: at(second),
            since: Some(at(second - 100)),
            gaps: gaps.to_vec(),
            until: None,
            rewritten: 0,
            is_wanted: true,
        }
    }

    #[test]
    fn it_comes_back_whole_or_not_at_all() {
        let storage = MemoryStorage::new();
        storage.create_dir("inbox").unwrap();
        assert_eq!(Losses::load(&storage, 1).unwrap(), Losses::default());
        let mut losses = Losses::default();
        losses.note(loss(1_000, &[(3, 5), (7, 7)]));
        losses.count_restored(2);
        losses.save(&storage, 1).unwrap();
        assert_eq!(Losses::load(&storage, 1).unwrap(), losses);
        assert_eq!((losses.missing(), losses.restored(), losses.gone()), (4, 2, 2));
        let bytes = storage.bytes(LOST_FILE).unwrap();
        for cut in 0..bytes.len() {
            storage.set_bytes(LOST_FILE, &bytes[..cut]);
            assert_eq!(Losses::load(&storage, 1).unwrap(), Losses::default());
        }
    }

    #[test]
    fn what_may_have_come_late_is_read_again_too() {
        let since = |since| ReadAgain { noticed_at: at(9_000), since };
        assert_eq!(since(Some(at(7_200))).from(), Some(at(3_600)));
        assert_eq!(since(None).from(), None);
    }

    #[test]
    fn a_place_is_lost_once() {
        let mut losses = Losses::default();
        losses.note(loss(1_000, &[(3, 5), (8, 9)]));
        assert_eq!(losses.unknown([(1, 10)].into_iter()), Intervals::from_iter([(1, 2), (6, 7), (10, 10)]));
        assert_eq!(losses.unknown([(3, 5), (9, 9), (4, 8)].into_iter()), Intervals::from_iter([(6, 7)]));
    }

    #[test]
    fn a_source_reads_again_what_it_has_not_dealt_with() {
        let mut losses = Losses::default();
        assert_eq!(losses.to_read_again(None), None);
        losses.note(loss(1_000, &[(3, 5)]));
        losses.note(loss(500, &[(8, 8)]));
        let again = losses.to_read_again(None).unwrap();
        assert!(again.noticed_at > at(1_000), "a clock that went back does not hide it");
        assert_eq!(again.since, Some(at(400)));
        assert_eq!(losses.to_read_again(Some(at(1_000))), Some(again));
        assert_eq!(losses.to_read_again(Some(again.noticed_at)), None);
    }

    #[test]
    fn only_what_was_written_between_may_be_what_was_lost() {
        let mut losses = Losses::default();
        assert!(!losses.may_have_had(at(0)));
        losses.note(Loss { until: Some(at(950)), ..loss(1_000, &[(3, 3)]) });
        for (second, may) in [(-2_701, false), (-2_700, true), (950, true), (951, false)] {
            assert_eq!(losses.may_have_had(at(second)), may, "{second}");
        }
        losses.count_restored(1);
        assert!(!losses.may_have_had(at(900)), "all of it came again");
    }

    #[test]
    fn lost_messages_that_every_consumer_had_are_known_and_not_told() {
        let mut losses = Losses::default();
        losses.note(Loss { is_wanted: false, ..loss(1_000, &[(3, 5)]) });
        assert_eq!((losses.missing(), losses.told(at(1_000)), losses.to_read_again(None)), (0, None, None));
        assert_eq!(losses.unknown([(3, 6)].into_iter()), Intervals::from_iter([(6, 6)]));
    }

    #[test]
    fn it_is_told_for_a_day_and_for_an_hour_when_all_came_again() {
        let mut losses = Losses::default();
        assert_eq!(losses.told(at(0)), None);
        losses.note(loss(0, &[(1, 2)]));
        let told = losses.told(at(24 * 3_600)).unwrap();
        assert!(told.starts_with("2 messages were missing from the inbox's files at 1970-"), "{told}");
        assert_eq!(losses.told(at(24 * 3_600 + 1)), None);
        losses.count_restored(1);
        assert!(losses.told(at(3_601)).unwrap().contains(": 1 came again, 1 is still missing"));
        losses.count_restored(1);
        assert!(losses.told(at(3_600)).is_some());
        assert_eq!(losses.told(at(3_601)), None);
    }

    #[test]
    fn records_that_were_written_again_are_told_and_not_read_again() {
        let mut losses = Losses::default();
        losses.note(Loss { rewritten: 3, ..loss(1_000, &[]) });
        assert_eq!((losses.missing(), losses.gone(), losses.to_read_again(None)), (3, 0, None));
        assert!(!losses.may_have_had(at(950)), "none of them comes again");
        let told = losses.told(at(1_000)).unwrap();
        assert!(told.contains(", and were written there again; nothing is lost; "), "{told}");
        assert_eq!(losses.told(at(1_000 + 3_601)), None);
        losses.note(loss(1_001, &[(3, 4)]));
        losses.count_restored(1);
        assert_eq!((losses.missing(), losses.restored(), losses.gone()), (5, 1, 1));
        let told = losses.to_string();
        assert!(told.ends_with(": 3 were written there again, 1 came again, 1 is still missing"), "{told}");
        let storage = MemoryStorage::new();
        storage.create_dir("inbox").unwrap();
        losses.save(&storage, 1).unwrap();
        assert_eq!(Losses::load(&storage, 1).unwrap(), losses);
    }

    #[rstest::rstest]
    #[case(1, "1 message was missing from the inbox's files at ")]
    #[case(2, "2 messages were missing from the inbox's files at ")]
    fn one_lost_message_is_told_in_the_singular(#[case] count: u64, #[case] begins: &str) {
        let mut losses = Losses::default();
        losses.note(loss(1_000, &[(1, count)]));
        assert!(losses.to_string().starts_with(begins), "{losses}");
    }

    #[test]
    fn it_is_bounded_and_forgets_no_place() {
        let mut losses = Losses::default();
        for n in 0..40_u64 {
            losses.note(loss(i64::try_from(n).unwrap(), &[(n * 2, n * 2)]));
        }
        assert_eq!((losses.losses.len(), losses.missing()), (LOSSES_MAX, 40));
        let many: Vec<(u64, u64)> = (100..2_000).map(|n| (n * 2, n * 2)).collect();
        losses.note(loss(99, &many));
        assert!(losses.places().contains(3_998) && losses.losses.last().unwrap().gaps.len() == GAPS_MAX);
    }
}
