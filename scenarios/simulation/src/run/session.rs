//! One host session of a cell, over all its restarts, and the port through which an agent uses it.

use std::any::Any;
use std::cell::{Cell as Flag, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use fake_hosts::drive::{self, Commands, Order};
use fake_hosts::{Action, DoorKind, HostMachine, HostOptions, Profile, ShellShown, ToolCall, thread_id};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use super::bell::Bell;
use super::commands::{Counted, told_to_run};
use super::stage::AnyServer;
use super::stopwatch::Stopwatch;
use super::view::{CallEnd, SessionView};
use super::{agent, bare, extension, watcher};
use crate::scenario::AgentPolicy;

/// A session that can be started, driven and looked at.
pub(crate) struct Session {
    host: Host,
    /// Every start is a conversation of its own.
    starts: u64,
    pub(crate) view: Rc<RefCell<SessionView>>,
    policy: watch::Sender<AgentPolicy>,
    watch: Stopwatch,
    changed: Rc<Notify>,
    running: Option<Running>,
    calls_made: Rc<Flag<u64>>,
    hooks: Rc<Flag<usize>>,
}

/// The host of a session, and what it needs to run.
pub(crate) struct Host {
    /// Without one it is a bare pipe.
    pub(crate) profile: Option<Arc<Profile>>,
    pub(crate) options: HostOptions,
    /// The consumer that it reads as; empty on a bare pipe.
    pub(crate) consumer: String,
    /// Which session of the cell it is.
    pub(crate) number: u64,
    pub(crate) make_server: Rc<dyn Fn() -> AnyServer>,
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) bell: Bell,
    /// What its model is told to leave running in the shell.
    pub(crate) wait: Vec<String>,
    /// What is loaded into the session, where the host takes that.
    pub(crate) extension: Extension,
    /// Who stands before its door, where that is a real one.
    pub(crate) attendance: Option<Attendance>,
}

/// Code of ours that the host loads, by what it runs.
#[derive(Clone)]
pub(crate) struct Extension {
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) arguments: Vec<String>,
}

/// Stands before the door for one run of the host.
pub(crate) type Attendance = Rc<dyn Fn() -> LocalBoxFuture<'static, ()>>;

/// What a host was found to be by its files, in place of what the runner knows.
pub(crate) struct Install {
    pub(crate) options: HostOptions,
    pub(crate) make_server: Rc<dyn Fn() -> AnyServer>,
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) wait: Vec<String>,
    pub(crate) extension: Option<Extension>,
    pub(crate) attendance: Option<Attendance>,
}

struct Running {
    orders: mpsc::Sender<Order>,
    tasks: Vec<JoinHandle<()>>,
}

/// Orders and events that wait at most.
const QUEUE_MAX: usize = 4_096;

impl Session {
    /// A session that has not been started.
    pub(crate) fn new(
        host: Host,
        policy: AgentPolicy,
        secret: &str,
        watch: Stopwatch,
        changed: Rc<Notify>,
    ) -> Self {
        Self {
            view: Rc::new(RefCell::new(SessionView::new(secret, host.profile.as_deref()))),
            host,
            starts: 0,
            policy: watch::Sender::new(policy),
            watch,
            changed,
            running: None,
            calls_made: Rc::default(),
            hooks: Rc::default(),
        }
    }

    /// From its next start on the host is what its files make of it.
    pub(crate) fn install(&mut self, install: Install) {
        let session_id = std::mem::take(&mut self.host.options.session_id);
        self.host.options = HostOptions { session_id, ..install.options };
        self.host.make_server = install.make_server;
        self.host.commands = install.commands;
        self.host.wait = install.wait;
        self.host.attendance = install.attendance;
        if let Some(extension) = install.extension {
            self.host.extension = extension;
        }
    }

    /// What is set in its host.
    pub(crate) fn options(&self) -> &HostOptions {
        &self.host.options
    }

    /// Whom it reads as.
    pub(crate) fn consumer(&self) -> &str {
        &self.host.consumer
    }

    /// What rings where somebody knocks at its host.
    pub(crate) fn bell(&self) -> &Bell {
        &self.host.bell
    }

