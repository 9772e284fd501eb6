//! What each program's report says, by lines of its own form.

use rstest::rstest;
use serde_json::json;

use super::{Reader, Said, Usage};
use crate::agent::Dialect;

fn heard(dialect: Dialect, output: &str, piece_bytes: usize) -> Vec<Said> {
    let mut reader = Reader::new(dialect);
    let mut all = Vec::new();
    for piece in output.as_bytes().chunks(piece_bytes) {
        reader.take(piece, &mut |said| all.push(said));
    }
    reader.finish(&mut |said| all.push(said));
    all
}

fn text(said: &[Said]) -> String {
    let mut text = String::new();
    for one in said {
        match one {
            Said::Begins => text.clear(),
            Said::Text(piece) => text.push_str(piece),
            _ => {}
        }
    }
    text
}

const COPILOT: &str = r#"{"type":"assistant.message_start","data":{"messageId":"m1"}}
{"type":"assistant.message_delta","data":{"deltaContent":"I look"}}
{"type":"assistant.message","data":{"content":"I look","model":"gpt-5","toolRequests":[{}]}}
{"type":"tool.execution_start","data":{"toolName":"bash","arguments":{}}}
{"type":"assistant.message_start","data":{"messageId":"m2"}}
{"type":"assistant.message_delta","data":{"deltaContent":"forty"}}
{"type":"assistant.message_delta","data":{"deltaContent":"-two"}}
{"type":"assistant.message","data":{"content":"forty-two","model":"gpt-5","toolRequests":[]}}
{"type":"result","sessionId":"s1","exitCode":0,"usage":{"premiumRequests":1,"codeChanges":{"filesModified":["a.rs"]}}}
"#;

