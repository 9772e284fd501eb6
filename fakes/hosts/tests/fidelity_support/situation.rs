//! The user's settings and actions in a recorded situation, where the wire alone does not show them.
//! It holds settings, actions and reasons; it never says what the host should send.

use fake_hosts::{Action, HostOptions, Mode};

/// One recorded situation.
#[derive(Debug, Clone)]
pub(crate) struct Situation {
    /// The settings of the host.
    pub(crate) options: HostOptions,
    /// Actions besides the calls that the wire shows, with their times in milliseconds.
    pub(crate) actions: Vec<(u64, Action)>,
    /// The reason why it is not compared.
    pub(crate) skipped: Option<&'static str>,
    /// Methods that the host sent while the tracer did not read.
    pub(crate) unread: Vec<&'static str>,
    /// The second process belongs to a new run of the host, with the tools known from the first.
    pub(crate) second_run: bool,
    /// Whether the host ended the process by its own decision, so that no `Exit` is played.
    pub(crate) ends_by_itself: bool,
    /// The members that the host leaves out if its own client drives it and not a user.
    pub(crate) not_said: Option<&'static str>,
    /// The end differs from run to run, so it is not compared.
    pub(crate) end_unjudged: bool,
}

impl Situation {
    /// No special settings or actions, in the mode of the name.
    pub(crate) fn plain(name: &str) -> Self {
        let mode = if name.starts_with("tui") { Mode::Tui } else { Mode::Print };
        Self {
            options: HostOptions {
                mode,
                server_name: "tracer".to_owned(),
                // The folder's name as the tracer wrote it.
                working_directory: "$RUN/work".to_owned(),
                ..HostOptions::default()
            },
            actions: Vec::new(),
            skipped: None,
            unread: Vec::new(),
            second_run: false,
            ends_by_itself: false,
            not_said: None,
            end_unjudged: false,
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
    match version.split_once('-').map_or("", |(host, _)| host) {
        "claude" => claude(version, name, plain),
        "copilot" => copilot(version, name, plain),
        "codex" => codex(name, plain),
        "opencode" => opencode(name, plain),
        "gemini" => gemini(name, plain),
        "qwen" => qwen(name, plain),
        _ => plain.skip("the actions in it are not known"),
    }
}

fn claude(version: &str, name: &str, mut plain: Situation) -> Situation {
    "$RUN/cwd".clone_into(&mut plain.options.working_directory);
    match name {
        // A limit in the server's entry, and one by the variable.
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
            // Its tracer slept during the first list and read nothing more.
            plain.unread = vec!["prompts/list", "resources/list"];
            plain
        }
        "version_2026-07-28" => plain.by_itself(),
        "tool_timeout_500" => plain.tool_timeout(500),
        "cli_kill" => {
            let killed_ms = match version {
                "claude-code-2.0.73" => 3602,
                "claude-code-2.1.163" => 4237,
                _ => 4461,
            };
            plain.does(killed_ms, Action::Kill).by_itself()
        }
        "tui_reconnect" => plain.does(5448, Action::Reconnect).by_itself(),
        // The negotiation setting was `auto`.
        "auto_error" | "auto_silent" => {
            plain.options.negotiate = true;
            plain
        }
        "tui_bg_idle" | "tui_bg_busy" => {
            plain.options.background_after_ms = Some(4000);
            plain
        }
        // The user typed `@server:uri`, or a slash command; the wire shows the request itself.
        _ => plain,
    }
}

fn copilot(version: &str, name: &str, mut plain: Situation) -> Situation {
    match name {
        "modern_task" | "tui_modern_task" if version == "copilot-cli-1.0.102" => plain.skip(
            "the first question about a task overtakes a list, by the host's own inner work; own tests hold the polling",
        ),
        "modern_task" | "tui_modern_task" | "ext_busy_exp" | "tui_ext_wake" => {
            plain.options.experimental = true;
            plain
        }
        "proto_2026-07-28" => {
            plain.skip("without cache hints the host lists at a pace of its own inner work")
        }
        "tui_prompts" => plain.skip("what made it list again is not known: a slash command or /mcp"),
        "ask" if version == "copilot-cli-1.0.102" => {
            plain.options.warm_tool_cache = true;
            plain
        }
        "twice_slow" => {
            plain.second_run = true;
            plain
        }
        "cfg5_init_delay8" | "sleep12_cfg5" | "sleep12_cfg5_progress" => plain.tool_timeout(5000),
        "timeouts.five" | "timeouts.prog" | "timeouts65.five" | "timeouts65.grown" | "timeouts65.prog" => {
            plain.tool_timeout(5000)
        }
        "late_reply" => plain.tool_timeout(3000),
        "timeouts.long" | "timeouts65.long" => plain.tool_timeout(240_000),
        "sleep_cfg1" => plain.tool_timeout(1).by_itself(),
        "cli_no_allow" => {
            plain.options.allow_tools = false;
            plain
        }
        "never_init" | "discover_die" => plain.by_itself(),
        "p_sigkill" => plain.does(6358, Action::Kill).by_itself(),
        "tui_relist_idle" if version == "copilot-cli-1.0.102" => plain.does(13_932, go_on()),
        "tui_relist_idle" if version == "copilot-cli-1.0.83" => plain.does(22_186, go_on()),
        _ => plain,
    }
}

/// The user types.
fn go_on() -> Action {
    Action::BeginTurn { prompt: "go on".to_owned() }
}

fn codex(name: &str, mut plain: Situation) -> Situation {
    if name.starts_with("rpc_") {
        plain.not_said = Some("\"thread_source\":\"user\",\"turn_trigger\":\"exec\",");
    }
    match name {
        "cfg5" => plain.tool_timeout(5000),
        // The user typed again, in a new turn.
        "tui_grow_flag" => plain.does(20_000, Action::EndTurn).does(20_851, go_on()),
        // The wire looks the same for a limit and for an interrupt.
        "rpc_interrupt" => plain.does(1994, Action::Interrupt),
        // The user pressed Esc in the form.
        "tui_ask_onreq" => {
            plain.does(24_325, Action::AnswerElicitation { action: "cancel".to_owned(), content: None })
        }
        _ => plain,
    }
}

fn opencode(name: &str, plain: Situation) -> Situation {
    match name {
        "proto_bogus" => plain.by_itself(),
        _ => plain,
    }
}

fn gemini(name: &str, mut plain: Situation) -> Situation {
    match name {
        "cfg5" => plain.tool_timeout(5000),
        "proto_bogus" => plain.by_itself(),
        "acp.acp" | "garbage" => {
            // In some runs the end of stdin comes before the signal.
            plain.end_unjudged = true;
            plain
        }
        // The user pressed Esc, which does not appear on the wire.
        "tui_esc" => plain.does(8000, Action::Interrupt),
        _ => plain,
    }
}

fn qwen(name: &str, plain: Situation) -> Situation {
    match name {
        "cfg5_progress" => plain.tool_timeout(5000),
        _ => plain,
    }
}
