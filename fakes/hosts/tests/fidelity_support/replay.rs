//! Plays the server and the model of a recording to a fake host, and compares what the host sends, line by
//! line. An answer of the server is played only after the fake has sent its request; all other times are
//! those of the recording.

use std::collections::BTreeSet;
use std::sync::Arc;

use fake_hosts::log::{Dir, TraceLine};
use fake_hosts::{Action, Effect, HostMachine, Profile, Signal, ToolCall};
use serde_json::Value;

use crate::drawn;
use crate::situation::Situation;

/// Longest time for which a replay goes on after the last recorded line, in milliseconds.
const AFTERMATH_MS: u64 = 1000;

/// Tolerances of times, in milliseconds.
#[expect(clippy::struct_field_names, reason = "units stand in names")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tolerance {
    pub(crate) early_ms: u64,
    pub(crate) late_ms: u64,
    pub(crate) limit_ms: u64,
}

impl Tolerance {
    /// The tolerances of the profile for recordings of the real program.
    pub(crate) fn of(profile: &Profile) -> Self {
        let facts = &profile.fidelity;
        Self { early_ms: *facts.early_ms, late_ms: *facts.late_ms, limit_ms: *facts.limit_ms }
    }
}

/// A line or an action on the process, by the real host or by the fake.
#[derive(Debug, Clone, PartialEq)]
struct Sent {
    ms: u64,
    proc: u64,
    /// The message with its members in order, or the name of the action.
    what: String,
    /// Whether it is the end of a time limit.
    limit: bool,
}

#[derive(Debug, Clone)]
enum Input {
    Line(Value),
    Start,
    /// The process ended after this many actions of the host on it.
    Exit(usize),
    StdoutClosed,
    Act(Action),
}

/// Compares both sides; the error shows them from the first difference on.
pub(crate) fn compare(
    profile: &Arc<Profile>,
    situation: &Situation,
    recording: &[TraceLine],
    tolerance: Tolerance,
) -> Result<(), String> {
    compare_but_for(profile, situation, recording, tolerance, &[]).map(|_| ())
}

/// Compares both sides, and ignores differences with one of these texts. Returns the texts that occurred.
pub(crate) fn compare_but_for(
    profile: &Arc<Profile>,
    situation: &Situation,
    recording: &[TraceLine],
    tolerance: Tolerance,
    explained: &[&'static str],
) -> Result<BTreeSet<&'static str>, String> {
    let wanted = comparable(wanted(recording), situation);
    let (sent, problems) = Replay::new(profile, situation).run(inputs(situation, recording));
    let sent: Vec<Sent> = sent
        .into_iter()
        .map(|one| match situation.not_said {
            Some(words) => Sent { what: one.what.replace(words, ""), ..one },
            None => one,
        })
        .filter(|one| !situation.unread.iter().any(|method| one.what.contains(&format!("\"{method}\""))))
        .collect();
    let sent = without_unseen_end(comparable(sent, situation), &wanted);
    let mut report = problems;
    let mut met = BTreeSet::new();
    for place in 0..wanted.len().max(sent.len()) {
        let difference = match (wanted.get(place), sent.get(place)) {
            (Some(real), Some(fake)) if real.what != fake.what || real.proc != fake.proc => {
                "differs".to_owned()
            }
            (Some(real), Some(fake)) => {
                let early_ms = real.ms.saturating_sub(fake.ms);
                let late_ms = fake.ms.saturating_sub(real.ms);
                let (early_max_ms, late_max_ms) = if real.limit {
                    (tolerance.limit_ms, tolerance.limit_ms)
                } else {
                    (tolerance.early_ms, tolerance.late_ms)
                };
                if early_ms <= early_max_ms && late_ms <= late_max_ms {
                    continue;
                }
                format!("{early_ms} ms early, {late_ms} ms late")
            }
            (None, _) => "is too much".to_owned(),
            (_, None) => "is missing".to_owned(),
        };
        let same = same_start(wanted.get(place), sent.get(place));
        let told = format!(
            "message {place} {difference}\n  real: {}\n  fake: {}",
            shown(wanted.get(place), same),
            shown(sent.get(place), same)
        );
        // `&` joins the parts of a text.
        let is_known = |text: &&&str| text.split(" & ").all(|part| told.contains(part));
        if let Some(known) = explained.iter().find(is_known) {
            met.insert(*known);
            continue;
        }
        report.push(told);
        if difference == "differs" {
            break;
        }
    }
    if report.is_empty() { Ok(met) } else { Err(report.join("\n")) }
}

