//! How `copilot` shows a turn: as text, or as JSON lines.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::act::{Phase, Signal};
use crate::invocation::Invocation;
use crate::pen::Pen;
use crate::script::{Answer, Failure, Script, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{Form, Verdict};

use super::args::Args;
use super::permissions::Permissions;
use super::session::Session;
use super::store::{Events, workspace_file};
use super::version::Version;
use super::{failure, texts};

/// The widest line of a tool's box.
const BOX_COLUMNS: usize = 94;

/// A turn of `copilot`.
pub(super) struct CopilotForm<'run> {
    script: &'run Script,
    invocation: &'run Invocation,
    args: Args,
    session: Session,
    answer: Answer,
    permissions: Permissions,
    events: Events,
    turn: u32,
    user_message: String,
    interaction: String,
    message: Option<String>,
}

impl<'run> CopilotForm<'run> {
    /// A turn that has not begun.
    pub(super) fn new(
        script: &'run Script,
        invocation: &'run Invocation,
        args: Args,
        session: Session,
        answer: Answer,
    ) -> Self {
        Self {
            script,
            invocation,
            permissions: Permissions::of(&args, invocation),
            events: Events::new(&session.id, args.json, Version::of(script)),
            args,
            session,
            answer,
            turn: 0,
            user_message: String::new(),
            interaction: String::new(),
            message: None,
        }
    }

    /// A signal ended it.
    pub(super) fn aborted(&mut self, pen: &mut Pen, phase: Phase, signal: Signal) {
        let tool =
            if let Phase::Tool(number) = phase { self.answer.tools.get(number).cloned() } else { None };
        if let Some(tool) = &tool {
            self.tool_box(pen, tool, Err("Operation aborted by user"));
        }
        let activity = if tool.is_some() { "tool_call" } else { "model_call" };
        self.events.passing(pen, "agent.interrupted", json!({"activity": activity, "model": self.model()}));
        if tool.is_none() {
            self.model_finishes(pen, "cancelled");
        }
        self.events.lasting(pen, "assistant.turn_end", json!({"turnId": self.turn_id()}));
        self.events.lasting(pen, "abort", json!({"reason": "user_abort"}));
        let data = json!({"infoType": "cancellation", "message": "Operation cancelled by user"});
        self.events.passing(pen, "session.info", data);
        self.events.passing(pen, "assistant.idle", json!({"aborted": true}));
        // Runs of the program differ here: the result is there in some that were ended in an answer, never in a tool.
        let has_result = tool.is_none() && signal == Signal::Terminate;
        if has_result {
            self.result(pen, 0);
        }
        if !self.args.json && !self.args.silent {
            pen.err(texts::EXITING);
        }
        if tool.is_some() || self.args.json && !has_result {
            pen.err(texts::DISPOSED);
        }
    }

    fn call_fails(&mut self, pen: &mut Pen, failure: &Failure, shown: &failure::Shown) {
        let mut data = json!({"model": self.model(), "durationMs": 0, "errorMessage": failure.message});
        if let Some(status) = shown.status {
            data["statusCode"] = status.into();
        }
        self.events.passing(pen, "model.call_failure", data);
        self.model_finishes(pen, "error");
    }

    fn model(&self) -> &str {
        let first = self.script.models.first().map(String::as_str);
        self.args.model.as_deref().filter(|model| *model != "auto").or(first).unwrap_or("claude-sonnet-4.6")
    }

    fn turn_id(&self) -> String {
        self.turn.to_string()
    }

    fn turn_starts(&mut self, pen: &mut Pen) {
        let turn = self.turn_id();
        let data = json!({"turnId": turn, "interactionId": self.interaction});
        self.events.lasting(pen, "assistant.turn_start", data);
        let data = json!({"turnId": turn, "model": self.model()});
        self.events.passing(pen, "model.call_start", data);
    }

    fn model_finishes(&mut self, pen: &mut Pen, outcome: &str) {
        let data = json!({"turnId": self.turn_id(), "dispatchDurationMs": 0, "outcome": outcome,
            "editClassifierVersion": 1, "interactionId": self.interaction});
        self.events.passing(pen, "model.call_finished", data);
    }

