//! Journal, consumers and carriers together: any sequence of messages, calls, hooks, kills, power cuts, full disks, days and
//! take-overs, compared with a model that knows only what was written and what was shown.

mod model;
mod world;

use proptest::prelude::*;
use serde_json::json;

use self::world::{CLIENTS, World};

#[derive(Debug, Clone)]
enum Step {
    /// People write.
    Arrive(usize),
    /// Somebody edits a message, or takes it back.
    Change(usize, bool),
    /// Whoever leads asks the source, and the others look.
    Poll,
    /// Whoever leads asks the source; nobody has looked yet.
    PollAlone,
    /// Everybody looks.
    Look,
    Pass(u64),
    Pull(usize, usize),
    /// A call that stays open until something comes or its time is over.
    Park(usize),
    Reply(usize),
    /// A pull whose answer the host never takes.
    Lose(usize, usize),
    Hook(usize),
    Kill(usize, bool),
    PowerCut(u64),
    Full(u64),
    FailSyncs,
    Heal,
    NextDay,
}

fn step() -> impl Strategy<Value = Step> {
    let session = || 0..CLIENTS.len();
    prop_oneof![
        6 => (1..6_usize).prop_map(Step::Arrive),
        3 => (0..64_usize, any::<bool>()).prop_map(|(which, deleted)| Step::Change(which, deleted)),
        8 => Just(Step::Poll),
        2 => Just(Step::PollAlone),
        2 => Just(Step::Look),
        8 => prop_oneof![Just(1_u64), 2..2_000_u64, Just(60_000_u64)].prop_map(Step::Pass),
        5 => (session(), 1..8_usize).prop_map(|(at, limit)| Step::Pull(at, limit)),
        4 => session().prop_map(Step::Park),
        2 => session().prop_map(Step::Reply),
        2 => (session(), 1..8_usize).prop_map(|(at, limit)| Step::Lose(at, limit)),
        2 => (0..2_usize).prop_map(Step::Hook),
        2 => (session(), any::<bool>()).prop_map(|(at, has_read)| Step::Kill(at, has_read)),
        1 => any::<u64>().prop_map(Step::PowerCut),
        1 => (0..3_000_u64).prop_map(Step::Full),
        1 => Just(Step::FailSyncs),
        3 => Just(Step::Heal),
        1 => Just(Step::NextDay),
    ]
}

async fn play(steps: &[Step]) {
    let mut world = World::new().await;
    for step in steps {
        match *step {
            Step::Arrive(count) => world.arrive(count),
            Step::Change(which, deleted) => world.change(which, deleted),
            Step::Poll => {
                world.poll();
                world.look().await;
            }
            Step::PollAlone => world.poll(),
            Step::Look => world.look().await,
            Step::Pass(ms) => world.pass(ms).await,
            Step::Pull(at, limit) => world.call(at, "inbox_pull", json!({"limit": limit})).await,
            Step::Park(at) => world.call(at, "wait_for_inbound_message", json!({})).await,
            Step::Reply(at) => world.reply(at).await,
            Step::Lose(at, limit) => world.pull_and_cancel(at, limit).await,
            Step::Hook(which) => world.hook(which),
            Step::Kill(at, has_read) => world.kill(at, has_read).await,
            Step::PowerCut(seed) => world.power_cut(seed).await,
            Step::Full(bytes) => world.fail_disk(Some(bytes)),
            Step::FailSyncs => world.fail_disk(None),
            Step::Heal => world.heal_disk().await,
            Step::NextDay => world.next_day().await,
        }
    }
    world.finish().await;
}

fn run(steps: &[Step]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(play(steps));
}

/// After a power cut on a full disk one session wrote the consumer's file anew as generation 3, and another could not, and
/// appended all that it knew when there was room again, with the header of generation 2. The file was rewritten as
/// generation 3 once more, so that the other session took it for its own file, cut, and pushed a message again unmarked.
#[test]
fn a_late_header_hides_no_push_of_another_session() {
    let before =
        [Step::Arrive(2), Step::Poll, Step::Lose(2, 2), Step::Pull(2, 1), Step::Park(1), Step::Pull(2, 1)];
    let cut = [
        Step::Poll,
        Step::Arrive(5),
        Step::Lose(2, 1),
        Step::Kill(0, false),
        Step::Poll,
        Step::Full(683),
        Step::PowerCut(1_067_346_458_699_003_777),
    ];
    let after = [
        Step::Arrive(3),
        Step::Look,
        Step::Pull(0, 3),
        Step::Pass(60_000),
        Step::Look,
        Step::Look,
        Step::Full(0),
    ];
    run(&[&before[..], &cut[..], &after[..]].concat());
}

/// A power cut took a consumer's file, so that all that was unread counted as handed to a session that had ended. The answer to a
/// message then acknowledged its edit too, which no model had been shown.
#[test]
fn an_answer_to_a_message_takes_away_no_edit_that_was_not_shown() {
    let before = [Step::Arrive(5), Step::Poll, Step::Hook(1), Step::Pull(1, 3), Step::Poll, Step::Pull(2, 1)];
    let more = [
        Step::Lose(1, 1),
        Step::Arrive(5),
        Step::Arrive(2),
        Step::Pull(2, 1),
        Step::Poll,
        Step::Arrive(3),
        Step::Pass(1),
        Step::Hook(1),
    ];
    let after = [
        Step::PowerCut(607_640_778_671_381_280),
        Step::Change(57, false),
        Step::Poll,
        Step::Park(1),
        Step::Lose(0, 1),
        Step::Reply(1),
    ];
    run(&[&before[..], &more[..], &after[..]].concat());
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_history_reaches_every_model(steps in prop::collection::vec(step(), 1..60)) {
        run(&steps);
    }
}
