//! Runs a fake host over any byte pipes on tokio's clock, which may be paused. It moves bytes, time and
//! signals between a machine and a server; it never interprets them.

mod commands;
mod event;

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub use commands::{Beside, Commands, NoCommands};
pub use event::{HostEvent, Order};

pub use super::effect::HostEventKind;
use super::effect::{Action, Effect, Outcome, ShellEnd, Signal};
use super::log::{Dir, WireEvent};
use super::machine::HostMachine;
use super::pipe::{Outbox, read_some};
use super::split::Splitter;

/// Longest line of a server that is kept, in bytes; a longer one is dropped whole, with a note.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Longest wait for the rest of an exited process's output, in milliseconds.
const DRAIN_MS_MAX: u64 = 500;
/// Longest wait for a process that was told to end, after the host's last step, in milliseconds.
const LINGER_MS_MAX: u64 = 1000;

/// A server that can be started, signalled and waited for.
pub trait Server {
    /// The server's output.
    type Out: AsyncRead + Unpin;
    /// The server's input; it must not buffer.
    type In: AsyncWrite + Unpin;

    /// Starts the server; after the first time, starts it again.
    ///
    /// # Errors
    /// If it can't be started; for the host this is a process that exited at once.
    fn spawn(&mut self) -> io::Result<(Self::Out, Self::In)>;

    /// Sends a signal to the running process.
    fn signal(&mut self, signal: Signal);

    /// Resolves when the running process has ended, with its exit code if it has one. Pending while none
    /// runs. May be dropped and called again.
    fn exited(&mut self) -> impl Future<Output = Option<i32>>;
}

/// A command of [`Commands`] that has ended.
enum Ran {
    Shell(u64, ShellEnd),
    Hook(u64, String),
    Waking(u64, ShellEnd),
}

/// The end of a driven host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driven {
    /// Whether the server was still running when the host had ended.
    pub left_running: bool,
    /// The server's exit code, if it had one.
    pub code: Option<i32>,
}

/// Runs `machine` against `server` until the host has ended: after `Exit` or `Kill`, or after `orders` has
/// ended, which counts as `Exit`.
///
/// A slow receiver of `events` slows the host; a closed one does not stop it.
pub async fn drive<S: Server>(
    machine: HostMachine,
    server: &mut S,
    orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<HostEvent>,
) -> Driven {
    drive_with(machine, server, &NoCommands, orders, events).await
}

/// Like [`drive`], with `commands` to run the program under test. Commands that are still running at the end
/// of the host are dropped.
pub async fn drive_with<S: Server>(
    machine: HostMachine,
    server: &mut S,
    commands: &dyn Commands,
    orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<HostEvent>,
) -> Driven {
    Driver {
        commands,
        running: FuturesUnordered::new(),
        ends: BTreeMap::new(),
        machine,
        events,
        began: Instant::now(),
        input: Outbox::default(),
        output: None,
        lines: Splitter::new(LINE_BYTES_MAX),
        killed: false,
        process: Process::None,
        code: None,
        lose_reply: false,
        held: None,
    }
    .run(server, orders)
    .await
}

/// The beginning of the event that reports a server that could not be started.
pub const NOT_STARTED: &str = "the server could not be started";

/// The state of the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    None,
    Runs,
    /// It has ended; its last output is awaited until this time.
    Ended(Instant),
}

struct Driver<'c, O, I> {
    commands: &'c dyn Commands,
    /// Running shells and hooks; the machine limits their number.
    running: FuturesUnordered<LocalBoxFuture<'static, Ran>>,
    /// The functions that end the hooks beside the session.
    ends: BTreeMap<u64, Box<dyn FnOnce()>>,
    machine: HostMachine,
    events: mpsc::Sender<HostEvent>,
    began: Instant,
    output: Option<O>,
    input: Outbox<I>,
    lines: Splitter,
    /// The process was killed, so its last line may be cut.
    killed: bool,
    process: Process,
    code: Option<i32>,
    /// The next tool result is to be delayed.
    lose_reply: bool,
    /// A tool result that is delayed until its call has timed out.
    held: Option<Vec<u8>>,
}

