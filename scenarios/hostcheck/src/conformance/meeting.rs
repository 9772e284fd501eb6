//! One conversation between a fake host and the server: the host connects, its model makes one call, and the
//! host ends. It records what happened and judges nothing.

use std::sync::Arc;
use std::time::Duration;

use fake_hosts::drive::{HostEvent, HostEventKind, Order, Server as _, drive};
use fake_hosts::log::Dir;
use fake_hosts::{Action, Carrier, HostMachine, HostOptions, Outcome as CallOutcome, Profile, ToolCall};
use reports::event::Lane;
use schemas::{Direction, WireValidator};
use serde_json::Value;
use tokio::sync::{SemaphorePermit, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

use super::blame::Blames;
use super::lab::Wishes;
use super::target::Target;
use super::turns::Turns;
use super::wire::{Broken, Record};

/// Orders and events that may wait.
const QUEUE_MAX: usize = 4_096;
/// Time limit for the server to open, whatever the host's own limit is.
const OPEN_WITHIN: Duration = Duration::from_secs(70);
/// Time limit of the call, whatever the host's own limit is.
pub(crate) const CALL_WITHIN: Duration = Duration::from_secs(40);
/// Time limit for the rest of the host's lists and for the end of the server.
const REST_WITHIN: Duration = Duration::from_secs(15);
/// Time for which a host of a full run is silent before the call, as while its user types: some servers end meanwhile.
pub(super) const RESTS: Duration = Duration::from_secs(8);
/// Time for which a host stays after everything is done: servers send some requests only after a while.
const STAYS: Duration = Duration::from_secs(1);
/// Time limit for the end of a server whose host only closed its pipes.
pub(crate) const EXIT_WITHIN: Duration = Duration::from_secs(5);

/// How the driver of the host tells that it closed the server's stdin.
const STDIN_CLOSED: &str = "stdin closed";
/// How the host's events of a signal begin, and how they end where another sent it.
const SIGNAL: &str = "signal ";
const FROM_ELSEWHERE: &str = "from elsewhere";
/// How the host's note begins that the server's process has ended, by itself or not.
const PROCESS_ENDED: &str = "the server's process ended";

/// What happened to a host.
#[derive(Default)]
pub(crate) struct Met {
    pub(crate) ready: bool,
    pub(crate) failed: Option<String>,
    /// The last text about the tools that the model saw.
    pub(crate) tools_text: Option<String>,
    pub(crate) call: Option<(String, CallOutcome, Option<Value>)>,
    /// Whether the call still ran when it was no longer waited for, whatever the host itself would have done.
    pub(crate) call_still_ran: bool,
    call_sent: bool,
    /// Whether the host was silent before the call for [`RESTS`].
    pub(crate) rested: bool,
    /// Whether the server ended by itself after it got the call.
    pub(crate) ended_by_itself: bool,
    /// Whether the host could end the server as a process.
    pub(crate) has_process: bool,
    pub(crate) killed: bool,
    pub(crate) code: Option<i32>,
    pub(crate) left_running: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) record: Record,
    /// Broken rules, each with what is known of this host.
    pub(crate) blames: Blames,
    /// How many lines of the server had come at each moment.
    pub(crate) moments: Moments,
    /// When the host had opened the server, in milliseconds since its start.
    pub(crate) opened_ms: Option<u64>,
    /// When the host gave it up, in the same way.
    pub(crate) failed_ms: Option<u64>,
    /// Requests of the server that the host refused as unknown.
    pub(crate) refused: Vec<String>,
}

/// The moments at which something is decided, each by the number of lines that had come; none where it never came. What the
/// server writes later changes nothing of it.
#[derive(Debug, Default)]
pub(crate) struct Moments {
    /// The host had opened the server, or given it up.
    pub(crate) opened: Option<usize>,
    /// The model last heard of the tools.
    pub(crate) listed: Option<usize>,
    /// The call was done.
    pub(crate) called: Option<usize>,
    /// The host began to end the server: it closed its stdin, or sent it a signal.
    pub(crate) ended: Option<usize>,
}

/// What the host does once it is connected.
#[derive(Clone, Copy)]
pub(crate) struct Script<'a> {
    /// The one call of its model.
    pub(crate) tool: Option<&'a (String, Value)>,
    pub(crate) has_tools: bool,
    /// Whether it is silent before the call for [`RESTS`].
    pub(crate) rests: bool,
}

