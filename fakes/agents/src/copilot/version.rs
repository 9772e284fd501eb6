//! What older versions of `copilot` do not have yet, as `--help`, runs and the change log of each version show it.

use crate::script::Script;

/// Flags that came after 0.0.354, with the first version that is known to have them.
const SINCE: &[(&str, [u32; 3])] = &[
    ("--add-github-mcp-tool", [0, 0, 384]),
    ("--add-github-mcp-toolset", [0, 0, 384]),
    ("--allow-all", [0, 0, 384]),
    ("--allow-all-urls", [0, 0, 384]),
    ("--allow-url", [0, 0, 384]),
    ("--available-tools", [0, 0, 384]),
    ("--deny-url", [0, 0, 384]),
    ("--excluded-tools", [0, 0, 384]),
    ("--interactive", [0, 0, 384]),
    ("--no-auto-update", [0, 0, 384]),
    ("--plain-diff", [0, 0, 384]),
    ("--share", [0, 0, 384]),
    ("--share-gist", [0, 0, 384]),
    ("--silent", [0, 0, 384]),
    ("--yolo", [0, 0, 384]),
    ("--acp", [0, 0, 401]),
    ("--experimental", [0, 0, 401]),
    ("--no-ask-user", [0, 0, 401]),
    ("--no-experimental", [0, 0, 401]),
    ("--autopilot", [0, 0, 420]),
    ("--bash-env", [0, 0, 420]),
    ("--max-autopilot-continues", [0, 0, 420]),
    ("--mouse", [0, 0, 420]),
    ("--no-bash-env", [0, 0, 420]),
    ("--no-mouse", [0, 0, 420]),
    ("--secret-env-vars", [0, 0, 420]),
    ("--output-format", [0, 0, 422]),
    ("--plugin-dir", [1, 0, 0]),
    ("--mode", [1, 0, 24]),
    ("--plan", [1, 0, 24]),
    ("--reasoning-effort", [1, 0, 24]),
    ("--session-id", [1, 0, 51]),
    ("--attachment", [1, 0, 60]),
    ("--connect", [1, 0, 60]),
    ("--context", [1, 0, 60]),
    ("--enable-memory", [1, 0, 60]),
    ("--extension-sdk-path", [1, 0, 60]),
    ("--name", [1, 0, 60]),
    ("--no-remote", [1, 0, 60]),
    ("--remote", [1, 0, 60]),
    ("--auto-tier", [1, 0, 102]),
    ("--disable-client-telemetry", [1, 0, 102]),
    ("--fleet", [1, 0, 102]),
    ("--trust-folder", [1, 0, 102]),
];

/// Events that came later, with the first version that is known to have them.
const EVENTS_SINCE: &[(&str, [u32; 3])] = &[
    ("assistant.message_start", [1, 0, 60]),
    ("model.call_failure", [1, 0, 60]),
    ("agent.interrupted", [1, 0, 102]),
    ("assistant.idle", [1, 0, 102]),
    ("assistant.tool_call_delta", [1, 0, 102]),
    ("assistant.turn_retry", [1, 0, 102]),
    ("model.call_final_result", [1, 0, 102]),
    ("model.call_finished", [1, 0, 102]),
    ("model.call_start", [1, 0, 102]),
];

/// Since when a session that is not there is refused. Before, a new one began without a word.
const RESUME_REFUSES: [u32; 3] = [1, 0, 60];
/// Since when `--version` has a sentence. Before, it had the number and a commit.
const VERSION_SENTENCE: [u32; 3] = [0, 0, 401];

/// A version of `copilot`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Version([u32; 3]);

impl Version {
    /// The one that a script stands for; what can't be read counts as new.
    pub(crate) fn of(script: &Script) -> Self {
        let mut parts = script.version().split('.').map(|part| part.parse().unwrap_or(u32::MAX));
        Self([0; 3].map(|_| parts.next().unwrap_or_default()))
    }

    /// Whether it has a flag.
    pub(super) fn has_flag(self, name: &str) -> bool {
        SINCE.iter().find(|(flag, _)| *flag == name).is_none_or(|(_, since)| self.0 >= *since)
    }

    /// Whether it has an event.
    pub(super) fn has_event(self, kind: &str) -> bool {
        EVENTS_SINCE.iter().find(|(event, _)| *event == kind).is_none_or(|(_, since)| self.0 >= *since)
    }

    /// Whether it refuses a session that is not there.
    pub(super) fn refuses_unknown_sessions(self) -> bool {
        self.0 >= RESUME_REFUSES
    }

    /// Whether `--version` has a sentence.
    pub(super) fn has_version_sentence(self) -> bool {
        self.0 >= VERSION_SENTENCE
    }
}
