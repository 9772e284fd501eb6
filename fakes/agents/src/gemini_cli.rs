//! Gemini CLI 0.61.0 as a program that another one starts: `gemini -p`.

use std::path::Path;

use serde_json::{Value, json};

use crate::act::{Act, Signal};
use crate::common::{self, Prompt, Run, command, line, refuse};
use crate::flags::{self, Flag, FlagError, Parsed};
use crate::invocation::{Invocation, Outside, PathKind};
use crate::pen::Pen;
use crate::script::{Answer, Failure, Script, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{self, Form, Verdict};

/// How long it waits for stdin where the command line has a prompt.
const STDIN_PATIENCE_MS: u64 = 500;
/// Most bytes that it takes from stdin.
const STDIN_BYTES_MAX: usize = 8 * 1024 * 1024;
/// The pauses before the retries of a provider that fails, in milliseconds. Only their begin was seen.
const RETRIES_MS: [u64; 9] = [5_000, 10_000, 20_000, 30_000, 30_000, 30_000, 30_000, 30_000, 30_000];
const FORMATS: &[&str] = &["text", "json", "stream-json"];
const MODES: &[&str] = &["default", "auto_edit", "yolo", "plan"];
const NO_AUTH: &str = "Please set an Auth method in your ~/.gemini/settings.json or specify one of the following environment variables before running: GEMINI_API_KEY, GOOGLE_GENAI_USE_VERTEXAI, GOOGLE_GENAI_USE_GCA";
const NOT_TRUSTED: &str = "\u{1b}[31mGemini CLI is not running in a trusted directory. To proceed, either use `--skip-trust`, set the `GEMINI_CLI_TRUST_WORKSPACE=true` environment variable, or trust this directory in interactive mode. For more details, see https://geminicli.com/docs/cli/trusted-folders/#headless-and-automated-environments\u{1b}[0m";
const NO_PROMPT: &str = "No input provided via stdin. Input can be provided by piping data into gemini or using the --prompt option.";

const FLAGS: &[Flag] = &[
    Flag::switch("--debug").short('d'),
    Flag::one("--model", "").short('m'),
    Flag::one("--prompt", "").short('p'),
    Flag::one("--prompt-interactive", "").short('i'),
    Flag::switch("--skip-trust"),
    Flag::maybe("--worktree", "").short('w'),
    Flag::switch("--sandbox").short('s'),
    Flag::switch("--yolo").short('y'),
    Flag::of("--approval-mode", "", MODES),
    Flag::many("--policy", ""),
    Flag::many("--admin-policy", ""),
    Flag::switch("--acp"),
    Flag::switch("--experimental-acp"),
    Flag::many("--allowed-mcp-server-names", ""),
    Flag::many("--allowed-tools", ""),
    Flag::many("--extensions", "").short('e'),
    Flag::switch("--list-extensions").short('l'),
    Flag::maybe("--resume", "").short('r'),
    Flag::one("--session-file", ""),
    Flag::one("--session-id", ""),
    Flag::switch("--list-sessions"),
    Flag::one("--delete-session", ""),
    Flag::many("--include-directories", ""),
    Flag::switch("--screen-reader"),
    Flag::of("--output-format", "", FORMATS).short('o'),
    Flag::switch("--raw-output"),
    Flag::switch("--accept-raw-output-risk"),
    Flag::switch("--version").short('v'),
    Flag::switch("--help").short('h'),
];

/// Writes down what `gemini` does with a command line.
pub(crate) fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    let flags = match flags::parse(FLAGS, &invocation.argv) {
        Ok(flags) => flags,
        Err(error) => return refuse(pen, &format!("{}\n{}", message(&error), usage()), 1),
    };
    if flags.has("--version") {
        pen.out(format!("{}\n", script.version()));
        return pen.exit(0);
    }
    if flags.has("--help") {
        pen.out(usage());
        return pen.exit(0);
    }
    let known = common::sessions(outside, &common::project(invocation));
    if flags.has("--list-sessions") {
        pen.out(match known.as_slice() {
            [] => "No previous sessions found for this project.\n".to_owned(),
            known => known.iter().fold(String::new(), |text, id| text + "  [" + id + "]\n"),
        });
        return pen.exit(0);
    }
    let trusted =
        flags.has("--skip-trust") || invocation.variable("GEMINI_CLI_TRUST_WORKSPACE") == Some("true");
    if !trusted {
        return refuse(pen, NOT_TRUSTED, 55);
    }
    if !script.signed_in && invocation.variable("GEMINI_API_KEY").is_none() {
        return refuse(pen, NO_AUTH, 41);
    }
    let argument = flags.last("--prompt").or(flags.words.first().map(String::as_str));
    let argument = argument.filter(|argument| !argument.is_empty());
    if invocation.stdin.as_ref().is_some_and(|bytes| bytes.len() > STDIN_BYTES_MAX) {
        // Nothing is asked and nothing is said.
        return pen.exit(0);
    }
    if let Some(missing) = flags
        .listed("--include-directories")
        .iter()
        .find(|folder| outside.kind(&invocation.path(Path::new(folder))) != PathKind::Folder)
    {
        let text = format!(
            "[WARN] Skipping unreadable directory: {missing} (Directory does not exist: {missing})\nAn unexpected critical error occurred:Error: Directory does not exist: {missing}"
        );
        return refuse(pen, &text, 1);
    }
    let join = |argument: &str, read: &str| format!("{read}\n\n{argument}");
    let prompt = match common::prompt(argument, invocation, Some(STDIN_PATIENCE_MS), join) {
        Prompt::Known(prompt) => prompt,
        Prompt::Read(act) => return pen.push(act),
    };
    if prompt.trim().is_empty() {
        return refuse(pen, NO_PROMPT, 42);
    }
    let session = match (flags.last("--resume"), flags.last("--session-id")) {
        _ if flags.has("--resume") && known.is_empty() => {
            return refuse(pen, "Error resuming session: No previous sessions found for this project.", 42);
        }
        (Some(id), _) if known.iter().any(|known| known == id) => id.to_owned(),
        (Some(id), _) if id != "latest" => {
            let text = format!("Error resuming session: Invalid session identifier \"{id}\".");
            return refuse(pen, &text, 42);
        }
        _ if flags.has("--resume") => known.last().cloned().unwrap_or_default(),
        (_, Some(id)) if known.iter().any(|known| known == id) => {
            let text = format!(
                "Error starting session: Session ID \"{id}\" already exists. Use --resume to resume it, or provide a different ID."
            );
            return refuse(pen, &text, 42);
        }
        (_, Some(id)) => id.to_owned(),
        _ => pen.uuid(),
    };
    let answer = script.answer(&prompt);
    let model = common::model(script, flags.last("--model"), "gemini-2.5-pro").to_owned();
    let folders = flags.listed("--include-directories").iter().map(Into::into).collect();
    let file = format!("{}/{session}.jsonl", common::project(invocation));
    let run = Run { script, invocation, answer: answer.clone(), model, session, file, folders };
    let mut form = GeminiForm { run, flags, calls: 0 };
    turn::play(pen, &mut form, invocation, &answer, &prompt);
}

