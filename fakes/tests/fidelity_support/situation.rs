//! What the person had set and done in a recorded situation, where the wire alone does not tell.
//! It holds settings, actions and reasons; it never says what the host should send.

use fakes::host::{Action, HostOptions, Mode};

/// One recorded situation.
#[derive(Debug, Clone)]
pub(crate) struct Situation {
    /// The settings of the host.
    pub(crate) options: HostOptions,
    /// What was done beside the calls that the wire shows, with its time in milliseconds.
    pub(crate) actions: Vec<(u64, Action)>,
    /// Why it is not compared.
    pub(crate) skipped: Option<&'static str>,
    /// Methods that the host sent while the tracer did not read.
    pub(crate) unread: Vec<&'static str>,
    /// The second process belongs to a new run of the host, with the tools known from the first.
    pub(crate) second_run: bool,
    /// Whether the end of the process was the host's own decision, so that no `Exit` is played.
    pub(crate) ends_by_itself: bool,
}

impl Situation {
    /// Nothing special, in the mode that the name tells.
    pub(crate) fn plain(name: &str) -> Self {
        let mode = if name.starts_with("tui") { Mode::Tui } else { Mode::Print };
        Self {
            options: HostOptions { mode, server_name: "tracer".to_owned(), ..HostOptions::default() },
            actions: Vec::new(),
            skipped: None,
            unread: Vec::new(),
            second_run: false,
            ends_by_itself: false,
        }
    }

    fn skip(mut self, reason: &'static str) -> Self {
        self.skipped = Some(reason);
        self
    }

    fn tool_timeout(mut self, timeout_ms: u64) -> Self {
        self.options.tool_timeout_ms = Some(timeout_ms);
        self
    }

    fn does(mut self, at_ms: u64, action: Action) -> Self {
        self.actions.push((at_ms, action));
        self
    }

    fn by_itself(mut self) -> Self {
        self.ends_by_itself = true;
        self
    }
}

/// The situation of a recording.
pub(crate) fn of(version: &str, name: &str) -> Situation {
    let plain = Situation::plain(name);
    if version.starts_with("claude-code") { claude(name, plain) } else { copilot(name, plain) }
}

fn claude(name: &str, mut plain: Situation) -> Situation {
    match name {
        // A limit in the server's entry, and by the variable.
        "cfg_timeout" => plain.tool_timeout(3000),
        "tool_timeout" => plain.tool_timeout(4000),
        "close_stdout" => plain.tool_timeout(15_000),
        "init_delay_short" => {
            plain.options.start_timeout_ms = Some(3000);
            plain.by_itself()
        }
        "legacy" => {
            plain.options.legacy_only = true;
            plain
        }
        "list_delay_45" => {
            // Its tracer slept in the first list and read nothing more.
            plain.unread = vec!["prompts/list", "resources/list"];
            plain
        }
        "version_2026-07-28" => plain.by_itself(),
        "cli_kill" => plain.does(4461, Action::Kill).by_itself(),
        "tui_reconnect" => plain.does(5448, Action::Reconnect).by_itself(),
        "tui_bg_idle" => {
            plain.options.background_after_ms = Some(4000);
            plain
        }
        // The person typed `@server:uri`, or a slash command; the wire shows the request itself.
        _ => plain,
    }
}

fn copilot(name: &str, mut plain: Situation) -> Situation {
    match name {
        "modern_task" | "tui_modern_task" => plain.skip("tasks need --experimental, out of scope"),
        "proto_2026-07-28" => {
            plain.skip("without cache hints the host lists at a pace of its own inner work")
        }
        "tui_prompts" => plain.skip("what made it list again is not known: a slash command or /mcp"),
        "ask" => {
            plain.options.warm_tool_cache = true;
            plain
        }
        "twice_slow" => {
            plain.second_run = true;
            plain
        }
        "cfg5_init_delay8" | "sleep12_cfg5" | "sleep12_cfg5_progress" => plain.tool_timeout(5000),
        "sleep_cfg1" => plain.tool_timeout(1).by_itself(),
        "cli_no_allow" => {
            plain.options.allow_tools = false;
            plain
        }
        "never_init" | "discover_die" => plain.by_itself(),
        "p_sigkill" => plain.does(6358, Action::Kill).by_itself(),
        "tui_relist_idle" => plain.does(13_932, Action::BeginTurn { prompt: "go on".to_owned() }),
        _ => plain,
    }
}
