//! Finds what an earlier engine left: tasks that wait, were paused or were under way.
//!
//! It must never run a tool again that may have left something behind, without saying so.

use serde_json::Map;

use super::core::Core;
use crate::queue::Lane;
use crate::source::Source;
use crate::store::StoreError;
use crate::task::{CallResult, CallState, Task, TaskState, ToolCall};

/// The status of a call of which the store does not tell whether it has ended.
const UNKNOWN: &str = "unknown";

pub(super) fn lane(source: &Source) -> Lane {
    if source.is_person() { Lane::Person } else { Lane::Hosts }
}

/// The result of a call of which the store does not tell whether it has ended.
pub(super) fn unknown(why: &str) -> CallResult {
    let text = format!(
        "error: {why}; it may have run in part or as a whole. Look at what it has left before you call it again."
    );
    CallResult { text, status: UNKNOWN.to_owned(), shown: Map::new() }
}

impl Core {
    /// Puts every task that has not ended into the queue, in its old order.
    pub(super) fn recover(&mut self) -> Result<(), StoreError> {
        let open = self.store.open_tasks()?;
        let ids: Vec<_> = open.iter().map(|task| task.id.clone()).collect();
        self.toolbox.begins(&ids);
        for task in open {
            for call in self.store.calls(&task.id)? {
                if call.state == CallState::Running {
                    self.toolbox.cut_short(&task, &call.request);
                    self.recover_call(&call)?;
                }
            }
            if task.state == TaskState::InProgress {
                let notes = notes_after_restart(&task);
                self.store.requeue_task(&task.id, &notes)?;
            }
            self.queue.add(task.id.clone(), lane(&task.source));
        }
        Ok(())
    }

    fn recover_call(&mut self, call: &ToolCall) -> Result<(), StoreError> {
        if self.toolbox.writes(&call.request.name) {
            let why = "the engine was ended while this ran";
            self.store.end_call(call.number, &unknown(why), self.now_ms())
        } else {
            self.store.call_again(call.number)
        }
    }
}

fn notes_after_restart(task: &Task) -> Vec<String> {
    let mut notes = task.notes.clone();
    if task.started_ms.is_some() {
        let note = "the engine was restarted while this task ran".to_owned();
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}
