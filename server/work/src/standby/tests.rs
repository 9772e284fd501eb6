//! Checks that a job is never held up by a process that stands by, and that such a process knows when to end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::processes::{ProcessId, SimulatedProcesses};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{MemoryStorage, Storage as _};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::{StandbyError, Standing, stand_by};
use crate::{
    Ask, Collector, Ended, Kind, Kinds, Limits, Outcome, Prepared, Reply, RunParts, Running, Works,
    WorksParts, run,
};

/// A kind that takes a second anew, and none if it is ready.
#[derive(Clone, Default)]
struct Slow {
    ended: Arc<AtomicU32>,
}

struct Ready {
    kind: Slow,
    left: u64,
}

impl Kind for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        async move {
            sleep(Duration::from_secs(1)).await;
            running.say(b"cold");
            Outcome::Done
        }
        .boxed()
    }

    fn prepare(&self, what: Value) -> BoxFuture<'static, Result<Box<dyn Prepared>, String>> {
        let kind = self.clone();
        async move {
            sleep(Duration::from_secs(1)).await;
            let left = what["jobs"].as_u64().ok_or("it has no number of jobs")?;
            Ok(Box::new(Ready { kind, left }) as Box<dyn Prepared>)
        }
        .boxed()
    }
}

impl Prepared for Ready {
    fn spared(&self) -> Vec<ProcessId> {
        Vec::new()
    }

    fn run(&mut self, running: Running) -> BoxFuture<'_, Outcome> {
        async move {
            let takes = running.request.ask.what["ms"].as_u64().unwrap_or(0);
            sleep(Duration::from_millis(takes)).await;
            running.say(b"warm");
            Outcome::Done
        }
        .boxed()
    }

    fn renew(&mut self) -> BoxFuture<'_, bool> {
        self.left -= 1;
        std::future::ready(self.left > 0).boxed()
    }

    fn ended(&mut self) -> BoxFuture<'_, ()> {
        pending().boxed()
    }

    fn end(self: Box<Self>) -> BoxFuture<'static, ()> {
        self.kind.ended.fetch_add(1, Ordering::Relaxed);
        std::future::ready(()).boxed()
    }
}

/// A machine with one home folder and one session.
struct Machine {
    storage: MemoryStorage,
    clock: Arc<dyn Clock>,
    processes: SimulatedProcesses,
    kind: Slow,
    works: Works,
    session: MemoryStorage,
}

impl Machine {
    fn new() -> Self {
        let clock: Arc<dyn Clock> =
            Arc::new(TokioClock::starting_at("2026-11-26T08:00:00Z".parse().unwrap()));
        let (storage, processes) = (MemoryStorage::new(), SimulatedProcesses::default());
        let session = storage.new_process();
        let works = Works::new(WorksParts {
            storage: Arc::new(session.clone()),
            home: String::new(),
            clock: clock.clone(),
            random: Arc::new(SplitMix::seeded(1)),
            processes: Arc::new(processes.clone()),
            program: "entraclaw".into(),
        });
        Self { storage, clock, processes, kind: Slow::default(), works, session }
    }

    /// Plays the processes that were started. Returns the storage of the last one, to kill it, and its end.
    fn play(&self) -> Option<(MemoryStorage, JoinHandle<Result<u32, StandbyError>>)> {
        let mut last = None;
        while let Some((process, program)) = self.processes.next_started() {
            let storage = self.storage.new_process();
            let parts = RunParts {
                storage: Arc::new(storage.clone()),
                clock: self.clock.clone(),
                processes: Arc::new(self.processes.clone()),
                pid: process.pid,
                kinds: Kinds::default().with(self.kind.clone()),
                look_every: Duration::from_millis(50),
            };
            let of = storage.clone();
            let task = tokio::spawn(async move {
                let ended = match program.arguments[1].as_str() {
                    "--standby" => stand_by(&program.arguments[2], parts, pending()).await,
                    id => run(id, parts, pending())
                        .await
                        .map(|_| 0)
                        .map_err(|error| StandbyError::NotReady(error.to_string())),
                };
                of.kill();
                ended
            });
            last = Some((storage, task));
        }
        last
    }

    fn stand_by(&self, jobs: u64) -> (Standing, MemoryStorage, JoinHandle<Result<u32, StandbyError>>) {
        let standing = self.works.stand_by("slow", json!({"jobs": jobs}), 1).unwrap();
        let (storage, task) = self.play().unwrap();
        (standing, storage, task)
    }

