//! `hostcheck run --server`: judges any server by the protocol and by the hosts. It must never print or write
//! a value of a variable or of a header.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use fake_hosts::drive::NOT_STARTED;
use schemas::Version;
use serde_json::{Value, json};

use super::progress::Progress;
use super::signals::Signals;
use super::subject::{self, Subject, quoted};
use super::{folder, output, overview, screen, select};
use crate::conformance::{
    self, About, Address, Asked, Judged, Level, Placed, Plan, Stop, Target, VERSIONS, Wishes,
};
use crate::exit::{EXIT_FAILED, EXIT_INCOMPLETE, EXIT_PASSED, Outcome};
use crate::hint;
use crate::host::{self, Host};
use crate::print::{out, warn};

pub use super::subject::SUBJECT;

/// Servers that run at the same time. They mostly wait, so there may be more than cores.
const AT_ONCE: usize = 6;
/// Time limit of the first connection to an address.
const REACH_TIME_MAX: Duration = Duration::from_secs(10);
/// The flags that name a server and say how it is judged.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Your own server")]
pub struct Flags {
    #[command(flatten)]
    subject: subject::Flags,
    /// Ask in this version of the protocol only, which the server then has to speak; may be repeated.
    #[arg(long, value_name = "VERSION", requires = SUBJECT)]
    protocol: Vec<String>,
    /// Check requirements of this level only.
    #[arg(long, value_enum, requires = SUBJECT)]
    level: Option<LevelArg>,
    /// Call also tools that do not declare that they only read.
    #[arg(long, requires = SUBJECT)]
    call_all_tools: bool,
    /// A call that lasts ten to fifty seconds, as TOOL or TOOL=ARGUMENTS in JSON, for the checks about
    /// running calls. It is cancelled once; the same call is also awaited to its end, for at most a minute.
    #[arg(long, value_name = "TOOL[=JSON]", requires = SUBJECT)]
    long_call: Option<String>,
    /// The file of the server's repository to which findings of `report.sarif` point, like package.json.
    /// GitHub's code scanning refuses findings that point to no file.
    #[arg(long, value_name = "FILE", value_parser = file_of_repository, requires = SUBJECT)]
    findings_in: Option<String>,
    /// Leave out times, so that equal findings give equal bytes.
    #[arg(long, requires = SUBJECT)]
    timeless: bool,
    /// Print one JSON object for each row and column.
    #[arg(long, requires = SUBJECT)]
    json: bool,
    /// Everything, however long it takes. A server is asked in every version from 2025-06-18 on that it speaks, each question
    /// on a connection of its own, also those that take long or that hardly a server fails. A row that is named is asked in any case.
    #[arg(long)]
    full: bool,
    /// Fail also for what a server should do, and for what held only some of the times.
    #[arg(long, requires = SUBJECT)]
    strict: bool,
    /// Print every row and column, and every failure with what was expected and observed.
    #[arg(long, requires = SUBJECT, conflicts_with = "json")]
    verbose: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LevelArg {
    Must,
    Should,
}

impl Flags {
    /// Whether everything was asked for.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Whether versions were named that the server has to speak.
    fn demands(&self) -> bool {
        !self.protocol.is_empty()
    }

