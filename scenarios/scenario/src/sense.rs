//! Checks of a whole scenario for parts that contradict each other, with how to mend them.

use fake_microsoft::entra::AuthKind;

use super::{Expect, Mode, Random, Scenario, SetUp, Step, Trouble};

impl Random {
    /// What the scenario lacks for these troubles, with what helps.
    pub fn lacks(&self, scenario: &Scenario) -> Option<(&'static str, &'static str)> {
        let has = |trouble| self.troubles.contains(&trouble);
        if has(Trouble::DeltaReset) && scenario.world.mail.is_none() {
            return Some(("`delta_reset` needs a mailbox", "add `mail: {}` to the world"));
        }
        if has(Trouble::Terminal) && scenario.sessions.is_empty() {
            return Some(("`terminal` needs other sessions", "add `sessions: {second: {}}` and start them"));
        }
        if has(Trouble::Denied) && (has(Trouble::DiskFull) || has(Trouble::FailedSync)) {
            let problem = "`denied` can't be beside `disk_full` and `failed_sync`, for a disk that fails takes no policy";
            return Some((problem, "leave one of the two out"));
        }
        if has(Trouble::TokenExpiry) && scenario.entra.auth == AuthKind::Static {
            let problem = "`token_expiry` needs a sign-in that can be renewed";
            return Some((problem, "add `entra: {auth: agent_user}`"));
        }
        None
    }
}

/// The first contradiction in a scenario about setup, and how to mend it.
pub(super) fn setup_misused(scenario: &Scenario) -> Option<(&'static str, &'static str)> {
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
        return Some(("`host_files` names a family whose files can't be read", "see `hostcheck hosts`"));
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::parse;

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
            (format!("{WHOLE}host_files: {{cursor: {{}}}}\n{STEPS}"), "whose files can't be read"),
            ("steps:\n  - expect: {setup: {untouched: true}}\n".to_owned(), "`setup` is never run"),
            (format!("{WHOLE}steps:\n  - setup: {{}}\n  - expect: {{setup: {{}}}}\n"), "can't fail"),
        ] {
            let said = said(&text).unwrap_err();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
