//! What `copilot` keeps of its sessions: a folder for each, with the events that last. Each event names the one before it
//! that lasts.

use serde_json::{Value, json};

use crate::pen::Pen;

use super::version::Version;

/// Writes events to a session's file and, where the output is JSON lines, to stdout.
pub(crate) struct Events {
    /// The session's file below the store.
    file: String,
    /// Whether stdout has the events too.
    shown: bool,
    version: Version,
    parent: Value,
}

impl Events {
    /// For a session of this id.
    pub(crate) fn new(session: &str, shown: bool, version: Version) -> Self {
        Self { file: events_file(session), shown, version, parent: Value::Null }
    }

    /// An event that only the output has.
    pub(super) fn passing(&mut self, pen: &mut Pen, kind: &str, data: Value) {
        if self.shown && self.version.has_event(kind) {
            let mut event = json!({"type": kind, "data": null, "ephemeral": true, "id": pen.uuid(),
                "timestamp": pen.now(), "parentId": self.parent});
            event["data"] = data;
            pen.out(format!("{event}\n"));
        }
    }

    /// An event that the session's file has too.
    pub(super) fn lasting(&mut self, pen: &mut Pen, kind: &str, data: Value) {
        self.write(pen, kind, data, self.shown);
    }

    /// An event that only the session's file has.
    pub(crate) fn hidden(&mut self, pen: &mut Pen, kind: &str, data: Value) {
        self.write(pen, kind, data, false);
    }

    fn write(&mut self, pen: &mut Pen, kind: &str, data: Value, shown: bool) {
        let id = pen.uuid();
        let mut event = json!({"type": kind, "data": null, "id": id, "timestamp": pen.now(),
            "parentId": self.parent});
        event["data"] = data;
        self.parent = id.into();
        let line = format!("{event}\n");
        if shown {
            pen.out(&line);
        }
        pen.store(&self.file, line);
    }
}

/// The file of a session's events, below the store.
pub(crate) fn events_file(session: &str) -> String {
    format!("session-state/{session}/events.jsonl")
}

/// The file of what is said of a session in lists, below the store.
pub(crate) fn workspace_file(session: &str) -> String {
    format!("session-state/{session}/workspace.yaml")
}
