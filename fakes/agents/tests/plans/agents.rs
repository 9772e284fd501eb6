//! The other CLIs: command lines, forms, permissions, sessions and refusals, without a process. What the real programs
//! did is in the recordings.

use crate::support::{End, Machine, Start};
use fake_agents::Signal;
use rstest::rstest;

const ID: &str = "0cb916db-26aa-40f2-86b5-1ba81b225fd2";

/// A start in a folder that is trusted.
fn start<'machine>(script: &str, argv: &[&str], machine: &'machine Machine) -> Start<'machine> {
    Start::new(script, argv, machine).with("GEMINI_CLI_TRUST_WORKSPACE", "true")
}

/// An agent with this answer.
fn script(agent: &str, answer: &str) -> String {
    format!("agent: {agent}\nanswers: [{{ {answer} }}]")
}

#[rstest]
#[case("claude-code", &["-p", "--", "--help me"])]
#[case("claude-code", &["-p"])]
#[case("codex", &["exec", "--skip-git-repo-check", "--", "--help me"])]
#[case("codex", &["exec", "-"])]
#[case("codex", &["exec"])]
#[case("gemini-cli", &["--prompt=--help me"])]
#[case("gemini-cli", &[])]
#[case("opencode", &["run", "--", "--help me"])]
#[case("opencode", &["run"])]
#[case("qwen-code", &["--prompt=--help me"])]
#[case("qwen-code", &[])]
fn the_answer_is_on_stdout(#[case] agent: &str, #[case] argv: &[&str]) {
    let machine = Machine::default();
    let ran = start(&script(agent, "says: { echo: true }"), argv, &machine).reading("from stdin").run();
    assert_eq!(ran.end, End::Exit(0), "{}", ran.stderr);
    let from_stdin = argv.len() < 2 || argv[1] == "-";
    if argv != ["-p"] && !from_stdin {
        assert!(ran.stdout.contains("--help me"), "{}", ran.stdout);
    }
    assert!(ran.stdout.contains("from stdin"), "{}", ran.stdout);
    assert!(ran.stdout.ends_with('\n'));
}

#[rstest]
#[case("claude-code", &["-p", "--help me"], 1, "error: unknown option '--help me'\n(Did you mean --help?)")]
#[case("claude-code", &["-p", "--output-format", "stream-json", "--", "x"], 1, "requires --verbose")]
#[case("claude-code", &["-p"], 1, "Error: Input must be provided")]
#[case("claude-code", &["-p", "--session-id", "abc", "--", "x"], 1, "Error: Invalid session ID.")]
#[case("claude-code", &["-p", "--resume", ID, "--", "x"], 1, "No conversation found with session ID:")]
#[case("codex", &["exec", "--help me"], 2, "error: unexpected argument '--help me' found")]
#[case("codex", &["exec", "-s", "none", "x"], 2, "error: invalid value 'none'")]
#[case("codex", &["exec", "-"], 1, "No prompt provided via stdin.")]
#[case("codex", &["exec", "resume", ID, "x"], 1, "no rollout found for thread id")]
#[case("codex", &["x"], 1, "stdin is not a terminal")]
#[case("gemini-cli", &["-p", "--help me"], 1, "Not enough arguments following: p")]
#[case("gemini-cli", &["--no-such-flag", "-p", "x"], 1, "Unknown argument: no-such-flag")]
#[case("gemini-cli", &["--prompt="], 42, "No input provided via stdin.")]
#[case("gemini-cli", &["-r", ID, "--prompt=x"], 42, "Error resuming session: No previous sessions")]
#[case("opencode", &["run", "--session", "ses_0", "--", "x"], 1, "Session not found")]
#[case("opencode", &["run"], 1, "You must provide a message")]
#[case("qwen-code", &["--prompt="], 1, "No input provided via stdin.")]
#[case("qwen-code", &["--resume", ID, "--prompt=x"], 1, "No saved session found with ID")]
#[case("qwen-code", &["--session-id", "abc", "--prompt=x"], 1, "Must be a valid UUID")]
fn a_wrong_start_is_refused(
    #[case] agent: &str,
    #[case] argv: &[&str],
    #[case] code: u8,
    #[case] says: &str,
) {
    let machine = Machine::default();
    let ran = start(&script(agent, ""), argv, &machine).run();
    assert_eq!((ran.code(), ran.stdout.as_str()), (code, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(says), "{}", ran.stderr);
}

#[rstest]
#[case("claude-code", &["-p", "--output-format", "stream-json", "--verbose", "--", "x"],
    &["system", "assistant", "result"])]