    /// Whether a server is named.
    pub fn is_given(&self) -> bool {
        self.subject.is_given()
    }
}

/// Judges the server that the flags name, writes the reports into a folder, and gives the exit code.
pub fn main(
    args: &Flags,
    words: &[String],
    hosts: &[String],
    seed: u64,
    (folder, against): (&Path, &output::Against),
) -> Outcome {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
    let given: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let subject = args.subject.resolve(&given)?;
    if let Some(note) = subject.note {
        warn(note);
    }
    let plan = plan(args, subject, words, hosts, seed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Target::Url(address) = &plan.target
        && let Err(problem) = runtime.block_on(reach(address))
    {
        let problem = conformance::masked(&problem, &plan.wishes.secrets);
        warn(&format!("error: {}: {problem}", args.subject.flag()));
        return Ok(EXIT_INCOMPLETE);
    }
    let progress = Progress::default();
    let tell = |news| progress.tell(news);
    let stop = Stop::default();
    let judged = async {
        let signals = Signals::to_stop()?;
        anyhow::Ok(tokio::select! {
            biased;
            found = conformance::judge(&plan, &tell, &stop) => Some(found),
            never = progress.watch() => match never {},
            () = stopped_twice(&signals, &stop, &progress) => None,
        })
    };
    let found = tokio::task::LocalSet::new().block_on(&runtime, judged)?;
    progress.end();
    let Some(found) = found else { return Ok(EXIT_INCOMPLETE) };
    let asked = Asked {
        command: conformance::masked(&repeat(args, words, hosts, seed), &plan.wishes.secrets),
        again: conformance::masked(&repeat(args, &[], hosts, seed), &plan.wishes.secrets),
        started_as: conformance::masked(&args.subject.started_as(plan.name.as_deref()), &plan.wishes.secrets),
        mode: if plan.target.has_address() { select::HTTP } else { "process" }.to_owned(),
        timeless: args.timeless,
        must_only: !args.strict,
        seed,
        findings_in: args.findings_in.clone().unwrap_or_default(),
    };
    let excluded = plan.rows.iter().filter(|placed| placed.row.excluded.is_some()).count();
    let mut codes = Vec::new();
    let failed =
        |judged: &[Judged]| judged.iter().any(|one| matches!(one.outcome, conformance::Outcome::Failed(_)));
    // A table without a verdict would only hide the reason.
    let unheard = found.about.unreachable.is_some() && !failed(&found.protocol) && !failed(&found.hosts);
    let [by_protocol, by_hosts] = folder::PARTS;
    let is_part = !words.is_empty() || found.is_stopped;
    let wanted = screen::Wanted { all: args.verbose, strict: args.strict, part: is_part };
    let told = screen::screen(&found, &plan.rows, wanted);
    let is_failed = screen::is_failed(&found, &plan.rows, args.strict);
    folder::clear(folder)?;
    if !unheard {
        overview::write(folder, &found, &plan.rows, &asked.command)?;
    }
    let suites = [
        (by_protocol, conformance::version_columns(&found.about, &found.versions), found.protocol),
        (by_hosts, conformance::host_columns(&plan.hosts), found.hosts),
    ];
    for (suite, columns, judged) in suites {
        if judged.is_empty() {
            continue;
        }
        if args.json {
            print_json(suite, &plan.rows, &judged);
        }
        let folder = folder.join(suite);
        codes.push(write(
            &asked,
            &found.about,
            &plan.rows,
            &columns,
            judged,
            (&folder, against, unheard || !args.verbose),
        )?);
        if args.verbose {
            out(&format!("reports: {}{}", folder.display(), if unheard { "" } else { "\n" }));
        }
    }
    if codes.is_empty() && plan.rows.iter().any(|placed| !placed.row.facts.is_empty()) {
        anyhow::bail!("nothing to run: these rows ask something of hosts; see `hostcheck hosts --protocol`");
    }
    if codes.is_empty() {
        anyhow::bail!("nothing to run: no row of that name applies; see scenarios/protocol/ for their names");
    }
    if !args.json {
        if let Some(reason) = &found.about.unreachable {
            out(&format!("the server could not be judged: {reason}"));
            if plan.target.has_address() {
                out("check that the address is that of the MCP endpoint, its path included");
            } else if !reason.starts_with(NOT_STARTED) {
                out(
                    "start its command by hand and type a line: it should answer on standard output, flushed, and end when its \
                     input does. What it needs may be missing, like an argument, or a variable (--env)",
                );
            }
        }
        if !unheard {
            out(&told);
            out(&format!("report: {}", folder.join("index.html").display()));
        }
        if excluded > 0 && args.verbose {
            out(&format!("{excluded} rows are not checked, each with its reason: hostcheck list --protocol"));
        }
    }
    let judged_by_baseline = against.baseline.is_some();
    Ok(match codes.iter().find(|code| **code == EXIT_FAILED) {
        Some(code) if judged_by_baseline => *code,
        _ if is_failed && !judged_by_baseline => EXIT_FAILED,
        _ if codes.contains(&EXIT_INCOMPLETE)
            && (unheard || found.is_stopped || args.strict || args.demands()) =>
        {
            EXIT_INCOMPLETE
        }
        _ => EXIT_PASSED,
    })
}

/// Ends the run at a signal, and returns at the next one.
async fn stopped_twice(signals: &Signals, stop: &Stop, progress: &Progress) {
    let signal = signals.next().await;
    progress.stopped(&signal);
    stop.wish();
    signals.next().await;
}

/// Whether a server listens at an address and lets this caller in. It is asked once, because each row would wait for its
/// own timeout or meet the same refusal.
async fn reach(address: &Address) -> Result<(), String> {
    const WAY: &str = "start the server first, or check the address";
    let place = url::Url::parse(address.url()).ok();
    let place = place.and_then(|url| Some((url.host_str()?.to_owned(), url.port_or_known_default()?)));
    // An address without a host was refused before.
    let Some((host, port)) = place else { return Ok(()) };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match tokio::time::timeout(REACH_TIME_MAX, tokio::net::TcpStream::connect((bare, port))).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => return Err(format!("no connection to {host}:{port}: {error}; {WAY}")),
        Err(_) => {
            return Err(format!(
                "no connection to {host}:{port} within {} s; {WAY}",
                REACH_TIME_MAX.as_secs()
            ));
        }
    }
    conformance::authorization_wanted(address).await.map_or(Ok(()), Err)
}

fn plan(
    args: &Flags,
    subject: Subject,
    words: &[String],
    hosts: &[String],
    seed: u64,
) -> anyhow::Result<Plan> {
    let versions = versions(&args.protocol)?;
    let rows = rows(words, args.level)?;
    let wishes = Wishes {
        call_all_tools: args.call_all_tools,
        quick: !args.full && !takes_its_time(words, &rows),
        seed,
        long_call: args.long_call.as_deref().map(long_call).transpose()?,
        secrets: subject.secrets,
    };
    Ok(Plan {
        target: subject.target,
        name: subject.name,
        wishes: Arc::new(wishes),
        rows,
        full: args.full,
        named: !words.is_empty(),
        demanded: !args.protocol.is_empty(),
        versions,
        hosts: pick_hosts(hosts)?,
        at_once: AT_ONCE,
    })
}

/// Whether these words name rows that may take their time: they are few, and who names one wants its answer. What rests on
/// the lines of all conversations has its answer from those of a usual run.
fn takes_its_time(words: &[String], rows: &[Placed]) -> bool {
    let is_of_lines = |placed: &Placed| placed.row.checks.iter().all(|check| check.starts_with("wire."));
    !words.is_empty() && !rows.iter().all(is_of_lines)
}

/// A path as code scanning wants it: from the root of the repository, with slashes.
fn file_of_repository(text: &str) -> Result<String, String> {
    let path = text.strip_prefix("./").unwrap_or(text);
    let inside = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':']);
    if path.split('/').all(inside) {
        return Ok(path.to_owned());
    }
    Err("write it from the root of the repository, with slashes, like packages/server/package.json"
        .to_owned())
}

