//! All planted faults in one table: the row that must catch each, what else fails because of it, and in which hosts it is
//! red. Every fault is judged by all rows in the newest version of each era, and by the newest version of each host. A
//! host is red only where [`RED`] names the fact that says so.
//! `UPDATE_REFERENCE=1 cargo test -p hostcheck --test conformance zoo` writes the page for readers anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::thread;

use hostcheck::conformance::{self, Findings, Judged, Outcome, Plan};
use hostcheck::host::Host;

use crate::fault::Fault;
use crate::mutants::{MUST_FAIL, NEW, OLD, in_paused_time, plan};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/reference/faults.md");
/// The fewest faults of the table.
const FAULTS_MIN: usize = 40;
/// The row that is left out: 20 MB for each fault take minutes, and no fault is about them.
const LEFT_OUT: &str = "pipes.long-line";
/// Most rows that are named for one fault; the others are counted.
const NAMED_MAX: usize = 8;

/// Fault → a row about hosts that fails because of it, the hosts in which it does, and the fact that says so. All other
/// hosts stay green, or their verdict is unknown.
const RED: [(Fault, &str, &[&str], &str); 15] = [
    (Fault::MarksByteOrder, "hosts.opens", &["gemini-cli", "opencode", "qwen-code"], MARKS),
    (Fault::WritesLatin1, "hosts.tools", &["codex"], LATIN),
    (Fault::WritesLatin1, "hosts.call", &["codex"], LATIN),
    (Fault::WritesLatin1, "hosts.lines", &["codex"], LATIN),
    (Fault::DropsTheList, "hosts.opens", &["copilot-cli"], GIVES_UP),
    (Fault::ListsNothing, "hosts.tools", &ALL, NO_LIST),
    (Fault::ReadsOneLineAtATime, "hosts.opens", &["copilot-cli"], GIVES_UP),
    (Fault::ReadsOneLineAtATime, "hosts.tools", &["claude-code", "codex"], AT_ONCE),
    (Fault::ReadsOneLineAtATime, "hosts.call", &["claude-code", "codex"], AT_ONCE),
    (Fault::RepeatsATool, "hosts.names-distinct", &ALL, DOUBLED),
    (Fault::RepeatsATool, "hosts.tools", &["qwen-code"], DOUBLED),
    (Fault::RepeatsATool, "hosts.call", &["qwen-code"], DOUBLED),
    (Fault::ListsByConnection, "hosts.tools", &ALL, "the list that its own connection gets"),
    (Fault::HidesItsTools, "hosts.tools", &["gemini-cli", "opencode", "qwen-code"], UNDECLARED),
    (Fault::HidesItsTools, "hosts.call", &["gemini-cli", "opencode", "qwen-code"], UNDECLARED),
];
const ALL: [&str; 6] = ["claude-code", "codex", "copilot-cli", "gemini-cli", "opencode", "qwen-code"];
const MARKS: &str = "`faults.byte_order_mark`";
const LATIN: &str = "`faults.invalid_utf8`";
const GIVES_UP: &str = "`lists.timeout_drops_server`";
const NO_LIST: &str = "the list that has no result";
const AT_ONCE: &str = "`lists.order`: the list is asked for in the moment of `initialized`";
const DOUBLED: &str = "`faults.doubled_names`";
const UNDECLARED: &str = "`lists.undeclared`";

/// What a fault of the table breaks.
#[derive(Default)]
struct Broken {
    /// Row → the versions in which it fails.
    rows: BTreeMap<String, BTreeSet<String>>,
    /// Rows that could not be asked, in any version.
    unasked: BTreeSet<String>,
    /// Row about hosts → the families in which it fails.
    red: BTreeMap<String, BTreeSet<String>>,
    /// Families of which a row is not known.
    unknown: BTreeSet<String>,
}

/// The newest version of each host.
fn newest() -> Vec<Arc<Host>> {
    let mut newest: BTreeMap<&str, &Arc<Host>> = BTreeMap::new();
    for host in hostcheck::host::all().expect("the profiles") {
        if host.family != "generic" && host.profile.is_some() {
            // They stand in the order of their versions.
            newest.insert(&host.family, host);
        }
    }
    newest.into_values().cloned().collect()
}

fn judge(fault: Fault, hosts: &[Arc<Host>]) -> Broken {
    let plan = Plan { hosts: hosts.to_vec(), ..plan(fault, |row| row != LEFT_OUT, &[OLD, NEW], false) };
    let found: Findings =
        in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await });
    let mut broken = Broken::default();
    for Judged { row, column, outcome, .. } in found.protocol {
        match outcome {
            Outcome::Failed(_) | Outcome::Flaky(_) => {
                broken.rows.entry(row).or_default().insert(column);
            }
            Outcome::CouldNotRun(_) => {
                broken.unasked.insert(row);
            }
            _ => {}
        }
    }
    for Judged { row, column, outcome, .. } in found.hosts {
        let family = column.split('@').next().unwrap_or_default().to_owned();
        match outcome {
            Outcome::Failed(_) | Outcome::Flaky(_) => {
                broken.red.entry(row).or_default().insert(family);
            }
            Outcome::Unknown(_) => {
                broken.unknown.insert(family);
            }
            _ => {}
        }
    }
    broken
}

