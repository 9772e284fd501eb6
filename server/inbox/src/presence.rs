//! Who is at the other end of a connection and what reaches them, for `entraclaw status`.
//!
//! It must never decide anything: delivery does not look here. Names come from the host and are cleaned before they
//! are shown.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::watched::Watched;
use entraclaw_sanitize::clean_name;

/// Hosts named on one connection; a pipe of the modern era may carry several.
const HOSTS_MAX: usize = 4;

/// A host by its own word.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostSeen {
    /// Its name, cleaned.
    pub name: String,
    /// Its version, cleaned; empty when it gives none.
    pub version: String,
}

/// What is known of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresenceState {
    /// The hosts that spoke.
    pub hosts: BTreeSet<HostSeen>,
    /// The consumers that they read as.
    pub consumers: BTreeSet<String>,
    /// How messages reach them: what they have used, and what is sent to them unasked.
    pub carriers: BTreeSet<&'static str>,
    /// Waiting calls that are open, tasks included.
    pub waiting_calls: usize,
    /// From when on the host's own wake-up may be used again, while it has brought as much as an hour may have.
    pub wake_ups_from: Option<Timestamp>,
    /// Lines read so far.
    pub lines_total: u64,
}

/// A handle to what is known.
pub type Presence = Watched<PresenceState>;

impl Presence {
    /// A host said who it is.
    pub(crate) fn met(&self, name: &str, version: &str) {
        let host = HostSeen { name: clean_name(name), version: clean_name(version) };
        self.update(|state| {
            if state.hosts.len() < HOSTS_MAX {
                state.hosts.insert(host);
            }
        });
    }

    /// How the host's own wake-up is doing, by its name among the carriers, in place of what was told before.
    pub(crate) fn wake_up(&self, before: Option<&'static str>, now: &'static str) {
        self.update(|state| {
            if let Some(before) = before {
                state.carriers.remove(before);
            }
            state.carriers.insert(now);
        });
    }

    /// From when on the wake-up may be used again, or that it may now.
    pub(crate) fn wake_ups_from(&self, from: Option<Timestamp>) {
        self.update(|state| state.wake_ups_from = from);
    }

    /// The model took messages by this way.
    pub(crate) fn used(&self, carrier: &'static str) {
        self.update(|state| {
            state.carriers.insert(carrier);
        });
    }
}
