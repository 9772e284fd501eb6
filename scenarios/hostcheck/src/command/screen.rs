//! What a person reads after a server was judged: what it is, in which hosts it works, and one entry for each cause of a
//! failure. It never says more than a screen holds; the reports have everything.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use reports::Works;
use schemas::Version;

use super::columns;
use crate::conformance::NO_LONG_CALL;
use crate::conformance::{About, Cause, Findings, Judged, Level, Needed, Outcome, Placed, Weight, causes};
use crate::print::shown;

/// Where no failure shows the SDK.
const UNKNOWN_SDK: &str =
    "not known: of other SDKs than those of Python and TypeScript, FastMCP and rmcp, a fault stands as yours";
/// Of a run that did not reach its end.
pub(super) const STOPPED_EARLY: &str = "before its end; what was not asked to its end has no verdict";
/// Most reasons for which questions were not asked.
const REASONS_MAX: usize = 3;
/// Most causes that are told, four lines each.
const CAUSES_MAX: usize = 4;
/// Longest line of a cause, in characters; the reports have the rest.
const LINE_CHARS_MAX: usize = 160;

/// What the caller wants to see and to count.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    /// Every cause, also those of the SDK, with all that is known of it.
    pub(super) all: bool,
    /// What should hold counts too.
    pub(super) strict: bool,
    /// Some rows alone were asked for, and those that show an SDK are others perhaps.
    pub(super) part: bool,
}

/// The screen, in at most twenty-five lines unless everything is wanted.
pub(super) fn screen(findings: &Findings, rows: &[Placed], wanted: Wanted) -> String {
    let causes = causes(findings, rows);
    let mut text = head(findings);
    if let Some(older) = findings.about.older {
        let _ = writeln!(text, "{:<10} {}", "version", why_older(older));
    }
    if findings.is_stopped {
        let _ = writeln!(text, "{:<10} {STOPPED_EARLY}", "stopped");
    }
    for (name, counts) in [("protocol", of_protocol(findings, rows)), ("in hosts", of_hosts(findings, rows))]
    {
        if let Some(counts) = counts {
            let _ = writeln!(text, "{name:<10} {counts}");
        }
    }
    if !findings.hosts.is_empty() {
        let _ = writeln!(text, "{:<10} {}", "works in", works_in(&findings.hosts, rows));
    }
    if let Some(told) = unasked(findings) {
        let _ = writeln!(text, "{:<10} {told}", "not asked");
    }
    // What a server must do is told in full, also where its SDK has to mend it.
    let (of_sdk, own): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().partition(|cause| !cause.sdks.is_empty() && cause.weight != Weight::Must);
    if wanted.all {
        text.extend(own.into_iter().chain(of_sdk).map(entry));
        return text;
    }
    let told = if own.len() > CAUSES_MAX { CAUSES_MAX - 1 } else { own.len() };
    text.extend(own[..told].iter().map(|cause| entry(cause)));
    let (musts, others): (Vec<&Cause>, Vec<&Cause>) =
        own[told..].iter().partition(|cause| cause.weight == Weight::Must);
    if own.len() > told {
        text.push('\n');
    }
    for cause in musts {
        let _ = writeln!(text, "✗ must    {} ({})", short(&cause.message), rows_of(&[cause]));
    }
    if !others.is_empty() {
        let _ = writeln!(text, "… and {} more, which the report has: {}", others.len(), rows_of(&others));
    }
    text.push_str(&from_sdk(&of_sdk, wanted));
    if !own.is_empty() && of_sdk.is_empty() && !wanted.part && !findings.sdks.are_known() {
        let _ = writeln!(text, "\n{:<9} {UNKNOWN_SDK}", "· sdk");
    }
    text
}

