//! From a wire log to a scenario that is played: logs of today's tap, and older recordings.

#![cfg(unix)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use hostcheck::tap::read;

#[expect(clippy::disallowed_methods, reason = "the test reads the log as text")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Runs the program to its end: exit code, stdout, stderr.
fn program(arguments: &[&str], home: &Path) -> (Option<i32>, String, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("simulation"))
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
fn a_recorded_session_is_validated_replayed_and_played_as_a_scenario() {
    let server = simulation::command::server_binary(None).unwrap().expect("the server's binary");
    let server = server.to_str().unwrap();
    let own = assert_cmd::cargo::cargo_bin!("simulation");
    let own = own.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let mut script = std::fs::File::create(home.join("agent.yaml")).unwrap();
    script.write_all(b"- call: {tool: inbound_queue_stats}\n- call: {tool: inbox_pull}\n- exit\n").unwrap();
    // Hosts that leave their server seconds before they kill it, so that the log is whole on the slowest machine.
    for host in ["generic@tools-only", "generic@2026-07-28"] {
        let (log, made) = (format!("{host}.jsonl"), format!("{host}.yaml"));
        let tapped = [
            "host",
            host,
            "--script",
            "agent.yaml",
            "--log",
            "seen.jsonl",
            "--",
            own,
            "record",
            "--log",
            &log,
            "--",
            server,
            "serve",
        ];
        let (code, _, errors) = program(&tapped, home);
        assert_eq!(code, Some(0), "{errors}");
        let (code, verdicts, errors) = program(&["validate", &log], home);
        assert_eq!(code, Some(0), "{verdicts}{errors}");
        assert!(verdicts.lines().count() >= 8, "{verdicts}");
        let (code, _, errors) = program(&["scenario", &log, "--out", &made], home);
        assert_eq!(code, Some(0), "{errors}");
        let (code, told, errors) = program(&["run", &made, "--seeds", "1", "--out", "out"], home);
        assert_eq!(code, Some(0), "{told}{errors}\n{}", text(&home.join(&made)));
        let (code, told, errors) = program(&["replay", &log, "--", server, "serve"], home);
        assert_eq!(code, Some(0), "{told}{errors}");
        assert!(told.lines().count() >= 4 && !told.contains("differs"), "{told}");
        // The fake host's own log has the older format and says the same.
        let (code, yaml, errors) = program(&["scenario", "seen.jsonl"], home);
        assert!(code == Some(0) && yaml.contains("inbound_queue_stats"), "{errors}");
    }
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn recordings() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let shared = std::env::var_os("ENTRACLAW_SHARED").map_or_else(|| root.join("shared"), PathBuf::from);
    let folders =
        |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|one| one.path());
    let mut all: Vec<PathBuf> = folders(shared.join("traces"))
        .filter(|path| path.is_dir())
        .flat_map(folders)
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    all.sort();
    all
}

#[test]
fn older_recordings_are_read_and_become_scenarios() {
    let all = recordings();
    if all.is_empty() {
        eprintln!("recordings are absent, nothing was read; set ENTRACLAW_SHARED");
    }
    for path in all {
        let log = read::file(&path).unwrap_or_else(|error| panic!("{error:#}"));
        let options = simulation::recorded::Options {
            id: "recorded.older".to_owned(),
            source: path.display().to_string(),
            exact: false,
        };
        match simulation::recorded::write(&log, &options) {
            Ok(made) => {
                scenario::parse("made.yaml", &made.yaml).unwrap_or_else(|error| panic!("{error}"));
            }
            // Some servers died, or were silent, before they answered.
            Err(error) => assert!(error.to_string().contains("answered"), "{}: {error:#}", path.display()),
        }
    }
}
