//! Whether a stranger's server would work in a host: the fake host is connected to it and tells what it met.
//! The host is played by its profile alone; nothing here knows how any host behaves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fakes::host::drive::{HostEvent, HostEventKind, Order, Server as _, drive};
use fakes::host::log::Dir;
use fakes::host::{
    Action, Carrier, HostMachine, HostOptions, Outcome as CallOutcome, Profile, SizeUnit, Stop, ToolCall,
    cut_description, shown_name,
};
use reports::event::{Lane, WireLine};
use schemas::{Direction, WireValidator};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::arguments;
use super::discover::Discovered;
use super::lab::Wishes;
use super::outcome::{Evidence, Outcome};
use super::protocol::Judged;
use super::rows::Placed;
use super::target::Target;
use super::wire::{Broken, Record};

/// What a conversation with a host answers.
pub(crate) const CHECKS: [&str; 11] = [
    "host.opens",
    "host.tools",
    "host.pages",
    "host.names",
    "host.names-distinct",
    "host.descriptions",
    "host.call",
    "host.result",
    "host.requests",
    "host.lines",
    "host.end",
];
/// Orders and events that wait.
const QUEUE_MAX: usize = 4_096;
/// How long a server may take to open, whatever the host's own limit.
const OPEN_WITHIN: Duration = Duration::from_secs(70);
/// How long one call is awaited, whatever the host's own limit.
const CALL_WITHIN: Duration = Duration::from_secs(40);
/// How long the rest of a host's lists and the end of the server are awaited.
const REST_WITHIN: Duration = Duration::from_secs(15);
/// A host that kills sooner than this leaves no server the time to end, in milliseconds.
const KILL_AFTER_MS_MIN: u64 = 500;
/// How long a host stays when all is done: servers ask their host some things only after a while.
const STAYS: Duration = Duration::from_secs(1);
/// How long a server whose host only closed its pipes may take to end.
const EXIT_WITHIN: Duration = Duration::from_secs(5);
/// Errors of one kind that are shown.
const SHOWN: usize = 3;

/// What a host has met.
#[derive(Default)]
struct Met {
    ready: bool,
    failed: Option<String>,
    /// What the model was told of the tools, last.
    tools_text: Option<String>,
    call: Option<(String, CallOutcome, Option<Value>)>,
    killed: bool,
    code: Option<i32>,
    left_running: bool,
    notes: Vec<String>,
    record: Record,
    /// Requests of the server that the host refused as unknown.
    refused: Vec<String>,
}

/// Connects one host and judges what it met.
pub(crate) async fn judge(
    profile: &Arc<Profile>,
    server_name: &str,
    target: &Target,
    wishes: &Wishes,
    found: &Discovered,
    rows: &[Placed],
) -> Vec<Judged> {
    let tool = pick_tool(wishes, found);
    let met = meet(profile, server_name, target, wishes, tool.as_ref().ok()).await;
    let transcript = met.record.transcript.clone();
    rows.iter()
        .filter(|placed| placed.row.r#in.contains_key(super::rows::HOSTS))
        .map(|placed| {
            let mut outcome: Option<Outcome> = None;
            for check in &placed.row.checks {
                let one = check_of(
                    check,
                    profile,
                    server_name,
                    found,
                    &met,
                    tool.as_ref().map(|_| ()).map_err(String::as_str),
                );
                outcome = Some(match outcome.take() {
                    Some(before) => before.and(one),
                    None => one,
                });
            }
            let outcome = outcome.unwrap_or_else(|| Outcome::CouldNotRun("the row has no check".to_owned()));
            let failed = matches!(outcome, Outcome::Failed(_));
            Judged {
                row: placed.row.id.clone(),
                column: profile.id.clone(),
                outcome,
                transcript: if failed { transcript.clone() } else { Vec::new() },
                session: BTreeMap::new(),
            }
        })
        .collect()
}

/// The call that the model makes: the tool and its arguments; why there is none.
fn pick_tool(wishes: &Wishes, found: &Discovered) -> Result<(String, Value), String> {
    let Some((_, speaks)) = found.newest() else {
        return Err("the server could not be asked for its tools".to_owned());
    };
    let lasts = wishes.long_call.as_ref().map(|(name, _)| name.as_str());
    let may = |tool: &&Value| {
        tool.get("name").and_then(Value::as_str) != lasts
            && (wishes.call_all_tools
                || tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)))
    };
    let made = speaks.tools.items.iter().filter(may).find_map(|tool| {
        let arguments = arguments::make(tool.get("inputSchema")?, wishes.seed).ok()?;
        Some((tool.get("name")?.as_str()?.to_owned(), arguments))
    });
    made.ok_or_else(|| super::check::none_callable(&speaks.tools))
}

