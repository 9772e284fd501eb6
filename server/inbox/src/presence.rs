//! The hosts of a connection and the carriers that reach them, for `entraclaw status`.
//!
//! It must never decide anything, and delivery never reads it. Hosts choose their names, so they are cleaned
//! before they are shown.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::sessions::HostLine;
use crate::watched::Watched;
use entraclaw_sanitize::clean_name;

/// The most hosts named on one connection; a pipe of the modern era may carry several.
const HOSTS_MAX: usize = 4;

/// The state of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresenceState {
    /// The hosts that sent a message.
    pub hosts: BTreeSet<HostLine>,
    /// The consumers that the hosts read as.
    pub consumers: BTreeSet<String>,
    /// How messages reach the hosts: carriers that they have used, and carriers that send unasked.
    pub carriers: BTreeSet<&'static str>,
    /// Waiting calls that are open, tasks included.
    pub waiting_calls: usize,
    /// When the host's own wake-up may be used again, if this hour's wake-ups are used up.
    pub wake_ups_from: Option<Timestamp>,
    /// Lines that were read from the connection.
    pub lines_total: u64,
}

/// A handle to a connection's state.
pub type Presence = Watched<PresenceState>;

impl Presence {
    /// Notes a host's name and version.
    pub(crate) fn met(&self, name: &str, version: &str) {
        let host = HostLine { name: clean_name(name), version: clean_name(version) };
        self.update(|state| {
            if state.hosts.len() < HOSTS_MAX {
                state.hosts.insert(host);
            }
        });
    }

    /// Replaces the state of the host's own wake-up among the carriers.
    pub(crate) fn wake_up(&self, before: Option<&'static str>, now: &'static str) {
        self.update(|state| {
            if let Some(before) = before {
                state.carriers.remove(before);
            }
            state.carriers.insert(now);
        });
    }

    /// Sets when the wake-up may be used again; `None` means now.
    pub(crate) fn wake_ups_from(&self, from: Option<Timestamp>) {
        self.update(|state| state.wake_ups_from = from);
    }

    /// Notes that the model took messages with this carrier.
    pub(crate) fn used(&self, carrier: &'static str) {
        self.update(|state| {
            state.carriers.insert(carrier);
        });
    }
}
