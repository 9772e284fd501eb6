//! Each rule of the fakes, shown by a start of one.

use fake_agents::{Mark, RuleId, Signal, rules};

use crate::recordings;
use crate::support::{End, Machine, Ran, Start};

const ID: &str = "0cb916db-26aa-40f2-86b5-1ba81b225fd2";
const OWN: (&str, &str) = ("COPILOT_PROVIDER_BASE_URL", "http://127.0.0.1:8000/v1");

/// A start of an agent that gives this answer.
fn start<'machine>(agent: &str, answer: &str, argv: &[&str], machine: &'machine Machine) -> Start<'machine> {
    let script = format!("agent: {agent}\nmodels: [gpt-5.4]\nanswers: [{{ {answer} }}]");
    Start::new(&script, argv, machine)
}

/// A run of Copilot with this answer.
fn copilot(answer: &str, argv: &[&str]) -> Ran {
    start("copilot", answer, argv, &Machine::default()).run()
}

/// A run of another agent with this answer.
fn other(agent: &str, answer: &str, argv: &[&str]) -> Ran {
    let machine = Machine::default();
    start(agent, answer, argv, &machine).with("GEMINI_CLI_TRUST_WORKSPACE", "true").run()
}

/// A run that is refused with this on stderr.
fn is_refused(ran: &Ran, code: u8, says: &str) {
    assert_eq!((ran.code(), ran.stdout.as_str()), (code, ""));
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

/// The last event of a run, which has this kind.
fn last(ran: &Ran, kind: &str) -> serde_json::Value {
    let last = ran.lines().pop().expect("a line");
    assert_eq!(last["type"], kind);
    last
}

const SILENT: [&str; 3] = ["-p", "hi", "-s"];
const JSON: [&str; 4] = ["-p", "hi", "--output-format", "json"];
const CLAUDE_JSON: [&str; 6] = ["-p", "--output-format", "stream-json", "--verbose", "--", "hi"];
const TOOL: &str = "tools: [{ name: bash, takes_ms: 7 }]";

fn copilot_command_line(rule: RuleId) {
    match rule {
        RuleId::CopilotPromptValue => {
            is_refused(&copilot("", &["-p", "--help"]), 1, "a value is required for '--prompt <text>'");
            assert_eq!(copilot("says: { echo: true }", &["--prompt=--help", "-s"]).stdout, "--help\n\n");
        }
        RuleId::CopilotUnknownFlag => {
            for argv in [&["--bogus", "-p", "x"], &["-p", "x", "y"], &["-p", "--help me", "-s"]] {
                is_refused(&copilot("", argv), 1, "error: Invalid command format.\n");
            }
        }
        RuleId::CopilotNewFlag => {
            let machine = Machine::default();
            let old = "agent: copilot\nversion: 1.0.24";
            let ran = Start::new(old, &["-p", "hi", "--session-id=abc"], &machine).run();
            is_refused(&ran, 1, "error: unknown option '--session-id=abc'");
        }
        RuleId::CopilotLastWins => {
            assert_eq!(copilot("says: { echo: true }", &["-p", "a", "-p", "b", "-s"]).stdout, "b\n\n");
        }
        RuleId::CopilotTwoPrompts => {
            is_refused(&copilot("", &["-p", "x", "-i", "y"]), 1, "Cannot specify prompt both");
        }
        RuleId::CopilotAddDir => {
            let machine =
                Machine { missing: vec!["/no".into()], files: vec!["/file".into()], ..Machine::default() };
            for (path, says) in [("/no", "Directory does not exist"), ("/file", "Not a directory")] {
                let ran = start("copilot", "", &["-p", "hi", "--add-dir", path], &machine);
                is_refused(&ran.with("COPILOT_OFFLINE", "true").run(), 1, says);
            }
        }
        RuleId::CopilotFolder => {
            let machine = Machine { missing: vec!["/no".into()], ..Machine::default() };
            let ran = start("copilot", "", &["-p", "hi", "-C", "/no"], &machine).run();
            is_refused(&ran, 1, "cannot change working directory to '/no'");
        }
        RuleId::CopilotBadValue => {
            let ran = copilot("", &["-p", "x", "--output-format", "xml"]);
            is_refused(&ran, 1, "[possible values: text, json]");
        }
        RuleId::CopilotVersion => {
            assert!(copilot("", &["--version"]).stdout.starts_with("GitHub Copilot CLI 1.0.102.\n"));
            let machine = Machine::default();
            let old = Start::new("agent: copilot\nversion: 0.0.384", &["--version"], &machine).run();
            assert!(old.stdout.starts_with("0.0.384\n"), "{}", old.stdout);
        }
        RuleId::CopilotHelpConfig => {
            assert!(copilot("", &["help", "config"]).stdout.contains("    - \"gpt-5.4\"\n"));
            is_refused(&copilot("", &["help", "nope"]), 1, "Unknown help topic: nope");
        }
        RuleId::CopilotNoPrompt => {
            is_refused(&copilot("", &["-p", ""]), 1, "No prompt provided.");
            is_refused(&copilot("", &["-s"]), 1, "No prompt provided.");
        }
        RuleId::CopilotStdin => {
            let machine = Machine::default();
            for (argv, said) in [(&["-s"][..], "from stdin\n\n"), (&SILENT, "hi\n\n")] {
                let ran =
                    start("copilot", "says: { echo: true }", argv, &machine).reading("from stdin\n").run();
                assert_eq!(ran.stdout, said);
            }
        }
        RuleId::CopilotTooLong => {
            let long = "x".repeat(1_000_000);
            let ran = copilot("", &["-p", &long, "-s"]);
            is_refused(&ran, 1, "Request exceeds the model's prompt budget");
        }
        RuleId::CopilotInteractive => {
            let ran = copilot("", &["-i", "hi"]);
            assert_eq!(ran.end, End::Hangs);
            assert!(ran.stdout.starts_with("\u{1b}[?1049h"));
            let machine = Machine::default();
            let told = "agent: copilot\ninteractive: answers";
            assert_eq!(Start::new(told, &["-i", "hi"], &machine).run().code(), 0);
        }
        other => copilot_sign_in(other),
    }
}

fn copilot_sign_in(rule: RuleId) {
    let machine = Machine::default();
    let signed_out = "agent: copilot\nsigned_in: false";
    match rule {
        RuleId::CopilotNotSignedIn => {
            for argv in [&SILENT[..], &JSON] {
                let ran = Start::new(signed_out, argv, &machine).run();
                is_refused(&ran, 1, "Error: No authentication information found.\n");
            }
            assert_eq!(Start::new(signed_out, &SILENT, &machine).with("GH_TOKEN", "gho_x").run().code(), 0);
        }
        RuleId::CopilotClassicToken => {
            let ran = Start::new(signed_out, &SILENT, &machine).with("GH_TOKEN", "ghp_x").run();
            is_refused(&ran, 1, "The GH_TOKEN environment variable contains a classic PAT.");
        }
        RuleId::CopilotOffline => {
            let ran = start("copilot", "", &SILENT, &machine).with("COPILOT_OFFLINE", "true").run();
            is_refused(&ran, 1, "Offline mode requires a local model provider.");
        }
        RuleId::CopilotNoModel => {
            let ran = start("copilot", "", &SILENT, &machine).with(OWN.0, OWN.1).run();
            is_refused(&ran, 1, "BYOK providers require an explicit model.");
        }
        RuleId::CopilotUnknownModel => {
            let argv = &["-p", "hi", "-s", "--model", "gpt-0"];
            is_refused(&copilot("", argv), 1, "Model \"gpt-0\" from --model flag is not available.");
            let own = start("copilot", "", argv, &machine).with(OWN.0, OWN.1).run();
            assert_eq!(own.code(), 0);
        }
        other => copilot_forms(other),
    }
}

fn copilot_forms(rule: RuleId) {
    match rule {
        RuleId::CopilotText => {
            let ran = copilot("", &SILENT);
            assert_eq!((ran.code(), ran.stdout.as_str(), ran.stderr.as_str()), (0, "The answer.\n\n", ""));
        }
        RuleId::CopilotStats => {
            let stderr = copilot("", &["-p", "hi"]).stderr;
            assert!(stderr.contains("\nTokens     ↑ 10 • ↓ 3\nResume     copilot --resume="), "{stderr}");
        }
        RuleId::CopilotToolBox => {
            let stdout = copilot(TOOL, &["-p", "hi", "--allow-all-tools"]).stdout;
            assert!(stdout.starts_with("● run bash (shell)\n  │ "), "{stdout}");
        }
        RuleId::CopilotJson => {
            for more in [&[][..], &["-s"]] {
                let ran = copilot("", &[&JSON, more].concat());
                let kinds = ran.kinds();
                assert_eq!(kinds[3..6], ["user.message", "assistant.turn_start", "model.call_start"]);
                assert_eq!(last(&ran, "result")["exitCode"], 0);
            }
        }
        RuleId::CopilotDenied => {
            let ran = copilot(TOOL, &JSON);
            assert_eq!((ran.code(), ran.took_ms), (0, 0));
            assert!(ran.stdout.contains("no interactive user response was available"));
        }
        RuleId::CopilotDenyWins => {
            let ran = copilot(TOOL, &[&JSON[..], &["--allow-all-tools", "--deny-tool=shell"]].concat());
            assert_eq!(ran.took_ms, 0);
            assert!(ran.stdout.contains("due to the following rules: `shell`"));
        }
        RuleId::CopilotExcluded => {
            for flag in ["--excluded-tools=bash", "--available-tools=view,grep,glob"] {
                let ran = copilot(TOOL, &[&JSON[..], &["--allow-all-tools", flag]].concat());
                assert!(ran.stdout.contains("Tool 'bash' does not exist."), "{flag}");
            }
        }
        RuleId::CopilotWorkspace => {
            let writes = |path: &str, more: &[&str]| {
                let answer = format!("writes: {{ path: {path}, text: x }}");
                !copilot(&answer, &[&["-p", "hi", "--allow-tool=write"], more].concat()).wrote.is_empty()
            };
            assert!(writes("new.txt", &[]) && writes("/tmp/new.txt", &[]) && !writes("/other/new.txt", &[]));
            assert!(!writes("/tmp/new.txt", &["--disallow-temp-dir"]));
            assert!(writes("/other/new.txt", &["--add-dir", "/other"]));
        }
        RuleId::CopilotVariable => {
            let machine = Machine::default();
            let run = |answer: &str, argv: &[&str]| {
                start("copilot", answer, argv, &machine).with("COPILOT_ALLOW_ALL", "true").run()
            };
            assert_eq!(run(TOOL, &SILENT).took_ms, 7);
            assert_eq!(run(TOOL, &[&SILENT[..], &["--deny-tool=shell"]].concat()).took_ms, 0);
            assert!(run("writes: { path: /other/new.txt, text: x }", &SILENT).wrote.is_empty());
        }
        RuleId::CopilotPlan => {
            let ran = copilot(TOOL, &[&JSON[..], &["--allow-all-tools", "--mode", "plan"]].concat());
            assert_eq!(ran.took_ms, 0);
            assert!(ran.kinds().contains(&"session.mode_notice_delivered".to_owned()));
        }
        other => copilot_failures(other),
    }
}

fn copilot_failures(rule: RuleId) {
    let fails = |status: u16, argv: &[&str]| {
        let machine = Machine::default();
        let answer = format!("error: {{ status: {status}, message: no quota }}");
        start("copilot", &answer, argv, &machine).with(OWN.0, OWN.1).with("COPILOT_MODEL", "scripted").run()
    };
    let error = |status: u16| {
        let ran = fails(status, &JSON);
        let found = ran.lines().into_iter().find(|line| line["type"] == "session.error").expect("an error");
        (found["data"].clone(), ran.took_ms)
    };
    match rule {
        RuleId::CopilotQuota => is_refused(&fails(402, &SILENT), 1, "\n402 no quota\n"),
        RuleId::CopilotQuotaJson => {
            let ran = fails(402, &JSON);
            assert_eq!((ran.code(), ran.stderr.as_str()), (1, ""));
            assert_eq!(last(&ran, "result")["exitCode"], 1);
            assert_eq!(error(402).0["statusCode"], 402);
        }
        RuleId::CopilotUnauthorized => {
            let (data, took_ms) = error(401);
            assert_eq!((data["errorType"].as_str(), took_ms), (Some("authentication"), 2_000));
            is_refused(&fails(401, &SILENT), 1, "provider at http://127.0.0.1:8000/v1 (HTTP 401).");
        }
        RuleId::CopilotNotFound => {
            is_refused(&fails(404, &SILENT), 1, "Model 'scripted' not found on provider at http://127.0.0.1");
        }
        RuleId::CopilotRateLimit => {
            let (data, took_ms) = error(429);
            assert_eq!((data["errorType"].as_str(), took_ms), (Some("rate_limit"), 58_250));
        }
        RuleId::CopilotServerError => {
            let ran = fails(500, &SILENT);
            assert_eq!(ran.took_ms, 16_500);
            is_refused(
                &ran,
                1,
                "retried 5 times (total retry wait time: 16.50 seconds) Last error: 500 no quota",
            );
        }
        RuleId::CopilotDown => {
            let (data, took_ms) = error(0);
            assert_eq!((data.get("statusCode"), took_ms), (None, 24_000));
        }
        other => copilot_sessions(other),
    }
}

fn copilot_sessions(rule: RuleId) {
    let machine = Machine::default();
    let run = |more: &[&str]| start("copilot", "", &[&JSON[..], more].concat(), &machine).run();
    match rule {
        RuleId::CopilotSessionId => {
            for _ in 0..2 {
                assert_eq!(last(&run(&["--session-id", ID]), "result")["sessionId"], ID);
            }
            is_refused(&run(&["--session-id", "abc"]), 1, "Error: No session or task matched 'abc'.");
        }
        RuleId::CopilotResume => {
            is_refused(&run(&["--resume", ID]), 1, "No session, task, or name matched");
            run(&["--session-id", ID, "--name", "Mine"]);
            for value in [ID, "0cb916d", "mine"] {
                assert_eq!(last(&run(&["--resume", value]), "result")["sessionId"], ID);
            }
            is_refused(&run(&["--resume", "0cb916"]), 1, "No session, task, or name matched");
        }
        RuleId::CopilotOldResume => {
            let old = "agent: copilot\nversion: 1.0.24";
            let ran = Start::new(old, &["-p", "hi", "-s", "--resume", ID], &machine).run();
            assert_eq!((ran.code(), ran.stdout.as_str()), (0, "The answer.\n\n"));
        }
        RuleId::CopilotPicker => is_refused(&run(&["--resume"]), 1, "interactive session picker"),
        RuleId::CopilotStore => {
            run(&["--session-id", ID]);
            let text = machine.store.borrow()[&format!("session-state/{ID}/events.jsonl")].clone();
            let events: Vec<serde_json::Value> =
                text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(events.windows(2).all(|pair| pair[1]["parentId"] == pair[0]["id"]));
            assert_eq!(events[0]["type"], "session.start");
            assert!(!text.contains("ephemeral"));
        }
        RuleId::CopilotSignal => {
            let answer = "says: so, hangs: true";
            for signal in [Signal::Terminate, Signal::Interrupt] {
                let ran = start("copilot", answer, &SILENT, &machine).interrupted_by(signal);
                assert_eq!((ran.code(), ran.stdout.as_str()), (0, "so"));
                let ran = start("copilot", answer, &JSON, &machine).interrupted_by(signal);
                let has_result = ran.kinds().contains(&"result".to_owned());
                assert!(ran.kinds().contains(&"abort".to_owned()));
                assert_eq!(has_result, signal == Signal::Terminate);
            }
        }
        // A plan has no launcher; the tests of the process show it.
        RuleId::CopilotLauncher => {}
        other => claude(other),
    }
}

fn claude(rule: RuleId) {
    let machine = Machine::default();
    let agent = "claude-code";
    let interrupted =
        |argv: &[&str], signal| start(agent, "says: so, hangs: true", argv, &machine).interrupted_by(signal);
    match rule {
        RuleId::ClaudeVerbose => {
            let ran = other(agent, "", &["-p", "--output-format", "stream-json", "--", "hi"]);
            is_refused(&ran, 1, "--output-format=stream-json requires --verbose");
        }
        RuleId::ClaudeStdin => {
            let mut silent = start(agent, "", &["-p", "--", "hi"], &machine);
            silent.invocation.stdin_is_silent = true;
            assert!(silent.run().stderr.starts_with("Warning: no stdin data received in 3s"));
            let both = start(agent, "says: { echo: true }", &["-p", "--", "hi"], &machine);
            assert_eq!(both.reading("read").run().stdout, "hi\nread\n");
        }
        RuleId::ClaudeTooMuch => {
            let ran = start(agent, "", &["-p"], &machine).reading(&"x".repeat(12_000_000)).run();
            is_refused(&ran, 1, "piped stdin input exceeds 10MB");
        }
        RuleId::ClaudeErrorOnStdout => {
            let ran = other(agent, "error: { status: 402, message: no quota }", &["-p", "--", "hi"]);
            assert_eq!((ran.code(), ran.stderr.as_str()), (1, ""));
            assert_eq!(ran.stdout, "API Error: 402 no quota\n");
        }
        RuleId::ClaudeErrorSuccess | RuleId::ClaudeRetries => {
            let (status, retries) = if rule == RuleId::ClaudeRetries { (500, 10) } else { (402, 0) };
            let answer = format!("error: {{ status: {status}, message: no quota }}");
            let ran = other(agent, &answer, &CLAUDE_JSON);
            let result = last(&ran, "result");
            assert_eq!((ran.code(), ran.lines().len()), (1, 3 + retries));
            assert_eq!((result["subtype"].as_str(), &result["is_error"]), (Some("success"), &true.into()));
            assert_eq!(result["api_error_status"], status);
        }
        RuleId::ClaudeTools => {
            let tool = "tools: [{ name: Bash }]";
            let result = last(&other(agent, tool, &CLAUDE_JSON), "result");
            assert_eq!(result["permission_denials"][0]["tool_name"], "Bash");
            let ran = other(agent, tool, &[&["--tools", "Read"], &CLAUDE_JSON[..]].concat());
            assert!(ran.stdout.contains("No such tool available: Bash"));
        }
        RuleId::ClaudeSession => {
            let new = &["-p", "--session-id", ID, "--", "hi"];
            is_refused(
                &start(agent, "", &["-p", "--resume", ID, "--", "hi"], &machine).run(),
                1,
                "No conversation",
            );
            assert_eq!(start(agent, "", new, &machine).run().code(), 0);
            is_refused(&start(agent, "", new, &machine).run(), 1, "is already in use");
            let mut elsewhere = start(agent, "", &["-p", "--resume", ID, "--", "hi"], &machine);
            elsewhere.invocation.folder = "/beside".into();
            assert_eq!(elsewhere.run().code(), 0);
        }
        RuleId::ClaudeTerm => {
            let ran = interrupted(&["-p", "--", "hi"], Signal::Terminate);
            assert_eq!((ran.code(), ran.stdout.as_str()), (143, ""));
        }
        RuleId::ClaudeInterrupt => {
            let ran = interrupted(&CLAUDE_JSON, Signal::Interrupt);
            assert_eq!((ran.code(), &last(&ran, "result")["is_error"]), (0, &true.into()));
        }
        other => codex(other),
    }
}

fn codex(rule: RuleId) {
    let machine = Machine::default();
    let agent = "codex";
    let json = &["exec", "--json", "--", "hi"];
    match rule {
        RuleId::CodexStdin => {
            let ran =
                start(agent, "says: { echo: true }", &["exec", "--", "hi"], &machine).reading("read").run();
            assert_eq!(ran.stdout, "hi\n\n<stdin>\nread\n</stdin>\n");
        }
        RuleId::CodexGit => {
            let missing = ["/project/.git", "/.git"].map(Into::into).to_vec();
            let machine = Machine { missing, ..Machine::default() };
            is_refused(
                &start(agent, "", &["exec", "--", "hi"], &machine).run(),
                1,
                "Not inside a trusted directory",
            );
        }
        RuleId::CodexStdout => {
            let ran = other(agent, "", &["exec", "--", "hi"]);
            assert_eq!(ran.stdout, "The answer.\n");
            assert!(ran.stderr.contains("OpenAI Codex v0.169.0\n") && ran.stderr.contains("tokens used\n13"));
        }
        RuleId::CodexResumeWord => {
            assert_eq!(other(agent, "says: { echo: true }", &["exec", "--", "resume"]).stdout, "resume\n");
            is_refused(&other(agent, "", &["exec", "resume", ID, "hi"]), 1, "no rollout found");
        }
        RuleId::CodexSandbox => {
            let tool = "tools: [{ name: shell }]";
            assert!(!other(agent, tool, json).stdout.contains("command_execution"));
            let writes = other(agent, tool, &["exec", "--json", "-s", "workspace-write", "--", "hi"]);
            assert!(writes.stdout.contains("command_execution"));
        }
        RuleId::CodexQuota => {
            let ran = other(agent, "error: { status: 402, message: no quota }", json);
            assert_eq!((ran.code(), ran.took_ms), (1, 6_400));
            last(&ran, "turn.failed");
        }
        RuleId::CodexDown => {
            assert_eq!(other(agent, "error: { status: 0 }", json).end, End::Hangs);
        }
        RuleId::CodexTerm | RuleId::CodexInterrupt => {
            let (signal, end) = if rule == RuleId::CodexTerm {
                (Signal::Terminate, End::Died(Signal::Terminate))
            } else {
                (Signal::Interrupt, End::Exit(1))
            };
            let ran = start(agent, "hangs: true", json, &machine).interrupted_by(signal);
            assert_eq!(ran.end, end);
            last(&ran, "turn.started");
        }
        other => rest(other),
    }
}

fn rest(rule: RuleId) {
    let machine = Machine::default();
    let gemini = ["-o", "stream-json", "--prompt=hi"];
    match rule {
        RuleId::GeminiTrust => {
            let ran = start("gemini-cli", "", &gemini, &machine).run();
            is_refused(&ran, 55, "not running in a trusted directory");
        }
        RuleId::GeminiNotSignedIn => {
            let out =
                Start::new("agent: gemini-cli\nsigned_in: false", &["--skip-trust", "--prompt=hi"], &machine);
            is_refused(&out.run(), 41, "Please set an Auth method");
        }
        RuleId::GeminiStatusExit => {
            let ran = other("gemini-cli", "error: { status: 402, message: no quota }", &gemini);
            assert_eq!((ran.code(), &last(&ran, "result")["status"]), (146, &"error".into()));
        }
        RuleId::GeminiSignal => {
            let run = start("gemini-cli", "says: so, hangs: true", &gemini, &machine);
            let ran = run.with("GEMINI_CLI_TRUST_WORKSPACE", "true").interrupted_by(Signal::Terminate);
            assert_eq!((ran.code(), &last(&ran, "message")["content"]), (0, &"so".into()));
        }
        // A plan has no launcher; the tests of the process show it.
        RuleId::GeminiLauncher => {}
        RuleId::GeminiMissingFolder => {
            let machine = Machine { missing: vec!["/no".into()], ..Machine::default() };
            let argv = [&gemini[..], &["--include-directories", "/no"]].concat();
            let run = start("gemini-cli", "", &argv, &machine).with("GEMINI_CLI_TRUST_WORKSPACE", "true");
            is_refused(&run.run(), 1, "Directory does not exist: /no");
        }
        RuleId::OpencodeQuotes => {
            let said = |argv: &[&str]| start("opencode", "says: { echo: true }", argv, &machine).run().stdout;
            assert_eq!(said(&["run", "--", "a b"]), "\"a b\"\n");
            assert_eq!(said(&["run", "--", "two", "a \"b\""]), "two \"a \\\"b\\\"\"\n");
        }
        RuleId::OpencodeSignal | RuleId::QwenSignal => {
            let (agent, argv) = if rule == RuleId::QwenSignal {
                ("qwen-code", &["--prompt=hi"][..])
            } else {
                ("opencode", &["run", "--", "hi"][..])
            };
            let ran = start(agent, "hangs: true", argv, &machine).interrupted_by(Signal::Terminate);
            assert_eq!(ran.end, End::Died(Signal::Terminate));
        }
        RuleId::QwenOutside => {
            let writes = "writes: { path: /other/new.txt, text: x }";
            let argv = ["--approval-mode", "auto-edit", "--prompt=hi"];
            assert_eq!(other("qwen-code", writes, &argv).wrote.len(), 1);
        }
        RuleId::GeminiTools => {
            let ran = other("gemini-cli", "tools: [{ name: run_shell_command }]", &gemini);
            assert!(ran.stdout.contains("tool_not_registered"));
        }
        RuleId::GeminiSession => {
            for (folder, more, code) in
                [("/project", "--session-id", 0), ("/beside", "--resume", 42), ("/project", "--resume", 0)]
            {
                let argv = [&gemini[..], &[more, ID]].concat();
                let mut run =
                    start("gemini-cli", "", &argv, &machine).with("GEMINI_CLI_TRUST_WORKSPACE", "true");
                run.invocation.folder = folder.into();
                assert_eq!(run.run().code(), code);
            }
        }
        RuleId::OpencodePermission => {
            let argv = &["run", "--format", "json", "--", "hi"];
            assert_eq!(start("opencode", TOOL, argv, &machine).run().took_ms, 7);
            let denied = start("opencode", TOOL, argv, &machine);
            let denied = denied.with("OPENCODE_CONFIG_CONTENT", r#"{"permission":"deny"}"#).run();
            assert_eq!(denied.took_ms, 0);
        }
        RuleId::QwenPrompt => {
            is_refused(&other("qwen-code", "", &["--", "hi"]), 1, "No input provided via stdin.");
            assert_eq!(other("qwen-code", "", &["hi"]).code(), 0);
        }
        RuleId::QwenNotSignedIn => {
            let out = "agent: qwen-code\nsigned_in: false";
            let ran = Start::new(out, &["-o", "stream-json", "--prompt=hi"], &machine).run();
            assert_eq!((ran.code(), &last(&ran, "result")["is_error"]), (1, &true.into()));
        }
        other => panic!("no start shows {other:?}"),
    }
}

#[test]
fn every_rule_is_shown() {
    for rule in rules() {
        println!("{:?}: {}", rule.id, rule.says);
        copilot_command_line(rule.id);
    }
}

#[test]
fn every_rule_says_where_it_comes_from() {
    for rule in rules() {
        assert!(rule.source.len() > 12 && !rule.says.is_empty(), "{:?}", rule.id);
        assert!(rule.mark == Mark::Guess || rule.source.contains(['[', ':', '.']), "{:?}", rule.id);
    }
}

/// `[AGENT-VERSION/NAME, NAME]` are recordings; they are there where recordings of that version are.
#[test]
fn every_recording_that_a_rule_names_is_there() {
    let recordings = recordings::folder();
    for rule in rules() {
        let inside =
            rule.source.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(inside, _)| inside);
        let mut of = String::new();
        for name in inside.into_iter().flat_map(|inside| inside.split(", ")) {
            let name = name.split_once('/').map_or(name, |(version, name)| {
                version.clone_into(&mut of);
                name
            });
            let folder = recordings.join(&of);
            let is_there =
                of.contains('*') || !folder.is_dir() || folder.join(format!("{name}.json")).is_file();
            assert!(is_there, "{:?}: no recording {of}/{name}", rule.id);
        }
    }
}
