//! GitHub Copilot CLI 1.0.102 as a program that another one starts. Its rules and their sources are in
//! [`rules`](crate::rules).

mod args;
mod failure;
mod form;
mod known_flags;
mod permissions;
pub(crate) mod refusal;
mod session;
mod store;
mod texts;
mod version;

use crate::act::{Act, Phase, Signal};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::{Interactive, Script};
use crate::turn;

pub(crate) use failure::shown as shown_failure;
pub(crate) use permissions::Permissions;
pub(crate) use store::{Events, events_file, workspace_file};
pub(crate) use texts::blocked;
pub(crate) use version::Version;

use args::{Args, Command};
use form::CopilotForm;
use session::Session;

/// Opens the alternate screen and hides the cursor.
const OPENS_TERMINAL: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J\u{1b}[H";

/// Writes down what `copilot` does with a command line.
pub(crate) fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    let args = match args::read(script, invocation, outside) {
        Ok(Command::Ask(args)) => args,
        Ok(Command::Prints(text)) => {
            pen.out(text);
            return pen.exit(0);
        }
        Err(text) => return refuse(pen, &text),
    };
    if args.speaks_acp {
        pen.enter(Phase::Model);
        return pen.push(Act::SpeakAcp);
    }
    if let Some(text) = refusal::before_a_session(script, invocation) {
        return refuse(pen, &text);
    }
    let opens_terminal = args.interactive.is_some() && script.interactive == Interactive::Hangs;
    if opens_terminal {
        pen.enter(Phase::Terminal);
        pen.out(OPENS_TERMINAL);
        return pen.push(Act::Hang);
    }
    let Some(prompt) = prompt(&args, invocation) else {
        return pen.push(Act::ReadInput { at_most_ms: None });
    };
    let session = match Session::open(script, &args, outside, pen) {
        Ok(session) => session,
        Err(text) => return refuse(pen, &text),
    };
    if prompt.trim().is_empty() {
        return refuse(pen, texts::NO_PROMPT);
    }
    if let Some(text) = refusal::of_the_model(script, invocation, &args, &prompt) {
        return refuse(pen, &text);
    }
    let answer = script.answer(&prompt);
    let mut form = CopilotForm::new(script, invocation, args, session, answer.clone());
    turn::play(pen, &mut form, invocation, &answer, &prompt);
}

/// Writes down what a signal makes of it. Whether it does anything.
pub(crate) fn interrupted(
    script: &Script,
    invocation: &Invocation,
    done: &[Act],
    signal: Signal,
    pen: &mut Pen,
) -> bool {
    let phase =
        done.iter().rev().find_map(|act| if let Act::Enter(phase) = act { Some(*phase) } else { None });
    let Some(phase) = phase else {
        pen.die(signal);
        return true;
    };
    let Ok(Command::Ask(args)) = args::read(script, invocation, &crate::invocation::Nothing) else {
        pen.die(signal);
        return true;
    };
    let answer = script.answer(&prompt(&args, invocation).unwrap_or_default());
    if answer.ignores_term && signal == Signal::Terminate {
        return false;
    }
    if phase == Phase::Terminal {
        pen.out("\u{1b}[?1049l\u{1b}[?25h");
    } else {
        let session = Session::of(done);
        let mut form = CopilotForm::new(script, invocation, args, session, answer);
        form.aborted(pen, phase, signal);
    }
    pen.exit(0);
    true
}

fn refuse(pen: &mut Pen, text: &str) {
    pen.err(text);
    pen.err("\n");
    pen.exit(1);
}

/// The prompt, if it is known already: of the command line, else of stdin.
fn prompt(args: &Args, invocation: &Invocation) -> Option<String> {
    let given = args.prompt.as_ref().or(args.interactive.as_ref());
    let read = || invocation.stdin.as_ref().map(|bytes| String::from_utf8_lossy(bytes).trim_end().to_owned());
    given.cloned().or_else(read)
}
