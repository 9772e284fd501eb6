//! The process dies at every write, and another one goes on: nothing is lost, nothing is done twice, the order is kept.

use std::sync::Arc;

use entraclaw_delegate::store::Place;
use entraclaw_delegate::{
    Bounds, CallState, Engine, EngineParts, Event, Resumption, Submission, TaskId, TaskState,
};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::SplitMix;
use tokio::time::{Duration, sleep, timeout};

use crate::fake::{Fakes, Plan};
use crate::rig::Rig;

const A_DAY: Duration = Duration::from_secs(86_400);

fn plans() -> [(&'static str, Plan); 4] {
    [
        ("claude-code", Plan::new("a", 4, "wsr")),
        ("codex", Plan::new("b", 2, "w")),
        ("you", Plan::new("c", 3, "s")),
        ("claude-code", Plan::new("d", 2, "")),
    ]
}

/// Hands over all plans, the person's in the middle of the first one, as far as the engine lives.
async fn hand_over(rig: &Rig) -> Vec<(TaskId, Plan)> {
    let mut taken = Vec::new();
    for (at, (source, plan)) in plans().into_iter().enumerate() {
        let submission = match source {
            "you" => Submission::person(plan.message()),
            host => Submission::host(host, plan.message()),
        };
        if let Ok(view) = rig.engine.submit(submission).await {
            taken.push((view.task.id, plan));
        }
        if at == 1 {
            sleep(Duration::from_millis(47)).await;
        }
    }
    taken
}

/// A day with a crash before the write with this number, and with a second crash so many writes later.
async fn day(writes: u64, then: Option<u64>) -> bool {
    let mut rig = Rig::new();
    rig.memory.fail_after(Some(writes));
    let taken = hand_over(&rig).await;
    let mut died = false;
    let mut next = then;
    loop {
        let last = taken.last().map(|(id, _)| id.clone());
        let all = async {
            for (id, _) in &taken {
                if rig.engine.ended(id).await.is_err() {
                    return;
                }
            }
            let _ = last;
        };
        timeout(A_DAY, all).await.expect("the day must end");
        if !rig.is_dead() && !taken.is_empty() || taken.is_empty() {
            break;
        }
        died = true;
        rig.memory.fail_after(next.take());
        rig.begin_again();
    }
    if taken.is_empty() {
        return true;
    }
    let mut ends = Vec::new();
    for (id, plan) in &taken {
        let view = rig.engine.poll(id).await.unwrap();
        let task = &view.task;
        assert_eq!(
            (task.state, task.result.as_deref()),
            (TaskState::Completed, Some(&*plan.answer())),
            "{writes}"
        );
        assert!(view.calls.iter().all(|call| call.state == CallState::Done));
        ends.push((task.source.is_person(), task.started_ms, task.number));
        let asked: Vec<_> = plan.tools.chars().enumerate().filter(|(_, kind)| *kind != 'r').collect();
        for (step, _) in asked {
            let done = rig.fakes.world().done.get(&plan.call(step)).copied().unwrap_or(0);
            let call = &view.calls[step];
            let status = &call.result.as_ref().unwrap().status;
            // A tool whose end is not known is named to the model, and not run again.
            assert!(
                done == 1 || (done == 0 && status == "unknown"),
                "{writes}: {} ran {done} times",
                plan.call(step)
            );
        }
    }
    let hosts: Vec<_> =
        ends.iter().filter(|(is_person, ..)| !is_person).map(|(_, started, _)| *started).collect();
    assert!(hosts.is_sorted(), "{writes}: hosts are served in the order in which they came: {ends:?}");
    let snapshot = rig.engine.snapshot(100).await.unwrap();
    assert_eq!(snapshot.history.total, 2 * taken.len() as u64, "each message once, each answer once");
    assert!(rig.fakes.world().wrong.is_empty(), "{:?}", rig.fakes.world().wrong);
    died
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_and_nothing_is_done_twice_whatever_write_is_the_last() {
    let mut writes = 0;
    while day(writes, None).await {
        writes += 1;
    }
    assert!(writes > 40, "there were only {writes} writes");
    for writes in 2..writes {
        for then in [0, 1, 2, 3, 5, 8] {
            day(writes, Some(then)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_again_with_its_text_and_the_answer_says_what_became_of_it() {
    for continues in [true, false] {
        let mut rig = Rig::new();
        rig.fakes.world().facts.continues = Some(continues);
        rig.fakes.world().word_ms = 100;
        let plan = Plan::new("host", 30, "");
        let id = rig.host("claude-code", &plan).await;
        sleep(Duration::from_millis(1_650)).await;
        rig.crash().await;
        rig.begin_again();
        // Not polled yet: this is what the store holds.
        let view = rig.engine.poll(&id).await.unwrap();
        let said = if continues { "host-0-0 host-0-1 " } else { "" };
        assert!(view.task.partial.starts_with(said), "{}", view.task.partial);
        let done = rig.ended(&id).await;
        assert_eq!(done.task.result, Some(plan.answer()));
        let (way, count) = if continues { (Resumption::Continued, 1) } else { (Resumption::StartedAgain, 2) };
        assert_eq!(done.task.resumed, Some(way));
        assert_eq!(done.task.notes.len(), count, "{:?}", done.task.notes);
        assert!(done.task.notes[0].contains("the engine was restarted"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_may_have_run_is_named_to_the_model_and_one_that_only_reads_runs_again() {
    for (tools, runs, status) in [("w", 1, "unknown"), ("r", 2, "success")] {
        let mut rig = Rig::new();
        rig.fakes.world().tool_ms = 1_000;
        let id = rig.host("claude-code", &Plan::new("host", 1, tools)).await;
        sleep(Duration::from_millis(500)).await;
        rig.crash().await;
        rig.begin_again();
        let done = rig.ended(&id).await;
        let result = done.calls[0].result.as_ref().unwrap();
        assert_eq!((done.calls[0].runs, &*result.status), (runs, status));
        let world = rig.fakes.world();
        let asked = &world.asked.last().unwrap().question;
        let told = asked.turns.iter().any(|turn| turn.text.contains("it may have run in part or as a whole"));
        assert_eq!(told, status == "unknown");
        assert_eq!(world.cut_short, [done.calls[0].request.id.clone()]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_shut_down_goes_on_where_it_was() {
    let mut rig = Rig::new();
    rig.fakes.world().tool_ms = 1_000;
    let plan = Plan::new("host", 10, "s");
    let id = rig.host("claude-code", &plan).await;
    for after_ms in [55, 300] {
        sleep(Duration::from_millis(after_ms)).await;
        rig.engine.shut_down().await.unwrap();
        rig.crash().await;
        rig.begin_again();
    }
    let done = rig.ended(&id).await;
    assert_eq!(done.task.result, Some(plan.answer()));
    let world = rig.fakes.world();
    assert_eq!((world.stopped, world.done["host-0"]), (1, 1));
    let said: Vec<_> = world.asked.iter().filter_map(|asked| asked.question.said.clone()).collect();
    assert_eq!(said, ["host-0-0 host-0-1 host-0-2 host-0-3 host-0-4 "]);
}

/// What a second engine says of a task at first, when the first one has died before the write with this number. `None` if it
/// did not die.
async fn said_at_first(writes: u64) -> Option<Vec<String>> {
    let mut rig = Rig::new();
    rig.memory.fail_after(Some(writes));
    let plan = Plan::new("host", 2, "w");
    let submission = Submission::host("claude-code", plan.message());
    let Ok(view) = rig.engine.submit(submission).await else { return Some(Vec::new()) };
    let id = view.task.id;
    if rig.engine.ended(&id).await.is_ok() {
        return None;
    }
    rig.memory.fail_after(None);
    rig.begin_again();
    let done = rig.ended(&id).await;
    assert_eq!(done.task.result, Some(plan.answer()), "{writes}");
    let first = |event: &Event| match event {
        Event::Started(view) | Event::Resumed(view) => Some(view.doing.clone()),
        _ => None,
    };
    Some(rig.heard().iter().filter_map(first).collect())
}

#[tokio::test(start_paused = true)]
async fn a_task_that_goes_on_is_told_by_what_is_done_for_it_and_not_as_one_that_begins() {
    let mut all = Vec::new();
    for writes in 0.. {
        let Some(said) = said_at_first(writes).await else { break };
        all.extend(said);
    }
    all.sort();
    all.dedup();
    let known = [
        "Executing tool: write host-0",
        "Finishing",
        "Looking at the model",
        "Waiting for the model's first word",
    ];
    assert_eq!(all, known);
}

#[tokio::test]
async fn an_engine_on_a_real_disk_goes_on_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let fakes = Fakes::new();
    let begin = || {
        let parts = EngineParts {
            place: Place::Folder(folder.path().join("project")),
            model: Arc::new(fakes.clone()),
            toolbox: Arc::new(fakes.clone()),
            clock: Arc::new(SystemClock),
            random: Arc::new(SplitMix::from_os()),
            bounds: Bounds::default(),
        };
        let (engine, work) = Engine::begin(parts).unwrap();
        (engine, tokio::spawn(work))
    };
    let (engine, work) = begin();
    let plan = Plan::new("host", 80, "w");
    let id = engine.submit(Submission::host("claude-code", plan.message())).await.unwrap().task.id;
    // The text is written every half second.
    sleep(Duration::from_millis(700)).await;
    work.abort();
    let _ = work.await;
    assert!(engine.poll(&id).await.is_err());
    let (engine, _work) = begin();
    let person = engine.submit(Submission::person(Plan::new("me", 2, "").message())).await.unwrap().task.id;
    assert_eq!(engine.ended(&person).await.unwrap().task.state, TaskState::Completed);
    let done = engine.ended(&id).await.unwrap();
    assert_eq!((done.task.result, done.task.state), (Some(plan.answer()), TaskState::Completed));
    assert_eq!(fakes.world().done["host-0"], 1);
}
