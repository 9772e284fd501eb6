//! opencode 1.18.33 as a program that another one starts: `opencode run`.

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

const FORMATS: &[&str] = &["default", "json"];
const NO_PROMPT: &str = "You must provide a message or a command";

const FLAGS: &[Flag] = &[
    Flag::switch("--help").short('h'),
    Flag::switch("--version").short('v'),
    Flag::switch("--print-logs"),
    Flag::of("--log-level", "", &["DEBUG", "INFO", "WARN", "ERROR"]),
    Flag::switch("--pure"),
    Flag::one("--command", ""),
    Flag::switch("--continue").short('c'),
    Flag::one("--session", "").short('s'),
    Flag::switch("--fork"),
    Flag::switch("--share"),
    Flag::one("--model", "").short('m'),
    Flag::one("--agent", ""),
    Flag::of("--format", "", FORMATS),
    Flag::many("--file", "").short('f'),
    Flag::one("--title", ""),
    Flag::one("--attach", ""),
    Flag::one("--password", "").short('p'),
    Flag::one("--username", "").short('u'),
    Flag::one("--dir", ""),
    Flag::one("--port", ""),
    Flag::one("--variant", ""),
    Flag::switch("--thinking"),
    Flag::switch("--interactive").short('i'),
    Flag::switch("--auto"),
];

/// Writes down what `opencode` does with a command line.
pub(crate) fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    match invocation.argv.first().map(String::as_str) {
        Some("run") => run(script, invocation, outside, pen),
        Some("--version" | "-v") => {
            pen.out(format!("{}\n", script.version()));
            pen.exit(0);
        }
        Some("models") => {
            for model in &script.models {
                pen.out(format!("{model}\n"));
            }
            pen.exit(0);
        }
        Some("session") => {
            for id in common::sessions(outside, "sessions") {
                pen.out(format!("{id}\n"));
            }
            pen.exit(0);
        }
        Some("auth") => {
            let count = u8::from(script.signed_in);
            pen.out(format!(
                "┌  Credentials ~/.local/share/opencode/auth.json\n│\n└  {count} credentials\n\n"
            ));
            pen.exit(0);
        }
        _ => {
            pen.enter(crate::act::Phase::Terminal);
            pen.out("\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J\u{1b}[H");
            pen.push(Act::Hang);
        }
    }
}

fn run(script: &Script, invocation: &Invocation, outside: &dyn Outside, pen: &mut Pen) {
    let flags = match flags::parse(FLAGS, invocation.argv.get(1..).unwrap_or_default()) {
        Ok(flags) => flags,
        Err(error) => {
            let usage = flags::help("opencode run [message..]", FLAGS);
            pen.err(format!("{usage}\n{}\n", message(&error)));
            return pen.exit(1);
        }
    };
    if flags.has("--help") {
        pen.err(flags::help("opencode run [message..]", FLAGS));
        return pen.exit(0);
    }
    if let Some(folder) = flags.last("--dir")
        && outside.kind(&invocation.folder.join(folder)) != PathKind::Folder
    {
        return refuse(pen, &format!("Failed to change directory to {folder}"), 1);
    }
    // The words are one message; one with a space in it reaches the model in quotes.
    let words = flags.words.iter().map(|word| {
        if word.contains(' ') { format!("\"{}\"", word.replace('"', "\\\"")) } else { word.clone() }
    });
    let words: Vec<String> = words.collect();
    let argument = (!words.is_empty()).then(|| words.join(" "));
    let join = |argument: &str, read: &str| format!("{argument}\n{read}");
    let prompt = match common::prompt(argument.as_deref(), invocation, None, join) {
        Prompt::Known(prompt) => prompt,
        Prompt::Read(act) => return pen.push(act),
    };
    if prompt.trim().is_empty() {
        return refuse(pen, NO_PROMPT, 1);
    }
    let known = common::sessions(outside, "sessions");
    let session = match flags.last("--session") {
        Some(id) if known.iter().any(|known| known == id) => id.to_owned(),
        Some(_) => return refuse(pen, &error("Session not found"), 1),
        None if flags.has("--continue") && !known.is_empty() => known.last().cloned().unwrap_or_default(),
        None => format!("ses_{}", &pen.uuid().replace('-', "")[..26]),
    };
    if let Some(asked) = flags.last("--model")
        && !script.models.is_empty()
        && !script.models.iter().any(|model| model == asked)
    {
        let data = json!({"message": "Unexpected server error. Check server logs for details."});
        let unknown = json!({"name": "UnknownError", "data": data});
        if flags.last("--format") == Some("json") {
            let event =
                json!({"type": "error", "timestamp": pen.unix_ms(), "sessionID": session, "error": unknown});
            line(pen, &event);
            return pen.exit(1);
        }
        return refuse(pen, &error(&format!("{unknown:#}")), 1);
    }
    let answer = script.answer(&prompt);
    let model = common::model(script, flags.last("--model"), "opencode/big-pickle").to_owned();
    let file = format!("sessions/{session}.jsonl");
    let folders = Vec::new();
    let run = Run { script, invocation, answer: answer.clone(), model, session, file, folders };
    let mut form = OpencodeForm { run, flags, parts: 0 };
    turn::play(pen, &mut form, invocation, &answer, &prompt);
}

fn message(error: &FlagError) -> String {
    match error {
        FlagError::Unknown(name) => format!("Unknown argument: {}", name.trim_start_matches('-')),
        FlagError::NoValue(flag) => {
            format!("Not enough arguments following: {}", flag.name.trim_start_matches('-'))
        }
        FlagError::BadValue(flag, value) => {
            format!("Invalid values:\n  Argument: {}, Given: \"{value}\"", flag.name.trim_start_matches('-'))
        }
    }
}

