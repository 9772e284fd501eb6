//! Draws kills of the server under traffic from the seed.
//! It must never wait for the server to be well before it kills again: the start is a moment like any other.

use std::time::Duration;

use entraclaw_seams::random::{Random as _, SplitMix};
use scenario::{HostStep, Kills, ServerStep, Span, Step, Write};

use super::play::MAIN;

/// The longest pause between two messages of a burst, in milliseconds.
const PAUSE_MS: u64 = 40;

/// The steps: a burst into one of `chats`, a moment, a kill, a start; and again.
pub(crate) fn plan(kills: &Kills, seed: u64, chats: &[String]) -> Vec<Step> {
    let dice = SplitMix::seeded(seed);
    let below = |bound: u64| dice.next_u64() % bound.max(1);
    let within_ms = u64::try_from(kills.within.0.as_millis()).unwrap_or(u64::MAX);
    let mut steps = Vec::new();
    for round in 1..=kills.count {
        let chat = usize::try_from(below(chats.len() as u64)).ok().and_then(|at| chats.get(at).cloned());
        steps.push(Step::Write(Write {
            chat,
            text: Some(format!("before kill {round}, message {{n}}")),
            label: Some(format!("kill-{round}")),
            count: u32::try_from(below(u64::from(kills.burst)) + 1).ok(),
            every: Some(Span(Duration::from_millis(below(PAUSE_MS)))),
            ..Write::default()
        }));
        steps.push(Step::Advance(Span(Duration::from_millis(below(within_ms)))));
        steps.push(Step::Server(ServerStep::Crash(MAIN.to_owned())));
        steps.push(Step::Host(HostStep::Kill(MAIN.to_owned())));
        steps.push(Step::Host(HostStep::Start(MAIN.to_owned())));
    }
    steps
}
