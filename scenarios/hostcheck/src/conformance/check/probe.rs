//! What a probe is: a short conversation, and where it makes sense.

use futures_util::future::LocalBoxFuture;
use schemas::Version;

use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::target::Target;

/// In which versions a probe makes sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// All of them.
    Both,
    /// Those that open with `initialize`.
    Legacy,
    /// Those without a session.
    Modern,
}

impl Era {
    pub(crate) fn has(self, version: Version) -> bool {
        match self {
            Self::Both => true,
            Self::Legacy => !version.is_modern(),
            Self::Modern => version.is_modern(),
        }
    }
}

/// What a probe needs of a server's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Any connection.
    Nothing,
    /// Bytes that arrive as they were written.
    Pipes,
    /// A process, its signals and its stderr.
    Process,
    /// Requests of HTTP.
    Address,
}

impl Needs {
    /// Why a target can't have it.
    pub(crate) fn missing(self, target: &Target) -> Option<&'static str> {
        match self {
            Self::Pipes if !target.has_pipes() => Some("about pipes; this server is reached by an address"),
            Self::Address if !target.has_address() => Some("about streamable HTTP; this server has pipes"),
            Self::Process if !target.has_process() => Some("about a process; this server is not one of ours"),
            _ => None,
        }
    }
}

pub(crate) type Run = for<'a> fn(&'a mut Lab) -> LocalBoxFuture<'a, Result<(), Trouble>>;

/// A conversation that answers checks.
pub(crate) struct Probe {
    /// Its name in reports.
    pub(crate) name: &'static str,
    /// Every check that it can tell about.
    pub(crate) checks: &'static [&'static str],
    pub(crate) era: Era,
    pub(crate) needs: Needs,
    /// Whether all its lines are those of a server that was treated roughly, which say nothing of the rules of the wire.
    pub(crate) rough: bool,
    pub(crate) run: Run,
}

impl Probe {
    pub(super) const ROUGH: bool = true;
}

/// The probes of an area. A row: the name, the checks, the versions, what is needed of the connection, `ROUGH` where the
/// server is treated so, and the conversation.
macro_rules! probes {
    ($( $name:literal $checks:tt $era:ident $needs:ident $($rough:ident)? |$lab:ident| $run:expr; )*) => {
        pub(super) const PROBES: &[$crate::conformance::check::probe::Probe] = &[
            $( $crate::conformance::check::probe::Probe {
                name: $name,
                checks: &$checks,
                era: $crate::conformance::check::probe::Era::$era,
                needs: $crate::conformance::check::probe::Needs::$needs,
                rough: false $(|| $crate::conformance::check::probe::Probe::$rough)?,
                run: |$lab| Box::pin($run),
            }, )*
        ];
    };
}
pub(super) use probes;
