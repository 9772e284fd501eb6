//! Judges hosts by the requirements of the protocol, from the facts of their profiles. It connects to
//! nothing: a fact that was not observed on the real program is unknown.

use fake_hosts::Profile;
use reports::event::Support;

use super::row::Row;
use crate::support;

/// Whether a host keeps a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// The host opens no connection in a version that has it.
    NotApplicable,
    /// The host keeps it.
    Yes,
    /// The profile does not know.
    Unknown,
    /// In part; see the notes.
    Partly,
    /// The host does not keep it.
    No,
}

impl Kept {
    /// The word for it, the same as for outcomes of a server.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotApplicable => "not-applicable",
            Self::Yes => "passed",
            Self::Unknown => "unknown",
            Self::Partly => "partly",
            Self::No => "failed",
        }
    }
}

/// A requirement, judged for one host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// Whether the host keeps it.
    pub kept: Kept,
    /// What the word leaves out: one note for each fact.
    pub notes: Vec<String>,
}

/// Judges one host by one row; `None` if the row is about servers.
pub fn duty(row: &Row, profile: &Profile) -> Option<Duty> {
    if row.facts.is_empty() {
        return None;
    }
    let speaks = |version: &str| {
        let modern = version.parse::<schemas::Version>().is_ok_and(schemas::Version::is_modern);
        if modern { support::speaks_modern(profile) } else { *profile.identity.protocol_version == version }
    };
    if !row.r#in.keys().any(|version| speaks(version)) {
        return Some(Duty { kept: Kept::NotApplicable, notes: Vec::new() });
    }
    let answers = row.facts.iter().filter_map(|fact| Some(support::of_fact(fact)?.answer(profile)));
    let mut judged = Duty { kept: Kept::Yes, notes: Vec::new() };
    for answer in answers {
        judged.kept = judged.kept.max(match answer.support {
            Support::Yes => Kept::Yes,
            Support::Unknown => Kept::Unknown,
            Support::Partly => Kept::Partly,
            Support::No => Kept::No,
        });
        judged.notes.extend(answer.note);
    }
    Some(judged)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("stdio.host-probes", "claude-code@2.1.330", Kept::Yes)]
    #[case("stdio.host-probes", "claude-code@2.1.274", Kept::Partly)]
    #[case("stdio.host-probes", "codex@0.169.0", Kept::NotApplicable)]
    #[case("stdio.host-no-responses", "claude-code@2.1.330", Kept::Yes)]
    #[case("stdio.host-no-responses", "copilot-cli@1.0.102", Kept::Unknown)]
    #[case("stdio.host-cancels", "copilot-cli@1.0.102", Kept::Yes)]
    #[case("stdio.host-restarts", "claude-code@2.1.330", Kept::Partly)]
    #[case("stdio.host-restarts", "copilot-cli@1.0.102", Kept::No)]
    #[case("stdio.host-shutdown", "generic@tools-only", Kept::Yes)]
    #[case("stdio.host-shutdown", "copilot-cli@1.0.102", Kept::No)]
    #[case("stdio.host-shutdown", "qwen-code@0.24.4", Kept::Partly)]
    #[case("lifecycle.host-leaves", "opencode@1.18.33", Kept::Yes)]
    #[case("lifecycle.host-leaves", "copilot-cli@1.0.102", Kept::No)]
    #[case("lifecycle.host-only-declared", "qwen-code@0.24.4", Kept::No)]
    #[case("lifecycle.host-cancels-on-timeout", "gemini-cli@0.61.0", Kept::Yes)]
    fn a_host_is_judged_by_its_observed_facts(#[case] row: &str, #[case] host: &str, #[case] wanted: Kept) {
        let rows = super::super::rows::all().unwrap();
        let placed = rows.iter().find(|placed| placed.row.id == row).unwrap();
        let profile = fake_hosts::profile(host).unwrap();
        assert_eq!(duty(&placed.row, &profile).map(|duty| duty.kept), Some(wanted));
    }

    #[test]
    fn a_row_about_servers_says_nothing_of_a_host() {
        let rows = super::super::rows::all().unwrap();
        let placed = rows.iter().find(|placed| !placed.row.checks.is_empty()).unwrap();
        let profile = fake_hosts::profile("codex@0.169.0").unwrap();
        assert_eq!(duty(&placed.row, &profile), None);
    }
}
