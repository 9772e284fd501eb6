//! A server that fails now and then is called flaky, with the numbers and with the conversation that failed.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use hostcheck::conformance::{self, Differing, Judged, Outcome, Plan, Target, Wishes};
use rstest::rstest;
use serde_json::json;

use crate::mutants::in_paused_time;
use crate::scripted::{AT_ONCE, Does, fits, judge, target, tools};

/// Judges a server by one row in a host.
fn in_host(target: Target, host: &str, row: &str) -> Judged {
    let rows = conformance::rows().expect("the rows");
    let hosts = hostcheck::host::all().expect("the profiles");
    let plan = Plan {
        target,
        name: None,
        wishes: Arc::new(Wishes::default()),
        rows: rows.into_iter().filter(|placed| placed.row.id == row).collect(),
        versions: Vec::new(),
        full: true,
        named: false,
        demanded: false,
        hosts: hosts.iter().filter(|known| known.id == host).cloned().collect(),
        at_once: 1,
    };
    let found =
        in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await });
    let [judged] = found.hosts.as_slice() else { panic!("{row} on {host}: {:?}", found.hosts) };
    judged.clone()
}

fn shows(judged: &Judged, text: &str) -> bool {
    judged.transcript.iter().any(|line| line.text.contains(text))
}

#[rstest]
#[case("claude-code@2.1.330")]
#[case("codex@0.169.0")]
fn a_failure_in_a_host_that_does_not_come_again_is_told_with_its_numbers(#[case] host: &str) {
    let calls = Cell::new(0);
    let server = target(&tools(&["a"]), move |_, message| {
        calls.set(calls.get() + usize::from(fits(message).is_some()));
        if calls.get() == 1 && fits(message).is_some() { Does::Ends } else { Does::Usual }
    });
    let judged = in_host(server, host, "hosts.call");
    let Outcome::Flaky(Differing { reason, .. }) = &judged.outcome else { panic!("{:?}", judged.outcome) };
    assert!(reason.starts_with("1 of 3 times: a call of `a` ends the server"), "{reason}");
    // A host has one server, and by itself this one held each time.
    assert!(judged.outcome.held_alone(), "{reason}");
    assert!(shows(&judged, "ended") && !shows(&judged, "done"), "{:?}", judged.transcript);
}

/// A server that once opens too late for this host, and otherwise after a time.
#[rstest]
#[case(3, "")]
#[case(0, "1 of 3 times: the host gives the server up")]
fn an_opening_that_was_late_once_counts_where_a_busy_machine_does_not_explain_it(
    #[case] otherwise_s: u64,
    #[case] flaky: &str,
) {
    let opened = Cell::new(0);
    let server = target(&tools(&["a"]), move |_, message| {
        let by_host =
            message["method"] == "initialize" && message["params"]["clientInfo"]["name"] != "hostcheck";
        opened.set(opened.get() + usize::from(by_host));
        let late = Duration::from_secs(if opened.get() == 1 { 50 } else { otherwise_s });
        if by_host {
            let info = json!({"name": "scripted", "version": "1"});
            let version = &message["params"]["protocolVersion"];
            let opening =
                json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info});
            return Does::Says(late, json!({"result": opening}));
        }
        Does::Usual
    });
    let judged = in_host(server, "claude-code@2.1.330", "hosts.opens");
    match &judged.outcome {
        Outcome::Flaky(Differing { reason, .. }) => {
            assert!(!flaky.is_empty() && reason.starts_with(flaky), "{reason}");
        }
        outcome => assert!(flaky.is_empty() && *outcome == Outcome::Passed, "{outcome:?}"),
    }
}

#[test]
fn an_initialize_that_is_refused_after_a_late_answer_to_the_probe_is_a_matter_of_time() {
    let probes = Cell::new(0);
    let server = target(&tools(&["a"]), move |_, message| {
        // The judge's own probe is the first.
        let is_probe = message["method"] == "server/discover";
        probes.set(probes.get() + usize::from(is_probe));
        if is_probe && probes.get() == 2 {
            return Does::Says(Duration::from_secs(4), json!({"error": {"code": -32601, "message": "late"}}));
        }
        if message["method"] == "initialize" && probes.get() == 2 {
            return Does::Says(AT_ONCE, json!({"error": {"code": -32022, "message": "of the newer era"}}));
        }
        // What is asked alone takes a moment too.
        if is_probe {
            return Does::Says(
                Duration::from_secs(1),
                json!({"error": {"code": -32601, "message": "no such method"}}),
            );
        }
        Does::Usual
    });
    assert_eq!(in_host(server, "claude-code@2.1.330", "hosts.opens").outcome, Outcome::Passed);
}

#[test]
fn a_flaky_row_keeps_the_conversation_that_failed() {
    let pings = Cell::new(0);
    let server = target(&tools(&[]), move |_, message| {
        let is_ping = message["method"] == "ping";
        pings.set(pings.get() + usize::from(is_ping));
        if is_ping && pings.get() != 2 {
            return Does::Says(AT_ONCE, json!({"error": {"code": -32603, "message": "not now"}}));
        }
        Does::Usual
    });
    let found = judge(server, "lifecycle.ping", true);
    let judged = &found.protocol[0];
    let Outcome::Flaky(Differing { reason, .. }) = &judged.outcome else { panic!("{:?}", judged.outcome) };
    assert!(reason.starts_with("2 of 3 times"), "{reason}");
    assert!(shows(judged, "not now"), "{:?}", judged.transcript);
}