    /// Starts the host, which starts its server.
    pub(crate) fn start(&mut self) {
        self.stop();
        self.starts += 1;
        let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
        let (events, event_queue) = mpsc::channel(QUEUE_MAX);
        self.host.bell.host_starts();
        let mut server = (self.host.make_server)();
        {
            let mut view = self.view.borrow_mut();
            (view.alive, view.ready, view.in_turn) = (true, false, false);
        }
        let (told, watch, profile) = (Rc::clone(&self.view), self.watch, self.host.profile.clone());
        let thread = thread_id(self.host.number, self.starts);
        let options = HostOptions { thread, ..self.host.options.clone() };
        let commands = Counted { commands: Rc::clone(&self.host.commands), hooks: Rc::clone(&self.hooks) };
        self.host.bell.hang(options.door.then(|| orders.clone()));
        let extended = self.host.profile.as_ref().is_some_and(|p| *p.door.kind == DoorKind::Extension);
        let extension = (extended && options.door).then(|| {
            let Extension { commands, arguments } = self.host.extension.clone();
            extension::run(commands, arguments, orders.clone())
        });
        let attendance = self.host.attendance.as_ref().map(|attend| attend());
        let bell = self.host.bell.clone();
        let host = tokio::task::spawn_local(async move {
            let driven = async {
                if let Some(profile) = profile {
                    let machine = HostMachine::new(profile, options);
                    drive::drive_with(machine, &mut server, &commands, order_queue, events).await;
                } else {
                    bare::drive(server, order_queue, events).await;
                }
            };
            let driven = AssertUnwindSafe(driven).catch_unwind().await;
            bell.host_ends();
            tell_panic(driven, &told, watch);
        });
        let view = Rc::clone(&self.view);
        let watcher = tokio::task::spawn_local(watcher::follow(
            event_queue,
            self.watch.now_ms(),
            view,
            Rc::clone(&self.changed),
        ));
        let port = SessionPort {
            view: Rc::clone(&self.view),
            orders: orders.clone(),
            changed: Rc::clone(&self.changed),
            watch: self.watch,
            calls_made: Rc::clone(&self.calls_made),
            wait: self.host.wait.clone(),
            has_shell: self.host.options.shell
                && self.host.profile.as_ref().is_some_and(|profile| *profile.shell.available),
            shell_shown: self.host.profile.as_ref().map_or(ShellShown::Path, |profile| *profile.shell.shown),
            number: self.host.number,
        };
        let agent = tokio::task::spawn_local(agent::follow(self.policy.subscribe(), port));
        let tasks = [agent, host, watcher].into_iter();
        let tasks = tasks.chain(extension.map(tokio::task::spawn_local));
        let tasks = tasks.chain(attendance.map(tokio::task::spawn_local)).collect();
        self.running = Some(Running { orders, tasks });
    }

    /// Forgets the host process; it and its agent end at once.
    fn stop(&mut self) {
        self.host.bell.hang(None);
        self.host.bell.host_ends();
        if let Some(running) = self.running.take() {
            self.view.borrow_mut().attention.gone(self.watch.now_ms());
            for task in running.tasks {
                task.abort();
            }
        }
    }

    /// Tells the running host something; nothing happens when it does not run.
    pub(crate) fn order(&self, order: Order) {
        if let Some(running) = &self.running
            && running.orders.try_send(order).is_err()
        {
            self.view.borrow_mut().note(
                self.watch.now_ms(),
                reports::event::Lane::Event,
                "nobody is there to obey",
            );
        }
    }

    /// The model's call of one step of the scenario.
    pub(crate) fn call(&self, calls: Vec<(String, Value, String)>) {
        for (tool, _, label) in &calls {
            self.view.borrow_mut().call_started(label, tool, self.watch.now_ms());
        }
        let calls: Vec<ToolCall> =
            calls.into_iter().map(|(tool, arguments, label)| ToolCall::new(tool, arguments, label)).collect();
        self.order(Order::Act(Action::Calls(calls)));
    }

    /// The model leaves our command running in its background shell.
    pub(crate) fn shell(&self, label: String) {
        self.view.borrow_mut().call_started(&label, "shell", self.watch.now_ms());
        self.order(Order::Act(start_shell(&self.host.wait, label)));
    }

    /// Whether a hook of the host runs.
    pub(crate) fn runs_a_hook(&self) -> bool {
        self.hooks.get() > 0
    }

    /// What the agent does from now on.
    pub(crate) fn set_policy(&self, policy: AgentPolicy) {
        self.policy.send_replace(policy);
    }
}

fn start_shell(wait: &[String], label: String) -> Action {
    let description = "wait for messages from people".to_owned();
    Action::StartShell { arguments: wait.to_vec(), description, label }
}

