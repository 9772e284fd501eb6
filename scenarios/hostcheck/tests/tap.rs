//! The tap between real processes: it passes every byte on unchanged, and its log is correct. No test
//! measures time, and no pipe is closed before the awaited output has arrived.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use hostcheck::tap::read::{Recorded, Seen};
use hostcheck::tap::{Dir, read};

/// A tap before a command, and its log.
struct Tap {
    child: Child,
    folder: tempfile::TempDir,
}

impl Tap {
    fn start(options: &[&str], command: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(assert_cmd::cargo::cargo_bin!("hostcheck"))
            .args(["record", "--log"])
            .arg(folder.path().join("wire.jsonl"))
            .args(options)
            .arg("--")
            .args(command)
            .env("TAP_TEST_KEY", "open-sesame")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("wire.jsonl")
    }

    fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// All of stdout and stderr, and the exit code.
    fn finish(mut self) -> (Vec<u8>, Vec<u8>, Option<i32>, Vec<Recorded>) {
        let mut errors = self.child.stderr.take().unwrap();
        let reader = in_background(move || {
            let mut bytes = Vec::new();
            errors.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let mut out = Vec::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_end(&mut out).unwrap();
        }
        let code = self.child.wait().unwrap().code();
        (out, reader.join().unwrap(), code, read::file(&self.log()).unwrap())
    }
}

#[expect(clippy::disallowed_methods, reason = "the test is a host that reads and writes at once")]
fn in_background<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> std::thread::JoinHandle<T> {
    std::thread::spawn(work)
}

/// The lines of one direction in the log.
fn lines(log: &[Recorded], dir: Dir) -> Vec<String> {
    let of_dir = log.iter().filter_map(|entry| match &entry.seen {
        Seen::Line(line) if line.dir == dir => Some(String::from_utf8_lossy(&line.bytes).into_owned()),
        _ => None,
    });
    of_dir.collect()
}

/// Bytes of every kind: any value, long lines, empty ones, CRLF, no newline at the end.
fn noise() -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::new();
    for round in 0..40_u32 {
        let length = [0, 1, 100, 5_000, 70_000][usize::try_from(round % 5).unwrap()];
        for _ in 0..length {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.push(state.to_le_bytes()[3]);
        }
        bytes.extend_from_slice(if round % 2 == 0 { b"\r\n" } else { b"\n" });
    }
    bytes.extend_from_slice(b"{\"half\":");
    bytes
}

#[test]
fn no_byte_is_changed_in_either_direction() {
    let bytes = noise();
    let mut tap = Tap::start(&[], &["sh", "-c", "tee /dev/stderr"]);
    let mut stdin = tap.stdin();
    let sent = bytes.clone();
    // The host reads while it writes; the end of its input ends the server.
    let writer = in_background(move || stdin.write_all(&sent).unwrap());
    let (out, errors, code, log) = tap.finish();
    writer.join().unwrap();
    assert!(out == bytes && errors == bytes, "{} and {} of {} bytes", out.len(), errors.len(), bytes.len());
    assert_eq!(code, Some(0));
    let Some(Seen::End(end)) = log.last().map(|entry| &entry.seen) else { panic!("the log has no end") };
    let sent = bytes.split(|byte| *byte == b'\n').count();
    assert_eq!(end.lines + end.lost_lines, 3 * u64::try_from(sent).unwrap(), "{end:?}");
}

#[test]
fn every_half_line_is_passed_on_at_once() {
    let mut tap = Tap::start(&[], &["cat"]);
    let mut stdin = tap.stdin();
    let mut stdout = tap.child.stdout.take().unwrap();
    let mut answer = [0_u8; 4];
    for piece in [b"{\"a\"", b":1}\n", b"\xff\xfe\x00\r"] {
        stdin.write_all(piece).unwrap();
        stdout.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, piece);
    }
    drop(stdin);
    assert_eq!(tap.finish().2, Some(0));
}

#[test]
fn exit_codes_and_signals_are_those_of_the_server() {
    for (script, code) in [("exit 7", Some(7)), ("kill -TERM $$", Some(143)), ("kill -KILL $$", None)] {
        assert_eq!(Tap::start(&[], &["sh", "-c", script]).finish().2, code, "{script}");
    }
    let (_, errors, code, _) = Tap::start(&[], &["/no/such/server"]).finish();
    assert_eq!(code, Some(127));
    assert!(String::from_utf8_lossy(&errors).contains("/no/such/server"));
}

#[test]
fn a_signal_to_the_tap_reaches_the_server() {
    let script = "trap 'echo asked; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let mut tap = Tap::start(&[], &["sh", "-c", script]);
    let mut stdout = BufReader::new(tap.child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    signal(&tap.child, nix::sys::signal::Signal::SIGTERM);
    line.clear();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "asked\n");
    let (_, _, code, log) = tap.finish();
    assert_eq!(code, Some(5));
    assert!(
        log.iter().any(|entry| matches!(&entry.seen, Seen::Event(_, words) if words == "SIGTERM")),
        "{log:?}"
    );
}

