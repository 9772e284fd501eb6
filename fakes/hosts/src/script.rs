//! The scripted model and user of `hostcheck host`: a list of steps in YAML, and the player that performs
//! them one by one. A step ends with its outcome; a script has no conditions on a server's answer.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::drive::{HostEvent, HostEventKind, Order};
use super::effect::{Action, PermissionAsk, ToolCall};

/// Most steps of one script.
const STEPS_MAX: usize = 10_000;

/// A list of steps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Script {
    /// The steps, in order.
    pub steps: Vec<ScriptStep>,
}

/// One step of the model or of the user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptStep {
    /// The model calls one tool.
    Call(ScriptCall),
    /// The model calls several tools in one step.
    Calls(Vec<ScriptCall>),
    /// The script pauses for this many milliseconds.
    WaitMs(u64),
    /// The user types a prompt.
    Type(String),
    /// The user interrupts.
    Interrupt,
    /// The model ends its turn and waits.
    Idle,
    /// A resource is read.
    Read(String),
    /// A prompt of the server is used.
    Prompt(ScriptPrompt),
    /// The user answers an open elicitation.
    Answer(ScriptAnswer),
    /// The host asks its user for a permission.
    Permission(ScriptPermission),
    /// The user has the server restarted.
    Reconnect,
    /// The host exits.
    Exit,
    /// The host is killed.
    Kill,
}

/// A tool call of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptCall {
    /// The tool, by the server's name for it or by the model's.
    pub tool: String,
    /// The arguments; none means an empty object.
    #[serde(default)]
    pub arguments: Map<String, Value>,
    /// Whether the next step waits for the outcome.
    #[serde(default = "yes")]
    pub wait: bool,
}

/// A prompt of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPrompt {
    /// Its name.
    pub name: String,
    /// Its arguments, strings.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
}

/// An answer to an elicitation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptAnswer {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// The form's content, on `accept`.
    pub content: Option<Map<String, Value>>,
}

/// A permission dialog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPermission {
    /// Five letters a to z without l.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// What the tool is about to do.
    #[serde(default)]
    pub description: String,
    /// The beginning of its arguments.
    #[serde(default)]
    pub preview: String,
}

fn yes() -> bool {
    true
}

/// Why a script can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// The text is not YAML, or has an unknown step or key.
    #[error("{name}: {problem}")]
    Unreadable {
        /// The file.
        name: String,
        /// The place and the cause.
        problem: String,
    },
    /// The script has too many steps.
    #[error("{name}: {steps} steps; at most {STEPS_MAX} are played")]
    TooLong {
        /// The file.
        name: String,
        /// The number of steps.
        steps: usize,
    },
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// With the file, line and column.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        let script: Self = yaml::read(text).map_err(|mistake| ScriptError::Unreadable {
            name: name.to_owned(),
            problem: mistake.within(name, text),
        })?;
        if script.steps.len() > STEPS_MAX {
            return Err(ScriptError::TooLong { name: name.to_owned(), steps: script.steps.len() });
        }
        Ok(script)
    }
}

/// Plays a script on a driven host: actions go to `orders`, events come from `events` and are passed to
/// `watch`.
///
/// It begins when the server is open or was given up, and returns when the host has ended (its events end). A
/// script without `exit` or `kill` ends with `exit`.
pub async fn play(
    script: Script,
    orders: mpsc::Sender<Order>,
    mut events: mpsc::Receiver<HostEvent>,
    mut watch: impl FnMut(&HostEvent),
) {
    let mut labels = 0_u64;
    let mut waiting: Vec<String> = Vec::new();
    let mut opened = false;
    let mut steps = script.steps.into_iter();
    let mut ended = false;
    let mut pause_until: Option<Instant> = None;
    loop {
        let may_go = opened && waiting.is_empty() && pause_until.is_none() && !ended;
        let pause = pause_until.unwrap_or_else(Instant::now);
        tokio::select! {
            biased;
            event = events.recv() => {
                let Some(event) = event else { return };
                match &event.kind {
                    HostEventKind::Ready | HostEventKind::Failed(_) => opened = true,
                    HostEventKind::CallDone { label, .. } => waiting.retain(|one| one != label),
                    _ => {}
                }
                watch(&event);
            }
            () = tokio::time::sleep_until(pause), if pause_until.is_some() => pause_until = None,
            room = orders.reserve(), if may_go => {
                let action = match steps.next() {
                    Some(ScriptStep::WaitMs(wait_ms)) => {
                        pause_until = Instant::now().checked_add(Duration::from_millis(wait_ms));
                        continue;
                    }
                    Some(step) => step.action(&mut labels, &mut waiting),
                    None => Action::Exit,
                };
                ended = matches!(action, Action::Exit | Action::Kill);
                match room {
                    Ok(room) => room.send(Order::Act(action)),
                    // The host has ended.
                    Err(_) => ended = true,
                }
            }
        }
    }
}

