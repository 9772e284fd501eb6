//! The command line: listings, verdicts, errors with their fix, exit codes.

#![cfg_attr(unix, expect(clippy::disallowed_methods, reason = "tests write and read files of their own"))]

use assert_cmd::Command;
use rstest::rstest;
use serde_json::Value;

fn hostcheck() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("hostcheck"))
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = hostcheck().args(arguments).output().expect("hostcheck starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("hostcheck prints UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[rstest]
#[case(&["--help"])]
#[case(&["run", "--help"])]
#[case(&["list", "--help"])]
#[case(&["hosts", "--help"])]
#[case(&["host", "--help"])]
#[case(&["validate", "--help"])]
#[case(&["probe", "--help"])]
#[case(&["record", "--help"])]
#[case(&["replay", "--help"])]
#[case(&["report", "--help"])]
#[case(&["schema", "--help"])]
#[case(&["merge", "--help"])]
#[case(&["diff", "--help"])]
#[case(&["baseline", "check", "--help"])]
#[case(&["history", "--help"])]
fn every_command_explains_itself(#[case] arguments: &[&str]) {
    let (code, stdout, _) = run(arguments);
    assert_eq!(code, 0);
    assert!(stdout.contains("Usage: hostcheck"), "{stdout}");
}

#[rstest]
#[case(&[])]
#[case(&["run", "delivery"])]
#[case(&["play"])]
fn a_command_of_simulation_is_refused_with_the_way_to_start_it(#[case] arguments: &[&str]) {
    let (code, _, stderr) = run(arguments);
    assert_eq!(code, 2, "{stderr}");
    let way = "`cargo run --release --` and the same words";
    assert!(stderr.contains("`simulation`") && stderr.contains(way), "{stderr}");
}

#[test]
fn rows_are_listed_with_and_without_the_flag_that_names_them() {
    let (code, rows, _) = run(&["list"]);
    assert_eq!(code, 0);
    assert!(rows.lines().count() > 70, "{rows}");
    assert_eq!(run(&["list", "--protocol"]).1, rows);
}

#[rstest]
#[case(&["hosts", "--matrix", "calls.timeout"], "did you mean `calls.timeout_ms`?")]
#[case(&["hosts", "--matrix", "busy"], "shell.busy")]
#[case(&["hosts", "--diff", "codex", "generic@bare"], "no profile")]
#[case(&["hosts", "--diff", "claude-code", "codex"], "is a family")]
#[case(&["schema", "scenari"], "did you mean `scenario`?")]
#[case(&["diff", "no-such-run", "other"], "no-such-run")]
#[case(&["validate", "--protocol", "2023-01-01", "-"], "2025-11-25")]
#[case(&["report", "no-such-file.jsonl"], "no-such-file.jsonl")]
#[case(&["probe", "--report", "no-such-file.jsonl"], "no-such-file.jsonl")]
#[case(&["probe", "--opening", "modren"], "modern-refuse-listen")]
#[case(&["record", "--log", "no-such-folder/wire.jsonl", "--", "true"], "no-such-folder")]
#[case(&["validate", "no-such-file.jsonl"], "no-such-file.jsonl")]
#[case(&["run", "--server", "'open"], "a quote is not closed")]
#[case(&["run", "--server", "x", "tools.lisst"], "did you mean `tools.list`?")]
#[case(&["run", "--server", "x", "--protocol", "2024-10-07"], "there are rows for 2024-11-05")]
#[case(&["run", "--server", "x", "--long-call", "t={"], "the arguments of t are no JSON")]
#[case(&["run", "--url", "ftp://contoso.com"], "must begin with http:// or https://")]
#[case(&["run", "--call-all-tools"], "--server <CMD>|--url <URL>|--config <FILE>")]
#[case(&["run", "--url", "http://127.0.0.1:1/", "--bearer-env", "HOSTCHECK_NEVER_SET"], "export the token under that name")]
#[case(&["run", "--server", "x", "--header", "A: b"], "are for a server behind an address")]
#[case(&["run", "--config", "no-such-file.json"], "cannot read no-such-file.json")]
fn a_mistake_is_told_with_its_fix_and_exit_code_2(#[case] arguments: &[&str], #[case] wanted: &str) {
    let (code, _, stderr) = run(arguments);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains(wanted), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_write_is_reported_once_and_fails() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hostcheck"))
        .arg("list")
        .stdout(full)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(3), 1), "{told}");
}

