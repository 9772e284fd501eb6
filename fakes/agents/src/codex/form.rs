//! How `codex exec` shows a turn: the answer on stdout and everything else on stderr, or JSON lines.

use std::path::Path;

use serde_json::{Value, json};

use crate::act::Act;
use crate::common::{Run, command, line};
use crate::flags::Parsed;
use crate::pen::Pen;
use crate::script::{Answer, Failure, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{Form, Verdict};

/// The pauses before the retries of a provider that refuses, in milliseconds.
const RETRIES_MS: [u64; 5] = [200, 400, 900, 1_700, 3_200];
/// The same for a provider that fails, which is asked several times before each.
const SERVER_RETRIES_MS: [u64; 5] = [4_200, 4_500, 4_900, 5_300, 5_700];

/// A turn of `codex exec`.
pub(super) struct CodexForm<'run> {
    run: Run<'run>,
    flags: Parsed,
    items: u32,
    json: bool,
    /// Whether the model is one that it has data of.
    is_known: bool,
}

impl<'run> CodexForm<'run> {
    /// A turn that has not begun.
    pub(super) fn new(run: Run<'run>, flags: Parsed, is_known: bool) -> Self {
        Self { json: flags.has("--json"), run, flags, items: 0, is_known }
    }

    fn sandbox(&self) -> &str {
        if self.flags.has("--dangerously-bypass-approvals-and-sandbox") {
            "danger-full-access"
        } else {
            self.flags.last("--sandbox").unwrap_or("read-only")
        }
    }

    fn event(&self, pen: &mut Pen, event: &Value) {
        if self.json {
            line(pen, event);
        }
    }

    fn item(&mut self) -> String {
        self.items += 1;
        format!("item_{}", self.items - 1)
    }
}

