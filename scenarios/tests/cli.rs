//! The command as a person meets it: listings, verdicts, errors with their place, exit codes.

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
#[case(&["report", "--help"])]
#[case(&["play", "--help"])]
#[case(&["bench", "--help"])]
fn every_command_explains_itself(#[case] arguments: &[&str]) {
    let (code, stdout, _) = run(arguments);
    assert_eq!(code, 0);
    assert!(stdout.contains("Usage:"), "{stdout}");
}

#[test]
fn a_listing_in_json_is_one_object_a_line() {
    let (code, stdout, _) = run(&["list", "--json", "handshake"]);
    assert_eq!(code, 0);
    let rows: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(rows.len() >= 5, "{stdout}");
    assert!(rows.iter().all(|row| row["id"].as_str().is_some_and(|id| id.starts_with("handshake."))));
}

#[test]
fn a_profile_is_printed_with_its_evidence() {
    let (code, stdout, _) = run(&["hosts", "copilot-cli@seed"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("calls.timeout_ms") && stdout.contains("60000"), "{stdout}");
}

#[rstest]
#[case(&["run", "delivry"], "did you mean `delivery`?")]
#[case(&["run", "--host", "claude-cod"], "did you mean `claude-code`?")]
#[case(&["run", "--seeds", "0"], "--seeds")]
#[case(&["validate", "--protocol", "2023-01-01", "-"], "2025-11-25")]
#[case(&["play", "--server", "no-such-program"], "no-such-program")]
#[case(&["report", "no-such-file.jsonl"], "no-such-file.jsonl")]
#[case(&["run", "--server", "'open"], "a quote is not closed")]
#[case(&["run", "--server", "x", "tools.lisst"], "did you mean `tools.list`?")]
#[case(&["run", "--server", "x", "--protocol", "2024-11-05"], "there are rows for 2025-06-18")]
#[case(&["run", "--server", "x", "--long-call", "t={"], "the arguments of t are no JSON")]
#[case(&["run", "--url", "ftp://contoso.com"], "must begin with http:// or https://")]
fn a_mistake_is_told_with_its_fix_and_exit_code_2(#[case] arguments: &[&str], #[case] wanted: &str) {
    let (code, _, stderr) = run(arguments);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains(wanted), "{stderr}");
}

const HEAD: &str =
    "id: own.test\ntitle: t\nrequirement: {area: a, level: must, says: s, source: o}\nsteps:\n";

#[rstest]
#[case("  - advence: 5s\n", ":5:5", "did you mean `advance`?")]
#[case("  - write: {txt: hi}\n", ":5:13", "did you mean `text`?")]
#[case("  - advance: 5\n", ":5:14", "write a number with its unit")]
#[case(
    "  - write: {text: hi, as: m}\n  - expect: {model: {message: n}}\n",
    ":6:5",
    "no message is named `n`"
)]
#[case("  - write: {text: hi}\n  - host: {start: second}\n", ":6:5", "no session is named `second`")]
fn a_mistake_in_a_scenario_is_framed(#[case] steps: &str, #[case] place: &str, #[case] wanted: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    std::fs::File::create(&file)
        .and_then(|mut out| std::io::Write::write_all(&mut out, format!("{HEAD}{steps}").as_bytes()))
        .expect("the file is written");
    let (code, _, stderr) = run(&["run", file.to_str().expect("UTF-8")]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains(place) && stderr.contains(wanted) && stderr.contains('^'), "{stderr}");
}

#[test]
fn a_failing_scenario_exits_1_and_says_how_to_repeat_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    let scenario = format!(
        "{HEAD}  - advance: 2s\n  - write: {{text: hi, as: m}}\n  - expect: {{model: {{message: m, within: 3s}}}}\n"
    );
    std::fs::File::create(&file)
        .and_then(|mut out| std::io::Write::write_all(&mut out, scenario.as_bytes()))
        .expect("the file is written");
    let out = folder.path().join("out");
    let arguments = [
        "run",
        file.to_str().expect("UTF-8"),
        "--host",
        "copilot-cli@seed",
        "--seeds",
        "1",
        "--out",
        out.to_str().expect("UTF-8"),
    ];
    let (code, stdout, _) = run(&arguments);
    assert_eq!(code, 1, "{stdout}");
    assert!(
        stdout.contains("expect.model") && stdout.contains("own.yaml:7") && stdout.contains("replay:"),
        "{stdout}"
    );
    for name in ["report.html", "report.md", "report.json", "junit.xml", "events.jsonl"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let events = out.join("events.jsonl");
    let (code, again, _) = run(&["report", events.to_str().expect("UTF-8"), "--format", "md"]);
    assert_eq!(code, 0);
    assert!(again.contains("own.test"), "{again}");
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

#[test]
fn a_fake_host_meets_a_real_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = hostcheck::command::server_binary(None).expect("cargo works").expect("the server is built");
    let log = folder.path().join("wire.jsonl");
    let script = folder.path().join("agent.yaml");
    std::fs::File::create(&script)
        .and_then(|mut out| {
            std::io::Write::write_all(
                &mut out,
                b"- type: look\n- call: {tool: inbox_pull, arguments: {limit: 3}}\n- idle\n- exit\n",
            )
        })
        .expect("the script is written");
    let output = hostcheck()
        .env("ENTRACLAW_HOME", folder.path().join("home"))
        .args(["host", "claude-code@2.1.330", "--script"])
        .arg(&script)
        .arg("--log")
        .arg(&log)
        .arg("--")
        .arg(&binary)
        .arg("serve")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::io::read_to_string(std::fs::File::open(&log).expect("a log")).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        lines.iter().any(|l| l["dir"] == "server>host" && l.to_string().contains("unread_remaining")),
        "{text}"
    );
    assert!(lines.iter().all(|l| l["ms"].is_u64() && l["proc"].is_u64() && l["dir"].is_string()), "{text}");
}
