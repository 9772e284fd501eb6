//! The record of one host session: its wire, its model's view, its calls. It decides nothing.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use entraclaw_inbox::record::WORK_CHAT;
use fake_hosts::Profile;
use memchr::memmem::Finder;
use reports::event::{Arrival, Failure, Lane, ModelLine, WireLine};
use schemas::{Direction, WireValidator};
use serde_json::Value;

use super::attention::Attention;
use crate::oracle::{Answers, Heard, Ledger, Part, Sighting, Written, look, quoted, unescaped_output};

/// Lines of a transcript that are kept; later ones are counted.
const TRANSCRIPT_LINES_MAX: usize = 4_000;
/// The wire rule that some hosts break in their own way.
const UNDECLARED: &str = "undeclared-capability";

/// The places of the text in a hook's answer.
const HOOK_WORDS: [&str; 3] = ["/reason", "/additionalContext", "/hookSpecificOutput/additionalContext"];

/// The carriers that show no ids.
const WAKE_UP: &str = "wake_up";
const WAKING_HOOK: &str = "waking_hook";

/// What the first line of a text by the wake-up says of what a session was given that ended. Names are quoted before it.
const WAKE_UP_AGAIN: &str = " (not your user, data only) (redelivered: ";

/// A line on the wire.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) by_host: bool,
    pub(crate) text: String,
    pub(crate) json: Option<Value>,
}

/// A tool call and its end.
#[derive(Debug, Clone)]
pub(crate) struct CallView {
    pub(crate) tool: String,
    pub(crate) started_ms: u64,
    pub(crate) end: Option<CallEnd>,
}

/// The end of a call, as its model saw it.
#[derive(Debug, Clone)]
pub(crate) struct CallEnd {
    pub(crate) at_ms: u64,
    pub(crate) outcome: &'static str,
    pub(crate) text: String,
    pub(crate) is_error: bool,
}

/// Everything about one session, over all its restarts.
#[derive(Debug, Default)]
pub(crate) struct SessionView {
    pub(crate) lines: Vec<Line>,
    pub(crate) model: Vec<ModelLine>,
    pub(crate) calls: BTreeMap<String, CallView>,
    pub(crate) ledger: Ledger,
    pub(crate) answers: Answers,
    pub(crate) transcript: Vec<WireLine>,
    pub(crate) left_out: usize,
    pub(crate) failures: Vec<Failure>,
    pub(crate) facts: BTreeMap<String, String>,
    pub(crate) ready: bool,
    pub(crate) alive: bool,
    /// Whether it was asked to end.
    may_end: bool,
    /// When it let go of what it held: its server was told to end or ended, or a call was cancelled.
    pub(crate) let_go_ms: Vec<u64>,
    pub(crate) starts: u32,
    /// Whether a turn of the model runs.
    pub(crate) in_turn: bool,
    /// Tools about which dialogs of the host are open, the oldest first.
    pub(crate) dialogs: Vec<String>,
    /// What forms of the server ask the user for, the oldest first.
    pub(crate) forms: Vec<String>,
    /// Turns that began, or went on, without a user.
    pub(crate) turns_by_itself: u64,
    /// When its model could have been told something.
    pub(crate) attention: Attention,
    /// Whether the host's own lines are judged; not on a bare pipe, where a scenario breaks them on purpose.
    judge_host: bool,
    /// Whether the host escapes what it shows of a background shell.
    escapes_shell: bool,
    /// Methods that the real host is known to send without the capability for it, so that the fake does too.
    undeclared: Vec<&'static str>,
    validator: WireValidator,
    secret: String,
    /// Absent where there is no secret.
    secret_finder: Option<Finder<'static>>,
    /// Messages that were written while a turn ran, by label.
    busy: BTreeSet<String>,
    /// By chat and message: what brought it first, or woke the model that then read it.
    reached_by: BTreeMap<(String, String), String>,
    /// The carrier that began the running turn; `None` for a person.
    woken_by: Option<String>,
    texts: BTreeMap<String, (String, bool)>,
    /// What was read so far of texts that come in parts, by chat and message.
    begun: BTreeMap<(String, String), Sighting>,
}

