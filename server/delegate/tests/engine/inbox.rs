//! A result whose host has gone or sleeps comes to the inbox, once; one that the host has never does.

use std::sync::Arc;

use entraclaw_delegate::provider::{DelegateProvider, FarProvider};
use entraclaw_delegate::{Outbox, TaskId};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::sessions::{SessionFile, session_file, session_lock};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::storage::{MemoryStorage, Storage};
use entraclaw_work::{Claim, Collector, Ready};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, sleep};

use crate::fake::Plan;
use crate::rig::Rig;
use crate::wire::{Host, connected};

/// A home folder with an inbox that Claude Code has read, and an outbox into it.
struct Home {
    storage: Arc<dyn Storage>,
    outbox: Outbox,
    runs: JoinHandle<()>,
}

impl Home {
    fn of(rig: &Rig) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        storage.create_dir("inbox/consumers").unwrap();
        storage.replace("inbox/consumers/claude-code.jsonl", b"").unwrap();
        Self::over(storage, rig)
    }

    fn over(storage: Arc<dyn Storage>, rig: &Rig) -> Self {
        let outbox = Outbox::new(storage.clone(), None);
        let runs = tokio::spawn(outbox.clone().run(rig.engine.clone()));
        Self { storage, outbox, runs }
    }

    /// A host that is connected to the engine.
    async fn host(&self, rig: &Rig) -> Host {
        let provider = DelegateProvider::with_outbox(rig.engine.clone(), self.outbox.clone());
        Host::over(connected(Box::new(provider)), "claude-code").await
    }

    fn ready(&self) -> Vec<Ready> {
        let clock = TokioClock::starting_at("2026-11-26T09:00:00Z".parse().unwrap());
        let processes = Arc::new(SimulatedProcesses::default());
        let mut collector = Collector::new(self.storage.clone(), Arc::new(clock), processes);
        collector.sweep().unwrap();
        collector.ready().unwrap().0
    }

    /// Waits until a result is ready, and says how long that took.
    async fn brings(&self) -> (Ready, Duration) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(600) {
            if let Some(ready) = self.ready().pop() {
                return (ready, began.elapsed());
            }
            sleep(Duration::from_millis(100)).await;
        }
        panic!("no result came");
    }
}

fn id(of: &Value) -> TaskId {
    TaskId(of["task_id"].as_str().unwrap().to_owned())
}

async fn claim(rig: &Rig, task: &TaskId) -> Claim {
    rig.engine.poll(task).await.unwrap().task.claim
}