/// What each fault breaks, in order, asked on all cores.
fn judge_all(faults: &[Fault], hosts: &[Arc<Host>]) -> Vec<(Fault, Broken)> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let ask =
            |part: &[Fault]| part.iter().map(|fault| (*fault, judge(*fault, hosts))).collect::<Vec<_>>();
        let parts = faults.chunks(faults.len().div_ceil(cores));
        let asked: Vec<_> = parts.map(|part| scope.spawn(move || ask(part))).collect();
        asked.into_iter().flat_map(|part| part.join().expect("a part of the faults")).collect()
    })
}

#[test]
fn the_zoo_every_fault_is_caught_by_its_row_and_red_only_where_a_fact_says_so() {
    let hosts = newest();
    assert_eq!(hosts.len(), 6, "the newest version of each host");
    let mut faults: Vec<Fault> = Vec::new();
    for (fault, ..) in MUST_FAIL {
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    assert!(faults.len() >= FAULTS_MIN, "only {} faults", faults.len());
    let mut wrong = Vec::new();
    let mut page = String::from(HEAD);
    for (fault, broken) in judge_all(&faults, &hosts) {
        let named: BTreeMap<&str, BTreeSet<String>> = MUST_FAIL
            .iter()
            .filter(|(one, ..)| *one == fault)
            .fold(BTreeMap::new(), |mut all, (_, row, version)| {
                all.entry(*row).or_default().insert(version.as_str().to_owned());
                all
            });
        for (row, versions) in &named {
            let failed = broken.rows.get(*row).cloned().unwrap_or_default();
            if !versions.is_subset(&failed) {
                wrong.push(format!("{fault:?} survives {row} in {versions:?}; it fails in {failed:?}"));
            }
        }
        let expected: BTreeMap<String, BTreeSet<String>> = RED
            .iter()
            .filter(|(one, ..)| *one == fault)
            .map(|(_, row, hosts, _)| {
                ((*row).to_owned(), hosts.iter().map(|host| (*host).to_owned()).collect())
            })
            .collect();
        if broken.red != expected {
            wrong.push(format!("{fault:?} is red in {:?}, and by the facts in {expected:?}", broken.red));
        }
        page.push_str(&line(fault, &named.keys().copied().collect(), &broken));
    }
    assert!(wrong.is_empty(), "{}\n{page}", wrong.join("\n"));
    hold(&page);
}

const HEAD: &str = "# Planted faults

A tiny server keeps every rule of the protocol, and each of these faults breaks one. The rows of the second column must fail
because of it. The page lists everything else that each makes red, and a test holds it. All rows but that of a 20 MB line are
asked in the newest version of each era (2025-11-25 and 2026-07-28), and the newest version of each host connects. A host is
red only where a recorded fact says what it does with such a server; where there is none, the verdict is *unknown*.

| fault: the server | caught by | fails too | red in hosts, by the fact | unknown in |
| --- | --- | --- | --- | --- |
";

fn line(fault: Fault, caught: &BTreeSet<&str>, broken: &Broken) -> String {
    let place = |row: &str| {
        let versions = broken.rows.get(row).cloned().unwrap_or_default();
        let only = if versions.len() == 1 {
            format!(" ({})", versions.first().expect("one"))
        } else {
            String::new()
        };
        format!("`{row}`{only}")
    };
    let by: Vec<String> = caught.iter().map(|row| place(row)).collect();
    let others: Vec<&String> = broken.rows.keys().filter(|row| !caught.contains(row.as_str())).collect();
    let mut too: Vec<String> = others.iter().take(NAMED_MAX).map(|row| place(row)).collect();
    if others.len() > NAMED_MAX {
        too.push(format!("{} more rows", others.len() - NAMED_MAX));
    }
    if !broken.unasked.is_empty() {
        too.push(format!("{} rows can't be asked", broken.unasked.len()));
    }
    let red = RED.iter().filter(|(one, ..)| *one == fault);
    let red: Vec<String> =
        red.map(|(_, row, hosts, fact)| format!("`{row}` in {}: {fact}", hosts.join(", "))).collect();
    let unknown: Vec<String> = broken.unknown.iter().cloned().collect();
    let unknown = if unknown.len() == 6 { "all".to_owned() } else { unknown.join(", ") };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {unknown} |",
        words(fault),
        by.join(", "),
        too.join(", "),
        red.join("; ")
    );
    text.replace("  ", " ")
}

/// `PrintsToStdout` as `prints to stdout`.
fn words(fault: Fault) -> String {
    let mut text = String::new();
    for letter in format!("{fault:?}").chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

#[expect(clippy::disallowed_methods, reason = "the test reads and writes the page")]
fn hold(page: &str) {
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(PAGE, page).expect("the page is written");
    }
    let committed = std::fs::read_to_string(PAGE).unwrap_or_default();
    if committed != page {
        let diff = similar::TextDiff::from_lines(committed.as_str(), page).unified_diff().to_string();
        panic!("docs/src/reference/faults.md is out of step; run with UPDATE_REFERENCE=1\n{diff}");
    }
}
