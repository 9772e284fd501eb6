//! Judges whether a server would work in a host: a fake host is connected to it and reports what happened.
//! The host follows its profile alone; this module does not know how any host behaves.

mod seen;

use std::sync::Arc;

use fake_hosts::Profile;
use reports::event::Lane;
use serde_json::Value;

use self::seen::{NO_LIST, Seen};
use super::arguments;
use super::busy;
use super::check;
use super::discover::Discovered;
use super::lab::Wishes;
use super::meeting::{Met, Script, meet};
use super::outcome::{Judged, Outcome, over_tries};
use super::plan::Plan;
use super::row::{HOSTS, Placed};
use super::stop::STOPPED;
use super::turns::Turns;

pub(crate) use self::seen::checks;

/// Connects one host and judges what happened. What can depend on how busy the machine is and fails beside others is asked
/// again while nothing else runs: a limit that was over counts only if it is over again, any other failure is one of three.
pub(crate) async fn judge(
    profile: &Arc<Profile>,
    server_name: &str,
    plan: &Plan,
    found: &Discovered,
    rows: &[Placed],
    turns: &Turns,
) -> Vec<Judged> {
    let of_hosts = || rows.iter().filter(|placed| placed.row.r#in.contains_key(HOSTS));
    let meeting = judge_met(profile, server_name, plan, found, of_hosts, turns);
    turns.stop.unless(meeting).await.unwrap_or_else(|| {
        let stopped = Outcome::CouldNotRun(STOPPED.to_owned());
        of_hosts().map(|placed| Judged::bare(&placed.row.id, &profile.id, stopped.clone())).collect()
    })
}

async fn judge_met<'a, Rows: Iterator<Item = &'a Placed>>(
    profile: &Arc<Profile>,
    server_name: &str,
    plan: &Plan,
    found: &Discovered,
    rows: impl Fn() -> Rows,
    turns: &Turns,
) -> Vec<Judged> {
    // The judge's own session reads no answer with another id; some hosts do.
    if let Some(reason) = found.unreachable.as_ref().filter(|_| found.misaddressed.is_empty()) {
        // Each host would wait for its own timeout.
        let unmet = Outcome::CouldNotRun(reason.clone());
        return rows().map(|placed| Judged::bare(&placed.row.id, &profile.id, unmet.clone())).collect();
    }
    let picked = pick_tool(&plan.wishes, found);
    let tool = || picked.as_ref().map(|(name, _)| name.as_str());
    let has_tools = found.newest().is_some_and(|speaks| !speaks.tools.items.is_empty());
    let script = Script { tool: picked.as_ref().ok(), has_tools, rests: plan.full };
    // On a busy machine a server waits for a processor, and a limit that passes meanwhile says nothing of the server.
    let again = || async {
        let slowdown = if plan.target.has_process() { busy::slowdown() } else { 1.0 };
        let host = busy::stretched(profile, slowdown);
        let mut met = meet(&host, server_name, &plan.target, &plan.wishes, script, turns, None).await;
        if slowdown > 1.0 {
            let note = format!("the machine is busy: the host's limits were stretched {slowdown:.1} times");
            met.record.note(0, Lane::Event, &note);
        }
        met
    };
    let is_late = |met: &Met| Seen { profile, server: server_name, found, met, tool: tool() }.is_late();
    let first = {
        let turn = turns.beside().await;
        meet(profile, server_name, &plan.target, &plan.wishes, script, turns, turn).await
    };
    let mut tries = vec![first];
    let mut holds_alone = false;
    if is_late(&tries[0]) {
        let second = {
            let _turn = turns.alone().await;
            again().await
        };
        let differs = !is_late(&second);
        let seen = Seen { profile, server: server_name, found, met: &tries[0], tool: tool() };
        let was_alone = !differs || seen.only_wanted_time(second.opened_ms);
        if was_alone {
            tries.clear();
        }
        tries.push(second);
        if differs {
            let _turn = turns.alone().await;
            tries.push(again().await);
        }
        holds_alone = differs && !was_alone && !is_late(&tries[2]);
    }
    rows()
        .map(|placed| {
            let of_try = |met: &Met| {
                let seen = Seen { profile, server: server_name, found, met, tool: tool() };
                let outcomes = placed.row.checks.iter().map(|check| seen.check(check));
                let none = || Outcome::CouldNotRun("the row has no check".to_owned());
                outcomes.reduce(Outcome::and).unwrap_or_else(none)
            };
            let mut outcomes: Vec<(Outcome, &Met)> = tries.iter().map(|met| (of_try(met), met)).collect();
            // A conversation that never began says nothing about what comes after its beginning.
            if outcomes.iter().any(|(one, _)| !matches!(one, Outcome::CouldNotRun(_))) {
                outcomes.retain(|(one, _)| !matches!(one, Outcome::CouldNotRun(_)));
            }
            let bad = outcomes.iter().find(|(one, _)| matches!(one, Outcome::Failed(_)));
            let transcript = bad.map(|(_, met)| met.record.transcript.clone());
            let outcome = over_tries(outcomes.into_iter().map(|(one, _)| one).collect());
            let outcome = if holds_alone { outcome.and_held_alone() } else { outcome };
            Judged {
                transcript: transcript.unwrap_or_default(),
                ..Judged::bare(&placed.row.id, &profile.id, outcome)
            }
        })
        .collect()
}

/// The call of the model: a tool and its arguments, or the reason why there is none.
fn pick_tool(wishes: &Wishes, found: &Discovered) -> Result<(String, Value), Outcome> {
    let Some(speaks) = found.newest() else {
        return Err(Outcome::CouldNotRun("the server could not be asked for its tools".to_owned()));
    };
    let lasts = wishes.long_call.as_ref().map(|(name, _)| name.as_str());
    let may = speaks.tools.items.iter().filter(|tool| check::may_call(wishes, tool));
    let (others, lasting): (Vec<&Value>, Vec<&Value>) =
        may.partition(|tool| lasts.is_none() || tool.get("name").and_then(Value::as_str) != lasts);
    let made = others.into_iter().chain(lasting).find_map(|tool| {
        let arguments = arguments::make(tool.get("inputSchema")?, wishes.seed).ok()?;
        Some((tool.get("name")?.as_str()?.to_owned(), arguments))
    });
    made.ok_or_else(|| match speaks.no_list {
        Some(_) => Outcome::CouldNotRun(NO_LIST.to_owned()),
        None => check::none_callable(wishes, &speaks.tools),
    })
}
