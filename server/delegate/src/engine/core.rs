//! The state of the engine and its loop: it takes commands, lets the model and the tools work, and looks at the time.
//!
//! One thing is under way at a time. It must never wait for the model or a tool while a command could be taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use entraclaw_models::{Facts, Model, ModelError};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use super::bounds::Bounds;
use super::command::Command;
use super::doing::{Doing, Happened};
use super::error::not_found;
use super::event::Event;
use super::parts::EngineParts;
use super::view::Capabilities;
use crate::limits::RateLimit;
use crate::queue::Queue;
use crate::store::{Store, StoreError};
use crate::task::TaskId;
use crate::tool::Toolbox;

/// What is told of the work of a task that could not be kept in time.
const NOT_REPORTED: &str =
    "The changes of this task could not be committed in time; they are kept until they are.";

/// What is remembered of the task that is worked on, as long as it is.
pub(super) struct Turn {
    pub(super) task: TaskId,
    pub(super) began: Instant,
    /// How long it was worked on before, in milliseconds.
    pub(super) worked_ms: u64,
    /// How often this step was asked in vain.
    pub(super) tries: u32,
    /// Whether the server has brought the step back.
    pub(super) brought_back: Option<bool>,
}

/// The engine.
pub(super) struct Core {
    pub(super) store: Store,
    pub(super) model: Arc<dyn Model>,
    pub(super) toolbox: Arc<dyn Toolbox>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) random: Arc<dyn Random>,
    pub(super) bounds: Bounds,
    pub(super) queue: Queue,
    pub(super) rate: RateLimit,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) events: broadcast::Sender<Event>,
    /// How many events were told.
    pub(super) told: AtomicU64,
    pub(super) known: watch::Sender<Arc<Capabilities>>,
    pub(super) doing: Doing,
    pub(super) turn: Option<Turn>,
    pub(super) facts: Option<(Facts, Instant)>,
    pub(super) trouble: Option<String>,
    pub(super) pause: Duration,
    pub(super) tokens_per_second: Option<f64>,
    /// Who waits for a look at the model.
    pub(super) lookers: Vec<oneshot::Sender<Arc<Capabilities>>>,
    pub(super) ends: Option<oneshot::Sender<()>>,
    pub(super) is_ending: bool,
}

impl Core {
    pub(super) fn new(
        parts: EngineParts,
        store: Store,
        commands: mpsc::Receiver<Command>,
        events: broadcast::Sender<Event>,
        known: watch::Sender<Arc<Capabilities>>,
    ) -> Self {
        let bounds = parts.bounds;
        Self {
            store,
            model: parts.model,
            toolbox: parts.toolbox,
            clock: parts.clock,
            random: parts.random,
            bounds,
            queue: Queue::default(),
            rate: RateLimit::new(bounds.rate_limit),
            commands,
            events,
            told: AtomicU64::new(0),
            known,
            doing: Doing::Nothing,
            turn: None,
            facts: None,
            trouble: None,
            pause: Duration::from_millis(bounds.retry_ms_first),
            tokens_per_second: None,
            lookers: Vec::new(),
            ends: None,
            is_ending: false,
        }
    }

    /// Works until it is shut down, or its store fails.
    pub(super) async fn run(mut self) -> Result<(), StoreError> {
        self.renew_known()?;
        loop {
            self.arrange()?;
            if self.is_ending && matches!(self.doing, Doing::Nothing) {
                self.tell(Event::Ends);
                if let Some(ends) = self.ends.take() {
                    let _ = ends.send(());
                }
                return Ok(());
            }
            let due = self.doing.due();
            let happened = tokio::select! {
                biased;
                command = self.commands.recv(), if !self.is_ending => {
                    self.on_command(command)?;
                    continue;
                }
                happened = self.doing.happen() => happened,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Happened::TimeIsUp,
            };
            self.on_happened(happened)?;
        }
    }

