//! Qwen Code 0.24.4 as a program that another one starts: `qwen -p`. Its JSON is that of Claude Code with fewer members.

use std::path::Path;

use serde_json::{Value, json};

use crate::act::{Act, Signal};
use crate::common::{self, Prompt, Run, command, line, refuse};
use crate::flags::{self, Flag, FlagError, Parsed};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::{Answer, Failure, Script, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{self, Form, Verdict};

/// How long it waits for stdin where the command line has a prompt.
const STDIN_PATIENCE_MS: u64 = 500;
/// Most bytes of a prompt that is all ASCII, about: the limit is one of tokens.
const PROMPT_BYTES_MAX: usize = 4 * 174_696;
/// The pauses before the retries of a provider that limits, in milliseconds. Only the first two were seen.
const RETRIES_MS: [u64; 10] =
    [60_000, 120_000, 120_000, 120_000, 120_000, 120_000, 120_000, 120_000, 120_000, 120_000];
const FORMATS: &[&str] = &["text", "json", "stream-json"];
const MODES: &[&str] = &["plan", "default", "auto-edit", "auto", "yolo"];
const NO_AUTH: &str = "No auth type is selected. Please configure an auth type (e.g. via settings or `--auth-type`) before running in non-interactive mode.";
const NO_PROMPT: &str = "No input provided via stdin. Input can be provided by piping data into gemini or using the --prompt option.";

const FLAGS: &[Flag] = &[
    Flag::switch("--debug").short('d'),
    Flag::switch("--bare"),
    Flag::switch("--safe-mode"),
    Flag::one("--proxy", ""),
    Flag::switch("--insecure"),
    Flag::maybe("--chat-recording", ""),
    Flag::one("--model", "").short('m'),
    Flag::one("--fallback-model", ""),
    Flag::one("--prompt", "").short('p'),
    Flag::one("--prompt-interactive", "").short('i'),
    Flag::one("--system-prompt", ""),
    Flag::one("--append-system-prompt", ""),
    Flag::one("--output-style", ""),
    Flag::switch("--sandbox").short('s'),
    Flag::switch("--yolo").short('y'),
    Flag::of("--approval-mode", "", MODES),
    Flag::switch("--acp"),
    Flag::one("--channel", ""),
    Flag::many("--allowed-mcp-server-names", ""),
    Flag::many("--mcp-config", ""),
    Flag::many("--allowed-tools", ""),
    Flag::many("--extensions", "").short('e'),
    Flag::switch("--list-extensions").short('l'),
    Flag::many("--include-directories", ""),
    Flag::many("--add-dir", ""),
    Flag::one("--openai-api-key", ""),
    Flag::one("--openai-base-url", ""),
    Flag::switch("--screen-reader"),
    Flag::one("--input-format", ""),
    Flag::of("--output-format", "", FORMATS).short('o'),
    Flag::switch("--include-partial-messages"),
    Flag::one("--json-schema", ""),
    Flag::switch("--continue").short('c'),
    Flag::maybe("--resume", "").short('r'),
    Flag::one("--session-id", ""),
    Flag::switch("--fork-session"),
    Flag::one("--max-session-turns", ""),
    Flag::one("--max-wall-time", ""),
    Flag::one("--max-tool-calls", ""),
    Flag::many("--core-tools", ""),
    Flag::many("--exclude-tools", ""),
    Flag::one("--auth-type", ""),
    Flag::switch("--version").short('v'),
    Flag::switch("--help").short('h'),
];

/// Writes down what `qwen` does with a command line.
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
    if !script.signed_in && invocation.variable("OPENAI_API_KEY").is_none() {
        if flags.last("--output-format") == Some("stream-json") {
            let result = json!({"type": "result", "subtype": "error_during_execution", "uuid": pen.uuid(),
                "session_id": pen.uuid(), "is_error": true, "duration_ms": 0, "duration_api_ms": 0,
                "num_turns": 0, "usage": {"input_tokens": 0, "output_tokens": 0}, "permission_denials": [],
                "error": {"message": NO_AUTH}});
            line(pen, &result);
            return pen.exit(1);
        }
        return refuse(pen, NO_AUTH, 1);
    }
    // A word after `--` is not taken for the prompt.
    let word = flags.words.first().filter(|_| flags.plain_words > 0);
    let argument = flags.last("--prompt").or(word.map(String::as_str));
    let argument = argument.filter(|argument| !argument.is_empty());
    let join = |argument: &str, read: &str| format!("{read}\n\n{argument}");
    let prompt = match common::prompt(argument, invocation, Some(STDIN_PATIENCE_MS), join) {
        Prompt::Known(prompt) => prompt,
        Prompt::Read(act) => return pen.push(act),
    };
    if prompt.trim().is_empty() {
        return refuse(pen, NO_PROMPT, 1);
    }
    if prompt.len() > PROMPT_BYTES_MAX {
        let text = format!(
            "[API Error: Context is too large to send safely after automatic compression. Estimated prompt tokens: {}; hard limit: 177000; compression status: NOOP. Start a new session or reduce the resumed history before continuing.]",
            prompt.len() / 4 + 2_304
        );
        return refuse(pen, &text, 1);
    }
    let known = common::sessions(outside, &common::project(invocation));
    let session = match (flags.last("--resume"), flags.last("--session-id")) {
        (Some(id), _) if known.iter().any(|known| known == id) => id.to_owned(),
        (Some(id), _) => {
            return refuse(
                pen,
                &format!(
                    "No saved session found with ID {id}. Run `qwen --resume` without an ID to choose from existing sessions."
                ),
                1,
            );
        }
        (None, Some(id)) if !common::is_uuid(id) => {
            return refuse(
                pen,
                &format!(
                    "Invalid --session-id: \"{id}\". Must be a valid UUID (e.g., \"123e4567-e89b-12d3-a456-426614174000\").\n{}",
                    usage()
                ),
                1,
            );
        }
        (None, Some(id)) if known.iter().any(|known| known == id) => {
            return refuse(
                pen,
                &format!(
                    "Error: Session Id {id} already exists (active or archived). Delete or unarchive it first."
                ),
                1,
            );
        }
        (None, Some(id)) => id.to_owned(),
        (None, None) if flags.has("--continue") => known.last().cloned().unwrap_or_else(|| pen.uuid()),
        (None, None) => pen.uuid(),
    };
    let answer = script.answer(&prompt);
    let model = common::model(script, flags.last("--model"), "qwen3-coder-plus").to_owned();
    let mut folders = flags.listed("--include-directories");
    folders.extend(flags.listed("--add-dir"));
    let folders = folders.iter().map(Into::into).collect();
    let file = format!("{}/{session}.jsonl", common::project(invocation));
    let run = Run { script, invocation, answer: answer.clone(), model, session, file, folders };
    let mut form = QwenForm { run, flags, turns: 1, shown: Vec::new() };
    turn::play(pen, &mut form, invocation, &answer, &prompt);
}