async fn meet(
    profile: &Arc<Profile>,
    server_name: &str,
    target: &Target,
    wishes: &Wishes,
    tool: Option<&(String, Value)>,
) -> Met {
    let mut met =
        Met { record: Record { secrets: wishes.secrets.clone(), ..Record::default() }, ..Met::default() };
    let options = HostOptions { server_name: server_name.to_owned(), ..HostOptions::default() };
    let machine = HostMachine::new(Arc::clone(profile), options);
    let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
    let (events, mut event_queue) = mpsc::channel(QUEUE_MAX);
    let mut server = target.server();
    let mut validator = WireValidator::at_host();
    let driving = drive(machine, &mut server, order_queue, events);
    let playing = async {
        let mut deadline = Instant::now() + OPEN_WITHIN;
        let mut step = Step::Opening;
        loop {
            let event = match timeout_at(deadline, event_queue.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) if step == Step::Ending => return,
                Err(_) => {
                    if step != Step::Staying {
                        met.note("the time was up");
                    }
                    (step, deadline) = (Step::Ending, Instant::now() + REST_WITHIN);
                    act(&orders, Action::Exit);
                    continue;
                }
            };
            met.take(&event, &mut validator);
            match (&step, &event.kind) {
                (Step::Opening, HostEventKind::Ready) => {
                    (step, deadline) = (Step::Listing, Instant::now() + REST_WITHIN);
                    if met.tools_text.is_some() || tool.is_none() {
                        (step, deadline) = begin(&orders, tool);
                    }
                }
                (Step::Opening, HostEventKind::Failed(_)) => {
                    (step, deadline) = (Step::Ending, Instant::now() + REST_WITHIN);
                    act(&orders, Action::Exit);
                }
                (Step::Listing, HostEventKind::Model(entry)) if entry.carrier == Carrier::Tools => {
                    (step, deadline) = begin(&orders, tool);
                }
                (Step::Calling, HostEventKind::CallDone { .. }) => {
                    act(&orders, Action::EndTurn);
                    (step, deadline) = (Step::Staying, Instant::now() + STAYS);
                }
                _ => {}
            }
        }
    };
    let (driven, ()) = tokio::join!(driving, playing);
    (met.left_running, met.code) = (driven.left_running, driven.code);
    if met.left_running
        && let Ok(code) = timeout(EXIT_WITHIN, server.exited()).await
    {
        (met.left_running, met.code) = (false, code);
    }
    met
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Opening,
    Listing,
    Calling,
    Staying,
    Ending,
}

/// The model's turn with its one call, or the end where there is none.
fn begin(orders: &mpsc::Sender<Order>, tool: Option<&(String, Value)>) -> (Step, Instant) {
    match tool {
        Some((name, arguments)) => {
            act(orders, Action::BeginTurn { prompt: "Use the tool.".to_owned() });
            act(orders, Action::Call(ToolCall::new(name, arguments.clone(), "the call")));
            (Step::Calling, Instant::now() + CALL_WITHIN)
        }
        None => (Step::Staying, Instant::now() + STAYS),
    }
}

fn act(orders: &mpsc::Sender<Order>, action: Action) {
    // A host that has gone needs no orders.
    let _ = orders.try_send(Order::Act(action));
}

impl Met {
    fn note(&mut self, text: &str) {
        self.record.note(0, Lane::Event, text);
    }

