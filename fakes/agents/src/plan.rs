//! From a script and a command line to acts. It chooses the CLI; each CLI reads its own command line.

use crate::act::{Act, Signal};
use crate::agent::Agent;
use crate::copilot;
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::Script;

/// What the program does that is started like this.
///
/// The last act is an end, a hang, or [`Act::ReadInput`]: then stdin is to be read to its end, and the plan made again
/// with what came.
pub fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside) -> Vec<Act> {
    let mut pen = Pen::new(invocation);
    pen.wait(script.start_ms);
    match script.agent {
        Agent::Copilot => copilot::plan(script, invocation, outside, &mut pen),
    }
    pen.done()
}

/// What a signal makes of the program that has done these acts. `None`: it goes on as if nothing had been.
pub fn interrupted(
    script: &Script,
    invocation: &Invocation,
    done: &[Act],
    signal: Signal,
) -> Option<Vec<Act>> {
    let mut pen = Pen::after(invocation, done);
    match script.agent {
        Agent::Copilot => copilot::interrupted(script, invocation, done, signal, &mut pen),
    }
    .then(|| pen.done())
}
