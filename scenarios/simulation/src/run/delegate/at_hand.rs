//! The engine of the cell that is played.
//! It must never start one.

use super::Delegation;
use super::engine::SimDelegation;
use crate::run::play::Play;

/// The engine of the cell.
pub(super) fn delegation<'a>(play: &'a Play<'_>) -> anyhow::Result<&'a dyn Delegation> {
    play.stage.delegation().ok_or_else(|| anyhow::anyhow!("the cell has no local model"))
}

/// The engine of the cell, in this thread. It is a cheap clone.
pub(super) fn simulated(play: &Play<'_>) -> anyhow::Result<SimDelegation> {
    let found = delegation(play)?.simulated().cloned();
    found.ok_or_else(|| anyhow::anyhow!("this can only be simulated; leave `process` out of `mode`"))
}
