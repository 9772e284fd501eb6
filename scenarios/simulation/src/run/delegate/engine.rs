//! The engine as a process of a simulated machine: the production engine over a store in memory, in virtual time.
//! It must never outlive its own death: its connections end with it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_delegate::store::{Memory, Place};
use entraclaw_delegate::{Bounds, Engine, EngineParts, Event, Submission, TaskId, Toolbox};
use entraclaw_models::{Choice, Config, Late, Model};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::SplitMix;
use fake_models::Seen;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use scenario::Delegate;
use tempfile::TempDir;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use super::book::Book;
use super::model::{Mounted, ROOT};
use super::tools::SimTools;
use super::{Delegation, PROJECT};
use crate::mutants::Mutant;
use crate::run::miss::Miss;

/// A file system without a disk, where the system has one: each of hundreds of cells makes a folder and removes it.
const IN_MEMORY: &str = "/dev/shm";

/// The local model of a simulated machine; a cheap clone.
#[derive(Clone)]
pub(crate) struct SimDelegation(Arc<Inner>);

struct Inner {
    folder: TempDir,
    model: Arc<Mounted>,
    tools: Arc<SimTools>,
    clock: Arc<dyn Clock>,
    rate_limit: u32,
    seed: u64,
    began: Instant,
    mutant: Option<&'static Mutant>,
    state: Mutex<State>,
    book: Mutex<Book>,
}

#[derive(Default)]
struct State {
    /// The disk: it outlives the engine.
    memory: Memory,
    lives: u64,
    life: Option<Life>,
    /// The tasks of the person, by label.
    said: BTreeMap<String, TaskId>,
    /// When the person typed last, on the clock of the model server, and what.
    said_last: Option<(u64, String)>,
}

struct Life {
    engine: Engine,
    work: JoinHandle<()>,
    listener: Option<JoinHandle<()>>,
    connections: Connections,
}

/// The connections of hosts, which end with their engine.
pub(super) type Connections = Arc<Mutex<Vec<AbortHandle>>>;

