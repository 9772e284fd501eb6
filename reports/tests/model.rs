//! The content of a report: the worst state wins, nothing unknown looks known, nothing is counted twice.

mod fixture;

use std::collections::BTreeMap;

use reports::event::{CellFinished, Status};
use reports::model::Verdict;
use reports::{Report, Stream};
use rstest::rstest;

/// A matrix of one cell with these runs.
fn one_cell(states: &[Status]) -> Report {
    let small = fixture::small().header;
    let (host, scenario) = (small.hosts[0].clone(), small.scenarios[0].clone());
    let run = |(seed, &status): (usize, &Status)| CellFinished {
        status,
        ..fixture::pass(&scenario.id, &host.id, "sim", seed as u64 + 1)
    };
    let cells = states.iter().enumerate().map(run).collect();
    let header = fixture::header(vec![host], vec![scenario.clone()], 1);
    Report::new(&Stream::from_events(fixture::events(header, cells)).unwrap())
}

#[rstest]
#[case(&[Status::Pass, Status::Pass], Status::Pass, Verdict::Passed)]
#[case(&[Status::Pass, Status::Fail, Status::Error], Status::Fail, Verdict::Failed)]
#[case(&[Status::Error, Status::Flaky], Status::Error, Verdict::Failed)]
#[case(&[Status::Flaky, Status::NotRun], Status::Flaky, Verdict::Failed)]
#[case(&[Status::Pass, Status::NotRun, Status::KnownIssue], Status::NotRun, Verdict::Incomplete)]
#[case(&[Status::KnownIssue, Status::Unsupported, Status::Pass], Status::KnownIssue, Verdict::Passed)]
#[case(&[Status::Unsupported, Status::Pass], Status::Unsupported, Verdict::Passed)]
#[case(&[Status::NotApplicable, Status::Unsupported], Status::Unsupported, Verdict::Passed)]
#[case(&[Status::Unsupported, Status::Unknown], Status::Unknown, Verdict::Passed)]
#[case(&[Status::Pass, Status::NotApplicable], Status::NotApplicable, Verdict::Passed)]
#[case(&[], Status::NotRun, Verdict::Incomplete)]
fn the_worst_run_is_the_cell(#[case] runs: &[Status], #[case] state: Status, #[case] verdict: Verdict) {
    let report = one_cell(runs);
    assert_eq!(report.rows().next().unwrap().cells[0].state, state);
    assert_eq!(report.verdict, verdict);
    assert_eq!(report.totals.cells[&state], 1);
    assert_eq!(report.totals.cells.values().sum::<u64>(), 1);
}

#[test]
fn states_without_a_verdict_do_not_count_and_look_different() {
    for state in [Status::Unsupported, Status::Unknown, Status::NotApplicable] {
        assert!(!state.counts() && !state.is_defect() && !state.was_judged(), "{state:?}");
        assert_eq!(reports::model::supported(&one_cell(&[state]).totals.cells), 0, "{state:?}");
    }
}

#[test]
fn a_cell_without_a_pass_says_why() {
    let report = Report::new(&fixture::small());
    for cell in report.rows().flat_map(|row| &row.cells) {
        assert_eq!(cell.reason.is_none(), cell.state == Status::Pass, "{cell:?}");
        assert_eq!(cell.listed.len() as u64 + cell.runs_left_out, cell.share().1);
    }
}

#[test]
fn sums_agree_with_the_matrix() {
    let stream = fixture::small();
    let report = Report::new(&stream);
    assert_eq!(report.totals.cells.values().sum::<u64>(), report.totals.requirements * report.totals.hosts);
    let mut by_host: BTreeMap<Status, u64> = BTreeMap::new();
    for host in &report.hosts {
        host.cells.iter().for_each(|(state, cells)| *by_host.entry(*state).or_default() += cells);
    }
    assert_eq!(by_host, report.totals.cells);
    let by_level: u64 = report.totals.levels.values().flat_map(BTreeMap::values).sum();
    assert_eq!(by_level, 21);
    let messages: u64 =
        report.hosts.iter().flat_map(|host| &host.deliveries).map(|times| times.messages).sum();
    assert_eq!(messages, stream.cells.iter().map(|cell| cell.delivery_ms.len() as u64).sum::<u64>());
}

