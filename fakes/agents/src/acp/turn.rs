//! One prompt of a session: the steps that it takes, and where it stands.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::act::{Act, Phase, Signal};
use crate::copilot::{Events, Permissions, Version, shown_failure};
use crate::invocation::Invocation;
use crate::pen::Pen;
use crate::script::{Answer, Crash, Failure, Script, Tool};
use crate::tool_kind::ToolKind;
use crate::turn::{self, Verdict};

use super::message;

/// One thing that a turn does.
enum Step {
    /// It waits.
    Wait(u64),
    /// It does something at once.
    Do(Act),
    /// It tells what is new.
    Update(Value),
    /// It stores an event.
    Store(&'static str, Value),
    /// It asks whether a tool may run, and waits for the answer.
    Ask(usize),
    /// A tool ran to its end.
    Ran(usize),
    /// A tool was refused, with the words and a code.
    Refused(usize, String, &'static str),
    /// It never goes on.
    Hang,
}

/// A turn.
pub(super) struct AcpTurn {
    /// The id of the client's request.
    pub request: Value,
    /// When it goes on by itself.
    pub due_ms: Option<u64>,
    answer: Answer,
    steps: VecDeque<Step>,
    /// The request for a permission that is open, and its tool.
    asking: Option<(u64, usize)>,
    folder: String,
}

/// The event that ends a turn.
fn turn_ends() -> Step {
    Step::Store("assistant.turn_end", json!({"turnId": "0"}))
}

impl AcpTurn {
    /// A turn that has not begun.
    pub(super) fn new(
        request: Value,
        answer: Answer,
        prompt: &str,
        script: &Script,
        invocation: &Invocation,
        permissions: &Permissions,
        allows_all: bool,
    ) -> Self {
        let mut turn = Self {
            request,
            due_ms: Some(0),
            steps: VecDeque::new(),
            asking: None,
            folder: invocation.folder.display().to_string(),
            answer,
        };
        turn.plan(prompt, script, invocation, permissions, allows_all);
        turn
    }

    /// Whether SIGTERM does nothing to it.
    pub(super) fn ignores_term(&self) -> bool {
        self.answer.ignores_term
    }

    fn plan(
        &mut self,
        prompt: &str,
        script: &Script,
        invocation: &Invocation,
        permissions: &Permissions,
        allows_all: bool,
    ) {
        let answer = self.answer.clone();
        let mut steps = Vec::new();
        let usage = json!({"sessionUpdate": "usage_update", "used": 8652, "size": 128_000});
        for _ in 0..answer.children {
            steps.push(Step::Do(Act::Child {
                leaves_group: answer.children_leave_group,
                ignores_term: answer.children_ignore_term,
            }));
        }
        steps.push(Step::Wait(answer.after_ms));
        if answer.silent {
            steps.push(turn_ends());
        } else {
            steps.push(Step::Update(usage.clone()));
            for (number, tool) in answer.tools.iter().enumerate() {
                steps.push(Step::Update(begins(number, tool)));
                match permissions.judge(&tool.name) {
                    Verdict::Runs if !answer.asks_permission => {
                        steps.push(Step::Do(Act::Enter(Phase::Tool(number))));
                        steps.extend([Step::Wait(tool.takes_ms), Step::Ran(number)]);
                    }
                    Verdict::NobodyToAsk if allows_all => {
                        steps.push(Step::Do(Act::Enter(Phase::Tool(number))));
                        steps.extend([Step::Wait(tool.takes_ms), Step::Ran(number)]);
                    }
                    Verdict::Runs | Verdict::NobodyToAsk => steps.push(Step::Ask(number)),
                    Verdict::Forbidden(rule) => {
                        let text = format!(
                            "Permission to run this tool was denied due to the following rules: `{rule}`"
                        );
                        steps.push(Step::Refused(number, text, "denied"));
                    }
                    Verdict::Blocked => {
                        steps.push(Step::Refused(number, crate::copilot::blocked(&tool.name), "denied"));
                    }
                    Verdict::Missing => {
                        let text = format!("Tool '{}' does not exist.", tool.name);
                        steps.push(Step::Refused(number, text, "failure"));
                    }
                }
                steps.push(Step::Update(usage.clone()));
            }
            self.speaks(&mut steps, prompt, script, invocation, &usage);
        }
        self.steps = steps.into();
    }

    fn speaks(
        &self,
        steps: &mut Vec<Step>,
        prompt: &str,
        script: &Script,
        invocation: &Invocation,
        usage: &Value,
    ) {
        let answer = &self.answer;
        let leak = answer.leaks.as_deref().and_then(|name| invocation.variable(name)).unwrap_or_default();
        if let Some(stderr) = &answer.stderr {
            steps.push(Step::Do(Act::Err(format!("{stderr}{leak}\n").into_bytes())));
        }
        if let Some(failure) = &answer.error {
            let failure = Failure { message: format!("{}{leak}", failure.message), ..failure.clone() };
            let model = script.models.first().map_or("claude-sonnet-4.6", String::as_str);
            let shown = shown_failure(&failure, model, invocation, Version::of(script));
            for retry_ms in &shown.retries_ms {
                steps.push(Step::Wait(*retry_ms));
                if let Some(note) = shown.retry_note {
                    let note = format!("Info: {note}");
                    steps.push(Step::Update(message::chunk("agent_message_chunk", &note)));
                    steps.push(Step::Update(usage.clone()));
                }
            }
            let mut data = json!({"errorType": shown.kind, "message": shown.text});
            if let Some(status) = shown.status {
                data["statusCode"] = status.into();
            }
            // So recorded in acp-standing-by.jsonl: the error is the last event.
            steps.push(turn_ends());
            steps.push(Step::Store("session.error", data));
            // The trap: it looks like any other answer.
            let text = format!("Error: {}", shown.text);
            steps.push(Step::Update(message::chunk("agent_message_chunk", &text)));
            return;
        }
        let text = turn::text(answer, prompt, leak);
        for piece in turn::pieces(answer, &text) {
            steps.push(Step::Update(message::chunk("agent_message_chunk", piece)));
            steps.push(Step::Wait(answer.stream_every_ms.unwrap_or_default()));
        }
        if answer.hangs {
            steps.push(Step::Hang);
        }
        if let Some(crash) = answer.crash {
            let signal = if crash == Crash::Kill { Signal::Kill } else { Signal::Segfault };
            steps.extend([Step::Do(Act::Die(signal)), Step::Hang]);
        }
        if let Some(code) = answer.exit {
            steps.extend([Step::Do(Act::Exit(code)), Step::Hang]);
        }
        if answer.invalid_json_line {
            steps.push(Step::Do(Act::Out(b"{\"jsonrpc\":\"2.0\",\"meth\n".to_vec())));
        }
        steps.push(Step::Store("assistant.message", json!({"content": text, "toolRequests": []})));
        steps.push(turn_ends());
    }

    /// Does what is due. Whether the turn is over.
    pub(super) fn advance(
        &mut self,
        session: &str,
        pen: &mut Pen,
        events: &mut Events,
        now_ms: u64,
        requests: &mut u64,
    ) -> bool {
        if self.due_ms.is_none_or(|due_ms| due_ms > now_ms) {
            return false;
        }
        while let Some(step) = self.steps.pop_front() {
            match step {
                Step::Wait(0) => {}
                Step::Wait(ms) => {
                    self.due_ms = Some(now_ms + ms);
                    return false;
                }
                Step::Do(act) => pen.push(act),
                Step::Update(update) => pen.out(message::update(session, update)),
                Step::Store(kind, data) => events.hidden(pen, kind, data),
                Step::Ask(number) => {
                    let id = *requests;
                    *requests += 1;
                    self.asking = Some((id, number));
                    self.due_ms = None;
                    pen.out(message::line(&self.asks(session, id, number)));
                    return false;
                }
                Step::Ran(number) => {
                    pen.enter(Phase::Model);
                    for update in self.ran(number) {
                        pen.out(message::update(session, update));
                    }
                }
                Step::Refused(number, text, code) => {
                    pen.out(message::update(session, refused(number, &text, code)));
                }
                Step::Hang => {
                    self.due_ms = None;
                    return false;
                }
            }
        }
        true
    }

    /// The client's answer to a request for a permission. Whether every tool may run from now on.
    pub(super) fn permitted(
        &mut self,
        session: &str,
        pen: &mut Pen,
        events: &mut Events,
        id: &Value,
        outcome: &Value,
    ) -> bool {
        let Some((_, number)) = self.asking.filter(|(asked, _)| *id == *asked) else { return false };
        self.asking = None;
        self.due_ms = Some(0);
        let choice = outcome["optionId"].as_str().unwrap_or_default();
        if outcome["outcome"] == "selected" && choice.starts_with("allow") {
            let takes_ms = self.answer.tools.get(number).map_or(0, |tool| tool.takes_ms);
            self.steps.push_front(Step::Ran(number));
            self.steps.push_front(Step::Wait(takes_ms));
            pen.enter(Phase::Tool(number));
            return choice == "allow_always";
        }
        self.steps.clear();
        let is_choice = outcome["outcome"] == "selected";
        let text = if is_choice {
            "The user rejected this tool call."
        } else {
            "Permission denied by host policy. Use an action permitted by the host policy, or ask the policy administrator to change it."
        };
        pen.out(message::update(session, refused(number, text, "rejected")));
        if is_choice {
            let chunk = message::chunk("agent_message_chunk", "Info: Operation cancelled by user");
            pen.out(message::update(session, chunk));
            events.hidden(pen, "abort", json!({"reason": "user_initiated"}));
        }
        false
    }

    fn asks(&self, session: &str, id: u64, number: usize) -> Value {
        let command = self.answer.tools.get(number).map(command).unwrap_or_default();
        let mut call = self.answer.tools.get(number).map(|tool| begins(number, tool)).unwrap_or_default();
        if let Some(call) = call.as_object_mut() {
            call.shift_remove("sessionUpdate");
        }
        call["rawInput"] = json!({"command": command, "commands": [command]});
        json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
        "sessionId": session, "toolCall": call, "options": [
            {"optionId": "allow_once", "kind": "allow_once", "name": "Allow once"},
            {"optionId": "allow_always", "kind": "allow_always", "name": "Always allow"},
            {"optionId": "reject_once", "kind": "reject_once", "name": "Deny"},
        ]}})
    }

    fn ran(&self, number: usize) -> Vec<Value> {
        let Some(tool) = self.answer.tools.get(number) else { return Vec::new() };
        let printed = format!("{}\n", tool.prints);
        let content = |text: &str| json!([{"type": "content", "content": {"type": "text", "text": text}}]);
        let call = call_id(number);
        if ToolKind::of(&tool.name) != ToolKind::Shell {
            return vec![json!({"sessionUpdate": "tool_call_update", "toolCallId": call,
                "status": "completed", "content": content(&printed), "rawOutput": {"content": printed}})];
        }
        let whole = format!("{printed}<shellId: 0 completed with exit code 0>");
        vec![
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "content": content(&printed)}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
                "content": content(&whole), "rawOutput": {"content": whole, "detailedContent": whole,
                "contents": [{"type": "shell_exit", "shellId": "0", "exitCode": 0, "cwd": self.folder,
                "outputPreview": printed}]}}),
        ]
    }
}

fn call_id(number: usize) -> String {
    format!("call_{}", number + 1)
}

fn command(tool: &Tool) -> String {
    format!("{} {}", tool.name, tool.takes_ms)
}

fn begins(number: usize, tool: &Tool) -> Value {
    let kind = match ToolKind::of(&tool.name) {
        ToolKind::Shell => "execute",
        ToolKind::Write => "edit",
        ToolKind::Read => "read",
        ToolKind::Other => "other",
    };
    let title = format!("run {}", tool.name);
    json!({"sessionUpdate": "tool_call", "toolCallId": call_id(number), "title": title, "kind": kind,
        "status": "pending", "rawInput": {"command": command(tool), "description": title}})
}

fn refused(number: usize, text: &str, code: &str) -> Value {
    json!({"sessionUpdate": "tool_call_update", "toolCallId": call_id(number), "status": "failed",
        "rawOutput": {"message": text, "code": code}})
}
