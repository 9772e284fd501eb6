//! Hooks: the program under test, run by the host at certain moments, and the effect of its answer. A hook
//! that fails, is slow or answers with an invalid text changes nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use host_profiles::{Hook, HookAnswer, HookInput, WhileBusy};
use serde_json::{Map, Value, json};

use super::turn::Notice;
use super::{HostMachine, Timer};
use crate::effect::{Carrier, Effect, Outcome};
use crate::wire::{fill, uuid};

/// Most hooks that run at once.
const HOOKS_MAX: usize = 64;
/// First number for the ids of conversations that begin within a session.
const CHANGED: u64 = 1 << 40;

/// The running hooks.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    begun: u64,
    running: BTreeMap<u64, Moment>,
    /// Texts that arrived and wait for their hook.
    arrived: BTreeMap<u64, (Notice, bool, WhileBusy)>,
    /// How often in a row a hook has blocked the end of the turn.
    blocks: u64,
    /// How often the conversation was changed, and the id of the one before.
    changes: u64,
    before: Option<String>,
}

impl Hooks {
    /// Whether the model waits for a hook before its next request.
    pub(super) fn hold_the_model(&self) -> bool {
        self.end_the_turn() || self.running.values().any(|moment| matches!(moment, Moment::Prompt(_)))
    }

    /// Whether a hook is deciding about the end of the turn.
    pub(super) fn end_the_turn(&self) -> bool {
        self.running.values().any(|moment| *moment == Moment::TurnEnd)
    }
}

/// The moment at which a hook runs.
#[derive(Debug, Clone, PartialEq)]
enum Moment {
    SessionStart,
    /// The same hook again, within a turn.
    SessionAgain,
    /// Before the model sees this prompt.
    Prompt(String),
    /// After a text arrived.
    Arrived,
    /// After a call of this tool in the running step.
    AfterCall(String),
    /// After one of the host's own tools.
    AfterWork(String),
    TurnEnd,
    ShellEnd,
    /// Before a call is sent.
    Consent(u64),
}

impl HostMachine {
    pub(super) fn begin_session(&mut self) {
        self.run_start_hook(Moment::SessionStart, "startup");
    }

    /// Changes the conversation; hooks beside the session go on.
    pub(super) fn change_session(&mut self, back: bool) {
        if self.turn.running {
            return self.note("the conversation can't change while a turn runs");
        }
        let other = if back { self.hooks.before.take() } else { None };
        self.hooks.changes += 1;
        let id = other.unwrap_or_else(|| uuid(CHANGED | self.hooks.changes));
        self.hooks.before = Some(std::mem::replace(&mut self.options.session_id, id));
        self.run_start_hook(Moment::SessionStart, if back { "resume" } else { "clear" });
    }

    /// In some versions, the session begins again with every prompt and every turn that goes on.
    pub(super) fn begin_session_again(&mut self) {
        if *self.profile.hooks.session_start_repeats {
            self.run_start_hook(Moment::SessionAgain, "startup");
        }
    }

    fn run_start_hook(&mut self, moment: Moment, source: &str) {
        let hook = self.profile.hooks.session_start.value.clone();
        self.run_hook(hook, moment, vec![("source", json!(source))]);
    }

    /// Whether the prompt waits for a hook.
    pub(super) fn ask_prompt_hook(&mut self, prompt: &str) -> bool {
        self.hooks.blocks = 0;
        self.begin_session_again();
        let hook = self.profile.hooks.prompt.value.clone();
        self.run_hook(hook, Moment::Prompt(prompt.to_owned()), vec![("prompt", json!(prompt))]).is_some()
    }

    /// The input of a hook at the end of a turn.
    pub(super) fn turn_end_input(&self, event: &str) -> Value {
        let again = &*self.profile.hooks.again_key;
        let own = again.as_ref().map(|key| (key.as_str(), json!(self.hooks.blocks > 0)));
        self.hook_input(event, own.into_iter().collect())
    }

    /// Takes a text that arrived; if the host does so, the hook of prompts is told of it first.
    pub(super) fn arrives(&mut self, notice: Notice, wakes: bool, busy: WhileBusy, prompt: Option<String>) {
        let hook = self.profile.hooks.prompt.value.clone();
        let asked =
            prompt.and_then(|prompt| self.run_hook(hook, Moment::Arrived, vec![("prompt", json!(prompt))]));
        match asked {
            Some(id) => {
                self.hooks.arrived.insert(id, (notice, wakes, busy));
            }
            None => self.comes_by_itself(notice, wakes, busy),
        }
    }

