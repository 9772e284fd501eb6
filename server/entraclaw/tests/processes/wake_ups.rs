//! The production adapter of wake-ups with a real program, port, file and pipe, and the shipped program with it. Unix only,
//! as the program is a shell script.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use entraclaw::wake_ups::{ProductionWakeUps, look_at_file};
use entraclaw_inbox::journal::{Journal, JournalOptions};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_inbox::wake_up::{HttpMethod, WakeUpError, WakeUpRequest, WakeUps as _};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::DiskStorage;
use entraclaw_session::config::Secret;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpSocket};
use tokio::process::Command;
use tokio::time::timeout;

/// A folder with this script as the program `codex`, and an adapter that finds it.
fn with_program(script: &str) -> (TempDir, ProductionWakeUps) {
    let folder = tempfile::tempdir().unwrap();
    // Another process writes it, because a program that is still open for writing in a child of another test can't run.
    let mut copy = std::process::Command::new("/bin/sh");
    copy.args(["-c", "printf '%s\\n' '#!/bin/sh' \"$1\" > \"$2\" && chmod 700 \"$2\"", "sh", script]);
    assert!(copy.arg(folder.path().join("codex")).status().unwrap().success());
    let search = format!("{}:/usr/bin:/bin", folder.path().display());
    let variables = BTreeMap::from([
        ("PATH".to_owned(), OsString::from(search)),
        ("HOME".to_owned(), folder.path().as_os_str().to_owned()),
    ]);
    (folder, ProductionWakeUps::new(variables))
}

#[expect(clippy::disallowed_methods, reason = "the other side's files")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the other side's files")]
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn queue(text: &str) -> WakeUpRequest {
    let arguments = ["queue", "--thread", "abc-1", "--message", text].map(str::to_owned).into();
    WakeUpRequest::Run { program: "codex".to_owned(), arguments }
}

#[tokio::test]
async fn a_program_gets_unchanged_arguments_and_a_clean_environment() {
    let (folder, wake_ups) = with_program(
        "printf '%s\\n' \"$#\" \"$@\" > \"$HOME/arguments\"; env > \"$HOME/environment\"; cat > \"$HOME/input\"; echo noise; echo noise >&2",
    );
    let text = "[Entraclaw] first\n> $(touch x) `y` ;\"' ü 👍\n";
    wake_ups.wake(queue(text)).await.unwrap();
    assert_eq!(
        read(&folder.path().join("arguments")),
        format!("5\nqueue\n--thread\nabc-1\n--message\n{text}\n")
    );
    assert_eq!(read(&folder.path().join("input")), "");
    let environment = read(&folder.path().join("environment"));
    let own = ["PATH=", "HOME=", "PWD=", "OLDPWD=", "SHLVL=", "_="];
    assert!(environment.lines().all(|line| own.iter().any(|name| line.starts_with(name))), "{environment}");
}

#[tokio::test]
async fn a_failing_program_differs_from_a_missing_one() {
    let (_folder, wake_ups) = with_program("exit 3");
    let error = wake_ups.wake(queue("secret words")).await.unwrap_err();
    assert_eq!(error, WakeUpError::Refused { program: "codex".to_owned(), code: 3 });
    assert!(error.is_certain() && !error.to_string().contains("secret"));
    let gone = WakeUpRequest::Run { program: "no-such-program".to_owned(), arguments: Vec::new() };
    let error = wake_ups.wake(gone).await.unwrap_err();
    assert!(matches!(&error, WakeUpError::Start { program, .. } if program == "no-such-program"), "{error}");
    let odd = wake_ups.wake(queue("a\0b")).await.unwrap_err();
    assert!(matches!(odd, WakeUpError::Start { .. }), "{odd}");
}

#[tokio::test]
async fn a_program_that_hangs_is_given_up() {
    let (_folder, wake_ups) = with_program("sleep 600");
    let error = wake_ups.with_run_limit(50).wake(queue("x")).await.unwrap_err();
    assert_eq!(error, WakeUpError::TimeUp { what: "codex".to_owned(), limit_ms: 50 });
    assert!(!error.is_certain());
}

#[tokio::test]
async fn a_wake_up_that_is_dropped_ends_the_program_and_what_it_started() {
    let (folder, wake_ups) =
        with_program("sleep 600 & echo $! > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/child\"; wait");
    let child = folder.path().join("child");
    let appears = async {
        while !child.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        ended = wake_ups.wake(queue("x")) => panic!("{ended:?}"),
        () = appears => {}
    }
    let stat = PathBuf::from(format!("/proc/{}/stat", read(&child).trim()));
    // A zombie still has an entry until its parent waits for it.
    #[expect(clippy::disallowed_methods, reason = "the system's files")]
    let lives = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
    };
    while lives() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Answers one request and returns it as text.
