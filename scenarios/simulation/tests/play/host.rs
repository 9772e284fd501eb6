//! With a host: the program on the path is started in this terminal, set up for the sandbox alone, and all of it ends with it.
//! The host is a script that keeps what it was given; what a real one does with it is in `fakes/hosts/REAL-PROGRAMS.md`.

#![expect(clippy::disallowed_methods, reason = "what a host was given lies in real files and variables")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Page, Running, message, server};

/// Keeps arguments, variables and signals in `$RECORD`, and ends with the code that `leave` there holds.
const HOST: &str = r#"#!/bin/sh
for word in "$@"; do printf '%s\0' "$word"; done > "$RECORD/arguments"
env -0 > "$RECORD/environment"
trap 'echo INT >> "$RECORD/signals"' INT
trap 'echo TERM >> "$RECORD/signals"; exit 0' TERM
echo "ready" > "$RECORD/ready"
while [ ! -e "$RECORD/leave" ]; do sleep 0.05; done
exit "$(cat "$RECORD/leave")"
"#;

/// A host that runs under `simulation play HOST`.
struct Session {
    play: Running,
    page: Page,
    record: tempfile::TempDir,
}

impl Session {
    fn start(host: &str, program: &str, more: &[&str]) -> Self {
        Self::start_with(host, program, more, &[])
    }

