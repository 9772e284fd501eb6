//! The fake host itself: a synchronous state machine between a server's lines and a scripted model. It has no
//! clock, no I/O and no randomness; it never panics on any input of a server.
//!
//! Each file in this folder keeps its own part of the state and acts on the whole machine, so these files use
//! each other: one machine in several files.

mod again;
mod calls;
mod catalog;
mod consent;
mod faults;
mod hooks;
mod life;
mod lists;
mod notices;
mod opening;
mod permission;
mod requests;
mod send;
mod shells;
mod step;
mod tasks;
mod turn;
mod wake_up;
mod waking;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use host_profiles::{ListKind, PerMode, Profile};
use serde_json::Value;

use super::effect::{Action, Effect, HostEventKind, ShellEnd};
use super::fault;
use super::options::HostOptions;
use calls::Call;
use catalog::Catalog;
use hooks::Hooks;
use shells::Shells;
use step::Step;
use tasks::Task;
use turn::Turn;
use waking::Waking;

/// Most open requests to the server, and most waiting steps; an action beyond that fails at once.
const OPEN_MAX: usize = 4096;
/// Most requests of the server that wait for a user.
const ASKED_MAX: usize = 64;

/// The purpose of a timer. The order decides which of two due timers fires first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The probe got no answer.
    Probe,
    /// The handshake took too long.
    Start,
    /// The first turn has waited long enough for the tools.
    TurnAnyway,
    /// The lists have waited long enough for the stream.
    ListsAnyway,
    /// `subscriptions/listen` is due again.
    Listen,
    /// A list is to be requested again.
    Relist(ListKind),
    /// A list that came back unchanged is to be requested once more.
    Unchanged(ListKind),
    /// A list took too long.
    List(String),
    /// A call hit its limit.
    Call(u64),
    /// A call had no progress for too long.
    Idle(u64),
    /// A call goes to the background.
    Background(u64),
    /// The state of a task is to be requested again.
    Task(u64),
    /// A hook took too long.
    Hook(u64),
    /// A hook beside the session took too long.
    Waking(u64),
    /// Calls that have ended are to be cancelled.
    Abort,
    /// A step of ending the server is due.
    Stop(usize),
}

/// The state of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Phase {
    /// No process was started so far, or a new one is starting.
    #[default]
    Down,
    /// The probe was sent.
    Probing,
    /// `initialize` was sent.
    Initializing,
    /// The handshake is done.
    Open,
    /// The server was given up.
    Failed,
    /// The process has exited.
    Gone,
    /// The host is exiting or is ending this process.
    Closing,
}

/// The era of the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Era {
    #[default]
    Legacy,
    Modern,
}

/// An open request of the host.
#[derive(Debug, Clone, PartialEq)]
enum Pending {
    Probe,
    Initialize,
    SecondDiscover,
    Listen,
    List {
        kind: ListKind,
        cursors: Vec<String>,
        items: Vec<Value>,
    },
    Call(u64),
    Resource {
        uri: String,
        label: String,
    },
    Prompt {
        label: String,
    },
    /// A prompt that the host requested for itself; the model does not see the answer.
    PromptKept,
    Task(u64),
}

/// The state of one server process.
#[derive(Debug, Default)]
struct Link {
    phase: Phase,
    era: Era,
    next_id: u64,
    next_token: u64,
    next_listen: u64,
    /// Ids of the probe and of streams.
    special_ids: Vec<Value>,
    pending: BTreeMap<String, Pending>,
    capabilities: Value,
    probing_allowed: bool,
    quick: bool,
    ready_told: bool,
    /// The stream: its id, and its acknowledged filter.
    stream: Option<Stream>,
    listen_refusals: usize,
    strict_refusals: usize,
    lists_started: bool,
    /// The user's limit of a call has lapsed.
    setting_lost: bool,
    /// Lists of the opening that wait for the one before.
    lists_waiting: VecDeque<ListKind>,
    last_relist_ms: BTreeMap<ListKind, u64>,
    /// Lists that were requested because they changed.
    changed: BTreeSet<ListKind>,
    /// The last content of each list.
    last_lists: BTreeMap<ListKind, Vec<Value>>,
    /// Permission dialogs of which the server was told.
    permissions: BTreeSet<String>,
    stdout_closed: bool,
}

