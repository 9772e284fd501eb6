//! `hostcheck hosts --diff A B`: the facts in which two profiles differ, in value or in whether the fact is
//! known. It compares profiles, never runs.

use std::sync::Arc;

use anyhow::Context as _;
use fake_hosts::{Evidence, Profile};
use serde_json::json;

use super::evidence::{add, mark};
use crate::command::select;
use crate::host::said as value;
use crate::print::out;

pub(super) fn print(two: &[String], json: bool) -> anyhow::Result<()> {
    let [left, right] = two else { anyhow::bail!("--diff needs two hosts") };
    let (left, right) = (profile(left)?, profile(right)?);
    let differing: Vec<(Evidence, Evidence)> = left
        .evidence()
        .into_iter()
        .zip(right.evidence())
        .filter(|(left, right)| differs(left, right))
        .collect();
    for (one, other) in &differing {
        if json {
            let side = |host: &Profile, fact: &Evidence| {
                let mut side = json!({"host": host.id});
                add(&mut side, fact);
                side
            };
            let line = json!({"fact": one.name, "meaning": one.meaning, "sides": [side(&left, one), side(&right, other)]});
            out(&line.to_string());
        } else {
            let width = left.id.len().max(right.id.len());
            let side = |host: &Profile, fact: &Evidence| {
                format!("  {:width$}  {:<44} {:<10} {}", host.id, value(fact), mark(fact), fact.source)
            };
            out(&format!("{}: {}\n{}\n{}", one.name, one.meaning, side(&left, one), side(&right, other)));
        }
    }
    if !json {
        let facts = left.evidence().len();
        out(&format!("{} of {facts} facts differ between {} and {}", differing.len(), left.id, right.id));
    }
    Ok(())
}

/// Whether two facts differ in what they say about the host. Their place, their author and their tolerance
/// don't count.
fn differs(left: &Evidence, right: &Evidence) -> bool {
    value(left) != value(right) && !left.name.starts_with("fidelity.")
}

fn profile(name: &str) -> anyhow::Result<Arc<Profile>> {
    let hosts = select::hosts(&[name.to_owned()])?;
    let [host] = hosts.as_slice() else {
        let names: Vec<&str> = hosts.iter().map(|host| host.id.as_str()).collect();
        anyhow::bail!("`{name}` is a family; name one of its profiles: {}", names.join(", "));
    };
    host.profile.clone().with_context(|| format!("`{}` has no profile: it is a bare pipe", host.id))
}
