//! From a script and a question to what the model makes, token by token.

use serde_json::{Value, json};

use crate::script::{Answer, Script, ThinksAs, Tool, ToolForm};
use crate::tokens::tokens;

/// How many characters of arguments one fragment has.
const FRAGMENT_CHARS: usize = 3;

/// One token of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unit {
    Text(String),
    Thinking(String),
    /// A tool, or a part of one.
    Tool {
        index: usize,
        id: Option<String>,
        name: Option<String>,
        arguments: Arguments,
    },
}

/// Arguments as they are sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Arguments {
    /// They are as they should be.
    Right(Value),
    /// This text.
    Text(String),
}

impl Unit {
    /// The token in the state of the slot.
    pub(crate) fn token(&self) -> String {
        match self {
            Self::Text(text) | Self::Thinking(text) => text.clone(),
            Self::Tool { name, arguments, .. } => {
                let arguments = match arguments {
                    Arguments::Right(value) => value.to_string(),
                    Arguments::Text(text) => text.clone(),
                };
                format!("{}{arguments}", name.as_deref().unwrap_or_default())
            }
        }
    }
}

/// What a question holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Asked {
    /// The tokens of all messages, and of the tools.
    pub(crate) prompt: Vec<String>,
    /// The last words of the user.
    pub(crate) words: String,
    /// The results of tools since then.
    pub(crate) results: u32,
    /// What the user asks for: their words since the last answer that asks for no tool.
    pub(crate) task: String,
    /// The results of tools since then.
    pub(crate) task_results: u32,
    /// What the assistant has already said in the last message.
    pub(crate) said: Option<String>,
    /// Whether tools are offered.
    pub(crate) has_tools: bool,
    /// The longest answer.
    pub(crate) tokens_max: Option<usize>,
}

/// Reads the messages, which have the same form everywhere.
pub(crate) fn asked(body: &Value) -> Asked {
    let mut asked = Asked::default();
    let messages = body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(tools) = body.get("tools").and_then(Value::as_array).filter(|tools| !tools.is_empty()) {
        asked.has_tools = true;
        asked.prompt.extend(tokens(&Value::from(tools.clone()).to_string()));
    }
    let last = messages.len().saturating_sub(1);
    let mut is_at_work = false;
    for (at, message) in messages.iter().enumerate() {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let content = message.get("content").and_then(Value::as_str).unwrap_or_default();
        let calls =
            message.get("tool_calls").filter(|calls| calls.as_array().is_some_and(|all| !all.is_empty()));
        match role {
            "user" => {
                (asked.words, asked.results) = (content.to_owned(), 0);
                // What is said after the first tool is for the task that uses it.
                if !is_at_work {
                    asked.task.push_str(content);
                }
            }
            "tool" => (asked.results, asked.task_results) = (asked.results + 1, asked.task_results + 1),
            "assistant" if calls.is_some() => is_at_work = true,
            "assistant" if at != last => {
                is_at_work = false;
                (asked.task, asked.task_results) = (String::new(), 0);
            }
            _ => {}
        }
        if at == last && role == "assistant" && calls.is_none() {
            asked.said = Some(content.to_owned());
        }
        asked.prompt.push(format!("<{role}>"));
        asked.prompt.extend(tokens(content));
        asked.prompt.extend(calls.map(Value::to_string));
    }
    if asked.said.is_none() {
        asked.prompt.push("<assistant>".to_owned());
    }
    let most = body.get("max_tokens").or_else(|| body.pointer("/options/num_predict"));
    asked.tokens_max = most.and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    asked
}

/// What the template of a model makes of a question: one that goes on from a last message of the assistant leaves it open.
pub(crate) fn rendered(script: &Script, asked: &Asked) -> String {
    let closes = asked.said.is_some() && !script.continues;
    let end = if closes { "<assistant>" } else { "" };
    format!("{}{end}", asked.prompt.concat())
}

/// The tokens of an answer.
pub(crate) fn units(script: &Script, answer: &Answer, asked: &Asked) -> Vec<Unit> {
    let mut units = Vec::new();
    let said = asked.said.as_deref().filter(|said| script.continues && answer.says.starts_with(said));
    if said.is_none() && !answer.thinks.is_empty() {
        let thinks = tokens(&answer.thinks);
        match answer.thinks_as {
            ThinksAs::Field => units.extend(thinks.into_iter().map(Unit::Thinking)),
            ThinksAs::Tags | ThinksAs::HiddenBegin => {
                if answer.thinks_as == ThinksAs::Tags {
                    units.extend(["<th", "ink>\n"].map(|part| Unit::Text(part.to_owned())));
                }
                units.extend(thinks.into_iter().map(Unit::Text));
                units.extend(["\n</", "think>\n", "\n"].map(|part| Unit::Text(part.to_owned())));
            }
        }
    }
    units.extend(tokens(&answer.says[said.map_or(0, str::len)..]).into_iter().map(Unit::Text));
    for (index, one) in answer.tools.iter().enumerate() {
        tool(index, asked, one, &mut units);
    }
    units
}

fn tool(index: usize, asked: &Asked, tool: &Tool, units: &mut Vec<Unit>) {
    let Tool { name, arguments, form } = tool;
    let whole = arguments.to_string();
    let unit = |arguments| Unit::Tool {
        index,
        id: Some(format!("call_{}_{index}", asked.results)),
        name: Some(name.clone()),
        arguments,
    };
    let text = |text: String| unit(Arguments::Text(text));
    match form {
        ToolForm::Whole => units.push(unit(Arguments::Right(arguments.clone()))),
        ToolForm::Fragments => {
            units.push(text(String::new()));
            let characters: Vec<char> = whole.chars().collect();
            units.extend(characters.chunks(FRAGMENT_CHARS).map(|part| {
                let part = Arguments::Text(part.iter().collect());
                Unit::Tool { index, id: None, name: None, arguments: part }
            }));
        }
        ToolForm::Bare => {
            let arguments = Arguments::Right(arguments.clone());
            units.push(Unit::Tool { index, id: None, name: Some(name.clone()), arguments });
        }
        ToolForm::TwiceEncoded => units.push(text(Value::from(whole).to_string())),
        ToolForm::TrailingComma => {
            let inner = whole.strip_suffix('}').unwrap_or(&whole);
            units.push(text(format!("{inner},}}")));
        }
        ToolForm::SingleQuotes => units.push(text(whole.replace('"', "'"))),
        ToolForm::Fence => units.push(text(format!("```json\n{whole}\n```"))),
        ToolForm::Cut => {
            let characters = whole.chars().count();
            units.push(text(whole.chars().take(characters / 2).collect()));
        }
        ToolForm::Text | ToolForm::Tagged => {
            let call = json!({"name": name, "arguments": arguments}).to_string();
            let written =
                if *form == ToolForm::Tagged { format!("\n<tool_call>\n{call}\n</tool_call>") } else { call };
            let characters: Vec<char> = written.chars().collect();
            units.extend(characters.chunks(FRAGMENT_CHARS).map(|part| Unit::Text(part.iter().collect())));
        }
    }
}
