//! What the protocol asks of a host, judged by the facts of its profile. It connects nothing: a fact was seen on the
//! real program or it was not, and what nobody has looked at is unknown.

use fake_hosts::Profile;
use reports::event::Support;

use super::row::Row;
use crate::support;

/// Whether a host keeps a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kept {
    /// The host opens no connection in a version that has it.
    NotApplicable,
    /// It does.
    Yes,
    /// It was never looked at.
    Unknown,
    /// In part; see the notes.
    Partly,
    /// It does not.
    No,
}

impl Kept {
    /// In a word, as outcomes of a server are called.
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

/// A host beside a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duty {
    /// Whether it is kept.
    pub kept: Kept,
    /// What the words leave out, a note a fact.
    pub notes: Vec<String>,
}

/// Judges one host by one row; nothing where the row is about servers.
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
    fn a_host_is_judged_by_what_was_seen(#[case] row: &str, #[case] host: &str, #[case] wanted: Kept) {
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