impl ScriptStep {
    fn action(self, labels: &mut u64, waiting: &mut Vec<String>) -> Action {
        let mut label = |wait: bool| {
            *labels += 1;
            let label = format!("call-{labels}");
            if wait {
                waiting.push(label.clone());
            }
            label
        };
        match self {
            Self::Call(call) => Action::Call(call.into_call(&mut label)),
            Self::Calls(calls) => {
                Action::Calls(calls.into_iter().map(|call| call.into_call(&mut label)).collect())
            }
            Self::Type(prompt) => Action::BeginTurn { prompt },
            Self::Interrupt => Action::Interrupt,
            // The player itself takes a pause.
            Self::Idle | Self::WaitMs(_) => Action::EndTurn,
            Self::Read(uri) => Action::ReadResource { uri, label: label(true) },
            Self::Prompt(prompt) => Action::GetPrompt {
                name: prompt.name,
                arguments: prompt
                    .arguments
                    .into_iter()
                    .map(|(name, text)| (name, Value::String(text)))
                    .collect::<Map<_, _>>()
                    .into(),
                label: label(true),
            },
            Self::Answer(answer) => Action::AnswerElicitation {
                action: answer.action,
                content: answer.content.map(Value::Object),
            },
            Self::Permission(ask) => Action::AskPermission(ask.into()),
            Self::Reconnect => Action::Reconnect,
            Self::Exit => Action::Exit,
            Self::Kill => Action::Kill,
        }
    }
}

impl From<ScriptPermission> for PermissionAsk {
    fn from(ask: ScriptPermission) -> Self {
        let ScriptPermission { id, tool, description, preview } = ask;
        Self { request_id: id, tool_name: tool, description, input_preview: preview }
    }
}

impl ScriptCall {
    fn into_call(self, label: &mut impl FnMut(bool) -> String) -> ToolCall {
        ToolCall::new(self.tool, Value::Object(self.arguments), label(self.wait))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_written() {
        let text = "
- type: hello
- call: { tool: wait_for_inbound_message, arguments: { timeout_s: 50 }, wait: false }
- wait_ms: 100
- interrupt
- calls:
    - tool: a
    - { tool: b, arguments: { x: [1, 2] } }
- read: entraclaw://inbox
- prompt: { name: greet, arguments: { who: Bob } }
- answer: { action: accept, content: { ok: true } }
- permission: { id: abcde, tool: Bash, description: delete it, preview: rm }
- idle
- reconnect
- exit
- kill
";
        let script = Script::parse("agent.yaml", text).unwrap();
        assert_eq!(script.steps.len(), 13);
        assert_eq!(script.steps[3], ScriptStep::Interrupt);
    }

    #[test]
    fn a_wrong_key_is_refused_with_its_line() {
        let error = Script::parse("agent.yaml", "- idle\n- call: { tol: x }\n").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("agent.yaml") && text.contains("tol"), "{text}");
        assert!(text.contains("line 2") || text.contains("2 |") || text.contains(":2:"), "{text}");
    }

    #[test]
    fn an_unknown_step_is_refused() {
        let text = Script::parse("agent.yaml", "- idel\n").unwrap_err().to_string();
        assert!(text.contains("idel"), "{text}");
    }
}