fn usage() -> String {
    flags::help("qwen [options] [command]", FLAGS)
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
    _done: &[Act],
    signal: Signal,
    pen: &mut Pen,
) -> bool {
    let flags = flags::parse(FLAGS, &invocation.argv).unwrap_or_default();
    let prompt = flags.last("--prompt").unwrap_or_default();
    if signal == Signal::Terminate && script.answer(prompt).ignores_term {
        return false;
    }
    pen.die(signal);
    true
}

struct QwenForm<'run> {
    run: Run<'run>,
    flags: Parsed,
    turns: u32,
    /// The messages so far, which the form with one object has too.
    shown: Vec<Value>,
}

impl QwenForm<'_> {
    fn format(&self) -> &str {
        self.flags.last("--output-format").unwrap_or("text")
    }

    fn mode(&self) -> &str {
        if self.flags.has("--yolo") { "yolo" } else { self.flags.last("--approval-mode").unwrap_or("auto") }
    }

    fn event(&mut self, pen: &mut Pen, mut event: Value) {
        event["session_id"] = self.run.session.clone().into();
        event["uuid"] = pen.uuid().into();
        match self.format() {
            "stream-json" => line(pen, &event),
            "json" => self.shown.push(event),
            _ => {}
        }
    }

    fn message(&mut self, pen: &mut Pen, content: &Value, reason: &Value) {
        let usage = json!({"input_tokens": self.run.answer.usage.input_tokens,
            "output_tokens": self.run.answer.usage.output_tokens, "cache_read_input_tokens": 0,
            "total_tokens": self.run.tokens()});
        let event = json!({"type": "assistant", "parent_tool_use_id": null, "message": {"id": pen.uuid(),
            "type": "message", "role": "assistant", "model": self.run.model, "content": content,
            "stop_reason": reason, "usage": usage}});
        self.event(pen, event);
    }

    fn result(&mut self, pen: &mut Pen, mut result: Value) {
        result["duration_ms"] = pen.elapsed_ms().into();
        result["num_turns"] = self.turns.into();
        result["permission_denials"] = json!([]);
        self.event(pen, result);
        if self.format() == "json" {
            let all = Value::Array(std::mem::take(&mut self.shown));
            line(pen, &all);
        }
    }
}