/// The lines of one side, with values that differ in every run replaced: UUIDs by the order of their
/// appearance, and the start time of a turn removed.
fn comparable(sent: Vec<Sent>, situation: &Situation) -> Vec<Sent> {
    let mut seen: Vec<String> = Vec::new();
    sent.into_iter()
        .filter(|one| one.what.starts_with('{') || !situation.end_unjudged)
        .map(|one| Sent { what: drawn::replaced(&one.what, &mut seen), ..one })
        .collect()
}

/// A process that obeys SIGTERM does not notice that its stdin is closed at the same moment.
fn without_unseen_end(mut sent: Vec<Sent>, wanted: &[Sent]) -> Vec<Sent> {
    let last_is = |list: &[Sent], what: &str| list.last().is_some_and(|one| one.what == what);
    if last_is(wanted, "SIGTERM") && last_is(&sent, "end of stdin") {
        sent.pop();
    }
    sent
}

/// The number of characters that both share at their start, minus some to show the place.
fn same_start(real: Option<&Sent>, fake: Option<&Sent>) -> usize {
    const SHOWN_BEFORE: usize = 60;
    let (Some(real), Some(fake)) = (real, fake) else {
        return 0;
    };
    let same = real.what.chars().zip(fake.what.chars());
    let same = same.take_while(|(real, fake)| real == fake).count();
    if same == real.what.chars().count() { 0 } else { same.saturating_sub(SHOWN_BEFORE) }
}

fn shown(one: Option<&Sent>, from: usize) -> String {
    one.map_or_else(
        || "nothing".to_owned(),
        |one| {
            let what: String = one.what.chars().skip(from).collect();
            format!("{} ms, process {}: {what}", one.ms, one.proc)
        },
    )
}

/// The lines and actions of the real host.
fn wanted(recording: &[TraceLine]) -> Vec<Sent> {
    recording
        .iter()
        .filter_map(|line| {
            let (what, limit) = match line.dir {
                Dir::HostToServer => (line.msg.to_string(), is_limit(&line.msg)),
                Dir::Event => (process_event(&line.msg)?.to_owned(), false),
                Dir::ServerToHost => return None,
            };
            Some(Sent { ms: line.ms, proc: line.proc, what, limit })
        })
        .collect()
}

fn is_limit(message: &Value) -> bool {
    message["method"] == "notifications/cancelled"
}

/// The action of a host on the process, as far as the process could observe it. A hangup came from the
/// terminal.
fn process_event(event: &Value) -> Option<&'static str> {
    match event.as_str()?.to_ascii_lowercase().as_str() {
        "signal sigint" => Some("SIGINT"),
        "signal sigterm" => Some("SIGTERM"),
        "stdin eof" => Some("end of stdin"),
        _ => None,
    }
}

/// The lines of the server, the events of the process and the actions of the model, in recorded order.
fn inputs(situation: &Situation, recording: &[TraceLine]) -> Vec<(u64, Input)> {
    let mut inputs = Vec::new();
    let mut seen_steps = BTreeSet::new();
    let mut stdout_open = true;
    let mut ending = situation.ends_by_itself;
    let mut done = 0;
    for (place, line) in recording.iter().enumerate() {
        match line.dir {
            Dir::HostToServer => {
                if let Some(action) = action_of(line, &recording[place..], &mut seen_steps) {
                    inputs.push((line.ms, Input::Act(action)));
                }
            }
            Dir::ServerToHost if stdout_open => {
                inputs.push((line.ms, Input::Line(line.msg.clone())));
            }
            Dir::ServerToHost => {}
            Dir::Event if line.msg.get("act").is_some() => {
                // A call that is sent later, so that its line does not show when it was made.
                let act = &line.msg["act"];
                let id = act["tool_use_id"].as_str().unwrap_or_default().to_owned();
                seen_steps.extend(id.rsplit_once('_').map(|(step, _)| step.to_owned()));
                let call = ToolCall {
                    tool_use_id: Some(id),
                    ..ToolCall::new(act["tool"].as_str().unwrap_or_default(), act["arguments"].clone(), "act")
                };
                inputs.push((line.ms, Input::Act(Action::Call(call))));
            }
            Dir::Event if is_start(&line.msg) => {
                stdout_open = true;
                if died_by_itself(&recording[..place]) && !situation.second_run {
                    // The next call makes the host start the server again.
                    inputs.extend(first_call(&recording[place..], &mut seen_steps).map(|act| (line.ms, act)));
                }
                inputs.push((line.ms, Input::Start));
            }
            // Notes of the tracer about itself.
            Dir::Event if line.msg.is_object() => {}
            Dir::Event => {
                let text = line.msg.as_str().unwrap_or_default();
                if text == "closing stdout" {
                    stdout_open = false;
                    inputs.push((line.ms, Input::StdoutClosed));
                } else if text.starts_with("exit") {
                    inputs.push((line.ms, Input::Exit(done)));
                } else if let Some(how) = process_event(&line.msg) {
                    done += 1;
                    if !ending {
                        ending = true;
                        inputs.push((line.ms, Input::Act(Action::Exit)));
                    }
                    let next = recording.get(place + 1);
                    let obeyed = next.is_none_or(|next| process_event(&next.msg).is_none());
                    if obeyed && how != "SIGTERM" || next.is_some_and(|next| next.proc > line.proc) {
                        inputs.push((line.ms, Input::Exit(done)));
                        ending = situation.ends_by_itself;
                    }
                }
            }
        }
    }
    for (at_ms, action) in situation.actions.clone() {
        let place = inputs.partition_point(|(ms, _)| *ms < at_ms);
        inputs.insert(place, (at_ms, Input::Act(action)));
    }
    inputs
}