#[derive(Debug)]
struct Stream {
    id: Value,
    acknowledged: bool,
}

impl Link {
    fn new(probing_allowed: bool, quick: bool) -> Self {
        Self { probing_allowed, quick, ..Self::default() }
    }
}

/// Why the running process is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// It is not being ended.
    No,
    /// The host gave the server up; the session goes on.
    GaveUp,
    /// A new process replaces it.
    Reconnect,
    /// The host exits.
    Exit,
    /// The host was killed.
    Killed,
}

/// A fake MCP host: one session with one server.
///
/// Every function takes the time of the call, in milliseconds on any clock that never goes back, and returns
/// the effects in order.
#[derive(Debug)]
pub struct HostMachine {
    profile: Arc<Profile>,
    options: HostOptions,
    now_ms: u64,
    effects: Vec<Effect>,
    timers: BTreeMap<Timer, u64>,
    link: Link,
    catalog: Catalog,
    turn: Turn,
    calls: BTreeMap<u64, Call>,
    next_call: u64,
    steps: VecDeque<Vec<u64>>,
    step: Option<Step>,
    steps_begun: u64,
    /// Calls with an open dialog, the oldest first.
    dialogs: VecDeque<u64>,
    /// Whether the session is in plan mode.
    only_plans: bool,
    asked: VecDeque<(Value, Asked, String)>,
    shells: Shells,
    hooks: Hooks,
    waking: Waking,
    tasks: BTreeMap<u64, Task>,
    /// Calls that have ended and are still to be cancelled.
    aborts: VecDeque<Value>,
    ending: Ending,
    /// Whether a server process runs, as far as the machine was told.
    alive: bool,
    over: bool,
    spawns: u64,
}

/// A request of the server that waits for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Sampling,
    Elicitation,
    /// A call that is sent again with the answer.
    Again,
}

impl HostMachine {
    /// A host that has not started its server.
    pub fn new(profile: Arc<Profile>, options: HostOptions) -> Self {
        let warm = options.warm_tool_cache && *profile.lists.warm_cache_asks_again;
        Self {
            catalog: Catalog::new(warm),
            turn: Turn::default(),
            profile,
            options,
            now_ms: 0,
            effects: Vec::new(),
            timers: BTreeMap::new(),
            link: Link::new(true, false),
            calls: BTreeMap::new(),
            next_call: 0,
            steps: VecDeque::new(),
            step: None,
            steps_begun: 0,
            dialogs: VecDeque::new(),
            only_plans: false,
            asked: VecDeque::new(),
            shells: Shells::default(),
            hooks: Hooks::default(),
            waking: Waking::default(),
            tasks: BTreeMap::new(),
            aborts: VecDeque::new(),
            ending: Ending::No,
            alive: false,
            over: false,
            spawns: 0,
        }
    }

    /// The server's process has started: the first time, and after every [`Effect::Respawn`].
    #[must_use]
    pub fn start(&mut self, now_ms: u64) -> Vec<Effect> {
        self.at(now_ms);
        if self.link.phase == Phase::Down && !self.over {
            self.spawns += 1;
            self.alive = true;
            if self.spawns == 1 {
                self.begin_session();
            }
            self.open();
        }
        self.done()
    }

    /// Takes a line of the server, with or without its newline.
    #[must_use]
    pub fn on_line(&mut self, now_ms: u64, line: &[u8]) -> Vec<Effect> {
        self.at(now_ms);
        let listens = matches!(self.link.phase, Phase::Probing | Phase::Initializing | Phase::Open);
        if !listens || self.link.stdout_closed || !self.alive {
            self.note("ignored a line: the host does not listen to the server");
            return self.done();
        }
        let line = fault::read(line, &self.link);
        if line.faults.is_empty() {
            line.messages.into_iter().for_each(|message| self.take_message(message));
        } else {
            self.take_faulty(line);
        }
        self.pump();
        self.done()
    }

