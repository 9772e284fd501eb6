//! Finds out what a server is: the versions that it speaks, what it declares, its tools. It asks each
//! question in a process of its own, so that no answer depends on another.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Duration;

use fake_hosts::drive::NOT_STARTED;
use schemas::Version;
use serde_json::Value;

use super::pace::Pace;
use super::session::{GRACE, Listed, MUTE_START_WITHIN, Reply, SILENCE_AFTER, START_WITHIN, Session};
use super::stop::STOPPED;
use super::target::Target;
use super::wire::{Record, Wire};

/// The versions that every server is asked for, oldest first. An older one is asked where it is the newest that a server
/// speaks, or where it was named.
pub const VERSIONS: [Version; 3] = [Version::V2025_06_18, Version::V2025_11_25, Version::V2026_07_28];

/// Time limit of the first answer where the program may first download the server, as it does on each machine of a CI.
const FETCHED_WITHIN: Duration = Duration::from_secs(120);

/// Time limit for the exit code and stderr of a server that ended at once.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// How many times longer a later start may take than the first one, in which some programs are downloaded.
const SLOWER_MAX: u32 = 4;

/// What the server is in one version.
#[derive(Debug, Clone)]
pub(crate) struct Speaks {
    pub(crate) capabilities: Value,
    pub(crate) opening: Value,
    pub(crate) tools: Listed,
    /// What came instead of a result where the server declares tools and does not list them.
    pub(crate) no_list: Option<Reply>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Discovered {
    /// `serverInfo.name`, if the server gave one.
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    /// By version: what the server is in it, or why it does not speak it.
    pub(crate) versions: BTreeMap<Version, Result<Speaks, String>>,
    /// The record of each version, so that a server that could not be understood is judged by what it wrote.
    pub(crate) heard: BTreeMap<Version, Rc<RefCell<Record>>>,
    /// Versions whose handshake was answered with another id. For these the record is all there is to judge.
    pub(crate) misaddressed: BTreeSet<Version>,
    /// Why nothing could be found out.
    pub(crate) unreachable: Option<String>,
    /// The longest time from the start of the server to the answer of a handshake, in milliseconds.
    pub(crate) opened_ms: Option<u64>,
    /// Whether the server answered no handshake.
    pub(crate) is_mute: bool,
    /// How long its tools took so far.
    pub(crate) pace: Pace,
}

impl Discovered {
    /// A server that had not said what it is when the run was stopped.
    pub(super) fn never_answered() -> Self {
        let reason = format!("{STOPPED} before the server had said what it is");
        let versions = VERSIONS.map(|version| (version, Err(reason.clone()))).into();
        Self { versions, unreachable: Some(reason), ..Self::default() }
    }

    pub(crate) fn speaks(&self, version: Version) -> Option<&Speaks> {
        self.versions.get(&version)?.as_ref().ok()
    }

    /// Whether it speaks a version and refuses there to list the tools that it declares.
    pub(crate) fn lists_nothing(&self, version: Version) -> bool {
        self.speaks(version).is_some_and(|speaks| speaks.no_list.is_some())
    }

    /// The newest of these versions that it speaks of each era; all of them if it speaks none.
    pub(crate) fn newest_of(&self, versions: &[Version]) -> Vec<Version> {
        let spoken = |modern: bool| {
            let of_era = versions.iter().filter(|version| version.is_modern() == modern);
            of_era.copied().filter(|version| self.speaks(*version).is_some()).max()
        };
        let newest: Vec<Version> = [spoken(false), spoken(true)].into_iter().flatten().collect();
        if newest.is_empty() { versions.to_vec() } else { newest }
    }

    /// Whether it speaks versions with a session and the version without one.
    pub(crate) fn is_of_both_eras(&self) -> bool {
        self.newest_legacy().is_some() && self.speaks(Version::V2026_07_28).is_some()
    }

