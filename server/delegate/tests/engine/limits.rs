//! What the engine holds every task to, and what it says when a bound is met.

use std::time::Duration;

use entraclaw_delegate::{
    Bounds, CallState, ContextFile, EngineError, Event, Issue, IssueKind, Source, Submission, TaskId,
    TaskState,
};
use entraclaw_models::ModelError;
use tokio::time::sleep;

use crate::fake::{Fakes, Plan};
use crate::rig::Rig;

fn away() -> ModelError {
    ModelError::Unreachable("no server listens at http://127.0.0.1:8080; start it".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_is_waited_for_with_growing_pauses() {
    let mut rig = Rig::new();
    rig.fakes.world().errors = vec![(0, away()), (2, away()), (0, away()), (0, away())];
    let plan = Plan::new("host", 5, "");
    let id = rig.host("claude-code", &plan).await;
    let done = rig.ended(&id).await;
    assert_eq!(done.task.result, Some(plan.answer()));
    let at: Vec<_> = rig.fakes.world().asked.iter().map(|asked| asked.at).collect();
    let pauses: Vec<_> = at.windows(2).map(|two| two[1].duration_since(two[0]).as_millis()).collect();
    // After words came, the first pause is the shortest again.
    assert_eq!(pauses, [500, 520, 1_000, 2_000]);
    assert!(
        rig.heard()
            .iter()
            .any(|event| matches!(event, Event::ModelAway { why, .. } if why.contains("start it")))
    );
}

#[tokio::test(start_paused = true)]
async fn a_person_cancels_while_the_server_is_away() {
    let rig = Rig::new();
    rig.fakes.world().errors = vec![(0, away()); 100];
    let id = rig.host("claude-code", &Plan::new("host", 5, "")).await;
    sleep(Duration::from_secs(100)).await;
    let view = rig.engine.poll(&id).await.unwrap();
    assert_eq!(view.task.state, TaskState::InProgress);
    assert!(view.doing.contains("no server listens"), "{}", view.doing);
    assert_eq!(rig.engine.cancel(&id, None).await.unwrap().task.state, TaskState::Cancelled);
    let again = rig.engine.cancel(&id, None).await.unwrap_err();
    assert_eq!(again, EngineError::CannotCancel { task: id, state: "cancelled" });
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_answered_fails_with_a_sentence() {
    let cases = [
        (
            vec![(0, ModelError::TooLong { model: "m".to_owned(), tokens: Some(9), context: Some(8) }); 2],
            "raise the context",
        ),
        (vec![(0, ModelError::Refused("the model is not loaded".to_owned()))], "not loaded"),
        (vec![(3, ModelError::Malformed("no JSON".to_owned())); 3], "no JSON"),
        (vec![(3, ModelError::Stalled("it hangs".to_owned())); 3], "it hangs"),
    ];
    for (errors, says) in cases {
        let rig = Rig::new();
        rig.fakes.world().errors = errors;
        let id = rig.host("claude-code", &Plan::new("host", 20, "")).await;
        let done = rig.ended(&id).await;
        assert_eq!(done.task.state, TaskState::Failed);
        assert!(done.task.result.clone().unwrap().contains(says), "{:?}", done.task.result);
        assert!(rig.fakes.world().errors.is_empty(), "it was tried as often as it may be");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_says_nothing_is_asked_again_and_then_given_up() {
    let rig = Rig::new();
    rig.fakes.world().word_ms = 10_000_000;
    let id = rig.host("claude-code", &Plan::new("host", 2, "")).await;
    let done = rig.ended(&id).await;
    assert_eq!((done.task.state, rig.fakes.world().asked.len()), (TaskState::Failed, 3));
    assert!(done.task.result.unwrap().contains("sent nothing for 120 s"));
}

#[tokio::test(start_paused = true)]
async fn steps_time_and_output_are_bounded() {
    let bounds = Bounds { steps_max: 3, ..Bounds::default() };
    let rig = Rig::with(Fakes::new(), bounds);
    let id = rig.host("claude-code", &Plan::new("host", 1, "rrrrrrrrrrrrrrrrrrrrrrrr")).await;
    let done = rig.ended(&id).await;
    // The scripted model asks for tools even when it has none any more.
    assert_eq!(done.task.state, TaskState::Failed);
    assert_eq!(rig.fakes.world().done.len(), 2, "the last step runs none");
    assert!(done.task.notes.iter().any(|note| note.contains("all 3 steps")));

    let bounds = Bounds { task_ms_max: 60_000, ..Bounds::default() };
    let rig = Rig::with(Fakes::new(), bounds);
    let id = rig.host("claude-code", &Plan::new("host", 100_000, "")).await;
    let done = rig.ended(&id).await;
    assert!(done.task.result.unwrap().contains("longer than 1 minutes"));
    assert!((60_000..61_000).contains(&done.elapsed_ms), "{}", done.elapsed_ms);

    let bounds = Bounds { step_bytes_max: 1_000, ..Bounds::default() };
    let rig = Rig::with(Fakes::new(), bounds);
    let id = rig.host("claude-code", &Plan::new("host", 100_000, "")).await;
    let done = rig.ended(&id).await;
    assert_eq!(done.task.state, TaskState::Completed);
    assert!(done.task.result.unwrap().len() < 1_100);
    assert!(done.task.notes[0].contains("longest length"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_ends_is_stopped() {
    let bounds = Bounds { tool_ms_max: 1_000, ..Bounds::default() };
    let rig = Rig::with(Fakes::new(), bounds);
    rig.fakes.world().tool_ms = 1_000_000;
    let id = rig.host("claude-code", &Plan::new("host", 1, "s")).await;
    let done = rig.ended(&id).await;
    let result = done.calls[0].result.clone().unwrap();
    assert_eq!(result.status, "stopped");
    assert!(result.text.contains("stopped after 1 s"), "{}", result.text);
}

/// A person comes while a tool runs that does not hear that it is to stop: it is left behind after the time that it has.
#[tokio::test(start_paused = true)]
async fn a_deaf_tool_is_called_again_only_if_it_changes_nothing() {
    for (tool, runs, status) in [("l", 2, "success"), ("s", 1, "unknown")] {
        let rig = Rig::new();
        rig.fakes.world().deaf = 1;
        let plan = Plan::new("host", 1, tool);
        let host = rig.host("claude-code", &plan).await;
        sleep(Duration::from_millis(20)).await;
        let person = rig.person(&Plan::new("me", 1, "")).await;
        assert_eq!(rig.ended(&person).await.task.state, TaskState::Completed);
        let done = rig.ended(&host).await;
        assert_eq!((done.task.state, done.task.result), (TaskState::Completed, Some(plan.answer())));
        assert_eq!(done.calls[0].result.clone().unwrap().status, status, "{tool}");
        assert_eq!(rig.fakes.world().begun.get(&plan.call(0)), Some(&runs), "{tool}");
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_calls_are_answered_to_the_model_and_counted() {
    let rig = Rig::new();
    let plan = Plan::new("host", 1, "xxw");
    let id = rig.host("claude-code", &plan).await;
    let done = rig.ended(&id).await;
    assert_eq!((done.task.malformed, done.task.result), (2, Some(plan.answer())));
    let asked = rig.fakes.world().asked[1].question.clone();
    assert!(
        asked
            .turns
            .iter()
            .any(|turn| turn.text.contains("there is no tool `unheard_of`; the tools are: write"))
    );
    let id = rig.host("claude-code", &Plan::new("worse", 1, "xxxxxxxxxxxx")).await;
    let done = rig.ended(&id).await;
    assert!(done.task.result.unwrap().contains("called tools 9 times in a form"));
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_left_out_by_the_rule_and_the_answer_says_so() {
    let rig = Rig::new();
    rig.fakes.world().facts.context_tokens = Some(2_000);
    let file = |path: &str| ContextFile { path: path.to_owned(), content: "x".repeat(3_000) };
    let plan = Plan::new("host", 2, "");
    let submission = Submission {
        context: vec![file("old.rs"), file("new.rs")],
        ..Submission::host("claude-code", plan.message())
    };
    let id = rig.engine.submit(submission).await.unwrap().task.id;
    let done = rig.ended(&id).await;
    let note = "left out, for the model has a context of 2000 tokens: the files old.rs";
    assert_eq!(done.task.notes, [note]);
    let asked = rig.fakes.world().asked[0].question.clone();
    assert_eq!(asked.tokens_max, Some(500));
    let text = &asked.turns.last().unwrap().text;
    assert!(text.contains("old.rs was left out") && text.contains("The file new.rs:\nxxx"));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_asks_too_often_is_told_when_to_come_again() {
    let rig = Rig::with(Fakes::new(), Bounds::default());
    for _ in 0..10 {
        rig.host("claude-code", &Plan::new("a", 1, "")).await;
    }
    let refused = rig.engine.submit(Submission::host("claude-code", "more")).await.unwrap_err();
    assert!(refused.to_string().contains("try again in 7 s"), "{refused}");
    rig.host("codex", &Plan::new("b", 1, "")).await;
    for _ in 0..50 {
        rig.person(&Plan::new("c", 1, "")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_empty_unknown_or_too_long_is_taken() {
    let rig = Rig::new();
    let long = "x".repeat(256 * 1024 + 1);
    for message in ["", " \n", &long] {
        let refused = rig.engine.submit(Submission::person(message)).await.unwrap_err();
        assert!(matches!(refused, EngineError::Refused(_)));
    }
    let unknown = TaskId::of(7);
    assert!(matches!(rig.engine.poll(&unknown).await, Err(EngineError::NotFound(_))));
    assert!(matches!(rig.engine.cancel(&unknown, None).await, Err(EngineError::NotFound(_))));
    assert!(matches!(rig.engine.decide(1, true).await, Err(EngineError::NotFound(_))));
    let issue = Issue {
        source: Source::You,
        task: Some(unknown),
        kind: IssueKind::Slow,
        description: "slow".to_owned(),
        expected: None,
    };
    assert!(matches!(rig.engine.report(issue).await, Err(EngineError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_at_once_and_its_tool_by_its_own_rule() {
    for (tools, ended) in [("s", false), ("w", true)] {
        let rig = Rig::new();
        rig.fakes.world().tool_ms = 500;
        let id = rig.host("claude-code", &Plan::new("host", 1, tools)).await;
        sleep(Duration::from_millis(100)).await;
        let next = rig.host("claude-code", &Plan::new("next", 1, "")).await;
        let view = rig.engine.cancel(&id, Some("not needed".to_owned())).await.unwrap();
        assert_eq!(view.task.state, TaskState::Cancelled);
        rig.ended(&next).await;
        let world = rig.fakes.world();
        assert_eq!((world.done.contains_key("host-0"), world.stopped), (ended, u32::from(!ended)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_approves_or_refuses_a_tool() {
    for (may_run, ran, status) in
        [(Some(true), 1, "success"), (Some(false), 0, "refused"), (None, 0, "refused")]
    {
        let mut rig = Rig::new();
        rig.fakes.world().needs_approval = true;
        let plan = Plan::new("host", 1, "w");
        let id = rig.host("claude-code", &plan).await;
        sleep(Duration::from_secs(1)).await;
        // The call still waits after a crash, and while a person has a word with the model.
        rig.crash().await;
        rig.begin_again();
        rig.fakes.world().needs_approval = false;
        let person = rig.person(&Plan::new("me", 1, "")).await;
        rig.ended(&person).await;
        let approvals = rig.engine.snapshot(0).await.unwrap().approvals;
        assert_eq!((approvals.len(), &*approvals[0].asks), (1, "there is no sandbox here"));
        if let Some(may_run) = may_run {
            rig.engine.decide(approvals[0].number, may_run).await.unwrap();
        }
        let done = rig.ended(&id).await;
        assert_eq!(done.task.result, Some(plan.answer()));
        assert_eq!(done.calls[0].result.as_ref().unwrap().status, status);
        assert_eq!(rig.fakes.world().done.values().sum::<u32>(), ran);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_never_stops_the_engine() {
    let rig = Rig::new();
    let _asleep = rig.engine.events();
    rig.fakes.world().word_ms = 0;
    let id = rig.host("claude-code", &Plan::new("host", 5_000, "")).await;
    assert_eq!(rig.ended(&id).await.task.state, TaskState::Completed);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_the_model_is_read_and_measured() {
    let rig = Rig::new();
    rig.fakes.world().facts.context_tokens = Some(32_768);
    let known = rig.engine.look().await.unwrap();
    assert_eq!(known.model.as_ref().unwrap().context_tokens, Some(32_768));
    assert_eq!((known.tokens_per_second, known.strengths.len()), (None, 0));
    for at in 0..3 {
        let id = rig.host("claude-code", &Plan::new(&format!("host{at}"), 2, "")).await;
        rig.ended(&id).await;
    }
    let known = rig.engine.capabilities();
    assert_eq!((known.tokens_per_second, &*known.strengths.concat()), (Some(42.0), "general"));
}

#[tokio::test(start_paused = true)]
async fn a_snapshot_and_what_comes_after_it_have_everything_once() {
    let mut rig = Rig::new();
    let id = rig.host("codex", &Plan::new("a", 3, "w")).await;
    sleep(Duration::from_millis(25)).await;
    let (snapshot, mut later) = rig.engine.follow(10).await.unwrap();
    rig.ended(&id).await;
    let all = rig.heard();
    let after = std::iter::from_fn(|| later.try_recv().ok()).count();
    assert!(snapshot.told > 1 && after > 1, "{} and {after}", snapshot.told);
    assert_eq!(snapshot.told + after as u64, all.len() as u64);
    let tools = all.iter().filter_map(|event| match event {
        Event::Progress { call: Some(call), .. } => Some((call.state, call.result.is_some())),
        _ => None,
    });
    let tools: Vec<_> = tools.collect();
    assert_eq!(tools, [(CallState::Running, false), (CallState::Done, true)]);
}
