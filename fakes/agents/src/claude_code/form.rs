//! How Claude Code shows a turn: as text, as one object, or as JSON lines.

use std::path::Path;

use serde_json::{Value, json};

use crate::act::Phase;
use crate::common::{Run, command, line};
use crate::pen::Pen;
use crate::script::{Answer, Failure, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{Form, Verdict};

use super::args::{Args, Output};

const NOT_SIGNED_IN: &str = "Not logged in · Please run /login";
const TOOLS: [&str; 6] = ["Task", "Bash", "Edit", "Read", "WebFetch", "Write"];
/// The pauses before the retries of a provider that fails, in milliseconds.
const RETRIES_MS: [u64; 10] = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 32_000, 32_000, 32_000];

/// A turn of `claude -p`.
pub(super) struct ClaudeForm<'run> {
    run: Run<'run>,
    args: Args,
    messages: u32,
    turns: u32,
    denials: Vec<Value>,
    streams: bool,
}

impl<'run> ClaudeForm<'run> {
    /// A turn that has not begun.
    pub(super) fn new(run: Run<'run>, args: Args) -> Self {
        Self { run, args, messages: 0, turns: 1, denials: Vec::new(), streams: false }
    }

    /// It is not signed in.
    pub(super) fn not_signed_in(&mut self, pen: &mut Pen, prompt: &str) {
        self.opens(pen, prompt);
        self.refused(pen, NOT_SIGNED_IN, "authentication_failed", None);
        pen.exit(1);
    }

    /// SIGINT ended it. The text form has nothing, and all of it is a success by the exit code.
    pub(super) fn interrupted(&mut self, pen: &mut Pen, phase: Phase) {
        let note = |text: &str| {
            json!({"type": "user", "message": {"role": "user",
            "content": [{"type": "text", "text": text}]}, "parent_tool_use_id": null})
        };
        if let Phase::Tool(number) = phase {
            self.tool_cancelled(pen, number);
            self.event(pen, note("[Request interrupted by user for tool use]"));
        } else {
            let text = crate::turn::text(&self.run.answer, "", "");
            self.message(pen, &json!([{"type": "text", "text": text}]));
            self.event(pen, note("[Request interrupted by user]"));
        }
        let result = json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
            "duration_ms": pen.elapsed_ms(), "duration_api_ms": 0, "num_turns": self.turns + 1,
            "stop_reason": null, "session_id": self.run.session, "total_cost_usd": 0.0,
            "usage": {"input_tokens": 0, "output_tokens": 0}, "modelUsage": {},
            "permission_denials": self.denials, "terminal_reason": "aborted_streaming",
            "errors": ["[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=null"],
            "uuid": pen.uuid()});
        if self.args.form != Output::Text {
            line(pen, &result);
        }
    }

    /// What is told of a tool that a signal ended.
    pub(super) fn tool_cancelled(&self, pen: &mut Pen, number: usize) {
        let event = json!({"type": "user", "message": {"role": "user", "content": [{
            "tool_use_id": format!("toolu_{}", number + 1), "type": "tool_result", "is_error": true,
            "content": "The user doesn't want to proceed with this tool use."}]}, "parent_tool_use_id": null});
        self.event(pen, event);
    }

    fn event(&self, pen: &mut Pen, mut event: Value) {
        if self.args.form == Output::Lines {
            event["session_id"] = self.run.session.clone().into();
            event["uuid"] = pen.uuid().into();
            line(pen, &event);
        }
    }

    fn message(&mut self, pen: &mut Pen, content: &Value) {
        self.messages += 1;
        let usage = &self.run.answer.usage;
        let event = json!({"type": "assistant", "message": {"id": format!("msg_{}", self.messages),
            "type": "message", "role": "assistant", "model": self.run.model, "stop_sequence": null,
            "content": content, "stop_reason": null,
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}},
            "parent_tool_use_id": null});
        self.event(pen, event);
    }

    fn partial(&self, pen: &mut Pen, event: &Value) {
        if self.args.partial {
            self.event(pen, json!({"type": "stream_event", "event": event, "parent_tool_use_id": null}));
        }
    }

    /// The provider's refusal is an answer that is marked as an error. The text form has it on stdout.
    fn refused(&self, pen: &mut Pen, text: &str, kind: &str, status: Option<u16>) {
        let event = json!({"type": "assistant", "message": {"id": pen.uuid(), "model": "<synthetic>",
            "role": "assistant", "stop_reason": "stop_sequence", "stop_sequence": "", "type": "message",
            "usage": {"input_tokens": 0, "output_tokens": 0},
            "content": [{"type": "text", "text": text}]}, "parent_tool_use_id": null, "error": kind,
            "is_api_error_message": true});
        self.event(pen, event);
        self.result(pen, text, true, status);
    }

    fn result(&self, pen: &mut Pen, text: &str, is_error: bool, status: Option<u16>) {
        let usage = &self.run.answer.usage;
        let reason = if is_error { "api_error" } else { "completed" };
        let result = json!({"type": "result", "subtype": "success", "is_error": is_error,
            "api_error_status": status, "duration_ms": pen.elapsed_ms(), "duration_api_ms": 0,
            "num_turns": self.turns, "result": text, "session_id": self.run.session, "total_cost_usd": 0.0,
            "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
            "modelUsage": {}, "permission_denials": self.denials, "terminal_reason": reason,
            "uuid": pen.uuid()});
        match self.args.form {
            Output::Text => pen.out(format!("{text}\n")),
            Output::One | Output::Lines => line(pen, &result),
        }
    }

    fn listed(&self, names: [&str; 2], tool: &str) -> bool {
        let values = names.iter().flat_map(|name| self.args.flags.listed(name));
        let rules: Vec<String> = values.collect();
        rules.iter().any(|rule| rule.split('(').next() == Some(tool))
    }
}

