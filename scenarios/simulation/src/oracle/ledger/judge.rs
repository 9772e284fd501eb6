//! The rules by which a ledger is judged, each with the messages that broke it. It must never change the ledger.

use std::collections::{BTreeMap, VecDeque};

use reports::event::Failure;

use super::{Heard, Ledger, Sighting, Written};

impl Ledger {
    /// The rules for any consumer at any time: no stranger's words, no unmarked repeat, one text, in order.
    pub fn judge(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = self.judge_texts_and_marks(now_ms);
        failures.extend(self.judge_repeated(now_ms));
        failures.extend(self.judge_ordered(now_ms));
        failures
    }

    /// The rules for each session, whatever other sessions read: no stranger's words, no mark without a reason, one text.
    pub fn judge_texts_and_marks(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_strangers(&mut failures);
        self.judge_marks(&mut failures);
        self.judge_texts(&mut failures);
        timed(failures, now_ms)
    }

    /// The rule for all sessions of a consumer together: each message is new once.
    pub fn judge_repeated(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_repeats(&mut failures);
        timed(failures, now_ms)
    }

    /// The rule for each session: first showings come in order.
    pub fn judge_ordered(&self, now_ms: u64) -> Vec<Failure> {
        let mut failures = Vec::new();
        self.judge_order(&mut failures);
        timed(failures, now_ms)
    }

    /// At the end, where the agent had every chance: every message that must be heard was shown.
    pub fn judge_lost(&self, now_ms: u64) -> Vec<Failure> {
        self.written
            .iter()
            .filter(|message| message.heard == Heard::Must && self.showings(message).is_empty())
            .map(|message| {
                Failure::new(
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
                Some(message) if !message.heard.is_forbidden() => {}
                Some(message) => failures.push(Failure::new(
                    "oracle.stranger",
                    sighting.at_ms,
                    format!(
                        "message `{}` of a person who may not speak was shown to the model",
                        message.label
                    ),
                )),
                None => failures.push(Failure::new(
                    "oracle.unknown",
                    sighting.at_ms,
                    format!("the model was shown message {}, which no person wrote", sighting.message_id),
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
                // The mark of a shown message is written, not synced, so a power cut may lose it. A host may show
                // a push later than it was on the wire.
                let pushed_ms = self.pushed_ms.get(&(message.chat_id.clone(), message.message_id.clone()));
                let told_ms = pushed_ms.map_or(first.at_ms, |pushed_ms| first.at_ms.min(*pushed_ms));
                if self.forgot_between(told_ms, again.at_ms) {
                    continue;
                }
                failures.push(Failure::new(
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
                // A message that a command or a wake-up showed stays unread, as no call confirms it. Several texts of
                // a message may come at once.
                let before = showings.iter().rfind(|earlier| earlier.at_ms < sighting.at_ms);
                let before_ms = before.map_or(message.at_ms, |earlier| earlier.at_ms);
                let only_shown = before.is_some_and(|earlier| is_notice(earlier));
                let excused = only_shown
                    || self.disturbed_ms.iter().any(|at_ms| (before_ms..=sighting.at_ms).contains(at_ms));
                let was_pushed = pushed_ms.is_some_and(|pushed_ms| *pushed_ms <= sighting.at_ms);
                // A process that is killed between noting a push and writing it has marked a message that no model saw.
                if sighting.pushed && !was_pushed && !excused {
                    failures.push(Failure::new(
                        "oracle.mark",
                        sighting.at_ms,
                        format!("message `{}` is marked pushed, and no push was on the wire", message.label),
                    ));
                }
                let ids = (message.chat_id.clone(), message.message_id.clone());
                let was_woken = was_pushed && self.woken.contains(&ids);
                let was_printed = self.printed_ms.get(&ids).is_some_and(|at_ms| *at_ms <= sighting.at_ms);
                let was_lost =
                    self.lost_ms.iter().any(|at_ms| (message.at_ms..=sighting.at_ms).contains(at_ms));
                if sighting.redelivered && !excused && !was_lost && !was_woken && !was_printed {
                    failures.push(Failure::new(
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

    /// When two carriers add to one request of the model, the host decides their order.
    fn host_decides(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.seen[one], &self.seen[other]);
        one.at_ms == other.at_ms && one.carrier != other.carrier
    }

    /// Whether a first showing repeats an earlier push: the host was killed with it, and the power cut lost the
    /// mark.
    fn lost_its_mark(&self, message: &Written, first: &Sighting) -> bool {
        // A message that a command takes is on no wire.
        let taken_ms = is_notice(first).then_some(message.visible_ms);
        let pushed_ms = self.pushed_ms.get(&(message.chat_id.clone(), message.message_id.clone())).copied();
        taken_ms.or(pushed_ms).is_some_and(|marked_ms| self.forgot_between(marked_ms, first.at_ms))
    }

    /// First showings must follow the order of writing within each chat.
    fn judge_order(&self, failures: &mut Vec<Failure>) {
        let mut chats: BTreeMap<&str, Vec<&Written>> = BTreeMap::new();
        let ordered =
            |m: &&Written| !m.heard.is_forbidden() && m.visible_ms == m.at_ms && m.ordered_after_ms.is_some();
        for message in self.written.iter().filter(ordered) {
            chats.entry(&message.chat_id).or_default().push(message);
        }
        for messages in chats.values() {
            // Of those that were written long enough before, the one that was shown last.
            let mut last: Option<(usize, &Written)> = None;
            let mut recent: VecDeque<(usize, &Written)> = VecDeque::new();
            for message in messages {
                let Some(position) = self.places(message).next() else { continue };
                // A message that was handed out before and got lost comes later, with a mark that must have its reason.
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
                    failures.push(Failure::new(
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

/// Whether a message was only shown: no call confirms that a model read it, so it stays unread.
fn is_notice(sighting: &Sighting) -> bool {
    matches!(sighting.carrier.as_str(), "background_shell" | "hook" | "waking_hook" | "wake_up")
}

/// A failure without a time is of now.
fn timed(mut failures: Vec<Failure>, now_ms: u64) -> Vec<Failure> {
    for failure in failures.iter_mut().filter(|failure| failure.at_ms == 0) {
        failure.at_ms = now_ms;
    }
    failures
}

fn compare(rule: &str, at_ms: u64, message: &Written, expected: &str, observed: &str, what: &str) -> Failure {
    Failure {
        expected: Some(expected.to_owned()),
        observed: Some(observed.to_owned()),
        ..Failure::new(rule, at_ms, format!("the text of message `{}` {what}", message.label))
    }
}
