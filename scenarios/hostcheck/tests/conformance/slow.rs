//! Tools that take their time, or are silent: a run asks them no more than it must.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use hostcheck::conformance::Outcome;
use serde_json::json;
use tokio::time::Instant;

use crate::scripted::{AT_ONCE, Does, EVERY_ROW, fits, judge, judge_in, judge_wishing, said, target, tools};

const NAMES: [&str; 16] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"];
/// Calls that questions about other things make of a slow tool, beside those for which a run has a time.
const CALLS_MAX: usize = 12;
/// Short enough for a quick run to wait for it.
const SLOW: Duration = Duration::from_millis(1_500);

#[test]
fn a_quick_run_calls_slow_tools_a_few_times_and_judges_them_nevertheless() {
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let server = target(&tools(&NAMES), move |_, message| match fits(message) {
        Some(true) => {
            counted.set(counted.get() + 1);
            Does::Says(SLOW, said("the network is down", true))
        }
        Some(false) => Does::Says(AT_ONCE, said("a is missing", true)),
        None => Does::Usual,
    });
    let found = judge(server, EVERY_ROW, false);
    assert!(calls.get() <= CALLS_MAX, "{} slow calls", calls.get());
    for row in ["tools.call", "tools.own-errors", "tools.validates", "tools.input-errors"] {
        let judged = found.protocol.iter().find(|judged| judged.row == row).expect("a row");
        assert_eq!(judged.outcome, Outcome::Passed, "{row}");
    }
}

/// A server that was tried: it looks at its arguments, and lacks the flag alone.
#[test]
fn a_tool_that_refuses_arguments_without_the_flag_of_an_error_validates_them() {
    for (of_bad, of_good, validates, flags) in [
        ("Error occurred: Invalid arguments: a: Required", "done", "Passed", "Failed"),
        ("done", "done", "Failed", "NotApplicable"),
        ("Error: the network is down", "Error: the network is down", "NotApplicable", "NotApplicable"),
    ] {
        let server = || {
            target(&tools(&["a"]), move |_, message| match fits(message) {
                Some(good) => Does::Says(AT_ONCE, said(if good { of_good } else { of_bad }, false)),
                None => Does::Usual,
            })
        };
        for (row, wanted) in [("tools.validates", validates), ("tools.input-errors", flags)] {
            let outcome = &judge(server(), row, true).protocol[0].outcome;
            assert!(format!("{outcome:?}").starts_with(wanted), "{of_bad}, {row}: {outcome:?}");
        }
    }
}

/// A server that was tried: its first call looks for a service that can't be reached, and the next ones know that.
#[test]
fn a_tool_whose_first_call_alone_is_slow_shows_nothing_of_its_arguments() {
    let calls = Cell::new(0);
    let server = target(&tools(&["a"]), move |_, message| {
        if fits(message).is_none() || message["params"]["name"] != "a" {
            return Does::Usual;
        }
        let after = if calls.replace(calls.get() + 1) == 0 { SLOW } else { AT_ONCE };
        Does::Says(
            after,
            json!({"error": {"code": -32603, "message": "getaddrinfo ENOTFOUND api.example.com"}}),
        )
    });
    let found = judge(server, EVERY_ROW, false);
    for row in ["tools.validates", "tools.input-errors"] {
        let judged = found.protocol.iter().find(|judged| judged.row == row).expect("a row");
        assert!(matches!(judged.outcome, Outcome::NotApplicable(_)), "{row}: {:?}", judged.outcome);
    }
}

#[test]
fn the_only_tool_is_called_though_it_is_that_of_the_long_call() {
    let found = judge_wishing(target(&tools(&["a"]), |_, _| Does::Usual), "tools.call", true, Some("a"));
    assert_eq!(found.protocol[0].outcome, Outcome::Passed);
}

#[test]
fn a_call_that_waited_too_long_is_made_once_more_before_it_counts() {
    let waited = RefCell::new(BTreeSet::new());
    let server = target(&tools(&["a"]), move |start, message| match fits(message) {
        // Other questions call tools that there are not.
        Some(false) if message["params"]["name"] == "a" && waited.borrow_mut().insert(start) => Does::Nothing,
        Some(false) => Does::Says(AT_ONCE, said("a is missing", true)),
        _ => Does::Usual,
    });
    let found = judge(server, "tools.validates", true);
    assert_eq!(found.protocol[0].outcome, Outcome::Passed);
}

#[test]
fn after_two_silent_tools_no_other_is_waited_for() {
    let asked = Rc::new(RefCell::new(BTreeSet::new()));
    let seen = Rc::clone(&asked);
    let server = target(&tools(&NAMES), move |_, message| {
        let name = message.pointer("/params/name").and_then(serde_json::Value::as_str).unwrap_or_default();
        if fits(message).is_none() || !NAMES.contains(&name) {
            return Does::Usual;
        }
        seen.borrow_mut().insert(name.to_owned());
        Does::Nothing
    });
    let found = judge(server, "tools.validates", true);
    let Outcome::NotApplicable(reason) = &found.protocol[0].outcome else { panic!("{:?}", found.protocol) };
    assert!(reason.contains("in the same way with arguments that fit: a, b"), "{reason}");
    assert_eq!(asked.borrow().len(), 2, "{:?}", asked.borrow());
}

