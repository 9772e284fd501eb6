//! What people wrote, against what the model was shown: nothing lost, nothing twice without a mark, in order, and
//! the same characters by every way.

use std::collections::{BTreeMap, VecDeque};

use reports::event::Failure;

use super::Sighting;

/// A message that a person wrote.
#[derive(Debug, Clone)]
pub struct Written {
    /// Label in the scenario, or a number.
    pub label: String,
    /// Graph's id.
    pub message_id: String,
    /// Graph's chat.
    pub chat_id: String,
    /// Milliseconds since the start of the cell.
    pub at_ms: u64,
    /// When Graph shows it, in the same milliseconds.
    pub visible_ms: u64,
    /// Whether the model should ever see it.
    pub allowed: bool,
    /// Text of which the sanitised form must be exactly this, where the scenario knows it.
    pub expected_text: Option<String>,
    /// Its place in the order is judged against messages written at least so long before; never when nothing.
    pub ordered_after_ms: Option<u64>,
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
    /// Messages whose push was on the wire, with the time of the first.
    pushed_ms: BTreeMap<(String, String), u64>,
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

    /// Notes a message that a model was shown.
    pub fn see(&mut self, mut sighting: Sighting) {
        if sighting.chat_id.is_empty()
            && let Some(meant) = self.written.iter().find(|message| message.message_id == sighting.message_id)
        {
            sighting.chat_id.clone_from(&meant.chat_id);
        }
        self.seen_by_id.entry(sighting.message_id.clone()).or_default().push(self.seen.len());
        self.seen.push(sighting);
    }

    /// Notes that what was handed out before may not have arrived.
    pub fn disturb(&mut self, at_ms: u64) {
        self.disturbed_ms.push(at_ms);
    }

    /// Notes that the server pushed a message.
    pub fn push(&mut self, chat_id: &str, message_id: &str, at_ms: u64) {
        self.pushed_ms.entry((chat_id.to_owned(), message_id.to_owned())).or_insert(at_ms);
    }

