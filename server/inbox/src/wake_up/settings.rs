//! The operator's settings for the hosts' own wake-ups.

use std::time::Duration;

use entraclaw_seams::secret::Secret;

/// Whose messages go whole through a host's own wake-up, which may ask its model to act on them. Of other
/// messages the model is only told that they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WholeText {
    /// Those of the operator alone, who is known by ids.
    #[default]
    Operator,
    /// Those of every sender that the gate allows.
    Allowed,
    /// None; all messages are only announced.
    Nobody,
}

/// The hosts' own wake-ups that may be used. Each is off unless it is configured, except for the inboxes of
/// Claude Code and Qwen Code, which a host gives to the servers of its own session, and the hook that only
/// `entraclaw setup` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WakeUpSettings {
    /// Whether the inbox socket that Claude Code gives to its servers is written to.
    pub inbox_socket: bool,
    /// Whether the hook that Claude Code runs beside an idle session may wake it.
    pub waking_hook: bool,
    /// Whether `codex queue` is run.
    pub codex_queue: bool,
    /// The program for it: a name in `PATH`, or an absolute path.
    pub codex_command: String,
    /// The port that opencode was started with.
    pub opencode_port: Option<u16>,
    /// The password of opencode's port, from the environment.
    pub opencode_password: Option<Secret>,
    /// Whether messages are handed in at the inbox of a Qwen Code session that has one.
    pub qwen_peer: bool,
    /// The file that Qwen Code was started with, as an absolute path.
    pub qwen_input_file: Option<String>,
    /// The pause after a wake-up before the next one, unless the host calls a tool before. Messages that come
    /// meanwhile go together.
    pub min_interval: Duration,
    /// Messages that may go through a wake-up in an hour; the others wait for a pull.
    pub messages_per_hour: u32,
}

impl Default for WakeUpSettings {
    fn default() -> Self {
        Self {
            inbox_socket: true,
            waking_hook: true,
            codex_queue: false,
            codex_command: "codex".to_owned(),
            opencode_port: None,
            opencode_password: None,
            qwen_peer: true,
            qwen_input_file: None,
            min_interval: Duration::from_secs(10),
            messages_per_hour: 360,
        }
    }
}