#[test]
fn an_address_without_a_listener_is_reported_at_once() {
    let (code, _, told) = run(&["run", "--url", "http://127.0.0.1:1/mcp", "tools.call"]);
    assert_eq!(code, 3);
    assert!(told.contains("no connection to 127.0.0.1:1"), "{told}");
}

#[test]
fn a_profile_is_printed_with_its_evidence() {
    let (code, stdout, _) = run(&["hosts", "copilot-cli@seed"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("calls.timeout_ms") && stdout.contains("60000"), "{stdout}");
}

#[test]
fn an_unknown_fact_is_printed_as_unknown() {
    let (code, stdout, _) = run(&["hosts", "copilot-cli@1.0.60"]);
    assert_eq!(code, 0);
    let line = |name: &str| stdout.lines().find(|line| line.contains(name)).unwrap_or_default().to_owned();
    assert!(line("wake_up.kind").contains("unknown, played as"), "{stdout}");
    assert!(line("shell.wakes").contains("tui unknown"), "{stdout}");
    assert!(line("identity.accepted_versions").contains("as copilot-cli@1.0.102: "), "{stdout}");
}

#[test]
fn two_profiles_are_compared_fact_by_fact() {
    let (code, stdout, _) = run(&["hosts", "--diff", "copilot-cli@1.0.50", "copilot-cli@1.0.60", "--json"]);
    assert_eq!(code, 0);
    let rows: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let lost =
        rows.iter().find(|row| row["fact"] == "calls.setting_lost_on_change").expect("the fact differs");
    assert_eq!((&lost["sides"][0]["value"], &lost["sides"][1]["value"]), (&true.into(), &false.into()));
    assert!(rows.iter().all(|row| row["fact"] != "calls.progress_extends"), "{stdout}");
    let (_, text, _) = run(&["hosts", "--diff", "copilot-cli@1.0.50", "copilot-cli@1.0.60"]);
    assert!(text.contains(&format!("{} of ", rows.len())), "{text}");
}

#[test]
fn requirements_on_hosts_are_listed_host_by_host() {
    let (code, stdout, _) = run(&["hosts", "codex", "generic@bare", "--protocol"]);
    assert_eq!(code, 0);
    let (_, ends) = stdout.split_once("stdio.host-shutdown").unwrap();
    assert!(ends.contains("failed") && ends.contains("SIGKILL after 2000 ms"), "{ends}");
    let (_, json, _) = run(&["hosts", "qwen-code", "--protocol", "--json"]);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let declared = lines.iter().find(|line| line["row"] == "lifecycle.host-only-declared").unwrap();
    assert_eq!(declared["outcome"], "failed");
    assert_eq!(declared["notes"][0], "also prompts, resources");
    let (code, _, said) = run(&["run", "--server", "x", "stdio.host-shutdown"]);
    assert!(code == 2 && said.contains("hostcheck hosts --protocol"), "{said}");
    let (_, list, _) = run(&["list", "--protocol", "stdio.host-shutdown"]);
    assert!(list.contains("of hosts: life.shutdown"), "{list}");
}

#[test]
fn one_fact_is_printed_over_all_hosts() {
    let (code, stdout, _) = run(&["hosts", "--matrix", "progress_extends"]);
    assert_eq!(code, 0);
    let copilot = stdout.lines().find(|line| line.starts_with("copilot-cli")).unwrap_or_default();
    assert!(copilot.contains("0.0.384 … 1.0.102") && copilot.contains("yes"), "{stdout}");
    let (_, json, _) = run(&["hosts", "copilot-cli", "--matrix", "wake_up.wakes", "--json"]);
    let rows: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = |version: &str| rows.iter().find(|row| row["version"] == version).expect("the host");
    assert_eq!((&of("1.0.60")["support"], &of("1.0.60")["known"]), (&"unknown".into(), &false.into()));
    assert_eq!(of("1.0.102")["support"], "partly");
    let (code, facts, _) = run(&["hosts", "--matrix"]);
    assert_eq!(code, 0);
    assert!(facts.lines().any(|line| line.starts_with("calls.progress_extends ")), "{facts}");
}

#[test]
fn validation_is_one_verdict_a_line() {
    let lines = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"inbox_pull","arguments":{}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":5}}"#,
        "\n",
        r#"{"ms":3,"proc":1,"dir":"server>host","msg":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}}"#,
        "\n",
    );
    let output = hostcheck()
        .args(["validate", "--protocol", "2025-11-25", "-"])
        .write_stdin(lines)
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    let verdicts: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let valid: Vec<_> = verdicts.iter().map(|v| (v["line"].as_u64(), v["valid"].as_bool())).collect();
    assert_eq!(valid, [(Some(1), Some(true)), (Some(2), Some(false)), (Some(3), Some(true))]);
    assert_eq!(verdicts[1]["definition"], "CallToolRequest");
}