    /// Begins a job and waits for its result: what it says, and how long it took in milliseconds.
    async fn ask(&self, standing: &Standing, ms: u64) -> (String, u128) {
        let began = Instant::now();
        let job = self.works.begin_at(ask(ms), Some(standing)).unwrap();
        let waits = job.until(began + Duration::from_secs(60));
        tokio::pin!(waits);
        loop {
            self.play();
            tokio::select! {
                biased;
                reply = &mut waits => match reply {
                    Reply::Done(claimed) => {
                        let result = claimed.hand_on();
                        assert_eq!(result.ended, Ended::Done, "{:?}", result.reason);
                        return (result.text, began.elapsed().as_millis());
                    }
                    Reply::Ticket(_) => panic!("no result within a minute"),
                },
                () = sleep(Duration::from_millis(10)) => {}
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.storage.new_process().list("standby").unwrap();
        names.into_iter().filter(|name| !name.starts_with("slot-")).collect()
    }
}

fn ask(ms: u64) -> Ask {
    Ask {
        kind: "slow".to_owned(),
        what: json!({"ms": ms}),
        title: "a job".to_owned(),
        consumer: "host".to_owned(),
        host: None,
        limits: Limits::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_are_handed_over_one_after_another_until_it_is_used_up() {
    let machine = Machine::new();
    let (standing, _, task) = machine.stand_by(2);
    assert_eq!(machine.ask(&standing, 0).await.0, "cold", "it is not ready yet");
    sleep(Duration::from_secs(2)).await;
    let (text, took_ms) = machine.ask(&standing, 0).await;
    assert!(text == "warm" && took_ms < 200, "{text} after {took_ms} ms");
    sleep(Duration::from_millis(100)).await;
    assert!(standing.is_alive());
    assert_eq!(machine.ask(&standing, 0).await.0, "warm");
    assert_eq!(task.await.unwrap().unwrap(), 2);
    assert!(!standing.is_alive());
    assert_eq!(machine.names(), Vec::<String>::new());
    assert_eq!(machine.kind.ended.load(Ordering::Relaxed), 1);
    assert_eq!(machine.ask(&standing, 0).await.0, "cold", "none stands by");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_not_taken_begins_as_any_other() {
    let machine = Machine::new();
    let (standing, storage, task) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    // It is killed while it waits, and its offer stays.
    task.abort();
    storage.kill();
    let (text, took_ms) = machine.ask(&standing, 0).await;
    assert!(text == "cold" && (2_000..2_200).contains(&took_ms), "{text} after {took_ms} ms");
    assert!(!standing.is_alive());
    // The next one that stands by removes what it left.
    let (_, _, _task) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    let names = machine.names();
    assert!(names.len() == 2 && names.iter().all(|name| !name.starts_with(standing.key())), "{names:?}");
}

#[tokio::test(start_paused = true)]
async fn a_job_is_lost_with_the_process_that_took_it_and_is_reported() {
    let machine = Machine::new();
    let (standing, storage, task) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    let job = machine.works.begin_at(ask(5_000), Some(&standing)).unwrap();
    sleep(Duration::from_secs(1)).await;
    task.abort();
    storage.kill();
    machine.processes.restart();
    sleep(Duration::from_secs(1)).await;
    let looks = Arc::new(machine.storage.new_process());
    let mut collector = Collector::new(looks, machine.clock.clone(), Arc::new(machine.processes.clone()));
    collector.sweep().unwrap();
    match job.until(Instant::now() + Duration::from_secs(9)).await {
        Reply::Done(claimed) => assert_eq!(claimed.result().ended, Ended::Lost),
        Reply::Ticket(_) => panic!("the loss is not told"),
    }
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_its_session_when_it_is_dismissed_and_when_it_has_waited_long() {
    let machine = Machine::new();
    let (standing, _, task) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    assert!(standing.dismiss().unwrap());
    assert_eq!(task.await.unwrap().unwrap(), 0);
    assert!(!standing.dismiss().unwrap());

    let (_, _, task) = machine.stand_by(9);
    let began = Instant::now();
    assert_eq!(task.await.unwrap().unwrap(), 0);
    assert_eq!(began.elapsed().as_secs(), 601, "ten minutes after it was ready");

    let (_, _, task) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    machine.session.kill();
    let began = Instant::now();
    assert_eq!(task.await.unwrap().unwrap(), 0);
    assert!(began.elapsed() < Duration::from_secs(6));
    assert_eq!(machine.names(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn one_too_many_and_one_that_can_not_get_ready_end_and_say_why() {
    let machine = Machine::new();
    let (_, _, _first) = machine.stand_by(9);
    sleep(Duration::from_secs(2)).await;
    let (second, _, task) = machine.stand_by(9);
    let error = task.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("1 processes stand by already"), "{error}");
    assert!(!second.is_alive());

    let machine = Machine::new();
    let standing = machine.works.stand_by("slow", json!({}), 1).unwrap();
    assert!(standing.is_alive(), "it has not begun yet");
    sleep(Duration::from_secs(40)).await;
    assert!(!standing.is_alive(), "one that was killed at its start never begins");
    let error = machine.play().unwrap().1.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("no number of jobs"), "{error}");
    assert_eq!(machine.names(), Vec::<String>::new());
    machine.processes.refuse(true);
    assert!(machine.works.stand_by("slow", json!({}), 1).is_err());
    assert_eq!(machine.names(), Vec::<String>::new());
}