    fn start_with(host: &str, program: &str, more: &[&str], variables: &[(&str, &str)]) -> Self {
        let record = tempfile::tempdir().expect("a folder");
        let bin = record.path().join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        put(&bin.join(program), HOST);
        std::fs::set_permissions(bin.join(program), PermissionsExt::from_mode(0o755)).expect("a mode");
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a path"));
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("simulation"));
        command
            .args(["play", host, "--server"])
            .arg(server())
            .args(more)
            .env_remove("CARGO")
            .env("PATH", path)
            .env("RECORD", record.path())
            // The person's own server must not leak into the sandbox's.
            .env("ENTRACLAW_GRAPH_URL", "https://graph.microsoft.com")
            .envs(variables.iter().copied())
            .process_group(0)
            .stderr(Stdio::inherit());
        let play = Running::start(&mut command);
        let page = Page::of(&play.line_after("page: "));
        let session = Self { play, page, record };
        session.until("ready", |record| record.join("ready").exists());
        session
    }

    fn until(&self, what: &str, holds: impl Fn(&Path) -> bool) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !holds(self.record.path()) {
            assert!(tokio::time::Instant::now() < deadline, "never {what}");
            self.page.get("state?since=0");
        }
    }

    fn kept(&self, name: &str) -> Vec<String> {
        let text = read(&self.record.path().join(name));
        text.split_terminator('\0').map(str::to_owned).collect()
    }

    fn arguments(&self) -> Vec<String> {
        self.kept("arguments")
    }

    /// The value of a flag.
    fn after(&self, flag: &str) -> String {
        let arguments = self.arguments();
        let at =
            arguments.iter().position(|word| word == flag).unwrap_or_else(|| panic!("{flag}: {arguments:?}"));
        arguments[at + 1].clone()
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let pairs = self.kept("environment");
        pairs
            .iter()
            .filter_map(|pair| pair.split_once('='))
            .map(|(n, v)| (n.to_owned(), v.to_owned()))
            .collect()
    }

    fn variable(&self, name: &str) -> String {
        self.environment().remove(name).unwrap_or_else(|| panic!("{name} is not set"))
    }

    fn signals(&self) -> Vec<String> {
        std::fs::read_to_string(self.record.path().join("signals"))
            .map(|text| text.lines().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn leave(&self, code: u8) {
        put(&self.record.path().join("leave.new"), &code.to_string());
        std::fs::rename(self.record.path().join("leave.new"), self.record.path().join("leave"))
            .expect("a file");
    }

    /// Waits for the end of the sandbox.
    fn code(&mut self) -> Option<i32> {
        self.play.child.wait().expect("a status").code()
    }
}

fn put(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file is written");
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn json_in(path: &str) -> Value {
    serde_json::from_str(&read(Path::new(path))).expect("JSON")
}

/// The commands that a host was given for the server and for the hook at the end of a turn.
struct Told {
    command: Vec<String>,
    environment: BTreeMap<String, String>,
    hook: Option<(String, String)>,
    rules: String,
}

impl Told {
    fn of(entry: &Value, hook: Option<(&str, &Value)>, rules: String) -> Self {
        let strings = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut command = strings(&entry["command"]);
        command.extend(entry["command"].as_str().map(str::to_owned));
        command.extend(strings(&entry["args"]));
        let variables = ["env", "environment"].iter().find_map(|name| entry[name].as_object());
        let environment = variables.expect("variables").iter();
        let environment =
            environment.map(|(name, value)| (name.clone(), value.as_str().expect("text").to_owned()));
        let hook =
            hook.map(|(event, command)| (event.to_owned(), command.as_str().expect("a command").to_owned()));
        Self { command, environment: environment.collect(), hook, rules }
    }
}

fn claude_code(session: &Session) -> Told {
    let servers = json_in(&session.after("--mcp-config"));
    let settings = json_in(&session.after("--settings"));
    let rules: Vec<&str> = settings["permissions"]["allow"]
        .as_array()
        .expect("rules")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(rules.contains(&"mcp__entraclaw__inbox_pull"), "{rules:?}");
    assert!(!rules.iter().any(|rule| rule.contains("send")), "{rules:?}");
    Told::of(
        &servers["mcpServers"]["entraclaw"],
        Some(("Stop", &settings["hooks"]["Stop"][0]["hooks"][0]["command"])),
        session.after("--append-system-prompt"),
    )
}

fn copilot_cli(session: &Session) -> Told {
    let servers = session.after("--additional-mcp-config");
    let servers = json_in(servers.strip_prefix('@').expect("a file"));
    let plugin = PathBuf::from(session.after("--plugin-dir"));
    let manifest = json_in(&plugin.join("plugin.json").display().to_string());
    let hooks = json_in(&plugin.join(manifest["hooks"].as_str().expect("a file")).display().to_string());
    assert!(hooks["hooks"]["permissionRequest"][0]["bash"].is_string(), "{hooks}");
    let folders = session.variable("COPILOT_CUSTOM_INSTRUCTIONS_DIRS");
    let (theirs, ours) = folders.split_once(',').expect("two folders");
    assert_eq!(theirs, "/of/the/person");
    Told::of(
        &servers["mcpServers"]["entraclaw"],
        Some(("agentStop", &hooks["hooks"]["agentStop"][0]["bash"])),
        read(&Path::new(ours).join(".github/instructions/entraclaw.instructions.md")),
    )
}

/// The value of a name in `-c NAME=VALUE`.
fn codex_value(session: &Session, name: &str) -> Value {
    let arguments = session.arguments();
    let start = format!("{name}=");
    let told = arguments
        .iter()
        .find_map(|word| word.strip_prefix(&start))
        .unwrap_or_else(|| panic!("{name}: {arguments:?}"));
    let table: toml::Table = toml::from_str(&format!("it = {told}")).expect(told);
    serde_json::to_value(&table["it"]).expect("JSON")
}

fn codex(session: &Session) -> Told {
    let server = codex_value(session, "mcp_servers.entraclaw");
    assert_eq!(server["env"]["ENTRACLAW_WAKE_CODEX_QUEUE"], "true");
    assert!(session.arguments().contains(&"--no-daemon".to_owned()), "nothing stays behind");
    let hooks = session.arguments().iter().any(|word| word.starts_with("hooks"));
    assert!(!hooks, "its trust in them would stay in the person's settings");
    Told::of(&server, None, String::new())
}

fn gemini_cli(session: &Session) -> Told {
    let settings = json_in(&session.variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH"));
    assert_eq!(session.variable("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"), "/etc/gemini-cli/system-defaults.json");
    assert_eq!(settings["experimental"]["modelSteering"], true);
    assert!(read(Path::new(&session.after("--policy"))).contains("inbox_pull"));
    let hook = &settings["hooks"]["AfterAgent"][0]["hooks"][0]["command"];
    Told::of(&settings["mcpServers"]["entraclaw"], Some(("AfterAgent", hook)), String::new())
}

fn opencode(session: &Session) -> Told {
    let config: Value = serde_json::from_str(&session.variable("OPENCODE_CONFIG_CONTENT")).expect("JSON");
    let entry = &config["mcp"]["entraclaw"];
    let password = session.variable("OPENCODE_SERVER_PASSWORD");
    assert_eq!(entry["environment"]["ENTRACLAW_WAKE_OPENCODE_PASSWORD"], json!(password));
    assert_eq!(entry["environment"]["ENTRACLAW_WAKE_OPENCODE_PORT"], json!(session.after("--port")));
    Told::of(entry, None, read(Path::new(config["instructions"][0].as_str().expect("a file"))))
}

fn qwen_code(session: &Session) -> Told {
    let settings = json_in(&session.variable("QWEN_CODE_SYSTEM_SETTINGS_PATH"));
    let hook = &settings["hooks"]["Stop"][0]["hooks"][0]["command"];
    Told::of(
        &settings["mcpServers"]["entraclaw"],
        Some(("Stop", hook)),
        session.after("--append-system-prompt"),
    )
}

#[rstest]
#[case("claude-code", "claude", claude_code)]
#[case("copilot-cli", "copilot", copilot_cli)]
#[case("codex", "codex", codex)]
#[case("gemini-cli", "gemini", gemini_cli)]
#[case("opencode", "opencode", opencode)]
#[case("qwen-code", "qwen", qwen_code)]
fn a_host_is_set_up_for_the_sandbox_alone(
    #[case] host: &str,
    #[case] program: &str,
    #[case] told: fn(&Session) -> Told,
) {
    let before = [("COPILOT_CUSTOM_INSTRUCTIONS_DIRS", "/of/the/person")];
    let more = ["--prompt", "Listen, please.", "--", "--of-the-person"];
    let mut session = Session::start_with(host, program, &more, &before);
    let arguments = session.arguments();
    assert!(arguments.contains(&"Listen, please.".to_owned()), "{arguments:?}");
    assert_eq!(arguments.last().map(String::as_str), Some("--of-the-person"));
    assert!(!session.environment().contains_key("ENTRACLAW_GRAPH_URL"), "the person's own settings stay out");
    let told = told(&session);

    // The given commands work: the server hears Alice, and the hook hands over what came meanwhile.
    let (program, words) = told.command.split_first().expect("a program");
    let mut server = Running::start(
        Command::new(program).args(words).env_clear().envs(&told.environment).stderr(Stdio::null()),
    );
    server.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client_name(host), "version": "1"}}}));
    let instructions = server.answer(1)["result"]["instructions"].as_str().expect("instructions").to_owned();
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    session.page.until("polled", |state| state["polling"]["is"] == "now");
    session.page.submit("say", "place=alice&from=alice&text=Are+you+there%3F");
    let heard = server.call(2, "wait_for_inbound_message", &json!({"timeout_s": 50}));
    assert_eq!(heard["messages"][0]["content_text_sanitized"], "Are you there?", "{heard}");
    let rules = if told.rules.is_empty() { &instructions } else { &told.rules };
    assert!(rules.contains("Listening: when your work is done"), "{rules}");
    if let Some((event, command)) = &told.hook {
        session.page.submit("say", "place=alice&from=alice&text=And+now%3F");
        session.page.until("read", |state| {
            message(state, "alice", "And now?").is_some_and(|message| message["read_by_server"] == true)
        });
        let output = hook(command, &json!({"hook_event_name": event, "session_id": "s", "cwd": "/"}));
        assert!(output.contains("And now?"), "{command}: {output}");
    }
    drop(server);

    let home = told.environment["ENTRACLAW_HOME"].clone();
    let left: Vec<PathBuf> = session.temporary_paths().into_iter().chain([PathBuf::from(home)]).collect();
    assert!(left.len() > 1 || host == "codex", "{left:?}");
    assert!(left.iter().all(|path| path.exists()), "{left:?}");
    for path in &left {
        let mode = path.metadata().expect("a file").permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{}: others can read it", path.display());
    }
    session.leave(0);
    assert_eq!(session.code(), Some(0));
    let stay: Vec<&PathBuf> = left.iter().filter(|path| path.exists()).collect();
    assert!(stay.is_empty(), "{stay:?}");
}

