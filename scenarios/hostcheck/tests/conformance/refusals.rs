//! A refusal counts for what it refuses: not for a value that hostcheck made up, nor for the letters of a cursor.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::{Instant, sleep_until};

use hostcheck::conformance::{Outcome, Target};

use crate::scripted::{AT_ONCE, Does, judge, said, target, tools, usual};

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

/// A server that was tried, on rmcp: it takes nothing but `initialize` as its first message.
#[test]
fn a_server_that_ends_on_the_probe_has_one_cause() {
    let server =
        || {
            target(&tools(&["a"]), |_, message| {
                if message["method"] == "server/discover" { Does::Ends } else { Does::Usual }
            })
        };
    for row in ["openings.discover-legacy", "stdio.fall-back", "openings.discover-given-up"] {
        let outcome = &judge(server(), row, true).protocol[0].outcome;
        let Outcome::Failed(evidence) = outcome else { panic!("{row}: {outcome:?}") };
        assert_eq!(
            evidence[0].message, "the server ends on `server/discover`, which hosts ask first",
            "{row}"
        );
    }
}

/// What ends it is no probe alone.
#[test]
fn a_server_that_ends_after_the_probe_was_given_up_has_a_cause_of_its_own() {
    let probed = RefCell::new(BTreeSet::new());
    let server = target(&tools(&["a"]), move |start, message| match message["method"].as_str() {
        Some("server/discover") => {
            probed.borrow_mut().insert(start);
            Does::Nothing
        }
        Some("initialize") if probed.borrow().contains(&start) => Does::Ends,
        _ => Does::Usual,
    });
    let found = judge(server, "openings.discover-given-up", true);
    let Outcome::Failed(evidence) = &found.protocol[0].outcome else { panic!("{:?}", found.protocol) };
    assert!(evidence[0].message.contains("after a `server/discover` that was cancelled"), "{evidence:?}");
}

/// A server on the SDK of Go that was tried: each message has a task of its own. Where the cancellation came first there was
/// no answer and `initialize` had a result, and it was refused where the probe was quicker.
#[test]
fn a_probe_that_is_given_up_has_had_the_time_to_be_answered() {
    const AFTER: Duration = Duration::from_millis(100);
    let target = Target::Inside(Rc::new(|input, mut output| {
        Box::pin(async move {
            let mut lines = BufReader::new(input).lines();
            let mut probe: Option<(Value, Instant)> = None;
            let mut has_answered = false;
            loop {
                let (id, mut answer) = tokio::select! {
                    line = lines.next_line() => {
                        let Ok(Some(line)) = line else { return 0 };
                        let message: Value = serde_json::from_str(&line).expect("JSON");
                        let id = message["id"].clone();
                        match message["method"].as_str() {
                            Some("server/discover") => {
                                probe = Some((id, Instant::now() + AFTER));
                                continue;
                            }
                            Some("initialize") if has_answered => (id, json!({"error": {"code": 0, "message": "twice"}})),
                            Some("notifications/cancelled") => {
                                probe = None;
                                continue;
                            }
                            _ if id.is_null() => continue,
                            _ => (id, usual(&tools(&["a"]), &message)),
                        }
                    }
                    id = async {
                        let Some((id, at)) = &probe else { return std::future::pending().await };
                        sleep_until(*at).await;
                        id.clone()
                    } => {
                        (probe, has_answered) = (None, true);
                        (id, json!({"error": {"code": -32601, "message": "no such method"}}))
                    }
                };
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = id;
                output.write_all(format!("{answer}\n").as_bytes()).await.expect("a reader");
            }
        })
    }));
    let found = judge(target, "openings.discover-given-up", true);
    let Outcome::Failed(evidence) = &found.protocol[0].outcome else { panic!("{:?}", found.protocol) };
    assert!(evidence[0].message.contains("after a `server/discover` that was cancelled"), "{evidence:?}");
}