fn usage() -> String {
    flags::help("gemini [options] [command]", FLAGS)
}

fn message(error: &FlagError) -> String {
    match error {
        FlagError::Unknown(name) => {
            let name = name.trim_start_matches('-');
            format!("Unknown argument: {}", name.split('=').next().unwrap_or(name))
        }
        FlagError::NoValue(flag) => {
            let letter = flag.short.map(String::from);
            format!("Not enough arguments following: {}", letter.unwrap_or_else(|| flag.name[2..].to_owned()))
        }
        FlagError::BadValue(flag, value) => {
            format!("Invalid values:\n  Argument: {}, Given: \"{value}\"", flag.name.trim_start_matches('-'))
        }
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
    let flags = flags::parse(FLAGS, &invocation.argv).unwrap_or_default();
    let prompt = flags.last("--prompt").unwrap_or_default();
    if signal == Signal::Terminate && script.answer(prompt).ignores_term {
        return false;
    }
    match (common::phase(done), signal) {
        (Some(_), Signal::Interrupt | Signal::Terminate) => pen.exit(0),
        _ => pen.die(signal),
    }
    true
}

struct GeminiForm<'run> {
    run: Run<'run>,
    flags: Parsed,
    calls: u32,
}

impl GeminiForm<'_> {
    fn format(&self) -> &str {
        self.flags.last("--output-format").unwrap_or("text")
    }

    fn event(&self, pen: &mut Pen, kind: &str, mut members: Value) {
        if self.format() == "stream-json" {
            let mut event = json!({"type": kind, "timestamp": pen.now()});
            if let (Some(event), Some(members)) = (event.as_object_mut(), members.as_object_mut()) {
                event.append(members);
            }
            line(pen, &event);
        }
    }

    fn mode(&self) -> &str {
        if self.flags.has("--yolo") {
            "yolo"
        } else {
            self.flags.last("--approval-mode").unwrap_or("default")
        }
    }

    fn tool_id(tool: &Tool, number: usize) -> String {
        format!("{0}__{0}_{number}", tool.name)
    }

    fn stats(&self, pen: &Pen) -> Value {
        let usage = &self.run.answer.usage;
        json!({"total_tokens": self.run.tokens(), "input_tokens": usage.input_tokens,
            "output_tokens": usage.output_tokens, "cached": 0, "input": usage.input_tokens,
            "duration_ms": pen.elapsed_ms(), "tool_calls": self.calls})
    }
}

