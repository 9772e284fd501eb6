//! Sessions that a later process goes on with.

use crate::stage::{Stage, lines, texts};

const ID: &str = "11111111-1111-4111-8111-111111111111";

#[test]
fn a_new_process_goes_on_with_a_session() {
    let stage = Stage::copilot("");
    assert_eq!(stage.run(&["-p", "one", "--session-id", ID]).status.code(), Some(0));
    for again in [["--resume", ID], ["--resume", "1111111"], ["--resume", "ONE"], ["--session-id", ID]] {
        let output = stage.run(&[&["-p", "two", "--output-format=json"], again.as_slice()].concat());
        assert_eq!(lines(&output).pop().unwrap()["sessionId"], ID, "{again:?}");
    }
    let events = stage.read(&format!("copilot.sessions/session-state/{ID}/events.jsonl"));
    assert_eq!(events.matches("\"session.resume\"").count(), 4);
    let output = stage.run(&["-p", "three", "--output-format=json", "--continue"]);
    assert_eq!(lines(&output).pop().unwrap()["sessionId"], ID);
}

#[test]
fn an_unknown_session_is_refused() {
    let stage = Stage::copilot("");
    let (code, stdout, stderr) = texts(&stage.run(&["-p", "hi", &format!("--resume={ID}")]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert!(stderr.starts_with(&format!("Error: No session, task, or name matched '{ID}'.\n")), "{stderr}");
}

#[test]
fn the_store_moves_only_within_the_folder() {
    let stage = Stage::copilot("");
    let (inside, outside) = (stage.path("home"), tempfile::tempdir().unwrap());
    for (home, moved) in [(inside.as_path(), true), (outside.path(), false)] {
        let output = stage.command(&["-p", "hi", "-s"]).env("COPILOT_HOME", home).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(home.join("session-state").exists(), moved);
        assert_eq!(stage.path("copilot.sessions").exists(), !moved);
    }
}