impl SessionView {
    /// Nothing seen yet. `secret` must appear nowhere; without a profile the host's own lines are not judged.
    pub(crate) fn new(secret: &str, profile: Option<&Profile>) -> Self {
        let undeclared =
            profile.map(|profile| profile.lists.undeclared.iter().map(|kind| kind.method()).collect());
        Self {
            judge_host: profile.is_some(),
            escapes_shell: profile.is_some_and(|profile| *profile.shell.escaped),
            undeclared: undeclared.unwrap_or_default(),
            validator: WireValidator::at_host(),
            secret: secret.to_owned(),
            secret_finder: (!secret.is_empty()).then(|| Finder::new(secret).into_owned()),
            ..Self::default()
        }
    }

    /// A new connection begins.
    pub(crate) fn connect(&mut self, at_ms: u64) {
        self.validator = WireValidator::at_host();
        self.ready = false;
        self.alive = true;
        self.may_end = false;
        self.starts += 1;
        self.ledger.disturb(at_ms);
        self.answers.connect();
    }

    /// Something happened to the server's process. One that ends without being asked to has failed, whatever the
    /// host makes of it.
    pub(crate) fn process(&mut self, at_ms: u64, event: &str) {
        if event.starts_with("server process started") {
            self.connect(at_ms);
        } else if event.starts_with("signal") || event == "stdin closed" {
            self.may_end = true;
            self.let_go_ms.push(at_ms);
        } else if event.starts_with("exit") {
            self.let_go_ms.push(at_ms);
            self.facts.insert("server ended".to_owned(), event.to_owned());
            if !self.may_end {
                self.fail("oracle.died", at_ms, format!("the server ended by itself: {event}"), None);
            }
        }
    }

    /// A line went over the wire; every line of the server is judged, and the host's but for those that a scenario wrote.
    pub(crate) fn line(&mut self, at_ms: u64, by_host: bool, text: &str) {
        let direction = if by_host { Direction::HostToServer } else { Direction::ServerToHost };
        let (verdict, json) = self.validator.read(direction, text.as_bytes());
        let judged = !by_host || self.judge_host;
        if judged && !verdict.valid {
            for error in &verdict.errors {
                if by_host
                    && error.rule == UNDECLARED
                    && self.undeclared.iter().any(|one| says(json.as_ref(), one))
                {
                    continue;
                }
                self.fail(
                    if by_host { "wire.host" } else { "wire.schema" },
                    at_ms,
                    format!("{} {}: {} ({})", verdict.definition, error.path, error.message, error.rule),
                    Some(text),
                );
            }
        }
        if !by_host && self.holds_secret(text) {
            self.fail("oracle.secret", at_ms, "the access token is in a line to the host".to_owned(), None);
        }
        if let Some(json) = &json {
            self.note_marks(at_ms, by_host, json);
            self.answers.line(at_ms, by_host, json);
        }
        let lane = if by_host { Lane::HostToServer } else { Lane::ServerToHost };
        self.note(at_ms, lane, text);
        self.lines.push(Line { by_host, text: text.to_owned(), json });
    }

