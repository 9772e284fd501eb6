//! The steps and demands of a person who runs `entraclaw setup`. It knows no host's files.

use serde::Deserialize;

use super::{Expect, Mode, Scenario, SetUp, Span, Step};

/// One run of `entraclaw setup` for the cell's host.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetupStep {
    /// With the carrier that the host has beyond what needs no flag, where it has one.
    pub everything: bool,
    /// With `--allow-answers`.
    pub allow_answers: bool,
    /// Takes everything out again.
    pub remove: bool,
    /// Every file is as it was before this run.
    pub changes_nothing: bool,
    /// Words that it says.
    pub says: Option<String>,
    /// It is refused with these words, and every file is as it was before this run.
    pub refused: Option<String>,
}

/// What setup has made of the person's files.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetupExpect {
    /// How often the host finds what is ours.
    pub ours: Option<Ours>,
    /// Every value, entry and comment of the files before the first run still stands, and what the host finds beside ours is
    /// what it found then.
    pub others_stand: bool,
    /// Every file is what it was before the first run, to the byte, and there is none beside.
    pub untouched: bool,
    /// What a file of the home folder holds.
    pub file: Option<FileExpect>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// How often something of ours is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ours {
    /// One server, at most one command an event, one section of instructions.
    Once,
    /// Nothing, and no file that names our program.
    Never,
}

/// A file of the home folder.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileExpect {
    /// Below the home folder.
    pub path: String,
    /// Words that it holds.
    pub contains: String,
}

impl SetupExpect {
    /// Whether it can fail.
    pub(super) fn demands(&self) -> bool {
        self.ours.is_some() || self.others_stand || self.untouched || self.file.is_some()
    }
}

/// What a scenario about setup has that could not mean what it says, and how to mend it.
pub(super) fn misused(scenario: &Scenario) -> Option<(&'static str, &'static str)> {
    if !scenario.runs_setup() {
        let looks = scenario.steps.iter().any(|step| matches!(&step.value, Step::Expect(Expect::Setup(_))));
        let about_it = looks || !scenario.host_files.is_empty();
        return about_it.then_some(("`setup` is never run", "add the step `setup`"));
    }
    if scenario.mode != [Mode::Process] {
        return Some(("setup writes real files", "write `mode: [process]`"));
    }
    if scenario.autostart {
        return Some((
            "the host would start before setup has run",
            "add `autostart: false`, and the step `host`",
        ));
    }
    if scenario.set_up != [SetUp::Channel]
        || scenario.sessions.values().any(|session| session.set_up.is_some())
    {
        return Some(("what is set is what setup has written", "leave `set_up` out"));
    }
    let unknown = |family: &String| !fake_hosts::settings::SETTINGS_FAMILIES.contains(&family.as_str());
    if scenario.host_files.keys().any(unknown) {
        return Some(("`host_files` names a family whose files nobody reads", "see `hostcheck hosts`"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::scenario::parse;

    const HEAD: &str = "id: setup.x\ntitle: t\nrequirement: {area: a, level: must, says: s, source: s}\n";
    const WHOLE: &str = "mode: [process]\nautostart: false\nentra: {auth: agent_user}\n";
    const STEPS: &str = "steps:\n  - setup: {}\n  - expect: {setup: {ours: once}}\n";

    #[test]
    fn a_scenario_that_runs_setup_says_nothing_that_setup_decides() {
        let said = |text: &str| {
            parse("a.yaml", &format!("{HEAD}{text}")).map(|_| ()).map_err(|error| error.rendered)
        };
        assert_eq!(said(&format!("{WHOLE}{STEPS}")), Ok(()));
        for (text, words) in [
            (format!("autostart: false\nentra: {{auth: agent_user}}\n{STEPS}"), "real files"),
            (format!("mode: [process]\nentra: {{auth: agent_user}}\n{STEPS}"), "before setup has run"),
            (format!("{WHOLE}set_up: [hooks]\n{STEPS}"), "leave `set_up` out"),
            (format!("{WHOLE}host_files: {{cursor: {{}}}}\n{STEPS}"), "whose files nobody reads"),
            ("steps:\n  - expect: {setup: {untouched: true}}\n".to_owned(), "`setup` is never run"),
            (format!("{WHOLE}steps:\n  - setup: {{}}\n  - expect: {{setup: {{}}}}\n"), "can't fail"),
        ] {
            let said = said(&text).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