impl Form for CodexForm<'_> {
    fn opens(&mut self, pen: &mut Pen, prompt: &str) {
        self.run.stores(pen, "user", prompt);
        self.event(pen, &json!({"type": "thread.started", "thread_id": self.run.session}));
        let unknown = (!self.is_known).then(|| {
            format!(
                "Model metadata for `{}` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
                self.run.model
            )
        });
        if let Some(text) = &unknown {
            let item = json!({"id": self.item(), "type": "error", "message": text});
            self.event(pen, &json!({"type": "item.completed", "item": item}));
        }
        self.event(pen, &json!({"type": "turn.started"}));
        if !self.json {
            let folder = self.run.invocation.folder.join(self.flags.last("--cd").unwrap_or_default());
            pen.err(format!(
                "OpenAI Codex v{}\n--------\nworkdir: {}\nmodel: {}\nprovider: openai\napproval: never\nsandbox: {}\nreasoning effort: none\nreasoning summaries: none\nsession id: {}\n--------\nuser\n{prompt}\n",
                self.run.script.version(),
                folder.display(),
                self.run.model,
                self.sandbox(),
                self.run.session
            ));
            if let Some(text) = unknown {
                pen.err(format!("warning: {text}\n"));
            }
        }
    }

    fn judges(&self, tool: &Tool) -> Verdict {
        match (ToolKind::of(&tool.name), self.sandbox()) {
            (ToolKind::Write | ToolKind::Shell, "read-only") => Verdict::NobodyToAsk,
            _ => Verdict::Runs,
        }
    }

    fn begins(&mut self, pen: &mut Pen, _number: usize, tool: &Tool) {
        if self.judges(tool) == Verdict::Runs {
            let id = format!("item_{}", self.items);
            let item = json!({"id": id, "type": "command_execution", "command": command(tool),
                "aggregated_output": "", "exit_code": null, "status": "in_progress"});
            self.event(pen, &json!({"type": "item.started", "item": item}));
        }
    }

    fn ends(&mut self, pen: &mut Pen, _number: usize, tool: &Tool, verdict: &Verdict) {
        let folder = self.run.invocation.folder.display();
        // What the sandbox refuses is told to the model only: JSON output has nothing of it.
        let (printed, code) =
            if *verdict == Verdict::Runs { (tool.prints.as_str(), 0) } else { ("Read-only file system", 1) };
        if !self.json {
            let how = if code == 0 { "succeeded".to_owned() } else { format!("exited {code}") };
            pen.err(format!(
                "exec\n{} in {folder}\n {how} in {}ms:\n{printed}\n\n",
                command(tool),
                tool.takes_ms
            ));
        } else if code == 0 {
            let item = json!({"id": self.item(), "type": "command_execution", "command": command(tool),
                "aggregated_output": format!("{printed}\n"), "exit_code": 0, "status": "completed"});
            self.event(pen, &json!({"type": "item.completed", "item": item}));
        }
    }

    fn streams(&mut self, _pen: &mut Pen, _piece: &str) {
        // Nothing comes before the answer is complete.
    }

    fn answers(&mut self, pen: &mut Pen, text: &str) {
        self.run.stores(pen, "assistant", text);
        let item = json!({"id": self.item(), "type": "agent_message", "text": text});
        self.event(pen, &json!({"type": "item.completed", "item": item}));
        if let Some(file) = self.flags.last("--output-last-message") {
            let path = self.run.invocation.path(Path::new(file));
            pen.push(Act::Write { path, text: text.to_owned() });
        }
        let usage = &self.run.answer.usage;
        let usage = json!({"input_tokens": usage.input_tokens, "cached_input_tokens": 0,
            "cache_write_input_tokens": 0, "output_tokens": usage.output_tokens, "reasoning_output_tokens": 0});
        self.event(pen, &json!({"type": "turn.completed", "usage": usage}));
        if !self.json {
            pen.err(format!("codex\n{text}\ntokens used\n{}\n", self.run.tokens()));
            pen.out(format!("{text}\n"));
        }
    }

    fn fails(&mut self, pen: &mut Pen, failure: &Failure) -> Option<u8> {
        if failure.status == 0 {
            let note = "Reconnecting... waiting for network (Connection failed: error sending request)";
            self.event(pen, &json!({"type": "error", "message": note}));
            if !self.json {
                pen.err(format!("ERROR: {note}\n"));
            }
            return None;
        }
        let url = "https://api.openai.com/v1/responses";
        let reason = match failure.status {
            401 => "Unauthorized",
            402 => "Payment Required",
            403 => "Forbidden",
            _ => "Error",
        };
        let (text, retries_ms): (_, &[u64]) = match failure.status {
            404 => (failure.message.clone(), &[]),
            429 => ("exceeded retry limit, last status: 429 Too Many Requests".to_owned(), &[]),
            500..=599 => (
                "We’re currently experiencing high demand, which may cause temporary errors.".to_owned(),
                &SERVER_RETRIES_MS,
            ),
            status => {
                (format!("unexpected status {status} {reason}: {}, url: {url}", failure.message), &RETRIES_MS)
            }
        };
        for (number, pause_ms) in retries_ms.iter().enumerate() {
            pen.wait(failure.retry_ms.unwrap_or(*pause_ms));
            let note = format!("Reconnecting... {}/5", number + 1);
            self.event(pen, &json!({"type": "error", "message": format!("{note} ({text})")}));
            if !self.json {
                pen.err(format!("ERROR: {note}\n"));
            }
        }
        self.event(pen, &json!({"type": "error", "message": text}));
        self.event(pen, &json!({"type": "turn.failed", "error": {"message": text}}));
        if !self.json {
            pen.err(format!("ERROR: {text}\nERROR: {text}\n"));
        }
        Some(1)
    }

    fn closes(&mut self, _pen: &mut Pen, _answer: &Answer, _code: u8) {}

    fn is_json(&self) -> bool {
        self.json
    }

    fn may_write(&self, path: &Path) -> bool {
        let temporary = self.run.invocation.variable("TMPDIR").unwrap_or("/tmp");
        match self.sandbox() {
            "read-only" => false,
            "workspace-write" => self.run.is_inside(path) || path.starts_with(temporary),
            _ => true,
        }
    }
}
