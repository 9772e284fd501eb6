//! Much output, and output that is broken.

use crate::stage::{Stage, lines, texts};

const MEGABYTES_10: usize = 10_000_000;

#[test]
fn ten_megabytes_come_whole() {
    let stage = Stage::copilot("answers: [{ stdout_bytes: 10000000 }]");
    let output = stage.run(&["-p", "hi", "-s"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), MEGABYTES_10 + 2));
    let output = stage.run(&["-p", "hi", "--output-format=json"]);
    let said = lines(&output).into_iter().find(|line| line["type"] == "assistant.message").unwrap();
    assert_eq!(said["data"]["content"].as_str().unwrap().len(), MEGABYTES_10);
}

#[test]
fn noise_comes_on_stderr() {
    let stage = Stage::copilot("answers: [{ stderr_bytes: 10000000, stderr: note }]");
    let output = stage.run(&["-p", "hi", "-s"]);
    assert_eq!(
        (output.stdout.as_slice(), output.stderr.len()),
        (b"The answer.\n\n".as_slice(), MEGABYTES_10 + 5)
    );
}

#[test]
fn half_a_character_ends_the_output() {
    let stage = Stage::copilot("answers: [{ half_a_character: true }]");
    assert_eq!(stage.run(&["-p", "hi", "-s"]).stdout, b"The answer.\n\n\xe2\x82");
}

#[test]
fn one_line_is_no_json() {
    let stage = Stage::copilot("answers: [{ invalid_json_line: true }]");
    let text = texts(&stage.run(&["-p", "hi", "--output-format", "json"])).1;
    let broken = text.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_err());
    assert_eq!(broken.collect::<Vec<_>>(), ["{\"type\":\"assistant.mess"]);
    assert!(text.lines().last().unwrap().starts_with("{\"type\":\"result\""));
}

#[test]
fn colours_come_in_spite_of_the_flag() {
    let stage = Stage::copilot("answers: [{ ansi: true }]");
    let text = texts(&stage.run(&["-p", "hi", "-s", "--no-color"])).1;
    assert_eq!(text, "\u{1b}[1;32mThe answer.\u{1b}[0m\n\n");
}

#[test]
fn silence_has_the_exit_code_of_the_script() {
    let stage =
        Stage::copilot("answers: [{ when: { contains: bad }, silent: true, exit: 1 }, { silent: true }]");
    assert_eq!(texts(&stage.run(&["-p", "bad"])), (Some(1), String::new(), String::new()));
    assert_eq!(texts(&stage.run(&["-p", "hi"])), (Some(0), String::new(), String::new()));
}