async fn answer_once(listener: TcpListener, answer: &str) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut request = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = stream.read(&mut chunk).await.unwrap();
        request.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let wanted = head
            .lines()
            .find_map(|line| line.to_lowercase().strip_prefix("content-length: ").map(str::to_owned));
        if count == 0 || body.len() >= wanted.map_or(0, |n| n.parse().unwrap()) {
            stream.write_all(answer.as_bytes()).await.unwrap();
            return text;
        }
    }
}

fn post(port: u16, password: Option<Secret>) -> WakeUpRequest {
    let path = "/session/ses_1/prompt_async".to_owned();
    WakeUpRequest::Http { method: HttpMethod::Post, port, path, body: Some("{\"a\":1}".to_owned()), password }
}

/// A port that is taken but has no listener.
fn bound() -> (TcpSocket, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

#[tokio::test]
async fn a_request_goes_to_loopback_with_its_password() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let wake_ups = ProductionWakeUps::new(BTreeMap::new());
    let (request, answer) = tokio::join!(
        answer_once(listener, "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"),
        wake_ups.wake(post(port, Some(Secret::new("hush"))))
    );
    assert_eq!(answer.unwrap().body, Vec::<u8>::new());
    assert!(request.starts_with("POST /session/ses_1/prompt_async HTTP/1.1\r\n"), "{request}");
    let head = request.to_lowercase();
    assert!(head.contains("\r\ncontent-type: application/json\r\n"), "{request}");
    assert!(request.contains("Basic b3BlbmNvZGU6aHVzaA=="), "{request}");
    assert!(request.ends_with("\r\n\r\n{\"a\":1}"), "{request}");
}

#[tokio::test]
async fn the_answer_of_a_port_is_reported() {
    for (answer, wanted) in [
        ("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", "401"),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
            "302",
        ),
        ("noise", "no whole answer"),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let wake_ups = ProductionWakeUps::new(BTreeMap::new());
        let (_, error) = tokio::join!(answer_once(listener, answer), wake_ups.wake(post(port, None)));
        let error = error.unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
        assert_eq!(error.is_certain(), answer != "noise", "{error}");
    }
    let (_bound, port) = bound();
    let error = ProductionWakeUps::new(BTreeMap::new()).wake(post(port, None)).await.unwrap_err();
    assert!(matches!(error, WakeUpError::Unreachable { .. }) && error.is_certain(), "{error}");
}

async fn append(path: &Path, line: &str) -> Result<(), WakeUpError> {
    let request = WakeUpRequest::Append { path: path.display().to_string(), line: line.to_owned() };
    ProductionWakeUps::new(BTreeMap::new()).wake(request).await.map(|_| ())
}

#[tokio::test]
async fn a_line_is_added_to_an_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input.jsonl");
    assert!(append(&file, "{}").await.is_err() && !file.exists());
    write(&file, "");
    append(&file, "{\"a\":1}").await.unwrap();
    write(&file, &(read(&file) + "{\"torn"));
    append(&file, "{\"b\":2}").await.unwrap();
    assert_eq!(read(&file), "{\"a\":1}\n{\"torn\n{\"b\":2}\n");
    assert_eq!(look_at_file(&file.display().to_string()), Ok(()));
}

#[tokio::test]
async fn anything_but_an_own_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input.jsonl");
    write(&file, "");
    let link = folder.path().join("link");
    symlink(&file, &link).unwrap();
    let device = PathBuf::from("/dev/null");
    for (path, why) in [
        (&link, "symlink"),
        (&folder.path().to_owned(), "neither a file nor a pipe"),
        (&device, "neither a file nor a pipe"),
        (&PathBuf::from("input.jsonl"), "absolute"),
    ] {
        let error = append(path, "{}").await.unwrap_err();
        assert!(error.to_string().contains(why) && error.is_certain(), "{error}");
        assert_eq!(look_at_file(&path.display().to_string()), Err(error));
    }
    assert_eq!(read(&file), "");
}

#[tokio::test]
async fn a_pipe_is_written_to_while_a_program_reads() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let error = append(&pipe, "{}").await.unwrap_err();
    assert!(error.to_string().contains("no program reads") && error.is_certain(), "{error}");
    let mut reader = tokio::net::unix::pipe::OpenOptions::new().open_receiver(&pipe).unwrap();
    // More than a pipe holds at once.
    let line = "x".repeat(200_000);
    let read = async {
        let mut bytes = vec![0; line.len() + 1];
        reader.read_exact(&mut bytes).await.unwrap();
        bytes
    };
    let (bytes, written) = tokio::join!(read, append(&pipe, &line));
    written.unwrap();
    assert!(bytes.ends_with(b"x\n") && bytes[..line.len()].iter().all(|b| *b == b'x'));
    let torn = append(&pipe, &line).await.unwrap_err();
    assert!(!torn.is_certain(), "{torn}");
}

