//! Compares the messages that people wrote with those that the model was shown: none lost, none twice without a mark,
//! in order, and the same characters by every way. `judge` has the rules.

use std::collections::{BTreeMap, BTreeSet};

use super::Sighting;

mod judge;

/// A message that a person wrote.
#[derive(Debug, Clone)]
pub struct Written {
    /// Label in the scenario, or a number.
    pub label: String,
    /// Handle of its author.
    pub from: String,
    /// Graph's id.
    pub message_id: String,
    /// Graph's chat.
    pub chat_id: String,
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// When Graph shows it, in the same milliseconds.
    pub visible_ms: u64,
    /// Whether the model is to see it.
    pub heard: Heard,
    /// Text of which the sanitised form must be exactly this, where the scenario knows it.
    pub expected_text: Option<String>,
    /// Its order is judged against messages that were written at least so much earlier; `None`: its order is not judged.
    pub ordered_after_ms: Option<u64>,
}

/// Whether the model is to see a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// It must: else the message is lost.
    Must,
    /// It may, because the server's state is not known.
    May,
    /// Never, because its author may not speak.
    Barred,
    /// Never, because of its kind.
    Never,
}

impl Heard {
    /// By whether its author may speak.
    pub fn of(may_speak: bool) -> Self {
        if may_speak { Self::Must } else { Self::Barred }
    }

    /// Whether a model that sees it was shown what it must not see.
    pub fn is_forbidden(self) -> bool {
        matches!(self, Self::Barred | Self::Never)
    }
}

/// Everything written and everything seen in one host session's consumer.
#[derive(Debug, Default)]
pub struct Ledger {
    written: Vec<Written>,
    seen: Vec<Sighting>,
    /// Places in `seen` by message id; ids of two chats may meet here, so the chat is looked at again.
    seen_by_id: BTreeMap<String, Vec<usize>>,
    forgotten_ms: Vec<u64>,
    /// When an answer may have been lost: a start of the host, a call that ended without a result, a peek.
    disturbed_ms: Vec<u64>,
    /// When files were deleted.
    lost_ms: Vec<u64>,
    /// Messages whose push was on the wire, with the time of the first.
    pushed_ms: BTreeMap<(String, String), u64>,
    /// Messages that a command printed for another session of the consumer, with the time of the first.
    printed_ms: BTreeMap<(String, String), u64>,
    /// The same for this session.
    printed_here_ms: BTreeMap<(String, String), u64>,
    /// Messages that went through a host's wake-up; the host may show them later.
    woken: BTreeSet<(String, String)>,
    /// Texts that messages were given later, by label, with the time of the change.
    changed: BTreeMap<String, Vec<(u64, String)>>,
}

impl Ledger {
    /// Notes a message that a person wrote.
    pub fn write(&mut self, message: Written) {
        self.written.push(message);
    }

    /// Notes that a person changed a message: shown for the first time only now, it may have this text.
    pub fn change(&mut self, label: &str, at_ms: u64, text: &str) {
        self.changed.entry(label.to_owned()).or_default().push((at_ms, text.to_owned()));
    }

    /// Notes that a person's rights have changed. It is not known whether the server has read their earlier messages.
    pub fn unsettle(&mut self, person: &str) {
        let open = |message: &Written| message.from == person && self.showings(message).is_empty();
        let open: Vec<bool> = self.written.iter().map(open).collect();
        for (message, _) in self.written.iter_mut().zip(open).filter(|(_, open)| *open) {
            if matches!(message.heard, Heard::Must | Heard::Barred) {
                message.heard = Heard::May;
            }
        }
    }

    /// Says whether the model is to see a message, now that it is known.
    pub fn decide(&mut self, label: &str, heard: Heard) {
        for message in self.written.iter_mut().filter(|message| message.label == label) {
            message.heard = heard;
        }
    }

    /// Notes that it is not known whether the server has accepted a message.
    pub fn doubt(&mut self, label: &str) {
        let meant = self.written.iter_mut().find(|message| message.label == label);
        if let Some(message) = meant.filter(|message| message.heard == Heard::Must) {
            message.heard = Heard::May;
        }
    }

    /// Notes a message that a model was shown.
    pub fn see(&mut self, mut sighting: Sighting) {
        self.fill_chat(&mut sighting);
        self.seen_by_id.entry(sighting.message_id.clone()).or_default().push(self.seen.len());
        self.seen.push(sighting);
    }