    fn on_happened(&mut self, happened: Happened) -> Result<(), StoreError> {
        match happened {
            Happened::Facts(facts) => self.on_facts(facts),
            Happened::BroughtBack(brought) => {
                self.on_brought_back(brought);
                Ok(())
            }
            Happened::Piece(piece) => self.on_piece(piece),
            Happened::Answered(answer) => self.on_answered(answer),
            Happened::Held(held) => self.on_held(held),
            Happened::Reported(report) => self.on_reported(report),
            Happened::ToolEnded(outcome) => self.on_tool_ended(outcome),
            Happened::TimeIsUp => self.on_time(),
        }
    }

    fn on_time(&mut self) -> Result<(), StoreError> {
        match &self.doing {
            Doing::Nothing => Ok(()),
            Doing::Waiting(_) => {
                self.doing = Doing::Nothing;
                Ok(())
            }
            Doing::Facts(..) => {
                let says = "the model server does not say what it has; look whether it hangs".to_owned();
                self.on_facts(Err(ModelError::Stalled(says)))
            }
            Doing::BringingBack(..) => {
                self.on_brought_back(false);
                Ok(())
            }
            Doing::Holding(..) => self.on_held(None),
            Doing::Reporting(..) => self.on_reported(Some(NOT_REPORTED.to_owned())),
            Doing::Approval(number, _) => {
                let number = *number;
                self.refuse_call(
                    number,
                    "no person approved this in time; do without it, or say that it is needed",
                )
            }
            Doing::Asking(_) => self.on_asking_due(),
            Doing::Tool(_) => self.on_tool_due(),
        }
    }

    fn on_command(&mut self, command: Option<Command>) -> Result<(), StoreError> {
        match command {
            None => self.is_ending = true,
            Some(Command::ShutDown(answer)) => {
                self.is_ending = true;
                self.ends = Some(answer);
            }
            Some(Command::Submit(submission, answer)) => {
                let taken = self.submit(submission)?;
                let _ = answer.send(taken);
            }
            Some(Command::Cancel(task, reason, answer)) => {
                let cancelled = self.cancel(&task, reason.as_deref())?;
                let _ = answer.send(cancelled);
            }
            Some(Command::Poll(task, answer)) => {
                let found = self.store.find_task(&task)?;
                let view = found.map(|task| self.view_of(task)).transpose()?;
                let _ = answer.send(view.ok_or_else(|| not_found(&task)));
            }
            Some(Command::History { limit, with_calls, answer }) => {
                let _ = answer.send(self.history(limit, with_calls)?);
            }
            Some(Command::Snapshot(messages, answer)) => {
                // Nothing is told between the two.
                let _ = answer.send((self.snapshot(messages)?, self.events.subscribe()));
            }
            Some(Command::Quality(answer)) => {
                let _ = answer.send(self.store.quality()?);
            }
            Some(Command::Look(answer)) => self.look(answer),
            Some(Command::Owed(answer)) => {
                let owed = self.store.owed()?.into_iter().map(|task| self.view_of(task));
                let _ = answer.send(owed.collect::<Result<_, _>>()?);
            }
            Some(Command::Claim(task, step, answer)) => {
                let claim = match self.store.find_task(&task)? {
                    Some(_) => Ok(self.store.claim(&task, step)?),
                    None => Err(not_found(&task)),
                };
                let _ = answer.send(claim);
            }
            Some(Command::Report(issue, answer)) => {
                let _ = answer.send(self.report(&issue)?);
            }
            Some(Command::Decide { number, may_run, answer }) => {
                let _ = answer.send(self.decide(number, may_run)?);
            }
            Some(Command::BeginSession(answer)) => {
                self.store.begin_session(self.now_ms())?;
                self.tell(Event::SessionBegan);
                let _ = answer.send(());
            }
        }
        Ok(())
    }

    /// Tells what has happened. There may be no reader.
    pub(super) fn tell(&self, event: Event) {
        self.told.fetch_add(1, Ordering::Relaxed);
        let _ = self.events.send(event);
    }

    pub(super) fn now_ms(&self) -> i64 {
        self.clock.now().as_millisecond()
    }

    pub(super) fn after(ms: u64) -> Instant {
        Instant::now() + Duration::from_millis(ms)
    }
}