pub(super) fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SimDelegation {
    /// A machine with this model server and an empty project, on which no engine runs.
    pub(crate) fn new(
        spec: &Delegate,
        rate_limit: Option<u32>,
        clock: Arc<dyn Clock>,
        seed: u64,
        mutant: Option<&'static Mutant>,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(IN_MEMORY).or_else(|_| tempfile::tempdir())?;
        let project = folder.path().join(PROJECT);
        std::fs::create_dir(&project)?;
        Ok(Self(Arc::new(Inner {
            tools: Arc::new(SimTools::new(&project, spec.write_ms)?),
            folder,
            model: Arc::new(Mounted::new(spec.model.clone())),
            clock,
            rate_limit: rate_limit.unwrap_or(Bounds::default().rate_limit),
            seed,
            began: Instant::now(),
            mutant,
            state: Mutex::default(),
            book: Mutex::default(),
        })))
    }

    /// The fault of the servers that hosts start.
    pub(super) fn mutant(&self) -> Option<&'static Mutant> {
        self.0.mutant
    }

    /// The engine that runs, with what ends when it does.
    pub(super) fn reached(&self) -> Option<(Engine, Connections)> {
        let state = locked(&self.0.state);
        let life = state.life.as_ref().filter(|life| !life.work.is_finished())?;
        Some((life.engine.clone(), Arc::clone(&life.connections)))
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        locked(&self.0.book)
    }

    pub(super) fn model(&self) -> &Mounted {
        &self.0.model
    }

    pub(super) fn tools(&self) -> &SimTools {
        &self.0.tools
    }

    /// The engine that runs.
    pub(super) fn engine(&self) -> Option<Engine> {
        self.reached().map(|(engine, _)| engine)
    }

    /// Whether an engine was ever started.
    pub(super) fn has_lived(&self) -> bool {
        locked(&self.0.state).lives > 0
    }

    /// The process dies before it has written so many changes more.
    pub(super) fn dies_after(&self, writes: Option<u64>) {
        locked(&self.0.state).memory.fail_after(writes);
    }

    /// The task of a message of the person.
    pub(super) fn said(&self, label: &str) -> Option<TaskId> {
        locked(&self.0.state).said.get(label).cloned()
    }

    /// When the person typed last, on the clock of the model server, and what.
    pub(super) fn said_last(&self) -> Option<(u64, String)> {
        locked(&self.0.state).said_last.clone()
    }

    /// The person types.
    pub(super) async fn say(&self, label: &str, text: &str) -> anyhow::Result<()> {
        let engine = self.engine().ok_or_else(|| Miss::new("the person can't type: no engine runs"))?;
        self.book().type_in(text);
        locked(&self.0.state).said_last = Some((self.0.model.now_ms(), text.to_owned()));
        let submission = Submission::person(text);
        let submission = match self.0.mutant {
            Some(mutant) => mutant.submission(submission),
            None => submission,
        };
        let taken = engine.submit(submission).await;
        let view = taken.map_err(|error| Miss::new(format!("the person is refused: {error}")))?;
        locked(&self.0.state).said.insert(label.to_owned(), view.task.id);
        Ok(())
    }

    /// It is asked to end, and does.
    pub(super) async fn end(&self) {
        if let Some(engine) = self.engine() {
            let _ = engine.shut_down().await;
        }
        self.bury(false).await;
    }

    /// Takes away what is left of an engine, and hears what it told last.
    async fn bury(&self, is_killed: bool) {
        let Some(mut life) = locked(&self.0.state).life.take() else { return };
        if is_killed {
            life.work.abort();
        }
        let _ = (&mut life.work).await;
        for connection in locked(&life.connections).drain(..) {
            connection.abort();
        }
        drop(life.engine);
        if let Some(listener) = life.listener {
            let _ = listener.await;
        }
    }

    fn parts(&self, memory: Memory, life: u64) -> EngineParts {
        let inner = &self.0;
        let config = Config { base_url: ROOT.to_owned(), model: None, api: None };
        let model: Arc<dyn Model> = Arc::new(Late::new(Choice::Named(config), inner.model.clone()));
        let toolbox: Arc<dyn Toolbox> = inner.tools.clone();
        let (model, toolbox) = match inner.mutant {
            Some(mutant) => {
                (mutant.model(model), mutant.toolbox(toolbox, &inner.folder.path().join(PROJECT)))
            }
            None => (model, toolbox),
        };
        EngineParts {
            place: Place::Memory(memory),
            model,
            toolbox,
            clock: Arc::clone(&inner.clock),
            random: Arc::new(SplitMix::seeded(inner.seed.wrapping_mul(1_000_003).wrapping_add(life))),
            bounds: Bounds { rate_limit: inner.rate_limit, ..Bounds::default() },
        }
    }

    async fn begin(&self) -> anyhow::Result<()> {
        if self.engine().is_some() {
            return Err(Miss::new("an engine runs already").into());
        }
        self.bury(false).await;
        let (memory, life) = {
            let mut state = locked(&self.0.state);
            state.lives += 1;
            if state.lives > 1 && self.0.mutant.is_some_and(Mutant::loses_its_store) {
                state.memory = Memory::default();
            }
            (state.memory.clone(), state.lives)
        };
        let (engine, work) = Engine::begin(self.parts(memory, life))?;
        let mut events = engine.events();
        let connections = Connections::default();
        let of_it = Arc::clone(&connections);
        let work = tokio::task::spawn_local(async move {
            // A store that fails ends the process.
            let _ = work.await;
            for connection in locked(&of_it).drain(..) {
                connection.abort();
            }
        });
        locked(&self.0.state).life = Some(Life { engine: engine.clone(), work, listener: None, connections });
        // An engine that dies at once has told nothing.
        let Ok(snapshot) = engine.snapshot(0).await else { return Ok(()) };
        let early = std::iter::from_fn(|| events.try_recv().ok()).collect();
        let unheard: Vec<TaskId> = {
            let mut book = self.book();
            book.begin(&snapshot, early);
            let is_queued = |id: &TaskId| snapshot.queue.iter().any(|view| view.task.id == *id);
            book.open().into_iter().filter(|id| !is_queued(id)).collect()
        };
        for id in unheard {
            // One that is gone is found at the end.
            if let Ok(view) = engine.poll(&id).await {
                self.book().look(view);
            }
        }
        let listener = tokio::task::spawn_local(listen(self.clone(), events));
        if let Some(life) = &mut locked(&self.0.state).life {
            life.listener = Some(listener);
        }
        Ok(())
    }
}

async fn listen(delegation: SimDelegation, mut events: Receiver<Event>) {
    loop {
        match events.recv().await {
            Ok(event) => {
                let at_ms = u64::try_from(delegation.0.began.elapsed().as_millis()).unwrap_or(u64::MAX);
                delegation.book().hear(at_ms, &event);
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

impl Delegation for SimDelegation {
    fn start(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        self.begin().boxed_local()
    }

    fn kill(&self) -> LocalBoxFuture<'_, ()> {
        self.bury(true).boxed_local()
    }

    fn questions(&self) -> Vec<Seen> {
        self.0.model.questions()
    }

    fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    fn simulated(&self) -> Option<&SimDelegation> {
        Some(self)
    }
}
