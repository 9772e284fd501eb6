//! An engine with one fault, put in where it meets its model, its tools, its person and its disk.
//! It must never change what the model server or the project would do by themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use entraclaw_delegate::{Patience, Source, Submission, Task, ToolOutcome, Toolbox};
use entraclaw_models::{Answer, Facts, Held, Model, ModelError, Piece, Question, ToolRequest, ToolSchema};
use futures_util::future::BoxFuture;
use serde_json::Map;
use tokio::sync::{mpsc, watch};

/// The fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Asks a paused step from its beginning, and adds the answer to what was said.
    ForgetsPartial,
    /// Takes every restored state for one that was used.
    BelievesTheCache,
    /// Puts the person into the line of the hosts.
    PersonInLine,
    /// Writes where the model says, wherever that is.
    LetsPathsOut,
    /// Begins with an empty store when it is started again.
    LosesItsStore,
    /// Runs each tool twice.
    RunsTwice,
}

/// What the person types, as it reaches the engine.
pub(super) fn submission(fault: Fault, submission: Submission) -> Submission {
    if fault == Fault::PersonInLine {
        return Submission { source: Source::host("person"), ..submission };
    }
    submission
}

/// The model, as the engine asks it.
pub(super) struct FaultyModel {
    pub(super) inner: Arc<dyn Model>,
    pub(super) fault: Fault,
}

impl Model for FaultyModel {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        self.inner.facts()
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let mut question = question.clone();
            if self.fault == Fault::ForgetsPartial {
                question.said = None;
            }
            let mut answer = self.inner.ask(&question, pieces).await?;
            if self.fault == Fault::BelievesTheCache {
                answer.usage.cached = Some(answer.usage.input);
            }
            Ok(answer)
        })
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        self.inner.hold(name)
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        self.inner.bring_back(held)
    }
}

/// The tools, as the engine runs them.
pub(super) struct FaultyToolbox {
    pub(super) inner: Arc<dyn Toolbox>,
    pub(super) fault: Fault,
    pub(super) project: PathBuf,
}

impl FaultyToolbox {
    #[expect(clippy::disallowed_methods, reason = "the project is a real folder")]
    fn write(&self, path: &Path, text: &str) -> bool {
        std::fs::write(self.project.join(path), text).is_ok()
    }
}

impl Toolbox for FaultyToolbox {
    fn tools(&self) -> Vec<ToolSchema> {
        self.inner.tools()
    }

    fn patience(&self, name: &str) -> Patience {
        self.inner.patience(name)
    }

    fn writes(&self, name: &str) -> bool {
        self.inner.writes(name)
    }

    fn needs_approval(&self, request: &ToolRequest) -> Option<String> {
        self.inner.needs_approval(request)
    }

    fn cut_short(&self, task: &Task, request: &ToolRequest) {
        self.inner.cut_short(task, request);
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let ended = self.inner.run(request, stop.clone()).await;
            let text = |name: &str| request.arguments[name].as_str().unwrap_or_default();
            if self.fault == Fault::RunsTwice && ended.succeeded {
                return self.inner.run(request, stop).await;
            }
            // The cell's own folder is the world that it may spoil.
            let is_let_out = self.fault == Fault::LetsPathsOut
                && request.name == "write_file"
                && text("path").starts_with("../")
                && !ended.succeeded
                && self.write(Path::new(text("path")), text("content"));
            if is_let_out {
                let (text, shown) = ("written".to_owned(), Map::new());
                return ToolOutcome { text, succeeded: true, shown, was_stopped: false };
            }
            ended
        })
    }
}
