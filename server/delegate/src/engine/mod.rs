//! The engine: one actor that owns the queue and the store, drives the model and the tools, and tells what happens.
//!
//! From the ground up: `bounds` is what it holds every task to, `parts` and `error` what it is made of and refuses, `view` and
//! `event` what it tells, `fit` and `question` make a question that fits, `malformed` judges what the model asks for, `command` is
//! what it is told, `asking` and `running` are an answer and a tool on their way, `doing` is what is under way, `core` is its state and its loop. On that,
//! `recover` finds what an earlier engine left, `turn` decides what is next for a task, `ask`, `answering` and `tools` do it, `pause`
//! stops it for a person, `answers` tells of it. An arrow between files runs down this list, and none runs back.
//!
//! It must never tell of a state that is not written, run a tool twice that has ended, or let a host go before the person.

mod answering;
mod answers;
mod ask;
mod asking;
mod bounds;
mod command;
mod core;
mod doing;
mod error;
mod event;
mod fit;
mod malformed;
mod parts;
mod pause;
mod question;
mod recover;
mod running;
mod tools;
mod turn;
mod view;

use std::sync::Arc;

use entraclaw_work::{Claim, Move};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

pub use bounds::Bounds;
pub use error::EngineError;
pub use event::Event;
pub use parts::{EngineParts, Submission};
pub use view::{Active, Approval, Capabilities, Entry, History, Snapshot, TaskView};

use crate::issue::Issue;
use crate::store::{KindQuality, Reported, Store, StoreError};
use crate::task::TaskId;
use command::Command;
use core::Core;

/// Events that a slow reader may be behind.
const EVENTS_MAX: usize = 1_024;
/// Commands that wait for the engine.
const COMMANDS_MAX: usize = 64;

/// The engine at work: it must be polled, most often by a task of its own. Dropping it is a crash.
pub type Work = BoxFuture<'static, Result<(), StoreError>>;

/// A handle of the engine. Clones are cheap; when the last one is dropped the engine shuts down.
#[derive(Clone)]
pub struct Engine {
    commands: mpsc::Sender<Command>,
    /// Weak, so that readers see the end of the engine.
    events: broadcast::WeakSender<Event>,
    capabilities: watch::Receiver<Arc<Capabilities>>,
}

impl Engine {
    /// Opens the project's store, finds what an earlier engine left, and begins. Nothing happens before the work is polled.
    ///
    /// # Errors
    /// Fails if another engine works on the project, or the store can't be used.
    pub fn begin(parts: EngineParts) -> Result<(Self, Work), StoreError> {
        let store = Store::open(&parts.place)?;
        let (commands, commanded) = mpsc::channel(COMMANDS_MAX);
        let (events, _) = broadcast::channel(EVENTS_MAX);
        let (known, capabilities) = watch::channel(Arc::default());
        let mut core = Core::new(parts, store, commanded, events.clone(), known);
        core.recover()?;
        let events = events.downgrade();
        Ok((Self { commands, events, capabilities }, core.run().boxed()))
    }

