//! The orders that a driver takes, and the events that it reports. These are plain data without any rule.

use serde_json::Value;

use crate::effect::{Action, ModelEntry, Outcome, Signal};
use crate::log::WireEvent;

/// An instruction for a driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The model or the user performs an action.
    Act(Action),
    /// The driver writes this line to the server, although the host would not; the driver adds the newline.
    Raw(Vec<u8>),
    /// The next tool result is delayed until the host has given up on the call.
    LoseReply,
    /// The server's process gets a signal from elsewhere, for example by `kill -9`.
    Signal(Signal),
    /// A text has arrived by the host's wake-up.
    WakeUps(String),
    /// A text has arrived by the host's wake-up, and is kept from the model.
    Swallow(String),
}

/// An event of a driven host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    /// Milliseconds since the start of the run.
    pub at_ms: u64,
    /// The kind of event.
    pub kind: HostEventKind,
}

/// The kinds of events of a driven host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostEventKind {
    /// A line went over a pipe, or something happened to the process.
    Wire(WireEvent),
    /// The model was shown a text.
    Model(ModelEntry),
    /// A call has an outcome.
    CallDone {
        /// The call's label.
        label: String,
        /// The outcome.
        outcome: Outcome,
        /// The server's `result` or `error` member, if there is one.
        raw: Option<Value>,
    },
    /// The server is open.
    Ready,
    /// The host gave the server up.
    Failed(String),
    /// A turn of the model has begun or ended.
    Turn {
        /// Whether a turn is running.
        running: bool,
        /// Whether it began, or goes on, without the user.
        by_itself: bool,
    },
    /// The tools of the calls with an open dialog, the oldest first.
    Dialogs(Vec<String>),
    /// A text arrived by the host's wake-up, or by a hook beside the session; the model may be shown it
    /// later.
    WokenWith(String),
    /// The program under test, in a background shell or as a hook, has printed this; the model may be shown
    /// it later.
    Printed(String),
    /// A note for the log.
    Note(String),
}
