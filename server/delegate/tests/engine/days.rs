//! Random days: two hosts and a person hand over tasks, cancel some, the server goes away, and the process dies. What
//! happened is judged by the events and by what the fakes saw.

use std::collections::{BTreeMap, BTreeSet};

use entraclaw_delegate::{Bounds, Event, Resumption, TaskId, TaskState};
use entraclaw_models::ModelError;
use entraclaw_seams::random::{Random as _, SplitMix};
use tokio::time::{Duration, sleep, timeout};

use crate::fake::{Fakes, Plan};
use crate::rig::Rig;

/// Longest day, in virtual time.
const DAY: Duration = Duration::from_secs(86_400);

/// What the days came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    pub(crate) days: u64,
    pub(crate) tasks: u64,
    pub(crate) pauses: u64,
    pub(crate) crashes: u64,
    pub(crate) cancelled: u64,
    pub(crate) exact: u64,
    pub(crate) continued: u64,
    pub(crate) started_again: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, other: Self) {
        self.days += other.days;
        self.tasks += other.tasks;
        self.pauses += other.pauses;
        self.crashes += other.crashes;
        self.cancelled += other.cancelled;
        self.exact += other.exact;
        self.continued += other.continued;
        self.started_again += other.started_again;
    }
}

struct Draw(SplitMix);

