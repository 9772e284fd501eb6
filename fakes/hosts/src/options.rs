//! The user's settings of a host: mode, limits, flags. It holds the settings only; the profile says how a
//! host uses them.

use host_profiles::Mode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The settings of one fake host session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostOptions {
    /// The mode of the host.
    pub mode: Mode,
    /// The server's name in the host's configuration.
    pub server_name: String,
    /// The configured limit of a tool call, in milliseconds.
    pub tool_timeout_ms: Option<u64>,
    /// The configured limit of the handshake, in milliseconds.
    pub start_timeout_ms: Option<u64>,
    /// The configured time after which a call goes to the background, in milliseconds; 0 means never.
    pub background_after_ms: Option<u64>,
    /// Whether a setting forces the older protocol, so that no probe is sent.
    pub legacy_only: bool,
    /// Whether a setting asks for the newer protocol, so that a host probes that does not do so by default.
    pub negotiate: bool,
    /// Whether the session names the server as a channel.
    pub channels: bool,
    /// Whether the user's settings allow the server's tools.
    pub allow_tools: bool,
    /// The server's tools that run without a question, `*` for all of them, if the user's settings say so;
    /// `None` if no tool needs consent.
    pub unasked: Option<Vec<String>>,
    /// Whether a setting allows the server's `instructions`.
    pub allow_instructions: bool,
    /// Whether the host knows the tools from an earlier run.
    pub warm_tool_cache: bool,
    /// The id of the conversation, which some hosts tell their servers.
    pub thread: String,
    /// The working directory that `roots/list` names.
    pub working_directory: String,
    /// The id of the session, as hooks get it.
    pub session_id: String,
    /// Whether the model may run the program under test in its shell, with the settings that reporting its
    /// end needs.
    pub shell: bool,
    /// Whether the hooks of the program under test are configured.
    pub hooks: bool,
    /// Whether its hook that wakes is configured.
    pub waking_hook: bool,
    /// The time limit of that hook, in milliseconds, if its entry has one.
    pub waking_timeout_ms: Option<u64>,
    /// Whether the host's wake-up is open.
    pub wake_up: bool,
    /// Whether the host's experimental setting is on.
    pub experimental: bool,
}

/// The id of the conversation in the `start`th run of a session; it is unique on a machine.
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