    /// Whether the end of the turn waits for a hook.
    pub(super) fn ask_turn_end_hook(&mut self) -> bool {
        self.start_waking_hook();
        let profile = Arc::clone(&self.profile);
        let facts = &profile.hooks;
        if facts.blocks_max.is_some_and(|most| self.hooks.blocks >= most) {
            self.note("the end of the turn was blocked too often; no hook is asked");
            return false;
        }
        let mut own = Vec::new();
        if *facts.input == HookInput::CamelCase {
            own.push(("stopReason", json!("end_turn")));
        }
        if let Some(key) = &*facts.again_key {
            own.push((key.as_str(), json!(self.hooks.blocks > 0)));
        }
        self.run_hook(facts.turn_end.value.clone(), Moment::TurnEnd, own).is_some()
    }

    pub(super) fn ask_shell_end_hook(&mut self, description: &str) {
        let own = vec![
            ("notification_type", json!("shell_completed")),
            ("title", json!("Shell completed")),
            ("message", json!(description)),
        ];
        self.run_hook(self.profile.hooks.shell_end.value.clone(), Moment::ShellEnd, own);
    }

    /// A call of the running step has ended.
    pub(super) fn tool_done(&mut self, tool: &str) {
        if self.step.is_some()
            && let Some(id) = self.ask_after_tool(tool, Moment::AfterCall(tool.to_owned()))
            && let Some(step) = &mut self.step
        {
            step.hooks.insert(id);
        }
    }

    /// The model uses one of the host's own tools.
    pub(super) fn work(&mut self) {
        self.ensure_turn();
        if self.ask_after_tool("Edit", Moment::AfterWork("Edit".to_owned())).is_none() {
            self.after_work();
        }
    }

    /// One of the host's own tools has ended.
    pub(super) fn own_tool_done(&mut self, tool: &str, label: String, outcome: Outcome) {
        self.done_with(label, outcome, None);
        if self.ask_after_tool(tool, Moment::AfterWork(tool.to_owned())).is_none() {
            self.after_work();
        }
    }

    fn ask_after_tool(&mut self, tool: &str, moment: Moment) -> Option<u64> {
        let key = match *self.profile.hooks.input {
            HookInput::SnakeCase => "tool_name",
            HookInput::CamelCase => "toolName",
        };
        self.run_hook(self.profile.hooks.after_tool.value.clone(), moment, vec![(key, json!(tool))])
    }

    /// A boundary, unless calls of the same step still run.
    fn after_work(&mut self) {
        if self.step.is_none() {
            self.step_over();
        }
    }

    /// Runs the hook that may allow a call; `None` if the host has none.
    pub(super) fn run_consent_hook(
        &mut self,
        hook: Option<Hook>,
        seq: u64,
        own: Vec<(&str, Value)>,
    ) -> Option<u64> {
        self.run_hook(hook, Moment::Consent(seq), own)
    }

    fn run_hook(&mut self, hook: Option<Hook>, moment: Moment, own: Vec<(&str, Value)>) -> Option<u64> {
        let hook = hook.filter(|_| self.options.hooks && self.mode(&self.profile.hooks.run))?;
        if self.hooks.running.len() >= HOOKS_MAX {
            self.note(format!("the hook {} was not run: {HOOKS_MAX} run already", hook.event));
            return None;
        }
        self.hooks.begun += 1;
        let id = self.hooks.begun;
        self.hooks.running.insert(id, moment);
        let input = self.hook_input(&hook.event, own).to_string();
        self.set_timer(Timer::Hook(id), *self.profile.hooks.timeout_ms);
        self.effects.push(Effect::Hook { id, event: hook.event, input });
        Some(id)
    }

    fn hook_input(&self, event: &str, own: Vec<(&str, Value)>) -> Value {
        let mut input = Map::new();
        let (session, cwd) = (&self.options.session_id, &self.options.working_directory);
        match *self.profile.hooks.input {
            HookInput::SnakeCase => {
                input.insert("session_id".to_owned(), json!(session));
                input.insert("cwd".to_owned(), json!(cwd));
                input.insert("hook_event_name".to_owned(), json!(event));
            }
            HookInput::CamelCase => {
                input.insert("sessionId".to_owned(), json!(session));
                input.insert("timestamp".to_owned(), json!(self.now_ms));
                input.insert("cwd".to_owned(), json!(cwd));
            }
        }
        input.extend(own.into_iter().map(|(key, value)| (key.to_owned(), value)));
        Value::Object(input)
    }