#[test]
fn seeds_that_fail_alike_are_one_failure() {
    let report = Report::new(&fixture::small());
    let found: Vec<_> =
        report.failures.iter().map(|f| (f.state, f.rule.as_str(), f.seed, f.runs, f.times)).collect();
    assert_eq!(
        found,
        [
            (Status::Fail, "expect.model", 2, 2, 2),
            (Status::Fail, "wire.schema", 2, 2, 2),
            (Status::Error, "error", 0, 1, 1),
            (Status::Flaky, "flaky", 7, 1, 1),
        ]
    );
    assert_eq!(report.failures[0].place, "scenarios/suites/delivery/same-characters.yaml:17");
}

#[test]
fn a_host_that_a_requirement_is_not_about_does_not_differ() {
    let mut stream = fixture::small();
    for cell in stream.cells.iter_mut().filter(|cell| cell.scenario == "delivery.same-characters") {
        if cell.host.starts_with("claude-code") {
            cell.status = Status::NotApplicable;
            cell.reason = Some("about copilot-cli only".to_owned());
        }
    }
    let odd = Report::new(&stream).one_host_differs;
    assert!(odd.iter().all(|odd| odd.scenario != "delivery.same-characters"), "{odd:?}");
}

#[test]
fn the_host_that_differs_is_named() {
    let report = Report::new(&fixture::small());
    let odd: Vec<_> =
        report.one_host_differs.iter().map(|odd| (odd.scenario.as_str(), odd.host.as_str())).collect();
    assert_eq!(
        odd,
        [("delivery.same-characters", "copilot-cli@1.0.102"), ("crash.full-disk", "claude-code@2.1.330")]
    );
}

#[test]
fn carriers_that_show_other_characters_are_told_apart() {
    let parity = Report::new(&fixture::small()).parity;
    assert_eq!((parity.messages, parity.equal, parity.differences.len()), (14, 12, 2));
    let difference = &parity.differences[0];
    let changed = |pieces: &[reports::diff::Piece]| {
        pieces.iter().filter(|piece| piece.changed).map(|piece| piece.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(difference.first.carrier, "channel");
    assert_eq!(changed(&difference.first.pieces), ["&lt;team&gt;,"]);
    assert_eq!(difference.second.carrier, "tool_result inbox_pull");
    assert_eq!(changed(&difference.second.pieces), ["team,"]);
}

#[test]
fn a_carrier_earns_no_time_that_another_may_have_earned() {
    let report = Report::new(&fixture::small());
    let [new, .., copilot] = &report.hosts[..] else { panic!() };
    assert!(new.carriers.iter().all(|carrier| carrier.p95_ms.is_none()), "{:?}", new.carriers);
    let pull = copilot.carriers.iter().find(|carrier| carrier.name == "inbox_pull").unwrap();
    assert!(pull.p95_ms.is_some());
    assert!(copilot.carriers.iter().all(|carrier| carrier.name != "channel"));
}

#[test]
fn virtual_and_real_time_are_not_mixed() {
    let report = Report::new(&fixture::small());
    let modes: Vec<_> = report.hosts[0].deliveries.iter().map(|times| times.mode.as_str()).collect();
    assert_eq!(modes, ["sim", "process"]);
}

#[test]
fn a_report_by_versions_of_the_protocol_calls_no_column_a_host() {
    let mut stream = fixture::small();
    for (host, version) in stream.header.hosts.iter_mut().zip(["2025-06-18", "2025-11-25", "2026-07-28"]) {
        host.kind = reports::event::ColumnKind::Protocol;
        version.clone_into(&mut host.version);
    }
    stream.header.host_support = None;
    for cell in &mut stream.cells {
        cell.delivery_ms.clear();
        cell.arrivals.clear();
        cell.carriers.clear();
    }
    let report = Report::new(&stream);
    let html = reports::html(&report, &stream).unwrap();
    let (page, _) = html.split_once("<section id=\"cells\"").unwrap();
    let (_, page) = page.split_once("</style>").unwrap();
    for word in [">Host<", ">Hosts<", "every host", "one host", "all hosts", "hosts in columns"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("every protocol version") && page.contains(">Protocol versions<"));
    let text = reports::terminal(&report, reports::Style::default());
    assert!(text.contains("of what applies:") && !text.contains("of what the host supports"), "{text}");
}
