//! The command with a foreign server: folders, names, mistakes.
//! The server is the tracer of `hostcheck probe`, so that nothing else has to be installed.

use std::path::Path;

use assert_cmd::Command;
use rstest::rstest;
use serde_json::{Value, json};

fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("hostcheck"));
    let output = command.args(arguments).output().expect("hostcheck starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("hostcheck prints UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

/// Judges the tracer by two rows, with the reports in a folder.
fn judged(folder: &Path, more: &[&str]) -> (i32, String) {
    let at = |name: &str| folder.join(name).display().to_string();
    let server = format!("'{}' probe --log '{}'", env!("CARGO_BIN_EXE_hostcheck"), at("log.jsonl"));
    let out = at("out");
    let words =
        ["run", "--server", &server, "--out", &out, "--host", "codex", "lifecycle.ping", "hosts.opens"];
    let (code, stdout, stderr) = run(&[&words[..], more].concat());
    assert!(stdout.contains("in hosts") && stdout.contains("codex@"), "{stdout}{stderr}");
    (code, out)
}

#[test]
fn the_screen_has_causes_and_verbose_prints_every_row() {
    let folder = tempfile::tempdir().expect("a folder");
    let run_in = |name: &str, more: &[&str]| {
        let out = folder.path().join(name).display().to_string();
        let log = folder.path().join(format!("{name}.jsonl")).display().to_string();
        let server = format!("'{}' probe --log '{log}'", env!("CARGO_BIN_EXE_hostcheck"));
        let words = ["run", "--server", &server, "--out", &out, "--host", "gemini-cli", "hosts.tools"];
        run(&[&words[..], more].concat())
    };
    // The tracer has to be killed at the end of each conversation, so the runs wait most of their time.
    let ((code, screen, _), (again, verbose, _)) = std::thread::scope(|scope| {
        let plain = scope.spawn(|| run_in("plain", &[]));
        let verbose = run_in("verbose", &["--verbose"]);
        (plain.join().expect("a run"), verbose)
    });
    assert!(screen.lines().count() <= 25 && screen.starts_with("hostcheck-probe"), "{screen}");
    // The tracer has tools with schemas that this host is known to leave out.
    assert!(screen.contains("✗ must") && screen.contains("(hosts.tools)"), "{screen}");
    assert!(verbose.contains("hosts.tools") && verbose.contains("expected"), "{verbose}");
    assert_eq!((code, again), (1, 1));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads what the command wrote")]
fn the_folder_of_a_run_is_taken_by_every_command_that_takes_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (_, out) = judged(folder.path(), &["--findings-in", "./package.json"]);

    let (code, both, _) = run(&["report", &out]);
    assert!(code == 0 && both.contains("lifecycle.ping") && both.contains("hosts.opens"), "{both}");
    let (code, one, _) = run(&["report", &out, "--host", "codex", "--format", "json"]);
    let report: Value = serde_json::from_str(&one).expect("JSON");
    let column = report["hosts"][0]["id"].as_str().unwrap_or_default();
    assert!(code == 0 && column.starts_with("codex@"), "a family of the run: {one}");
    let (code, one, _) = run(&["report", &out, "--scenario", "lifecycle", "--format", "html"]);
    assert!(code == 0 && one.starts_with("<!"), "one part is a report of any format");
    let (code, _, said) = run(&["report", &out, "--format", "html"]);
    let (protocol, hosts) = (Path::new(&out).join("protocol"), Path::new(&out).join("hosts"));
    let names = format!("name {} or {}", protocol.display(), hosts.display());
    assert!(code == 2 && said.contains(&names), "{said}");
    let sarif = std::fs::read_to_string(hosts.join("report.sarif")).expect("a report");
    let sarif: Value = serde_json::from_str(&sarif).expect("JSON");
    assert_eq!(sarif["runs"][0]["automationDetails"]["id"], "hostcheck/hosts/");

    assert_eq!(run(&["diff", &out, &out]).0, 0);
    let (code, _, said) = run(&["diff", &out, &protocol.display().to_string()]);
    assert!(code == 2 && said.contains("don't hold the same parts"), "{said}");
    let known = at("kept/known.json");
    assert_eq!(run(&["baseline", "update", &out, &known]).0, 0);
    let (code, said, _) = run(&["baseline", "check", &out, &known]);
    assert!(code == 0 && !said.contains("not judged"), "what either part judged is judged: {said}");
    let history = at("more/kept/history.jsonl");
    let (code, _, said) = run(&["history", "add", &out, "--release", "1", "--file", &history]);
    assert!(code == 2 && said.contains(&names), "{said}");
    let protocol = protocol.display().to_string();
    let (code, said, _) = run(&["history", "add", &protocol, "--release", "1", "--file", &history]);
    assert!(code == 0 && said.contains("1 releases"), "the folder of the file is made: {said}");
    assert_eq!(run(&["history", "list", &history]).0, 0);

    let (code, _, said) = run(&["report", &at("")]);
    assert!(code == 2 && said.contains("there is no events.jsonl in"), "{said}");
}

#[rstest]
#[case("A B=1", "\"A B\" is no name of a variable")]
#[case("A\tB", "is no name of a variable")]
#[case("=1", "--env: the name is empty")]
#[case("", "--env: the name is empty")]
fn a_variable_that_no_environment_can_have_is_refused(#[case] variable: &str, #[case] wanted: &str) {
    let (code, _, said) = run(&["run", "--server", "x", "--env", variable, "lifecycle.ping"]);
    assert!(code == 2 && said.contains(wanted), "{said}");
}

#[rstest]
#[case("/etc/package.json")]
#[case("../package.json")]
#[case("C:\\package.json")]
#[case("")]
fn findings_point_into_the_repository_alone(#[case] file: &str) {
    let (code, _, said) = run(&["run", "--server", "x", "--findings-in", file]);
    assert!(code == 2 && said.contains("from the root of the repository"), "{said}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes what the command reads")]
fn an_error_is_called_one_once_and_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    std::fs::write(&file, "- bogus: 1\n").expect("the file is written");
    let (file, log) = (file.display().to_string(), folder.path().join("log").display().to_string());
    let mistakes: [&[&str]; 2] =
        [&["list", &file], &["host", "claude-code", "--log", &log, "--script", &file, "--", "x"]];
    for words in mistakes {
        let (code, _, said) = run(words);
        assert_eq!((code, said.matches("error").count()), (2, 1), "{words:?}: {said}");
        assert!(said.contains(&file), "{words:?}: {said}");
    }
}

