//! Calls that the server answers with a task: followed until they end, if the host does that. Each task has
//! one open request at a time; its end is reported once.

use std::sync::Arc;

use serde_json::{Value, json};

use super::send::Shape;
use super::turn::Notice;
use super::{Era, HostMachine, Pending, Phase, Timer};
use crate::effect::{Carrier, Outcome};
use crate::flatten::{self, Origin};
use crate::wire::fill;

/// Shortest time between two requests for a task, in milliseconds: a server that states none must not cause a
/// busy loop.
const POLL_MS_MIN: u64 = 10;

/// A call that became a task.
#[derive(Debug)]
pub(super) struct Task {
    /// The server's id of the task.
    id: Value,
    tool: String,
    label: String,
    interval_ms: u64,
}

impl HostMachine {
    /// The `clientCapabilities` of the newer era, by the user's settings.
    pub(super) fn modern_capabilities(&self) -> Value {
        let experimental = self.mode(&self.profile.tasks.capabilities).filter(|_| self.options.experimental);
        experimental.unwrap_or_else(|| self.mode(&self.profile.identity.modern_capabilities))
    }

    /// Whether an answer to a call is a task that this host follows.
    pub(super) fn follows_task(&self, result: &Value) -> bool {
        let facts = &self.profile.tasks;
        self.link.era == Era::Modern
            && self.mode(&facts.followed)
            && (self.options.experimental || !*facts.experimental)
            && result.get("resultType").and_then(Value::as_str) == Some("task")
            && result.get("taskId").is_some_and(Value::is_string)
    }

    pub(super) fn become_task(&mut self, seq: u64, result: &Value) {
        let Some((tool, label)) = self.let_go(seq) else { return };
        let number = self.turn.new_task();
        let interval = ["pollIntervalMs", "pollInterval"].iter().find_map(|key| result.get(*key)?.as_u64());
        let id = result.get("taskId").cloned().unwrap_or_default();
        let text = self.task_words(&self.profile.tasks.started.clone(), &tool, &id, "", "");
        self.show(Carrier::ToolResult, Some(tool.clone()), Some(label.clone()), text, false, false);
        self.tool_done(&tool);
        self.done_with(label.clone(), Outcome::Backgrounded, Some(result.clone()));
        let interval_ms = interval.unwrap_or(*self.profile.tasks.poll_interval_ms).max(POLL_MS_MIN);
        self.tasks.insert(number, Task { id, tool, label, interval_ms });
        self.ask_task(number);
    }

    pub(super) fn ask_task(&mut self, number: u64) {
        if self.link.phase != Phase::Open {
            return;
        }
        let Some(id) = self.tasks.get(&number).map(|task| task.id.clone()) else { return };
        self.request("tasks/get", vec![("taskId", id)], None, Shape::Plain, Pending::Task(number));
    }

    pub(super) fn on_task_answer(&mut self, number: u64, body: Result<Value, Value>) {
        let Some(task) = self.tasks.get(&number) else { return };
        let interval_ms = task.interval_ms;
        let tool = task.tool.clone();
        match body {
            Ok(state) => match state.get("status").and_then(Value::as_str) {
                Some(status @ ("completed" | "failed" | "cancelled")) => {
                    let (text, bad) = self.task_result(&tool, state.get("result"));
                    self.task_over(number, status, &text, bad || status != "completed");
                }
                _ => self.set_timer(Timer::Task(number), interval_ms),
            },
            Err(error) => {
                let message = error.get("message").and_then(Value::as_str).unwrap_or_default();
                let text = self.words(&self.profile.texts.rpc_error.clone(), &tool, message);
                self.task_over(number, "failed", &text, true);
            }
        }
    }

    /// The server has exited, and its tasks with it.
    pub(super) fn fail_tasks(&mut self) {
        for number in self.tasks.keys().copied().collect::<Vec<_>>() {
            let text = self.profile.texts.closed.value.clone();
            self.task_over(number, "failed", &text, true);
        }
    }

    fn task_result(&self, tool: &str, result: Option<&Value>) -> (String, bool) {
        let Some(result) = result else { return (String::new(), false) };
        let tool_meta = self.catalog.find(tool).map(|tool| tool.meta.clone()).unwrap_or_default();
        let origin = Origin {
            server: &self.options.server_name,
            tool,
            tool_meta: &tool_meta,
            path: "/tmp/task-output.txt",
        };
        let shown = flatten::result(&self.profile.texts, origin, result);
        (shown.text, shown.is_error)
    }

    fn task_over(&mut self, number: u64, status: &str, result: &str, bad: bool) {
        self.timers.remove(&Timer::Task(number));
        let Some(task) = self.tasks.remove(&number) else { return };
        let profile = Arc::clone(&self.profile);
        let facts = &profile.tasks;
        let text = self.task_words(&facts.done, &task.tool, &task.id, status, result);
        let notice =
            Notice { carrier: Carrier::Task, tool: Some(task.tool), label: Some(task.label), text, bad };
        self.comes_by_itself(notice, self.mode(&facts.wakes), *facts.busy);
    }

    fn task_words(&self, template: &str, tool: &str, id: &Value, status: &str, result: &str) -> String {
        let id = id.as_str().map_or_else(|| json!(id).to_string(), str::to_owned);
        fill(
            template,
            &[
                ("server", self.options.server_name.as_str()),
                ("tool", tool),
                ("task", id.as_str()),
                ("status", status),
                ("result", result),
            ],
        )
    }
}
