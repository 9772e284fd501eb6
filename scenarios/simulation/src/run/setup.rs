//! The steps and demands about `entraclaw setup`, played on the person's machine. It judges files, never what setup says of itself.

use anyhow::Context as _;
use scenario::{SetupExpect, SetupStep};

use super::machine::{self, Machine};
use super::miss::Miss;
use super::play::Play;

/// The person runs setup.
pub(super) fn step(play: &Play<'_>, step: &SetupStep) -> anyhow::Result<()> {
    machine(play)?.setup(step)
}

/// The host that is about to start reads its files, where the cell has any.
pub(super) fn install(play: &mut Play<'_>, name: &str) -> anyhow::Result<()> {
    if !play.cell.scenario.scenario.runs_setup() {
        return Ok(());
    }
    let target = play.session(name)?.target().clone();
    let install = machine::install(machine(play)?, &target, now_ms)
        .map_err(|missing| Miss::new(format!("the host of session `{name}` can't start: {missing}")))?;
    play.session(name)?.install(install);
    Ok(())
}

/// Checks a demand now.
pub(super) fn check(expect: &SetupExpect, play: &Play<'_>) -> Result<(), Miss> {
    let machine = machine(play).map_err(|error| Miss::new(error.to_string()))?;
    machine::check(expect, machine).map_err(Miss::new)
}

fn machine<'p>(play: &'p Play<'_>) -> anyhow::Result<&'p Machine> {
    play.stage.machine().context("setup writes real files; write `mode: [process]`")
}

#[expect(clippy::disallowed_methods, reason = "wake-ups of real hosts are on the real clock")]
fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