/// Connects a host to the server and gives what happened. A host that opens without the list of a server that has tools
/// is waited for: some begin their first turn without the tools of a slow server, and have them in the next one. A `turn`
/// beside others is given up while the host is silent.
pub(crate) async fn meet(
    profile: &Arc<Profile>,
    server_name: &str,
    target: &Target,
    wishes: &Wishes,
    Script { tool, has_tools, rests }: Script<'_>,
    turns: &Turns,
    mut turn: Option<SemaphorePermit<'_>>,
) -> Met {
    let mut met = Met {
        record: Record { secrets: wishes.secrets.clone(), ..Record::default() },
        has_process: target.has_process(),
        ..Met::default()
    };
    let options = HostOptions { server_name: server_name.to_owned(), ..HostOptions::default() };
    let machine = HostMachine::new(Arc::clone(profile), options);
    let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
    let (events, mut event_queue) = mpsc::channel(QUEUE_MAX);
    let mut server = target.server();
    let mut validator = WireValidator::at_host();
    let driving = drive(machine, &mut server, order_queue, events);
    let held = turn.is_some();
    let rest = |tool: Option<&(String, Value)>, turn: &mut Option<SemaphorePermit<'_>>| {
        if !rests || tool.is_none() {
            return begin(&orders, tool);
        }
        *turn = None;
        (Step::Resting, Instant::now() + RESTS)
    };
    let playing = async {
        let mut deadline = Instant::now() + OPEN_WITHIN;
        let mut step = Step::Opening;
        loop {
            let event = match timeout_at(deadline, event_queue.recv()).await {
                Ok(Some(event)) => event,
                Ok(None) => return,
                Err(_) if step == Step::Ending => return,
                Err(_) if step == Step::Resting => {
                    met.rested = true;
                    if held {
                        turn = turns.beside().await;
                    }
                    (step, deadline) = begin(&orders, tool);
                    continue;
                }
                Err(_) => {
                    if step != Step::Staying {
                        met.note("the time was up");
                        met.call_still_ran = step == Step::Calling;
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
                    if met.tools_text.is_some() || !has_tools {
                        (step, deadline) = rest(tool, &mut turn);
                    }
                }
                (Step::Opening, HostEventKind::Failed(_)) => {
                    (step, deadline) = (Step::Ending, Instant::now() + REST_WITHIN);
                    act(&orders, Action::Exit);
                }
                (Step::Listing, HostEventKind::Model(entry)) if entry.carrier == Carrier::Tools => {
                    (step, deadline) = rest(tool, &mut turn);
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
    Resting,
    Calling,
    Staying,
    Ending,
}

/// Begins the model's turn with its one call, or ends the host if there is no tool to call.
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
    // A host that has ended takes no orders.
    let _ = orders.try_send(Order::Act(action));
}

/// Whether an event of the host is the beginning of the server's end.
fn is_an_end(event: &str) -> bool {
    event.starts_with(STDIN_CLOSED) || event.starts_with(SIGNAL) && !event.ends_with(FROM_ELSEWHERE)
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
                        let code = message.as_ref().and_then(|message| message.pointer("/error/code"));
                        if code == Some(&Value::from(-32601)) {
                            self.refused.push(text.clone());
                        }
                        self.call_sent |= message.is_some_and(|message| message["method"] == "tools/call");
                        self.record.note(event.at_ms, Lane::HostToServer, &text);
                    }
                    Dir::ServerToHost => {
                        let (verdict, _) = validator.read(Direction::ServerToHost, &wire.bytes);
                        self.blames.next_line();
                        for error in verdict.errors {
                            let line = self.record.excerpt(&text, 1_000);
                            self.blames.found(&error, &line);
                            self.record.broken.push(Broken {
                                rule: error.rule,
                                message: error.message,
                                line,
                                after: None,
                                at_ms: event.at_ms,
                            });
                        }
                        self.record.note(event.at_ms, Lane::ServerToHost, &text);
                    }
                    Dir::Event => {
                        if is_an_end(&text) {
                            self.moments.ended.get_or_insert(self.blames.lines());
                        }
                        if text.contains("SIGKILL") {
                            self.killed = true;
                        }
                        if text.starts_with("server process started") {
                            *validator = WireValidator::at_host();
                            self.moments.ended = None;
                        }
                        self.record.note(event.at_ms, Lane::Event, &text);
                    }
                }
            }
            HostEventKind::Fault { fact, known, harmless } => self.blames.met(fact, *known, *harmless),
            HostEventKind::Ready => {
                self.ready = true;
                self.moments.opened.get_or_insert(self.blames.lines());
                self.opened_ms = Some(event.at_ms);
            }
            HostEventKind::Failed(reason) => {
                self.failed = Some(reason.clone());
                self.failed_ms = Some(event.at_ms);
                self.moments.opened = Some(self.blames.lines());
            }
            HostEventKind::Model(entry) if entry.carrier == Carrier::Tools => {
                self.tools_text = Some(entry.text.clone());
                self.moments.listed = Some(self.blames.lines());
            }
            HostEventKind::CallDone { label, outcome, raw } => {
                self.moments.called.get_or_insert(self.blames.lines());
                self.call = Some((label.clone(), *outcome, raw.clone()));
            }
            HostEventKind::Note(note) => {
                let by_itself = self.call_sent && self.moments.ended.is_none();
                self.ended_by_itself |= by_itself && note.starts_with(PROCESS_ENDED);
                self.notes.push(note.clone());
                self.record.note(event.at_ms, Lane::Event, note);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_told_to_end_by_its_stdin_or_by_a_signal_of_its_host() {
        for (event, wanted) in [
            ("stdin closed", true),
            ("signal SIGTERM", true),
            ("signal SIGTERM from elsewhere", false),
            ("server process started", false),
        ] {
            assert_eq!(is_an_end(event), wanted, "{event}");
        }
    }
}
