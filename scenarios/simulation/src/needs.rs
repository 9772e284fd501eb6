//! Whether a host's profile meets what a scenario needs. A need that rests on a fact that nobody knows is not met, and
//! never guessed.

use fake_hosts::{DoorKind, Fact, Mode, Parallel, Profile, Unallowed};
use hostcheck::host::Host;
use reports::event::Status;

use crate::scenario::Need;

/// A call limit from which on a call counts as endless, in milliseconds: a day.
const ENDLESS_MS: u64 = 24 * 3_600_000;
/// Longest call limit that is waited out, in milliseconds.
const WAITED_OUT_MS: u64 = 200_000;

/// Why a scenario is not played on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplayed {
    /// Which kind of reason it is.
    pub status: Status,
    /// The reason, for people.
    pub reason: String,
}

impl Unplayed {
    /// The scenario is about something else.
    pub(crate) fn not_applicable(reason: &str) -> Self {
        Self { status: Status::NotApplicable, reason: reason.to_owned() }
    }

    /// The host is known to lack it.
    fn unsupported(reason: &str) -> Self {
        Self { status: Status::Unsupported, reason: reason.to_owned() }
    }

    /// Nobody knows whether the host has it.
    pub(crate) fn unknown(reason: String) -> Self {
        Self { status: Status::Unknown, reason }
    }

    /// It can't be found out on this machine.
    pub(crate) fn not_run(reason: &str) -> Self {
        Self { status: Status::NotRun, reason: reason.to_owned() }
    }
}

/// Why a host does not meet a need, or which fact about it is not known; nothing when it does.
pub(crate) fn lacks(host: &Host, need: Need, mode: Mode) -> Option<Unplayed> {
    let Some(profile) = host.profile.as_deref() else {
        return Some(Unplayed::not_applicable("about a host; a bare pipe is none"));
    };
    let (met, why) = judged(profile, need, mode);
    let unknown = rests_on(profile, need, mode).into_iter().find(|(_, known)| !known);
    match unknown {
        Some((fact, _)) => Some(Unplayed::unknown(format!("not known of this host: `{fact}`"))),
        None => (!met).then(|| Unplayed::unsupported(why)),
    }
}

/// Whether the stated facts meet the need, and what is wrong where they do not.
fn judged(profile: &Profile, need: Need, mode: Mode) -> (bool, &'static str) {
    let limit_ms = *profile.calls.timeout_ms;
    let channel = *mode.of(&profile.channel.delivered);
    let in_background = mode.of(&profile.calls.background_after_ms).is_some();
    let endless = in_background || *profile.calls.progress_extends || limit_ms >= ENDLESS_MS;
    let shell = *profile.shell.available && *mode.of(&profile.shell.wakes);
    let hooks = &profile.hooks;
    let hooked = *mode.of(&hooks.run);
    let door = *profile.door.kind != DoorKind::None && *mode.of(&profile.door.wakes);
    let hard_60 = limit_ms == 60_000 && !*profile.calls.progress_extends;
    let told = profile.calls.interrupt_reason.is_some();
    let parallel = *profile.calls.parallel != Parallel::Serial;
    let task = *mode.of(&profile.tasks.followed) && *mode.of(&profile.tasks.wakes);
    match need {
        Need::Channel => (channel, "a channel push does not reach this host's model"),
        Need::NoChannel => (!channel, "this host delivers channel pushes, so none is dropped"),
        Need::Permission => (
            *mode.of(&profile.channel.permission_relayed),
            "this host does not tell the server of its permission dialogs",
        ),
        Need::HardLimit60 => (hard_60, "this host has no hard call limit of 60 s"),
        Need::CallLimit => (limit_ms <= WAITED_OUT_MS, "this host's call limit is too long to wait out"),
        Need::Probe => (*profile.opening.probe, "this host does not probe `server/discover`"),
        Need::InterruptTold => (told, "this host does not tell the server of an interrupt"),
        Need::InterruptUntold => (!told, "this host tells the server of an interrupt"),
        Need::ParallelCalls => (parallel, "this host runs calls one after another"),
        Need::Background => (in_background, "a call that lasts holds this host's turn"),
        Need::EndlessCall => (endless, "this host ends every call that lasts"),
        Need::NoEndlessCall => (!endless, "a call can last on this host"),
        Need::Shell => (shell, "no background shell wakes this host's model"),
        Need::NoShell => (!shell, "a background shell wakes this host's model"),
        Need::TurnEndHook => {
            (hooks.turn_end.is_some() && hooked, "this host has no hook at the end of a turn")
        }
        Need::AfterToolHook => {
            (hooks.after_tool.is_some() && hooked, "no hook of this host adds to a tool's result")
        }
        Need::PromptHook => (hooks.prompt.is_some() && hooked, "no hook of this host adds to a prompt"),
        Need::WakingHook => {
            let waking = *profile.waking.beside && *mode.of(&profile.waking.wakes);
            (waking && hooked, "no hook beside the idle session wakes this host's model")
        }
        Need::Door => (door, "nothing from outside can start a turn of this host"),
        Need::Task => (task, "no MCP task wakes this host's model"),
        Need::Dialog => (
            *mode.of(&profile.consent.calls) == Unallowed::Asks,
            "this host lets tools run unasked, by itself",
        ),
    }
}

