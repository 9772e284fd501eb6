//! The checks of the memory, where sessions are indexed: what is there, what can't be read, and what is not understood.
//! They must never show a text of a session.

use entraclaw_memory::stores::Surveyed;

use super::Check;
use super::facts::{Facts, MemoryFacts};
use super::found::{ok, warn};
use entraclaw_sanitize::clean_line;
use entraclaw_session::status::amount::{counted, size};

const NAME: &str = "memory";
/// Kinds and files that are named.
const NAMED_MAX: usize = 5;

/// Checks the memory; without a word where nothing is indexed.
pub(super) fn memory(facts: &Facts) -> Vec<Check> {
    let (Some(memory), Some(summary)) = (&facts.memory, &facts.report.memory) else { return Vec::new() };
    let mut checks =
        vec![ok(NAME, format!("{}; index {}", summary.sessions_in_a_line(), size(summary.bytes)))];
    checks.extend(memory.stores.iter().filter_map(unreadable));
    checks.extend(memory.stores.iter().filter_map(|store| unknown(store, memory)));
    checks.extend(memory.meanings.as_deref().map(meanings));
    checks
}

fn unreadable(store: &Surveyed) -> Option<Check> {
    let (path, why) = store.troubles.first()?;
    let more = store.troubles.len() - 1;
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let agent = store.agent.as_str();
    let found = format!("{agent}: {} can't be read: {}{more}", path.display(), clean_line(why));
    Some(warn(
        NAME,
        found,
        "make it readable for you, or let its program finish; until then what is new there is not found",
    ))
}

fn meanings(trouble: &str) -> Check {
    let (found, fix) = trouble.split_once("; ").unwrap_or((trouble, "correct `context.meanings`"));
    warn(NAME, clean_line(found), format!("{fix}; until then a question that needs it fails"))
}

fn unknown(store: &Surveyed, memory: &MemoryFacts) -> Option<Check> {
    let tally = &store.tally;
    if tally.is_empty() {
        return None;
    }
    let mut kinds: Vec<(&String, &u64)> = tally.unknown.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let mut named: Vec<String> =
        kinds.iter().take(NAMED_MAX).map(|(kind, n)| format!("{kind:?} {n}")).collect();
    if kinds.len() > NAMED_MAX {
        named.push(format!("{} more kinds", kinds.len() - NAMED_MAX));
    }
    let many = |count: u64, what: &str| (count > 0).then(|| counted(count, what));
    named.extend(many(tally.malformed, "broken line"));
    named.extend(many(tally.too_long, "line of too great length"));
    let (agent, read) = (store.agent.as_str(), counted(store.read as u64, "session"));
    let depth = memory.files_max;
    let found = format!(
        "{agent}: what this version does not know, in {read} of the newest {depth}: {}",
        named.join(", ")
    );
    Some(warn(NAME, found, "renew entraclaw, or report these names; all else in the sessions is found"))
}
