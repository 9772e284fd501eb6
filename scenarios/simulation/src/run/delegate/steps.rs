//! Plays what happens at the engine.

use scenario::{DelegateStep, EngineStep, ModelStep};

use super::Delegation;
use super::at_hand::{delegation, simulated};
use super::everywhere::{crash, interrupt};
use crate::matching::first_json;
use crate::run::miss::Miss;
use crate::run::play::Play;

/// Starts the engine with which the scenario begins.
pub(crate) async fn begin(play: &Play<'_>) -> anyhow::Result<()> {
    if play.cell.scenario.scenario.delegate.as_ref().is_some_and(|delegate| delegate.engine) {
        delegation(play)?.start().await?;
    }
    Ok(())
}

/// Plays one step.
pub(crate) async fn step(play: &mut Play<'_>, step: &DelegateStep) -> anyhow::Result<()> {
    match step {
        DelegateStep::Say(say) => simulated(play)?.say(&say.label, &say.text).await?,
        DelegateStep::Engine(EngineStep::Start) => delegation(play)?.start().await?,
        DelegateStep::Engine(EngineStep::Kill) => delegation(play)?.kill().await,
        DelegateStep::Engine(EngineStep::End) => simulated(play)?.end().await,
        DelegateStep::Model(change) => simulated(play)?.model().set_away(*change == ModelStep::Away),
        DelegateStep::DiesAfterWrites(writes) => simulated(play)?.dies_after(Some(*writes)),
        DelegateStep::InterruptEverywhere(spec) => interrupt(play, spec).await?,
        DelegateStep::CrashEverywhere(spec) => crash(play, spec).await?,
    }
    Ok(())
}

/// The id of the task that a call has handed over, or that the person has typed.
pub(crate) fn task_of(play: &Play<'_>, label: &str) -> Result<String, Miss> {
    let said = play.stage.delegation().and_then(Delegation::simulated).and_then(|engine| engine.said(label));
    if let Some(id) = said {
        return Ok(id.0);
    }
    let text = play.call(label).and_then(|call| call.end).map(|end| end.text).unwrap_or_default();
    let id = first_json(&text).and_then(|answer| answer["task_id"].as_str().map(str::to_owned));
    id.ok_or_else(|| Miss::texts(format!("call `{label}` has handed over no task"), "a task_id", &text))
}
