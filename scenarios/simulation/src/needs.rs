//! Whether a host's profile meets what a scenario needs. A need that rests on an unknown fact is not met, and
//! never guessed.

use fake_hosts::{Mode, Parallel, Profile, Unallowed, WakeUpKind};
use hostcheck::host::Host;
use reports::event::Status;

use scenario::Need;

/// A call limit from which on a call counts as endless, in milliseconds: a day.
const ENDLESS_MS: u64 = 24 * 3_600_000;
/// Longest call limit that is waited out, in milliseconds.
const WAITED_OUT_MS: u64 = 200_000;

/// Why a scenario is not played on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unplayed {
    /// The kind of reason.
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

    /// It is not known whether the host has it.
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
    let (met, why, rests_on) = judged(profile, need, mode);
    match rests_on.into_iter().find(|(_, known)| !known) {
        Some((fact, _)) => Some(Unplayed::unknown(format!("not known of this host: `{fact}`"))),
        None => (!met).then(|| Unplayed::unsupported(why)),
    }
}

/// Whether the need is met, what is wrong where it is not, and the facts that it rests on, each with whether it is known of
/// the program as it runs.
type Judged = (bool, &'static str, Vec<(&'static str, bool)>);

fn judged(profile: &Profile, need: Need, mode: Mode) -> Judged {
    macro_rules! facts {
        ($($section:ident.$field:ident),*) => {
            vec![$((
                concat!(stringify!($section), ".", stringify!($field)),
                profile.$section.$field.is_known_in(mode),
            )),*]
        };
    }
    let limit_ms = *profile.calls.timeout_ms;
    let channel = *mode.of(&profile.channel.delivered);
    let in_background = mode.of(&profile.calls.background_after_ms).is_some();
    let endless = in_background || *profile.calls.progress_extends || limit_ms >= ENDLESS_MS;
    let shell = *profile.shell.available && *mode.of(&profile.shell.wakes);
    let hooks = &profile.hooks;
    let hooked = *mode.of(&hooks.run);
    let wake_up = *profile.wake_up.kind != WakeUpKind::None && *mode.of(&profile.wake_up.wakes);
    let hard_60 = limit_ms == 60_000 && !*profile.calls.progress_extends;
    let told = profile.calls.interrupt_reason.is_some();
    let parallel = *profile.calls.parallel != Parallel::Serial;
    let task = *mode.of(&profile.tasks.followed) && *mode.of(&profile.tasks.wakes);
    match need {
        Need::Channel => {
            (channel, "a channel push does not reach this host's model", facts![channel.delivered])
        }
        Need::NoChannel => {
            (!channel, "this host delivers channel pushes, so none is dropped", facts![channel.delivered])
        }
        Need::Permission => (
            *mode.of(&profile.channel.permission_relayed),
            "this host does not tell the server of its permission dialogs",
            facts![channel.permission_relayed],
        ),
        Need::HardLimit60 => (
            hard_60,
            "this host has no hard call limit of 60 s",
            facts![calls.timeout_ms, calls.progress_extends],
        ),
        Need::CallLimit => (
            limit_ms <= WAITED_OUT_MS,
            "this host's call limit is too long to wait out",
            facts![calls.timeout_ms],
        ),
        Need::Probe => {
            (*profile.opening.probe, "this host does not probe `server/discover`", facts![opening.probe])
        }
        Need::Session => (!*profile.opening.probe, "this host opens no session", facts![opening.probe]),
        Need::InterruptTold => {
            (told, "this host does not tell the server of an interrupt", facts![calls.interrupt_reason])
        }
        Need::InterruptUntold => {
            (!told, "this host tells the server of an interrupt", facts![calls.interrupt_reason])
        }
        Need::ParallelCalls => (parallel, "this host runs calls one after another", facts![calls.parallel]),
        Need::Background => {
            (in_background, "a call that lasts holds this host's turn", facts![calls.background_after_ms])
        }
        Need::NoBackground => {
            (!in_background, "a call that lasts goes to the background", facts![calls.background_after_ms])
        }
        Need::EndlessCall => (
            endless,
            "this host ends every call that lasts",
            facts![calls.background_after_ms, calls.progress_extends, calls.timeout_ms],
        ),
        Need::NoEndlessCall => (
            !endless,
            "a call can last on this host",
            facts![calls.background_after_ms, calls.progress_extends, calls.timeout_ms],
        ),
        Need::Shell => {
            (shell, "no background shell wakes this host's model", facts![shell.available, shell.wakes])
        }
        Need::NoShell => {
            (!shell, "a background shell wakes this host's model", facts![shell.available, shell.wakes])
        }
        Need::TurnEndHook => (
            hooks.turn_end.is_some() && hooked,
            "this host has no hook at the end of a turn",
            facts![hooks.run, hooks.turn_end],
        ),
        Need::AfterToolHook => (
            hooks.after_tool.is_some() && hooked,
            "no hook of this host adds to a tool's result",
            facts![hooks.run, hooks.after_tool],
        ),
        Need::PromptHook => (
            hooks.prompt.is_some() && hooked,
            "no hook of this host adds to a prompt",
            facts![hooks.run, hooks.prompt],
        ),
        Need::WakingHook => {
            let waking = *profile.waking.beside && *mode.of(&profile.waking.wakes);
            (
                waking && hooked,
                "no hook beside the idle session wakes this host's model",
                facts![hooks.run, waking.wakes],
            )
        }
        Need::WakeUp => (
            wake_up,
            "nothing from outside can start a turn of this host",
            facts![wake_up.kind, wake_up.wakes],
        ),
        Need::Task => (task, "no MCP task wakes this host's model", facts![tasks.followed, tasks.wakes]),
        Need::Dialog => (
            *mode.of(&profile.consent.calls) == Unallowed::Asks,
            "this host lets tools run unasked, by itself",
            facts![consent.calls],
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("copilot-cli@1.0.60", Need::WakeUp, Some("not known of this host: `wake_up.kind`"))]
    #[case("copilot-cli@1.0.92", Need::WakeUp, Some("not known of this host: `wake_up.wakes`"))]
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
    #[case("claude-code@2.1.148", Need::NoBackground, None)]
    #[case("claude-code@2.1.330", Need::NoBackground, Some("a call that lasts goes to the background"))]
    fn a_need_on_an_unknown_fact_is_neither_met_nor_denied(
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