    fn says(&mut self, pen: &mut Pen, text: &str, requests: &Value) {
        let message = self.message.take().unwrap_or_else(|| pen.uuid());
        let data = json!({"messageId": message, "originatingMessageId": self.user_message,
            "model": self.model(), "content": text, "toolRequests": requests,
            "interactionId": self.interaction, "turnId": self.turn_id(), "rte": false, "apiCallId": "c1"});
        self.events.lasting(pen, "assistant.message", data);
    }

    fn final_result(&mut self, pen: &mut Pen, result: &str) {
        let data = json!({"model": self.model(), "isByok": self.is_own_provider(), "result": result});
        self.events.passing(pen, "model.call_final_result", data);
    }

    fn is_own_provider(&self) -> bool {
        self.invocation.variable("COPILOT_PROVIDER_BASE_URL").is_some()
    }

    fn result(&self, pen: &mut Pen, code: u8) {
        if self.args.json {
            let usage = &self.answer.usage;
            let result = json!({"type": "result", "timestamp": pen.now(), "sessionId": self.session.id,
                "exitCode": code, "usage": {"premiumRequests": usage.premium_requests,
                "totalApiDurationMs": 0, "sessionDurationMs": pen.elapsed_ms(), "codeChanges": {
                "linesAdded": usage.lines_added, "linesRemoved": usage.lines_removed,
                "filesModified": self.changed_files()}}});
            pen.out(format!("{result}\n"));
        }
    }

    /// The files that the answer is said to have changed. The program names them by whole paths.
    fn changed_files(&self) -> Vec<PathBuf> {
        self.answer.changed_files.iter().map(|file| self.invocation.path(Path::new(file))).collect()
    }

    fn shuts_down(&mut self, pen: &mut Pen) {
        let data = json!({"shutdownType": "routine", "codeChanges": {
            "linesAdded": self.answer.usage.lines_added, "linesRemoved": self.answer.usage.lines_removed,
            "filesModified": self.changed_files()}});
        self.events.hidden(pen, "session.shutdown", data);
    }

    fn tool_box(&self, pen: &mut Pen, tool: &Tool, ended: Result<(), &str>) {
        if self.args.silent || self.args.json {
            return;
        }
        let (mark, words) = match ended {
            Ok(()) => ("●", "1 line…"),
            Err(words) => ("✗", words),
        };
        let kind = if ToolKind::of(&tool.name) == ToolKind::Shell { " (shell)" } else { "" };
        let mut text = format!("{mark} {}{kind}\n  │ {}\n  └ ", title(tool), command(tool));
        let mut column = 0;
        for word in words.split(' ') {
            if column > 0 && column + word.len() > BOX_COLUMNS {
                text.push_str("\n    ");
                column = 0;
            } else if column > 0 {
                text.push(' ');
            }
            text.push_str(word);
            column += word.chars().count() + 1;
        }
        text.push('\n');
        if words == texts::NOBODY_TO_ASK {
            text.push_str("  Approval check\n    └ ✗ Denied, no one to approve\n");
        }
        pen.out(format!("{text}\n"));
    }
}

fn title(tool: &Tool) -> String {
    format!("run {}", tool.name)
}

fn command(tool: &Tool) -> String {
    format!("{} {}", tool.name, tool.takes_ms)
}

fn arguments(tool: &Tool) -> Value {
    json!({"command": command(tool), "description": title(tool)})
}

fn call_id(number: usize) -> String {
    format!("call_{}", number + 1)
}

