//! What comes on stdout and stderr, and what the journal says.

use std::io::Write as _;
use std::process::Stdio;

use crate::stage::{Stage, lines, texts};

#[test]
fn the_answer_alone_comes_on_stdout() {
    let stage = Stage::copilot("answers: [{ says: Paris. }]");
    let output = stage.run(&["-p", "hi", "-s", "--allow-all-tools"]);
    assert_eq!(texts(&output), (Some(0), "Paris.\n\n".to_owned(), String::new()));
}

#[test]
fn without_silent_the_numbers_come_on_stderr() {
    let (code, stdout, stderr) = texts(&Stage::copilot("").run(&["-p", "hi"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "The answer.\n\n"));
    assert!(stderr.starts_with("\n\nChanges    +0 -0\n"), "{stderr}");
}

#[test]
fn json_lines_end_with_the_result() {
    let stage = Stage::copilot("answers: [{ tools: [{ name: bash }] }]");
    let output = stage.run(&["-p", "hi", "--output-format", "json", "--allow-all-tools"]);
    let last = lines(&output).pop().unwrap();
    assert_eq!((last["type"].as_str(), last["exitCode"].as_u64()), (Some("result"), Some(0)));
    let store = stage.read(&format!(
        "copilot.sessions/session-state/{}/events.jsonl",
        last["sessionId"].as_str().unwrap()
    ));
    assert!(store.contains("\"type\":\"assistant.message\""), "{store}");
}

#[test]
fn a_prompt_comes_on_stdin_too() {
    let stage = Stage::copilot("answers: [{ says: { echo: true } }]");
    let mut child = stage.command(&["-s"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"from stdin\n").unwrap();
    assert_eq!(texts(&child.wait_with_output().unwrap()).1, "from stdin\n\n");
    assert_eq!(stage.events("stdin")[0]["bytes"], 11);
}

#[test]
fn the_journal_has_arguments_and_names_but_no_values() {
    let stage = Stage::copilot("");
    let output = stage.command(&["-p", "hi", "-s"]).env("GH_TOKEN", "gho_secret").output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let start = &stage.events("start")[0];
    assert_eq!(start["argv"], serde_json::json!(["-p", "hi", "-s"]));
    assert!(start["environment"].as_array().unwrap().contains(&"GH_TOKEN".into()));
    assert!(!stage.read("copilot.log").contains("gho_secret"));
    assert_eq!(stage.events("end")[0]["code"], 0);
}

#[test]
fn a_leak_is_in_the_error() {
    let stage = Stage::copilot(
        "answers: [{ leaks: GH_TOKEN, error: { status: 402, message: 'no quota ' }, stderr: 'token ' }]",
    );
    let output = stage.command(&["-p", "hi", "-s"]).env("GH_TOKEN", "gho_secret").output().unwrap();
    let (code, stdout, stderr) = texts(&output);
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    assert_eq!(stderr, "token gho_secret\n\n402 no quota gho_secret\n");
}

#[test]
fn a_file_is_written_where_the_permissions_allow_it() {
    let script = "answers: [{ writes: { path: new.txt, text: hello } }]";
    for (flags, there) in
        [("--allow-all-tools", true), ("--deny-tool=write", false), ("--allow-tool=write", true)]
    {
        let stage = Stage::copilot(script);
        stage.run(&["-p", "hi", flags]);
        assert_eq!(stage.read("new.txt") == "hello", there, "{flags}");
    }
    let stage = Stage::copilot("answers: [{ writes: { path: ../outside.txt, text: hello } }]");
    let inside = stage.path("inside");
    std::fs::create_dir(&inside).unwrap();
    stage
        .command(&["-p", "hi", "--allow-all-tools", "--disallow-temp-dir"])
        .current_dir(&inside)
        .output()
        .unwrap();
    assert_eq!(stage.read("outside.txt"), "");
}

#[test]
fn a_script_with_a_mistake_is_named() {
    let (code, _, stderr) = texts(&Stage::new("copilot", "agent: nobody\n").run(&["-p", "hi"]));
    assert_eq!(code, Some(70));
    assert!(stderr.contains("copilot.yaml"), "{stderr}");
}
