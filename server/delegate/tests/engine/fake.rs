//! A scripted model and scripted tools. What the model says is a function of its question alone, so that an answer that was
//! interrupted can be compared with one that was not, to the byte.
//!
//! A request reads `plan NAME words=W tools=T`: one step for each letter of T (`w` a tool that must not be cut, `s` one that
//! is stopped, `r` one that only reads, `l` one that reads and is stopped), then an answer. Each step has W words.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_delegate::{Patience, Task, ToolOutcome, Toolbox};
use entraclaw_models::{
    Answer, Facts, Held, Model, ModelError, Piece, Question, Role, Stop, ToolRequest, ToolSchema, Usage,
};
use futures_util::future::{BoxFuture, pending};
use serde_json::{Map, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant, sleep};

/// What a plan asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) words: usize,
    pub(crate) tools: String,
}

impl Plan {
    pub(crate) fn new(name: &str, words: usize, tools: &str) -> Self {
        Self { name: name.to_owned(), words, tools: tools.to_owned() }
    }

    pub(crate) fn message(&self) -> String {
        format!("plan {} words={} tools={};", self.name, self.words, self.tools)
    }

    /// The text of a step; the last one is the answer.
    pub(crate) fn text(&self, step: usize) -> String {
        let words: Vec<_> = (0..self.words).map(|word| format!("{}-{step}-{word} ", self.name)).collect();
        words.concat()
    }

    pub(crate) fn answer(&self) -> String {
        self.text(self.tools.len()).trim().to_owned()
    }

    /// The id of the tool call of a step.
    pub(crate) fn call(&self, step: usize) -> String {
        format!("{}-{step}", self.name)
    }

    fn parse(text: &str) -> Option<Self> {
        let plan = &text[text.rfind("plan ")? + 5..];
        let mut parts = plan.split(';').next()?.split(' ');
        let name = parts.next()?;
        let words = parts.next()?.strip_prefix("words=")?.parse().ok()?;
        Some(Self::new(name, words, parts.next()?.strip_prefix("tools=")?))
    }

    /// The plan and the step that a question is about.
    fn of(question: &Question) -> Option<(Self, usize)> {
        let asks = |turn: &&entraclaw_models::Turn| !turn.tool_requests.is_empty();
        let steps = question.turns.iter().filter(asks).count();
        let until = question.turns.iter().position(|turn| asks(&turn)).unwrap_or(question.turns.len());
        let users = question.turns[..until].iter().rev().filter(|turn| turn.role == Role::User);
        let plan = users.into_iter().find_map(|turn| Self::parse(&turn.text))?;
        Some((plan, steps))
    }
}

/// A question, as it was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) plan: String,
    pub(crate) step: usize,
    pub(crate) question: Question,
    pub(crate) at: Instant,
}

/// What the fakes have seen and are to do. It outlives every engine.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) facts: Facts,
    /// Time between two words.
    pub(crate) word_ms: u64,
    pub(crate) tool_ms: u64,
    /// How many of the next tools do not hear that they are to stop, and never end.
    pub(crate) deaf: u32,
    pub(crate) asked: Vec<Asked>,
    open: usize,
    /// Errors that the next questions get, each after so many words.
    pub(crate) errors: Vec<(usize, ModelError)>,
    /// Whether the server says that it has kept everything.
    pub(crate) cache_is_true: bool,
    brought_back: bool,
    held: Vec<String>,
    pub(crate) hold_ms: u64,
    /// How often each tool call has ended.
    pub(crate) done: BTreeMap<String, u32>,
    pub(crate) begun: BTreeMap<String, u32>,
    /// Tools that were stopped.
    pub(crate) stopped: u32,
    /// Tools of which it was said that an earlier engine died while they ran.
    pub(crate) cut_short: Vec<String>,
    pub(crate) needs_approval: bool,
    /// What must never happen and did.
    pub(crate) wrong: Vec<String>,
}

/// The world, shared by the fakes and the tests.
#[derive(Clone, Default)]
pub(crate) struct Fakes(Arc<Mutex<World>>);

impl Fakes {
    pub(crate) fn new() -> Self {
        let fakes = Self::default();
        let facts = Facts { model: "scripted".to_owned(), continues: Some(true), ..Facts::default() };
        *fakes.world() = World { facts, word_ms: 10, tool_ms: 50, ..World::default() };
        fakes
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the stream as closed when it is dropped.
    fn open_stream(&self) -> Stream {
        let mut world = self.world();
        world.open += 1;
        if world.open > 1 {
            world.wrong.push("two streams are open at a time".to_owned());
        }
        Stream(self.clone())
    }
}

struct Stream(Fakes);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.world().open -= 1;
    }
}