fn versions(words: &[String]) -> anyhow::Result<Vec<Version>> {
    if words.is_empty() {
        return Ok(VERSIONS.to_vec());
    }
    let known = Version::ALL.map(Version::as_str).join(", ");
    words
        .iter()
        .map(|word| {
            Version::ALL.into_iter().find(|version| version.as_str() == word).with_context(|| {
                format!("--protocol: no rows are kept for {word:?}; there are rows for {known}")
            })
        })
        .collect()
}

fn long_call(text: &str) -> anyhow::Result<(String, Value)> {
    let (name, arguments) = match text.split_once('=') {
        Some((name, arguments)) => {
            let arguments: Value = serde_json::from_str(arguments)
                .with_context(|| format!("--long-call: the arguments of {name} are no JSON"))?;
            anyhow::ensure!(
                arguments.is_object(),
                "--long-call: the arguments of {name} must be a JSON object"
            );
            (name, arguments)
        }
        None => (text, json!({})),
    };
    Ok((name.to_owned(), arguments))
}

/// The rows that the words name: areas, ids, or `protocol` and `hosts`. Without words, all rows.
fn rows(words: &[String], level: Option<LevelArg>) -> anyhow::Result<Vec<Placed>> {
    let all = conformance::rows()?;
    let is_host = |placed: &Placed| placed.row.id.starts_with("hosts.");
    let fits = |placed: &Placed, word: &str| match word {
        "protocol" => !is_host(placed),
        "hosts" => is_host(placed),
        _ => placed.row.id == word || placed.area == word || placed.row.id.starts_with(&format!("{word}.")),
    };
    for word in words {
        if !all.iter().any(|placed| fits(placed, word)) {
            let names: Vec<&str> =
                all.iter().flat_map(|placed| [placed.row.id.as_str(), placed.area.as_str()]).collect();
            let hint = hint::or_else(word, names, "see `hostcheck list --protocol`");
            anyhow::bail!("no row or area of the protocol is named `{word}`; {hint}");
        }
    }
    let level = level.map(|level| if level == LevelArg::Must { Level::Must } else { Level::Should });
    let chosen = all.into_iter().filter(|placed| {
        (words.is_empty() || words.iter().any(|word| fits(placed, word)))
            && level.is_none_or(|level| placed.row.level == level)
    });
    Ok(chosen.collect())
}