fn is_start(event: &Value) -> bool {
    event.get("start").is_some() || event.get("server_process_started_with_env").is_some()
}

/// Whether a process that was called exited without a request of the host.
fn died_by_itself(before: &[TraceLine]) -> bool {
    let called = before.iter().any(|line| step_of(line).is_some());
    called
        && before.last().and_then(|line| line.msg.as_str()).is_some_and(|text| text.starts_with("exit"))
        && before.iter().rev().nth(1).is_some_and(|line| process_event(&line.msg).is_none())
}

/// The first call of a new process; its step counts as played.
fn first_call(from_here: &[TraceLine], seen_steps: &mut BTreeSet<String>) -> Option<Input> {
    let place = from_here.iter().position(|line| step_of(line).is_some())?;
    action_of(&from_here[place], &from_here[place..], seen_steps).map(Input::Act)
}

/// The reasons that hosts give when the user interrupts, if no limit has the same.
const INTERRUPTED: [&str; 4] = [
    "AbortError: user-cancel",
    "user-cancel",
    "AbortError: This operation was aborted",
    "AbortError: Tool call aborted",
];

/// The action of the model or the user that a line of the host shows.
fn action_of(line: &TraceLine, from_here: &[TraceLine], seen_steps: &mut BTreeSet<String>) -> Option<Action> {
    let message = &line.msg;
    if let Some(result) = message.get("result") {
        let text = result.pointer("/content/text").and_then(Value::as_str);
        let model = result.get("model").and_then(Value::as_str);
        return text
            .zip(model)
            .map(|(text, model)| Action::AnswerSampling { model: model.to_owned(), text: text.to_owned() });
    }
    let params = message.get("params").cloned().unwrap_or_default();
    match message.get("method")?.as_str()? {
        "tools/call" => {
            let step = step_of(line)?;
            if !seen_steps.insert(step.clone()) {
                return None;
            }
            let calls = from_here
                .iter()
                .filter(|other| step_of(other).as_ref() == Some(&step))
                .map(|other| call_of(&other.msg))
                .collect();
            Some(Action::Calls(calls))
        }
        "resources/read" => {
            Some(Action::ReadResource { uri: params["uri"].as_str()?.to_owned(), label: "read".to_owned() })
        }
        // A host that requests every prompt by itself fills in placeholders.
        "prompts/get" if params["arguments"].to_string().contains("\"$1\"") => None,
        "prompts/get" => Some(Action::GetPrompt {
            name: params["name"].as_str()?.to_owned(),
            arguments: params["arguments"].clone(),
            label: "prompt".to_owned(),
        }),
        "notifications/cancelled"
            if params["reason"].as_str().is_some_and(|why| INTERRUPTED.contains(&why)) =>
        {
            Some(Action::Interrupt)
        }
        _ => None,
    }
}

/// The model's step of a call: its ids are `toolu_STEP_PLACE`; without ids, its time.
fn step_of(line: &TraceLine) -> Option<String> {
    (line.msg.get("method")? == "tools/call").then(|| match tool_use_id(&line.msg) {
        Some(id) => id.rsplit_once('_').map_or(id, |(step, _)| step).to_owned(),
        None => format!("at {} ms", line.ms),
    })
}

fn tool_use_id(message: &Value) -> Option<&str> {
    let meta = message.get("params")?.get("_meta")?;
    meta.get("claudecode/toolUseId").or_else(|| meta.get("callId"))?.as_str()
}

fn call_of(message: &Value) -> ToolCall {
    ToolCall {
        tool: message["params"]["name"].as_str().unwrap_or_default().to_owned(),
        arguments: message["params"]["arguments"].clone(),
        label: message["id"].to_string(),
        tool_use_id: tool_use_id(message).map(str::to_owned),
    }
}