/// How an error looks on stderr.
fn error(text: &str) -> String {
    format!("\u{1b}[91m\u{1b}[1mError: \u{1b}[0m{text}")
}

/// Writes down what a signal makes of it. Whether it does anything.
pub(crate) fn interrupted(
    script: &Script,
    invocation: &Invocation,
    _done: &[Act],
    signal: Signal,
    pen: &mut Pen,
) -> bool {
    let flags = flags::parse(FLAGS, invocation.argv.get(1..).unwrap_or_default()).unwrap_or_default();
    if signal == Signal::Terminate && script.answer(&flags.words.join(" ")).ignores_term {
        return false;
    }
    pen.die(signal);
    true
}

struct OpencodeForm<'run> {
    run: Run<'run>,
    flags: Parsed,
    parts: u32,
}

impl OpencodeForm<'_> {
    fn part(&mut self, pen: &mut Pen, kind: &str, part: &Value) {
        if self.is_json() {
            self.parts += 1;
            let mut part = part.clone();
            part["id"] = format!("prt_{}", self.parts).into();
            part["messageID"] = "msg_1".into();
            part["sessionID"] = self.run.session.clone().into();
            let event = json!({"type": kind, "timestamp": pen.unix_ms(), "sessionID": self.run.session,
                "part": part});
            line(pen, &event);
        }
    }

    fn step_starts(&mut self, pen: &mut Pen) {
        self.part(pen, "step_start", &json!({"type": "step-start"}));
    }

    fn step_ends(&mut self, pen: &mut Pen, reason: &str) {
        let usage = &self.run.answer.usage;
        let tokens = json!({"total": self.run.tokens(), "input": usage.input_tokens,
            "output": usage.output_tokens, "reasoning": 0, "cache": {"write": 0, "read": 0}});
        let part = json!({"type": "step-finish", "reason": reason, "tokens": tokens, "cost": 0});
        self.part(pen, "step_finish", &part);
    }

    /// Whether its agent may not edit.
    fn plans_only(&self) -> bool {
        self.flags.last("--agent") == Some("plan")
    }

    /// What the configuration in the environment says of a permission.
    fn rule(&self, name: &str) -> Option<String> {
        let config = self.run.invocation.variable("OPENCODE_CONFIG_CONTENT")?;
        let config: Value = serde_json::from_str(config).ok()?;
        let rules = &config["permission"];
        let rule = rules.get(name).or_else(|| rules.get("*")).or(Some(rules))?;
        rule.as_str().map(str::to_owned)
    }
}

impl Form for OpencodeForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        self.run.stores(pen, "user", prompt);
        if !self.is_json() {
            let model = self.run.model.rsplit('/').next().unwrap_or_default();
            pen.err(format!("\u{1b}[0m\n> build · {model}\n\u{1b}[0m\n"));
        }
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        let name = if ToolKind::of(&tool.name) == ToolKind::Write { "edit" } else { tool.name.as_str() };
        if self.plans_only() && name == "edit" {
            return Verdict::Forbidden("edit".to_owned());
        }
        match self.rule(name).as_deref() {
            Some("deny") => Verdict::Missing,
            Some("ask") if !self.flags.has("--auto") => Verdict::NobodyToAsk,
            _ => Verdict::Runs,
        }
    }

    fn begins(&mut self, pen: &mut Pen, _number: usize, _tool: &Tool) {
        self.step_starts(pen);
    }

    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict) {
        let call = format!("call_{}", number + 1);
        let input = json!({"command": command(tool)});
        let (name, state) = match verdict {
            Verdict::Runs => (
                tool.name.as_str(),
                json!({"status": "completed", "input": input, "output": format!("{}\n", tool.prints),
                    "metadata": {"exit": 0}, "title": command(tool)}),
            ),
            Verdict::Missing => {
                let text = format!("Model tried to call unavailable tool '{}'.", tool.name);
                (
                    "invalid",
                    json!({"status": "completed", "input": {"tool": tool.name, "error": text},
                    "output": format!("The arguments provided to the tool are invalid: {text}")}),
                )
            }
            Verdict::NobodyToAsk | Verdict::Forbidden(_) | Verdict::Blocked => {
                let text = "The user rejected permission to use this specific tool call.";
                (tool.name.as_str(), json!({"status": "error", "input": input, "error": text}))
            }
        };
        let part = json!({"type": "tool", "tool": name, "callID": call, "state": state});
        self.part(pen, "tool_use", &part);
        self.step_ends(pen, "tool-calls");
    }

    fn streams(&mut self, _pen: &mut Pen, _piece: &str) {
        // Nothing comes before the answer is complete.
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        self.run.stores(pen, "assistant", text);
        self.step_starts(pen);
        self.part(pen, "text", &json!({"type": "text", "text": text}));
        self.step_ends(pen, "stop");
        if !self.is_json() {
            pen.out(format!("{text}\n"));
        }
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        let shown = json!({"name": "APIError", "data": {"message": failure.message,
            "statusCode": failure.status, "isRetryable": false}});
        if self.is_json() {
            let event = json!({"type": "error", "timestamp": pen.unix_ms(), "sessionID": self.run.session,
                "error": shown});
            line(pen, &event);
        } else {
            pen.err(format!("{}\n", error(&failure.message)));
        }
        Some(1)
    }

    fn closes(&mut self, _pen: &mut Pen, _answer: &Answer, _code: u8) {}

    fn is_json(&self) -> bool {
        self.flags.last("--format") == Some("json")
    }

    fn may_write(&self, path: &Path) -> bool {
        !self.plans_only()
            && self.rule("edit").as_deref() != Some("deny")
            && (self.flags.has("--auto") || self.run.is_inside(path))
    }
}
