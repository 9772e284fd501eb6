//! The symbol, word and weight of each state. No state but pass may look like a pass.

use crate::event::{Status, Support};

impl Status {
    /// Every state in the order of the legend, best first.
    pub const ALL: [Self; 9] = [
        Self::Pass,
        Self::Fail,
        Self::Error,
        Self::Flaky,
        Self::NotRun,
        Self::KnownIssue,
        Self::Unsupported,
        Self::Unknown,
        Self::NotApplicable,
    ];

    /// Symbol, word, severity, meaning.
    fn row(self) -> (&'static str, &'static str, u8, &'static str) {
        match self {
            Self::Pass => ("✓", "pass", 0, "everything expected happened and no rule was broken"),
            Self::Fail => ("✗", "fail", 8, "an expectation or a rule did not hold"),
            Self::Error => ("!", "error", 7, "the harness or the server broke, so nothing can be said"),
            Self::Unsupported => {
                ("–", "unsupported", 2, "the host is known to lack what the requirement needs")
            }
            Self::KnownIssue => ("⚑", "known-issue", 4, "fails as recorded in the scenario"),
            Self::Flaky => ("~", "flaky", 6, "passed and failed with the same seed"),
            Self::NotRun => ("?", "not-run", 5, "selected, but it could not run, so there is no result"),
            Self::NotApplicable => {
                let meaning = "the requirement is not about this host, server or version, or was not asked for in this run";
                ("○", "not-applicable", 1, meaning)
            }
            Self::Unknown => {
                ("·", "unknown", 3, "it is not known whether the host has what the requirement needs")
            }
        }
    }

    /// One narrow character that is clear without colour.
    pub fn symbol(self) -> &'static str {
        self.row().0
    }

    /// The word beside the symbol; also its name in JSON.
    pub fn word(self) -> &'static str {
        self.row().1
    }

    /// Symbol and word.
    pub(crate) fn label(self) -> String {
        format!("{} {}", self.symbol(), self.word())
    }

    /// What the state means, in a sentence for the legend.
    pub fn meaning(self) -> &'static str {
        self.row().3
    }

    /// The weight of a state in a cell with several runs: the highest wins. A proven defect outweighs a
    /// broken run, and both outweigh an unknown; a pass never hides another state.
    pub fn severity(self) -> u8 {
        self.row().2
    }

    /// Whether the run found a defect.
    pub fn is_defect(self) -> bool {
        matches!(self, Self::Fail | Self::Error | Self::Flaky)
    }

    /// Whether it says something about the server. Features that the host lacks, that are unknown, or that
    /// were not selected, count neither for nor against the server.
    pub fn counts(self) -> bool {
        !matches!(self, Self::Unsupported | Self::NotApplicable | Self::Unknown)
    }

    /// Whether the requirement was really tested, so that a missing failure is a pass.
    pub fn was_judged(self) -> bool {
        matches!(self, Self::Pass | Self::Fail | Self::Flaky | Self::KnownIssue)
    }
}

impl Support {
    /// Every answer, in the order of the legend.
    pub const ALL: [Self; 4] = [Self::Yes, Self::Partly, Self::No, Self::Unknown];

    /// One narrow character that is clear without colour.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Yes => "✓",
            Self::Partly => "◐",
            Self::No => "✗",
            Self::Unknown => "?",
        }
    }

    /// The word beside the symbol; also its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Partly => "partly",
            Self::No => "no",
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Status;

    #[test]
    fn no_two_states_look_alike() {
        let symbols: BTreeSet<_> = Status::ALL.iter().map(|state| state.symbol()).collect();
        let words: BTreeSet<_> = Status::ALL.iter().map(|state| state.word()).collect();
        let weights: BTreeSet<_> = Status::ALL.iter().map(|state| state.severity()).collect();
        assert_eq!((symbols.len(), words.len(), weights.len()), (9, 9, 9));
    }

    #[test]
    fn the_word_is_the_name_on_the_wire() {
        for state in Status::ALL {
            assert_eq!(serde_json::to_value(state).unwrap(), state.word());
        }
    }
}
