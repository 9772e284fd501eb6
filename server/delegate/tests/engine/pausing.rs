//! A person's message while a host's task runs: at every word, at every step, in every tool.

use std::collections::BTreeSet;

use entraclaw_delegate::{Bounds, Event, Resumption, TaskState};
use tokio::time::{Duration, Instant, sleep};

use crate::fake::{Fakes, Plan};
use crate::rig::Rig;

/// A host's task that a person interrupts after so many milliseconds.
async fn interrupted(after_ms: u64, set: impl Fn(&Fakes)) -> (Rig, Option<Resumption>, bool) {
    let fakes = Fakes::new();
    set(&fakes);
    let rig = Rig::with(fakes, Bounds::default());
    let (long, short) = (Plan::new("host", 6, "wsr"), Plan::new("me", 2, "r"));
    let host = rig.host("claude-code", &long).await;
    sleep(Duration::from_millis(after_ms)).await;
    let before = rig.engine.poll(&host).await.unwrap();
    let began = Instant::now();
    let person = rig.person(&short).await;
    let answer = rig.ended(&person).await;
    assert_eq!(answer.task.result, Some(short.answer()));
    // The person's request is at the model within 100 ms, or behind a tool that must not be cut.
    let asked_at = rig.fakes.world().asked.iter().find(|asked| asked.plan == "me").unwrap().at;
    let waited = asked_at.duration_since(began);
    assert!(waited <= Duration::from_millis(100), "after {after_ms} ms: {waited:?}");
    let paused = rig.engine.poll(&host).await.unwrap();
    // At its last word a task may end before the person's message is taken.
    let was_open = !before.task.state.is_ended() && after_ms < 385;
    if was_open && rig.fakes.world().facts.continues == Some(true) {
        assert!(paused.task.partial.starts_with(&before.task.partial) || paused.task.step > before.task.step);
    }
    let done = rig.ended(&host).await;
    assert_eq!(
        (done.task.state, done.task.result),
        (TaskState::Completed, Some(long.answer())),
        "{after_ms}"
    );
    let world = rig.fakes.world();
    assert!(world.wrong.is_empty(), "{after_ms}: {:?}", world.wrong);
    for step in 0..long.tools.len() {
        assert_eq!(world.done.get(&long.call(step)), Some(&1), "{after_ms}: {step}");
    }
    drop(world);
    (rig, done.task.resumed, was_open)
}

#[tokio::test(start_paused = true)]
async fn a_task_goes_on_where_it_was_whenever_a_person_comes() {
    let mut ways = BTreeSet::new();
    // Six words of 10 ms and a tool of 50 ms, three times, and the answer: every word and every tool is met.
    for after_ms in (0..400).step_by(3) {
        let (_, resumed, was_open) = interrupted(after_ms, |_| ()).await;
        assert!(resumed.is_some() == was_open || after_ms >= 385, "{after_ms}");
        ways.extend(resumed.map(Resumption::as_str));
    }
    assert_eq!(ways.into_iter().collect::<Vec<_>>(), ["continued", "exact", "started_again"]);
}

#[tokio::test(start_paused = true)]
async fn without_continuing_the_step_starts_again_and_that_is_said() {
    for after_ms in (5..400).step_by(10) {
        let (mut rig, resumed, _) = interrupted(after_ms, |fakes| {
            fakes.world().facts.continues = None;
        })
        .await;
        // A screen drops what a step has said when it starts again, and is told of no other start.
        let mut said = BTreeSet::new();
        for event in rig.heard() {
            match event {
                Event::Said { task, .. } => drop(said.insert(task)),
                Event::Progress { task, call: Some(_), .. } => drop(said.remove(&task)),
                Event::StartsAgain { task } => {
                    assert!(said.remove(&task), "{after_ms}");
                }
                Event::Resumed(view) if view.task.resumed == Some(Resumption::StartedAgain) => {
                    assert!(!said.contains(&view.task.id), "{after_ms}");
                }
                _ => {}
            }
        }
        let asked_again = rig.fakes.world().asked.iter().all(|asked| asked.question.said.is_none());
        assert!(asked_again);
        assert!(matches!(resumed, Some(Resumption::StartedAgain | Resumption::Exact) | None));
    }
}

