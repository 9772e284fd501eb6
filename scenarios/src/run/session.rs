//! One host session of a cell, over all its restarts, and the port through which an agent uses it.

use std::any::Any;
use std::cell::{Cell as Flag, RefCell};
use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;

use fakes::host::drive::{self, Order};
use fakes::host::{Action, HostMachine, HostOptions, Profile, ToolCall, thread_id};
use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use super::stage::AnyServer;
use super::stopwatch::Stopwatch;
use super::view::{CallEnd, SessionView};
use super::{agent, bare, watcher};
use crate::scenario::AgentPolicy;

/// A session that can be started, driven and looked at.
pub(crate) struct Session {
    profile: Option<Arc<Profile>>,
    /// Which session of the cell it is; every start of it is a conversation of its own.
    number: u64,
    starts: u64,
    pub(crate) view: Rc<RefCell<SessionView>>,
    policy: watch::Sender<AgentPolicy>,
    watch: Stopwatch,
    changed: Rc<Notify>,
    make_server: Rc<dyn Fn() -> AnyServer>,
    running: Option<Running>,
    calls_made: Rc<Flag<u64>>,
}

struct Running {
    orders: mpsc::Sender<Order>,
    tasks: [JoinHandle<()>; 3],
}

/// Orders and events that wait at most.
const QUEUE_MAX: usize = 4_096;

impl Session {
    /// A session that has not been started. Without a profile it is a bare pipe.
    pub(crate) fn new(
        profile: Option<Arc<Profile>>,
        number: u64,
        policy: AgentPolicy,
        secret: &str,
        watch: Stopwatch,
        changed: Rc<Notify>,
        make_server: Rc<dyn Fn() -> AnyServer>,
    ) -> Self {
        Self {
            view: Rc::new(RefCell::new(SessionView::new(secret, profile.as_deref()))),
            profile,
            number,
            starts: 0,
            policy: watch::Sender::new(policy),
            watch,
            changed,
            make_server,
            running: None,
            calls_made: Rc::default(),
        }
    }

    /// Starts the host, which starts its server.
    pub(crate) fn start(&mut self) {
        self.stop();
        self.starts += 1;
        let options = HostOptions { thread: thread_id(self.number, self.starts), ..HostOptions::default() };
        let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
        let (events, event_queue) = mpsc::channel(QUEUE_MAX);
        let mut server = (self.make_server)();
        {
            let mut view = self.view.borrow_mut();
            (view.alive, view.ready) = (true, false);
        }
        let (told, watch, profile) = (Rc::clone(&self.view), self.watch, self.profile.clone());
        let host = tokio::task::spawn_local(async move {
            let driven = async {
                if let Some(profile) = profile {
                    let machine = HostMachine::new(profile, options);
                    drive::drive(machine, &mut server, order_queue, events).await;
                } else {
                    bare::drive(server, order_queue, events).await;
                }
            };
            tell_panic(AssertUnwindSafe(driven).catch_unwind().await, &told, watch);
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
        };
        let agent = tokio::task::spawn_local(agent::follow(self.policy.subscribe(), port));
        self.running = Some(Running { orders, tasks: [agent, host, watcher] });
    }

    /// Forgets the host process; it and its agent end at once.
    fn stop(&mut self) {
        if let Some(running) = self.running.take() {
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

    /// What the agent does from now on.
    pub(crate) fn set_policy(&self, policy: AgentPolicy) {
        self.policy.send_replace(policy);
    }
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
}

impl SessionPort {
    /// Waits until the host has the server's tools.
    pub(crate) async fn ready(&self) {
        self.until(|view| view.ready.then_some(())).await;
    }

    /// Waits until the host is gone.
    pub(crate) async fn ended(&self) {
        self.orders.closed().await;
    }

    /// Waits until a turn begins, or goes on, by itself.
    pub(crate) async fn woken(&self) {
        let before = self.view.borrow().turns_by_itself;
        self.until(|view| (view.turns_by_itself > before).then_some(())).await;
    }

    /// The person types.
    pub(crate) fn begin_turn(&self, prompt: &str) {
        self.act(Action::BeginTurn { prompt: prompt.to_owned() });
    }

    /// The model is done.
    pub(crate) fn end_turn(&self) {
        self.act(Action::EndTurn);
    }

    fn act(&self, action: Action) {
        // A host that has gone ends the agent through `ended`.
        let _ = self.orders.try_send(Order::Act(action));
    }

    /// Calls a tool and waits for what the model is shown.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> CallEnd {
        let number = self.calls_made.get() + 1;
        self.calls_made.set(number);
        let label = format!("agent-{number}");
        self.view.borrow_mut().call_started(&label, tool, self.watch.now_ms());
        self.act(Action::Call(ToolCall::new(tool, arguments, label.clone())));
        self.until(|view| view.calls.get(&label).and_then(|call| call.end.clone())).await
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
