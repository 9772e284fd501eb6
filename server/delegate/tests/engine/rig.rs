//! An engine over a store in memory, which can crash and begin again.

use std::sync::Arc;

use entraclaw_delegate::store::{Memory, Place, StoreError};
use entraclaw_delegate::{Bounds, Engine, EngineParts, Event, Submission, TaskId, TaskView};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;

use crate::fake::{Fakes, Plan};

/// An engine at work.
pub(crate) struct Rig {
    pub(crate) fakes: Fakes,
    pub(crate) memory: Memory,
    pub(crate) bounds: Bounds,
    pub(crate) engine: Engine,
    pub(crate) events: Receiver<Event>,
    work: JoinHandle<Result<(), StoreError>>,
    lives: u64,
    clock: TokioClock,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Fakes::new(), Bounds { rate_limit: 100, ..Bounds::default() })
    }

    pub(crate) fn with(fakes: Fakes, bounds: Bounds) -> Self {
        let memory = Memory::default();
        let clock = TokioClock::starting_at("2026-11-26T09:00:00Z".parse().unwrap());
        let (engine, events, work) = begin(&fakes, &memory, bounds, 0, clock).unwrap();
        Self { fakes, memory, bounds, engine, events, work, lives: 1, clock }
    }

    /// The process dies; what it had not written is gone.
    pub(crate) async fn crash(&mut self) {
        self.work.abort();
        let _ = (&mut self.work).await;
    }

    /// Another engine begins on the same store.
    pub(crate) fn begin_again(&mut self) {
        let again = || begin(&self.fakes, &self.memory, self.bounds, self.lives, self.clock);
        let (engine, events, work) = again().unwrap_or_else(|_| {
            // It died while it looked for what the last one left.
            self.memory.fail_after(None);
            again().unwrap()
        });
        (self.engine, self.events, self.work) = (engine, events, work);
        self.lives += 1;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.work.is_finished()
    }

    pub(crate) async fn person(&self, plan: &Plan) -> TaskId {
        self.engine.submit(Submission::person(plan.message())).await.unwrap().task.id
    }

    pub(crate) async fn host(&self, name: &str, plan: &Plan) -> TaskId {
        self.engine.submit(Submission::host(name, plan.message())).await.unwrap().task.id
    }

    pub(crate) async fn ended(&self, task: &TaskId) -> TaskView {
        self.engine.ended(task).await.unwrap()
    }

    /// The events so far.
    pub(crate) fn heard(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.events.try_recv().ok()).collect()
    }
}

type Begun = (Engine, Receiver<Event>, JoinHandle<Result<(), StoreError>>);

fn begin(
    fakes: &Fakes,
    memory: &Memory,
    bounds: Bounds,
    life: u64,
    clock: TokioClock,
) -> Result<Begun, StoreError> {
    let parts = EngineParts {
        place: Place::Memory(memory.clone()),
        model: Arc::new(fakes.clone()),
        toolbox: Arc::new(fakes.clone()),
        clock: Arc::new(clock),
        random: Arc::new(SplitMix::seeded(life)),
        bounds,
    };
    let (engine, work) = Engine::begin(parts)?;
    let events = engine.events();
    Ok((engine, events, tokio::spawn(work)))
}