    fn take(&mut self, event: &HostEvent, validator: &mut WireValidator) {
        match &event.kind {
            HostEventKind::Wire(wire) => {
                let text = wire.text().into_owned();
                match wire.dir {
                    Dir::HostToServer => {
                        let (_, message) = validator.read(Direction::HostToServer, &wire.bytes);
                        if message.is_some_and(|message| {
                            message.pointer("/error/code") == Some(&Value::from(-32601))
                        }) {
                            self.refused.push(text.clone());
                        }
                        self.record.note(event.at_ms, Lane::HostToServer, &text);
                    }
                    Dir::ServerToHost => {
                        let (verdict, _) = validator.read(Direction::ServerToHost, &wire.bytes);
                        for error in verdict.errors {
                            let line = self.record.excerpt(&text, 1_000);
                            self.record.broken.push(Broken {
                                rule: error.rule,
                                message: error.message,
                                line,
                                at_ms: event.at_ms,
                            });
                        }
                        self.record.note(event.at_ms, Lane::ServerToHost, &text);
                    }
                    Dir::Event => {
                        if text.contains("SIGKILL") {
                            self.killed = true;
                        }
                        if text.starts_with("server process started") {
                            *validator = WireValidator::at_host();
                        }
                        self.record.note(event.at_ms, Lane::Event, &text);
                    }
                }
            }
            HostEventKind::Ready => self.ready = true,
            HostEventKind::Failed(reason) => self.failed = Some(reason.clone()),
            HostEventKind::Model(entry) if entry.carrier == Carrier::Tools => {
                self.tools_text = Some(entry.text.clone());
            }
            HostEventKind::CallDone { label, outcome, raw } => {
                self.call = Some((label.clone(), *outcome, raw.clone()));
            }
            HostEventKind::Note(note) => {
                self.notes.push(note.clone());
                self.record.note(event.at_ms, Lane::Event, note);
            }
            _ => {}
        }
    }

    fn fail(&self, message: impl Into<String>, expected: &str, observed: &str) -> Outcome {
        let observed = self.record.excerpt(observed, 1_500);
        Outcome::Failed(vec![Evidence {
            message: message.into(),
            expected: Some(expected.to_owned()),
            observed: (!observed.is_empty()).then_some(observed),
            at_ms: 0,
        }])
    }

    fn expect(&self, holds: bool, message: &str, expected: &str, observed: &str) -> Outcome {
        if holds { Outcome::Passed } else { self.fail(message, expected, observed) }
    }
}