/// The facts that a need rests on, each with whether it is known of the program as it runs.
fn rests_on(profile: &Profile, need: Need, mode: Mode) -> Vec<(&'static str, bool)> {
    let calls = &profile.calls;
    let hooks = &profile.hooks;
    match need {
        Need::Channel | Need::NoChannel => vec![known(mode, "channel.delivered", &profile.channel.delivered)],
        Need::Permission => {
            vec![known(mode, "channel.permission_relayed", &profile.channel.permission_relayed)]
        }
        Need::HardLimit60 => vec![
            known(mode, "calls.timeout_ms", &calls.timeout_ms),
            known(mode, "calls.progress_extends", &calls.progress_extends),
        ],
        Need::CallLimit => vec![known(mode, "calls.timeout_ms", &calls.timeout_ms)],
        Need::Probe => vec![known(mode, "opening.probe", &profile.opening.probe)],
        Need::InterruptTold | Need::InterruptUntold => {
            vec![known(mode, "calls.interrupt_reason", &calls.interrupt_reason)]
        }
        Need::ParallelCalls => vec![known(mode, "calls.parallel", &calls.parallel)],
        Need::Background => vec![known(mode, "calls.background_after_ms", &calls.background_after_ms)],
        Need::EndlessCall | Need::NoEndlessCall => vec![
            known(mode, "calls.background_after_ms", &calls.background_after_ms),
            known(mode, "calls.progress_extends", &calls.progress_extends),
            known(mode, "calls.timeout_ms", &calls.timeout_ms),
        ],
        Need::Shell | Need::NoShell => vec![
            known(mode, "shell.available", &profile.shell.available),
            known(mode, "shell.wakes", &profile.shell.wakes),
        ],
        Need::TurnEndHook => {
            vec![known(mode, "hooks.run", &hooks.run), known(mode, "hooks.turn_end", &hooks.turn_end)]
        }
        Need::AfterToolHook => {
            vec![known(mode, "hooks.run", &hooks.run), known(mode, "hooks.after_tool", &hooks.after_tool)]
        }
        Need::PromptHook => {
            vec![known(mode, "hooks.run", &hooks.run), known(mode, "hooks.prompt", &hooks.prompt)]
        }
        Need::WakingHook => {
            vec![known(mode, "hooks.run", &hooks.run), known(mode, "waking.wakes", &profile.waking.wakes)]
        }
        Need::Door => {
            vec![known(mode, "door.kind", &profile.door.kind), known(mode, "door.wakes", &profile.door.wakes)]
        }
        Need::Dialog => vec![known(mode, "consent.calls", &profile.consent.calls)],
        Need::Task => {
            vec![
                known(mode, "tasks.followed", &profile.tasks.followed),
                known(mode, "tasks.wakes", &profile.tasks.wakes),
            ]
        }
    }
}

fn known<T>(mode: Mode, name: &'static str, fact: &Fact<T>) -> (&'static str, bool) {
    (name, fact.is_known_in(mode))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("copilot-cli@1.0.60", Need::Door, Some("not known of this host: `door.kind`"))]
    #[case("copilot-cli@1.0.92", Need::Door, Some("not known of this host: `door.wakes`"))]
    #[case("copilot-cli@1.0.92", Need::Task, Some("not known of this host: `tasks.followed`"))]
    #[case("copilot-cli@1.0.83", Need::Task, Some("no MCP task wakes this host's model"))]
    #[case("copilot-cli@1.0.60", Need::Shell, Some("not known of this host: `shell.wakes`"))]
    #[case("copilot-cli@1.0.60", Need::NoShell, Some("not known of this host: `shell.wakes`"))]
    #[case("copilot-cli@0.0.420", Need::NoShell, None)]
    #[case("copilot-cli@1.0.0", Need::Shell, None)]
    #[case("copilot-cli@1.0.50", Need::PromptHook, Some("no hook of this host adds to a prompt"))]
    #[case("claude-code@2.0.73", Need::PromptHook, None)]
    #[case("claude-code@2.1.148", Need::WakingHook, None)]
    #[case(
        "claude-code@2.0.73",
        Need::WakingHook,
        Some("no hook beside the idle session wakes this host's model")
    )]
    #[case("claude-code@2.1.148", Need::Background, Some("a call that lasts holds this host's turn"))]
    fn what_nobody_knows_is_neither_met_nor_denied(
        #[case] host: &str,
        #[case] need: Need,
        #[case] wanted: Option<&str>,
    ) {
        let host = hostcheck::host::all().unwrap().iter().find(|known| known.id == host).unwrap();
        let found = lacks(host, need, Mode::Tui);
        assert_eq!(found.as_ref().map(|found| found.reason.as_str()), wanted);
        let status =
            wanted.map(
                |reason| {
                    if reason.starts_with("not known") { Status::Unknown } else { Status::Unsupported }
                },
            );
        assert_eq!(found.map(|found| found.status), status);
    }
}