#[test]
fn a_server_that_ends_at_once_is_told_without_a_table_of_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let server = format!("'{}' report no-such-run", env!("CARGO_BIN_EXE_hostcheck"));
    let (code, stdout, _) = run(&["run", "--server", &server, "--out", &out]);
    assert_eq!(code, 3);
    assert!(stdout.contains("the server ended with code 2") && stdout.contains("no-such-run"), "{stdout}");
    assert!(stdout.contains("start its command by hand") && !stdout.contains("not-run"), "{stdout}");
    let (_, report, _) = run(&["report", &out]);
    assert!(report.contains("not-run"), "{report}");
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes what is no program")]
fn a_server_that_can_not_be_started_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let script = folder.path().join("server.py");
    std::fs::write(&script, "print(1)\n").expect("the file is written");
    let missing = folder.path().join("no-such-server");
    let remedies = [
        (&script, "make it executable, or write before it what runs it"),
        (&missing, "add its folder to PATH"),
    ];
    for (server, remedy) in remedies {
        let (code, stdout, _) = run(&["run", "--server", &format!("'{}'", server.display()), "--out", &out]);
        assert_eq!(code, 3, "{stdout}");
        assert!(stdout.contains(remedy) && !stdout.contains("start its command by hand"), "{stdout}");
    }
    let config = folder.path().join("mcp.json");
    let server = json!({"command": env!("CARGO_BIN_EXE_hostcheck"), "args": [], "cwd": missing});
    std::fs::write(&config, json!({"mcpServers": {"tiny": server}}).to_string())
        .expect("the file is written");
    let (code, stdout, _) = run(&["run", "--config", &config.display().to_string(), "--out", &out]);
    assert!(code == 3 && stdout.contains("correct `cwd`"), "{stdout}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads what the command wrote")]
fn a_run_leaves_no_page_and_no_badge_of_an_earlier_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, out) = judged(folder.path(), &[]);
    let out = Path::new(&out);
    std::fs::write(out.join("notes.txt"), "own").expect("another file");
    let whole = ["index.html", "badge.json", "hosts/report.json", "protocol/events.jsonl"];
    assert!(whole.iter().all(|name| out.join(name).is_file()));
    let gone = format!("'{}' report no-such-run", env!("CARGO_BIN_EXE_hostcheck"));
    let words = ["run", "--server", &gone, "--out", &out.display().to_string(), "lifecycle.ping"];
    assert_eq!(run(&words).0, 3);
    let left: Vec<_> = whole.into_iter().filter(|name| out.join(name).is_file()).collect();
    assert_eq!(left, ["protocol/events.jsonl"], "what this run wrote");
    assert!(out.join("notes.txt").is_file(), "and what no run writes");
}

