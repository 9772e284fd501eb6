//! The checks of other coding agents, where a session or a setup offers the tools that ask them.
//! They must never start an agent.

use entraclaw_agents::{Agent, Found, Missing};

use super::Check;
use super::facts::{AgentFacts, AskFacts, Facts};
use super::found::{fail, ok, warn};

const NAME: &str = "agents";

/// Checks the agents; without a word where none can be asked.
pub(super) fn agents(facts: &Facts) -> Vec<Check> {
    let Some(ask) = &facts.ask else { return Vec::new() };
    let mut checks = vec![installed(ask)];
    checks.extend(ask.agents.iter().filter_map(too_old));
    // The first one is asked where a call names none.
    checks.extend(ask.agents.first().and_then(|agent| default(agent, ask)));
    checks
}

fn installed(ask: &AskFacts) -> Check {
    let there: Vec<String> =
        ask.agents.iter().filter_map(|one| Some(shown(one.agent, one.found.as_ref().ok()?))).collect();
    if there.is_empty() {
        let names: Vec<&str> = ask.agents.iter().map(|one| one.agent.title).collect();
        let found = format!("no agent that can be asked is installed, of {}", names.join(", "));
        let install = ask.agents.first().map_or("", |one| one.agent.install);
        return fail(NAME, found, format!("install one, for example by `{install}`, and sign in to it"));
    }
    let may = ask.permissions;
    ok(NAME, format!("{}; `ask` may do \"{may}\" at most (ask.permissions)", there.join(", ")))
}

fn shown(agent: &Agent, found: &Found) -> String {
    let version = found.version.as_deref().unwrap_or("of an unknown version");
    let signed_in = if found.signed_in == Some(true) { ", signed in" } else { "" };
    format!("{} {version} ({}{signed_in})", agent.title, found.path.display())
}

fn too_old(one: &AgentFacts) -> Option<Check> {
    let found = one.found.as_ref().ok()?;
    let version = found.numbers().filter(|version| *version < one.agent.oldest)?;
    let dotted = |numbers: [u64; 3]| numbers.map(|number| number.to_string()).join(".");
    let what = format!(
        "{} {} is too old to be asked: it lacks flags that {} has",
        one.agent.title,
        dotted(version),
        dotted(one.agent.oldest)
    );
    Some(warn(NAME, what, format!("renew it by `{}`", one.agent.install)))
}

fn default(one: &AgentFacts, ask: &AskFacts) -> Option<Check> {
    let Agent { title, program, install, sign_in, .. } = one.agent;
    match &one.found {
        Err(Missing::NoProgram(path)) => {
            let path = path.display();
            let found = format!("`ask.copilot` (COPILOT_BINARY_PATH) is {path}, which is no program");
            let fix = format!("correct it, or take it away to use the `{program}` of the search path");
            Some(fail(NAME, found, fix))
        }
        // Where none is installed, that was said.
        Err(Missing::NotInstalled) if ask.agents.iter().any(|one| one.found.is_ok()) => {
            let found = format!("{title} is not installed, to which a question goes that names no agent");
            let fix = format!(
                "install it by `{install}` and sign in ({sign_in}); until then the model has to name another by `agent`"
            );
            Some(warn(NAME, found, fix))
        }
        _ => None,
    }
}