fn signal(child: &Child, signal: nix::sys::signal::Signal) {
    let id = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(id, signal).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_dies_with_a_tap_that_is_killed() {
    // The server holds a fifo open, whose end shows that the server has exited.
    let folder = tempfile::tempdir().unwrap();
    let held = folder.path().join("held");
    nix::unistd::mkfifo(&held, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let script = format!("exec 3>'{}'; echo ready >&3; trap '' TERM INT HUP; exec sleep 600", held.display());
    let mut tap = Tap::start(&[], &["sh", "-c", &script]);
    let mut fifo = BufReader::new(std::fs::File::open(&held).unwrap());
    let mut line = String::new();
    fifo.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    tap.child.kill().unwrap();
    assert_eq!(fifo.read_line(&mut line).unwrap(), 0, "the server has ended");
    tap.child.wait().unwrap();
}

#[test]
fn secrets_pass_and_are_masked_in_the_log_alone() {
    let said = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"api_key":"sk-live-abcdefgh","#,
        r#""note":"open-sesame","url":"https://contoso.com/?access_token=hunter2"},"_meta":{"progressToken":"p-1"}}}"#,
        "\n"
    );
    let mut tap = Tap::start(&["--mask-env", "TAP_TEST_KEY"], &["cat"]);
    let mut stdin = tap.stdin();
    stdin.write_all(said.as_bytes()).unwrap();
    let mut passed = vec![0_u8; said.len()];
    tap.child.stdout.as_mut().unwrap().read_exact(&mut passed).unwrap();
    assert_eq!(passed, said.as_bytes());
    drop(stdin);
    tap.child.wait().unwrap();
    let kept = text(&tap.log());
    for secret in ["sk-live", "open-sesame", "hunter2"] {
        assert!(!kept.contains(secret), "{kept}");
    }
    assert!(kept.contains("p-1") && kept.contains(r#""masked":3"#), "{kept}");
}

#[expect(clippy::disallowed_methods, reason = "the test reads the log as text")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_line_of_a_log_fits_its_schema() {
    let mut tap = Tap::start(&["--mask-env", "TAP_TEST_KEY"], &["sh", "-c", "cat; exit 3"]);
    let mut stdin = tap.stdin();
    stdin.write_all(b"{\"token\":\"x\"}\n\xff\nhalf").unwrap();
    let mut passed = [0_u8; 20];
    tap.child.stdout.as_mut().unwrap().read_exact(&mut passed).unwrap();
    drop(stdin);
    tap.child.wait().unwrap();
    let log = text(&tap.log());
    assert!(log.lines().count() >= 9, "{log}");
    for line in log.lines() {
        let entry = serde_json::from_str(line).unwrap();
        assert_eq!(schemas::own::check("wire-log", &entry), Ok(vec![]), "{line}");
    }
    let entries = read::file(&tap.log()).unwrap();
    assert_eq!(lines(&entries, Dir::HostToServer), [r#"{"token":"***"}"#, "\u{fffd}", "half"]);
}

/// Runs hostcheck to its end: exit code, stdout, stderr.
fn hostcheck(arguments: &[&str], home: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("hostcheck"))
        .args(arguments)
        .env("ENTRACLAW_HOME", home.join("home"))
        .env("ENTRACLAW_AUTH", "static")
        .env("ENTRACLAW_ACCESS_TOKEN", "tap-token")
        .env("ENTRACLAW_GRAPH_URL", "http://127.0.0.1:9")
        .current_dir(home)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_host_over_real_pipes_is_probed_and_drafted() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let own = assert_cmd::cargo::cargo_bin!("hostcheck");
    let own = own.to_str().unwrap();
    let mut script = std::fs::File::create(home.join("agent.yaml")).unwrap();
    let steps = b"- call: {tool: begin}\n- call: {tool: ask, arguments: {what: ping}}\n- call: {tool: ask, arguments: {what: unknown}}\n- wait_ms: 2000\n- exit\n";
    script.write_all(steps).unwrap();
    let probed = [
        "host",
        "copilot-cli@1.0.102",
        "--script",
        "agent.yaml",
        "--log",
        "seen.jsonl",
        "--",
        own,
        "probe",
        "--log",
        "probe.jsonl",
        "--mode",
        "print",
    ];
    let (code, _, errors) = hostcheck(&probed, home);
    assert_eq!(code, Some(0), "{errors}");
    for line in text(&home.join("probe.jsonl")).lines() {
        // The host kills the probe, so the last line may be cut.
        let Ok(entry) = serde_json::from_str(line) else { continue };
        assert_eq!(schemas::own::check("wire-log", &entry), Ok(vec![]), "{line}");
    }
    let (code, told, errors) = hostcheck(&["probe", "--report", "probe.jsonl", "--out", "draft.yaml"], home);
    assert_eq!(code, Some(0), "{errors}");
    assert!(told.contains("3. What does clientInfo.name arrive as?\n   answered: \"copilot-cli\""), "{told}");
    assert_eq!(told.matches("unanswered").count(), 5, "{told}");
    let draft = text(&home.join("draft.yaml"));
    let profile = fake_hosts::load("draft.yaml", &draft).unwrap_or_else(|error| panic!("{error}\n{draft}"));
    assert_eq!(profile.id, "copilot-cli@1.0.102");
    assert_eq!(profile.wire.call_params_order.value, ["_meta", "arguments", "name"]);
    let (code, facts, _) = hostcheck(&["probe", "--report", "probe.jsonl", "--json"], home);
    assert!(
        code == Some(0)
            && facts.contains(r#""fact":"requests.unknown_message","mode":null,"value":"method""#),
        "{facts}"
    );
}