/// How many questions were not asked, with the reasons of most of them.
fn unasked(findings: &Findings) -> Option<String> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for judged in findings.protocol.iter().chain(&findings.hosts) {
        match &judged.outcome {
            Outcome::CouldNotRun(reason) => *reasons.entry(reason).or_default() += 1,
            // It applies as soon as a call is named, and a reader would not learn of that elsewhere.
            Outcome::NotApplicable(reason) if reason == NO_LONG_CALL => {
                *reasons.entry(reason).or_default() += 1;
            }
            _ => {}
        }
    }
    let all: usize = reasons.values().sum();
    let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, cells)| Reverse(*cells));
    let (first, others) = reasons.split_first()?;
    let of_all = if others.is_empty() { all.to_string() } else { format!("{} of {all}", first.1) };
    let mut text = format!("{of_all}: {}", short(first.0));
    let (told, rest) = others.split_at(others.len().min(REASONS_MAX - 1));
    for (reason, cells) in told {
        let _ = write!(text, "\n{:10} {cells}: {}", "", short(reason));
    }
    if !rest.is_empty() {
        let cells: usize = rest.iter().map(|(_, cells)| cells).sum();
        let _ = write!(
            text,
            "\n{:10} {cells}: for {}, which the report has",
            "",
            count(rest.len(), "other reason", "other reasons")
        );
    }
    Some(text)
}

/// What the SDK does not keep, in two lines: the author of the server can only take a newer one.
fn from_sdk(causes: &[&Cause], wanted: Wanted) -> String {
    let sdks: BTreeSet<&str> = causes.iter().flat_map(|cause| cause.sdks.iter().copied()).collect();
    if sdks.is_empty() {
        return String::new();
    }
    let sdks = sdks.into_iter().collect::<Vec<_>>().join(" or ");
    let (either, not_yours): (Vec<&Cause>, Vec<&Cause>) =
        causes.iter().copied().partition(|cause| cause.or_yours.is_some());
    let told = match not_yours.len() {
        0 => count(either.len(), "fault may be yours or the SDK's", "faults may be yours or the SDK's"),
        sure => count(sure, "fault is not yours", "faults are not yours"),
    };
    let more = if not_yours.is_empty() || either.is_empty() {
        String::new()
    } else {
        format!(", and {} may be", either.len())
    };
    let mut rows = vec![rows_of(if not_yours.is_empty() { &either } else { &not_yours })];
    if !not_yours.is_empty() && !either.is_empty() {
        rows.push(format!("may be yours too: {}", rows_of(&either)));
    }
    let counted = if wanted.strict { "; --strict counts them" } else { "" };
    let mut text = format!(
        "\n{:<9} {told}{more}: the least server on {sdks} does the same, and yours may be on another version of it{counted}\n",
        "· sdk"
    );
    for line in rows {
        let _ = writeln!(text, "{:9} {line}", "");
    }
    text
}

fn count(many: usize, one: &str, more: &str) -> String {
    format!("{many} {}", if many == 1 { one } else { more })
}

/// Whether the server failed: a requirement that it must keep, or with `strict` any that failed or was flaky.
pub(super) fn is_failed(findings: &Findings, rows: &[Placed], strict: bool) -> bool {
    causes(findings, rows).iter().any(|cause| strict || cause.weight == Weight::Must)
}

fn head(findings: &Findings) -> String {
    let title = shown(&title(&findings.about));
    match judged_in(findings).as_slice() {
        [] => format!("{title} speaks no version that was asked for\n"),
        versions => format!("{title}, judged in {}\n", shown(&versions.join(", "))),
    }
}

/// The name and the version that the server gives.
pub(super) fn title(about: &About) -> String {
    let name = about.name.as_deref().unwrap_or("a server without a name");
    let version = about.version.as_deref().filter(|version| !version.is_empty());
    version.map_or_else(|| name.to_owned(), |version| format!("{name} {version}"))
}

/// Why a server may speak no version that hosts offer, and a hint at the remedy.
pub(super) fn why_older(newest: Version) -> String {
    format!(
        "{newest} is its newest, and hosts offer newer ones: its SDK is old, or its own handler of `initialize` pins it"
    )
}

/// The versions in which the server was judged: those that it speaks of the ones in which it was asked.
pub(super) fn judged_in(findings: &Findings) -> Vec<&str> {
    let of_rows = findings
        .about
        .versions
        .iter()
        .filter(|(version, speaks)| speaks.is_ok() && findings.versions.contains(version));
    of_rows.map(|(version, _)| version.as_str()).collect()
}

/// What was found out of the protocol, in a line; none where it was not asked.
pub(super) fn of_protocol(findings: &Findings, rows: &[Placed]) -> Option<String> {
    (!findings.protocol.is_empty()).then(|| counts(&findings.protocol, rows))
}