    /// How long the slowest of its starts took.
    pub(crate) fn slowest_start(&self) -> Duration {
        Duration::from_millis(self.opened_ms.unwrap_or_default())
    }

    /// The newest version that opens with `initialize` and that the server speaks.
    pub(crate) fn newest_legacy(&self) -> Option<Version> {
        let spoken = self.versions.iter().filter(|(version, speaks)| !version.is_modern() && speaks.is_ok());
        spoken.map(|(version, _)| *version).next_back()
    }

    /// The newest version that it speaks where that is older than [`VERSIONS`].
    pub(crate) fn only_older(&self) -> Option<Version> {
        let spoken = self.versions.iter().filter(|(_, speaks)| speaks.is_ok());
        spoken.map(|(version, _)| *version).max().filter(|newest| !VERSIONS.contains(newest))
    }

    /// How long an answer is awaited where a server may be silent.
    pub(crate) fn silent_after(&self) -> Duration {
        self.slowest_start() + SILENCE_AFTER
    }

    /// Time limit of a first answer.
    pub(crate) fn opens_within(&self) -> Duration {
        if self.is_mute { MUTE_START_WITHIN } else { START_WITHIN }
    }

    /// What the server is in the newest version that it speaks.
    pub(crate) fn newest(&self) -> Option<&Speaks> {
        self.versions.values().rev().find_map(|speaks| speaks.as_ref().ok())
    }
}

/// The answer to one handshake.
struct Met {
    session: Session,
    record: Rc<RefCell<Record>>,
    reply: Reply,
    speaks: Result<Speaks, String>,
    /// The version that was named instead, if it is older than [`VERSIONS`].
    older: Option<Version>,
    took_ms: u64,
}

/// Finds out what the server is, and gives the connections on which that was asked. `wanted` are versions that are asked
/// for besides [`VERSIONS`]; `opening` is called for each handshake that begins, with its time limit.
pub(crate) async fn discover(
    target: &Target,
    wanted: &[Version],
    opening: &dyn Fn(Version, Duration),
) -> (Discovered, BTreeMap<Version, Session>) {
    let mut found = Discovered::default();
    let mut open = BTreeMap::new();
    // The stderr of a server that did not answer its first handshake.
    let mut silent: Option<String> = None;
    let [first, others @ ..] = VERSIONS;
    let wanted = wanted.iter().copied().filter(|version| !VERSIONS.contains(version));
    let first_within = if target.may_fetch_first() { FETCHED_WITHIN } else { START_WITHIN };
    opening(first, first_within);
    let mut met = vec![(first, meet(target, first, first_within).await)];
    if let (_, Err(error)) = &met[0] {
        let reason = not_started(target, error);
        found.versions = VERSIONS.map(|version| (version, Err(reason.clone()))).into();
        found.unreachable = Some(reason);
        return (found, open);
    }
    // Slow first starts, for example with a download, have had their time.
    let is_silent =
        |met: &(Version, std::io::Result<Met>)| met.1.as_ref().is_ok_and(|met| met.reply == Reply::Silent);
    // One that answered once is not slower by much the next time; silence is how some refuse what they don't know.
    let within = match &met[0].1 {
        Ok(first) if first.reply.is_answer() => {
            START_WITHIN.min(Duration::from_millis(first.took_ms) * SLOWER_MAX + SILENCE_AFTER)
        }
        _ if is_silent(&met[0]) => MUTE_START_WITHIN,
        _ => START_WITHIN,
    };
    let later = others.into_iter().chain(wanted).map(|version| async move {
        opening(version, within);
        (version, meet(target, version, within).await)
    });
    met.extend(futures_util::future::join_all(later).await);
    let answered = met.iter().any(|(_, met)| met.as_ref().is_ok_and(|met| met.reply.is_answer()));
    // Where a server answers one handshake and ends at another, its start may have failed.
    let is_gone = |met: &std::io::Result<Met>| met.as_ref().is_ok_and(|met| met.reply == Reply::Gone);
    for (version, met) in met.iter_mut().filter(|(_, met)| answered && is_gone(met)) {
        opening(*version, within);
        *met = meet(target, *version, within).await;
    }
    let has_none = met.iter().all(|(_, met)| met.as_ref().is_ok_and(|met| met.speaks.is_err()));
    let older = met.iter().find_map(|(_, met)| met.as_ref().ok()?.older).filter(|_| has_none);
    if let Some(version) = older {
        opening(version, within);
        met.push((version, meet(target, version, within).await));
    }
    // Hosts meet a server that is there already.
    let took = |(_, met): &(Version, std::io::Result<Met>)| {
        met.as_ref().ok().filter(|met| met.reply.is_answer()).map(|met| met.took_ms)
    };
    let later = met[1..].iter().filter_map(took).max();
    let was_fetched = target.may_fetch_first() && was_slower(took(&met[0]), later);
    for (version, met) in met {
        let mut met = match met {
            Ok(met) => met,
            Err(error) => {
                found.versions.insert(version, Err(not_started(target, &error)));
                continue;
            }
        };
        found.heard.insert(version, met.record);
        if met.reply.is_answer() && !(version == first && was_fetched) {
            found.opened_ms = found.opened_ms.max(Some(met.took_ms));
        }
        if met.reply == Reply::Silent {
            silent.get_or_insert_with(|| last_words(target, &met.session.wire.stderr()));
        }
        if let Reply::Misaddressed(_) = &met.reply {
            found.misaddressed.insert(version);
        }
        if let Some(opening) = met.speaks.as_ref().ok().map(|speaks| speaks.opening.clone()) {
            let info = opening
                .get("serverInfo")
                .or_else(|| opening.pointer("/_meta/io.modelcontextprotocol~1serverInfo"));
            let text = |member: &str| {
                info.and_then(|info| info.get(member)).and_then(Value::as_str).map(str::to_owned)
            };
            found.name = text("name").or(found.name.take());
            found.version = text("version").or(found.version.take());
        }
        if !answered && met.session.wire.is_silent_for_good() && found.unreachable.is_none() {
            // The exit code and the last lines may come a moment later.
            met.session.wire.run_until(LAST_WORDS_WITHIN, |wire| wire.ended().is_some()).await;
            met.session.wire.run_for(GRACE).await;
            let code = met.session.wire.ended().and_then(|ended| ended.code);
            let code = code.map_or_else(String::new, |code| format!(" with code {code}"));
            let words = last_words(target, &met.session.wire.stderr());
            found.unreachable = Some(format!("the server ended{code} before it answered{words}"));
        }
        if met.speaks.is_ok() {
            open.insert(version, met.session);
        }
        found.versions.insert(version, met.speaks);
    }
    if !answered && found.unreachable.is_none() {
        let wrote = found.heard.values().any(|record| !record.borrow().seen.is_empty());
        let misaddressed = found.misaddressed.first().and_then(|version| found.versions.get(version));
        let what = if let Some(Err(reason)) = misaddressed {
            reason.as_str()
        } else if wrote {
            "the server wrote no answer"
        } else {
            "the server answered nothing"
        };
        found.is_mute = silent.is_some() && misaddressed.is_none();
        let waited = if found.is_mute {
            format!(
                ": `initialize` was waited for {} s, and then it and `server/discover` {} s in new starts",
                first_within.as_secs(),
                MUTE_START_WITHIN.as_secs()
            )
        } else {
            String::new()
        };
        found.unreachable = Some(format!("{what}{waited}{}", silent.unwrap_or_default()));
    }
    (found, open)
}

/// Whether the first start took so much longer than the later ones, in milliseconds, that it did something else besides.
fn was_slower(first_ms: Option<u64>, later_ms: Option<u64>) -> bool {
    first_ms.zip(later_ms).is_some_and(|(first, later)| first > later * u64::from(SLOWER_MAX))
}

/// Makes the handshake of a version with a server of its own, and asks for its tools.
async fn meet(target: &Target, version: Version, within: Duration) -> std::io::Result<Met> {
    let record = Rc::new(RefCell::new(Record::default()));
    let wire = Wire::start(target.server(), Rc::clone(&record), true, !version.is_modern())?;
    let mut session = Session::new(wire, version);
    session.opens_within = within;
    let began = tokio::time::Instant::now();
    let reply = session.open().await;
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let older = older(version, &reply);
    let speaks = judge(&mut session, reply.clone()).await;
    Ok(Met { session, record, reply, speaks, older, took_ms })
}

/// The end of what a server wrote to stderr, for a message; empty for a server without a process.
fn last_words(target: &Target, stderr: &str) -> String {
    // A program of Node.js that does not find a module says so first, and then where.
    const LINES: usize = 16;
    let lines: Vec<&str> = stderr.lines().collect();
    if !target.has_process() {
        return String::new();
    }
    if lines.is_empty() {
        return "; it wrote nothing to stderr".to_owned();
    }
    format!("; its stderr ends with:\n{}", lines[lines.len().saturating_sub(LINES)..].join("\n"))
}

async fn judge(session: &mut Session, reply: Reply) -> Result<Speaks, String> {
    let version = session.version;
    if let Reply::Misaddressed(line) = &reply {
        let said = "the answer to the handshake has another id than the request";
        return Err(format!("{said}: {}", short(line)));
    }
    let Reply::Result(opening) = reply else {
        return Err(format!("the server does not speak {version}: {}", short(&reply.say().text)));
    };
    if version.is_modern() {
        let offered = opening.get("supportedVersions").and_then(Value::as_array).cloned().unwrap_or_default();
        if !offered.iter().any(|one| one == version.as_str()) {
            return Err(format!("the server does not offer {version}"));
        }
    } else {
        let named = opening.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if named != version.as_str() {
            return Err(format!("the server answers {version} with {named:?}"));
        }
    }
    Ok(ask(session, opening).await)
}

async fn ask(session: &mut Session, opening: Value) -> Speaks {
    let mut no_list = None;
    let mut tools = Listed::default();
    if session.declares("tools") {
        match session.list("tools/list", "tools").await {
            Ok(listed) => tools = listed,
            Err(no_page) => no_list = Some(no_page.reply),
        }
    }
    Speaks { capabilities: session.capabilities.clone(), opening, tools, no_list }
}

/// The version that an answer to `initialize` names, if it is older than [`VERSIONS`].
fn older(asked: Version, reply: &Reply) -> Option<Version> {
    let opening = reply.result().filter(|_| !asked.is_modern())?;
    let named = opening.get("protocolVersion")?.as_str()?.parse().ok()?;
    (named < VERSIONS[0] && named != asked).then_some(named)
}

fn short(text: &str) -> String {
    const CHARACTERS: usize = 200;
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Why no process could be started, and what to do about it.
fn not_started(target: &Target, error: &std::io::Error) -> String {
    let program = target.program_name().map(|program| format!("{program}: ")).unwrap_or_default();
    let remedy = match error.kind() {
        // The system has one error for both.
        ErrorKind::NotFound if target.lacks_its_directory() => {
            "; its working directory is not there, correct `cwd`"
        }
        ErrorKind::NotFound => "; write its path, or add its folder to PATH",
        ErrorKind::PermissionDenied => {
            "; make it executable, or write before it what runs it, like `python3`"
        }
        _ => "",
    };
    format!("{NOT_STARTED}: {program}{error}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_fetched_the_server_is_no_measure_of_its_starts() {
        assert!(was_slower(Some(60_000), Some(900)));
        assert!(!was_slower(Some(3_000), Some(900)), "a first start reads the disk");
        assert!(!was_slower(Some(60_000), None), "no other start tells");
        assert!(!was_slower(None, Some(900)));
    }
}
