//! Knows what starts a turn of an idle and unattended host, and has the text for hosts that nothing wakes.
//!
//! It must never state that a host is woken if that was not observed.

use super::request::{Host, LeftOut, Os, Request};
use entraclaw_inbox::rules::WAIT_PROGRAM;
use entraclaw_inbox::wake_up::{WakeUpSettings, gives_inbox_socket, wakes_by_hook};

/// The first version of Copilot CLI that the end of a background shell wakes.
const COPILOT_SHELL_SINCE: [u64; 3] = [0, 0, 422];
/// The first version of Copilot CLI in which a hook may approve the command that waits.
const COPILOT_ASKS_NOT_SINCE: [u64; 3] = [1, 0, 16];

/// The wake-ups of one host that are on, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each way is on or off, whatever the others are")]
pub struct WaysIn {
    /// Claude Code's inbox socket.
    pub inbox_socket: bool,
    /// Claude Code's hook that waits beside the session.
    pub waking_hook: bool,
    /// Codex's queue.
    pub queue: bool,
    /// opencode's port.
    pub port: bool,
    /// Copilot CLI's extension.
    pub extension: bool,
}

impl WaysIn {
    /// The wake-ups that the configuration leaves on. It knows nothing of extensions.
    pub fn of_wake_ups(wake_ups: &WakeUpSettings) -> Self {
        Self {
            inbox_socket: wake_ups.inbox_socket,
            waking_hook: wake_ups.waking_hook,
            queue: wake_ups.codex_queue,
            port: wake_ups.opencode_port.is_some(),
            extension: false,
        }
    }

    /// The wake-ups among a session's carriers, in any state. The session can't know of an `extension`.
    pub fn of_carriers(carriers: &[String], extension: bool) -> Self {
        let is_on = |name: &str| carriers.iter().any(|carrier| carrier.starts_with(name));
        Self {
            inbox_socket: is_on("inbox socket"),
            waking_hook: is_on("waking hook"),
            queue: is_on("codex queue"),
            port: is_on("opencode port"),
            extension,
        }
    }

    /// The wake-ups that a setup leaves on, beside the configuration.
    fn of_request(request: &Request, wake_ups: &WakeUpSettings) -> Self {
        let asked = |name: &str| request.carriers.iter().any(|carrier| carrier.name() == name);
        let kept = |way: LeftOut| !request.left_out.contains(&way);
        let configured = Self::of_wake_ups(wake_ups);
        Self {
            inbox_socket: configured.inbox_socket && kept(LeftOut::InboxSocket),
            waking_hook: configured.waking_hook
                && kept(LeftOut::WakingHook)
                && request.places.os != Os::Windows,
            queue: configured.queue || asked("queue"),
            port: configured.port || asked("port"),
            extension: asked("extension"),
        }
    }
}

/// The text at the end of a setup, before the user leaves.
pub fn told_of_idle(request: &Request, wake_ups: &WakeUpSettings) -> Option<String> {
    let ways = WaysIn::of_request(request, wake_ups);
    let said =
        not_woken(request.host.title(), request.host.name(), request.host_version, ways, " to this command")?;
    let mut letters = said.chars();
    Some(letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).chain(['.']).collect())
}