impl Form for QwenForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        self.run.stores(pen, "user", prompt);
        let event = json!({"type": "system", "subtype": "init", "cwd": self.run.invocation.folder,
            "tools": ["read_file", "grep_search", "glob"], "mcp_servers": [], "model": self.run.model,
            "permission_mode": self.mode(), "slash_commands": [],
            "qwen_code_version": self.run.script.version()});
        self.event(pen, event);
        if self.format() == "stream-json" {
            let state = json!({"v": 2, "goal": null, "activity": "idle"});
            let event = json!({"type": "stream_event", "parent_tool_use_id": null,
                "event": {"type": "goal_state", "goal_state": state}});
            self.event(pen, event);
        }
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        let allowed = match (ToolKind::of(&tool.name), self.mode()) {
            (ToolKind::Read, _) | (_, "yolo") | (ToolKind::Write, "auto-edit") => true,
            _ => self.flags.listed("--allowed-tools").contains(&tool.name),
        };
        if allowed && !self.flags.listed("--exclude-tools").contains(&tool.name) {
            Verdict::Runs
        } else {
            Verdict::Missing
        }
    }

    fn begins(&mut self, pen: &mut Pen, number: usize, tool: &Tool) {
        let content = json!([{"type": "tool_use", "id": format!("call_{}", number + 1), "name": tool.name,
            "input": {"command": command(tool)}}]);
        self.message(pen, &content, &json!("tool_use"));
    }

    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict) {
        self.turns += 1;
        let runs = *verdict == Verdict::Runs;
        let text = if runs {
            tool.prints.clone()
        } else {
            format!(
                "Tool \"{}\" not found in registry. Tools must use the exact names that are registered.",
                tool.name
            )
        };
        let event = json!({"type": "user", "parent_tool_use_id": null, "message": {"role": "user",
            "content": [{"type": "tool_result", "tool_use_id": format!("call_{}", number + 1),
            "is_error": !runs, "content": text}]}});
        self.event(pen, event);
    }

    fn streams(&mut self, pen: &mut Pen, piece: &str) {
        if self.format() == "text" {
            pen.out(piece);
        }
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        self.run.stores(pen, "assistant", text);
        if self.format() == "text" {
            pen.out("\n");
        }
        self.message(pen, &json!([{"type": "text", "text": text}]), &Value::Null);
        let usage = json!({"input_tokens": self.run.answer.usage.input_tokens,
            "output_tokens": self.run.answer.usage.output_tokens, "cache_read_input_tokens": 0,
            "total_tokens": self.run.tokens()});
        let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
            "usage": usage});
        self.result(pen, result);
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        let retries = if failure.status == 429 { RETRIES_MS.as_slice() } else { &[] };
        for (number, pause_ms) in retries.iter().enumerate() {
            let pause_ms = failure.retry_ms.unwrap_or(*pause_ms);
            let data = json!({"reason": "retry", "attempt": number + 1, "maxRetries": retries.len(),
                "delayMs": pause_ms});
            let event =
                json!({"type": "system", "subtype": "retry", "parent_tool_use_id": null, "data": data});
            self.event(pen, event);
            pen.wait(pause_ms);
        }
        let text = format!("[API Error: {} {}]", failure.status, failure.message);
        self.message(pen, &json!([{"type": "text", "text": text}]), &Value::Null);
        let result = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
            "error": {"message": text}});
        self.result(pen, result);
        if self.format() == "text" {
            pen.err(format!("{text}\n"));
        }
        Some(1)
    }

    fn closes(&mut self, _pen: &mut Pen, _answer: &Answer, _code: u8) {}

    fn is_json(&self) -> bool {
        self.format() == "stream-json"
    }

    fn may_write(&self, path: &Path) -> bool {
        // It writes outside its folder too.
        path.is_absolute() && matches!(self.mode(), "yolo" | "auto-edit")
    }
}