#[case("claude-code", &["-p", "--output-format", "json", "--", "x"], &["result"])]
#[case("codex", &["exec", "--json", "--", "x"],
    &["thread.started", "turn.started", "item.completed", "turn.completed"])]
#[case("gemini-cli", &["-o", "stream-json", "--prompt=x"],
    &["init", "message", "message", "message", "result"])]
#[case("opencode", &["run", "--format", "json", "--", "x"], &["step_start", "text", "step_finish"])]
#[case("qwen-code", &["-o", "stream-json", "--prompt=x"], &["system", "stream_event", "assistant", "result"])]
fn json_lines_come_in_order(#[case] agent: &str, #[case] argv: &[&str], #[case] kinds: &[&str]) {
    let machine = Machine::default();
    let ran = start(&script(agent, "says: The answer."), argv, &machine).run();
    assert_eq!((ran.code(), ran.kinds()), (0, kinds.iter().map(|&kind| kind.to_owned()).collect()));
}

#[rstest]
#[case("claude-code", &["-p", "--", "x"], "Bash", "Write", false, false)]
#[case("claude-code", &["-p", "--dangerously-skip-permissions", "--", "x"], "Bash", "Write", true, true)]
#[case("claude-code", &["-p", "--permission-mode", "acceptEdits", "--", "x"], "Bash", "Write", false, true)]
#[case("claude-code", &["-p", "--tools", "Read,Grep,Glob", "--", "x"], "Bash", "Write", false, false)]
#[case("claude-code", &["-p", "--allowedTools", "Bash,Edit,Write", "--", "x"], "Bash", "Write", true, true)]
#[case("codex", &["exec", "--json", "--", "x"], "shell", "apply_patch", false, false)]
#[case("codex", &["exec", "--json", "-s", "workspace-write", "--", "x"], "shell", "apply_patch", true, true)]
#[case("gemini-cli", &["-o", "stream-json", "--prompt=x"], "run_shell_command", "write_file", false, false)]
#[case("gemini-cli", &["-o", "stream-json", "--approval-mode", "auto_edit", "--prompt=x"],
    "run_shell_command", "write_file", false, true)]
#[case("gemini-cli", &["-o", "stream-json", "--yolo", "--prompt=x"], "run_shell_command", "write_file", true, true)]
#[case("opencode", &["run", "--format", "json", "--", "x"], "bash", "write", true, true)]
#[case("qwen-code", &["-o", "stream-json", "--prompt=x"], "run_shell_command", "write_file", false, false)]
#[case("qwen-code", &["-o", "stream-json", "--yolo", "--prompt=x"], "run_shell_command", "write_file", true, true)]
fn flags_decide_what_tools_may(
    #[case] agent: &str,
    #[case] argv: &[&str],
    #[case] shell: &str,
    #[case] write: &str,
    #[case] shell_runs: bool,
    #[case] writes: bool,
) {
    let machine = Machine::default();
    let tools = format!("tools: [{{ name: {shell}, takes_ms: 7 }}], writes: {{ path: new.txt, text: x }}");
    let ran = start(&script(agent, &tools), argv, &machine).run();
    assert_eq!((ran.took_ms == 7, !ran.wrote.is_empty()), (shell_runs, writes));
    let tools = format!("tools: [{{ name: {write}, takes_ms: 7 }}]");
    let ran = start(&script(agent, &tools), argv, &machine).run();
    assert_eq!((ran.code(), ran.took_ms == 7), (0, writes));
    let outside = "writes: { path: ../outside.txt, text: x }";
    let ran = start(&script(agent, outside), argv, &machine).run();
    let anywhere = agent == "qwen-code" && argv.contains(&"--yolo")
        || argv.iter().any(|one| one.starts_with("--dangerously") || one.starts_with("Bash"));
    assert_eq!(!ran.wrote.is_empty(), anywhere);
}