fn check_of(
    check: &str,
    profile: &Profile,
    server: &str,
    found: &Discovered,
    met: &Met,
    tool: Result<(), &str>,
) -> Outcome {
    if let Some(reason) = &found.dead {
        return Outcome::CouldNotRun(reason.clone());
    }
    let opened = met.ready && met.failed.is_none();
    if check == "host.opens" {
        let why = met.failed.clone().unwrap_or_else(|| "the server did not open in time".to_owned());
        return met.expect(
            opened,
            &format!("the host gives the server up: {why}"),
            "an open server",
            &last_server_line(met),
        );
    }
    if !opened {
        return Outcome::NotApplicable("the host does not open the server".to_owned());
    }
    let tools = found.newest().map(|(_, speaks)| &speaks.tools);
    let items: &[Value] = tools.map_or(&[], |tools| &tools.items);
    let text =
        |tool: &Value, member: &str| tool.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    if items.is_empty() && ["host.tools", "host.pages", "host.names", "host.names-distinct"].contains(&check)
    {
        return Outcome::NotApplicable("the server lists no tools".to_owned());
    }
    match check {
        "host.tools" => {
            let told = met.tools_text.clone().unwrap_or_default();
            let missing: Vec<String> = items
                .iter()
                .filter_map(|tool| shown_name(&profile.names, server, &text(tool, "name")))
                .filter(|name| !told.contains(name.as_str()))
                .collect();
            let message = format!("{} of {} tools do not reach the model", missing.len(), items.len());
            let why: Vec<&str> = met.notes.iter().map(String::as_str).collect();
            met.expect(
                missing.is_empty(),
                &message,
                "every tool",
                &format!("missing: {}\n{}", missing.join(", "), why.join("\n")),
            )
        }
        "host.pages" => {
            let pages = tools.map_or(0, |tools| tools.pages);
            let message = format!("the tools come in {pages} pages, and this host asks for the first only");
            met.expect(pages < 2 || *profile.lists.follow_cursor, &message, "all tools on the first page", "")
        }
        "host.names" => {
            let names = items.iter().map(|tool| text(tool, "name"));
            let left: Vec<_> =
                names.filter(|name| shown_name(&profile.names, server, name).is_none()).collect();
            let message = format!(
                "the host leaves out tools whose name has more than {} characters",
                *profile.names.max
            );
            met.expect(left.is_empty(), &message, "shorter names", &left.join(", "))
        }
        "host.names-distinct" => {
            let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for tool in items {
                let name = text(tool, "name");
                if let Some(as_shown) = shown_name(&profile.names, server, &name) {
                    shown.entry(as_shown).or_default().push(name);
                }
            }
            let same: Vec<_> = shown
                .into_iter()
                .filter(|(_, names)| names.len() > 1)
                .map(|pair| format!("{pair:?}"))
                .collect();
            met.expect(
                same.is_empty(),
                "tools with different names have one name for the model",
                "names that stay different",
                &same.join("\n"),
            )
        }
        "host.descriptions" => {
            let mut cut: Vec<String> = items
                .iter()
                .filter(|tool| {
                    cut_description(&profile.names, &text(tool, "description")) != text(tool, "description")
                })
                .map(|tool| text(tool, "name"))
                .collect();
            let instructions =
                found.newest().map(|(_, speaks)| text(&speaks.opening, "instructions")).unwrap_or_default();
            if *profile.names.instructions && cut_description(&profile.names, &instructions) != instructions {
                cut.push("the instructions".to_owned());
            }
            met.expect(
                cut.is_empty(),
                "the host cuts descriptions",
                "texts that fit its limit",
                &cut.join(", "),
            )
        }
        "host.call" => match (tool, &met.call) {
            (Err(reason), _) => Outcome::NotApplicable(reason.to_owned()),
            (Ok(()), None) => met.fail("a call got no outcome", "a result", &last_server_line(met)),
            (Ok(()), Some((_, outcome, raw))) => {
                let answered = matches!(outcome, CallOutcome::Result | CallOutcome::Backgrounded)
                    || raw.as_ref().is_some_and(|raw| raw.get("content").is_some());
                let said = raw.as_ref().map(Value::to_string).unwrap_or_default();
                met.expect(answered, &format!("a call ends with {outcome:?}"), "a result", &said)
            }
        },
        "host.result" => match (tool, met.call.as_ref().and_then(|(_, _, raw)| raw.as_ref())) {
            (Err(reason), _) => Outcome::NotApplicable(reason.to_owned()),
            (Ok(()), None) => Outcome::NotApplicable("no result came".to_owned()),
            (Ok(()), Some(raw)) => {
                let size = size_of(raw, *profile.texts.size_unit);
                let max = *profile.texts.whole_max;
                let message =
                    format!("the host shows results of up to {max} {}", unit(*profile.texts.size_unit));
                met.expect(
                    size <= max,
                    &message,
                    "a result that is shown whole",
                    &format!("the result has {size}"),
                )
            }
        },
        "host.requests" => {
            let shown: Vec<&str> = met.refused.iter().take(SHOWN).map(String::as_str).collect();
            met.expect(
                met.refused.is_empty(),
                "the server asks what this host does not know",
                "no such request",
                &shown.join("\n"),
            )
        }
        "host.lines" => {
            let broken: Vec<String> = met
                .record
                .broken
                .iter()
                .take(SHOWN)
                .map(|one| format!("{}: {}\n{}", one.rule, one.message, one.line))
                .collect();
            met.expect(
                broken.is_empty(),
                "lines of the server break the protocol in this host's conversation",
                "valid lines",
                &broken.join("\n"),
            )
        }
        _ => {
            let kill = profile.life.shutdown.iter().find(|step| step.how == Stop::Kill);
            if let Some(step) = kill.filter(|step| step.after_ms < KILL_AFTER_MS_MIN) {
                return Outcome::NotApplicable(format!(
                    "this host kills every server {} ms after it is done",
                    step.after_ms
                ));
            }
            let message = "the server does not end by what this host does, short of SIGKILL";
            met.expect(
                (!met.killed || met.code.is_some()) && !met.left_running,
                message,
                "an end before SIGKILL",
                &last_events(met),
            )
        }
    }
}

fn size_of(raw: &Value, unit: SizeUnit) -> u64 {
    let blocks = raw.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
    let sizes = texts.map(|text| match unit {
        SizeUnit::Characters => text.chars().count(),
        SizeUnit::Bytes => text.len(),
    });
    sizes.sum::<usize>() as u64
}

fn unit(unit: SizeUnit) -> &'static str {
    match unit {
        SizeUnit::Characters => "characters",
        SizeUnit::Bytes => "bytes",
    }
}

fn last_server_line(met: &Met) -> String {
    let lines = met.record.transcript.iter().rev();
    lines
        .clone()
        .find(|line| line.lane == Lane::ServerToHost)
        .map_or_else(|| "the server wrote nothing".to_owned(), |line: &WireLine| line.text.clone())
}

fn last_events(met: &Met) -> String {
    let events =
        met.record.transcript.iter().filter(|line| line.lane == Lane::Event).map(|line| line.text.as_str());
    let events: Vec<&str> = events.collect();
    events[events.len().saturating_sub(4)..].join("\n")
}
