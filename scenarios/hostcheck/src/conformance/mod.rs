//! Judges any server: whether it speaks the protocol, and whether it would work in the hosts.
//!
//! ```text
//! target ── discover ──┬─ protocol: rows × versions, answered by the probes in `check`
//!                      └─ hosts: rows × host profiles, answered by the fake host
//! ```
//!
//! A server is asked only about what it declares; a tool is called only if it declares that it only reads.
//! Every row ends as passed, failed, not applicable or could not run, with its reason; no row is left out.

mod address;
mod arguments;
mod blame;
mod busy;
mod by_itself;
mod causes;
mod check;
mod command_line;
mod discover;
mod duties;
mod findings;
mod heard;
mod hosts;
mod http;
mod lab;
mod lent;
mod mask;
mod meeting;
mod outcome;
mod pace;
mod plan;
mod protocol;
mod row;
mod rows;
mod sdks;
mod session;
mod spread;
mod stop;
mod stream;
mod target;
mod turns;
mod wire;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use schemas::Version;

pub use address::Address;
pub use causes::{Cause, Weight, causes};
pub(crate) use check::NO_LONG_CALL;
pub(crate) use command_line::words as words_of_command;
use discover::Discovered;
pub use discover::VERSIONS;
pub use duties::{Duty, Kept, duty};
pub use findings::{About, Findings};
pub use http::authorization_wanted;
pub use lab::Wishes;
pub use mask::text as masked;
pub use outcome::{Differing, Evidence, Judged, Outcome};
pub use plan::Plan;
pub use row::{Area, Level, Needed, Placed, Row};
pub use rows::all as rows;
pub use stop::Stop;
pub use stream::{Asked, events, hosts as host_columns, versions as version_columns};
pub use target::{Inside, Program, Target};
use turns::Turns;

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// A handshake in this version has begun; the answer may take this long.
    Opening(Version, Duration),
    /// The number of conversations that have ended.
    Asked {
        /// Ended conversations.
        done: usize,
        /// All conversations.
        total: usize,
    },
}

/// Judges a server. Needs tokio's `LocalSet`; `progress` is called with each step, and `stop` ends the run early.
pub async fn judge(plan: &Plan, progress: &dyn Fn(News), stop: &Stop) -> Findings {
    let opening = |version, limit| progress(News::Opening(version, limit));
    let discovered = stop.unless(discover::discover(&plan.target, &plan.versions, &opening)).await;
    let (found, open) = discovered.unwrap_or_else(|| (Discovered::never_answered(), BTreeMap::new()));
    let found = Rc::new(found);
    let older = found.only_older().filter(|older| !plan.demanded && !plan.versions.contains(older));
    let wanted: Vec<Version> = older.into_iter().chain(plan.versions.iter().copied()).collect();
    let versions = if plan.full || plan.demanded { wanted } else { found.newest_of(&wanted) };
    let rows: Vec<Placed> =
        plan.rows.iter().filter(|placed| !placed.row.checks.is_empty()).cloned().collect();
    let wants_hosts = rows.iter().any(|placed| placed.row.r#in.contains_key(row::HOSTS));
    let meetings: Vec<_> = if wants_hosts {
        plan.hosts.iter().filter_map(|host| host.profile.clone()).collect()
    } else {
        Vec::new()
    };
    let total = protocol::count(plan, &versions, &rows, &found) + meetings.len();
    let ended = std::cell::Cell::new(0);
    let done = || {
        ended.set(ended.get() + 1);
        progress(News::Asked { done: ended.get(), total });
    };
    progress(News::Asked { done: 0, total });
    let name = plan.name.clone().unwrap_or_else(|| configured_name(found.name.as_deref()));
    let turns = Turns::new(plan.at_once, stop.clone());
    let runs = meetings.iter().map(|profile| async {
        let judged = hosts::judge(profile, &name, plan, &found, &rows, &turns).await;
        done();
        judged
    });
    let protocol = protocol::judge(plan, &versions, &rows, &found, open, (&turns, &done));
    let (mut protocol, mut met) =
        futures_util::future::join(protocol, futures_util::future::join_all(runs)).await;
    let of_run = (&mut protocol[..], &mut met[..]);
    let confirming = by_itself::confirm((plan, &name), &found, (&meetings, &turns), of_run);
    // An end that was not confirmed passed beside other servers.
    stop.unless(confirming).await;
    // A row alone does not show whose fault it is.
    let of_all = self::rows().unwrap_or_default();
    let signs = if plan.named && !stop.is_wished() { sdks::signs(of_all, &protocol) } else { Vec::new() };
    let shown = if signs.is_empty() {
        Vec::new()
    } else {
        protocol::judge(plan, &versions, &signs, &found, BTreeMap::new(), (&turns, &|| ())).await
    };
    let sdks = sdks::Sdks::of(protocol.iter().chain(&shown));
    let about = About {
        name: found.name.clone(),
        version: found.version.clone(),
        versions: found
            .versions
            .iter()
            .map(|(version, speaks)| (*version, speaks.as_ref().map(declared).map_err(Clone::clone)))
            .collect(),
        older: found.only_older(),
        unreachable: found.unreachable.clone(),
    };
    let hosts = met.into_iter().flatten().collect();
    let is_stopped = stop.is_wished();
    let mut findings = Findings { about, versions, protocol, hosts, sdks, is_stopped };
    mask::findings(&mut findings, &plan.wishes.secrets);
    findings
}

/// The capabilities of a server in one line.
fn declared(speaks: &discover::Speaks) -> String {
    let names: Vec<&str> = speaks
        .capabilities
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .map(String::as_str)
        .collect();
    let declared = if names.is_empty() {
        "nothing declared".to_owned()
    } else {
        format!("declares {}", names.join(", "))
    };
    format!("{declared}; {} tools", speaks.tools.items.len())
}

/// The name that a user would give a server: the last part of its own, in plain characters.
fn configured_name(own: Option<&str>) -> String {
    let last = own.unwrap_or_default().rsplit('/').next().unwrap_or_default();
    let plain: String =
        last.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "server".to_owned() } else { plain.chars().take(32).collect() }
}