/// The text about a host that nothing wakes while it is idle, or only the command that its model leaves running; the fix
/// follows `; `. `family` is a `Host::name` or another word, `version` the one that the host gave, and `place` says where a
/// flag of setup belongs.
pub fn not_woken(
    title: &str,
    family: &str,
    version: Option<[u64; 3]>,
    ways: WaysIn,
    place: &str,
) -> Option<String> {
    let host = Host::named(family);
    let nothing = |fix: &str| {
        format!(
            "nothing wakes {title} while it is idle, so it hears only while its model calls wait_for_inbound_message; {fix}"
        )
    };
    match host {
        Some(Host::Codex) if ways.queue => None,
        Some(Host::Codex) => Some(nothing(&format!("add --with queue{place}"))),
        Some(Host::Opencode) if ways.port => None,
        Some(Host::Opencode) => {
            Some(nothing(&format!("add --with port{place}, and start it as setup then says")))
        }
        Some(Host::ClaudeCode) => {
            let is = |knows: fn(&str, [u64; 3]) -> bool| version.is_none_or(|version| knows(family, version));
            let is_woken =
                ways.inbox_socket && is(gives_inbox_socket) || ways.waking_hook && is(wakes_by_hook);
            (!is_woken).then(|| {
                let fix = match version {
                    Some(version) if !wakes_by_hook(family, version) => {
                        "from 2.1.69 on a hook wakes it, and from 2.1.248 on its inbox socket"
                    }
                    _ => {
                        "run `entraclaw setup claude-code` without --without, and see `[wake]` in config.toml"
                    }
                };
                format!(
                    "{title} has no wake-up of its own here, so while it is idle it hears only by a call of \
                     wait_for_inbound_message or `{WAIT_PROGRAM}` that its model leaves waiting; {fix}"
                )
            })
        }
        Some(Host::CopilotCli) => match version {
            _ if ways.extension => None,
            Some(version) if version < COPILOT_SHELL_SINCE => Some(nothing("use 1.0.16 or newer")),
            // Versions up to 1.0.24 may call themselves 1.0.0.
            Some(version) if version < COPILOT_ASKS_NOT_SINCE => Some(format!(
                "{title}, by the version it tells, may be older than 1.0.16: such a version asks at every start of `{WAIT_PROGRAM}`, \
                 so without a person nothing wakes it a second time, and before 0.0.422 nothing does at all; use 1.0.16 or \
                 newer"
            )),
            _ => None,
        },
        Some(Host::GeminiCli | Host::QwenCode) => None,
        Some(Host::Vscode | Host::Cursor) | None => {
            Some(nothing("be there, or use a host that can be woken, such as Claude Code or Qwen Code"))
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const NONE: WaysIn =
        WaysIn { inbox_socket: false, waking_hook: false, queue: false, port: false, extension: false };
    const BOTH: WaysIn = WaysIn { inbox_socket: true, waking_hook: true, ..NONE };

    #[rstest]
    #[case::claude("claude-code", Some([2, 1, 330]), BOTH, None)]
    #[case::claude_of_the_hook("claude-code", Some([2, 1, 69]), BOTH, None)]
    #[case::claude_that_was_never_seen("claude-code", None, BOTH, None)]
    #[case::claude_before_the_hook("claude-code", Some([2, 1, 68]), BOTH, Some("from 2.1.69 on a hook"))]
    #[case::claude_without_both("claude-code", Some([2, 1, 330]), NONE, Some("without --without"))]
    #[case::claude_too_old_for_its_socket(
        "claude-code", Some([2, 1, 148]), WaysIn { waking_hook: false, ..BOTH }, Some("without --without"))]
    #[case::copilot("copilot-cli", Some([1, 0, 102]), NONE, None)]
    #[case::copilot_that_was_never_seen("copilot-cli", None, NONE, None)]
    #[case::copilot_that_asks("copilot-cli", Some([1, 0, 0]), NONE, Some("asks at every start"))]
    #[case::copilot_before_shells("copilot-cli", Some([0, 0, 421]), NONE, Some("nothing wakes X while"))]
    #[case::copilot_with_its_extension(
        "copilot-cli", Some([1, 0, 0]), WaysIn { extension: true, ..NONE }, None)]
    #[case::codex("codex", None, NONE, Some("add --with queue to it"))]
    #[case::codex_with_its_queue("codex", None, WaysIn { queue: true, ..NONE }, None)]
    #[case::opencode("opencode", Some([1, 18, 33]), NONE, Some("add --with port to it"))]
    #[case::opencode_with_its_port("opencode", None, WaysIn { port: true, ..NONE }, None)]
    #[case::gemini("gemini-cli", None, NONE, None)]
    #[case::qwen("qwen-code", None, NONE, None)]
    #[case::vscode("vscode", None, BOTH, Some("nothing wakes X while"))]
    #[case::unknown("my-own-host", Some([1, 0, 0]), BOTH, Some("nothing wakes X while"))]
    fn hosts(
        #[case] family: &str,
        #[case] version: Option<[u64; 3]>,
        #[case] ways: WaysIn,
        #[case] said: Option<&str>,
    ) {
        let told = not_woken("X", family, version, ways, " to it");
        match said {
            None => assert_eq!(told, None),
            Some(said) => {
                let told = told.unwrap();
                assert!(told.contains(said) && told.contains("; "), "{told}");
            }
        }
    }
}