#[test]
fn gemini_works_in_trusted_folders_only() {
    let machine = Machine::default();
    let ran = Start::new(&script("gemini-cli", ""), &["--prompt=x"], &machine).run();
    assert_eq!((ran.code(), ran.stdout.as_str()), (55, ""));
    let ran = Start::new(&script("gemini-cli", ""), &["--skip-trust", "--prompt=x"], &machine).run();
    assert_eq!(ran.code(), 0);
}

#[test]
fn opencode_is_told_by_its_configuration() {
    let machine = Machine::default();
    let argv = &["run", "--format", "json", "--", "x"];
    let one = start(&script("opencode", "tools: [{ name: bash, takes_ms: 7 }]"), argv, &machine);
    let ran = one.with("OPENCODE_CONFIG_CONTENT", r#"{"permission":{"*":"deny","read":"allow"}}"#).run();
    assert_eq!(ran.took_ms, 0);
    assert!(ran.stdout.contains("unavailable tool"), "{}", ran.stdout);
}

#[rstest]
#[case("claude-code", 402, &["-p", "--", "x"], 1, "API Error: 402 no quota\n", "")]
#[case("claude-code", 403, &["-p", "--", "x"], 1, "Failed to authenticate. API Error: 403 no quota\n", "")]
#[case("codex", 402, &["exec", "--", "x"], 1, "", "ERROR: unexpected status 402 Payment Required: no quota")]
#[case("codex", 429, &["exec", "--", "x"], 1, "", "ERROR: exceeded retry limit, last status: 429")]
#[case("gemini-cli", 402, &["--prompt=x"], 1, "", "[API Error: {\"error\":{\"code\":402")]
#[case("opencode", 402, &["run", "--", "x"], 1, "", "no quota\n")]
#[case("qwen-code", 402, &["--prompt=x"], 1, "", "[API Error: 402 no quota]")]
fn a_refusal_of_the_provider_in_words(
    #[case] agent: &str,
    #[case] status: u16,
    #[case] argv: &[&str],
    #[case] code: u8,
    #[case] stdout: &str,
    #[case] stderr: &str,
) {
    let machine = Machine::default();
    let answer = format!("error: {{ status: {status}, message: no quota, retry_ms: 1 }}");
    let ran = start(&script(agent, &answer), argv, &machine).run();
    assert_eq!((ran.code(), ran.stdout.as_str()), (code, stdout));
    assert!(ran.stderr.contains(stderr), "{}", ran.stderr);
}

#[test]
fn an_error_of_claude_is_a_result_that_says_success() {
    let machine = Machine::default();
    let argv = &["-p", "--output-format", "stream-json", "--verbose", "--", "x"];
    let answer = "error: { status: 500, message: broke, retry_ms: 1 }";
    let ran = start(&script("claude-code", answer), argv, &machine).run();
    let lines = ran.lines();
    assert_eq!((ran.code(), lines.len(), ran.took_ms), (1, 13, 10));
    let last = &lines[12];
    assert_eq!((last["subtype"].as_str(), last["is_error"].as_bool()), (Some("success"), Some(true)));
    assert_eq!(last["api_error_status"], 500);
    assert_eq!(lines[1]["subtype"], "api_retry");
}

#[test]
fn an_error_of_codex_is_a_failed_turn() {
    let machine = Machine::default();
    let answer = "error: { status: 402, message: no quota, retry_ms: 1 }";
    let ran = start(&script("codex", answer), &["exec", "--json", "--", "x"], &machine).run();
    assert_eq!(ran.kinds().last().unwrap(), "turn.failed");
    assert_eq!((ran.code(), ran.kinds().len()), (1, 9));
}

#[rstest]
#[case("claude-code", &["-p", "--", "x"], 1, "Not logged in · Please run /login\n")]
#[case("codex", &["exec", "--", "x"], 1, "")]
#[case("gemini-cli", &["--prompt=x"], 41, "")]
#[case("qwen-code", &["--prompt=x"], 1, "")]
fn without_a_login_nothing_is_asked(
    #[case] agent: &str,
    #[case] argv: &[&str],
    #[case] code: u8,
    #[case] stdout: &str,
) {
    let machine = Machine::default();
    let ran = start(&format!("agent: {agent}\nsigned_in: false"), argv, &machine).run();
    assert_eq!((ran.code(), ran.stdout.as_str()), (code, stdout));
}

#[rstest]
#[case("claude-code", &["auth", "status"], 0, 1)]
#[case("codex", &["login", "status"], 0, 1)]
fn whether_somebody_is_signed_in_is_told(
    #[case] agent: &str,
    #[case] argv: &[&str],
    #[case] signed_in: u8,
    #[case] signed_out: u8,
) {
    let machine = Machine::default();
    assert_eq!(start(&script(agent, ""), argv, &machine).run().code(), signed_in);
    let out = format!("agent: {agent}\nsigned_in: false");
    assert_eq!(start(&out, argv, &machine).run().code(), signed_out);
}

#[rstest]
#[case("claude-code", "2.1.330 (Claude Code)\n")]
#[case("codex", "codex-cli 0.169.0\n")]
#[case("gemini-cli", "0.61.0\n")]
#[case("opencode", "1.18.33\n")]
#[case("qwen-code", "0.24.4\n")]
fn a_version_is_printed(#[case] agent: &str, #[case] stdout: &str) {
    let machine = Machine::default();
    assert_eq!(start(&script(agent, ""), &["--version"], &machine).run().stdout, stdout);
    let other = format!("agent: {agent}\nversion: 9.9.9");
    assert!(start(&other, &["--version"], &machine).run().stdout.contains("9.9.9"));
}

#[rstest]
#[case("claude-code", &["-p", "--output-format", "json", "--session-id", ID, "--", "x"],
    &["-p", "--output-format", "json", "--resume", ID, "--", "y"], "session_id")]