/// What was found out of the hosts, in a line; none where none was asked.
pub(super) fn of_hosts(findings: &Findings, rows: &[Placed]) -> Option<String> {
    (!findings.hosts.is_empty()).then(|| counts(&findings.hosts, rows))
}

/// `125 verdicts: 120 passed, 2 failed (1 must, 1 should), 3 could not be asked; 5 questions do not apply`.
fn counts(judged: &[Judged], rows: &[Placed]) -> String {
    let binds =
        |one: &Judged| rows.iter().any(|placed| placed.row.id == one.row && placed.row.level == Level::Must);
    let failed = |must: bool| {
        let failed = judged.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_)));
        failed.filter(|one| binds(one) == must).count()
    };
    let (musts, shoulds) = (failed(true), failed(false));
    let by_level = [(musts, "must"), (shoulds, "should")];
    let by_level: Vec<String> = by_level
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, level)| format!("{count} {level}"))
        .collect();
    let both = musts + shoulds;
    let failed = (both > 0).then(|| format!("{both} failed ({})", by_level.join(", ")));
    let of = |wanted: fn(&Outcome) -> bool| judged.iter().filter(|one| wanted(&one.outcome)).count();
    let told = |what: &str, wanted| {
        Some(of(wanted)).filter(|count| *count > 0).map(|count| format!("{count} {what}"))
    };
    let parts = [
        told("passed", |one| matches!(one, Outcome::Passed)),
        failed,
        told("flaky", |one| matches!(one, Outcome::Flaky(_))),
        told("not known of the host", |one| matches!(one, Outcome::Unknown(_))),
        told("can't be seen in the host", |one| matches!(one, Outcome::Unsupported(_))),
        told("could not be asked", |one| matches!(one, Outcome::CouldNotRun(_))),
    ];
    let told: Vec<String> = parts.into_iter().flatten().collect();
    let apply = of(|one| !matches!(one, Outcome::NotApplicable(_)));
    let colon = if told.is_empty() { "" } else { ": " };
    let others = match judged.len() - apply {
        0 => String::new(),
        others => format!("; {}", count(others, "question does not apply", "questions do not apply")),
    };
    format!("{}{colon}{}{others}", count(apply, "verdict", "verdicts"), told.join(", "))
}

/// Whether a finding about a host keeps the server from working there: what only should hold does not.
pub(super) fn breaks_the_host(judged: &Judged, rows: &[Placed]) -> bool {
    let binds = rows.iter().any(|placed| placed.row.id == judged.row && placed.row.level == Level::Must);
    binds && matches!(judged.outcome, Outcome::Failed(_) | Outcome::Flaky(_)) && !judged.outcome.held_alone()
}

/// Whether the server works in a host, by what was judged there: that it opens, shows its tools and answers a call has to
/// be seen.
pub(super) fn works<'a>(judged: impl IntoIterator<Item = &'a Judged>, rows: &[Placed]) -> Works {
    let needed = |row: &str| rows.iter().find(|placed| placed.row.id == row)?.row.works;
    let of_one = |one: &Judged| match (&one.outcome, needed(&one.row)) {
        _ if breaks_the_host(one, rows) => Works::No,
        (Outcome::Unknown(_), Some(_)) | (Outcome::CouldNotRun(_), Some(Needed::Seen)) => Works::NotKnown,
        (Outcome::Unknown(_), None) => Works::AsFarAsKnown,
        _ => Works::Yes,
    };
    judged.into_iter().map(of_one).max().unwrap_or(Works::NotKnown)
}

