//! Claude Code 2.1.330 as a program that another one starts: `claude -p`.

mod args;
mod form;

use crate::act::{Act, Phase, Signal};
use crate::common::{self, Prompt, Run, refuse};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::Script;
use crate::turn;

use args::{Args, Command, SessionArg};
use form::ClaudeForm;

/// The model without a wish.
const USUAL_MODEL: &str = "claude-opus-5-5";
/// How long it waits for stdin where the command line has a prompt.
const STDIN_PATIENCE_MS: u64 = 3_000;
/// Most bytes that it takes from stdin.
const STDIN_BYTES_MAX: usize = 10 * 1024 * 1024;
const NO_STDIN: &str = "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow command, redirect stdin explicitly: < /dev/null to skip, or wait longer.\n";
const NO_PROMPT: &str =
    "Error: Input must be provided either through stdin or as a prompt argument when using --print";
/// Opens the alternate screen and hides the cursor.
const OPENS_TERMINAL: &str = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J\u{1b}[H";

/// Writes down what `claude` does with a command line.
pub(crate) fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    let args = match args::read(script, invocation) {
        Ok(Command::Ask(args)) => args,
        Ok(Command::Prints(text, code)) => {
            pen.out(text);
            return pen.exit(code);
        }
        Err(text) => return refuse(pen, &text, 1),
    };
    if !args.print {
        pen.enter(Phase::Terminal);
        pen.out(OPENS_TERMINAL);
        return pen.push(Act::Hang);
    }
    let join = |argument: &str, read: &str| format!("{argument}\n{read}");
    let prompt = match common::prompt(args.prompt.as_deref(), invocation, Some(STDIN_PATIENCE_MS), join) {
        Prompt::Known(prompt) => prompt,
        Prompt::Read(act) => return pen.push(act),
    };
    if invocation.stdin.as_ref().is_some_and(|bytes| bytes.len() > STDIN_BYTES_MAX) {
        return refuse(pen, "Error: piped stdin input exceeds 10MB.", 1);
    }
    if invocation.stdin_is_silent {
        pen.err(NO_STDIN);
    }
    if prompt.trim().is_empty() {
        return refuse(pen, NO_PROMPT, 1);
    }
    let (session, file) = match session(&args, invocation, outside, pen) {
        Ok(found) => found,
        Err(text) => {
            if args.form == args::Output::Lines && matches!(args.session, SessionArg::Resume(_)) {
                form::unknown_session(pen, &args, &text);
            }
            return refuse(pen, &text, 1);
        }
    };
    let answer = script.answer(&prompt);
    let model = common::model(script, args.model.as_deref(), USUAL_MODEL).to_owned();
    let folders = args.folders.clone();
    let run = Run { script, invocation, answer: answer.clone(), model, session, file, folders };
    let signed_in = script.signed_in || is_signed_in(invocation);
    let mut form = ClaudeForm::new(run, args);
    if !signed_in {
        pen.enter(Phase::Model);
        return form.not_signed_in(pen, &prompt);
    }
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
    let (Some(phase), Ok(Command::Ask(args))) = (common::phase(done), args::read(script, invocation)) else {
        pen.die(signal);
        return true;
    };
    let answer = script.answer(args.prompt.as_deref().unwrap_or_default());
    if signal == Signal::Terminate && answer.ignores_term {
        return false;
    }
    let stored = done
        .iter()
        .find_map(|act| if let Act::Store { path, .. } = act { Some(path.as_str()) } else { None });
    let name = stored.and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let session = name.trim_end_matches(".jsonl").to_owned();
    let model = common::model(script, args.model.as_deref(), USUAL_MODEL).to_owned();
    let run = Run { script, invocation, answer, model, session, file: String::new(), folders: Vec::new() };
    let mut form = ClaudeForm::new(run, args);
    match (signal, phase) {
        (Signal::Interrupt, phase) => {
            form.interrupted(pen, phase);
            pen.exit(0);
        }
        (_, phase) => {
            if let Phase::Tool(number) = phase {
                form.tool_cancelled(pen, number);
            }
            pen.exit(143);
        }
    }
    true
}

fn is_signed_in(invocation: &Invocation) -> bool {
    ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]
        .into_iter()
        .any(|name| invocation.variable(name).is_some())
}

/// The session and its file.
fn session(
    args: &Args,
    invocation: &Invocation,
    outside: &dyn Outside,
    pen: &mut Pen,
) -> Result<(String, String), String> {
    let own = common::project(invocation);
    let found = |id: &str| {
        let folders = outside.list("projects").into_iter();
        let files = folders.map(|folder| format!("projects/{folder}/{id}.jsonl"));
        files.into_iter().find(|file| outside.stored(file).is_some())
    };
    let fresh = |id: String| {
        let file = format!("{own}/{id}.jsonl");
        (id, file)
    };
    match &args.session {
        SessionArg::New => Ok(fresh(pen.uuid())),
        SessionArg::Latest => Ok(match common::sessions(outside, &own).pop() {
            Some(id) => fresh(id),
            None => fresh(pen.uuid()),
        }),
        SessionArg::Id(id) if !common::is_uuid(id) => {
            Err("Error: Invalid session ID. Must be a valid UUID.".to_owned())
        }
        SessionArg::Id(id) if found(id).is_some() => {
            Err(format!("Error: Session ID {id} is already in use."))
        }
        SessionArg::Id(id) => Ok(fresh(id.clone())),
        SessionArg::Resume(id) => match found(id) {
            Some(file) => Ok((id.clone(), file)),
            None => Err(format!("No conversation found with session ID: {id}")),
        },
    }
}
