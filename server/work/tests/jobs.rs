//! Checks who gets a job's result when processes or the machine end between any two steps.

use std::sync::Arc;
use std::time::Duration;

use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{Crash, Fault, MemoryStorage, Storage};
use entraclaw_work::{
    Ask, Asks, Claim, Collector, Ended, Kind, Kinds, Limits, Move, Outcome, Reply, RunError, RunParts,
    Running, Works, WorksParts, run,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;
use tokio::time::{Instant, sleep};

/// A kind that prints a text after so many milliseconds.
struct Scripted;

impl Kind for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        async move {
            let takes = running.request.ask.what["ms"].as_u64().unwrap_or(0);
            if let Some(question) = running.request.ask.what["asks"].as_str() {
                let said = running.ask_caller(question, Duration::from_secs(60)).await;
                running.say(said.as_deref().unwrap_or("no answer").as_bytes());
                return Outcome::Done;
            }
            tokio::select! {
                biased;
                () = sleep(Duration::from_millis(takes)) => {}
                _ = running.stopped() => return Outcome::Cancelled,
            }
            for number in 0..running.request.ask.what["events"].as_u64().unwrap_or(0) {
                running.event("step", json!({"number": number, "says": "x".repeat(1_000)}));
            }
            running.say(b"the answer");
            match running.request.ask.what["fails"].as_str() {
                Some(why) => Outcome::Failed(why.to_owned()),
                None => Outcome::Done,
            }
        }
        .boxed()
    }
}

/// A machine with one home folder.
struct Machine {
    storage: MemoryStorage,
    clock: Arc<dyn Clock>,
    processes: SimulatedProcesses,
}

impl Machine {
    fn new() -> Self {
        let clock = Arc::new(TokioClock::starting_at("2026-11-25T08:00:00Z".parse().unwrap()));
        Self { storage: MemoryStorage::new(), clock, processes: SimulatedProcesses::default() }
    }

    fn works(&self, storage: &MemoryStorage, seed: u64) -> Works {
        Works::new(WorksParts {
            storage: Arc::new(storage.clone()),
            home: String::new(),
            clock: self.clock.clone(),
            random: Arc::new(SplitMix::seeded(seed)),
            processes: Arc::new(self.processes.clone()),
            program: "entraclaw".into(),
        })
    }

    fn collector(&self) -> Collector {
        let storage = Arc::new(self.storage.new_process());
        Collector::new(storage, self.clock.clone(), Arc::new(self.processes.clone()))
    }

    /// Runs the process of the next started job.
    fn started(
        &self,
        storage: &MemoryStorage,
    ) -> Option<impl Future<Output = Result<Ended, RunError>> + use<>> {
        let (process, program) = self.processes.next_started()?;
        let parts = RunParts {
            storage: Arc::new(storage.clone()),
            clock: self.clock.clone(),
            processes: Arc::new(self.processes.clone()),
            pid: process.pid,
            kinds: Kinds::default().with(Scripted),
            look_every: Duration::from_millis(50),
        };
        Some(async move { run(&program.arguments[1], parts, pending()).await })
    }
}