    /// What happens from now on, until the engine ends. A reader that is too slow loses events, and reads
    /// [`Engine::follow`] again.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        // Without an engine there is nothing to hear.
        self.events.upgrade().map_or_else(|| broadcast::channel(1).1, |events| events.subscribe())
    }

    /// What can be delegated, as last known, without waiting.
    pub fn capabilities(&self) -> Arc<Capabilities> {
        self.capabilities.borrow().clone()
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, EngineError> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(command(answer)).await.map_err(|_| EngineError::Ended)?;
        answered.await.map_err(|_| EngineError::Ended)
    }

    /// Hands over a task. It is written when this returns.
    ///
    /// # Errors
    /// Fails if the client asks too often, or the message is too long.
    pub async fn submit(&self, submission: Submission) -> Result<TaskView, EngineError> {
        self.ask(|answer| Command::Submit(submission, answer)).await?
    }

    /// Cancels a task. A tool that runs for it is stopped, or ends by itself if it must not be cut in half.
    ///
    /// # Errors
    /// Fails if there is no such task, or it has ended.
    pub async fn cancel(&self, task: &TaskId, reason: Option<String>) -> Result<TaskView, EngineError> {
        self.ask(|answer| Command::Cancel(task.clone(), reason, answer)).await?
    }

    /// Where a task stands.
    ///
    /// # Errors
    /// Fails if there is no such task.
    pub async fn poll(&self, task: &TaskId) -> Result<TaskView, EngineError> {
        self.ask(|answer| Command::Poll(task.clone(), answer)).await?
    }

    /// Waits until a task has ended.
    ///
    /// # Errors
    /// Fails if there is no such task.
    pub async fn ended(&self, task: &TaskId) -> Result<TaskView, EngineError> {
        loop {
            let mut events = self.events();
            let view = self.poll(task).await?;
            if view.task.state.is_ended() {
                return Ok(view);
            }
            loop {
                match events.recv().await {
                    Ok(Event::Ended(view)) if view.task.id == *task => return Ok(TaskView::clone(&view)),
                    Ok(_) => {}
                    Err(broadcast::error::RecvError::Lagged(_)) => break,
                    Err(broadcast::error::RecvError::Closed) => return Err(EngineError::Ended),
                }
            }
        }
    }

    /// The last messages of the conversation.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn history(&self, limit: usize, with_calls: bool) -> Result<History, EngineError> {
        self.ask(|answer| Command::History { limit, with_calls, answer }).await
    }

    /// Everything that a user interface shows, with so many of the last messages.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn snapshot(&self, messages: usize) -> Result<Snapshot, EngineError> {
        Ok(self.follow(messages).await?.0)
    }

    /// The same, and every event after it: what the first does not hold, the second brings, and nothing comes twice. The first
    /// event has the number [`Snapshot::told`] + 1.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn follow(
        &self,
        messages: usize,
    ) -> Result<(Snapshot, broadcast::Receiver<Event>), EngineError> {
        self.ask(|answer| Command::Snapshot(messages, answer)).await
    }

    /// What can be delegated, after a look at the server if nothing was known yet.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn look(&self) -> Result<Arc<Capabilities>, EngineError> {
        self.ask(Command::Look).await
    }

    /// How each model has done with each kind of task.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn quality(&self) -> Result<Vec<KindQuality>, EngineError> {
        self.ask(Command::Quality).await
    }

    /// The tasks of hosts that have ended and whose result neither the host nor the inbox has.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn owed(&self) -> Result<Vec<TaskView>, EngineError> {
        self.ask(Command::Owed).await
    }

    /// Moves the result of a task on its way to the host or the inbox, if that is allowed, and says where it is then. It is
    /// written when this returns.
    ///
    /// # Errors
    /// Fails if there is no such task.
    pub async fn claim(&self, task: &TaskId, step: Move) -> Result<Claim, EngineError> {
        self.ask(|answer| Command::Claim(task.clone(), step, answer)).await?
    }

    /// Files an issue with an answer.
    ///
    /// # Errors
    /// Fails if it names a task that there is not.
    pub async fn report(&self, issue: Issue) -> Result<Reported, EngineError> {
        self.ask(|answer| Command::Report(issue, answer)).await?
    }

    /// A person decides whether a tool call may run, by the number of its [`Approval`].
    ///
    /// # Errors
    /// Fails if no such call waits.
    pub async fn decide(&self, number: i64, may_run: bool) -> Result<(), EngineError> {
        self.ask(|answer| Command::Decide { number, may_run, answer }).await?
    }

    /// Begins an empty conversation. The old one is kept.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn begin_session(&self) -> Result<(), EngineError> {
        self.ask(Command::BeginSession).await
    }

    /// Ends the engine: what is under way is written, and goes on when the next engine begins.
    ///
    /// # Errors
    /// Fails if the engine has ended.
    pub async fn shut_down(&self) -> Result<(), EngineError> {
        self.ask(Command::ShutDown).await
    }
}