#[case("gemini-cli", &["-o", "stream-json", "--session-id", ID, "--prompt=x"],
    &["-o", "stream-json", "--resume", ID, "--prompt=y"], "session_id")]
#[case("qwen-code", &["-o", "stream-json", "--session-id", ID, "--prompt=x"],
    &["-o", "stream-json", "--resume", ID, "--prompt=y"], "session_id")]
fn a_session_goes_on(
    #[case] agent: &str,
    #[case] first: &[&str],
    #[case] second: &[&str],
    #[case] member: &str,
) {
    let machine = Machine::default();
    for argv in [first, second] {
        let ran = start(&script(agent, ""), argv, &machine).run();
        assert_eq!((ran.code(), ran.lines()[0][member].as_str()), (0, Some(ID)), "{}", ran.stderr);
    }
    let ran = start(&script(agent, ""), first, &machine).run();
    assert_ne!(ran.code(), 0, "the id is in use");
}

#[rstest]
#[case("codex", &["exec", "--json", "--", "x"], "thread_id",
    &["exec", "--json", "resume", "@", "y"])]
#[case("opencode", &["run", "--format", "json", "--", "x"], "sessionID",
    &["run", "--format", "json", "--session", "@", "--", "y"])]
fn a_session_of_its_own_id_goes_on(
    #[case] agent: &str,
    #[case] first: &[&str],
    #[case] member: &str,
    #[case] second: &[&str],
) {
    let machine = Machine::default();
    let id = start(&script(agent, ""), first, &machine).run().lines()[0][member].as_str().unwrap().to_owned();
    let second: Vec<&str> = second.iter().map(|&one| if one == "@" { id.as_str() } else { one }).collect();
    let ran = start(&script(agent, ""), &second, &machine).run();
    assert_eq!((ran.code(), ran.lines()[0][member].as_str()), (0, Some(id.as_str())));
}

#[rstest]
#[case("claude-code", &["-p", "--", "x"])]
#[case("codex", &["exec", "--", "x"])]
#[case("gemini-cli", &["--prompt=x"])]
#[case("opencode", &["run", "--", "x"])]
#[case("qwen-code", &["--prompt=x"])]
fn a_signal_ends_it_unless_it_is_stubborn(#[case] agent: &str, #[case] argv: &[&str]) {
    let machine = Machine::default();
    let ran =
        start(&script(agent, "says: so, hangs: true"), argv, &machine).interrupted_by(Signal::Terminate);
    assert_ne!(ran.end, End::Hangs);
    let stubborn = script(agent, "hangs: true, ignores_term: true");
    let ran = start(&stubborn, argv, &machine).interrupted_by(Signal::Terminate);
    assert_eq!(ran.end, End::Hangs);
}