fn ask(what: serde_json::Value) -> Ask {
    Ask {
        kind: "scripted".to_owned(),
        what,
        title: "count the files".to_owned(),
        consumer: "codex".to_owned(),
        host: None,
        limits: Limits::default(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_in_time_goes_to_the_caller_alone() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let job = machine.works(&host, 1).begin(ask(json!({"ms": 400}))).unwrap();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let (reply, ended) = tokio::join!(job.until(deadline), running);
    assert_eq!(ended.unwrap(), Ended::Done);
    let Reply::Done(claimed) = reply else { panic!("it ended in time") };
    assert_eq!(claimed.result().text, "the answer");
    claimed.hand_on();
    let mut collector = machine.collector();
    assert_eq!(collector.ready().unwrap(), (Vec::new(), false));
    assert!(!collector.sweep().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_later_result_goes_to_the_inbox_alone() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let job = machine.works(&host, 1).begin(ask(json!({"ms": 5_000, "fails": "no such host"}))).unwrap();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let deadline = Instant::now() + Duration::from_secs(1);
    let (reply, ended) = tokio::join!(job.until(deadline), running);
    assert_eq!(ended.unwrap(), Ended::Failed);
    let Reply::Ticket(ticket) = reply else { panic!("it took longer") };
    assert!(ticket.text.contains("will come to your inbox") && ticket.text.contains(&ticket.id));
    let mut collector = machine.collector();
    let (ready, _) = collector.ready().unwrap();
    assert_eq!(ready.len(), 1);
    assert_eq!((ready[0].result.reason.as_deref(), ready[0].may_be_known), (Some("no such host"), false));
    collector.told(&ticket.id).unwrap();
    assert_eq!(collector.ready().unwrap(), (Vec::new(), false));
    collector.sweep().unwrap();
    assert_eq!(collector.ready().unwrap(), (Vec::new(), false), "it is not ready again");
    assert_eq!(collector.prune(None, 0, None).unwrap().0, 1);
    assert_eq!(machine.storage.paths().iter().filter(|path| path.contains(&ticket.id)).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_asks_the_caller_that_waits_for_it() {
    let machine = Machine::new();
    let works = machine.works(&machine.storage.new_process(), 1);
    let job = works.begin(ask(json!({"asks": "may I?"}))).unwrap();
    let (id, mut events) = (job.id().to_owned(), job.events());
    let answers = async {
        sleep(Duration::from_secs(2)).await;
        let asked: Vec<Asks> = events.news().iter().filter_map(Asks::of).collect();
        assert_eq!(asked, [Asks { number: 1, says: "may I?".to_owned() }]);
        works.answer(&id, 1, "yes").unwrap();
        works.answer(&id, 1, "a later answer changes nothing").unwrap();
    };
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let waits = job.until(Instant::now() + Duration::from_secs(10));
    let (reply, ended, ()) = tokio::join!(waits, running, answers);
    assert_eq!(ended.unwrap(), Ended::Done);
    let Reply::Done(claimed) = reply else { panic!("it ended in time") };
    assert_eq!(claimed.result().text, "yes");
}

#[tokio::test(start_paused = true)]
async fn a_job_does_not_wait_for_a_caller_that_is_gone() {
    let machine = Machine::new();
    let job = machine.works(&machine.storage.new_process(), 1).begin(ask(json!({"asks": "may I?"}))).unwrap();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let began = Instant::now();
    let waits = job.until(Instant::now() + Duration::from_secs(3));
    let (reply, ended) = tokio::join!(waits, running);
    assert_eq!((ended.unwrap(), began.elapsed() < Duration::from_secs(5)), (Ended::Done, true));
    assert!(matches!(reply, Reply::Ticket(_)));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_job_ends_as_cancelled() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let works = machine.works(&host, 1);
    let job = works.begin(ask(json!({"ms": 3_600_000}))).unwrap();
    let id = job.id().to_owned();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let cancels = async {
        sleep(Duration::from_secs(2)).await;
        assert!(works.cancel(&id).unwrap());
        Instant::now()
    };
    let ticket = job.let_go();
    let (ended, cancelled_at) = tokio::join!(running, cancels);
    assert_eq!(ended.unwrap(), Ended::Cancelled);
    assert!(cancelled_at.elapsed() <= Duration::from_millis(100));
    assert!(!works.cancel(&ticket.id).unwrap(), "it has ended");
    assert_eq!(machine.collector().ready().unwrap().0.len(), 1);
}

/// A session looks whether a job is lost while it holds the job's lock. A job whose process came in that moment was lost.
#[tokio::test(start_paused = true)]
async fn a_process_begins_its_job_after_a_look_at_it() {
    let machine = Machine::new();
    let (host, leader) = (machine.storage.new_process(), machine.storage.new_process());
    let job = machine.works(&host, 1).begin(ask(json!({"ms": 400}))).unwrap();
    let looks = leader.try_lock(&format!("work/{}/lock", job.id())).unwrap().unwrap();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    let looked = async {
        sleep(Duration::from_millis(50)).await;
        drop(looks);
    };
    let (reply, ended, ()) =
        tokio::join!(job.until(Instant::now() + Duration::from_secs(9)), running, looked);
    assert_eq!(ended.unwrap(), Ended::Done);
    assert!(matches!(reply, Reply::Done(_)));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_another_process_runs_is_left_to_it() {
    let machine = Machine::new();
    let (host, other) = (machine.storage.new_process(), machine.storage.new_process());
    let job = machine.works(&host, 1).begin(ask(json!({"ms": 400}))).unwrap();
    let _runs = other.try_lock(&format!("work/{}/lock", job.id())).unwrap().unwrap();
    let ended = machine.started(&machine.storage.new_process()).unwrap().await;
    assert!(matches!(ended, Err(RunError::Runs(id)) if id == job.id()));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_lost_when_the_machine_restarts() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let job = machine.works(&host, 1).begin(ask(json!({"ms": 60_000}))).unwrap();
    let id = job.id().to_owned();
    let own = machine.storage.new_process();
    let mut running = Box::pin(machine.started(&own).unwrap());
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut running).await.is_err());
    machine.storage.crash(Crash::Power, 7);
    machine.processes.restart();
    drop((running, job));
    let mut collector = machine.collector();
    assert!(!collector.sweep().unwrap());
    let (ready, _) = collector.ready().unwrap();
    let result = &ready[0].result;
    assert_eq!((result.id.as_str(), result.ended), (id.as_str(), Ended::Lost));
    assert!(result.reason.as_deref().unwrap().contains("machine was started again"), "{result:?}");
}

/// How often a result was given.
#[derive(Debug)]
struct Given {
    by_caller: usize,
    by_inbox: usize,
    /// Of those by the inbox, how many had the mark that the caller may have shown it.
    marked: usize,
    began: bool,
}

/// Plays a call that ends at about its limit. At the `n`th call of the disk a process is killed or the power fails.
/// Returns how often the result was given.
async fn given_with_fault(at: u64, fault: Fault, work_ms: u64) -> Given {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let own = machine.storage.new_process();
    machine.storage.fail_call(at, fault);
    let mut handed_on = 0;
    let works = machine.works(&host, 1);
    let begun = works.begin(ask(json!({"ms": work_ms})));
    let began = begun.is_ok();
    if let Ok(job) = begun {
        let running = machine.started(&own);
        let deadline = Instant::now() + Duration::from_millis(500);
        let run = async {
            if let Some(running) = running {
                let _ = running.await;
            }
        };
        let (reply, ()) = tokio::join!(job.until(deadline), run);
        if let Reply::Done(claimed) = reply {
            // The answer leaves here if its process still runs; then that is recorded.
            handed_on = usize::from(host.is_alive());
            claimed.hand_on();
        }
    }
    machine.storage.clear_fault();
    host.kill();
    own.kill();
    drop(works);
    let mut collector = machine.collector();
    let (mut told, mut marked) = (0, 0);
    for _ in 0..8 {
        sleep(Duration::from_secs(20)).await;
        collector.sweep().unwrap();
        for ready in collector.ready().unwrap().0 {
            told += 1;
            marked += usize::from(ready.may_be_known);
            collector.told(&ready.request.id).unwrap();
        }
    }
    Given { by_caller: handed_on, by_inbox: told, marked, began }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_given_once_wherever_a_process_or_the_machine_ends() {
    for work_ms in [0, 200, 499, 500, 501, 900] {
        for fault in [Fault::Kill, Fault::PowerCut(3), Fault::PowerCut(8)] {
            for at in 0..90 {
                let given = given_with_fault(at, fault, work_ms).await;
                let place = format!("{work_ms} ms, {fault:?} at call {at}: {given:?}");
                assert!(given.by_inbox <= 1, "twice: {place}");
                assert!(
                    given.by_caller + given.by_inbox - given.marked <= 1,
                    "twice without a mark: {place}"
                );
                assert!(!given.began || given.by_caller + given.by_inbox >= 1, "never: {place}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_results_at_once_come_once_each() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let works = machine.works(&host, 1);
    let mut runs = Vec::new();
    let mut tickets = std::collections::BTreeSet::new();
    for n in 0..1_000_u64 {
        let job = works.begin(ask(json!({"ms": n % 7}))).unwrap();
        runs.push(machine.started(&machine.storage.new_process()).unwrap());
        tickets.insert(job.let_go().id);
    }
    futures_util::future::join_all(runs).await;
    let collector = machine.collector();
    let mut told = 0;
    while let (ready, true) =
        collector.ready().map(|(ready, more)| (ready.clone(), more || !ready.is_empty())).unwrap()
    {
        for one in ready {
            assert!(tickets.remove(&one.request.id), "{} came twice", one.request.id);
            collector.told(&one.request.id).unwrap();
            told += 1;
        }
    }
    assert_eq!((told, tickets.len()), (1_000, 0));
}

#[tokio::test(start_paused = true)]
async fn a_job_beyond_the_bound_is_refused_with_the_reason() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    let works = machine.works(&host, 1);
    let mut jobs = Vec::new();
    for _ in 0..entraclaw_work::JOBS_MAX {
        jobs.push(works.begin(ask(json!({}))).unwrap());
    }
    let refused = works.begin(ask(json!({}))).err().unwrap().to_string();
    assert!(refused.contains("2000 jobs are kept already"), "{refused}");
    machine.processes.refuse(true);
    drop(jobs);
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_process_does_not_start_leaves_nothing() {
    let machine = Machine::new();
    let host = machine.storage.new_process();
    machine.processes.refuse(true);
    let error = machine.works(&host, 1).begin(ask(json!({}))).err().unwrap().to_string();
    assert!(error.contains("could not be started"), "{error}");
    assert!(!machine.storage.paths().iter().any(|path| path.contains("request.json")));
}

#[tokio::test(start_paused = true)]
async fn a_folder_without_a_request_is_left_for_a_minute_and_then_removed() {
    let machine = Machine::new();
    machine.storage.create_dir("work/half-made").unwrap();
    machine.storage.replace("work/half-made/open", b"").unwrap();
    let mut collector = machine.collector();
    for _ in 0..2 {
        assert!(collector.sweep().unwrap(), "it may become a job");
        sleep(Duration::from_secs(59)).await;
    }
    assert!(!collector.sweep().unwrap());
    assert!(!machine.storage.paths().iter().any(|path| path.contains("half-made")));
}

proptest! {
    /// Two processes make moves in any order, each from the state that it believes in.
    #[test]
    fn a_claim_moves_by_its_table_and_ends_once(moves in proptest::collection::vec((0..6_usize, 0..5_usize), 1..40)) {
        let mut claim = Claim::Open;
        let mut ends = 0;
        for (believed, step) in moves {
            let (believed, step) = (Claim::ALL[believed], Move::ALL[step]);
            let Some(next) = believed.after(step) else { continue };
            // A rename succeeds if the file has the name that the process believes in.
            if believed == claim {
                prop_assert!(!claim.is_final(), "{claim:?} is the end");
                claim = next;
                ends += usize::from(claim.is_final());
            }
        }
        prop_assert!(ends <= 1);
    }
}

#[test]
fn every_state_can_be_reached_and_only_final_ones_have_no_move() {
    let mut reached = vec![Claim::Open];
    let mut at = 0;
    while at < reached.len() {
        let claim = reached[at];
        let next: Vec<Claim> = Move::ALL.iter().filter_map(|step| claim.after(*step)).collect();
        assert_eq!(next.is_empty(), claim.is_final(), "{claim:?}");
        reached.extend(next.into_iter().filter(|next| !reached.contains(next)).collect::<Vec<_>>());
        at += 1;
    }
    reached.sort_unstable();
    assert_eq!(reached, Claim::ALL.to_vec());
    let files: std::collections::BTreeSet<&str> = Claim::ALL.iter().map(|claim| claim.file()).collect();
    assert_eq!(files.len(), Claim::ALL.len());
    assert!(Claim::ALL.into_iter().all(|claim| Claim::by_name(claim.as_str()) == Some(claim)));
}

#[tokio::test(start_paused = true)]
async fn events_beyond_the_bound_of_their_file_are_left_out() {
    let machine = Machine::new();
    let works = machine.works(&machine.storage.new_process(), 1);
    let ticket = works.begin(ask(json!({"events": 1_000}))).unwrap().let_go();
    let running = machine.started(&machine.storage.new_process()).unwrap();
    assert_eq!(running.await.unwrap(), Ended::Done);
    let bytes = machine.storage.bytes(&format!("work/{}/events", ticket.id)).unwrap().len();
    assert!((255 * 1_024..=256 * 1_024).contains(&bytes), "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_is_kept_until_it_is_older_than_asked() {
    let machine = Machine::new();
    let works = machine.works(&machine.storage.new_process(), 1);
    let ticket = works.begin(ask(json!({}))).unwrap().let_go();
    machine.started(&machine.storage.new_process()).unwrap().await.unwrap();
    let collector = machine.collector();
    let (ready, _) = collector.ready().unwrap();
    let ended_at: Timestamp = ready[0].result.ended_at.parse().unwrap();
    collector.told(&ticket.id).unwrap();
    assert_eq!(collector.prune(Some(ended_at), 9, None).unwrap().0, 0);
    let later = ended_at + SignedDuration::from_nanos(1);
    assert_eq!(collector.prune(Some(later), 9, None).unwrap().0, 1);
}

#[tokio::test(start_paused = true)]
async fn jobs_are_counted_by_what_became_of_them() {
    let machine = Machine::new();
    let works = machine.works(&machine.storage.new_process(), 1);
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(works.begin(ask(json!({}))).unwrap().let_go().id);
        machine.started(&machine.storage.new_process()).unwrap().await.unwrap();
    }
    machine.collector().told(&ended[0]).unwrap();
    let _runs = works.begin(ask(json!({}))).unwrap().let_go();
    let storage: Arc<dyn Storage> = Arc::new(machine.storage.clone());
    let survey = entraclaw_work::survey(&storage);
    assert_eq!((survey.running, survey.on_the_way, survey.lost, survey.finished), (1, 2, 0, 1));
    assert_eq!(survey.oldest_ended_at, Some(machine.clock.now()));
    assert!(survey.bytes > 0 && survey.error.is_none(), "{survey:?}");
}

#[test]
fn an_empty_disk_has_no_jobs() {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    assert_eq!(entraclaw_work::survey(&storage), entraclaw_work::WorkSummary::default());
}