/// Longer than any step here should take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shipped program with only these environment variables.
fn entraclaw(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("entraclaw"));
    command.args(arguments).arg("--home").arg(folder.join("home")).env_clear();
    command.env("HOME", folder).env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    command.envs(variables.iter().copied()).kill_on_drop(true);
    command
}

/// Adds a message from Alice that no session has read.
fn leave_a_message(folder: &Path) {
    let storage = Arc::new(DiskStorage::open(&folder.join("home")).unwrap());
    let (journal, _) = Journal::open(storage, Arc::new(SystemClock), JournalOptions::default()).unwrap();
    let draft = Draft {
        key: "teams/chat-1/m1".to_owned(),
        id: "m1".to_owned(),
        channel: Channel::Teams,
        chat_id: "chat-1".to_owned(),
        from: "Alice".to_owned(),
        ts: "2026-01-01T00:00:00Z".to_owned(),
        content_text_sanitized: "Are you there?".to_owned(),
        meta: BTreeMap::new(),
        edit_of: None,
        deleted: false,
    };
    journal.append(vec![draft]).unwrap();
}

#[tokio::test]
async fn the_shipped_program_wakes_with_the_thread_of_the_last_call() {
    let (folder, _) =
        with_program("printf '%s\\n' \"$@\" > \"$HOME/new\"; mv \"$HOME/new\" \"$HOME/arguments\"");
    leave_a_message(folder.path());
    let settings = [("ENTRACLAW_WAKE_CODEX_QUEUE", "true"), ("ENTRACLAW_WAKE_WHOLE_TEXT", "allowed")];
    let mut command = entraclaw(folder.path(), &["serve"], &settings);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let call = |id: u64, tool: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": tool, "arguments": {}, "_meta": {"threadId": "0199b1c2-aaaa", "progressToken": id}
        }})
    };
    let client = json!({"name": "codex-mcp-client", "version": "0.169.0"});
    let opening = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client
    }});
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [opening, begun, call(1, "inbound_queue_stats")] {
        stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    let arguments = folder.path().join("arguments");
    let woken = async {
        while !arguments.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, woken).await.expect("no wake-up came");
    let said = read(&arguments);
    let first = "queue\n--thread\n0199b1c2-aaaa\n--message\n[Entraclaw] message from outside: \"Alice\" wrote in Teams";
    assert!(said.starts_with(first) && said.contains("\n> Are you there?\n"), "{said}");

    stdin.write_all(format!("{}\n", call(2, "inbox_pull")).as_bytes()).await.unwrap();
    let pulled = async {
        loop {
            let line = lines.next_line().await.unwrap().expect("the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == 2 {
                break message["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            }
        }
    };
    let pulled = timeout(PATIENCE, pulled).await.expect("no answer");
    assert!(pulled.contains("\"id\":\"m1\"") && pulled.contains("\"pushed\":true"), "{pulled}");
}

#[tokio::test]
async fn the_doctor_checks_wake_ups_and_uses_none() {
    let (folder, _) = with_program("[ \"$*\" = \"queue --help\" ] || exit 1");
    let (_bound, port) = bound();
    let port = port.to_string();
    let input = folder.path().join("qwen.jsonl");
    write(&input, "");
    let variables = [
        ("ENTRACLAW_WAKE_CODEX_QUEUE", "true"),
        ("ENTRACLAW_WAKE_OPENCODE_PORT", port.as_str()),
        ("ENTRACLAW_WAKE_QWEN_INPUT_FILE", input.to_str().unwrap()),
    ];
    let output = entraclaw(folder.path(), &["doctor", "--json"], &variables).output().await.unwrap();
    let diagnosis: Value = serde_json::from_slice(&output.stdout).unwrap();
    let wake_ups = diagnosis["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "wake_ups");
    let found: Vec<_> =
        wake_ups.map(|check| (check["level"].as_str().unwrap(), check["found"].as_str().unwrap())).collect();
    assert_eq!(
        (found[0], found[2]),
        (("ok", "codex queue: it is there"), ("ok", "qwen input file: it is there"))
    );
    assert!(
        found[1].0 == "warn" && found[1].1.contains(&format!("nobody is at 127.0.0.1:{port}")),
        "{found:?}"
    );
    assert_eq!(read(&input), "");
}
