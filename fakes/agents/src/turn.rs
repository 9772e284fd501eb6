//! One question and its answer, the same for all CLIs: what happens, in which order. How it looks is a [`Form`] of each
//! CLI.

use crate::act::{Act, Phase, Signal};
use crate::invocation::Invocation;
use crate::pen::Pen;
use crate::script::{Answer, Crash, Failure, Says, Tool};

/// What becomes of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It runs.
    Runs,
    /// It needs a permission, and no user is there to ask.
    NobodyToAsk,
    /// A rule of the command line forbids it.
    Forbidden(String),
    /// The mode of the session forbids it.
    Blocked,
    /// The model does not have it.
    Missing,
}

/// How one CLI shows a turn.
pub(crate) trait Form {
    /// Before the model is asked.
    fn opens(&mut self, pen: &mut Pen, prompt: &str);
    /// Whether the command line lets a tool run.
    fn judges(&self, tool: &Tool) -> Verdict;
    /// A tool begins.
    fn begins(&mut self, pen: &mut Pen, number: usize, tool: &Tool);
    /// A tool has ended, or was refused.
    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict);
    /// A piece of the answer as it comes.
    fn streams(&mut self, pen: &mut Pen, piece: &str);
    /// The answer is complete.
    fn answers(&mut self, pen: &mut Pen, text: &str);
    /// The provider refused. Gives the exit code; nothing if the program goes on trying for ever.
    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8>;
    /// The end of a turn that went well.
    fn closes(&mut self, pen: &mut Pen, answer: &Answer, code: u8);
    /// Whether the output is JSON lines.
    fn is_json(&self) -> bool;
    /// Whether a file may be written at this place.
    fn may_write(&self, path: &std::path::Path) -> bool;
}

/// What fills a flood: a line of this.
const FILL: &str = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ\n";
/// Half of a character: the first two bytes of a euro sign.
const HALF: &[u8] = &[0xe2, 0x82];

/// Writes down a whole turn.
pub(crate) fn play(
    pen: &mut Pen,
    form: &mut dyn Form,
    invocation: &Invocation,
    answer: &Answer,
    prompt: &str,
) {
    pen.enter(Phase::Model);
    if answer.silent {
        pen.wait(answer.after_ms);
        pen.exit(answer.exit.unwrap_or_default());
        return;
    }
    form.opens(pen, prompt);
    for _ in 0..answer.children {
        pen.push(Act::Child {
            leaves_group: answer.children_leave_group,
            ignores_term: answer.children_ignore_term,
        });
    }
    pen.wait(answer.after_ms);
    tools(pen, form, answer);
    if let Some(writes) = &answer.writes {
        let path = invocation.path(&writes.path);
        if form.may_write(&path) {
            pen.push(Act::Write { path, text: writes.text.clone() });
        }
    }
    let leak = answer.leaks.as_deref().and_then(|name| invocation.variable(name)).unwrap_or_default();
    if let Some(stderr) = &answer.stderr {
        pen.err(format!("{stderr}{leak}\n"));
    }
    if let Some(bytes) = answer.stderr_bytes {
        pen.err(flood(bytes));
    }
    if let Some(failure) = &answer.error {
        let message = format!("{}{leak}", failure.message);
        match form.fails(pen, &Failure { message, ..failure.clone() }) {
            Some(code) => pen.exit(answer.exit.unwrap_or(code)),
            None => pen.push(Act::Hang),
        }
        return;
    }
    let text = text(answer, prompt, leak);
    stream(pen, form, answer, &text);
    if answer.hangs {
        pen.push(Act::Hang);
        return;
    }
    if let Some(crash) = answer.crash {
        pen.die(match crash {
            Crash::Kill => Signal::Kill,
            Crash::Segfault => Signal::Segfault,
        });
        return;
    }
    form.answers(pen, &text);
    if answer.invalid_json_line && form.is_json() {
        pen.out("{\"type\":\"assistant.mess\n");
    }
    let code = answer.exit.unwrap_or_default();
    form.closes(pen, answer, code);
    if answer.half_a_character {
        pen.out(HALF);
    }
    pen.exit(code);
}

fn tools(pen: &mut Pen, form: &mut dyn Form, answer: &Answer) {
    for (number, tool) in answer.tools.iter().enumerate() {
        form.begins(pen, number, tool);
        let verdict = form.judges(tool);
        if verdict == Verdict::Runs {
            pen.enter(Phase::Tool(number));
            pen.wait(tool.takes_ms);
            pen.enter(Phase::Model);
        }
        form.ends(pen, number, tool, &verdict);
    }
}

/// The words of an answer.
pub(crate) fn text(answer: &Answer, prompt: &str, leak: &str) -> String {
    let mut text = match &answer.says {
        Says::Text(text) => text.clone(),
        Says::Echo(echo) if echo.echo => prompt.to_owned(),
        Says::Echo(_) => String::new(),
    };
    text.push_str(leak);
    if answer.ansi {
        text = format!("\u{1b}[1;32m{text}\u{1b}[0m");
    }
    let wanted = usize::try_from(answer.stdout_bytes.unwrap_or_default()).unwrap_or(usize::MAX);
    if let Some(missing) = wanted.checked_sub(text.len()) {
        text.extend(FILL.chars().cycle().take(missing));
    }
    text
}

fn flood(bytes: u64) -> Vec<u8> {
    FILL.bytes().cycle().take(usize::try_from(bytes).unwrap_or(usize::MAX)).collect()
}

/// The words one by one where the script has a pause, else in two pieces, as a model that is quick sends them.
fn stream(pen: &mut Pen, form: &mut dyn Form, answer: &Answer, text: &str) {
    let pause_ms = answer.stream_every_ms.unwrap_or_default();
    for piece in pieces(answer, text) {
        form.streams(pen, piece);
        pen.wait(pause_ms);
    }
}

/// The pieces in which an answer comes.
pub(crate) fn pieces<'text>(answer: &Answer, text: &'text str) -> Vec<&'text str> {
    if answer.stream_every_ms.is_some() {
        return text.split_inclusive(' ').collect();
    }
    match text.split_once(' ') {
        Some((first, _)) => {
            let (first, rest) = text.split_at(first.len() + 1);
            [first, rest].into_iter().filter(|piece| !piece.is_empty()).collect()
        }
        None if text.is_empty() => Vec::new(),
        None => vec![text],
    }
}
