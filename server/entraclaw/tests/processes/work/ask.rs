//! Other agents as tools, by the real program: a script stands in for the agent's program and records how it was started.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use rstest::rstest;
use serde_json::{Value, json};

use super::{gone, runs};

/// What the program answers when it is asked for its models.
const LISTS: &str = r#"if [ "$2 $3" = "help config" ]; then echo asked >> "$0.lists"; cat "$0.models" 2>/dev/null; exit 0; fi"#;

/// A script that writes down its arguments, its folder and the names of its variables.
const RECORDS: &str =
    r#"printf '%s\n' "$@" > "$0.arguments"; pwd > "$0.folder"; env | sed 's/=.*//' | sort > "$0.variables""#;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    /// An agent's program of this name that records its start and then runs the script.
    fn new(name: &str, script: &str) -> Self {
        let fixture = Self { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(fixture.path("bin")).unwrap();
        std::fs::create_dir_all(fixture.path("project")).unwrap();
        let path = fixture.path("bin").join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{LISTS}\n{RECORDS}\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn recorded(&self, what: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.path(&format!("bin/copilot.{what}"))).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn serve(&self, variables: &[(&str, &str)]) -> Server {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.args(["serve", "--only", "ask", "--home"]).arg(self.path("home"));
        let search = format!("{}:/usr/bin:/bin", self.path("bin").display());
        command.env_clear().env("PATH", search).env("HOME", self.folder.path());
        command.envs(variables.iter().copied()).current_dir(self.path("project"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Server { child, stdin, stdout, next_id: 0 };
        server.request(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        );
        server
    }

    /// Asks one question of a server that then ends.
    fn ask(&self, tool: &str, arguments: &Value) -> (bool, String) {
        self.serve(&[]).call(tool, arguments)
    }
}

struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

impl Server {
    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.next_id += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}));
        self.next_id
    }

    fn answer_to(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no answer: {answer}"));
        (result["isError"] == true, text.trim_end().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const BASE: [&str; 5] = ["--allow-all-tools", "--no-ask-user", "--silent", "--no-color", "--no-auto-update"];
const READ_ONLY: [&str; 3] = ["--available-tools=view,grep,glob", "--deny-tool=write", "--deny-tool=shell"];

/// The arguments without the ones that ask for a report and choose the session.
fn of_the_contract(arguments: &[String]) -> Vec<&str> {
    let ours =
        |argument: &&str| !argument.starts_with("--output-format=") && !argument.starts_with("--session-id=");
    arguments.iter().map(String::as_str).filter(ours).collect()
}

#[rstest]
#[case("ask", json!({"prompt": "why?"}), "--prompt=why?", &[], &[])]
#[case("ask", json!({"prompt": "--help"}), "--prompt=--help", &[], &[])]
#[case("ask", json!({"prompt": "-i; $(id) `id` \"$HOME\" 'x' | & > y"}), "--prompt=-i; $(id) `id` \"$HOME\" 'x' | & > y", &[], &[])]
#[case("ask", json!({"prompt": "p", "model": "gpt-9", "addDir": "/tmp"}), "--prompt=p", &[], &["--model=gpt-9", "--add-dir=/tmp"])]
#[case("ask", json!({"prompt": "p", "permissions": "read-only"}), "--prompt=p", &READ_ONLY, &[])]
#[case("suggest", json!({"prompt": "list files"}), "--prompt=Suggest a command to accomplish: list files", &READ_ONLY, &[])]
#[case("suggest", json!({"prompt": "undo", "target": "git"}), "--prompt=Suggest a git command to accomplish: undo", &READ_ONLY, &[])]
#[case("explain", json!({"command": "rm -rf /"}), "--prompt=Explain what this command does: rm -rf /", &READ_ONLY, &[])]
fn the_program_is_started_as_the_contract_says(
    #[case] tool: &str,
    #[case] arguments: Value,
    #[case] prompt: &str,
    #[case] permissions: &[&str],
    #[case] more: &[&str],
) {
    let fixture = Fixture::new("copilot", "echo forty-two");
    let (is_error, text) = fixture.ask(tool, &arguments);
    assert!(!is_error && text.starts_with("forty-two\n"), "{text}");
    let recorded = fixture.recorded("arguments");
    let expected: Vec<&str> = [prompt].iter().chain(&BASE).chain(permissions).chain(more).copied().collect();
    assert_eq!(of_the_contract(&recorded), expected);
    assert!(!recorded.iter().any(|argument| argument == "-i" || argument == "suggest"));
    let project = std::fs::canonicalize(fixture.path("project")).unwrap();
    assert_eq!(fixture.recorded("folder"), [project.display().to_string()]);
}

#[rstest]
#[case("echo answer", false, "answer")]
#[case("printf '  \\n answer \\n\\n'", false, "answer")]
#[case("printf '\\033[31manswer\\033[0m'", false, "answer")]
#[case("exit 0", false, "No response from Copilot")]
#[case("echo answer; exit 1", true, "Copilot error: it ended with exit code 1 and said nothing on stderr")]
#[case("echo answer; echo oops >&2; exit 3", true, "Copilot error: oops (failed: ask again")]
#[case("echo oops >&2", true, "Copilot error: oops (failed: ")]
#[case("echo usage >&2; echo answer", false, "answer")]
#[case("echo '402 You have no quota' >&2; exit 1", true, "Copilot error: 402 You have no quota (quota: ")]
#[case(
    "echo 'Error: No authentication information found.' >&2; exit 1",
    true,
    "Copilot error: No authentication information found. (not-signed-in: your user has to sign in: start `copilot`"
)]
#[case("kill -9 $$", true, "Copilot error: it ended with signal 9")]
#[case("echo \"the token is $COPILOT_GITHUB_TOKEN\"", false, "the token is [a secret was removed here]")]
#[case(
    "echo \"$COPILOT_GITHUB_TOKEN\" >&2; exit 1",
    true,
    "Copilot error: [a secret was removed here] (failed"
)]
fn what_it_prints_and_how_it_ends_decides(#[case] script: &str, #[case] fails: bool, #[case] begins: &str) {
    let fixture = Fixture::new("copilot", script);
    let mut server = fixture.serve(&[("COPILOT_GITHUB_TOKEN", "tid=0123456789")]);
    let (is_error, text) = server.call("ask", &json!({"prompt": "p"}));
    assert_eq!((is_error, text.starts_with(begins)), (fails, true), "{text}");
}