#[tokio::test(start_paused = true)]
async fn only_a_server_that_proves_it_has_resumed_a_step_exactly() {
    for (is_true, expected) in [(true, Resumption::Exact), (false, Resumption::Continued)] {
        let (rig, resumed, _) = interrupted(35, |fakes| {
            let mut world = fakes.world();
            world.facts.holds = Some(true);
            world.cache_is_true = is_true;
        })
        .await;
        assert_eq!(resumed, Some(expected));
        let world = rig.fakes.world();
        let asked: Vec<_> =
            world.asked.iter().filter(|asked| asked.plan == "host" && asked.step == 0).collect();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0].question.turns, asked[1].question.turns, "the same question, to the byte");
        assert_eq!(asked[1].question.said.as_deref(), Some("host-0-0 host-0-1 host-0-2 "));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_holds_slowly_does_not_keep_the_person_waiting() {
    let (_, resumed, _) = interrupted(35, |fakes| {
        let mut world = fakes.world();
        world.facts.holds = Some(true);
        world.hold_ms = 60_000;
    })
    .await;
    assert_eq!(resumed, Some(Resumption::Continued));
}

#[tokio::test(start_paused = true)]
async fn a_paused_task_is_told_with_its_text_and_its_place() {
    let mut rig = Rig::new();
    let host = rig.host("claude-code", &Plan::new("host", 20, "")).await;
    rig.host("codex", &Plan::new("other", 1, "")).await;
    sleep(Duration::from_millis(55)).await;
    rig.person(&Plan::new("one", 30, "")).await;
    rig.person(&Plan::new("two", 3, "")).await;
    sleep(Duration::from_millis(1)).await;
    let view = rig.engine.poll(&host).await.unwrap();
    assert_eq!((view.task.state, view.position), (TaskState::Preempted, Some(2)));
    assert_eq!(view.task.partial, "host-0-0 host-0-1 host-0-2 host-0-3 host-0-4 ");
    let snapshot = rig.engine.snapshot(10).await.unwrap();
    assert_eq!(snapshot.queue.len(), 4);
    assert_eq!(snapshot.active.unwrap().view.task.message, Plan::new("one", 30, "").message());
    rig.ended(&host).await;
    let order: Vec<String> = rig
        .heard()
        .iter()
        .filter_map(|event| match event {
            Event::Started(view) => Some(format!("+{}", view.task.source)),
            Event::Preempted(view) => Some(format!("|{}", view.task.source)),
            Event::Resumed(view) => Some(format!(">{}", view.task.source)),
            Event::Ended(view) => Some(format!("-{}", view.task.source)),
            _ => None,
        })
        .collect();
    let expected =
        "+[claude-code] |[claude-code] +[you] -[you] +[you] -[you] >[claude-code] -[claude-code] +[codex]";
    assert_eq!(order.join(" "), expected);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_says_meanwhile_reaches_the_next_step() {
    let rig = Rig::new();
    let host = rig.host("claude-code", &Plan::new("host", 5, "ww")).await;
    sleep(Duration::from_millis(25)).await;
    rig.person(&Plan::new("heed-me", 1, "")).await;
    rig.ended(&host).await;
    let world = rig.fakes.world();
    let hears = |step: usize| {
        let of_step = world.asked.iter().filter(|asked| asked.plan == "host" && asked.step == step);
        of_step
            .into_iter()
            .any(|asked| asked.question.turns.iter().any(|turn| turn.text.contains("[you]: plan heed-me")))
    };
    assert!(!hears(0), "the step that was interrupted is asked as before");
    assert!(hears(1) && hears(2));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_tool_runs_again_and_one_that_must_not_be_cut_ends_first() {
    for (tools, stopped) in [("s", 1), ("w", 0)] {
        let rig = Rig::new();
        rig.fakes.world().tool_ms = 90;
        let host = rig.host("claude-code", &Plan::new("host", 1, tools)).await;
        sleep(Duration::from_millis(30)).await;
        let person = rig.person(&Plan::new("me", 1, "")).await;
        rig.ended(&person).await;
        let done = rig.ended(&host).await;
        assert_eq!(done.task.resumed, Some(Resumption::Exact));
        let world = rig.fakes.world();
        assert_eq!((world.stopped, world.done["host-0"], world.begun["host-0"]), (stopped, 1, stopped + 1));
    }
}