/// A result that breaks a rule is not seen in a quick run when it comes late, and the run says so.
#[test]
fn what_a_call_that_lasts_would_show_is_not_asked_and_not_passed_over() {
    let lasts = Duration::from_millis(2_500);
    let list = json!([{
        "name": "a", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
        "annotations": {"readOnlyHint": true}
    }]);
    let wrong = json!({"content": [{"type": "text", "text": "1"}], "structuredContent": {"n": "one"}});
    let wrong = json!({"result": wrong});
    let ask = |rows, full| {
        let wrong = wrong.clone();
        let server = target(&list, move |_, message| match fits(message) {
            Some(true) => Does::Says(lasts, wrong.clone()),
            _ => Does::Usual,
        });
        judge(server, rows, full).protocol
    };
    let quick = ask(EVERY_ROW, false);
    for row in ["tools.call", "tools.soak", "tools.structured", "progress.token-forms"] {
        let judged = quick.iter().find(|judged| judged.row == row).expect("a row");
        let Outcome::CouldNotRun(reason) = &judged.outcome else { panic!("{row}: {:?}", judged.outcome) };
        assert_eq!(reason, "calls that last longer than 2 s are cancelled: a; --full waits longer");
    }
    let full = ask("tools.structured", true);
    assert!(matches!(full[0].outcome, Outcome::Failed(_)), "{:?}", full[0].outcome);
}

/// With a token it lasts a little longer than a quick run waits, and without one less.
#[test]
fn a_token_is_not_blamed_for_a_call_that_lasts_about_as_long_as_it_is_waited_for() {
    let server = target(&tools(&["a"]), |_, message| match fits(message) {
        Some(_) if message.pointer("/params/_meta/progressToken").is_some() => {
            Does::Says(Duration::from_millis(2_100), said("done", false))
        }
        Some(_) => Does::Says(Duration::from_millis(1_500), said("done", false)),
        None => Does::Usual,
    });
    let found = judge(server, "progress.token-forms", false);
    assert_eq!(found.protocol[0].outcome, Outcome::Passed);
}

/// Each question that makes the call sees the server end, and its author has one fault to mend.
#[test]
fn a_call_that_ends_the_server_is_one_cause() {
    for row in ["tools.call", "tools.soak", "progress.token-forms", "lifecycle.ping-during-call"] {
        let server = target(&tools(&["a"]), |_, message| match fits(message) {
            Some(_) => Does::Ends,
            None => Does::Usual,
        });
        let outcome = judge(server, row, false).protocol[0].outcome.clone();
        let Outcome::Failed(evidence) = outcome else { panic!("{row}: {outcome:?}") };
        assert_eq!(evidence[0].message, "a call of `a` ends the server", "{row}");
    }
}

/// The server answers in the order of its requests, so that it holds a ping for as long as a call lasts.
#[test]
fn a_ping_beside_a_call_is_judged_only_where_the_call_lasts() {
    let ask = |lasts, long_call| {
        let server = target(&tools(&["a"]), move |_, message| match fits(message) {
            Some(_) => Does::Says(lasts, said("done", false)),
            None => Does::Usual,
        });
        judge_wishing(server, "lifecycle.ping-during-call", true, long_call).protocol[0].outcome.clone()
    };
    let unknown = "no call that lasts is known; name one with --long-call";
    assert_eq!(ask(AT_ONCE, None), Outcome::NotApplicable(unknown.to_owned()));
    assert_eq!(ask(SLOW, None), Outcome::NotApplicable(unknown.to_owned()), "another time it may be quick");
    assert_eq!(ask(AT_ONCE, Some("a")), Outcome::CouldNotRun("`a` does not last".to_owned()));
    let Outcome::Failed(evidence) = ask(SLOW, Some("a")) else { panic!("it was held") };
    assert_eq!(evidence[0].message, "`ping` is answered only when a call of `a` has ended");
    assert_eq!(evidence[0].observed.as_deref(), Some("after 1.5 s"));
}

/// A server that was tried: it ended at the first message that came five seconds after the one before.
#[test]
fn a_host_of_a_full_run_is_silent_before_its_call() {
    for full in [false, true] {
        let last = Cell::new(Instant::now());
        let server = target(&tools(&["a"]), move |_, _| {
            let silent = last.replace(Instant::now()).elapsed();
            if silent > Duration::from_secs(5) { Does::Ends } else { Does::Usual }
        });
        let found = judge_in("codex@0.169.0", server, "hosts.call", full);
        match &found.hosts[0].outcome {
            Outcome::Passed => assert!(!full),
            Outcome::Failed(evidence) => {
                let seen = evidence[0].observed.as_deref();
                assert!(full && seen == Some("it came after 8 s without a message"), "{evidence:?}");
            }
            other => panic!("{other:?}"),
        }
    }
}