/// What is printed for a session that is not there, where the output is JSON lines.
pub(super) fn unknown_session(pen: &mut Pen, args: &Args, text: &str) {
    let session = args.flags.last("--resume").unwrap_or_default();
    let result = json!({"type": "result", "subtype": "error_during_execution", "duration_ms": 0,
        "duration_api_ms": 0, "is_error": true, "num_turns": 0, "stop_reason": null, "session_id": session,
        "total_cost_usd": 0, "usage": {"input_tokens": 0, "output_tokens": 0}, "modelUsage": {},
        "permission_denials": [], "uuid": pen.uuid(), "errors": [text]});
    line(pen, &result);
}

impl Form for ClaudeForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        self.run.stores(pen, "user", prompt);
        let key = self.run.invocation.variable("ANTHROPIC_API_KEY").is_some();
        let event = json!({"type": "system", "subtype": "init", "cwd": self.run.invocation.folder,
            "tools": TOOLS, "mcp_servers": [], "model": self.run.model, "permissionMode": self.args.mode,
            "slash_commands": [], "apiKeySource": if key { "ANTHROPIC_API_KEY" } else { "none" },
            "claude_code_version": self.run.script.version(), "output_style": "default", "agents": [],
            "skills": [], "plugins": []});
        self.event(pen, event);
        if self.args.partial {
            self.event(pen, json!({"type": "system", "subtype": "status", "status": "requesting"}));
        }
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        let name = tool.name.as_str();
        let offered = self.args.flags.listed("--tools");
        let kind = ToolKind::of(name);
        if self.listed(["--disallowedTools", "--disallowed-tools"], name)
            || self.args.flags.has("--restricted") && kind == ToolKind::Shell
            || self.args.flags.has("--tools") && !offered.iter().any(|one| one == name || one == "default")
        {
            return Verdict::Missing;
        }
        let edits = matches!(self.args.mode.as_str(), "acceptEdits") && kind == ToolKind::Write;
        let allowed = self.args.mode == "bypassPermissions"
            || kind == ToolKind::Read
            || edits
            || self.listed(["--allowedTools", "--allowed-tools"], name);
        if allowed { Verdict::Runs } else { Verdict::NobodyToAsk }
    }

    fn begins(&mut self, pen: &mut Pen, number: usize, tool: &Tool) {
        let id = format!("toolu_{}", number + 1);
        let content = json!([{"type": "tool_use", "id": id, "name": tool.name,
            "input": {"command": command(tool)}}]);
        self.message(pen, &content);
    }

    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict) {
        self.turns += 1;
        let id = format!("toolu_{}", number + 1);
        let (text, is_error) = match verdict {
            Verdict::Runs => (tool.prints.clone(), false),
            Verdict::Missing => (
                format!("<tool_use_error>Error: No such tool available: {}</tool_use_error>", tool.name),
                true,
            ),
            Verdict::NobodyToAsk | Verdict::Forbidden(_) | Verdict::Blocked => {
                let text = format!("{} needs approval, and nobody can be asked for it.", tool.name);
                let denial = json!({"tool_name": tool.name, "tool_use_id": id,
                    "tool_input": {"command": command(tool)}});
                self.denials.push(denial);
                let event = json!({"type": "system", "subtype": "permission_denied",
                    "tool_name": tool.name, "tool_use_id": id, "message": text});
                self.event(pen, event);
                (text, true)
            }
        };
        let event = json!({"type": "user", "message": {"role": "user", "content": [{"tool_use_id": id,
            "type": "tool_result", "content": text, "is_error": is_error}]}, "parent_tool_use_id": null});
        self.event(pen, event);
    }

    fn streams(&mut self, pen: &mut Pen, piece: &str) {
        // The text form has nothing before the end.
        if self.args.partial && !self.streams {
            self.streams = true;
            let start = json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}});
            self.partial(pen, &start);
        }
        let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}});
        self.partial(pen, &delta);
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        self.run.stores(pen, "assistant", text);
        self.message(pen, &json!([{"type": "text", "text": text}]));
        if self.streams {
            self.partial(pen, &json!({"type": "content_block_stop", "index": 0}));
            let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}});
            self.partial(pen, &delta);
            self.partial(pen, &json!({"type": "message_stop"}));
        }
        self.result(pen, text, false, None);
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        let retries = match failure.status {
            0 | 401 | 429 | 500..=599 => RETRIES_MS.as_slice(),
            _ => &[],
        };
        let words = format!("API Error: {} {}", failure.status, failure.message);
        let (text, kind) = match failure.status {
            0 => ("API Error: Connection error.".to_owned(), "unknown"),
            401 | 403 => (format!("Failed to authenticate. {words}"), "authentication_failed"),
            400 => (words, "billing_error"),
            404 => (
                format!(
                    "There's an issue with the selected model ({}). It may not exist or you may not have access to it. Run --model to pick a different model.",
                    self.run.model
                ),
                "model_not_found",
            ),
            429 => (format!("API Error: Request rejected (429) · {}", failure.message), "rate_limit"),
            402 => (words, "unknown"),
            _ => (words, "server_error"),
        };
        let status = Some(failure.status).filter(|status| *status != 0);
        for (number, pause_ms) in retries.iter().enumerate() {
            let pause_ms = failure.retry_ms.unwrap_or(*pause_ms);
            let event = json!({"type": "system", "subtype": "api_retry", "attempt": number + 1,
                "max_retries": retries.len(), "retry_delay_ms": pause_ms, "error_status": status,
                "error": kind});
            self.event(pen, event);
            pen.wait(pause_ms);
        }
        self.refused(pen, &text, kind, status);
        Some(1)
    }

    fn closes(&mut self, _pen: &mut Pen, _answer: &Answer, _code: u8) {}

    fn is_json(&self) -> bool {
        self.args.form == Output::Lines
    }

    fn may_write(&self, path: &Path) -> bool {
        let write = Tool { name: "Write".to_owned(), takes_ms: 0, prints: String::new() };
        let anywhere = self.args.mode == "bypassPermissions"
            || self.listed(["--allowedTools", "--allowed-tools"], "Write");
        self.judges(&write) == Verdict::Runs && (anywhere || self.run.is_inside(path))
    }
}