    /// The server's stdout has ended; its process may still be running.
    #[must_use]
    pub fn on_stdout_closed(&mut self, now_ms: u64) -> Vec<Effect> {
        self.step(now_ms, Self::stdout_closed)
    }

    /// The server's process has ended, with its exit code if it has one.
    #[must_use]
    pub fn on_server_exit(&mut self, now_ms: u64, code: Option<i32>) -> Vec<Effect> {
        self.step(now_ms, |host| host.server_exit(code))
    }

    /// Fires every due timer, in the order of their times.
    #[must_use]
    pub fn on_timer(&mut self, now_ms: u64) -> Vec<Effect> {
        self.at(now_ms);
        while let Some((due_ms, timer)) = self.next_timer() {
            if due_ms > now_ms {
                break;
            }
            self.timers.remove(&timer);
            self.fire(timer);
            self.pump();
        }
        self.done()
    }

    /// A background shell of [`Effect::Shell`] has ended.
    #[must_use]
    pub fn on_shell_end(&mut self, now_ms: u64, id: u64, end: ShellEnd) -> Vec<Effect> {
        self.step(now_ms, |host| host.shell_end(id, end))
    }

    /// A hook of [`Effect::Hook`] has ended with this output; empty if it failed.
    #[must_use]
    pub fn on_hook_answer(&mut self, now_ms: u64, id: u64, answer: &str) -> Vec<Effect> {
        self.step(now_ms, |host| host.hook_answer(id, answer))
    }

    /// A hook of [`Effect::Waking`] has ended, with its stderr.
    #[must_use]
    pub fn on_waking_end(&mut self, now_ms: u64, id: u64, end: &ShellEnd) -> Vec<Effect> {
        self.step(now_ms, |host| host.waking_end(id, end))
    }

    /// A text has arrived by the host's wake-up.
    #[must_use]
    pub fn on_wake_up(&mut self, now_ms: u64, text: &str) -> Vec<Effect> {
        self.step(now_ms, |host| host.by_wake_up(text))
    }

    /// The time at which [`Self::on_timer`] must be called next.
    pub fn next_timer_ms(&self) -> Option<u64> {
        self.next_timer().map(|(due_ms, _)| due_ms)
    }

    /// Performs an action of the model or of the user.
    #[must_use]
    pub fn act(&mut self, now_ms: u64, action: Action) -> Vec<Effect> {
        self.at(now_ms);
        if self.over || self.ending == Ending::Exit {
            self.note("an action came after the end of the host and was ignored");
            return self.done();
        }
        match action {
            Action::Call(call) => self.begin_step(vec![call]),
            Action::Calls(calls) => self.begin_step(calls),
            Action::BeginTurn { prompt } => self.type_prompt(prompt),
            Action::EndTurn => self.end_turn(),
            Action::Interrupt => self.interrupt(),
            Action::ChangeSession { back } => self.change_session(back),
            Action::OnlyPlan => self.only_plans = true,
            Action::ReadResource { uri, label } => self.read_resource(uri, label),
            Action::GetPrompt { name, arguments, label } => self.get_prompt(&name, arguments, label),
            Action::AnswerSampling { model, text } => self.answer_sampling(&model, &text),
            Action::AnswerElicitation { action, content } => {
                self.answer_elicitation(&action, content);
            }
            Action::AnswerDialog { allow } => self.answer_dialog(allow),
            Action::AskPermission(ask) => self.ask_permission(ask),
            Action::Work => self.work(),
            Action::StartShell { arguments, description, label } => {
                self.start_shell(arguments, description, label);
            }
            Action::ReadShell { label } => self.read_shell(label),
            Action::Reconnect => self.reconnect(),
            Action::Exit => {
                if !self.waits_before_exit() {
                    self.exit();
                }
            }
            Action::Kill => self.kill(),
        }
        self.pump();
        self.done()
    }

    /// Whether a turn of the model runs.
    pub fn in_turn(&self) -> bool {
        self.turn.running
    }

    /// Whether the connection is open and usable.
    pub fn is_open(&self) -> bool {
        self.link.phase == Phase::Open
    }

    /// Whether the host has ended, and its server has exited or was left running.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The profile of the host.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// The user's settings.
    pub fn options(&self) -> &HostOptions {
        &self.options
    }

