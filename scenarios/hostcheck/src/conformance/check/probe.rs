//! Defines a probe: a short conversation, and the versions and connections to which it applies.

use futures_util::future::LocalBoxFuture;
use schemas::Version;

use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::target::Target;

/// The versions to which a probe applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Both,
    /// The versions that open with `initialize`.
    Legacy,
    /// The versions without a session.
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
    /// Bytes that arrive exactly as they were written.
    Pipes,
    /// A process, its signals and its stderr.
    Process,
    /// HTTP requests.
    Address,
}

impl Needs {
    /// Why the target does not have it; `None` if it has.
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
    /// The name in reports.
    pub(crate) name: &'static str,
    /// The checks that it may answer.
    pub(crate) checks: &'static [&'static str],
    pub(crate) era: Era,
    pub(crate) needs: Needs,
    /// Whether the host itself breaks the rules, so that the server's lines prove nothing about the rules of
    /// the wire.
    pub(crate) rough: bool,
    /// Whether it is asked with `--full` only: it takes long, or hardly a server fails it.
    pub(crate) rare: bool,
    /// Whether it can follow other questions on their connection, although its area is about beginnings.
    pub(crate) in_turn: bool,
    /// Like that, and it starts the connection, which others use after it.
    pub(crate) begins: bool,
    /// Whether it comes after the others of its connections: it closes one, or needs two.
    pub(crate) late: bool,
    pub(crate) run: Run,
}

/// How the host behaves in a probe, and when the probe is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Trait {
    /// The host itself breaks the rules.
    Rough,
    /// Asked with `--full` only.
    Rare,
    /// It can follow other questions.
    InTurn,
    /// Others can follow it on the connection that it starts.
    Begins,
    /// It closes a connection, or needs two.
    Late,
}

impl Probe {
    pub(super) const fn is(traits: &[Trait], wanted: Trait) -> bool {
        let mut at = 0;
        while at < traits.len() {
            if traits[at] as u8 == wanted as u8 {
                return true;
            }
            at += 1;
        }
        false
    }
}

/// The probes of an area. A row: the name, the checks, the versions, the connection that it needs, `Rough`
/// where the host breaks the rules, `Rare` where it is asked with `--full` only, `InTurn` where it can follow other
/// questions in an area of beginnings, `Begins` where they can follow it, `Late` where it
/// closes a connection or needs two, and the conversation.
macro_rules! probes {
    ($( $name:literal $checks:tt $era:ident $needs:ident $($trait:ident)* |$lab:ident| $run:expr; )*) => {
        pub(super) const PROBES: &[$crate::conformance::check::probe::Probe] = &[
            $( $crate::conformance::check::probe::Probe {
                name: $name,
                checks: &$checks,
                era: $crate::conformance::check::probe::Era::$era,
                needs: $crate::conformance::check::probe::Needs::$needs,
                rough: $crate::conformance::check::probe::Probe::is(
                    &[$( $crate::conformance::check::probe::Trait::$trait ),*],
                    $crate::conformance::check::probe::Trait::Rough,
                ),
                rare: $crate::conformance::check::probe::Probe::is(
                    &[$( $crate::conformance::check::probe::Trait::$trait ),*],
                    $crate::conformance::check::probe::Trait::Rare,
                ),
                in_turn: $crate::conformance::check::probe::Probe::is(
                    &[$( $crate::conformance::check::probe::Trait::$trait ),*],
                    $crate::conformance::check::probe::Trait::InTurn,
                ),
                begins: $crate::conformance::check::probe::Probe::is(
                    &[$( $crate::conformance::check::probe::Trait::$trait ),*],
                    $crate::conformance::check::probe::Trait::Begins,
                ),
                late: $crate::conformance::check::probe::Probe::is(
                    &[$( $crate::conformance::check::probe::Trait::$trait ),*],
                    $crate::conformance::check::probe::Trait::Late,
                ),
                run: |$lab| Box::pin($run),
            }, )*
        ];
    };
}
pub(super) use probes;