impl Draw {
    fn below(&self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn pick(&self, bound: usize) -> usize {
        usize::try_from(self.below(bound as u64)).unwrap_or(0)
    }

    fn one_in(&self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// The tasks that are open, by what the events of one engine tell.
#[derive(Default)]
struct Judge {
    /// Number in the order of coming, and whether it is the person's.
    open: BTreeMap<i64, (TaskId, bool)>,
    running: Option<TaskId>,
    wrong: Vec<String>,
    pauses: u64,
}

impl Judge {
    fn first(&self) -> Option<&TaskId> {
        let person = self.open.values().find(|(_, is_person)| *is_person);
        person.or_else(|| self.open.values().next()).map(|(id, _)| id)
    }

    fn judge(&mut self, event: &Event) {
        match event {
            Event::Queued(view) => {
                let is_person = view.task.source.is_person();
                self.open.insert(view.task.number, (view.task.id.clone(), is_person));
            }
            Event::Started(view) | Event::Resumed(view) => {
                let id = &view.task.id;
                // A task that was asked again in its own turn runs already.
                if self.running.as_ref() != Some(id) && self.first() != Some(id) {
                    self.wrong.push(format!("{id} runs, and it is the turn of {:?}", self.first()));
                }
                self.running = Some(id.clone());
            }
            Event::Preempted(view) => {
                self.pauses += 1;
                if view.task.source.is_person() || !self.open.values().any(|(_, is_person)| *is_person) {
                    self.wrong.push(format!("{} was paused for nobody", view.task.id));
                }
                self.running = None;
            }
            Event::Ended(view) => {
                if self.open.remove(&view.task.number).is_none() {
                    self.wrong.push(format!("{} ended twice", view.task.id));
                }
                self.running = self.running.take().filter(|id| *id != view.task.id);
            }
            _ => {}
        }
    }
}

async fn judge_after_restart(rig: &mut Rig) -> Judge {
    let mut judge = Judge::default();
    let snapshot = rig.engine.snapshot(0).await.unwrap();
    judge.running = snapshot.active.map(|active| active.view.task.id);
    for view in snapshot.queue {
        judge.open.insert(view.task.number, (view.task.id.clone(), view.task.source.is_person()));
    }
    // Some of this was told before the snapshot and is in it; to hear it again changes nothing.
    for event in rig.heard() {
        match event {
            Event::Started(view) | Event::Resumed(view) => judge.running = Some(view.task.id.clone()),
            Event::Preempted(_) => judge.running = None,
            Event::Ended(view) => {
                judge.open.remove(&view.task.number);
                judge.running = judge.running.take().filter(|id| *id != view.task.id);
            }
            _ => {}
        }
    }
    judge
}

/// One random day.
///
/// # Panics
/// If anything happened that must not.
pub(crate) async fn day(seed: u64) -> Tally {
    let draw = Draw(SplitMix::seeded(seed));
    let fakes = Fakes::new();
    {
        let mut world = fakes.world();
        world.facts.continues = [None, Some(true), Some(true), Some(false)][draw.pick(4)];
        world.facts.holds = [None, Some(true)][draw.pick(2)];
        world.cache_is_true = draw.one_in(2);
        world.word_ms = 1 + draw.below(40);
        world.tool_ms = 1 + draw.below(400);
        world.hold_ms = draw.below(120);
    }
    let mut rig = Rig::with(fakes, Bounds { rate_limit: 100, ..Bounds::default() });
    let mut tally = Tally { days: 1, ..Tally::default() };
    let mut judge = Judge::default();
    let mut taken: Vec<(TaskId, Plan)> = Vec::new();
    let mut cancelled = BTreeSet::new();
    for at in 0..6 + draw.below(14) {
        let kinds = ["", "w", "s", "r", "ws", "rw", "sr", "wsr"];
        let plan = Plan::new(&format!("t{at}"), 1 + draw.pick(12), kinds[draw.pick(8)]);
        match draw.below(10) {
            0..=2 => taken.push((rig.person(&plan).await, plan)),
            3..=5 => taken.push((rig.host("claude-code", &plan).await, plan)),
            6..=7 => taken.push((rig.host("codex", &plan).await, plan)),
            8 if !taken.is_empty() => {
                let (id, _) = &taken[draw.pick(taken.len())];
                if rig.engine.cancel(id, None).await.is_ok() {
                    cancelled.insert(id.clone());
                }
            }
            _ => {
                rig.heard().iter().for_each(|event| judge.judge(event));
                tally.crashes += 1;
                if draw.one_in(2) {
                    rig.memory.fail_after(Some(draw.below(12)));
                    sleep(Duration::from_millis(draw.below(900))).await;
                }
                rig.crash().await;
                rig.heard().iter().for_each(|event| judge.judge(event));
                rig.memory.fail_after(None);
                rig.begin_again();
                let wrong = std::mem::take(&mut judge.wrong);
                assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
                tally.pauses += judge.pauses;
                judge = judge_after_restart(&mut rig).await;
            }
        }
        if draw.one_in(8) {
            let away = ModelError::Unreachable("no server".to_owned());
            rig.fakes.world().errors.push((draw.pick(6), away));
        }
        sleep(Duration::from_millis(draw.below(700))).await;
        rig.heard().iter().for_each(|event| judge.judge(event));
    }
    for (id, _) in &taken {
        timeout(DAY, rig.ended(id)).await.unwrap_or_else(|_| panic!("seed {seed}: {id} never ends"));
        rig.heard().iter().for_each(|event| judge.judge(event));
    }
    assert!(judge.wrong.is_empty(), "seed {seed}: {:?}", judge.wrong);
    tally.pauses += judge.pauses;
    tally.tasks = taken.len() as u64;
    tally.cancelled = cancelled.len() as u64;
    let mut completed = 0;
    for (id, plan) in &taken {
        let view = rig.engine.poll(id).await.unwrap();
        let task = &view.task;
        if cancelled.contains(id) {
            assert_eq!(task.state, TaskState::Cancelled, "seed {seed}");
            continue;
        }
        completed += 1;
        assert_eq!(task.state, TaskState::Completed, "seed {seed}: {:?}", task.result);
        assert_eq!(task.result, Some(plan.answer()), "seed {seed}");
        match task.resumed {
            Some(Resumption::Exact) => tally.exact += 1,
            Some(Resumption::Continued) => tally.continued += 1,
            Some(Resumption::StartedAgain) => tally.started_again += 1,
            None => {}
        }
        for (step, kind) in plan.tools.chars().enumerate().filter(|(_, kind)| *kind != 'r') {
            let done = rig.fakes.world().done.get(&plan.call(step)).copied().unwrap_or(0);
            let status = view.calls[step].result.as_ref().unwrap().status.clone();
            let is_right = done == 1 || (done == 0 && status == "unknown");
            assert!(is_right, "seed {seed}: tool {kind} of {} ran {done} times, {status}", plan.name);
        }
    }
    let snapshot = rig.engine.snapshot(1_000).await.unwrap();
    assert!(snapshot.queue.is_empty(), "seed {seed}");
    assert_eq!(snapshot.history.total, tally.tasks + completed, "seed {seed}: every message and answer once");
    let world = rig.fakes.world();
    assert!(world.wrong.is_empty(), "seed {seed}: {:?}", world.wrong);
    tally
}