    /// What excuses a mark later: a push on the wire, a peek at the inbox, a cancel.
    fn note_marks(&mut self, at_ms: u64, by_host: bool, json: &Value) {
        let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str);
        match (by_host, text("/method")) {
            (false, Some("notifications/claude/channel")) => {
                if let (Some(chat), Some(id)) =
                    (text("/params/meta/chat_id"), text("/params/meta/message_id"))
                {
                    self.ledger.push(chat, id, at_ms);
                }
            }
            (true, Some("notifications/cancelled")) => {
                self.ledger.disturb(at_ms);
                self.let_go_ms.push(at_ms);
            }
            (true, Some("resources/read")) => self.ledger.disturb(at_ms),
            (true, Some("tools/call"))
                if json.pointer("/params/arguments/mark_consumed") == Some(&Value::Bool(false)) =>
            {
                self.ledger.disturb(at_ms);
            }
            _ => {}
        }
    }

    /// A turn of the model began or is over.
    pub(crate) fn turn(&mut self, at_ms: u64, running: bool, by_itself: bool) {
        self.in_turn = running;
        self.attention.turn(at_ms, running);
        self.turns_by_itself += u64::from(by_itself);
        if !running {
            self.woken_by = None;
        }
    }

    /// A person wrote a message.
    pub(crate) fn written(&mut self, message: Written) {
        if self.in_turn {
            self.busy.insert(message.label.clone());
        }
        self.ledger.write(message);
    }

    /// How each person's message that must be heard first reached the model. A job's result is not counted.
    pub(crate) fn arrivals(&self) -> Vec<Arrival> {
        let due = self.ledger.written().iter();
        let due = due.filter(|message| message.heard == Heard::Must && message.chat_id != WORK_CHAT);
        due.filter_map(|message| {
            let showings = self.ledger.showings(message);
            let first = showings.first()?;
            let ids = (message.chat_id.clone(), message.message_id.clone());
            Some(Arrival {
                carrier: self.reached_by.get(&ids).unwrap_or(&first.carrier).clone(),
                busy: self.busy.contains(&message.label),
                ms: first.at_ms.saturating_sub(message.visible_ms),
            })
        })
        .collect()
    }

    /// A text went by the host's wake-up; the host may show it later.
    pub(crate) fn woken(&mut self, at_ms: u64, text: &str) {
        for body in quoted(text) {
            if let Some(message) = self.told_by(&body) {
                let (chat, id) = (message.chat_id.clone(), message.message_id.clone());
                self.ledger.wake(&chat, &id, at_ms);
            }
        }
    }

    /// A command printed something, or answered as a hook; the host may show it later.
    pub(crate) fn printed(&mut self, at_ms: u64, text: &str) {
        let answer: Value = serde_json::from_str(text).unwrap_or_default();
        let told = HOOK_WORDS.iter().find_map(|place| answer.pointer(place)?.as_str()).unwrap_or(text);
        for sighting in look(at_ms, "background_shell", None, false, told).1 {
            self.ledger.print(sighting);
        }
    }

    /// The message or the job's result that a text of the wake-up quotes.
    fn told_by(&self, body: &str) -> Option<&Written> {
        self.ledger.by_text(body, WAKE_UP).or_else(|| self.ledger.job_by_text(body, WORK_CHAT))
    }

    /// Texts of the wake-up have no ids, so their messages are found by text.
    fn by_wake_up(&mut self, line: &ModelLine) {
        // The host's own words may stand before it.
        let ours = line.text.lines().find(|line| line.contains("[Entraclaw] ") && !line.starts_with("> "));
        let redelivered = ours.is_some_and(|first| first.contains(WAKE_UP_AGAIN));
        for body in quoted(&line.text) {
            let Some(message) = self.told_by(&body) else {
                self.fail(
                    "oracle.unreadable",
                    line.at_ms,
                    "no person wrote the text that came by the wake-up".to_owned(),
                    Some(&body),
                );
                continue;
            };
            // Another text is another version, and there is nothing else to tell them apart.
            let version =
                if self.ledger.was_changed_to(message, &body) { body.clone() } else { String::new() };
            let sighting = Sighting {
                at_ms: line.at_ms,
                carrier: line.carrier.clone(),
                message_id: message.message_id.clone(),
                chat_id: message.chat_id.clone(),
                version,
                text: body,
                redelivered,
                woke: line.woke,
                ..Sighting::default()
            };
            let ids = (sighting.chat_id.clone(), sighting.message_id.clone());
            self.reached_by.entry(ids).or_insert_with(|| line.carrier.clone());
            self.ledger.see(sighting);
        }
    }

    /// A text as the model reads it.
    pub(crate) fn as_read<'a>(&self, line: &'a ModelLine) -> Cow<'a, str> {
        let is_escaped = self.escapes_shell && line.carrier == "background_shell";
        let output = is_escaped.then(|| unescaped_output(&line.text)).flatten();
        output.map_or(Cow::Borrowed(&line.text), Cow::Owned)
    }

    /// The model was shown something.
    pub(crate) fn shown(&mut self, line: ModelLine) {
        let is_wake_up = [WAKE_UP, WAKING_HOOK].contains(&line.carrier.as_str());
        let quotes = is_wake_up && !quoted(&line.text).is_empty();
        if line.carrier == "background_shell" || (is_wake_up && !quotes) {
            // Where the message is only announced, it is shown later, with a mark.
            self.ledger.disturb(line.at_ms);
        }
        if line.woke {
            self.woken_by = Some(line.carrier.clone());
        }
        // A server that wakes its host quotes; an extension beside the session sends the message as the commands print it.
        if quotes {
            self.by_wake_up(&line);
            return self.model.push(line);
        }
        let text = self.as_read(&line);
        let (odd, seen) = look(line.at_ms, &line.carrier, line.tool.as_deref(), line.woke, &text);
        if let Some(odd) = odd {
            self.fail("oracle.unreadable", line.at_ms, odd, Some(&line.text));
        }
        for sighting in seen {
            let read = line.carrier == "tool_result";
            let by = self.woken_by.clone().or_else(|| line.tool.clone()).filter(|_| read);
            let ids = (sighting.chat_id.clone(), sighting.message_id.clone());
            self.reached_by.entry(ids).or_insert_with(|| by.unwrap_or_else(|| line.carrier.clone()));
            if let Some(whole) = self.joined(sighting) {
                self.ledger.see(whole);
            }
        }
        self.model.push(line);
    }

    /// A message once its model has read all of it, with the marks of its first part; nothing before.
    fn joined(&mut self, part: Sighting) -> Option<Sighting> {
        let ids = (part.chat_id.clone(), part.message_id.clone());
        let (at_ms, Part { from, goes_on }) = (part.at_ms, part.part);
        let mut all = if from == 0 { Some(part) } else { self.continued(&ids, &part) }?;
        if goes_on {
            self.begun.insert(ids, all);
            return None;
        }
        (all.at_ms, all.part) = (at_ms, Part::default());
        Some(all)
    }

    /// What was read of a text so far, with the next part of it.
    fn continued(&mut self, ids: &(String, String), part: &Sighting) -> Option<Sighting> {
        let before = self.begun.remove(ids).filter(|before| before.text.len() == part.part.from);
        let Some(mut before) = before else {
            self.fail(
                "oracle.unreadable",
                part.at_ms,
                format!(
                    "a part of {} came that begins at {}, and not what stands before it",
                    ids.1, part.part.from
                ),
                Some(&part.text),
            );
            return None;
        };
        before.text.push_str(&part.text);
        Some(before)
    }

    /// A call began.
    pub(crate) fn call_started(&mut self, label: &str, tool: &str, at_ms: u64) {
        self.calls.insert(label.to_owned(), CallView { tool: tool.to_owned(), started_ms: at_ms, end: None });
    }

    /// The model was shown this text for a call; it may come before or after the call's end.
    pub(crate) fn call_text(&mut self, label: &str, text: &str, is_error: bool) {
        match self.calls.get_mut(label).and_then(|call| call.end.as_mut()) {
            Some(end) => (end.text, end.is_error) = (text.to_owned(), is_error),
            None => {
                self.texts.insert(label.to_owned(), (text.to_owned(), is_error));
            }
        }
    }

    /// A call ended.
    pub(crate) fn call_ended(&mut self, label: &str, mut end: CallEnd) {
        self.attention.called(end.at_ms);
        if let Some((text, is_error)) = self.texts.remove(label) {
            (end.text, end.is_error) = (text, is_error);
        }
        if let Some(call) = self.calls.get_mut(label) {
            call.end = Some(end);
        }
    }

    /// A line for the transcript that is not on this wire.
    pub(crate) fn note(&mut self, at_ms: u64, lane: Lane, text: &str) {
        if self.transcript.len() < TRANSCRIPT_LINES_MAX {
            let text =
                if self.holds_secret(text) { text.replace(&self.secret, "<token>") } else { text.to_owned() };
            self.transcript.push(WireLine { at_ms, lane, text });
        } else {
            self.left_out += 1;
        }
    }

    fn holds_secret(&self, text: &str) -> bool {
        self.secret_finder.as_ref().is_some_and(|secret| secret.find(text.as_bytes()).is_some())
    }

    /// A rule was broken.
    pub(crate) fn fail(&mut self, rule: &str, at_ms: u64, message: String, observed: Option<&str>) {
        let observed = observed.map(str::to_owned);
        self.failures.push(Failure { observed, ..Failure::new(rule, at_ms, message) });
    }
}

/// Whether a line is of this method.
fn says(json: Option<&Value>, method: &str) -> bool {
    json.and_then(|json| json.get("method")).and_then(Value::as_str) == Some(method)
}
