//! The plan of a run: the server, the rows, and how to ask. It is plain data without any rule.

use std::sync::Arc;

use schemas::Version;

use super::lab::Wishes;
use super::row::Placed;
use super::target::Target;
use crate::host::Host;

/// What is to be judged, and how.
pub struct Plan {
    /// The server.
    pub target: Target,
    /// The name in the hosts' configuration; the server's own name if `None`.
    pub name: Option<String>,
    /// Wishes from the command line.
    pub wishes: Arc<Wishes>,
    /// The rows.
    pub rows: Vec<Placed>,
    /// The versions.
    pub versions: Vec<Version>,
    /// Whether to ask everything, each question on a connection of its own. Otherwise what takes long is left out, the
    /// versions are the newest with a session and the newest without one that the server speaks, and questions share
    /// connections.
    pub full: bool,
    /// Whether these rows were named: what takes long is then asked too, by the same means.
    pub named: bool,
    /// Whether a version that the server does not speak is a gap.
    pub demanded: bool,
    /// The hosts.
    pub hosts: Vec<Arc<Host>>,
    /// The most servers that run at the same time.
    pub at_once: usize,
}
