//! The shipped program as a host starts it: real pipes, files and signals, with a Graph by wiremock or none.

#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "real processes live in real time")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::Command as Asserted;
use assert_cmd::cargo::cargo_bin;
use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

const PROMPT: Duration = Duration::from_millis(1_500);

/// A running server. Variables of the surrounding session do not reach it.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next_id: u64,
}

impl Server {
    fn start(home: &Path, variables: &[(&str, &str)]) -> Self {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.arg("serve").arg("--home").arg(home).env_clear().envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout, next_id: 0 }
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "claude-code", "version": "2.1.330"}
        });
        let answer = self.request("initialize", &params);
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        (result["isError"] == true, result["content"][0]["text"].as_str().unwrap().to_owned())
    }

    /// Waits for the end and returns exit code, time and stderr.
    fn end(mut self) -> (Option<i32>, Duration, String) {
        let begun = Instant::now();
        drop(self.stdin.take());
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "the server lingers");
            std::thread::sleep(Duration::from_millis(1));
        };
        let took = begun.elapsed();
        let stderr = std::io::read_to_string(self.child.stderr.take().unwrap()).unwrap();
        (status.code(), took, stderr)
    }
}

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn help_names_the_command_and_the_exit_codes() {
    let help = Asserted::new(cargo_bin("entraclaw")).arg("--help").assert().success();
    let text = String::from_utf8(help.get_output().stdout.clone()).unwrap();
    assert!(text.contains("serve") && text.contains("Exit codes:"), "{text}");
    let version = Asserted::new(cargo_bin("entraclaw")).arg("--version").assert().success();
    assert!(version.get_output().stdout.starts_with(b"entraclaw "));
}

#[rstest]
#[case(&[])]
#[case(&["server"])]
#[case(&["serve", "--hom", "x"])]
#[case(&["serve", "extra"])]
fn wrong_usage_is_2_and_leaves_stdout_alone(#[case] arguments: &[&str]) {
    let output = Asserted::new(cargo_bin("entraclaw")).args(arguments).assert().code(2).get_output().clone();
    assert!(output.stdout.is_empty());
    assert!(!output.stderr.is_empty());
}

#[test]
fn a_session_in_an_empty_home_ends_with_its_input() {
    let home = home();
    let mut server = Server::start(&home.path().join("new"), &[]);
    assert_eq!(server.initialize()["result"]["protocolVersion"], "2025-11-25");
    let (failed, text) = server.call("inbox_pull", &json!({}));
    assert!(!failed && text.contains("\"unread_remaining\":0"), "{text}");
    // A call that is open when the host goes away must not delay the end.
    let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 50}});
    server.write(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": wait}));
    std::thread::sleep(Duration::from_millis(200));
    let (code, took, stderr) = server.end();
    assert_eq!(code, Some(0));
    assert!(took < PROMPT, "{took:?}");
    assert!(stderr.contains("not polled"), "{stderr}");
}

#[test]
fn without_a_network_the_host_is_answered_at_once() {
    let home = home();
    // A port without a listener, and an address that never answers.
    for url in ["http://127.0.0.1:9", "https://192.0.2.1"] {
        let begun = Instant::now();
        let variables = [("ENTRACLAW_GRAPH_URL", url), ("ENTRACLAW_ACCESS_TOKEN", "secret-token")];
        let mut server = Server::start(home.path(), &variables);
        server.initialize();
        assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
        std::thread::sleep(Duration::from_millis(300));
        let (code, took, stderr) = server.end();
        assert_eq!(code, Some(0));
        assert!(took < PROMPT, "{took:?}");
        assert!(!stderr.contains("secret-token"), "{stderr}");
    }
}

#[rstest]
#[case("[teams]\npol_interval = \"5s\"", &[], "line 2: unknown key `teams.pol_interval`; did you mean `teams.poll_interval`?")]
#[case("", &[("ENTRACLAW_GRAPH_URL", "http://graph.contoso.com")], "`graph.url` is plain http to graph.contoso.com")]
#[case("", &[("ENTRACLAW_TEAMS_POLL_INTERVAL", "100ms")], "`teams.poll_interval` is 100ms; write 1s or more")]
#[case("", &[("ENTRACLAW_AUTH", "static")], "set ENTRACLAW_ACCESS_TOKEN")]
#[case("\u{feff}[[[", &[], "config.toml")]
fn a_wrong_configuration_is_reported_by_every_tool(
    #[case] file: &str,
    #[case] variables: &[(&str, &str)],
    #[case] told: &str,
) {
    let home = home();
    std::fs::write(home.path().join("config.toml"), file).unwrap();
    let mut server = Server::start(home.path(), variables);
    server.initialize();
    let tools = server.request("tools/list", &json!({}));
    let names: Vec<String> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(names.len() >= 4, "{names:?}");
    for name in names {
        let arguments = json!({"chat_id": "x", "content": "y"});
        let (failed, text) = server.call(&name, &arguments);
        assert!(failed && text.contains(told), "{name}: {text}");
    }
    let (code, took, stderr) = server.end();
    assert_eq!(code, Some(0));
    assert!(took < PROMPT, "{took:?}");
    assert!(stderr.contains(told), "{stderr}");
}