struct Replay<'a> {
    profile: &'a Arc<Profile>,
    situation: &'a Situation,
    machine: HostMachine,
    earlier_spawns: u64,
    sent: Vec<Sent>,
    asked: BTreeSet<String>,
    running: bool,
    /// Number of signals and closings so far.
    done: usize,
    now_ms: u64,
}

impl<'a> Replay<'a> {
    fn new(profile: &'a Arc<Profile>, situation: &'a Situation) -> Self {
        Self {
            profile,
            situation,
            machine: HostMachine::new(Arc::clone(profile), situation.options.clone()),
            earlier_spawns: 0,
            sent: Vec::new(),
            asked: BTreeSet::new(),
            running: false,
            done: 0,
            now_ms: 0,
        }
    }

    /// Returns what the fake sent, and other errors.
    fn run(mut self, inputs: Vec<(u64, Input)>) -> (Vec<Sent>, Vec<String>) {
        let last_ms = inputs.last().map_or(0, |(ms, _)| *ms);
        let mut waiting = std::collections::VecDeque::from(inputs);
        loop {
            // Lines keep their order; the model and the process do not wait for them.
            let mut lines_blocked = false;
            let place = waiting.iter().position(|(_, input)| {
                let line = matches!(input, Input::Line(_));
                let blocked = self.is_unasked(input) || (lines_blocked && line);
                lines_blocked |= blocked && line;
                !blocked
            });
            let timer_ms = self.machine.next_timer_ms();
            let input_ms = place.and_then(|place| waiting.get(place)).map(|(ms, _)| *ms);
            match (timer_ms, input_ms) {
                (Some(due_ms), next) if next.is_none_or(|next| due_ms < next) => {
                    if due_ms > last_ms + AFTERMATH_MS {
                        break;
                    }
                    self.now_ms = self.now_ms.max(due_ms);
                    let effects = self.machine.on_timer(due_ms);
                    self.take(self.now_ms, effects);
                }
                (_, Some(ms)) => {
                    let input = place.and_then(|place| waiting.remove(place));
                    if let Some((_, input)) = input {
                        self.play(ms, input);
                    }
                }
                (_, None) => break,
            }
        }
        let problems =
            waiting.iter().map(|(ms, input)| format!("could not be played: {ms} ms {input:?}")).collect();
        (self.sent, problems)
    }

    fn is_unasked(&self, input: &Input) -> bool {
        match input {
            Input::Line(message) => {
                let answers = message.get("result").is_some() || message.get("error").is_some();
                answers && message.get("id").is_some_and(|id| !self.asked.contains(&id.to_string()))
            }
            // A second start is played only after the fake has asked for it.
            Input::Start => self.running && !self.situation.second_run,
            Input::Exit(done) => self.done < *done,
            Input::StdoutClosed | Input::Act(_) => false,
        }
    }

    fn play(&mut self, recorded_ms: u64, input: Input) {
        self.now_ms = self.now_ms.max(recorded_ms);
        let ms = self.now_ms;
        let effects = match input {
            Input::Line(message) => {
                let line = message.to_string();
                self.machine.on_line(ms, line.as_bytes())
            }
            Input::Exit(_) => {
                self.running = false;
                self.machine.on_server_exit(ms, Some(0))
            }
            Input::StdoutClosed => self.machine.on_stdout_closed(ms),
            Input::Act(action) => self.machine.act(ms, action),
            Input::Start => {
                if self.machine.spawns() > 0 && self.situation.second_run {
                    self.earlier_spawns += self.machine.spawns();
                    let mut options = self.situation.options.clone();
                    options.warm_tool_cache = true;
                    self.machine = HostMachine::new(Arc::clone(self.profile), options);
                }
                self.running = true;
                self.asked.clear();
                self.machine.start(ms)
            }
        };
        self.take(ms, effects);
    }

    fn take(&mut self, ms: u64, effects: Vec<Effect>) {
        for effect in effects {
            let proc = self.earlier_spawns + self.machine.spawns();
            let (what, limit) = match effect {
                Effect::Send(line) => {
                    let message: Value = serde_json::from_slice(&line).expect("the fake writes JSON");
                    if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
                        self.asked.insert(id.to_string());
                    }
                    let text = String::from_utf8(line).expect("the fake writes UTF-8");
                    (text, is_limit(&message))
                }
                Effect::Signal(Signal::Int) => ("SIGINT".to_owned(), false),
                Effect::Signal(Signal::Term) => ("SIGTERM".to_owned(), false),
                Effect::CloseStdin => ("end of stdin".to_owned(), false),
                _ => continue,
            };
            self.done += usize::from(!what.starts_with('{'));
            self.sent.push(Sent { ms, proc, what, limit });
        }
    }
}
