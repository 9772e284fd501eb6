//! The end of a server once more, while no other process of it runs. A server whose processes share a lock or a port may
//! end beside another one and not by itself, and a host has one process of it.
//! It must never change a verdict that is not a pass.

use std::rc::Rc;
use std::sync::Arc;

use fake_hosts::Profile;
use schemas::Version;

use super::check;
use super::discover::Discovered;
use super::hosts;
use super::lab::Lab;
use super::outcome::{Evidence, Judged, Outcome};
use super::plan::Plan;
use super::row::Placed;
use super::turns::Turns;

/// A check of the end, and the one of hosts.
const CHECK: &str = "end.eof";
const HOSTS_CHECK: &str = "host.end";
/// What the evidence says beside what was seen.
const ALONE: &str = ", while no other process of it runs; beside others it ended";

/// Asks again about the ends that passed. All servers of the run have ended.
pub(super) async fn confirm(
    (plan, name): (&Plan, &str),
    found: &Rc<Discovered>,
    (meetings, turns): (&[Arc<Profile>], &Turns),
    (protocol, met): (&mut [Judged], &mut [Vec<Judged>]),
) {
    let Some(probe) = check::probes().find(|probe| probe.checks.contains(&CHECK)) else { return };
    let rows_of = |checks: &[&str]| -> Vec<Placed> {
        let asks = |placed: &&Placed| placed.row.checks.iter().any(|check| checks.contains(&check.as_str()));
        plan.rows.iter().filter(asks).cloned().collect()
    };
    let rows = rows_of(probe.checks);
    let passed = |one: &Judged, rows: &[Placed]| {
        matches!(one.outcome, Outcome::Passed) && rows.iter().any(|placed| placed.row.id == one.row)
    };
    let mut is_confirmed = true;
    for version in &plan.versions {
        let of_version = |one: &Judged| one.column == version.as_str() && passed(one, &rows);
        if !plan.target.has_process() || !protocol.iter().any(of_version) {
            continue;
        }
        let fails = fails(plan, *version, found, probe).await;
        is_confirmed &= fails.is_empty();
        for one in protocol.iter_mut().filter(|one| of_version(one)) {
            let mut checks =
                rows.iter().filter(|placed| placed.row.id == one.row).flat_map(|placed| &placed.row.checks);
            let failed = checks.find_map(|check| fails.iter().find(|(name, _)| name == check));
            if let Some((_, (outcome, transcript))) = failed {
                one.outcome = outcome.clone();
                one.transcript.clone_from(transcript);
            }
        }
        // A server that ends by itself in one version does so in each.
        if is_confirmed {
            break;
        }
    }
    if is_confirmed {
        return;
    }
    let rows = rows_of(&[HOSTS_CHECK]);
    for (profile, judged) in meetings.iter().zip(met) {
        if !judged.iter().any(|one| passed(one, &rows)) {
            continue;
        }
        let again = hosts::judge(profile, name, plan, found, &rows, turns).await;
        for mut one in again {
            let Outcome::Failed(evidence) = &mut one.outcome else { continue };
            say_alone(evidence);
            if let Some(before) =
                judged.iter_mut().find(|before| before.row == one.row && passed(before, &rows))
            {
                *before = one;
            }
        }
    }
}

/// A check with its outcome and the conversation.
type Failed = (&'static str, (Outcome, Vec<reports::event::WireLine>));

fn say_alone(evidence: &mut [Evidence]) {
    for one in evidence {
        one.message.push_str(ALONE);
    }
}

/// The checks of this probe that fail twice.
async fn fails(
    plan: &Plan,
    version: Version,
    found: &Rc<Discovered>,
    probe: &'static check::Probe,
) -> Vec<Failed> {
    let mut failed: Vec<Failed> = Vec::new();
    for is_second in [false, true] {
        let mut lab = Lab::new(&plan.target, version, &plan.wishes, found, probe.name, None);
        // A server that does not open now says nothing of its end.
        let _ = (probe.run)(&mut lab).await;
        let (outcomes, record) = lab.finish();
        let fails_now = |check: &&'static str| matches!(outcomes.get(check), Some(Outcome::Failed(_)));
        if is_second {
            failed.retain(|(check, _)| fails_now(check));
            break;
        }
        for check in probe.checks.iter().filter(|check| fails_now(check)) {
            let Some(Outcome::Failed(mut evidence)) = outcomes.get(check).cloned() else { continue };
            say_alone(&mut evidence);
            failed.push((check, (Outcome::Failed(evidence), record.transcript.clone())));
        }
        if failed.is_empty() {
            break;
        }
    }
    failed
}