#[cfg(unix)]
/// The command of a server that is this script of a shell.
#[expect(clippy::disallowed_methods, reason = "the test writes what the command reads")]
fn script(folder: &Path, text: &str) -> String {
    let path = folder.join("serve.sh");
    std::fs::write(&path, text).expect("the file is written");
    format!("sh '{}'", path.display())
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads what the command wrote")]
fn a_server_of_an_older_version_alone_is_judged_by_that_version() {
    const SERVER: &str = r#"while read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2024-11-05","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}';;
    *'"ping"'*) PONG;;
  esac
done"#;
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let judge = |pong: &str| {
        let server = script(folder.path(), &SERVER.replace("PONG", pong));
        run(&["run", "--server", &server, "--out", &out.display().to_string(), "lifecycle.ping-empty"])
    };
    let (code, screen, _) = judge(r#"echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}'"#);
    assert!(screen.starts_with("old 1, judged in 2024-11-05\n"), "{screen}");
    assert!(screen.contains("version    2024-11-05 is its newest, and hosts offer newer ones"), "{screen}");
    assert!(screen.contains("1 verdict: 1 passed") && code == 0, "{code}: {screen}");
    let page = std::fs::read_to_string(out.join("overview.md")).expect("an overview");
    assert!(page.contains("2024-11-05 is its newest"), "{page}");
    let (code, screen, _) = judge(r#"echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"pong":1}}'"#);
    let source = "specification/2024-11-05/basic/utilities/ping#behavior-requirements";
    assert!(screen.contains(source) && code == 1, "{code}: {screen}");
}

#[cfg(unix)]
/// A server with one tool that may be called, as a script of a shell.
const ONE_TOOL: &str = r#"while read -r line; do
  id=${line#*'"id":'}
  id=${id%%[,\}]*}
  case $line in
    *'"initialize"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"late","version":""}}}';;
    *'"tools/list"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"tools":[{"name":"now","description":"Tells the time.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}}';;
    *'"tools/call"'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"content":[{"type":"text","text":"noon"}]}}';;
    *'"id":'*)
      echo '{"jsonrpc":"2.0","id":'"$id"',"error":{"code":-32601,"message":"not known"}}';;
  esac
done"#;

#[rstest]
// This version was never seen to meet a line that is no message.
#[case("", "echo goodbye", "1 of 1 hosts: claude-code@2.1.80\n")]
#[case("echo hello", "", "not known for claude-code@2.1.80\n")]
fn what_a_server_writes_changes_nothing_of_what_came_before(
    #[case] first: &str,
    #[case] last: &str,
    #[case] works: &str,
) {
    let folder = tempfile::tempdir().expect("a folder");
    let server = script(folder.path(), &format!("{first}\n{ONE_TOOL}\n{last}\n"));
    let out = folder.path().join("out").display().to_string();
    let rows = ["hosts.opens", "hosts.tools", "hosts.call"];
    let host = ["--host", "claude-code@2.1.80"];
    let (_, screen, _) = run(&[&["run", "--server", &server, "--out", &out], &host[..], &rows[..]].concat());
    assert!(screen.starts_with("late, judged in 2025-11-25\n"), "{screen}");
    assert!(screen.contains(&format!("works in   {works}")), "{screen}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads what the command wrote")]
fn a_server_that_does_not_end_is_told_of_the_call_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = script(folder.path(), &format!("trap '' INT TERM\n{ONE_TOOL}\nexec sleep 20\n"));
    let out = folder.path().join("out");
    let words = ["run", "--server", &server, "--out", &out.display().to_string()];
    run(&[&words[..], &["--host", "claude-code@2.1.330", "hosts.end"]].concat());
    let page = std::fs::read_to_string(out.join("overview.md")).expect("an overview");
    let seen = page.lines().find(|line| line.contains("seen:")).expect("what was seen");
    let wanted = "after a call of now the host did this: SIGINT, SIGTERM after 100 ms; it had to be killed after 600 ms";
    assert!(seen.contains(wanted), "{seen}");
    assert!(seen.ends_with("ms`"), "no other lines of the conversation: {seen}");
}

