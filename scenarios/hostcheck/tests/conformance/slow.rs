//! Tools that take their time: a run asks them no more than it must.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use hostcheck::conformance::Outcome;

use crate::scripted::{AT_ONCE, Does, EVERY_ROW, fits, judge, said, target, tools};

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
