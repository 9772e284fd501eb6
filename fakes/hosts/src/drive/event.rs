//! The orders that a driver takes, and the events that it reports. These are plain data without any rule.

use crate::effect::{Action, HostEventKind, Signal};

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
    DropWakeUp(String),
}

/// An event of a driven host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostEvent {
    /// Milliseconds since the start of the run.
    pub at_ms: u64,
    /// The kind of event.
    pub kind: HostEventKind,
}
