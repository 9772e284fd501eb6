//! Codex 0.169.0 as a program that another one starts: `codex exec`.

mod form;

use crate::act::{Act, Phase, Signal};
use crate::common::{self, Prompt, Run, refuse};
use crate::flags::{self, Flag, FlagError, Parsed};
use crate::invocation::{Invocation, Outside, PathKind};
use crate::pen::Pen;
use crate::script::{Failure, Script};
use crate::turn;

use form::CodexForm;

const USAGE: &str = "\n\nUsage: codex exec [OPTIONS] [PROMPT]\n       codex exec [OPTIONS] <COMMAND> [ARGS]\n\nFor more information, try '--help'.";
const SANDBOXES: &[&str] = &["read-only", "workspace-write", "danger-full-access"];

const FLAGS: &[Flag] = &[
    Flag::one("--config", "<key=value>").short('c'),
    Flag::one("--enable", "<FEATURE>"),
    Flag::one("--disable", "<FEATURE>"),
    Flag::switch("--strict-config"),
    Flag::one("--image", "<FILE>").short('i'),
    Flag::one("--model", "<MODEL>").short('m'),
    Flag::switch("--oss"),
    Flag::one("--local-provider", "<OSS_PROVIDER>"),
    Flag::one("--profile", "<CONFIG_PROFILE_V2>").short('p'),
    Flag::of("--sandbox", "<SANDBOX_MODE>", SANDBOXES).short('s'),
    Flag::switch("--approve-for-me"),
    Flag::switch("--dangerously-bypass-approvals-and-sandbox"),
    Flag::switch("--dangerously-bypass-hook-trust"),
    Flag::one("--cd", "<DIR>").short('C'),
    Flag::switch("--worktree"),
    Flag::one("--add-dir", "<DIR>"),
    Flag::one("--thread-source", "<SOURCE>"),
    Flag::one("--cyber-access-program", "<PROGRAM>"),
    Flag::switch("--skip-git-repo-check"),
    Flag::switch("--trust"),
    Flag::switch("--ephemeral"),
    Flag::switch("--ignore-user-config"),
    Flag::switch("--ignore-rules"),
    Flag::one("--output-schema", "<FILE>"),
    Flag::of("--color", "<COLOR>", &["always", "never", "auto"]),
    Flag::switch("--json"),
    Flag::one("--output-last-message", "<FILE>").short('o'),
    Flag::switch("--last"),
    Flag::switch("--help").short('h'),
    Flag::switch("--version").short('V'),
];

/// Writes down what `codex` does with a command line.
pub(crate) fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    match invocation.argv.first().map(String::as_str) {
        Some("exec" | "e") => execute(script, invocation, outside, pen),
        Some("--version" | "-V") => {
            pen.out(format!("codex-cli {}\n", script.version()));
            pen.exit(0);
        }
        Some("login") => {
            let text = if script.signed_in { "Logged in using ChatGPT\n" } else { "Not logged in\n" };
            pen.err(text);
            pen.exit(u8::from(!script.signed_in));
        }
        Some("debug") => {
            let models = script.models.iter().map(|model| serde_json::json!({"slug": model}));
            pen.out(format!("{}\n", serde_json::json!({"models": models.collect::<Vec<_>>()})));
            pen.exit(0);
        }
        _ => refuse(pen, "Error: stdin is not a terminal", 1),
    }
}

