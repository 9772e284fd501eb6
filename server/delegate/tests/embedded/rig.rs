//! An engine over a store in memory with the real model, and a project with one file.

use std::sync::Arc;

use entraclaw_delegate::store::{Memory, Place, StoreError};
use entraclaw_delegate::{
    Bounds, Engine, EngineParts, Event, Patience, Submission, TaskId, TaskView, ToolOutcome, Toolbox,
};
use entraclaw_models::{ToolRequest, ToolSchema};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::SplitMix;
use futures_util::future::BoxFuture;
use serde_json::{Map, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::watched::Watched;

/// What the file holds.
pub(crate) const NOTES: &str = "The meeting is at nine in the garden.";

/// An engine at work.
pub(crate) struct Rig {
    pub(crate) engine: Engine,
    pub(crate) model: Arc<Watched>,
    events: Receiver<Event>,
    work: JoinHandle<Result<(), StoreError>>,
}

impl Rig {
    /// An engine without tools.
    pub(crate) fn begin(model: &Arc<Watched>, memory: &Memory) -> Self {
        Self::begin_in(Project { has_tool: false }, model, memory)
    }

    /// An engine that works in this project.
    pub(crate) fn begin_in(project: Project, model: &Arc<Watched>, memory: &Memory) -> Self {
        let parts = EngineParts {
            place: Place::Memory(memory.clone()),
            model: Arc::clone(model) as _,
            toolbox: Arc::new(project),
            clock: Arc::new(SystemClock),
            random: Arc::new(SplitMix::seeded(1)),
            bounds: Bounds {
                // The first step is for the tool, and the last one is asked without.
                steps_max: 2,
                answer_tokens_max: 120,
                // What is held waits for the token that is being made, on a machine that others use too.
                hold_ms_max: 10_000,
                // What was said is written before the next piece comes.
                partial_every_ms: 1,
                ..Bounds::default()
            },
        };
        let (engine, work) = Engine::begin(parts).unwrap();
        let events = engine.events();
        Self { engine, model: Arc::clone(model), events, work: tokio::spawn(work) }
    }

    /// The process dies; what it had not written is gone.
    pub(crate) async fn crash(self) {
        self.work.abort();
        let _ = self.work.await;
    }

    pub(crate) async fn submit(&self, submission: Submission) -> TaskId {
        self.engine.submit(submission).await.unwrap().task.id
    }

    pub(crate) async fn ended(&self, task: &TaskId) -> TaskView {
        self.engine.ended(task).await.unwrap()
    }

    pub(crate) async fn answer(&self, submission: Submission) -> TaskView {
        self.ended(&self.submit(submission).await).await
    }

    /// Waits until so many more pieces of this task's answer have come, and returns them.
    pub(crate) async fn says(&mut self, task: &TaskId, pieces: usize) -> String {
        let (mut text, mut count) = (String::new(), 0);
        while count < pieces {
            match self.events.recv().await.unwrap() {
                Event::Said { task: of, text: piece } if of == *task => {
                    text.push_str(&piece);
                    count += 1;
                }
                Event::Ended(view) if view.task.id == *task => panic!("it ended after {text:?}"),
                _ => {}
            }
        }
        text
    }

    /// Waits until this task is paused.
    pub(crate) async fn paused(&mut self, task: &TaskId) -> TaskView {
        loop {
            match self.events.recv().await.unwrap() {
                Event::Preempted(view) if view.task.id == *task => return TaskView::clone(&view),
                Event::Ended(view) if view.task.id == *task => panic!("it ended before it was paused"),
                _ => {}
            }
        }
    }
}

/// A project with one file, and maybe a tool that reads it.
pub(crate) struct Project {
    pub(crate) has_tool: bool,
}

impl Toolbox for Project {
    fn tools(&self) -> Vec<ToolSchema> {
        let read = ToolSchema {
            name: "read_file".to_owned(),
            description: "Reads a file.".to_owned(),
            parameters: json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}}),
        };
        if self.has_tool { vec![read] } else { Vec::new() }
    }

    fn patience(&self, _name: &str) -> Patience {
        Patience::Wait
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        _stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        assert!(self.has_tool, "no tool is offered, and {} is called", request.name);
        println!("tool: {} {}", request.name, request.arguments);
        let outcome =
            ToolOutcome { text: NOTES.to_owned(), succeeded: true, shown: Map::new(), was_stopped: false };
        Box::pin(async move { outcome })
    }
}