/// A panic of the server in simulation is a failure of the cell, not a dead host.
fn tell_panic<T>(ended: Result<T, Box<dyn Any + Send>>, view: &Rc<RefCell<SessionView>>, watch: Stopwatch) {
    if let Err(panic) = ended {
        let said = super::panic_text(&*panic);
        view.borrow_mut().fail("server.panic", watch.now_ms(), format!("the server panicked: {said}"), None);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What an agent can do with its session.
pub(crate) struct SessionPort {
    view: Rc<RefCell<SessionView>>,
    orders: mpsc::Sender<Order>,
    changed: Rc<Notify>,
    watch: Stopwatch,
    calls_made: Rc<Flag<u64>>,
    wait: Vec<String>,
    has_shell: bool,
    shell_shown: ShellShown,
    number: u64,
}

impl SessionPort {
    /// Which of the cell's sessions it is; the main one is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Waits until the host has the server's tools.
    pub(crate) async fn ready(&self) {
        self.until(|view| view.ready.then_some(())).await;
    }

    /// Waits until the host is gone.
    pub(crate) async fn ended(&self) {
        self.orders.closed().await;
    }

    /// How many turns have begun, or gone on, by themselves so far.
    pub(crate) fn turns_by_itself(&self) -> u64 {
        self.view.borrow().turns_by_itself
    }

    /// Waits until there are more of them than so many.
    pub(crate) async fn woken_after(&self, turns: u64) {
        self.until(|view| (view.turns_by_itself > turns).then_some(())).await;
    }

    /// The person types.
    pub(crate) fn begin_turn(&self, prompt: &str) {
        self.act(Action::BeginTurn { prompt: prompt.to_owned() });
    }

    /// The model is done with this turn. Whether that ended it: a hook or what waited may make it go on.
    pub(crate) async fn end_turn(&self) -> bool {
        let before = self.turns_by_itself();
        self.act(Action::EndTurn);
        self.until(|view| (view.turns_by_itself > before || !view.in_turn).then_some(!view.in_turn)).await
    }

    /// The model uses a tool of the host's own.
    pub(crate) fn work(&self) {
        self.view.borrow_mut().attention.worked(self.watch.now_ms());
        self.act(Action::Work);
    }

    /// Texts that the model was shown by a carrier so far.
    pub(crate) fn shown_by(&self, carriers: &[&str]) -> usize {
        let view = self.view.borrow();
        view.model.iter().filter(|line| carriers.contains(&line.carrier.as_str())).count()
    }

    /// Waits until there are more of them than so many.
    pub(crate) async fn shown_after(&self, carriers: &[&str], texts: usize) {
        let by = |view: &SessionView| {
            view.model.iter().filter(|line| carriers.contains(&line.carrier.as_str())).count()
        };
        self.until(|view| (by(view) > texts).then_some(())).await;
    }

    /// Whether the model may leave our command running in its shell.
    pub(crate) fn has_shell(&self) -> bool {
        self.has_shell
    }

    /// What the host shows of a background shell that ended.
    pub(crate) fn shell_shown(&self) -> ShellShown {
        self.shell_shown
    }

    /// Leaves our command running in the background; how that began.
    pub(crate) async fn shell(&self) -> CallEnd {
        let label = self.started("shell");
        let told = self.told_last().map_or_else(|| self.wait.clone(), |line| vec![line]);
        self.act(start_shell(&told, label.clone()));
        self.outcome(&label).await
    }

    /// The command that an output of the shell last told the model to run, where it read one.
    fn told_last(&self) -> Option<String> {
        let view = self.view.borrow();
        let mut shown = view.model.iter().rev().filter(|line| line.carrier == "background_shell");
        shown.find_map(|line| told_to_run(&view.as_read(line)).map(str::to_owned))
    }

    /// Reads what the command wrote that ended last.
    pub(crate) async fn read_shell(&self) {
        let label = self.started("read");
        self.act(Action::ReadShell { label: label.clone() });
        self.outcome(&label).await;
    }

    fn act(&self, action: Action) {
        // A host that has gone ends the agent through `ended`.
        let _ = self.orders.try_send(Order::Act(action));
    }

    /// Calls a tool and waits for what the model is shown.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallEnd {
        let label = self.started(tool);
        self.act(Action::Call(ToolCall::new(tool, arguments, label.clone())));
        self.outcome(&label).await
    }

    fn started(&self, tool: &str) -> String {
        let number = self.calls_made.get() + 1;
        self.calls_made.set(number);
        let label = format!("agent-{number}");
        self.view.borrow_mut().call_started(&label, tool, self.watch.now_ms());
        label
    }

    async fn outcome(&self, label: &str) -> CallEnd {
        self.until(|view| view.calls.get(label).and_then(|call| call.end.clone())).await
    }

    async fn until<T>(&self, mut look: impl FnMut(&SessionView) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            if let Some(found) = look(&self.view.borrow()) {
                return found;
            }
            changed.await;
        }
    }
}