fn execute(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    let flags = match flags::parse_like_clap(FLAGS, invocation.argv.get(1..).unwrap_or_default()) {
        Ok(flags) => flags,
        Err(error) => return refuse(pen, &message(&error), 2),
    };
    if flags.has("--help") {
        pen.out(flags::help("codex exec [OPTIONS] [PROMPT]", FLAGS));
        return pen.exit(0);
    }
    let folder = invocation.folder.join(flags.last("--cd").unwrap_or_default());
    if outside.kind(&folder) != PathKind::Folder {
        return refuse(pen, "Error: No such file or directory (os error 2)", 1);
    }
    let (thread, argument) = words(&flags);
    let is_new = matches!(thread, Thread::New);
    let argument = argument.filter(|argument| *argument != "-");
    if invocation.stdin.is_none() {
        match argument {
            Some(_) if is_new => pen.err("Reading additional input from stdin...\n"),
            None if flags.words.is_empty() => pen.err("Reading prompt from stdin...\n"),
            _ => {}
        }
    }
    // A resumed thread does not look at stdin where the command line has a prompt.
    let prompt = match argument {
        Some(argument) if !is_new => argument.to_owned(),
        _ => match common::prompt(argument, invocation, None, |argument, read| {
            format!("{argument}\n\n<stdin>\n{read}\n</stdin>")
        }) {
            Prompt::Known(prompt) => prompt,
            Prompt::Read(act) => return pen.push(act),
        },
    };
    if prompt.trim().is_empty() {
        return refuse(pen, "No prompt provided via stdin.", 1);
    }
    let trusted = flags.has("--skip-git-repo-check")
        || folder.ancestors().any(|folder| outside.kind(&folder.join(".git")) != PathKind::Missing);
    if !trusted {
        let text = "Not inside a trusted directory and --skip-git-repo-check was not specified.";
        return refuse(pen, text, 1);
    }
    let known = common::sessions(outside, "sessions");
    let session = match thread {
        Thread::New => pen.uuid(),
        Thread::Id(id) if known.iter().any(|known| known == id) => id.to_owned(),
        Thread::Last => known.last().cloned().unwrap_or_else(|| pen.uuid()),
        Thread::Id(id) => {
            let text = format!(
                "Error: thread/resume: thread/resume failed: no rollout found for thread id {id} (code -32600)"
            );
            return refuse(pen, &text, 1);
        }
    };
    let mut answer = script.answer(&prompt);
    let own_provider = flags.all("--config").any(|value| value.starts_with("model_provider="));
    if !script.signed_in && !own_provider && invocation.variable("CODEX_API_KEY").is_none() {
        let message = "Missing bearer or basic authentication in header".to_owned();
        answer.error = Some(Failure { status: 401, message, retry_ms: Some(0) });
    }
    let configured = flags.all("--config").find_map(|value| value.strip_prefix("model="));
    let asked = flags.last("--model").or(configured.map(|model| model.trim_matches('"')));
    let is_known = asked.is_none_or(|asked| script.models.iter().any(|model| model == asked));
    let model = common::model(script, asked, "gpt-6.1-sol").to_owned();
    let folders = flags.all("--add-dir").map(Into::into).collect();
    let file = format!("sessions/{session}.jsonl");
    let run = Run { script, invocation, answer: answer.clone(), model, session, file, folders };
    let mut form = CodexForm::new(run, flags, is_known);
    turn::play(pen, &mut form, invocation, &answer, &prompt);
}

/// Which thread a run goes on with.
enum Thread<'flags> {
    /// A new one.
    New,
    /// The latest.
    Last,
    /// The one of this id.
    Id(&'flags str),
}

/// The thread to go on with, and the prompt. The word `resume` before `--` is a command.
fn words(flags: &Parsed) -> (Thread<'_>, Option<&str>) {
    let words: Vec<&str> = flags.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["resume", rest @ ..] if flags.plain_words > 0 => match rest {
            rest if flags.has("--last") => (Thread::Last, rest.first().copied()),
            [id, rest @ ..] => (Thread::Id(id), rest.first().copied()),
            [] => (Thread::Last, None),
        },
        words => (Thread::New, words.first().copied()),
    }
}

fn message(error: &FlagError) -> String {
    match error {
        FlagError::Unknown(name) => {
            let word = name.split(' ').next().unwrap_or(name);
            let near = FLAGS.iter().find(|flag| flag.name == word);
            let tip = near.map(|flag| format!("\n\n  tip: a similar argument exists: '{}'", flag.name));
            format!("error: unexpected argument '{name}' found{}{USAGE}", tip.unwrap_or_default())
        }
        FlagError::NoValue(flag) => format!(
            "error: a value is required for '{} {}' but none was supplied\n\nFor more information, try '--help'.",
            flag.name, flag.value
        ),
        FlagError::BadValue(flag, value) => format!(
            "error: invalid value '{value}' for '{} {}'\n\nFor more information, try '--help'.",
            flag.name, flag.value
        ),
    }
}

/// Writes down what a signal makes of it. Whether it does anything.
pub(crate) fn interrupted(
    script: &Script,
    invocation: &Invocation,
    done: &[Act],
    signal: Signal,
    pen: &mut Pen,
) -> bool {
    let flags =
        flags::parse_like_clap(FLAGS, invocation.argv.get(1..).unwrap_or_default()).unwrap_or_default();
    let prompt = words(&flags).1.unwrap_or_default();
    if signal == Signal::Terminate && script.answer(prompt).ignores_term {
        return false;
    }
    match (common::phase(done), signal) {
        (Some(Phase::Model | Phase::Tool(_)), Signal::Interrupt) => {
            if !flags.has("--json") {
                pen.err("turn interrupted\n");
            }
            pen.exit(1);
        }
        _ => pen.die(signal),
    }
    true
}
