//! The findings about a server.

use schemas::Version;

use super::outcome::Judged;
use super::sdks::Sdks;

/// Facts about the server, for the head of a report.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The name that the server gives.
    pub name: Option<String>,
    /// The version that the server gives.
    pub version: Option<String>,
    /// By version of the protocol: what the server declares in it, or why it does not speak it.
    pub versions: Vec<(Version, Result<String, String>)>,
    /// The newest version that it speaks, where every host offers a newer one.
    pub older: Option<Version>,
    /// Why nothing could be found out.
    pub unreachable: Option<String>,
}

/// All findings about one server.
#[derive(Default)]
pub struct Findings {
    /// Facts about the server.
    pub about: About,
    /// The versions in which the server was asked.
    pub versions: Vec<Version>,
    /// Verdicts by row and version.
    pub protocol: Vec<Judged>,
    /// Verdicts by row and host.
    pub hosts: Vec<Judged>,
    /// What its answers show of its SDK.
    pub(crate) sdks: Sdks,
    /// Whether the run was stopped before its end.
    pub is_stopped: bool,
}