/// A server that ignores the end of its input and all signals would run on.
#[test]
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the test reads what the server and the command wrote")]
fn a_run_that_is_interrupted_tells_what_it_found_and_leaves_no_server() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let started = at("started").display().to_string();
    let server = script(
        folder.path(),
        &format!("echo $$ >>'{started}'\ntrap '' INT TERM\n{ONE_TOOL}\nexec sleep 60\n"),
    );
    let mut command = std::process::Command::new("nohup");
    command.stdin(std::process::Stdio::null()).arg(assert_cmd::cargo::cargo_bin!("hostcheck"));
    command.args(["run", "--server", &server, "--out", &at("out").display().to_string()]);
    let output = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut running = output.spawn().expect("hostcheck starts");
    let pids = || -> Vec<i32> {
        let text = std::fs::read_to_string(&started).unwrap_or_default();
        text.lines().filter_map(|pid| pid.parse().ok()).collect()
    };
    while pids().len() < 12 {
        assert!(running.try_wait().expect("a process").is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let of_run = Pid::from_raw(running.id().try_into().expect("a pid"));
    // Its terminal closes, which it was to outlive.
    kill(of_run, Signal::SIGHUP).expect("it runs");
    kill(of_run, Signal::SIGINT).expect("it runs");
    let output = running.wait_with_output().expect("it ends");
    let (screen, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(said.starts_with("SIGINT: the run is stopped, and what it has found follows ("), "{said}");
    assert!(screen.contains("\nstopped    before its end"), "{screen}");
    assert!(screen.contains(": the run was stopped\n"), "{screen}");
    let page = std::fs::read_to_string(at("out/overview.md")).expect("an overview");
    assert!(page.contains("before its end"), "{page}");
    // It fails to end, which may have been found already.
    assert!(matches!(output.status.code(), Some(1 | 3)), "{:?}", output.status);
    let runs = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        kill(Pid::from_raw(*pid), None).is_ok() && !stat.contains(") Z ")
    };
    let left: Vec<i32> = pids().into_iter().filter(runs).collect();
    assert_eq!(left, [] as [i32; 0], "{screen}");
}

/// A host has one process of a server, and a run of this program several.
#[test]
fn a_server_that_ends_only_beside_another_process_of_it_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of the processes that run the first one leads, and it stays after the end of its input.
    let leader = folder.path().join("leader").display().to_string();
    let leads = format!("kill -0 \"$(cat '{leader}')\" 2>/dev/null || {{ echo $$ >'{leader}'; leads=1; }}");
    let stays = "test -n \"$leads\" && trap '' INT TERM && exec sleep 60";
    let server = script(folder.path(), &format!("{leads}\n{ONE_TOOL}\n{stays}\nexit 0\n"));
    let out = folder.path().join("out");
    let words = ["run", "--server", &server, "--out", &out.display().to_string()];
    let (_, screen, _) = run(&[&words[..], &["pipes.eof"]].concat());
    assert!(screen.contains("while no other process of it runs; beside others it ended"), "{screen}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes what the command reads")]
fn the_script_in_the_help_of_a_host_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_, help, _) = run(&["host", "--help"]);
    let steps: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  - ")).collect();
    let script = format!("- {}\n", steps.join("\n- "));
    let file = folder.path().join("agent.yaml");
    std::fs::write(&file, &script).expect("the file is written");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let server = [env!("CARGO_BIN_EXE_hostcheck"), "probe", "--log", &at("probe.jsonl")];
    let words = ["host", "codex", "--log", &at("wire.jsonl"), "--script", &at("agent.yaml"), "--"];
    let (code, _, said) = run(&[&words[..], &server[..]].concat());
    assert!(code == 0 && steps.len() == 5, "{script}{said}");
}

/// Asked in full, two rows of a server that takes seconds to start took half a minute.
#[test]
fn named_rows_are_asked_in_the_versions_of_a_default_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let log = folder.path().join("probe.jsonl").display().to_string();
    let server = [env!("CARGO_BIN_EXE_hostcheck"), "probe", "--log", &log].join(" ");
    let run_of = |more: &[&str]| {
        let words = ["run", "--json", "--server", &server, "--out", &out, "tools.unknown"];
        let (_, told, said) = run(&[&words[..], more].concat());
        let columns = told.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("an object a line");
            line["column"].as_str().expect("a column").to_owned()
        });
        let columns: Vec<String> = columns.collect();
        assert!(!columns.is_empty(), "{said}");
        columns
    };
    let (named, full) = (run_of(&[]), run_of(&["--full"]));
    assert!(named.len() < full.len(), "{named:?} and {full:?}");
}