#[tokio::test(start_paused = true)]
async fn what_a_host_does_not_poll_comes_to_its_inbox_once() {
    let rig = Rig::new();
    let home = Home::of(&rig);
    let mut host = home.host(&rig).await;
    let plan = Plan::new("a", 3, "w");
    let queued = host.does("chat", json!({"message": plan.message()})).await;
    rig.ended(&id(&queued)).await;
    let (ready, after) = home.brings().await;
    assert!((25..40).contains(&after.as_secs()), "{after:?}");
    assert_eq!((&*ready.request.ask.consumer, &*ready.request.ask.kind), ("claude-code", "delegate"));
    assert_eq!((ready.result.text, ready.may_be_known), (plan.answer(), false));
    assert_eq!(ready.result.facts["task_id"], queued["task_id"]);
    assert_eq!(claim(&rig, &id(&queued)).await, Claim::Told);
    // It may be asked for later; then the answer says that it comes twice.
    let polled = host.does("poll_task", json!({"task_id": queued["task_id"]})).await;
    assert_eq!(polled["response"], plan.answer());
    assert!(polled["inbox"].as_str().unwrap().contains(&ready.request.id), "{polled}");
    sleep(Duration::from_secs(600)).await;
    assert_eq!(home.ready().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_host_has_never_comes_to_its_inbox() {
    let rig = Rig::new();
    let home = Home::of(&rig);
    let mut host = home.host(&rig).await;
    let message = |name: &str| json!({"message": Plan::new(name, 3, "w").message()});
    let polled = host.does("chat", message("a")).await;
    rig.ended(&id(&polled)).await;
    let done = host.does("poll_task", json!({"task_id": polled["task_id"]})).await;
    assert!(done["status"] == "completed" && done.get("inbox").is_none(), "{done}");
    let mut waits = message("b");
    waits["wait"] = json!(true);
    let waited = host.does("chat", waits).await;
    let cancelled = host.does("chat", message("c")).await;
    host.does("cancel", json!({"task_id": cancelled["task_id"]})).await;
    drop(host);
    rig.person(&Plan::new("me", 2, "")).await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!(home.ready(), []);
    for task in [polled, waited, cancelled] {
        assert_eq!(claim(&rig, &id(&task)).await, Claim::Seen, "{task}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_host_that_has_gone_comes_at_once_and_another_hosts_stays() {
    let rig = Rig::new();
    let home = Home::of(&rig);
    let mut host = home.host(&rig).await;
    let task = host.does("chat", json!({"message": Plan::new("a", 200, "").message()})).await;
    drop(host);
    rig.ended(&id(&task)).await;
    let (_, after) = home.brings().await;
    assert!(after < Duration::from_secs(10), "{after:?}");
    // This one has never read the inbox; its result stays for a host that asks.
    let other = rig.host("codex", &Plan::new("b", 2, "")).await;
    rig.ended(&other).await;
    sleep(Duration::from_secs(600)).await;
    assert_eq!((home.ready().len(), claim(&rig, &other).await), (1, Claim::Open));
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_session_that_reads_as_another_consumer_comes_to_that_one() {
    let rig = Rig::new();
    let home = Home::of(&rig);
    home.storage.replace("inbox/consumers/reviewer.jsonl", b"").unwrap();
    let mut ordinary = home.host(&rig).await;
    let engine = connected(Box::new(DelegateProvider::with_outbox(rig.engine.clone(), home.outbox.clone())));
    let reviewer = Some(ConsumerName::new("reviewer").unwrap());
    let far = FarProvider::new(Box::new(move || engine)).reading_as(reviewer);
    let mut host = Host::over(connected(Box::new(far)), "claude-code").await;
    // What a client itself says is not believed.
    let meta = json!({"entraclaw/consumer": "somebody"});
    let arguments = json!({"message": Plan::new("a", 3, "").message()});
    let call = json!({"name": "chat", "arguments": arguments, "_meta": meta});
    host.ask("tools/call", call).await;
    ordinary.does("chat", json!({"message": Plan::new("b", 3, "").message()})).await;
    sleep(Duration::from_secs(60)).await;
    let ready = home.ready();
    let whose =
        |name: &str| ready.iter().find(|one| one.request.ask.consumer == name).map(|one| &*one.result.text);
    assert_eq!(whose("reviewer"), Some(&*Plan::new("a", 3, "").answer()), "{ready:?}");
    assert_eq!(whose("claude-code"), Some(&*Plan::new("b", 3, "").answer()), "{ready:?}");
}

#[tokio::test(start_paused = true)]
async fn a_ticket_promises_the_inbox_to_a_host_that_reads_it_and_keeps_the_promise_at_once() {
    let rig = Rig::new();
    rig.fakes.world().word_ms = 1_000;
    let home = Home::of(&rig);
    home.storage.replace("inbox/consumers/opencode.jsonl", b"").unwrap();
    home.storage.create_dir("sessions").unwrap();
    let session = SessionFile { consumers: vec!["opencode".to_owned()], ..SessionFile::default() };
    home.storage.replace(&session_file("s"), &serde_json::to_vec(&session).unwrap()).unwrap();
    let _runs = home.storage.try_lock(&session_lock("s")).unwrap().unwrap();
    let provider = DelegateProvider::with_outbox(rig.engine.clone(), home.outbox.clone());
    let mut host = Host::over(connected(Box::new(provider)), "opencode").await;
    let message = Plan::new("a", 100, "").message();
    let ticket = host.does("chat", json!({"message": message, "wait": true})).await;
    let hint = ticket["hint"].as_str().unwrap();
    assert!(hint.contains("will come to your inbox") && !hint.contains("poll_task"), "{hint}");
    rig.ended(&id(&ticket)).await;
    let (_, after) = home.brings().await;
    assert!(after < Duration::from_secs(2), "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_person_who_ends_a_hosts_task_is_told_to_the_host() {
    let rig = Rig::new();
    let home = Home::of(&rig);
    let task = rig.host("claude-code", &Plan::new("a", 200, "")).await;
    sleep(Duration::from_millis(50)).await;
    rig.engine.cancel(&task, None).await.unwrap();
    let (ready, _) = home.brings().await;
    assert_eq!(ready.result.reason.as_deref(), Some("the person ended it"));
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_dies_at_any_write_gives_each_result_one_way_or_marks_it() {
    for writes in 0..40 {
        let mut rig = Rig::new();
        let mut home = Home::of(&rig);
        let mut host = home.host(&rig).await;
        let task = host.does("chat", json!({"message": Plan::new("a", 3, "w").message()})).await;
        let task = id(&task);
        rig.memory.fail_after(Some(writes));
        let asks = writes % 2 == 0;
        let mut has_it = false;
        let day = async {
            let _ = rig.engine.ended(&task).await;
            if asks {
                let call = json!({"name": "poll_task", "arguments": {"task_id": task}});
                let answer = host.ask("tools/call", call).await;
                has_it = answer["result"]["content"][0]["text"].as_str().unwrap().contains("completed");
            }
            sleep(Duration::from_secs(120)).await;
        };
        day.await;
        drop(host);
        rig.crash().await;
        home.runs.abort();
        rig.memory.fail_after(None);
        rig.begin_again();
        home = Home::over(home.storage.clone(), &rig);
        rig.ended(&task).await;
        sleep(Duration::from_secs(120)).await;
        let ready = home.ready();
        assert!(ready.len() <= 1, "{writes}: {ready:?}");
        match ready.first() {
            None => assert!(has_it, "{writes}: the result went to neither"),
            Some(one) => assert!(!has_it || one.may_be_known, "{writes}: both, without a mark"),
        }
    }
}