impl<O: AsyncRead + Unpin, I: AsyncWrite + Unpin> Driver<'_, O, I> {
    async fn run<S: Server<Out = O, In = I>>(
        mut self,
        server: &mut S,
        mut orders: mpsc::Receiver<Order>,
    ) -> Driven {
        self.spawn(server).await;
        let mut orders_open = true;
        let mut chunk = vec![0_u8; CHUNK_BYTES];
        let mut linger: Option<Instant> = None;
        loop {
            // Before the pipes, so that a server that never stops writing can't delay the host's limits.
            self.run_timers(server).await;
            if self.machine.is_over() {
                let gone = self.process == Process::None;
                let until = *linger.get_or_insert_with(|| after_ms(LINGER_MS_MAX));
                if gone || Instant::now() >= until {
                    return Driven { left_running: self.process == Process::Runs, code: self.code };
                }
            }
            let timer = self.next_wake(linger);
            tokio::select! {
                biased;
                order = orders.recv(), if orders_open => {
                    let order = order.unwrap_or_else(|| {
                        orders_open = false;
                        Order::Act(Action::Exit)
                    });
                    self.obey(server, order).await;
                }
                _ = self.input.write(), if self.input.can_write() => {}
                read = read_some(self.output.as_mut(), &mut chunk), if self.output.is_some() => {
                    match read {
                        Ok(0) | Err(_) => self.output_ended(server).await,
                        Ok(size) => self.take_output(server, &chunk[..size]).await,
                    }
                }
                Some(ran) = self.running.next(), if !self.running.is_empty() => self.take_end(server, ran).await,
                code = server.exited(), if self.process == Process::Runs => {
                    self.code = code;
                    self.process = Process::Ended(after_ms(DRAIN_MS_MAX));
                    if self.output.is_none() {
                        self.tell_exit(server).await;
                    }
                }
                () = tokio::time::sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => {}
                else => return Driven { left_running: self.process == Process::Runs, code: self.code },
            }
        }
    }

    async fn run_timers<S: Server<Out = O, In = I>>(&mut self, server: &mut S) {
        if matches!(self.process, Process::Ended(until) if Instant::now() >= until) {
            self.tell_exit(server).await;
        }
        let now_ms = self.now_ms();
        if self.machine.next_timer_ms().is_some_and(|due_ms| due_ms <= now_ms) {
            let effects = self.machine.on_timer(now_ms);
            let timed_out = |effect: &Effect| {
                matches!(effect, Effect::Tell(HostEventKind::CallDone { outcome: Outcome::TimedOut, .. }))
            };
            let gave_up = effects.iter().any(timed_out);
            self.perform(server, effects).await;
            if gave_up && let Some(line) = self.held.take() {
                self.take_line(server, &line).await;
            }
        }
    }

    async fn obey<S: Server<Out = O, In = I>>(&mut self, server: &mut S, order: Order) {
        match order {
            Order::Act(action) => self.step(server, |machine, now_ms| machine.act(now_ms, action)).await,
            Order::Raw(line) => self.send(line).await,
            Order::WakeUps(text) => {
                let now_ms = self.now_ms();
                let effects = self.machine.on_wake_up(now_ms, &text);
                self.emit(HostEventKind::WokenWith(text)).await;
                self.perform(server, effects).await;
            }
            Order::DropWakeUp(text) => self.emit(HostEventKind::WokenWith(text)).await,
            Order::LoseReply => self.lose_reply = true,
            Order::Signal(signal) => {
                self.event(format!("signal {} from elsewhere", signal.name())).await;
                self.killed |= signal == Signal::Kill;
                server.signal(signal);
            }
        }
    }

    async fn take_end<S: Server<Out = O, In = I>>(&mut self, server: &mut S, ran: Ran) {
        match &ran {
            Ran::Shell(_, ShellEnd { output: printed, .. }) | Ran::Hook(_, printed) => {
                self.emit(HostEventKind::Printed(printed.clone())).await;
            }
            Ran::Waking(id, end) => {
                self.ends.remove(id);
                self.emit(HostEventKind::WokenWith(end.output.clone())).await;
            }
        }
        self.step(server, |machine, now_ms| match ran {
            Ran::Waking(id, end) => machine.on_waking_end(now_ms, id, &end),
            Ran::Shell(id, end) => machine.on_shell_end(now_ms, id, end),
            Ran::Hook(id, answer) => machine.on_hook_answer(now_ms, id, &answer),
        })
        .await;
    }

    /// Tells the machine something, and performs its effects.
    async fn step<S: Server<Out = O, In = I>>(
        &mut self,
        server: &mut S,
        tell: impl FnOnce(&mut HostMachine, u64) -> Vec<Effect>,
    ) {
        let now_ms = self.now_ms();
        let effects = tell(&mut self.machine, now_ms);
        self.perform(server, effects).await;
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn next_wake(&self, linger: Option<Instant>) -> Option<Instant> {
        let machine = self
            .machine
            .next_timer_ms()
            .and_then(|due_ms| self.began.checked_add(Duration::from_millis(due_ms)));
        let drain = match self.process {
            Process::Ended(until) => Some(until),
            _ => None,
        };
        [machine, drain, linger].into_iter().flatten().min()
    }

    async fn spawn<S: Server<Out = O, In = I>>(&mut self, server: &mut S) {
        self.lines = Splitter::new(LINE_BYTES_MAX);
        self.killed = false;
        self.input = Outbox::default();
        match server.spawn() {
            Ok((output, input)) => {
                self.output = Some(output);
                self.input = Outbox::new(input);
                self.process = Process::Runs;
                let now_ms = self.now_ms();
                let effects = self.machine.start(now_ms);
                self.event("server process started").await;
                Box::pin(self.perform(server, effects)).await;
            }
            Err(error) => {
                self.event(format!("{NOT_STARTED}: {error}")).await;
                // A process that could not be started counts as one that exited at once.
                let mut effects = self.machine.start(self.now_ms());
                effects.retain(|effect| !matches!(effect, Effect::Send(_)));
                Box::pin(self.perform(server, effects)).await;
                Box::pin(self.step(server, |machine, now_ms| machine.on_server_exit(now_ms, None))).await;
            }
        }
    }

    async fn perform<S: Server<Out = O, In = I>>(&mut self, server: &mut S, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send(line) => self.send(line).await,
                Effect::Tell(kind) => self.emit(kind).await,
                Effect::Shell { id, arguments } => {
                    let runs = self.commands.shell(arguments);
                    self.running.push(Box::pin(async move { Ran::Shell(id, runs.await) }));
                }
                Effect::Hook { id, event, input } => {
                    let runs = self.commands.hook(&self.machine.profile().family, &event, input);
                    self.running.push(Box::pin(async move { Ran::Hook(id, runs.await) }));
                }
                Effect::Waking { id, event, input, environment } => {
                    let family = &self.machine.profile().family;
                    let Beside { ended, end } = self.commands.waking(family, &event, input, environment);
                    self.ends.insert(id, end);
                    self.running.push(Box::pin(async move { Ran::Waking(id, ended.await) }));
                }
                Effect::EndWaking(id) => {
                    if let Some(end) = self.ends.remove(&id) {
                        end();
                    }
                }
                Effect::Signal(signal) => {
                    self.event(format!("signal {}", signal.name())).await;
                    self.killed |= signal == Signal::Kill;
                    server.signal(signal);
                }
                Effect::CloseStdin => {
                    self.event("stdin closed").await;
                    self.input.close();
                }
                Effect::Respawn => {
                    // Nothing from the old process may reach the machine.
                    self.output = None;
                    self.input = Outbox::default();
                    Box::pin(self.spawn(server)).await;
                }
            }
        }
    }

    async fn send(&mut self, mut line: Vec<u8>) {
        let proc = self.machine.spawns();
        self.emit_wire(proc, Dir::HostToServer, line.clone()).await;
        line.push(b'\n');
        self.input.push(&line);
    }

    async fn take_output<S: Server<Out = O, In = I>>(&mut self, server: &mut S, bytes: &[u8]) {
        for line in self.lines.chunk(bytes) {
            if line.cut_from_bytes.is_some() {
                self.emit(HostEventKind::Note(format!("dropped a line of more than {LINE_BYTES_MAX} bytes")))
                    .await;
            } else {
                self.take_line(server, &line.bytes).await;
            }
        }
    }

    async fn take_line<S: Server<Out = O, In = I>>(&mut self, server: &mut S, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let now_ms = self.now_ms();
        if self.lose_reply && is_tool_result(line) {
            self.lose_reply = false;
            self.held = Some(line.to_vec());
            self.event("a tool result is held up").await;
            return;
        }
        self.emit_wire(self.machine.spawns(), Dir::ServerToHost, line.to_vec()).await;
        let effects = self.machine.on_line(now_ms, line);
        self.perform(server, effects).await;
    }

    /// The output has ended, or nothing more is awaited from it.
    async fn output_ended<S: Server<Out = O, In = I>>(&mut self, server: &mut S) {
        self.output = None;
        match self.lines.end().filter(|line| line.cut_from_bytes.is_none()).map(|line| line.bytes) {
            // The newline ends a message, so hosts drop a line without one. Only a server that ended by
            // itself is blamed for it.
            Some(line) if self.killed => {
                self.event(format!("a line was cut after {} bytes", line.len())).await;
            }
            Some(line) => self.take_line(server, &line).await,
            None => {}
        }
        if matches!(self.process, Process::Ended(_)) {
            self.tell_exit(server).await;
        } else {
            self.event("stdout closed").await;
            self.step(server, HostMachine::on_stdout_closed).await;
        }
    }

    async fn tell_exit<S: Server<Out = O, In = I>>(&mut self, server: &mut S) {
        self.output = None;
        self.input = Outbox::default();
        self.process = Process::None;
        self.event(match self.code {
            Some(code) => format!("exit {code}"),
            None => "exit".to_owned(),
        })
        .await;
        let code = self.code;
        self.step(server, |machine, now_ms| machine.on_server_exit(now_ms, code)).await;
    }

    async fn event(&self, text: impl Into<String>) {
        self.emit_wire(self.machine.spawns().max(1), Dir::Event, text.into().into_bytes()).await;
    }

    async fn emit_wire(&self, proc: u64, dir: Dir, bytes: Vec<u8>) {
        self.emit(HostEventKind::Wire(WireEvent { proc, dir, bytes })).await;
    }

    async fn emit(&self, kind: HostEventKind) {
        let event = HostEvent { at_ms: self.now_ms(), kind };
        // A closed receiver is no reason to stop.
        let _ = self.events.send(event).await;
    }
}

fn is_tool_result(line: &[u8]) -> bool {
    serde_json::from_slice::<Value>(line).is_ok_and(|value| value.pointer("/result/content").is_some())
}

fn after_ms(wait_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(wait_ms)
}
