//! The outcome of a check, with its evidence. A check without an answer has not passed.

use std::collections::BTreeMap;
use std::fmt;

use reports::event::{Status, WireLine};

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The required behaviour was observed.
    Passed,
    /// Another behaviour was observed.
    Failed(Vec<Evidence>),
    /// It was asked several times, and the answers differ.
    Flaky(Differing),
    /// The server does not offer the feature, or the version does not have it.
    NotApplicable(String),
    /// The host is known to leave no way to tell.
    Unsupported(String),
    /// Whether the host accepts it is not known.
    Unknown(String),
    /// It could not be found out.
    CouldNotRun(String),
}

/// Answers to one question that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    /// How often it failed, and in what way.
    pub reason: String,
    /// Whether it failed beside other servers of this run only, where a host has one.
    pub held_alone: bool,
}

/// The expected and the observed behaviour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What is wrong, in a sentence.
    pub message: String,
    /// What would have been right.
    pub expected: Option<String>,
    /// An excerpt of the wire.
    pub observed: Option<String>,
    /// Whether that tells the author of a server more than that it is not what was expected.
    pub tells: bool,
    /// The time, in milliseconds since the start of the server.
    pub at_ms: u64,
}

/// What came, as a probe tells it.
#[derive(Debug, Clone)]
pub(crate) struct Observed {
    pub(crate) text: String,
    /// Whether it tells more than that it is not what was expected, like the words of an error.
    pub(crate) tells: bool,
}

impl Observed {
    pub(crate) fn telling(text: impl Into<String>) -> Self {
        Self { text: text.into(), tells: true }
    }
}

/// What stands for what came: a plain text tells nothing more.
pub(crate) trait Seen {
    fn observed(&self) -> Observed;
}

impl Seen for str {
    fn observed(&self) -> Observed {
        Observed { text: self.to_owned(), tells: false }
    }
}

impl Seen for String {
    fn observed(&self) -> Observed {
        self.as_str().observed()
    }
}

impl Seen for Observed {
    fn observed(&self) -> Observed {
        self.clone()
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Outcome {
    /// The status in the event stream.
    pub fn status(&self) -> Status {
        match self {
            Self::Passed => Status::Pass,
            Self::Failed(_) => Status::Fail,
            Self::Flaky(_) => Status::Flaky,
            Self::NotApplicable(_) => Status::NotApplicable,
            Self::Unsupported(_) => Status::Unsupported,
            Self::Unknown(_) => Status::Unknown,
            Self::CouldNotRun(_) => Status::NotRun,
        }
    }

    /// The reason of an outcome that neither passed nor failed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Flaky(differing) => Some(&differing.reason),
            Self::NotApplicable(reason)
            | Self::Unsupported(reason)
            | Self::Unknown(reason)
            | Self::CouldNotRun(reason) => Some(reason),
            Self::Passed | Self::Failed(_) => None,
        }
    }

    /// Says of a flaky one that it held whenever nothing else ran.
    pub(crate) fn and_held_alone(self) -> Self {
        match self {
            Self::Flaky(Differing { reason, .. }) => Self::Flaky(Differing {
                reason: format!("{reason}; it failed beside other servers of this run, and not alone"),
                held_alone: true,
            }),
            other => other,
        }
    }

    /// Whether it is flaky and held whenever nothing else ran.
    pub fn held_alone(&self) -> bool {
        matches!(self, Self::Flaky(differing) if differing.held_alone)
    }

    fn weight(&self) -> u8 {
        match self {
            Self::Failed(_) => 6,
            Self::Flaky(_) => 5,
            Self::CouldNotRun(_) => 4,
            Self::Unknown(_) => 3,
            Self::Passed => 2,
            Self::Unsupported(_) => 1,
            Self::NotApplicable(_) => 0,
        }
    }

    /// Combines both: a failure outweighs an unknown, which outweighs a pass.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Failed(mut one), Self::Failed(other)) => {
                one.extend(other);
                Self::Failed(one)
            }
            (one, other) if one.weight() >= other.weight() => one,
            (_, other) => other,
        }
    }
}

/// The outcome of the same question asked several times: what depends on time can differ from one time to the next.
pub(crate) fn over_tries(tries: Vec<Outcome>) -> Outcome {
    let failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed(_) | Outcome::CouldNotRun(_));
    let (count, failures) = (tries.len(), tries.iter().filter(|outcome| failed(outcome)).count());
    if failures == 0 || failures == count {
        let never = || Outcome::CouldNotRun("it was not asked".to_owned());
        return tries.into_iter().next().unwrap_or_else(never);
    }
    let why = tries.iter().find_map(|outcome| match outcome {
        Outcome::Failed(evidence) => evidence.first().map(|evidence| evidence.message.clone()),
        Outcome::CouldNotRun(reason) => Some(reason.clone()),
        _ => None,
    });
    let reason = format!("{failures} of {count} times: {}", why.unwrap_or_default());
    Outcome::Flaky(Differing { reason, held_alone: false })
}

/// The verdict on one row in one column.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The row's id.
    pub row: String,
    /// The version, or the host.
    pub column: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The transcript, where it is evidence.
    pub transcript: Vec<WireLine>,
    /// Facts of the session.
    pub session: BTreeMap<String, String>,
}

impl Judged {
    /// A verdict without evidence.
    pub(crate) fn bare(row: &str, column: &str, outcome: Outcome) -> Self {
        let (row, column) = (row.to_owned(), column.to_owned());
        Self { row, column, outcome, transcript: Vec::new(), session: BTreeMap::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_differ_are_told_with_their_numbers() {
        let failed = || Outcome::Failed(Vec::new());
        assert_eq!(over_tries(vec![failed(), failed()]), failed());
        assert_eq!(over_tries(vec![Outcome::Passed]), Outcome::Passed);
        let silent = Outcome::CouldNotRun("the handshake failed".to_owned());
        let flaky = over_tries(vec![silent, Outcome::Passed, Outcome::Passed]);
        assert_eq!(flaky.reason(), Some("1 of 3 times: the handshake failed"));
        assert_eq!(flaky.status(), Status::Flaky);
        assert!(!flaky.held_alone() && flaky.and_held_alone().held_alone());
    }

    #[test]
    fn a_failure_outweighs_all_and_a_pass_outweighs_not_applicable() {
        let failed = || Outcome::Failed(Vec::new());
        let unknown = || Outcome::CouldNotRun(String::new());
        let none = || Outcome::NotApplicable(String::new());
        assert_eq!(Outcome::Passed.and(failed()), failed());
        assert_eq!(unknown().and(Outcome::Passed), unknown());
        assert_eq!(none().and(Outcome::Passed), Outcome::Passed);
        assert_eq!(none().and(none()), none());
        let unseen = || Outcome::Unknown(String::new());
        assert_eq!(Outcome::Passed.and(unseen()), unseen());
        let lacking = || Outcome::Unsupported(String::new());
        assert_eq!(none().and(lacking()), lacking());
        assert_eq!(lacking().and(Outcome::Passed), Outcome::Passed);
    }
}
