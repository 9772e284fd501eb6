//! What came out of judging a server.

use schemas::Version;

use super::protocol::Judged;

/// What is known of the server, for the head of a report.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// Its name, as it says.
    pub name: Option<String>,
    /// Its version, as it says.
    pub version: Option<String>,
    /// By version of the protocol: what it declares there, or why it does not speak it.
    pub versions: Vec<(Version, Result<String, String>)>,
    /// Why nothing could be learnt.
    pub dead: Option<String>,
}

/// What came out.
pub struct Findings {
    /// The server.
    pub about: About,
    /// Rows in versions.
    pub protocol: Vec<Judged>,
    /// Rows in hosts.
    pub hosts: Vec<Judged>,
}