impl Form for CopilotForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        let context = json!({"cwd": self.invocation.folder});
        if self.session.resumed {
            let data = json!({"resumeTime": pen.now(), "selectedModel": self.model(), "context": context});
            self.events.hidden(pen, "session.resume", data);
        } else {
            let name = self.args.flags.last("--name").unwrap_or(prompt).lines().next().unwrap_or_default();
            let file = workspace_file(&self.session.id);
            let folder = self.invocation.folder.display();
            pen.store(&file, format!("id: {}\ncwd: {folder}\nname: {name}\n", self.session.id));
            let data = json!({"sessionId": self.session.id, "version": 1, "producer": "copilot-agent",
                "copilotVersion": self.script.version(), "startTime": pen.now(),
                "selectedModel": self.model(), "context": context});
            self.events.hidden(pen, "session.start", data);
        }
        self.events.passing(pen, "session.skills_loaded", json!({"skills": []}));
        if let Some(hidden) = self.permissions.hidden() {
            let data = json!({"infoType": "configuration", "message": format!("Disabled tools: {hidden}")});
            self.events.passing(pen, "session.info", data);
        }
        self.events.passing(pen, "session.mcp_servers_loaded", json!({"servers": []}));
        let model = self.model().to_owned();
        self.events.passing(pen, "session.tools_updated", json!({"model": model}));
        (self.user_message, self.interaction) = (pen.uuid(), pen.uuid());
        let sent = format!("<current_datetime>{}</current_datetime>\n\n{prompt}", pen.now());
        let data = json!({"content": prompt, "transformedContent": sent, "messageId": self.user_message,
            "supportedNativeDocumentMimeTypes": [], "delivery": "idle",
            "interactionId": self.interaction, "turnId": self.turn_id()});
        self.events.lasting(pen, "user.message", data);
        if let Some(hidden) = self.permissions.hidden()
            && !self.args.silent
            && !self.args.json
        {
            pen.out(format!("● Disabled tools: {hidden}\n\n"));
        }
        if self.permissions.plans_only() {
            self.events.lasting(pen, "session.mode_notice_delivered", json!({"mode": "plan"}));
        }
        self.turn_starts(pen);
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        self.permissions.judge(&tool.name)
    }

    fn begins(&mut self, pen: &mut Pen, number: usize, tool: &Tool) {
        let (call, arguments) = (call_id(number), arguments(tool));
        let data = json!({"toolCallId": call, "toolName": tool.name, "toolType": "function",
            "inputDelta": arguments.to_string()});
        self.events.passing(pen, "assistant.tool_call_delta", data);
        self.model_finishes(pen, "success");
        let requests = json!([{"toolCallId": call, "name": tool.name, "arguments": arguments,
            "type": "function", "intentionSummary": title(tool)}]);
        self.says(pen, "", &requests);
        let data = json!({"toolCallId": call, "toolName": tool.name, "arguments": arguments,
            "turnId": self.turn_id(), "model": self.model()});
        self.events.lasting(pen, "tool.execution_start", data);
        self.final_result(pen, "success");
    }

    fn ends(&mut self, pen: &mut Pen, number: usize, tool: &Tool, verdict: &Verdict) {
        let call = call_id(number);
        let (refusal, code) = match verdict {
            Verdict::Runs => (None, ""),
            Verdict::NobodyToAsk => (Some(texts::NOBODY_TO_ASK.to_owned()), "denied"),
            Verdict::Forbidden(rule) => (
                Some(format!("Permission to run this tool was denied due to the following rules: `{rule}`")),
                "denied",
            ),
            Verdict::Blocked => (Some(texts::blocked(&tool.name)), "denied"),
            Verdict::Missing => (Some(format!("Tool '{}' does not exist.", tool.name)), "failure"),
        };
        let mut data = json!({"toolCallId": call, "model": self.model(),
            "interactionId": self.interaction, "turnId": self.turn_id(), "rte": false});
        if let Some(text) = &refusal {
            data["success"] = false.into();
            data["error"] = json!({"message": text, "code": code});
        } else {
            let printed = format!("{}\n", tool.prints);
            if ToolKind::of(&tool.name) == ToolKind::Shell {
                let output = json!({"toolCallId": call, "stream": "stdout", "text": printed, "sequence": 0});
                self.events.passing(pen, "tool.shell_output", output);
                let partial = json!({"toolCallId": call, "partialOutput": printed});
                self.events.passing(pen, "tool.execution_partial_result", partial);
                data["shellExecution"] = json!({"exitCode": 0});
            }
            if ToolKind::of(&tool.name) == ToolKind::Write {
                let path = self.answer.writes.as_ref().map(|writes| self.invocation.path(&writes.path));
                let note = json!({"infoType": "file_created", "message": path});
                self.events.passing(pen, "session.info", note);
            }
            data["success"] = true.into();
            data["result"] = json!({"content": printed, "detailedContent": printed});
        }
        self.events.lasting(pen, "tool.execution_complete", data);
        self.tool_box(pen, tool, refusal.as_deref().map_or(Ok(()), Err));
        self.events.lasting(pen, "assistant.turn_end", json!({"turnId": self.turn_id()}));
        self.turn += 1;
        self.turn_starts(pen);
    }

    fn streams(&mut self, pen: &mut Pen, piece: &str) {
        if !self.args.json {
            pen.out(piece);
            return;
        }
        let message = if let Some(message) = &self.message {
            message.clone()
        } else {
            let message = pen.uuid();
            self.message = Some(message.clone());
            self.events.passing(pen, "assistant.message_start", json!({"messageId": message}));
            message
        };
        let data = json!({"messageId": message, "deltaContent": piece});
        self.events.passing(pen, "assistant.message_delta", data);
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        if !self.args.json && !text.is_empty() {
            pen.out("\n\n");
        }
        self.model_finishes(pen, "success");
        self.says(pen, text, &json!([]));
        self.final_result(pen, "success");
        self.events.lasting(pen, "assistant.turn_end", json!({"turnId": self.turn_id()}));
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        let shown = failure::shown(failure, self.model(), self.invocation, Version::of(self.script));
        self.call_fails(pen, failure, &shown);
        for retry_ms in &shown.retries_ms {
            pen.wait(*retry_ms);
            let data = json!({"turnId": self.turn_id(), "model": self.model(), "reason": "api_error"});
            self.events.passing(pen, "assistant.turn_retry", data);
            if let Some(note) = shown.retry_note {
                let data = json!({"infoType": "model_retry", "message": note});
                self.events.passing(pen, "session.info", data);
            }
            let data = json!({"turnId": self.turn_id(), "model": self.model()});
            self.events.passing(pen, "model.call_start", data);
            self.call_fails(pen, failure, &shown);
        }
        self.final_result(pen, if (400..500).contains(&failure.status) { "http_4xx" } else { "http_5xx" });
        self.events.lasting(pen, "assistant.turn_end", json!({"turnId": self.turn_id()}));
        let mut data = json!({"errorType": shown.kind, "message": shown.text});
        if let Some(status) = shown.status {
            data["statusCode"] = status.into();
        }
        data["originatingMessageId"] = self.user_message.clone().into();
        self.events.lasting(pen, "session.error", data);
        self.events.passing(pen, "assistant.idle", json!({}));
        self.shuts_down(pen);
        if self.args.json {
            self.result(pen, 1);
        } else {
            pen.err(format!("\n{}\n", shown.text));
        }
        Some(1)
    }

    fn closes(&mut self, pen: &mut Pen, _answer: &Answer, code: u8) {
        self.events.passing(pen, "assistant.idle", json!({}));
        self.shuts_down(pen);
        self.result(pen, code);
        if !self.args.json && !self.args.silent {
            let usage = &self.answer.usage;
            pen.err(format!(
                "\n\nChanges    +{} -{}\nDuration   {}s\nTokens     ↑ {} • ↓ {}\nResume     copilot --resume={}\n",
                usage.lines_added,
                usage.lines_removed,
                pen.elapsed_ms() / 1000,
                usage.input_tokens,
                usage.output_tokens,
                self.session.id
            ));
        }
    }

    fn is_json(&self) -> bool {
        self.args.json
    }

    fn may_write(&self, path: &Path) -> bool {
        let temporary = Path::new(self.invocation.variable("TMPDIR").unwrap_or("/tmp"));
        let inside = path.starts_with(&self.invocation.folder)
            || self.args.folders.iter().any(|folder| path.starts_with(folder))
            || path.starts_with(temporary) && !self.args.flags.has("--disallow-temp-dir");
        self.permissions.may_write() && (inside || self.permissions.has_all_paths())
    }
}
