//! What a person can set in a host: mode, limits, flags.
//! It holds settings only; what a host does with them is the profile's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::mode::Mode;

/// The settings of one fake host session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostOptions {
    /// How the host runs.
    pub mode: Mode,
    /// The server's name in the host's configuration.
    pub server_name: String,
    /// The configured limit of a tool call, in milliseconds.
    pub tool_timeout_ms: Option<u64>,
    /// The configured limit of the handshake, in milliseconds.
    pub start_timeout_ms: Option<u64>,
    /// The configured time after which a call goes to the background, in milliseconds; 0 means never.
    pub background_after_ms: Option<u64>,
    /// Whether the older protocol is forced, so that no probe is sent.
    pub legacy_only: bool,
    /// Whether the newer protocol is asked for, so that a host probes that does not by itself.
    pub negotiate: bool,
    /// Whether the session names the server as a channel.
    pub channels: bool,
    /// Whether the person's settings allow the server's tools.
    pub allow_tools: bool,
    /// The server's tools that run without a question, `*` for all of them, where the person's settings say that; nothing
    /// when no tool is asked about.
    pub unasked: Option<Vec<String>>,
    /// Whether the server's `instructions` are allowed by a setting.
    pub allow_instructions: bool,
    /// Whether the tools are known from an earlier run.
    pub warm_tool_cache: bool,
    /// The id of the conversation, where a host tells it to its servers.
    pub thread: String,
    /// The working directory that `roots/list` names.
    pub working_directory: String,
    /// The session's id, as hooks are told it.
    pub session_id: String,
    /// Whether the model may leave our command running in its shell, with the settings that its end needs.
    pub shell: bool,
    /// Whether our hooks are configured.
    pub hooks: bool,
    /// Whether our hook that wakes is configured.
    pub waking_hook: bool,
    /// How long that one may take, in milliseconds, where its entry says so.
    pub waking_timeout_ms: Option<u64>,
    /// Whether the host's wake-up is open to us.
    pub wake_up: bool,
    /// Whether the host's experimental setting is on.
    pub experimental: bool,
}

/// The id of the conversation that a session of a machine has in its `start`th run: no other has the same.
pub fn thread_id(session: u64, start: u64) -> String {
    super::wire::uuid((session << 32) | (1 << 31) | start)
}

impl Default for HostOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Tui,
            server_name: "entraclaw".to_owned(),
            tool_timeout_ms: None,
            start_timeout_ms: None,
            background_after_ms: None,
            legacy_only: false,
            negotiate: false,
            channels: true,
            allow_tools: true,
            unasked: None,
            allow_instructions: false,
            warm_tool_cache: false,
            thread: thread_id(0, 0),
            working_directory: "/home/alice/project".to_owned(),
            session_id: "5e551000-0000-4000-8000-000000000001".to_owned(),
            shell: false,
            hooks: false,
            waking_hook: false,
            waking_timeout_ms: None,
            wake_up: false,
            experimental: false,
        }
    }
}
