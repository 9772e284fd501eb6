//! A run that is stopped has each verdict of the whole run, or none.

use std::cell::Cell;
use std::sync::Arc;

use hostcheck::conformance::{self, Findings, Judged, News, Outcome, Plan, Stop, VERSIONS, Wishes};

use crate::fault::Fault;
use crate::mutants::{in_paused_time, plan};

/// Judges the tiny server until this many conversations have ended, and gives how many there are in all.
fn judged(fault: Fault, stopped_after: usize) -> (Findings, usize) {
    let wishes = Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() });
    let plan = Plan { wishes, full: false, ..plan(fault, |_| true, &VERSIONS, false) };
    let (stop, all) = (Stop::default(), Cell::new(0));
    let news = |one| {
        if let News::Asked { done, total } = one {
            all.set(total);
            if done == stopped_after {
                stop.wish();
            }
        }
    };
    (in_paused_time(conformance::judge(&plan, &news, &stop)), all.get())
}

fn has_no_verdict(one: &Judged) -> bool {
    matches!(&one.outcome, Outcome::CouldNotRun(reason) if reason == "the run was stopped")
}

#[test]
fn a_stopped_run_has_each_verdict_of_the_whole_one_or_none() {
    for fault in [Fault::None, Fault::LeavesOutTheCaching, Fault::MarksByteOrder, Fault::DiesOfNotifications]
    {
        let (whole, all) = judged(fault, usize::MAX);
        assert!(!whole.is_stopped && !whole.protocol.iter().any(has_no_verdict));
        let (mut least, mut most) = (usize::MAX, 0);
        for stopped_after in (0..all).step_by(3) {
            let (part, _) = judged(fault, stopped_after);
            assert!(part.is_stopped);
            assert_eq!(part.protocol.len(), whole.protocol.len(), "no row is left out");
            for (one, of_whole) in part.protocol.iter().zip(&whole.protocol) {
                assert_eq!((&one.row, &one.column), (&of_whole.row, &of_whole.column));
                if !has_no_verdict(one) {
                    // A fault of the lines is shown where it was met first.
                    let verdict =
                        |one: &Judged| (one.outcome.status(), one.outcome.reason().map(str::to_owned));
                    assert_eq!(verdict(one), verdict(of_whole), "{fault:?} {stopped_after} {}", one.row);
                }
            }
            let asked = part.protocol.iter().filter(|one| !has_no_verdict(one)).count();
            (least, most) = (least.min(asked), most.max(asked));
        }
        assert!(least < most / 2, "{fault:?}: from {least} to {most} verdicts of {}", whole.protocol.len());
    }
}

#[test]
fn a_run_that_is_stopped_before_the_first_answer_says_so() {
    let wishes = Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() });
    let plan = Plan { wishes, full: false, ..plan(Fault::None, |_| true, &VERSIONS, false) };
    let stop = Stop::default();
    let found = in_paused_time(conformance::judge(&plan, &|_| stop.wish(), &stop));
    let wanted = "the run was stopped before the server had said what it is";
    assert_eq!(found.about.unreachable.as_deref(), Some(wanted));
    let unasked = |one: &Judged| matches!(&one.outcome, Outcome::CouldNotRun(reason) if reason == wanted);
    assert!(!found.protocol.is_empty() && found.protocol.iter().all(unasked));
}