/// The hosts in which it works, and the others: in one line, or where a host has several versions in a line each.
fn works_in(judged: &[Judged], rows: &[Placed]) -> String {
    let hosts = columns::by_host(judged.iter().map(|one| one.column.as_str()));
    let of_column = |column: &str| works(judged.iter().filter(|one| one.column == column), rows);
    let all: Vec<(String, Works)> = columns::in_order(judged.iter().map(|one| one.column.as_str()))
        .into_iter()
        .map(|column| (column.to_owned(), of_column(column)))
        .collect();
    let counted = all.iter().filter(|(_, works)| works.is_counted()).count();
    if counted == 0 && all.iter().all(|(_, works)| *works == Works::NotKnown) {
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        return format!("not known for {}", names.join(", "));
    }
    let mut text = format!("{counted} of {} hosts", all.len());
    if hosts.iter().all(|(_, versions)| versions.len() < 2) {
        text.push_str(&by_verdict(&all, if counted > 0 { ": " } else { "; " }));
        return text;
    }
    for (host, versions) in hosts {
        let of_host: Vec<(String, Works)> = versions
            .into_iter()
            .map(|version| (version.to_owned(), of_column(&format!("{host}@{version}"))))
            .collect();
        let _ = write!(text, "\n{:10} {host}{}", "", by_verdict(&of_host, " "));
    }
    text
}

/// The names of those in which it works, of which it is not known, and in which it does not.
fn by_verdict(all: &[(String, Works)], before: &str) -> String {
    let named = |words: &str, is_meant: fn(Works) -> bool| {
        let names = all.iter().filter(|(_, works)| is_meant(*works)).map(|(name, _)| name.as_str());
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| format!("{words}{}", names.join(", ")))
    };
    let told = [
        named("", Works::is_counted),
        named("not known for ", |works| works == Works::NotKnown),
        named("not in ", |works| works == Works::No),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    format!("{before}{}", told.join("; "))
}

/// Three lines: what is wrong, what would be right and what came, and where the requirement stands.
fn entry(cause: &Cause) -> String {
    let mark = match cause.weight {
        Weight::Must => "✗ must",
        Weight::Flaky => "~ flaky",
        Weight::Should => "! should",
    };
    let mut text = format!("\n{mark:<9} {}\n", short(&cause.message));
    let expected = cause.expected.as_deref().filter(|expected| !expected.is_empty());
    let right = expected.map(|expected| format!("; right is: {}", expected.trim_end_matches('.')));
    let right = right.unwrap_or_default();
    let seen = cause.seen.as_ref().map(|seen| format!("; seen: {seen}")).unwrap_or_default();
    let _ = writeln!(
        text,
        "{:9} in {}{}",
        "",
        columns::line(cause.columns.iter().map(String::as_str)),
        short(&format!("{right}{seen}"))
    );
    let sdk = cause.sdks.iter().copied().collect::<Vec<_>>().join(" or ");
    let sdk = match (sdk.as_str(), cause.or_yours) {
        ("", _) => String::new(),
        (sdk, None) => format!("; from the SDK: the least server on {sdk} does the same"),
        (sdk, Some(yours)) => {
            format!("; from the SDK, as the least server on {sdk} does the same, or from {yours}")
        }
    };
    let _ = writeln!(text, "{:9} {} ({}){sdk}", "", short(&cause.source), rows_of(&[cause]));
    text
}

/// The rows of these causes: as many names as a line has room for, and how many more there are.
fn rows_of(causes: &[&Cause]) -> String {
    let rows: BTreeSet<&str> =
        causes.iter().flat_map(|cause| cause.rows.iter().map(String::as_str)).collect();
    let (mut line, mut left) = (String::new(), rows.len());
    for row in rows {
        let comma = if line.is_empty() { "" } else { ", " };
        if line.len() + comma.len() + row.len() > LINE_CHARS_MAX {
            let _ = write!(line, " and {left} more");
            break;
        }
        let _ = write!(line, "{comma}{row}");
        left -= 1;
    }
    line
}

