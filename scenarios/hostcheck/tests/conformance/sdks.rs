//! Whose fault a failure is: the server's, or that of the SDK on which it stands.

use std::collections::BTreeSet;
use std::time::Duration;

use hostcheck::conformance::{self, Target};
use serde_json::{Value, json};

use crate::scripted::{Does, EVERY_ROW, judge, judge_named, target, tools};

const ROW: &str = "messages.invalid-cursor";

/// A server that does not look at a cursor, and answers a method that there is not with this error.
fn server(unknown_method: Value) -> Target {
    target(&tools(&["a"]), move |_, message| match message["method"].as_str() {
        Some("initialize" | "ping" | "tools/list" | "tools/call") => Does::Usual,
        _ => Does::Says(Duration::ZERO, json!({"error": unknown_method})),
    })
}

#[test]
fn a_row_that_is_asked_alone_has_the_sdk_that_a_run_of_all_rows_has() {
    let of_sdk = || server(json!({"code": -32602, "message": "Invalid request parameters", "data": ""}));
    let of_none = || server(json!({"code": -32601, "message": "no such method"}));
    let rows = conformance::rows().expect("the rows");
    let blamed = |findings: &conformance::Findings| -> BTreeSet<&'static str> {
        let causes = conformance::causes(findings, &rows);
        let cause = causes.into_iter().find(|cause| cause.rows.contains(ROW));
        cause.expect("the cursor fails").sdks
    };
    let alone = judge_named(of_sdk(), ROW);
    assert!(alone.protocol.iter().all(|judged| judged.row == ROW), "{:?}", alone.protocol);
    assert_eq!(blamed(&alone), BTreeSet::from(["FastMCP 2.13.3", "FastMCP 3.4.11", "Python SDK 1.30.0"]));
    assert_eq!(blamed(&alone), blamed(&judge(of_sdk(), EVERY_ROW, false)));
    assert!(blamed(&judge_named(of_none(), ROW)).is_empty());
}
