//! The actions that an agent has in its session, and the facts that it learns of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use fake_hosts::drive::Order;
use fake_hosts::{Action, ShellShown, ToolCall};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::commands::told_to_run;
use super::stopwatch::Stopwatch;
use super::view::{CallEnd, SessionView};

pub(super) fn start_shell(wait: &[String], label: String) -> Action {
    let description = "wait for messages from people".to_owned();
    Action::StartShell { arguments: wait.to_vec(), description, label }
}

/// An agent's access to its session.
pub(crate) struct SessionPort {
    pub(super) view: Rc<RefCell<SessionView>>,
    pub(super) orders: mpsc::Sender<Order>,
    pub(super) changed: Rc<Notify>,
    pub(super) watch: Stopwatch,
    pub(super) calls_made: Rc<Cell<u64>>,
    pub(super) wait: Vec<String>,
    pub(super) has_shell: bool,
    pub(super) shell_shown: ShellShown,
    pub(super) number: u64,
}

impl SessionPort {
    /// The number of the session in the cell; the main one is 1.
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

    /// The number of turns that have begun or gone on without a user so far.
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

    /// The text that the host shows for a background shell that ended.
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
