//! Disturbs one task at each place, one after the other: by the person at each moment, by a crash at each write.
//! It must never decide whether the task came through; what must always hold is judged at the end.

use std::time::Duration;

use scenario::EverywhereStep;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::Delegation as _;
use super::at_hand::simulated;
use super::engine::SimDelegation;
use crate::run::miss::Miss;
use crate::run::play::{MAIN, Play};

/// Most rounds of one step.
const ROUNDS_MAX: u32 = 400;
/// How much later the person comes each time, unless the scenario says so.
const LATER_MS: u64 = 10;
/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time in which a round must be over.
const ROUND_MAX: Duration = Duration::from_secs(3_600);
/// The pause between two rounds, so that no client asks too often.
const REST: Duration = Duration::from_secs(1);

fn numbered(text: &str, round: u32) -> String {
    text.replace("{n}", &round.to_string())
}

/// The main host hands over the task of a round; the label of its call.
fn hand_over(play: &mut Play<'_>, message: &str, round: u32) -> anyhow::Result<String> {
    let label = format!("round-{round}");
    let call = ("chat".to_owned(), json!({"message": message}), label.clone());
    play.session(MAIN)?.call(vec![call]);
    Ok(label)
}

/// Whether the task with this message has ended.
fn has_ended(engine: &SimDelegation, message: &str) -> bool {
    let book = engine.book();
    book.views().any(|view| view.task.message == message && view.task.state.is_ended())
}

async fn wait(what: &str, round: u32, is_so: impl Fn() -> bool) -> anyhow::Result<()> {
    let until = Instant::now() + ROUND_MAX;
    while !is_so() {
        if Instant::now() >= until {
            return Err(Miss::new(format!("round {round}: {what} in an hour")).into());
        }
        sleep(LOOK).await;
    }
    Ok(())
}

/// Waits until the call of a round has its answer and no task is open.
async fn end_round(play: &Play<'_>, engine: &SimDelegation, label: &str, round: u32) -> anyhow::Result<()> {
    let is_answered = || play.call(label).is_some_and(|call| call.end.is_some());
    wait("the call was not answered", round, is_answered).await?;
    wait("not every task has ended", round, || engine.book().open().is_empty()).await?;
    sleep(REST).await;
    Ok(())
}

fn enough(spec: &EverywhereStep, rounds: u32) -> anyhow::Result<()> {
    if rounds < spec.rounds_at_least {
        let says = format!("{rounds} rounds were played, not at least {}", spec.rounds_at_least);
        return Err(Miss::new(says).into());
    }
    Ok(())
}

/// The person interrupts the task a bit later each time, until it has ended before.
pub(super) async fn interrupt(play: &mut Play<'_>, spec: &EverywhereStep) -> anyhow::Result<()> {
    let engine = simulated(play)?;
    let every = spec.every.map_or(Duration::from_millis(LATER_MS), |span| span.0);
    for round in 0..ROUNDS_MAX {
        let message = numbered(&spec.message, round);
        let label = hand_over(play, &message, round)?;
        sleep(every * round).await;
        let is_over = has_ended(&engine, &message);
        if !is_over {
            let says = numbered(spec.says.as_deref().unwrap_or("wait"), round);
            engine.say(&format!("said-{round}"), &says).await?;
        }
        end_round(play, &engine, &label, round).await?;
        if is_over {
            return enough(spec, round);
        }
    }
    Err(Miss::new(format!("the task never ends within {ROUNDS_MAX} rounds")).into())
}

/// The engine dies one write later each time, until the task has ended before.
pub(super) async fn crash(play: &mut Play<'_>, spec: &EverywhereStep) -> anyhow::Result<()> {
    let engine = simulated(play)?;
    for round in 0..ROUNDS_MAX {
        let message = numbered(&spec.message, round);
        engine.dies_after(Some(u64::from(round)));
        let label = hand_over(play, &message, round)?;
        let is_over = || engine.engine().is_none() || has_ended(&engine, &message);
        wait("the engine neither dies nor ends the task", round, is_over).await?;
        let has_died = engine.engine().is_none();
        engine.dies_after(None);
        if has_died {
            sleep(REST).await;
            engine.start().await?;
        }
        end_round(play, &engine, &label, round).await?;
        if !has_died {
            return enough(spec, round);
        }
    }
    Err(Miss::new(format!("the engine writes more than {ROUNDS_MAX} times")).into())
}
