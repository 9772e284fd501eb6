//! One host session of a cell, over all its restarts, and the port through which an agent uses it.

use std::any::Any;
use std::cell::{Cell as Flag, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use fake_hosts::drive::{self, Commands, Order};
use fake_hosts::{
    Action, AnyServer, HostMachine, HostOptions, Profile, ShellShown, ToolCall, WakeUpKind, thread_id,
};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use scenario::AgentPolicy;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use super::commands::Counted;
use super::ended::panic_text;
use super::session_port::{SessionPort, start_shell};
use super::stopwatch::Stopwatch;
use super::view::SessionView;
use super::wake_up_target::WakeUpTarget;
use super::{agent, bare, extension, watcher};

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
    /// The number of the session in the cell.
    pub(crate) number: u64,
    pub(crate) make_server: Rc<dyn Fn() -> AnyServer>,
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) target: WakeUpTarget,
    /// The command that its model is told to leave running in the shell.
    pub(crate) wait: Vec<String>,
    /// The extension that is loaded into the session, where the host has extensions.
    pub(crate) extension: Extension,
    /// Serves its wake-up, where that is a real one.
    pub(crate) attendance: Option<Attendance>,
}

/// Code of ours that the host loads, by what it runs.
#[derive(Clone)]
pub(crate) struct Extension {
    pub(crate) commands: Rc<dyn Commands>,
    pub(crate) arguments: Vec<String>,
}

/// Serves the wake-up for one run of the host.
pub(crate) type Attendance = Rc<dyn Fn() -> LocalBoxFuture<'static, ()>>;

/// The host as its files describe it, in place of the runner's own settings.
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

    /// The options of its host.
    pub(crate) fn options(&self) -> &HostOptions {
        &self.host.options
    }

    /// The consumer as which it reads.
    pub(crate) fn consumer(&self) -> &str {
        &self.host.consumer
    }

    /// The target of its host's wake-up.
    pub(crate) fn target(&self) -> &WakeUpTarget {
        &self.host.target
    }

    /// Starts the host, which starts its server.
    pub(crate) fn start(&mut self) {
        self.stop();
        self.starts += 1;
        let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
        let (events, event_queue) = mpsc::channel(QUEUE_MAX);
        self.host.target.host_starts();
        let mut server = (self.host.make_server)();
        {
            let mut view = self.view.borrow_mut();
            (view.alive, view.ready, view.in_turn) = (true, false, false);
        }
        let (told, watch, profile) = (Rc::clone(&self.view), self.watch, self.host.profile.clone());
        let thread = thread_id(self.host.number, self.starts);
        let options = HostOptions { thread, ..self.host.options.clone() };
        let commands = Counted { commands: Rc::clone(&self.host.commands), hooks: Rc::clone(&self.hooks) };
        self.host.target.hang(options.wake_up.then(|| orders.clone()));
        let extended = self.host.profile.as_ref().is_some_and(|p| *p.wake_up.kind == WakeUpKind::Extension);
        let extension = (extended && options.wake_up).then(|| {
            let Extension { commands, arguments } = self.host.extension.clone();
            extension::run(commands, arguments, orders.clone())
        });
        let attendance = self.host.attendance.as_ref().map(|attend| attend());
        let target = self.host.target.clone();
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
            target.host_ends();
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
        self.host.target.hang(None);
        self.host.target.host_ends();
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
                "its host is not running",
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

    /// Sets how the agent behaves from now on.
    pub(crate) fn set_policy(&self, policy: AgentPolicy) {
        self.policy.send_replace(policy);
    }
}

/// A panic of the server in simulation is a failure of the cell, and not an ended host.
fn tell_panic<T>(ended: Result<T, Box<dyn Any + Send>>, view: &Rc<RefCell<SessionView>>, watch: Stopwatch) {
    if let Err(panic) = ended {
        let said = panic_text(&*panic);
        view.borrow_mut().fail("server.panic", watch.now_ms(), format!("the server panicked: {said}"), None);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop();
    }
}
