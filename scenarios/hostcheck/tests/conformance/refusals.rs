//! A refusal counts for what it refuses: not for a value that hostcheck made up, nor for the letters of a cursor.

use rstest::rstest;
use serde_json::{Value, json};

use hostcheck::conformance::Outcome;

use crate::scripted::{AT_ONCE, Does, judge, said, target};

/// A tool that needs two times, and may say that it only reads.
fn compares(reads: bool) -> Value {
    let time = json!({"type": "string"});
    json!([{
        "name": "compare",
        "inputSchema": {"type": "object", "properties": {"a": time, "b": time}, "required": ["a", "b"]},
        "annotations": {"readOnlyHint": reads},
    }])
}

/// A time server that was tried: it reads `b`, then `a`, takes the present for a time that is missing, and refuses
/// what is no time.
fn of_call(message: &Value, needs_both: bool) -> Value {
    let arguments = &message["params"]["arguments"];
    for name in ["b", "a"] {
        match arguments[name].as_str() {
            Some(value) => return said(&format!("invalid format for {name}: {value:?}"), true),
            None if needs_both => return said(&format!("{name} is missing"), true),
            None => {}
        }
    }
    said("1", false)
}

#[rstest]
#[case(false, "Failed")]
#[case(true, "Passed")]
fn a_refusal_of_another_argument_is_none_of_the_missing_one(#[case] needs_both: bool, #[case] wanted: &str) {
    let server = target(&compares(true), move |_, message| {
        if message["method"] == "tools/call" && message["params"]["name"] == "compare" {
            return Does::Says(AT_ONCE, of_call(message, needs_both));
        }
        Does::Usual
    });
    let outcome = &judge(server, "tools.validates", true).protocol[0].outcome;
    assert!(format!("{outcome:?}").starts_with(wanted), "{outcome:?}");
    if let Outcome::Failed(evidence) = outcome {
        assert!(evidence[0].tells, "the words of the result are shown: {evidence:?}");
    }
}

#[test]
fn what_no_tool_may_be_asked_is_a_gap_that_names_the_way_out() {
    let outcome =
        &judge(target(&compares(false), |_, _| Does::Usual), "tools.validates", true).protocol[0].outcome;
    let Outcome::CouldNotRun(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("--call-all-tools"), "{reason}");
}

/// A server whose cursor is the name of a tool in base64.
#[rstest]
#[case(json!({"result": {"tools": []}}), "Failed")]
#[case(json!({"error": {"code": -32602, "message": "no such tool"}}), "Passed")]
fn a_cursor_that_can_be_decoded_is_refused_too(#[case] decoded: Value, #[case] wanted: &str) {
    let server = target(&compares(true), move |_, message| {
        let Some(cursor) = message.pointer("/params/cursor").and_then(Value::as_str) else {
            return Does::Usual;
        };
        if cursor.contains('-') {
            return Does::Says(AT_ONCE, json!({"error": {"code": -32602, "message": "illegal base64 data"}}));
        }
        Does::Says(AT_ONCE, decoded.clone())
    });
    let outcome = &judge(server, "messages.invalid-cursor", true).protocol[0].outcome;
    assert!(format!("{outcome:?}").starts_with(wanted), "{outcome:?}");
}