#[test]
fn a_home_that_is_a_file_is_reported_too() {
    let home = home();
    let file = home.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let mut server = Server::start(&file, &[]);
    server.initialize();
    let (failed, text) = server.call("inbox_pull", &json!({}));
    assert!(failed && text.contains("the home folder can't be used"), "{text}");
    assert_eq!(server.end().0, Some(0));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "x");
}

#[test]
fn the_log_file_is_private_and_holds_no_token() {
    let home = home();
    std::fs::write(home.path().join("config.toml"), "[log]\nfile = true\nlevel = \"debug\"").unwrap();
    let variables =
        [("ENTRACLAW_GRAPH_URL", "http://127.0.0.1:9"), ("ENTRACLAW_ACCESS_TOKEN", "secret-token")];
    let mut server = Server::start(home.path(), &variables);
    server.initialize();
    std::thread::sleep(Duration::from_millis(300));
    server.end();
    let log = home.path().join("log/entraclaw.log");
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("the journal is open") && text.contains("cannot reach"), "{text}");
    assert!(!text.contains("secret-token"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[cfg(unix)]
#[rstest]
#[case(nix::sys::signal::Signal::SIGTERM)]
#[case(nix::sys::signal::Signal::SIGINT)]
#[case(nix::sys::signal::Signal::SIGHUP)]
fn a_signal_ends_it_promptly_although_stdin_is_open(#[case] signal: nix::sys::signal::Signal) {
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    server.initialize();
    let begun = Instant::now();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(server.child.id()).unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
    let status = server.child.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(begun.elapsed() < PROMPT, "{:?}", begun.elapsed());
}

/// The specification asks a server that ends by itself to answer its open streams
/// (2026-07-28, basic/patterns/subscriptions#graceful-closure).
#[cfg(unix)]
#[test]
fn a_signal_ends_an_open_stream_with_its_answer() {
    let home = home();
    let mut server = Server::start(home.path(), &[]);
    let client = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "a-client", "version": "1.0.0"},
    });
    let filter = json!({"_meta": client, "notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}});
    server.write(
        &json!({"jsonrpc": "2.0", "id": "stream", "method": "subscriptions/listen", "params": filter}),
    );
    let mut acknowledgement = String::new();
    server.stdout.read_line(&mut acknowledgement).unwrap();
    assert!(acknowledgement.contains("notifications/subscriptions/acknowledged"), "{acknowledgement}");
    let pid = nix::unistd::Pid::from_raw(i32::try_from(server.child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    let rest = std::io::read_to_string(&mut server.stdout).unwrap();
    let answer: Value = serde_json::from_str(rest.lines().last().unwrap_or_default()).unwrap();
    assert_eq!(answer["id"], "stream", "{rest}");
    assert_eq!(answer["result"]["resultType"], "complete", "{rest}");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

/// The list of tools takes a part of every model's context.
#[rstest]
#[case::as_it_comes(&[], 12_000)]
#[case::with_everything(&[
    ("ENTRACLAW_MAIL_ENABLED", "true"),
    ("ENTRACLAW_BOT_ENABLED", "true"),
    ("ENTRACLAW_BOT_APP_ID", "11111111-1111-1111-1111-111111111111"),
    ("ENTRACLAW_BOT_TENANT_ID", "22222222-2222-2222-2222-222222222222"),
    ("ENTRACLAW_BOT_APP_PASSWORD", "not-a-secret"),
    ("ENTRACLAW_BOT_LISTEN", "127.0.0.1:0"),
], 16_000)]
#[case::what_was_chosen(&[("ENTRACLAW_TOOLS_SETS", "inbound,reply")], 8_000)]
#[case::for_the_local_model(&[("ENTRACLAW_TOOLS_SETS", "delegate")], 5_000)]
fn the_list_of_tools_keeps_its_budget(#[case] variables: &[(&str, &str)], #[case] bytes_max: usize) {
    let home = home();
    let mut server = Server::start(&home.path().join("home"), variables);
    server.initialize();
    let listed = server.request("tools/list", &json!({}));
    assert!(listed["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 3), "{listed}");
    assert!(!listed.to_string().contains("not configured"), "{listed}");
    let bytes = listed.to_string().len();
    assert!(bytes <= bytes_max, "{bytes} bytes");
    server.end();
}

/// With reactions switched off the model has no tool for them.
#[rstest]
#[case(&[], true)]
#[case(&[("ENTRACLAW_TEAMS_REACTIONS", "false")], false)]
fn reactions_can_be_switched_off(#[case] variables: &[(&str, &str)], #[case] has_react: bool) {
    let home = home();
    let mut server = Server::start(&home.path().join("home"), variables);
    server.initialize();
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let named = |name: &str| tools.iter().any(|tool| tool["name"] == name);
    assert_eq!((named("react"), named("edit_message")), (has_react, true), "{listed}");
    let called = server.request("tools/call", &json!({"name": "react", "arguments": {}}));
    let is_unknown = called.to_string().contains("no tool is named `react`");
    assert_eq!(is_unknown, !has_react, "{called}");
    server.end();
}

/// A leader that the system stops is replaced by a follower, and follows it when it goes on.
#[cfg(unix)]
#[test]
fn a_stopped_leader_is_replaced_and_follows_when_it_goes_on() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let home = home();
    let variables =
        [("ENTRACLAW_GRAPH_URL", "http://127.0.0.1:9"), ("ENTRACLAW_ACCESS_TOKEN", "secret-token")];
    // Whether a process's file says that it leads; `None` before it is written.
    let leads = |process: u32| {
        let files = std::fs::read_dir(home.path().join("sessions")).into_iter().flatten().flatten();
        let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        let sessions = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        sessions.filter(|session| session["pid"] == process).find_map(|session| session["leads"].as_bool())
    };
    let until = |process: u32, wanted: bool| {
        let begun = Instant::now();
        while leads(process) != Some(wanted) {
            assert!(begun.elapsed() < Duration::from_secs(120), "process {process} does not lead: {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
        begun.elapsed()
    };
    let mut first = Server::start(home.path(), &variables);
    first.initialize();
    until(first.child.id(), true);
    let mut second = Server::start(home.path(), &variables);
    second.initialize();
    until(second.child.id(), false);
    let pid = Pid::from_raw(i32::try_from(first.child.id()).unwrap());
    kill(pid, Signal::SIGSTOP).unwrap();
    println!("replaced after {:?}", until(second.child.id(), true));
    let (_, told) = second.call("inbound_queue_stats", &json!({}));
    assert!(!told.contains("does not move"), "{told}");
    assert_eq!(leads(first.child.id()), Some(true), "it can't say anything while it is stopped");
    kill(pid, Signal::SIGCONT).unwrap();
    println!("follows after {:?}", until(first.child.id(), false));
    assert_eq!(leads(second.child.id()), Some(true));
    assert!(first.call("inbound_queue_stats", &json!({})).1.contains("depth"));
    assert_eq!(first.end().0, Some(0));
    assert_eq!(second.end().0, Some(0));
}

/// One request over HTTP, with its head and its body.
fn post(address: &str, token: &str, body: &Value) -> String {
    let body = body.to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    std::io::read_to_string(&mut stream).unwrap()
}

#[test]
#[cfg(unix)]
fn over_http_it_serves_who_has_the_token_until_it_is_told_to_stop() {
    let home = home();
    let mut command = Command::new(cargo_bin("entraclaw"));
    command.args(["serve", "--http", "127.0.0.1:0", "--only", "context", "--home"]).arg(home.path());
    command
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let mut after = |words: &str| {
        let line = said.find(|line| line.starts_with(words)).unwrap();
        line.trim_start_matches(words).to_owned()
    };
    let address = after("entraclaw serves at http://").trim_end_matches("/mcp").to_owned();
    let token = after("Its bearer token, until it ends: ");
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    assert!(post(&address, "another-token-0123", &opening).starts_with("HTTP/1.1 401 "));
    let opened = post(&address, &token, &opening);
    assert!(opened.contains("\"serverInfo\":{\"name\":\"entraclaw\""), "{opened}");
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(child.wait().unwrap().success());
}

#[rstest]
#[case(&["--http", "0.0.0.0:0"], &[], "can be reached from other machines")]
#[case(&["--http", "127.0.0.1:0"], &[("ENTRACLAW_HTTP_TOKEN", "short")], "fewer than 16 characters")]
#[case(&["--http-host", "contoso.com"], &[], "--http <ADDRESS>")]
fn what_would_be_open_to_others_is_refused(
    #[case] arguments: &[&str],
    #[case] variables: &[(&str, &str)],
    #[case] says: &str,
) {
    let home = home();
    let mut command = Asserted::new(cargo_bin("entraclaw"));
    command.arg("serve").args(arguments).arg("--home").arg(home.path()).env_clear();
    let done = command.envs(variables.iter().copied()).assert().failure();
    let told = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(told.contains(says), "{told}");
}