/// A server in two lines of shell: it answers every request with the values of its environment, and tells how it ended.
#[cfg(unix)]
const SPEAKS: &str = r#"
while read -r line; do
  case "$line" in
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"%s-%s","version":"1"}}}\n' \
        "$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')" "$GIVEN" "${PWD##*/}" ;;
    *'"id":'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')" ;;
  esac
done
"#;

#[cfg(unix)]
#[test]
fn a_server_is_named_as_in_a_shell_or_by_a_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("inside")).unwrap();
    std::fs::write(path("inside/serve.sh"), SPEAKS).unwrap();
    let config = r#"{"mcpServers": {
        "one": {"command": "sh", "args": ["serve.sh"], "env": {"GIVEN": "${WHO:-bob}-configured"}, "cwd": "inside"},
        "two": {"command": "sh"}
    }}"#;
    std::fs::write(path("mcp.json"), config).unwrap();
    let name_of = |words: &[&str]| {
        let mut command = hostcheck();
        command.current_dir(folder.path()).env("WHO", "alice-of-contoso").args([
            "run",
            "--protocol",
            "2025-11-25",
        ]);
        let output = command.args(words).args(["lifecycle.ping", "pipes.sigterm"]).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let events = std::fs::read_to_string(path("hostcheck-out/protocol/events.jsonl")).expect(&told);
        let first: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
        let sigterm = events.lines().find(|line| line.contains("\"scenario\":\"pipes.sigterm\"")).unwrap();
        let sigterm: Value = serde_json::from_str(sigterm).unwrap();
        (
            first["server"]["name"].clone(),
            first["server"]["started_as"].clone(),
            sigterm["status"].clone(),
            events,
        )
    };
    let (name, started_as, sigterm, _) = name_of(&["--server", "cd inside && GIVEN=$WHO sh serve.sh"]);
    assert_eq!((name, sigterm), ("<secret>-inside".into(), "pass".into()));
    assert_eq!(started_as, "cd inside && GIVEN=$WHO sh serve.sh");
    let (name, started_as, sigterm, events) = name_of(&["--config", "mcp.json", "--name", "one"]);
    assert_eq!((name, sigterm), ("<secret>-inside".into(), "pass".into()));
    assert_eq!(started_as, "one of mcp.json");
    assert!(!events.contains("alice"), "{events}");
}

/// A server that asks the user as soon as the connection is open.
#[cfg(unix)]
const ASKS: &str = r#"
while read -r line; do
  id="$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')"
  case "$line" in
    *'"method":"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id" ;;
    *'"method":"initialize"'*)
      printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"asks","version":"1"}}}\n' "$id" ;;
    *'"method":"notifications/initialized"'*)
      printf '{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"mode":"form","message":"Who?","requestedSchema":{"type":"object","properties":{}}}}\n' ;;
  esac
done
"#;

#[cfg(unix)]
#[test]
fn a_headless_host_plays_its_own_mode() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("serve.sh"), ASKS).unwrap();
    std::fs::write(folder.path().join("script.yaml"), "- wait_ms: 1500\n- exit\n").unwrap();
    let answers = |flags: &[&str]| {
        let mut command = hostcheck();
        command.current_dir(folder.path()).args(["host", "claude-code@2.1.317", "--log", "wire.jsonl"]);
        let words = ["--script", "script.yaml"];
        let output = command.args(words).args(flags).args(["--", "sh", "serve.sh"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let log = std::fs::read_to_string(folder.path().join("wire.jsonl")).unwrap();
        assert!(log.contains("elicitation/create"), "{log}");
        log.contains("cancel")
    };
    // By its profile the user is asked at a terminal, and the question is cancelled at once without one.
    assert!(!answers(&[]) && answers(&["--headless"]));
}