    /// Notes that the power was cut, or that a server died on a disk that took no writes: what had only been written, not
    /// synced, may be forgotten.
    pub fn forget_unsynced(&mut self, at_ms: u64) {
        self.forgotten_ms.push(at_ms);
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
    /// that show no ids.
    pub fn by_text(&self, text: &str, carrier: &str) -> Option<&Written> {
        let has_it = |message: &&Written| {
            message.expected_text.as_deref() == Some(text) || self.was_changed_to(message, text)
        };
        let is_new = |message: &&Written| {
            !self.showings(message).iter().any(|sighting| sighting.carrier == carrier && sighting.text == text)
        };
        self.written.iter().filter(has_it).find(is_new)
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

    /// Milliseconds from each allowed message's appearance to its first showing.
    pub fn delivery_ms(&self) -> Vec<u64> {
        self.written
            .iter()
            .filter(|message| message.allowed)
            .filter_map(|message| {
                self.showings(message).first().map(|s| s.at_ms.saturating_sub(message.visible_ms))
            })
            .collect()
    }

    /// Messages by the carrier that showed them first.
    pub fn carriers(&self) -> BTreeMap<String, u64> {
        let mut counts = BTreeMap::new();
        for message in self.written.iter().filter(|m| m.allowed) {
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

    /// What several sessions saw that read as one consumer.
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
            for (ids, at_ms) in &ledger.pushed_ms {
                let first_ms = all.pushed_ms.entry(ids.clone()).or_insert(*at_ms);
                *first_ms = (*first_ms).min(*at_ms);
            }
        }
        seen.sort_by_key(|sighting| sighting.at_ms);
        seen.into_iter().for_each(|sighting| all.see(sighting.clone()));
        all
    }

    /// The same without what another session of the consumer was shown before.
    pub fn less_than(&self, together: &Self) -> Self {
        let is_first = |sighting: &&Sighting| {
            let places = together.seen_by_id.get(&sighting.message_id).into_iter().flatten();
            let mut earlier = places.map(|place| &together.seen[*place]);
            !earlier.any(|other| other.chat_id == sighting.chat_id && other.at_ms < sighting.at_ms)
        };
        let (pushed_ms, changed) = (self.pushed_ms.clone(), self.changed.clone());
        let mut less = Self { written: self.written.clone(), pushed_ms, changed, ..Self::default() };
        self.seen.iter().filter(is_first).for_each(|sighting| less.see(sighting.clone()));
        less
    }

    /// What must hold of any consumer at any time: no stranger's words, no unmarked repeat, one text, in order.
    pub fn judge(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = self.judge_texts_and_marks(now_ms);
        failures.extend(self.judge_repeated(now_ms));
        failures.extend(self.judge_ordered(now_ms));
        failures
    }

    /// What must hold of each session, whoever else reads: no stranger's words, no mark without a reason, one text.
    pub fn judge_texts_and_marks(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_strangers(&mut failures);
        self.judge_marks(&mut failures);
        self.judge_texts(&mut failures);
        timed(failures, now_ms)
    }

    /// What must hold of all sessions of a consumer together: each message is new once.
    pub fn judge_repeated(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_repeats(&mut failures);
        timed(failures, now_ms)
    }

    /// What must hold of each session: what comes to it first comes in order.
    pub fn judge_ordered(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_order(&mut failures);
        timed(failures, now_ms)
    }

    /// At the end, where the agent had every chance: every allowed message was shown.
    pub fn judge_lost(&self, now_ms: u64) -> Vec<Failure> {
        self.written
            .iter()
            .filter(|message| message.allowed && self.showings(message).is_empty())
            .map(|message| {
                failure(
                    "oracle.lost",
                    now_ms,
                    format!(
                        "message `{}`, written at {} ms, never reached the model",
                        message.label, message.at_ms
                    ),
                )
            })
            .collect()
    }

    fn judge_strangers(&self, failures: &mut Vec<Failure>) {
        let written: BTreeMap<(&str, &str), &Written> =
            self.written.iter().map(|m| ((m.chat_id.as_str(), m.message_id.as_str()), m)).collect();
        for sighting in &self.seen {
            match written.get(&(sighting.chat_id.as_str(), sighting.message_id.as_str())) {
                Some(message) if message.allowed => {}
                Some(message) => failures.push(failure(
                    "oracle.stranger",
                    sighting.at_ms,
                    format!(
                        "message `{}` of somebody who may not speak was shown to the model",
                        message.label
                    ),
                )),
                None => failures.push(failure(
                    "oracle.unknown",
                    sighting.at_ms,
                    format!("the model was shown message {}, which nobody wrote", sighting.message_id),
                )),
            }
        }
    }

    fn judge_repeats(&self, failures: &mut Vec<Failure>) {
        for message in &self.written {
            // A host may hold a push back until after a pull that says `pushed`, so either of the two may come first.
            let showings = self.new_showings(message);
            for (place, again) in showings.iter().enumerate() {
                let Some(first) = showings[..place].iter().rfind(|s| s.version == again.version) else {
                    continue;
                };
                // That somebody was shown a message is written, not synced, so a power cut may forget it. A host may show
                // a push later than it was on the wire.
                let pushed_ms = self.pushed_ms.get(&(message.chat_id.clone(), message.message_id.clone()));
                let told_ms = pushed_ms.map_or(first.at_ms, |pushed_ms| first.at_ms.min(*pushed_ms));
                if self.forgot_between(told_ms, again.at_ms) {
                    continue;
                }
                failures.push(failure(
                    "oracle.repeated",
                    again.at_ms,
                    format!("message `{}` was shown twice without `redelivered` or `pushed`", message.label),
                ));
            }
        }
    }

    /// A mark must have its reason: `pushed` a push on the wire, `redelivered` an answer that may have been lost.
    fn judge_marks(&self, failures: &mut Vec<Failure>) {
        for message in &self.written {
            let pushed_ms = self.pushed_ms.get(&(message.chat_id.clone(), message.message_id.clone()));
            let showings = self.showings(message);
            for sighting in &showings {
                // What a command or a knock showed stays unread, for nobody knows who read it. Several texts of a message may
                // come at once.
                let before = showings.iter().rfind(|earlier| earlier.at_ms < sighting.at_ms);
                let before_ms = before.map_or(message.at_ms, |earlier| earlier.at_ms);
                let only_shown = before.is_some_and(|earlier| {
                    matches!(earlier.carrier.as_str(), "background_shell" | "hook" | "door")
                });
                let excused = only_shown
                    || self.disturbed_ms.iter().any(|at_ms| (before_ms..=sighting.at_ms).contains(at_ms));
                let was_pushed = pushed_ms.is_some_and(|pushed_ms| *pushed_ms <= sighting.at_ms);
                // A process that dies between noting a push and writing it has marked what nobody saw.
                if sighting.pushed && !was_pushed && !excused {
                    failures.push(failure(
                        "oracle.mark",
                        sighting.at_ms,
                        format!("message `{}` is marked pushed, and no push was on the wire", message.label),
                    ));
                }
                if sighting.redelivered && !excused {
                    failures.push(failure(
                        "oracle.mark",
                        sighting.at_ms,
                        format!("message `{}` is delivered again although nothing was lost", message.label),
                    ));
                }
            }
        }
    }

    fn judge_texts(&self, failures: &mut Vec<Failure>) {
        for message in &self.written {
            let showings = self.showings(message);
            let Some(first) = showings.first() else { continue };
            for (place, other) in showings.iter().enumerate() {
                let same = showings[..place].iter().find(|s| s.version == other.version);
                if let Some(first) = same
                    && other.text != first.text
                {
                    failures.push(compare(
                        "oracle.parity",
                        other.at_ms,
                        message,
                        &first.text,
                        &other.text,
                        "differs from its first showing",
                    ));
                }
            }
            let changed = self.changed.get(&message.label).into_iter().flatten();
            let mut changed = changed.filter(|(at_ms, _)| *at_ms <= first.at_ms);
            if let Some(expected) = &message.expected_text
                && *expected != first.text
                && !changed.any(|(_, text)| *text == first.text)
            {
                failures.push(compare(
                    "oracle.text",
                    first.at_ms,
                    message,
                    expected,
                    &first.text,
                    "is not the expected text",
                ));
            }
        }
    }

    /// What two carriers bring to one and the same request of the model stands there as the host likes it.
    fn host_decides(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.seen[one], &self.seen[other]);
        one.at_ms == other.at_ms && one.carrier != other.carrier
    }

    /// Whether a first showing is one more push of what was pushed before: the host died with it, and the power cut took the
    /// mark.
    fn lost_its_mark(&self, message: &Written, first: &Sighting) -> bool {
        let pushed_ms = self.pushed_ms.get(&(message.chat_id.clone(), message.message_id.clone()));
        pushed_ms.is_some_and(|pushed_ms| self.forgot_between(*pushed_ms, first.at_ms))
    }

    /// First showings must follow the order of writing within each chat.
    fn judge_order(&self, failures: &mut Vec<Failure>) {
        let mut chats: BTreeMap<&str, Vec<&Written>> = BTreeMap::new();
        let ordered = |m: &&Written| m.allowed && m.visible_ms == m.at_ms && m.ordered_after_ms.is_some();
        for message in self.written.iter().filter(ordered) {
            chats.entry(&message.chat_id).or_default().push(message);
        }
        for messages in chats.values() {
            // Of those that were written long enough before, the one that was shown last.
            let mut last: Option<(usize, &Written)> = None;
            let mut recent: VecDeque<(usize, &Written)> = VecDeque::new();
            for message in messages {
                let Some(position) = self.places(message).next() else { continue };
                // What was handed out before and got lost comes later, with a mark that must have its reason.
                let first = &self.seen[position];
                if first.pushed || first.redelivered || self.lost_its_mark(message, first) {
                    continue;
                }
                let apart_ms = message.ordered_after_ms.unwrap_or(0);
                while let Some(&(at, earlier)) = recent.front()
                    && earlier.at_ms + apart_ms <= message.at_ms
                {
                    recent.pop_front();
                    if last.is_none_or(|(most, _)| most < at) {
                        last = Some((at, earlier));
                    }
                }
                if let Some((before, earlier)) = last
                    && position < before
                    && !self.host_decides(position, before)
                {
                    failures.push(failure(
                        "oracle.order",
                        self.seen[position].at_ms,
                        format!(
                            "message `{}` was shown before `{}`, which was written earlier",
                            message.label, earlier.label
                        ),
                    ));
                }
                recent.push_back((position, message));
            }
        }
    }
}

/// A failure without a time is of now.
fn timed(mut failures: Vec<Failure>, now_ms: u64) -> Vec<Failure> {
    for failure in failures.iter_mut().filter(|failure| failure.at_ms == 0) {
        failure.at_ms = now_ms;
    }
    failures
}

fn failure(rule: &str, at_ms: u64, message: String) -> Failure {
    Failure { rule: rule.to_owned(), message, at_ms, step: None, line: None, expected: None, observed: None }
}

fn compare(rule: &str, at_ms: u64, message: &Written, expected: &str, observed: &str, what: &str) -> Failure {
    Failure {
        expected: Some(expected.to_owned()),
        observed: Some(observed.to_owned()),
        ..failure(rule, at_ms, format!("the text of message `{}` {what}", message.label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(label: &str, at_ms: u64, allowed: bool) -> Written {
        Written {
            label: label.into(),
            message_id: label.into(),
            chat_id: "c".into(),
            at_ms,
            visible_ms: at_ms,
            allowed,
            expected_text: None,
            ordered_after_ms: Some(0),
        }
    }

    fn seen(id: &str, at_ms: u64, text: &str, redelivered: bool) -> Sighting {
        Sighting {
            at_ms,
            carrier: "tool_result".into(),
            tool: None,
            message_id: id.into(),
            chat_id: "c".into(),
            version: String::new(),
            text: text.into(),
            redelivered,
            pushed: false,
            woke: false,
        }
    }

    fn rules(ledger: &Ledger) -> Vec<String> {
        ledger.judge(99).into_iter().chain(ledger.judge_lost(99)).map(|f| f.rule).collect()
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
    fn what_was_lost_on_its_way_comes_later_with_its_mark() {
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

    /// `days.random`, seed 7233: the host died with a push, and the power failed before the mark was synced.
    #[test]
    fn what_was_lost_with_its_mark_comes_later_without_one() {
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
    fn what_was_told_before_a_power_cut_may_be_told_again() {
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
    fn what_was_changed_before_it_was_shown_has_the_new_text() {
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
    fn the_order_of_what_came_at_once_is_not_judged() {
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
}