    /// Not every way shows the chat.
    fn fill_chat(&self, sighting: &mut Sighting) {
        if sighting.chat_id.is_empty()
            && let Some(meant) = self.written.iter().find(|message| message.message_id == sighting.message_id)
        {
            sighting.chat_id.clone_from(&meant.chat_id);
        }
    }

    /// Notes that what was handed out before may not have arrived.
    pub fn disturb(&mut self, at_ms: u64) {
        self.disturbed_ms.push(at_ms);
    }

    /// Notes that the server pushed a message.
    pub fn push(&mut self, chat_id: &str, message_id: &str, at_ms: u64) {
        self.pushed_ms.entry((chat_id.to_owned(), message_id.to_owned())).or_insert(at_ms);
    }

    /// Notes that a command printed a message: it counts as shown, whether or not the model is shown it.
    pub fn print(&mut self, mut sighting: Sighting) {
        self.fill_chat(&mut sighting);
        self.printed_here_ms.entry((sighting.chat_id, sighting.message_id)).or_insert(sighting.at_ms);
    }

    /// Notes what another session of the consumer was pushed, and what commands printed for it: that marks it for all.
    pub fn marked_by(&mut self, other: &Self) {
        merge(&mut self.pushed_ms, &other.pushed_ms);
        merge(&mut self.printed_ms, &other.printed_here_ms);
    }

    /// Notes that the server used a wake-up for a message.
    pub fn wake(&mut self, chat_id: &str, message_id: &str, at_ms: u64) {
        self.push(chat_id, message_id, at_ms);
        self.woken.insert((chat_id.to_owned(), message_id.to_owned()));
    }

    /// Notes that the power was cut, or that a server ended on a disk that took no writes: bytes that were written but not
    /// synced may be lost.
    pub fn forget_unsynced(&mut self, at_ms: u64) {
        self.forgotten_ms.push(at_ms);
    }

    /// Notes that files of the server were deleted: earlier messages may come again at any later time, marked.
    pub fn lose(&mut self, at_ms: u64) {
        self.lost_ms.push(at_ms);
    }

    /// Whether marks may have been forgotten between two moments.
    fn forgot_between(&self, from_ms: u64, to_ms: u64) -> bool {
        self.forgotten_ms.iter().any(|at_ms| (from_ms..=to_ms).contains(at_ms))
    }

    /// All that was written, in order.
    pub fn written(&self) -> &[Written] {
        &self.written
    }

    /// All that was seen, in order.
    pub fn seen(&self) -> &[Sighting] {
        &self.seen
    }

    /// The message behind a label.
    pub fn by_label(&self, label: &str) -> Option<&Written> {
        self.written.iter().find(|message| message.label == label)
    }

    /// The oldest message that was given this text, at first or later, and did not come by `carrier` with it yet, for ways
    /// that show no ids; else the newest that did, which came again.
    pub fn by_text(&self, text: &str, carrier: &str) -> Option<&Written> {
        let has_it = |message: &&Written| {
            message.expected_text.as_deref() == Some(text) || self.was_changed_to(message, text)
        };
        let is_new = |message: &&Written| {
            !self
                .showings(message)
                .iter()
                .any(|sighting| sighting.carrier == carrier && sighting.text == text)
        };
        self.written.iter().filter(has_it).find(is_new).or_else(|| self.written.iter().rfind(has_it))
    }

    /// The job of this chat whose result has this text. Its first line ends with the label of the job.
    pub fn job_by_text(&self, text: &str, chat_id: &str) -> Option<&Written> {
        let title = text.lines().next()?;
        let label = title.rsplit_once(": ")?.1.trim_end_matches(')');
        self.written.iter().find(|job| job.chat_id == chat_id && job.label == label)
    }

    /// Whether a message was given this text later.
    pub fn was_changed_to(&self, message: &Written, text: &str) -> bool {
        self.changed.get(&message.label).into_iter().flatten().any(|(_, changed)| changed == text)
    }

    /// Every showing of one message.
    pub fn showings(&self, message: &Written) -> Vec<&Sighting> {
        self.places(message).map(|place| &self.seen[place]).collect()
    }

    fn places(&self, message: &Written) -> impl Iterator<Item = usize> {
        let places = self.seen_by_id.get(&message.message_id).into_iter().flatten().copied();
        places.filter(|place| self.seen[*place].chat_id == message.chat_id)
    }

    /// The showings of one message that claim to be its first: those without a mark.
    pub fn new_showings(&self, message: &Written) -> Vec<&Sighting> {
        self.showings(message).into_iter().filter(|s| !s.redelivered && !s.pushed).collect()
    }