impl Form for GeminiForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        self.run.stores(pen, "user", prompt);
        let init = json!({"session_id": self.run.session, "model": self.run.model});
        self.event(pen, "init", init);
        self.event(pen, "message", json!({"role": "user", "content": prompt}));
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        let allowed = match (ToolKind::of(&tool.name), self.mode()) {
            (ToolKind::Read, _) | (_, "yolo") | (ToolKind::Write, "auto_edit") => true,
            _ => self.flags.listed("--allowed-tools").contains(&tool.name),
        };
        // A headless run does not offer the model what it would have to ask for.
        if allowed { Verdict::Runs } else { Verdict::Missing }
    }

    fn begins(&mut self, pen: &mut Pen, number: usize, tool: &Tool) {
        self.calls += 1;
        let call = json!({"tool_name": tool.name, "tool_id": Self::tool_id(tool, number),
            "parameters": {"command": command(tool)}});
        self.event(pen, "tool_use", call);
    }

    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict) {
        let id = Self::tool_id(tool, number);
        if *verdict == Verdict::Runs {
            let result = json!({"tool_id": id, "status": "success", "output": tool.prints});
            return self.event(pen, "tool_result", result);
        }
        let text = format!("Tool \"{}\" not found.", tool.name);
        let result = json!({"tool_id": id, "status": "error", "output": text,
            "error": {"type": "tool_not_registered", "message": text}});
        self.event(pen, "tool_result", result);
        pen.err(format!("Error executing tool {}: {text}\n", tool.name));
    }

    fn streams(&mut self, pen: &mut Pen, piece: &str) {
        if self.format() == "text" {
            pen.out(piece);
        }
        self.event(pen, "message", json!({"role": "assistant", "content": piece, "delta": true}));
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        self.run.stores(pen, "assistant", text);
        let stats = self.stats(pen);
        match self.format() {
            "text" => pen.out("\n"),
            "json" => {
                let whole = json!({"session_id": self.run.session, "response": text, "stats": stats});
                pen.out(format!("{whole:#}\n"));
            }
            _ => self.event(pen, "result", json!({"status": "success", "stats": stats})),
        }
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        let retries = if matches!(failure.status, 0 | 429 | 500..=599) { RETRIES_MS.as_slice() } else { &[] };
        for pause_ms in retries {
            pen.wait(failure.retry_ms.unwrap_or(*pause_ms));
        }
        let words = match failure.status {
            0 | 404 => failure.message.clone(),
            code => json!({"error": {"code": code, "message": failure.message}}).to_string(),
        };
        let text = format!("[API Error: {words}]");
        let error = json!({"type": "unknown", "message": text});
        match self.format() {
            "json" => {
                let whole = json!({"session_id": self.run.session, "error": error});
                pen.err(format!("{whole:#}\n"));
            }
            "stream-json" => {
                let stats = self.stats(pen);
                self.event(pen, "result", json!({"status": "error", "error": error, "stats": stats}));
                pen.err(format!("{text}\n"));
                // The program ends with the status; the system keeps its last eight bits.
                let status = failure.status.to_le_bytes()[0];
                return Some(if matches!(failure.status, 0 | 404) { 1 } else { status });
            }
            _ => pen.err(format!("{text}\nAn unexpected critical error occurred:[object Object]\n")),
        }
        Some(1)
    }

    fn closes(&mut self, _pen: &mut Pen, _answer: &Answer, _code: u8) {}

    fn is_json(&self) -> bool {
        self.format() == "stream-json"
    }

    fn may_write(&self, path: &Path) -> bool {
        matches!(self.mode(), "yolo" | "auto_edit") && self.run.is_inside(path)
    }
}