    pub(super) fn hook_too_slow(&mut self, id: u64) {
        self.note("a hook took too long; the host goes on without it");
        self.hook_answer(id, "");
    }

    /// The user interrupted, so the hooks for which the turn waited don't matter.
    pub(super) fn forget_hooks_of_the_turn(&mut self) {
        self.hooks
            .running
            .retain(|_, moment| matches!(moment, Moment::SessionStart | Moment::ShellEnd | Moment::Arrived));
    }

    pub(super) fn hook_answer(&mut self, id: u64, answer: &str) {
        self.timers.remove(&Timer::Hook(id));
        let Some(moment) = self.hooks.running.remove(&id) else {
            return self.note("dropped the answer of an unknown hook");
        };
        let profile = Arc::clone(&self.profile);
        let facts = &profile.hooks;
        let hook = match moment {
            Moment::SessionStart | Moment::SessionAgain => &facts.session_start.value,
            Moment::Prompt(_) | Moment::Arrived => &facts.prompt.value,
            Moment::AfterCall(_) | Moment::AfterWork(_) => &facts.after_tool.value,
            Moment::TurnEnd => &facts.turn_end.value,
            Moment::ShellEnd => &facts.shell_end.value,
            Moment::Consent(seq) if allows(answer) => return self.send_call(seq),
            Moment::Consent(seq) => return self.open_dialog(seq),
        };
        let tool = match &moment {
            Moment::AfterCall(tool) | Moment::AfterWork(tool) => tool.as_str(),
            _ => "",
        };
        let said = hook.as_ref().and_then(|hook| obeyed(hook, answer, tool));
        if said.is_none() && !answer.trim().is_empty() {
            self.note(format!("a hook's answer has no effect: {}", answer.trim()));
        }
        match moment {
            Moment::Prompt(prompt) => self.show_prompt(prompt, said),
            Moment::Arrived => {
                if let Some((notice, wakes, busy)) = self.hooks.arrived.remove(&id) {
                    self.comes_together(notice, said, wakes, busy);
                }
            }
            Moment::TurnEnd => {
                if let Some(text) = said {
                    self.hooks.blocks += 1;
                    self.turn_goes_on(text);
                } else {
                    self.hooks.blocks = 0;
                    if !self.hold_turn_for_waking_hook() {
                        self.turn_over();
                    }
                }
            }
            Moment::AfterCall(_) | Moment::AfterWork(_) => {
                if let Some(step) = &mut self.step {
                    step.hooks.remove(&id);
                }
                if let Some(text) = said {
                    self.add(text);
                }
                if matches!(moment, Moment::AfterWork(_)) {
                    self.after_work();
                }
            }
            Moment::SessionAgain => {
                if let Some(text) = said {
                    self.add(text);
                }
            }
            Moment::SessionStart => {
                if let Some(text) = said {
                    self.comes_by_itself(Notice::new(Carrier::Hook, text), false, WhileBusy::Boundary);
                }
            }
            // Handled above.
            Moment::Consent(_) => {}
            Moment::ShellEnd => {
                if let Some(text) = said {
                    self.comes_by_itself(Notice::new(Carrier::Hook, text), true, WhileBusy::TurnEnd);
                }
            }
        }
    }

    /// Shows the model a hook's text with a tool's result, or in its next turn if this one has ended.
    fn add(&mut self, text: String) {
        if self.turn.running {
            self.show(Carrier::Hook, None, None, text, false, false);
        } else {
            self.comes_by_itself(Notice::new(Carrier::Hook, text), false, WhileBusy::Boundary);
        }
    }
}

/// Whether a hook allows a call.
fn allows(answer: &str) -> bool {
    let answer: Option<Value> = serde_json::from_str(answer.trim()).ok();
    answer.as_ref().and_then(|answer| answer.get("behavior")?.as_str()) == Some("allow")
}

/// The text of an answer for the model, if the host obeys it.
fn obeyed(hook: &Hook, answer: &str, tool: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer.trim()).ok()?;
    let decides = |word: &str| answer.get("decision").and_then(Value::as_str) == Some(word);
    let text = match hook.answer {
        HookAnswer::Block => decides("block").then(|| answer.get("reason")).flatten(),
        HookAnswer::Deny => decides("deny").then(|| answer.get("reason")).flatten(),
        HookAnswer::Context => answer.get("additionalContext"),
        HookAnswer::SpecificContext => answer.pointer("/hookSpecificOutput/additionalContext"),
    };
    let text = text.and_then(Value::as_str).filter(|text| !text.is_empty())?;
    Some(fill(&hook.text, &[("tool", tool), ("text", text)]))
}