    /// Milliseconds from the appearance of each message that must be heard to its first showing.
    pub fn delivery_ms(&self) -> Vec<u64> {
        self.written
            .iter()
            .filter(|message| message.heard == Heard::Must)
            .filter_map(|message| {
                self.showings(message).first().map(|s| s.at_ms.saturating_sub(message.visible_ms))
            })
            .collect()
    }

    /// Messages by the carrier that showed them first.
    pub fn carriers(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for message in self.written.iter().filter(|m| m.heard == Heard::Must) {
            if let Some(first) = self.showings(message).first() {
                let name = match &first.tool {
                    Some(tool) => tool.clone(),
                    None => first.carrier.clone(),
                };
                *counts.entry(name).or_insert(0) += 1;
            }
        }
        counts
    }

    /// Joins the ledgers of sessions that read as one consumer.
    pub fn together<'a>(ledgers: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        let mut seen: Vec<&Sighting> = Vec::new();
        for ledger in ledgers {
            if all.written.is_empty() {
                all.written.clone_from(&ledger.written);
                all.changed.clone_from(&ledger.changed);
            }
            seen.extend(&ledger.seen);
            all.forgotten_ms.extend(&ledger.forgotten_ms);
            all.disturbed_ms.extend(&ledger.disturbed_ms);
            all.lost_ms.extend(&ledger.lost_ms);
            all.woken.extend(ledger.woken.iter().cloned());
            all.marked_by(ledger);
        }
        seen.sort_by_key(|sighting| sighting.at_ms);
        for sighting in seen {
            all.see(sighting.clone());
        }
        all
    }

    /// The same without what another session of the consumer was shown before.
    #[must_use]
    pub fn less_than(&self, together: &Self) -> Self {
        let is_first = |sighting: &&Sighting| {
            let places = together.seen_by_id.get(&sighting.message_id).into_iter().flatten();
            let mut earlier = places.map(|place| &together.seen[*place]);
            !earlier.any(|other| other.chat_id == sighting.chat_id && other.at_ms < sighting.at_ms)
        };
        let mut less = Self {
            written: self.written.clone(),
            pushed_ms: self.pushed_ms.clone(),
            forgotten_ms: self.forgotten_ms.clone(),
            ..Self::default()
        };
        for sighting in self.seen.iter().filter(is_first) {
            less.see(sighting.clone());
        }
        less
    }
}