/// `hostcheck list --protocol`: every row, also those that are not checked, with the reason.
pub fn list(words: &[String], as_json: bool) -> Outcome {
    let rows = rows(words, None)?;
    let width = rows.iter().map(|placed| placed.row.id.len()).max().unwrap_or(0);
    for Placed { area, file, row } in &rows {
        if as_json {
            let line = json!({
                "id": row.id, "area": area, "level": row.level.as_str(), "says": row.says, "in": row.r#in,
                "sentence": row.sentence, "checks": row.checks, "facts": row.facts, "excluded": row.excluded, "file": file,
            });
            out(&line.to_string());
        } else {
            let how = match &row.excluded {
                Some(reason) => format!(" (not checked: {reason})"),
                None if row.facts.is_empty() => String::new(),
                None => format!(" (of hosts: {})", row.facts.join(", ")),
            };
            out(&format!("{:width$}  {:6}  {}{how}", row.id, row.level.as_str(), row.says));
        }
    }
    if !as_json {
        let checked = rows.iter().filter(|placed| !placed.row.checks.is_empty()).count();
        let of_hosts = rows.iter().filter(|placed| !placed.row.facts.is_empty()).count();
        let all = rows.len();
        out(&format!(
            "{all} rows, {checked} of them checked; {of_hosts} are told of hosts by `hostcheck hosts --protocol`"
        ));
    }
    Ok(EXIT_PASSED)
}

/// The hosts that the words name. Without words, the newest version of each program.
fn pick_hosts(words: &[String]) -> anyhow::Result<Vec<Arc<Host>>> {
    if !words.is_empty() {
        let mut chosen = select::hosts(words)?;
        // A bare pipe has no behaviour to judge a server by.
        chosen.retain(|host| host.profile.is_some());
        anyhow::ensure!(!chosen.is_empty(), "--host: a bare pipe is no host; see `hostcheck hosts`");
        return Ok(chosen);
    }
    let families = host::all()?.iter().filter(|host| host.family != "generic").cloned();
    Ok(select::newest(&families.collect::<Vec<_>>()))
}

/// The command that repeats the run, without the values of variables.
fn repeat(args: &Flags, words: &[String], hosts: &[String], seed: u64) -> String {
    let mut parts = vec!["hostcheck run".to_owned()];
    parts.extend(args.subject.repeat());
    parts.extend(args.protocol.iter().map(|version| format!("--protocol {version}")));
    parts.extend(hosts.iter().map(|host| format!("--host {host}")));
    parts.extend(args.long_call.iter().map(|call| format!("--long-call {}", quoted(call))));
    for (given, flag) in [(args.call_all_tools, "--call-all-tools"), (args.full, "--full")] {
        parts.extend(given.then(|| flag.to_owned()));
    }
    if seed != 1 {
        parts.push(format!("--seed {seed}"));
    }
    parts.extend(words.iter().cloned());
    parts.join(" ")
}

fn print_json(suite: &str, rows: &[Placed], judged: &[Judged]) {
    for one in judged {
        let placed = rows.iter().find(|placed| placed.row.id == one.row);
        let (outcome, evidence) = match &one.outcome {
            conformance::Outcome::Passed => ("passed", Vec::new()),
            conformance::Outcome::Failed(evidence) => ("failed", evidence.clone()),
            conformance::Outcome::Flaky(_) => ("flaky", Vec::new()),
            conformance::Outcome::NotApplicable(_) => ("not-applicable", Vec::new()),
            conformance::Outcome::Unsupported(_) => ("unsupported", Vec::new()),
            conformance::Outcome::Unknown(_) => ("unknown", Vec::new()),
            conformance::Outcome::CouldNotRun(_) => ("could-not-run", Vec::new()),
        };
        let evidence: Vec<Value> = evidence
            .into_iter()
            .map(|one| json!({"message": one.message, "expected": one.expected, "observed": one.observed}))
            .collect();
        let line = json!({
            "suite": suite,
            "row": one.row,
            "area": placed.map(|placed| placed.area.clone()),
            "level": placed.map(|placed| placed.row.level.as_str()),
            "says": placed.map(|placed| placed.row.says.clone()),
            "column": one.column,
            "outcome": outcome,
            "reason": one.outcome.reason(),
            "evidence": evidence,
        });
        out(&line.to_string());
    }
}

/// Writes the stream and the reports of one suite, and gives its exit code.
fn write(
    asked: &Asked,
    about: &About,
    rows: &[Placed],
    columns: &[reports::event::HostColumn],
    judged: Vec<Judged>,
    (folder, against, quiet): (&Path, &output::Against, bool),
) -> anyhow::Result<u8> {
    let events = conformance::events(asked, about, rows, columns, judged);
    let shown = if quiet { output::Shown::Nothing } else { output::Shown::Everything };
    output::finish(folder, events, against, shown)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::all(&[], false)]
    #[case::one(&["tools.validates"], true)]
    #[case::of_lines(&["lifecycle.only-negotiated"], false)]
    #[case::one_of_lines(&["lifecycle.only-negotiated", "tools.validates"], true)]
    fn rows_that_are_named_may_take_their_time(#[case] words: &[&str], #[case] expected: bool) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(takes_its_time(&words, &rows(&words, None).unwrap()), expected);
    }
}