const CLAUDE: &str = r#"{"type":"system","subtype":"init","session_id":"s1","model":"m"}
{"type":"assistant","message":{"content":[{"type":"text","text":"I look"},{"type":"tool_use","name":"Bash"}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"content":[{"type":"text","text":"not for you"}]},"parent_tool_use_id":"t1"}
{"type":"result","subtype":"success","is_error":false,"result":"forty-two","session_id":"s1","usage":{"input_tokens":1,"cache_read_input_tokens":10,"output_tokens":7}}
"#;

const CODEX: &str = r#"{"type":"thread.started","thread_id":"s1"}
{"type":"item.started","item":{"type":"command_execution","command":"ls"}}
{"type":"item.completed","item":{"type":"agent_message","text":"forty-two"}}
{"type":"turn.completed","usage":{"input_tokens":11,"cached_input_tokens":10,"output_tokens":7}}
"#;

const GEMINI: &str = r#"{"type":"init","session_id":"s1","model":"m"}
{"type":"message","role":"user","content":"why?"}
{"type":"message","role":"assistant","content":"I look","delta":true}
{"type":"tool_use","tool_name":"run_shell_command"}
{"type":"message","role":"assistant","content":"forty","delta":true}
{"type":"message","role":"assistant","content":"-two","delta":true}
{"type":"result","status":"success","stats":{"input_tokens":11,"cached":10,"input":1,"output_tokens":7}}
"#;

const OPENCODE: &str = r#"{"type":"step_start","sessionID":"s1","part":{}}
{"type":"tool_use","sessionID":"s1","part":{"tool":"bash"}}
{"type":"step_finish","sessionID":"s1","part":{"tokens":{"input":1,"output":2,"reasoning":1,"cache":{"read":4,"write":0}}}}
{"type":"text","sessionID":"s1","part":{"text":"forty-two"}}
{"type":"step_finish","sessionID":"s1","part":{"tokens":{"input":6,"output":4,"reasoning":0,"cache":{"read":0,"write":0}}}}
"#;

#[rstest]
#[case(Dialect::Copilot, COPILOT)]
#[case(Dialect::Claude, CLAUDE)]
#[case(Dialect::Codex, CODEX)]
#[case(Dialect::Gemini, GEMINI)]
#[case(Dialect::Opencode, OPENCODE)]
fn the_last_message_the_session_and_a_step_are_heard(
    #[case] dialect: Dialect,
    #[case] output: &str,
    #[values(1, 7, 100_000)] piece_bytes: usize,
) {
    let said = heard(dialect, output, piece_bytes);
    assert_eq!(text(&said), "forty-two");
    assert!(said.contains(&Said::Session("s1".to_owned())), "{said:?}");
    assert!(said.iter().any(|one| matches!(one, Said::Step(step) if step.starts_with("uses "))), "{said:?}");
}

#[rstest]
#[case(Dialect::Copilot, COPILOT, "1 premium request")]
#[case(Dialect::Claude, CLAUDE, "11 tokens in and 7 tokens out")]
#[case(Dialect::Codex, CODEX, "11 tokens in and 7 tokens out")]
#[case(Dialect::Gemini, GEMINI, "11 tokens in and 7 tokens out")]
#[case(Dialect::Opencode, OPENCODE, "11 tokens in and 7 tokens out")]
fn what_was_used_is_heard_in_one_form(#[case] dialect: Dialect, #[case] output: &str, #[case] used: &str) {
    let mut total = Usage::default();
    for said in heard(dialect, output, 100_000) {
        if let Said::Usage(usage) = said {
            total.add(usage);
        }
    }
    assert_eq!(total.to_string(), used);
}

#[test]
fn text_is_passed_on_as_it_is() {
    let said = heard(Dialect::Text, "one\ntwo\n\n{\"type\":\"result\"}", 3);
    assert_eq!(text(&said), "one\ntwo\n\n{\"type\":\"result\"}");
}

#[rstest]
#[case(
    Dialect::Copilot,
    json!({"type": "session.error", "data": {"message": "402 You have no quota", "statusCode": 402}}),
    "402 You have no quota",
    Some(402)
)]
#[case(
    Dialect::Claude,
    json!({"type": "result", "is_error": true, "result": "Invalid API key"}),
    "Invalid API key",
    None
)]
#[case(Dialect::Codex, json!({"type": "turn.failed", "error": {"message": "no"}}), "no", None)]
#[case(Dialect::Gemini, json!({"type": "result", "status": "error", "error": {"message": "no"}}), "no", None)]
#[case(
    Dialect::Opencode,
    json!({"type": "error", "error": {"name": "APIError", "data": {"message": "no", "statusCode": 401}}}),
    "no",
    Some(401)
)]
fn an_error_is_heard_with_its_status(
    #[case] dialect: Dialect,
    #[case] event: serde_json::Value,
    #[case] message: &str,
    #[case] status: Option<u64>,
) {
    let said = heard(dialect, &event.to_string(), 1_000);
    assert_eq!(said, [Said::Error(message.to_owned(), status)]);
}

#[test]
fn a_line_that_is_no_json_or_too_long_is_counted_and_the_next_is_read() {
    let long = format!("{{\"type\":\"{}\"}}", "x".repeat(2_000_000));
    let output = format!("no json\n{COPILOT}{long}\n\n{COPILOT}");
    let mut reader = Reader::new(Dialect::Copilot);
    let mut all = Vec::new();
    reader.take(output.as_bytes(), &mut |said| all.push(said));
    reader.finish(&mut |said| all.push(said));
    assert_eq!((text(&all).as_str(), reader.left_out()), ("forty-two", 1));
    reader.take(b"no json\n", &mut |said| all.push(said));
    assert_eq!((text(&all).as_str(), reader.left_out()), ("forty-two", 2));
}

#[rstest]
#[case("the answer is\n42\n")]
#[case("42")]
#[case("[1]\n{\"a\": 1}\n")]
#[case(&"x".repeat(3_000_000))]
fn a_program_that_reports_nothing_has_said_its_answer(#[case] output: &str) {
    assert_eq!(text(&heard(Dialect::Copilot, output, 3)), output);
}
