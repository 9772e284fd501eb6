//! Makes the question of a step from the conversation, the task, and what it has done so far.
//!
//! The same state gives the same question, to the byte: a model can go on with it only then. What others say while a task
//! runs comes behind its last results. It must never show a model who did not speak as one who did.

use std::fmt::Write as _;

use entraclaw_models::{Question, Role, ToolSchema, Turn};

use super::fit::{LeftOut, Part, answer_tokens, fit, tokens};
use crate::message::{Message, Speaker};
use crate::task::{CallResult, Step, Task, ToolCall};

/// What the model is told of itself.
const RULES: &str = "You are Entraclaw, a coding assistant that works in a project on the machine of a person. You hear the \
    person, marked [you], and other programs, marked by their names, such as [claude-code]; never write such marks yourself. \
    Do what the last message asks. Use the tools to look at files, to change them and to run commands; never guess what a \
    file holds. When you are done, say in a few sentences what you did and what is left.";

/// What a model is told that may not use tools any more.
const LAST_STEP: &str = "You have used all your steps. Answer now with what you have, and say what is left.";

/// The place of a result that was left out.
const RESULT_LEFT_OUT: &str = "[this older result was left out to fit; call the tool again if you need it]";

/// Everything that the question of a step is made of.
pub(super) struct Talk<'a> {
    pub(super) task: &'a Task,
    /// The conversation before the task was begun, without the task's own message.
    pub(super) history: &'a [Message],
    /// The steps that have their answer.
    pub(super) steps: &'a [Step],
    pub(super) calls: &'a [ToolCall],
    /// For each step behind the first, what others said before it was asked.
    pub(super) meanwhile: &'a [Vec<Message>],
    pub(super) tools: Vec<ToolSchema>,
    /// What the model is to go on with.
    pub(super) said: Option<String>,
    pub(super) is_last: bool,
    /// The context in force, if it is known.
    pub(super) context: Option<u64>,
    pub(super) answer_tokens_max: u32,
}

/// The question, and what was left out of it.
pub(super) fn question(talk: &Talk<'_>) -> (Question, LeftOut) {
    let tokens_max = answer_tokens(talk.context, talk.answer_tokens_max);
    let tools = if talk.is_last { Vec::new() } else { talk.tools.clone() };
    let schemas =
        tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let mut fixed = tokens(RULES.len()) + tokens(talk.task.message.len()) + schemas.map(tokens).sum::<u64>();
    fixed += talk.said.as_ref().map_or(0, |said| tokens(said.len()));
    for step in talk.steps {
        let asked =
            step.requests.iter().map(|request| request.name.len() + request.arguments.to_string().len());
        fixed += tokens(step.text.len() + asked.sum::<usize>());
    }
    fixed += talk.meanwhile.iter().flatten().map(|message| tokens(message.text.len())).sum::<u64>();
    let mut parts: Vec<(Part, usize)> =
        talk.history.iter().map(|message| (Part::Message, message.text.len())).collect();
    let files = talk.task.context.iter();
    parts.extend(files.map(|file| (Part::File(file.path.clone()), file.path.len() + file.content.len())));
    let results = talk.calls.iter().filter_map(|call| call.result.as_ref());
    parts.extend(results.map(|result| (Part::Result, result.text.len())));
    let budget = talk.context.map(|context| context.saturating_sub(u64::from(tokens_max)));
    let (stays, left_out) = fit(&parts, fixed, budget);
    let (of_history, rest) = stays.split_at(talk.history.len());
    let (of_files, of_results) = rest.split_at(talk.task.context.len());

    let mut turns = Turns(vec![turn(Role::System, RULES)]);
    for (message, _) in talk.history.iter().zip(of_history).filter(|(_, stays)| **stays) {
        turns.message(message);
    }
    turns.say(Role::User, &request(talk.task, of_files));
    let mut of_results = of_results.iter();
    for (at, step) in talk.steps.iter().enumerate() {
        turns.0.push(Turn {
            role: Role::Assistant,
            text: step.text.clone(),
            tool_requests: step.requests.clone(),
            answers: None,
        });
        for call in talk.calls.iter().filter(|call| call.step == step.step) {
            let Some(result) = &call.result else { continue };
            let text =
                if of_results.next().copied().unwrap_or(true) { shown(result) } else { RESULT_LEFT_OUT };
            turns.0.push(Turn { answers: Some(call.request.id.clone()), ..turn(Role::Tool, text) });
        }
        if let Some(said) = talk.meanwhile.get(at).filter(|said| !said.is_empty()) {
            turns.say(Role::User, &meanwhile(said));
        }
    }
    if talk.is_last {
        turns.say(Role::User, LAST_STEP);
    }
    let question = Question {
        turns: turns.0,
        tools,
        said: talk.said.clone(),
        tokens_max: Some(tokens_max),
        ..Question::default()
    };
    (question, left_out)
}

fn shown(result: &CallResult) -> &str {
    if result.text.is_empty() { "(no output)" } else { &result.text }
}

fn request(task: &Task, files_stay: &[bool]) -> String {
    let mut text = format!("{}: {}", task.source, task.message);
    for (file, stays) in task.context.iter().zip(files_stay) {
        if *stays {
            let _ = write!(text, "\n\nThe file {}:\n{}", file.path, file.content);
        } else {
            let _ = write!(text, "\n\nThe file {} was left out to fit; read it if you need it.", file.path);
        }
    }
    text
}

fn meanwhile(said: &[Message]) -> String {
    let mut text = "Meanwhile in this conversation:".to_owned();
    for message in said {
        let _ = write!(text, "\n[{}]: {}", message.speaker.as_str(), message.text);
    }
    text.push_str("\nGo on with your task, and heed what concerns it.");
    text
}

fn turn(role: Role, text: &str) -> Turn {
    Turn { role, text: text.to_owned(), tool_requests: Vec::new(), answers: None }
}

/// Turns in which the roles alternate: the templates of some models refuse others.
struct Turns(Vec<Turn>);

impl Turns {
    fn say(&mut self, role: Role, text: &str) {
        match self.0.last_mut() {
            Some(last) if last.role == role && last.tool_requests.is_empty() && role != Role::Tool => {
                last.text.push_str("\n\n");
                last.text.push_str(text);
            }
            _ => self.0.push(turn(role, text)),
        }
    }

    fn message(&mut self, message: &Message) {
        match &message.speaker {
            Speaker::Model => self.say(Role::Assistant, &message.text),
            Speaker::Asker(source) => self.say(Role::User, &format!("{source}: {}", message.text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_roles_of_what_is_said_alternate() {
        let mut turns = Turns(Vec::new());
        for (role, text) in
            [(Role::User, "one"), (Role::User, "two"), (Role::Assistant, "three"), (Role::User, "four")]
        {
            turns.say(role, text);
        }
        let said: Vec<(Role, &str)> = turns.0.iter().map(|turn| (turn.role, turn.text.as_str())).collect();
        assert_eq!(said, [(Role::User, "one\n\ntwo"), (Role::Assistant, "three"), (Role::User, "four")]);
    }

    #[test]
    fn results_stand_alone() {
        let mut turns = Turns(Vec::new());
        turns.say(Role::Tool, "one");
        turns.say(Role::Tool, "two");
        assert_eq!(turns.0.len(), 2);
    }
}