fn merge(all: &mut BTreeMap<(String, String), u64>, other: &BTreeMap<(String, String), u64>) {
    for (ids, at_ms) in other {
        let first_ms = all.entry(ids.clone()).or_insert(*at_ms);
        *first_ms = (*first_ms).min(*at_ms);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(label: &str, at_ms: u64, may_speak: bool) -> Written {
        Written {
            label: label.into(),
            from: "alice".into(),
            message_id: label.into(),
            chat_id: "c".into(),
            at_ms,
            visible_ms: at_ms,
            heard: Heard::of(may_speak),
            expected_text: None,
            ordered_after_ms: Some(0),
        }
    }

    fn seen(id: &str, at_ms: u64, text: &str, redelivered: bool) -> Sighting {
        Sighting {
            at_ms,
            carrier: "tool_result".into(),
            message_id: id.into(),
            chat_id: "c".into(),
            text: text.into(),
            redelivered,
            ..Sighting::default()
        }
    }

    fn rules(ledger: &Ledger) -> Vec<String> {
        ledger.judge(99).into_iter().chain(ledger.judge_lost(99)).map(|f| f.rule).collect()
    }

    /// A message that a command printed for one session counts as shown for all sessions of its consumer, and for no other.
    #[test]
    fn a_printed_message_comes_marked_to_the_other_sessions() {
        let mut beside = Ledger::default();
        beside.write(written("a", 1, true));
        beside.print(Sighting { chat_id: String::new(), ..seen("a", 3, "t", false) });
        for (at_ms, expected) in [(4, vec![]), (2, vec!["oracle.mark"])] {
            let mut ledger = Ledger::default();
            ledger.write(written("a", 1, true));
            ledger.see(seen("a", at_ms, "t", true));
            assert_eq!(rules(&ledger), ["oracle.mark"]);
            ledger.marked_by(&beside);
            assert_eq!(rules(&ledger), expected);
        }
    }

    /// When a person's rights change, only their unread messages may be heard or not.
    #[test]
    fn only_unread_messages_become_unsettled() {
        let mut ledger = Ledger::default();
        let by_bob = Written { from: "bob".into(), ..written("by-bob", 3, true) };
        let event = Written { heard: Heard::Never, ..written("event", 4, true) };
        for message in [written("read", 1, true), written("open", 2, true), by_bob, event] {
            ledger.write(message);
        }
        ledger.write(written("barred", 5, false));
        ledger.see(seen("read", 6, "t", false));
        ledger.unsettle("alice");
        ledger.doubt("barred");
        let heard: Vec<Heard> = ledger.written().iter().map(|message| message.heard).collect();
        assert_eq!(heard, [Heard::Must, Heard::May, Heard::Must, Heard::Never, Heard::May]);
        assert_eq!(rules(&ledger), ["oracle.lost"], "what Bob wrote");
        ledger.doubt("by-bob");
        ledger.see(seen("barred", 7, "t", false));
        assert_eq!(rules(&ledger), Vec::<String>::new());
        ledger.see(seen("event", 8, "t", false));
        assert_eq!(rules(&ledger), ["oracle.stranger"]);
    }

    /// A message of a person who was denied stays wrong when they are allowed later.
    #[test]
    fn a_message_of_a_denied_person_stays_wrong() {
        let mut ledger = Ledger::default();
        ledger.write(written("barred", 1, false));
        ledger.see(seen("barred", 2, "t", false));
        ledger.unsettle("alice");
        assert_eq!(rules(&ledger), ["oracle.stranger"]);
    }

    #[test]
    fn each_wrong_is_named() {
        let mut ledger = Ledger::default();
        ledger.write(written("a", 1, true));
        ledger.write(written("b", 2, true));
        ledger.write(written("m", 3, false));
        ledger.write(written("lost", 4, true));
        ledger.see(seen("b", 5, "b", false));
        ledger.see(seen("a", 6, "a", false));
        ledger.see(seen("a", 7, "A", false));
        ledger.see(seen("m", 8, "m", false));
        ledger.see(seen("x", 9, "x", false));
        let found = rules(&ledger);
        for rule in [
            "oracle.order",
            "oracle.repeated",
            "oracle.parity",
            "oracle.stranger",
            "oracle.unknown",
            "oracle.lost",
        ] {
            assert!(found.iter().any(|f| f == rule), "{rule} in {found:?}");
        }
    }

    #[test]
    fn a_lost_push_comes_later_with_its_mark() {
        let judged = |pushed| {
            let mut ledger = Ledger::default();
            ledger.write(written("a", 1, true));
            ledger.write(written("b", 2, true));
            ledger.push("c", "a", 3);
            ledger.see(seen("b", 5, "b", false));
            ledger.see(Sighting { pushed, ..seen("a", 6, "a", false) });
            rules(&ledger)
        };
        assert_eq!(judged(true), [] as [&str; 0]);
        assert_eq!(judged(false), ["oracle.order"]);
    }

    /// `days.random`, seed 7233: the host was killed with a push, and the power failed before the mark was synced.
    #[test]
    fn a_push_whose_mark_was_lost_comes_later_without_one() {
        let judged = |cut_ms| {
            let mut ledger = Ledger::default();
            ledger.write(written("a", 1, true));
            ledger.write(written("b", 2, true));
            ledger.push("c", "a", 3);
            ledger.see(seen("b", 5, "b", false));
            ledger.forget_unsynced(cut_ms);
            ledger.see(seen("a", 7, "a", false));
            rules(&ledger)
        };
        assert_eq!(judged(6), [] as [&str; 0]);
        assert_eq!(judged(2), ["oracle.order"]);
    }

    #[test]
    fn a_message_shown_before_a_power_cut_may_be_shown_again() {
        let judged = |pushed_ms, cut_ms| {
            let mut ledger = Ledger::default();
            ledger.write(written("a", 1, true));
            ledger.push("c", "a", pushed_ms);
            ledger.forget_unsynced(cut_ms);
            // A host that holds pushes back shows both at once.
            ledger.see(seen("a", 9, "a", false));
            ledger.see(seen("a", 9, "a", false));
            rules(&ledger)
        };
        assert!(judged(3, 5).is_empty());
        assert_eq!(judged(6, 5), ["oracle.repeated"]);
    }

    #[test]
    fn a_message_changed_before_its_showing_has_the_new_text() {
        let judged = |changed_ms, text: &str| {
            let mut ledger = Ledger::default();
            ledger.write(Written { expected_text: Some("old".into()), ..written("a", 1, true) });
            ledger.change("a", changed_ms, "new");
            ledger.see(seen("a", 5, text, false));
            rules(&ledger)
        };
        assert_eq!(judged(4, "new"), [] as [&str; 0]);
        assert_eq!(judged(4, "old"), [] as [&str; 0]);
        assert_eq!(judged(6, "new"), ["oracle.text"]);
        assert_eq!(judged(4, "another"), ["oracle.text"]);
    }

    #[test]
    fn the_order_of_messages_of_one_moment_is_not_judged() {
        let judged = |apart_ms, second_ms| {
            let mut ledger = Ledger::default();
            for (label, at_ms) in [("a", 1), ("b", second_ms), ("c", 5_000)] {
                ledger.write(Written { ordered_after_ms: apart_ms, ..written(label, at_ms, true) });
            }
            for (n, id) in ["b", "a", "c"].into_iter().enumerate() {
                ledger.see(seen(id, 6_000 + u64::try_from(n).unwrap(), id, false));
            }
            rules(&ledger)
        };
        assert!(judged(Some(1_000), 1_000).is_empty() && judged(None, 4_000).is_empty());
        assert_eq!(judged(Some(1_000), 1_001), ["oracle.order"]);
        assert_eq!(judged(Some(0), 1), ["oracle.order"]);
    }

    #[test]
    fn a_marked_repeat_in_the_same_characters_is_right() {
        let mut ledger = Ledger::default();
        ledger.write(written("a", 1, true));
        ledger.see(seen("a", 5, "a", false));
        ledger.disturb(7);
        ledger.see(seen("a", 9, "a", true));
        assert!(rules(&ledger).is_empty());
        ledger.see(seen("a", 11, "a", true));
        assert_eq!(rules(&ledger), ["oracle.mark"], "nothing was lost in between");
        ledger.seen[2].redelivered = false;
        ledger.seen[2].pushed = true;
        assert_eq!(rules(&ledger), ["oracle.mark"], "nothing was pushed");
        ledger.push("c", "a", 10);
        assert!(rules(&ledger).is_empty());
        assert_eq!(ledger.delivery_ms(), vec![4]);
    }

    fn session(sightings: Vec<Sighting>) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.write(written("a", 1, true));
        ledger.write(written("b", 2, true));
        for sighting in sightings {
            ledger.see(sighting);
        }
        ledger
    }

    #[test]
    fn a_message_is_new_to_one_session_of_a_consumer_and_lost_when_none_has_it() {
        let rules = |failures: Vec<reports::event::Failure>| {
            failures.into_iter().map(|failure| failure.rule).collect::<Vec<_>>()
        };
        let main = session(vec![seen("a", 10, "x", false)]);
        let twice = session(vec![seen("a", 20, "x", false)]);
        let together = Ledger::together([&main, &twice]);
        assert_eq!(rules(together.judge_repeated(30)), ["oracle.repeated"]);
        assert_eq!(rules(together.judge_lost(30)), ["oracle.lost"]);
        let marked = session(vec![seen("b", 15, "y", false), seen("a", 20, "x", true)]);
        let together = Ledger::together([&main, &marked]);
        assert!(together.judge_repeated(30).is_empty() && together.judge_lost(30).is_empty());
    }

    #[test]
    fn a_message_that_another_session_saw_before_is_not_out_of_order() {
        let main = session(vec![seen("a", 10, "x", false)]);
        // The power cut took the mark of `a`.
        let other = session(vec![seen("b", 15, "y", false), seen("a", 20, "x", false)]);
        assert_eq!(other.judge_ordered(30).len(), 1);
        let together = Ledger::together([&main, &other]);
        assert!(other.less_than(&together).judge_ordered(30).is_empty());
        assert_eq!(other.less_than(&Ledger::together([&other])).judge_ordered(30).len(), 1);
    }

    #[test]
    fn a_text_at_a_wake_up_is_known_though_it_was_changed_or_comes_again() {
        let wake_up =
            |id: &str, text: &str| Sighting { carrier: "wake_up".into(), ..seen(id, 10, text, false) };
        let mut ledger = Ledger::default();
        for label in ["a", "b"] {
            ledger.write(Written { expected_text: Some("same".into()), ..written(label, 1, true) });
        }
        ledger.change("a", 5, "changed");
        let found =
            |ledger: &Ledger, text: &str| ledger.by_text(text, "wake_up").map(|found| found.label.clone());
        assert_eq!(found(&ledger, "same").as_deref(), Some("a"));
        assert_eq!(found(&ledger, "changed").as_deref(), Some("a"));
        ledger.see(wake_up("a", "same"));
        assert_eq!(found(&ledger, "same").as_deref(), Some("b"));
        ledger.see(wake_up("b", "same"));
        assert_eq!(found(&ledger, "same").as_deref(), Some("b"));
        assert_eq!(found(&ledger, "nobody"), None);
    }
}