#[test]
fn the_program_gets_its_own_variables_and_no_others() {
    let fixture = Fixture::new("copilot", "echo yes");
    let others = [
        ("ENTRACLAW_ACCESS_TOKEN", "a"),
        ("AWS_SECRET_ACCESS_KEY", "b"),
        ("ANTHROPIC_API_KEY", "c"),
        ("CLAUDECODE", "1"),
    ];
    let own = [("COPILOT_GITHUB_TOKEN", "d"), ("LC_ALL", "C"), ("HTTPS_PROXY", "http://127.0.0.1:1")];
    let all: Vec<_> = others.iter().chain(&own).copied().collect();
    fixture.serve(&all).call("ask", &json!({"prompt": "p"}));
    let variables = fixture.recorded("variables");
    for (name, _) in own {
        assert!(variables.iter().any(|variable| variable == name), "{name} is missing: {variables:?}");
    }
    for (name, _) in others {
        assert!(!variables.iter().any(|variable| variable == name), "{name} was passed on");
    }
}

#[rstest]
#[case(json!({"prompt": "p", "addDir": "/no/such/folder"}), "addDir: there is no such folder")]
#[case(json!({"prompt": "p", "addDir": "/etc/passwd"}), "addDir: it is a file")]
#[case(json!({"prompt": "p", "addDir": "/tmp/../etc"}), "addDir: it has a `..` segment")]
#[case(json!({"prompt": "x".repeat(1_000_000)}), "prompt: it has 1000000 bytes")]
#[case(json!({"prompt": "a\u{0}b"}), "prompt: it has a NUL character")]
#[case(json!({"prompt": "p", "agent": "clippy"}), "agent: \"clippy\" is not known")]
fn a_wrong_question_starts_nothing(#[case] arguments: Value, #[case] says: &str) {
    let fixture = Fixture::new("copilot", "echo yes");
    let (is_error, text) = fixture.ask("ask", &arguments);
    assert!(is_error && text.starts_with(says), "{text}");
    assert!(!fixture.path("bin/copilot.arguments").exists());
    assert!(!fixture.path("home/work").exists());
}

#[test]
fn a_missing_program_is_named_with_its_remedy() {
    let fixture = Fixture::new("other", "");
    let (is_error, text) = fixture.ask("ask", &json!({"prompt": "p"}));
    assert!(is_error && text.contains("npm install -g @github/copilot"), "{text}");
    let mut server = fixture.serve(&[("COPILOT_BINARY_PATH", "/no/copilot")]);
    let (is_error, text) = server.call("ask", &json!({"prompt": "p"}));
    assert!(is_error && text.contains("COPILOT_BINARY_PATH"), "{text}");
    assert_eq!(server.call("ping", &json!({})), (false, "pong".to_owned()));
}

#[test]
fn an_operators_path_and_model_are_used() {
    let fixture = Fixture::new("copilot", "echo yes");
    let path = fixture.path("bin/copilot").display().to_string();
    let variables =
        [("PATH", "/usr/bin:/bin"), ("COPILOT_BINARY_PATH", &*path), ("COPILOT_DEFAULT_MODEL", "gpt-4.1")];
    let (is_error, text) = fixture.serve(&variables).call("ask", &json!({"prompt": "p"}));
    assert!(!is_error, "{text}");
    assert!(fixture.recorded("arguments").contains(&"--model=gpt-4.1".to_owned()));
    let narrow = [("ENTRACLAW_ASK_PERMISSIONS", "read-only")];
    let mut server = fixture.serve(&narrow);
    let (is_error, text) = server.call("ask", &json!({"prompt": "p", "permissions": "all"}));
    assert!(is_error && text.contains("the operator allows at most read-only"), "{text}");
    server.call("ask", &json!({"prompt": "p"}));
    assert!(fixture.recorded("arguments").contains(&"--deny-tool=shell".to_owned()));
}