    /// The server's names of the tools that the model has.
    pub fn tools(&self) -> Vec<&str> {
        self.catalog.names().collect()
    }

    /// The number of server processes that were started.
    pub fn spawns(&self) -> u64 {
        self.spawns
    }

    fn step(&mut self, now_ms: u64, act: impl FnOnce(&mut Self)) -> Vec<Effect> {
        self.at(now_ms);
        act(self);
        self.pump();
        self.done()
    }

    fn at(&mut self, now_ms: u64) {
        self.now_ms = self.now_ms.max(now_ms);
    }

    fn done(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    fn mode<T: Clone>(&self, fact: &PerMode<T>) -> T {
        self.options.mode.of(fact).clone()
    }

    fn tell(&mut self, news: HostEventKind) {
        self.effects.push(Effect::Tell(news));
    }

    fn note(&mut self, text: impl Into<String>) {
        self.tell(HostEventKind::Note(text.into()));
    }

    fn set_timer(&mut self, timer: Timer, after_ms: u64) {
        self.timers.insert(timer, self.now_ms.saturating_add(after_ms));
    }

    /// Removes every timer that is about the server.
    fn forget_timers(&mut self) {
        self.timers.retain(|timer, _| matches!(timer, Timer::Hook(_) | Timer::Waking(_)));
    }

    fn next_timer(&self) -> Option<(u64, Timer)> {
        self.timers
            .iter()
            .map(|(timer, due_ms)| (*due_ms, timer))
            .min()
            .map(|(due_ms, timer)| (due_ms, timer.clone()))
    }

    fn fire(&mut self, timer: Timer) {
        match timer {
            Timer::Probe => self.probe_silent(),
            Timer::Start => self.start_too_slow(),
            Timer::TurnAnyway => self.turn_without_tools(),
            Timer::ListsAnyway => self.start_lists(),
            Timer::Listen => self.listen(),
            Timer::Relist(kind) => self.relist_now(kind),
            Timer::Unchanged(kind) => self.list_once_more(kind),
            Timer::Abort => self.abort_finished(),
            Timer::List(key) => self.list_too_slow(&key),
            Timer::Call(seq) | Timer::Idle(seq) => self.call_too_slow(seq),
            Timer::Background(seq) => self.move_to_background(seq),
            Timer::Task(task) => self.ask_task(task),
            Timer::Hook(id) => self.hook_too_slow(id),
            Timer::Waking(id) => self.waking_too_slow(id),
            Timer::Stop(step) => self.stop_step(step),
        }
    }

    fn on_answer(&mut self, key: &str, body: Result<Value, Value>) {
        let Some(pending) = self.link.pending.remove(key) else {
            self.note(format!("dropped an answer to no open request, id {key}"));
            return;
        };
        self.timers.remove(&Timer::List(key.to_owned()));
        match pending {
            Pending::Probe => self.on_probe_answer(body),
            Pending::Initialize => self.on_initialize_answer(body),
            Pending::SecondDiscover | Pending::PromptKept => {}
            Pending::Listen => self.on_listen_answer(body.is_ok()),
            Pending::List { kind, cursors, items } => self.on_list_answer(kind, cursors, items, body),
            Pending::Call(seq) => self.on_call_answer(seq, body),
            Pending::Resource { uri, label } => self.on_resource_answer(&uri, label, body),
            Pending::Prompt { label } => self.on_prompt_answer(label, body),
            Pending::Task(task) => self.on_task_answer(task, body),
        }
    }

    /// Resets the state of the server process, except for what the session keeps.
    fn forget_link(&mut self, probing_allowed: bool, quick: bool) {
        self.forget_timers();
        self.link = Link::new(probing_allowed, quick);
        self.asked.clear();
        self.aborts.clear();
        self.catalog.blocking.clear();
    }

    fn open_lists(&self) -> BTreeSet<ListKind> {
        self.link
            .pending
            .values()
            .filter_map(|pending| match pending {
                Pending::List { kind, .. } => Some(*kind),
                _ => None,
            })
            .collect()
    }
}