/// The name by which a host opens a connection.
fn client_name(host: &str) -> &'static str {
    match host {
        "claude-code" => "claude-code",
        "copilot-cli" => "copilot-cli",
        "codex" => "codex-mcp-client",
        "gemini-cli" => "gemini-cli-mcp-client",
        "opencode" => "opencode",
        _ => "qwen-cli-mcp-client-entraclaw",
    }
}

/// The output of a hook's command, run as a host does.
fn hook(command: &str, input: &Value) -> String {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, input.to_string().as_bytes()).expect("the hook reads");
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    String::from_utf8(output.stdout).expect("UTF-8")
}

impl Session {
    /// The host's arguments and variables that name files of the sandbox.
    fn temporary_paths(&self) -> Vec<PathBuf> {
        let given = self.arguments().into_iter().chain(self.environment().into_values());
        let words: Vec<String> = given
            .flat_map(|text| text.split(['"', ',', '@', '=']).map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let ours = |word: &String| word.contains("/hostcheck-play-") && !word.contains(' ');
        words.into_iter().filter(ours).map(PathBuf::from).filter(|path| path.is_absolute()).collect()
    }

    fn id(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.play.child.id()).expect("an id"))
    }
}

#[test]
fn ctrl_c_is_the_hosts_and_the_sandbox_ends_with_the_host() {
    let mut session = Session::start("claude", "claude", &[]);
    // As a terminal sends it: to everybody in the foreground.
    killpg(session.id(), Signal::SIGINT).expect("a group");
    // The shell makes the file before it writes the line.
    let is_written = |record: &Path| {
        std::fs::read_to_string(record.join("signals")).is_ok_and(|text| text.ends_with('\n'))
    };
    session.until("interrupted", is_written);
    assert_eq!(session.signals(), ["INT"]);
    let state = session.page.until("a state", |_| true);
    assert!(state["places"].is_array(), "the sandbox goes on: {state}");
    session.leave(7);
    assert_eq!(session.code(), Some(1), "a host that failed is no success");
    assert_eq!(session.signals(), ["INT"]);
}