#[test]
fn a_program_of_an_unknown_version_is_asked_once_for_its_models() {
    let fixture = Fixture::new("copilot", "echo yes");
    let models = "  `model`: AI model to use for Copilot CLI.\n    - \"gpt-5\"\n    - \"gpt-4.1\"\n";
    std::fs::write(fixture.path("bin/copilot.models"), models).unwrap();
    for _ in 0..2 {
        let (is_error, text) = fixture.ask("ask", &json!({"prompt": "p"}));
        assert!(!is_error && text.contains("model: gpt-4.1"), "{text}");
        assert!(fixture.recorded("arguments").contains(&"--model=gpt-4.1".to_owned()));
    }
    assert_eq!(fixture.recorded("lists").len(), 1);
    // Another program in its place is asked again.
    let program = fixture.path("bin/copilot");
    let script = std::fs::read_to_string(&program).unwrap();
    std::fs::write(&program, script + "# newer\n").unwrap();
    std::fs::remove_file(fixture.path("bin/copilot.models")).unwrap();
    let (_, text) = fixture.ask("ask", &json!({"prompt": "p"}));
    assert!(text.contains("model: its own default"), "{text}");
    assert_eq!(fixture.recorded("lists").len(), 2);
    assert!(!fixture.recorded("arguments").iter().any(|argument| argument.starts_with("--model=")));
}

#[test]
fn a_flood_is_kept_in_a_file_and_read_in_pieces() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo \"line $i of a long answer\"; i=$((i+1)); done";
    let fixture = Fixture::new("copilot", script);
    let mut server = fixture.serve(&[]);
    let (_, text) = server.call("ask", &json!({"prompt": "p"}));
    assert!(text.len() <= 8_000 && text.contains("this is the beginning of "), "{}", text.len());
    let (_, sessions) = server.call("list_sessions", &json!({}));
    let sessions: Value = serde_json::from_str(&sessions).unwrap();
    let ticket = sessions["sessions"][0]["ticket"].as_str().unwrap();
    let mut whole = String::new();
    let mut offset = text.find("\n(this is the beginning").unwrap();
    whole.push_str(&text[..offset]);
    loop {
        let (is_error, text) = server.call("ask_status", &json!({"ticket": ticket, "offset": offset}));
        assert!(!is_error, "{text}");
        let Some(end) = text.rfind("\n(up to byte ") else {
            whole.push_str(&text);
            break;
        };
        whole.push_str(&text[..end]);
        offset += end;
    }
    let expected: Vec<String> = (0..20_000).map(|i| format!("line {i} of a long answer")).collect();
    assert!(whole == expected.join("\n"), "{} bytes", whole.len());
}

#[tokio::test]
async fn a_cancelled_call_leaves_no_process() {
    let script = "sleep 600 & echo $! > \"$0.child\"; echo $$ > \"$0.pid\"; wait";
    let fixture = Fixture::new("copilot", script);
    let mut server = fixture.serve(&[]);
    let id = server.send("tools/call", &json!({"name": "ask", "arguments": {"prompt": "p"}}));
    let pid = |name: &str| {
        let path = fixture.path(&format!("bin/copilot.{name}"));
        loop {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            if text.ends_with('\n') {
                return text.trim().parse::<u32>().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let pids = [pid("pid"), pid("child")];
    assert!(pids.iter().all(|pid| runs(*pid)));
    server
        .write(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let took = gone(&pids, super::PATIENCE).await;
    println!("the agent and its child were gone after {took:?}");
    let (_, sessions) = server.call("list_sessions", &json!({}));
    assert!(sessions.contains("\"copilot\""), "{sessions}");
    wait_until_empty(&fixture.path("home/work/spool"));
}

/// The inbox must not tell of what the caller ended.
fn wait_until_empty(spool: &Path) {
    for _ in 0..2_000 {
        if std::fs::read_dir(spool).is_ok_and(|entries| entries.count() == 0) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("a cancelled question is left in {}", spool.display());
}

#[tokio::test]
async fn an_answer_outlives_the_server_that_asked() {
    let fixture = Fixture::new("copilot", "echo $$ > \"$0.pid\"; sleep 1; echo late");
    let mut server = fixture.serve(&[]);
    server.send("tools/call", &json!({"name": "ask", "arguments": {"prompt": "p"}}));
    let path = fixture.path("bin/copilot.pid");
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(server);
    let mut server = fixture.serve(&[]);
    let (_, sessions) = server.call("list_sessions", &json!({}));
    let sessions: Value = serde_json::from_str(&sessions).unwrap();
    let ticket = sessions["sessions"][0]["ticket"].as_str().unwrap().to_owned();
    for _ in 0..2_000 {
        let (_, text) = server.call("ask_status", &json!({"ticket": ticket}));
        if text.starts_with("late") {
            return;
        }
        assert!(text.contains("\"working\""), "{text}");
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the answer never came");
}