/// One line of bounded length, safe for a terminal.
fn short(text: &str) -> String {
    let line = shown(text.lines().next().unwrap_or_default());
    match line.char_indices().nth(LINE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance::Differing;

    use super::*;

    #[test]
    fn the_rows_say_what_must_be_seen_of_a_host() {
        let rows = crate::conformance::rows().unwrap();
        let unknown = || Outcome::Unknown(String::new());
        let unasked = || Outcome::CouldNotRun(String::new());
        for (row, outcome, wanted) in [
            ("hosts.opens", unasked(), Works::NotKnown),
            ("hosts.tools", unknown(), Works::NotKnown),
            ("hosts.call", unknown(), Works::NotKnown),
            ("hosts.call", unasked(), Works::Yes),
            ("hosts.end", unknown(), Works::AsFarAsKnown),
        ] {
            let mut rows = rows.clone();
            assert_eq!(works(&[Judged::bare(row, "codex@1", outcome.clone())], &rows), wanted, "{row}");
            for placed in rows.iter_mut().filter(|placed| placed.row.id == row) {
                placed.row.works = Some(Needed::Seen);
            }
            let told = works(&[Judged::bare(row, "codex@1", outcome)], &rows);
            assert_eq!(told, Works::NotKnown, "{row} by its field alone");
        }
    }

    #[test]
    fn a_fault_that_may_be_the_authors_own_is_not_called_the_sdks_alone() {
        let rows = crate::conformance::rows().unwrap();
        let cause = |row: &str, or_yours| Cause {
            weight: Weight::Should,
            message: row.to_owned(),
            expected: None,
            seen: None,
            rows: BTreeSet::from([row.to_owned()]),
            columns: BTreeSet::from(["2025-11-25".to_owned()]),
            source: rows[0].row.source_in("2025-11-25"),
            sdks: BTreeSet::from(["X 1"]),
            or_yours,
            ends: false,
        };
        let (sure, either) = (cause("a.b", None), cause("c.d", Some("a handler")));
        let both = from_sdk(&[&sure, &either], Wanted::default());
        assert!(both.contains("1 fault is not yours, and 1 may be: the least server on X 1"), "{both}");
        assert!(both.ends_with("\n          a.b\n          may be yours too: c.d\n"), "{both}");
        let one = from_sdk(&[&either], Wanted::default());
        assert!(one.contains("1 fault may be yours or the SDK's: the least server on X 1"), "{one}");
        assert!(entry(&either).contains("the least server on X 1 does the same, or from a handler"));
        assert!(entry(&sure).contains("from the SDK: the least server on X 1 does the same\n"));
    }

    fn findings(protocol: Vec<Judged>) -> Findings {
        let about = About { name: Some("mine".to_owned()), version: Some(String::new()), ..About::default() };
        Findings { about, protocol, ..Findings::default() }
    }

    #[test]
    fn of_many_faults_each_that_a_server_must_mend_is_named() {
        let rows = crate::conformance::rows().unwrap();
        let of_level = |level| rows.iter().filter(move |placed| placed.row.level == level);
        let failed =
            |placed: &Placed| Judged::bare(&placed.row.id, "2025-11-25", Outcome::Failed(Vec::new()));
        let judged = of_level(Level::Must).take(6).chain(of_level(Level::Should).take(3)).map(failed);
        let told = screen(&findings(judged.collect()), &rows, Wanted::default());
        for placed in of_level(Level::Must).take(6) {
            assert!(told.contains(&format!("({})", placed.row.id)), "{}: {told}", placed.row.id);
        }
        assert_eq!(told.matches("✗ must").count(), 6, "{told}");
        assert!(told.contains("\n… and 3 more, which the report has: "), "{told}");
    }

    #[test]
    fn that_the_sdk_is_not_known_is_said_where_all_was_asked() {
        let rows = crate::conformance::rows().unwrap();
        let failed = Judged::bare(&rows[0].row.id, "2025-11-25", Outcome::Failed(Vec::new()));
        for part in [false, true] {
            let told = screen(&findings(vec![failed.clone()]), &rows, Wanted { part, ..Wanted::default() });
            assert_eq!(told.contains(UNKNOWN_SDK), !part, "{told}");
        }
    }

    #[test]
    fn what_was_not_asked_is_counted_as_everything_else() {
        let unasked =
            |row: &str, column: &str| Judged::bare(row, column, Outcome::CouldNotRun("it ended".to_owned()));
        let of_versions = |row| ["2025-11-25", "2026-07-28"].map(|version| unasked(row, version));
        let rows = crate::conformance::rows().unwrap();
        let judged = [of_versions("messages.batch"), of_versions("messages.schema")].concat();
        let told = screen(&findings(judged), &rows, Wanted::default());
        assert!(told.contains("4 verdicts: 4 could not be asked"), "{told}");
        assert!(told.contains("not asked  4: it ended"), "{told}");
        let lasts = Outcome::NotApplicable(NO_LONG_CALL.to_owned());
        let judged = vec![Judged::bare("cancellation.no-answer", "2025-11-25", lasts)];
        let told = screen(&findings(judged), &rows, Wanted::default());
        assert!(told.contains("not asked  1: no call that lasts is known; name one"), "{told}");
    }

    #[test]
    fn what_was_not_asked_is_told_with_most_reasons() {
        let unasked = |reason: &str, times: usize| {
            let outcome = Outcome::CouldNotRun(reason.to_owned());
            vec![Judged::bare("messages.batch", "2025-11-25", outcome); times]
        };
        let told = |reasons: &[(&str, usize)]| {
            let judged = reasons.iter().flat_map(|(reason, times)| unasked(reason, *times));
            super::unasked(&findings(judged.collect())).unwrap()
        };
        assert_eq!(told(&[("a", 2), ("b", 3)]), "3 of 5: b\n           2: a");
        let many = [("a", 1), ("b", 5), ("c", 1), ("d", 3), ("e", 2)];
        assert_eq!(
            told(&many),
            "5 of 12: b\n           3: d\n           2: e\n           2: for 2 other reasons, which the report has"
        );
    }

    #[test]
    fn a_version_that_was_not_asked_is_none_in_which_it_was_judged() {
        let spoken = |version| (version, Ok("declares tools; 1 tools".to_owned()));
        let versions = vec![spoken(Version::V2025_06_18), spoken(Version::V2025_11_25)];
        let about = About { name: Some("mine".to_owned()), versions, ..About::default() };
        let found = Findings { about, versions: vec![Version::V2025_11_25], ..Findings::default() };
        assert_eq!(head(&found), "mine, judged in 2025-11-25\n");
    }

    #[test]
    fn names_of_rows_are_never_cut() {
        let placed = crate::conformance::rows().unwrap();
        let ids: BTreeSet<&str> = placed.iter().map(|placed| placed.row.id.as_str()).collect();
        let judged = ids.iter().map(|row| Judged::bare(row, "2025-11-25", Outcome::Failed(Vec::new())));
        let findings = findings(judged.collect());
        let causes = causes(&findings, &placed);
        let told = rows_of(&causes.iter().collect::<Vec<_>>());
        let (names, more) = told.strip_suffix(" more").and_then(|told| told.rsplit_once(" and ")).unwrap();
        let names: Vec<&str> = names.split(", ").collect();
        assert!(names.len() > 3 && names.iter().all(|name| ids.contains(name)), "{told}");
        assert_eq!(names.len() + more.parse::<usize>().unwrap(), ids.len());
        assert_eq!(rows_of(&[]), "");
    }

    #[test]
    fn several_versions_of_a_host_are_told_in_a_line_of_their_own_in_order() {
        let rows = crate::conformance::rows().unwrap();
        let passed = |column: &str| Judged::bare("hosts.opens", column, Outcome::Passed);
        let failed = |column: &str| Judged::bare("hosts.opens", column, Outcome::Failed(Vec::new()));
        let judged = ["claude-code@2.1.148", "claude-code@2.1.80", "codex@0.169.0"].map(passed);
        let told = works_in(&judged, &rows);
        assert_eq!(told, "3 of 3 hosts\n           claude-code 2.1.80, 2.1.148\n           codex 0.169.0");
        let told = works_in(&[passed("claude-code@2.1.148"), failed("claude-code@2.1.80")], &rows);
        assert_eq!(told, "1 of 2 hosts\n           claude-code 2.1.148; not in 2.1.80");
        let told = works_in(&[passed("codex@0.169.0"), failed("opencode@1.18.33")], &rows);
        assert_eq!(told, "1 of 2 hosts: codex@0.169.0; not in opencode@1.18.33");
        let differing = Differing { reason: "1 of 3 times: it is late".to_owned(), held_alone: false };
        let flaky = || Outcome::Flaky(differing.clone());
        let told = |outcome| works_in(&[Judged::bare("hosts.opens", "codex@0.169.0", outcome)], &rows);
        assert_eq!(told(flaky()), "0 of 1 hosts; not in codex@0.169.0");
        // Beside other servers of the run it failed, and a host has one.
        assert_eq!(told(flaky().and_held_alone()), "1 of 1 hosts: codex@0.169.0");
    }
}