#[test]
fn who_ends_the_sandbox_ends_the_host() {
    let mut session = Session::start("codex", "codex", &[]);
    kill(session.id(), Signal::SIGTERM).expect("a process");
    assert_eq!(session.code(), Some(0));
    assert_eq!(session.signals(), ["TERM"]);
}

#[test]
fn nothing_of_the_sandbox_is_written_into_the_hosts_terminal() {
    let mut session = Session::start("qwen-code", "qwen", &["--prompt", ""]);
    assert!(!session.arguments().iter().any(|word| word == "-i"), "no prompt was wanted");
    session.page.submit("say", "place=alice&from=alice&text=Are+you+there%3F");
    session.page.until("written", |state| message(state, "alice", "Are you there?").is_some());
    session.leave(0);
    session.code();
    let lines = session.play.end();
    let told: Vec<String> = std::iter::from_fn(|| lines.recv_timeout(PATIENCE).ok()).collect();
    assert!(!told.iter().any(|line| line.contains("Are you there?")), "{told:?}");
}

#[test]
fn settings_of_an_administrator_stay_in_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("settings.json");
    let text = "{\n  // the company's\n  \"telemetry\": {\"enabled\": false},\n  \"hooks\": {\"AfterAgent\": [{\"hooks\": []}]}\n}\n";
    put(&file, text);
    let variables = [("GEMINI_CLI_SYSTEM_SETTINGS_PATH", file.to_str().expect("UTF-8"))];
    let session = Session::start_with("gemini-cli", "gemini", &[], &variables);
    let given = read(Path::new(&session.variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH")));
    for wanted in ["// the company's", "\"enabled\": false", "\"entraclaw\"", "hook gemini-cli AfterAgent"] {
        assert!(given.contains(wanted), "{wanted}: {given}");
    }
    assert_eq!(
        session.variable("GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        folder.path().join("system-defaults.json").display().to_string()
    );
    assert_eq!(read(&file), text, "nothing of theirs is touched");
}

#[test]
fn a_missing_or_unknown_host_is_named_with_the_remedy() {
    let run = |arguments: &[&str], path: &str| {
        let output = Command::new(assert_cmd::cargo::cargo_bin!("simulation"))
            .arg("play")
            .args(arguments)
            .env("PATH", path)
            .env_remove("CARGO")
            .output()
            .expect("it starts");
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (code, told) = run(&["claud-code"], "/nonexistent");
    assert_eq!(code, Some(2));
    assert!(told.contains("'claude-code'") && told.contains("qwen-code"), "{told}");
    for (host, program, package) in [
        ("claude-code", "claude", "@anthropic-ai/claude-code"),
        ("copilot-cli", "copilot", "@github/copilot"),
        ("codex", "codex", "@openai/codex"),
        ("gemini-cli", "gemini", "@google/gemini-cli"),
        ("opencode", "opencode", "opencode-ai"),
        ("qwen-code", "qwen", "@qwen-code/qwen-code"),
    ] {
        let (code, told) = run(&[host], "/nonexistent");
        assert_eq!(code, Some(2), "{told}");
        for wanted in [format!("`{program}`"), format!("npm install -g {package}"), "PATH".to_owned()] {
            assert!(told.contains(&wanted), "{wanted}: {told}");
        }
    }
    let (code, told) = run(&["claude-code", "--drive"], "/nonexistent");
    assert!(code == Some(2) && told.contains("--drive"), "{told}");
}