impl Model for Fakes {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        Box::pin(async { Ok(self.world().facts.clone()) })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let _stream = self.open_stream();
            let Some((plan, step)) = Plan::of(question) else {
                return Err(ModelError::Refused("there is no plan in the question".to_owned()));
            };
            let (word_ms, error) = {
                let mut world = self.world();
                let asked =
                    Asked { plan: plan.name.clone(), step, question: question.clone(), at: Instant::now() };
                world.asked.push(asked);
                let error = if world.errors.is_empty() { None } else { Some(world.errors.remove(0)) };
                (world.word_ms, error)
            };
            let text = plan.text(step);
            let said = question.said.clone().unwrap_or_default();
            let Some(rest) = text.strip_prefix(&said) else {
                self.world().wrong.push(format!("{} was to go on with {said:?}", plan.name));
                return Err(ModelError::Refused("it never said that".to_owned()));
            };
            let rest = rest.to_owned();
            let _ = pieces.send(Piece::Thinking("hm".to_owned())).await;
            let mut words = 0;
            for word in rest.split_inclusive(' ') {
                if let Some((after, error)) = &error
                    && words >= *after
                {
                    return Err(error.clone());
                }
                sleep(Duration::from_millis(word_ms)).await;
                let _ = pieces.send(Piece::Text(word.to_owned())).await;
                words += 1;
            }
            if let Some((_, error)) = error {
                return Err(error);
            }
            let tools: Vec<ToolRequest> =
                plan.tools.chars().nth(step).into_iter().map(|kind| tool(&plan, step, kind)).collect();
            for tool in &tools {
                let _ = pieces.send(Piece::Tool(tool.clone())).await;
            }
            let mut world = self.world();
            let proven = world.cache_is_true && std::mem::take(&mut world.brought_back);
            let cached = if proven { 95 } else { 0 };
            let usage = Usage {
                input: 100,
                output: words as u64,
                cached: Some(cached),
                tokens_per_second: Some(42.0),
            };
            let stop = if tools.is_empty() { Stop::Done } else { Stop::Tools };
            Ok(Answer { text: rest, tools, stop, usage })
        })
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        Box::pin(async move {
            let ms = self.world().hold_ms;
            sleep(Duration::from_millis(ms)).await;
            self.world().held.push(name.to_owned());
            Some(Held(name.to_owned()))
        })
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let mut world = self.world();
            let is_held = world.held.contains(&held.0);
            world.brought_back = is_held;
            is_held
        })
    }
}

fn tool(plan: &Plan, step: usize, kind: char) -> ToolRequest {
    let name = match kind {
        'w' => "write",
        's' => "slow",
        'r' => "read",
        'l' => "look",
        _ => "unheard_of",
    };
    ToolRequest { id: plan.call(step), name: name.to_owned(), arguments: json!({"path": plan.call(step)}) }
}

impl Toolbox for Fakes {
    fn tools(&self) -> Vec<ToolSchema> {
        let parameters =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tool = |name: &str| ToolSchema {
            name: name.to_owned(),
            description: "A tool.".to_owned(),
            parameters: parameters.clone(),
        };
        ["write", "slow", "read", "look"].map(tool).to_vec()
    }

    fn patience(&self, name: &str) -> Patience {
        if matches!(name, "slow" | "look") { Patience::Stop } else { Patience::Wait }
    }

    fn writes(&self, name: &str) -> bool {
        !matches!(name, "read" | "look")
    }

    fn needs_approval(&self, _request: &ToolRequest) -> Option<String> {
        self.world().needs_approval.then(|| "there is no sandbox here".to_owned())
    }

    fn cut_short(&self, _task: &Task, request: &ToolRequest) {
        self.world().cut_short.push(request.id.clone());
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        mut stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let (tool_ms, is_deaf) = {
                let mut world = self.world();
                *world.begun.entry(request.id.clone()).or_default() += 1;
                let is_deaf = world.deaf > 0;
                world.deaf = world.deaf.saturating_sub(1);
                (world.tool_ms, is_deaf)
            };
            if is_deaf {
                return pending().await;
            }
            let was_stopped = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => true,
                () = sleep(Duration::from_millis(tool_ms)) => false,
            };
            let mut world = self.world();
            if was_stopped {
                world.stopped += 1;
            } else {
                *world.done.entry(request.id.clone()).or_default() += 1;
            }
            let mut shown = Map::new();
            shown.insert("path".to_owned(), json!(request.id));
            ToolOutcome { text: "done".to_owned(), succeeded: !was_stopped, shown, was_stopped }
        })
    }
}
