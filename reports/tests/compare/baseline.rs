//! A run compared with a baseline and with earlier releases: known failures don't fail it, new or stale ones
//! do.

use super::fixture;

use reports::baseline::{Baseline, Expected};
use reports::event::{RunFinished, Status};
use reports::history::{self, Release};
use reports::{Report, Stream, Style};

fn beside(baseline: &Baseline, stream: &Stream) -> Report {
    let mut report = Report::new(stream);
    report.compare_with_baseline(baseline, stream);
    report
}

fn again(mut stream: Stream, change: impl Fn(&mut reports::event::CellFinished)) -> Stream {
    stream.cells.iter_mut().for_each(change);
    stream.footer = RunFinished::of(&stream.header, &stream.cells);
    stream
}

/// The small run without the cells that could not run, so that only failures decide.
fn complete() -> Stream {
    let mut stream = fixture::small();
    stream.header.scenarios.retain(|row| row.id != "crash.full-disk");
    stream.cells.retain(|cell| cell.scenario != "crash.full-disk");
    let events = fixture::events(stream.header, stream.cells);
    Stream::from_events(events).unwrap()
}

#[test]
fn without_an_entry_every_failure_is_new() {
    let stream = complete();
    let report = beside(&Baseline::default(), &stream);
    let gate = report.gate.as_ref().unwrap();
    let new: Vec<String> = gate.new.iter().map(reports::baseline::Check::name).collect();
    assert_eq!(
        new,
        [
            "crash.restart × claude-code@seed (sim): flaky",
            "crash.restart × copilot-cli@1.0.102 (process): error",
            "delivery.same-characters × copilot-cli@1.0.102 (sim): expect.model",
            "delivery.same-characters × copilot-cli@1.0.102 (sim): wire.schema",
        ]
    );
    assert_eq!(report.exit_code, 1);
}

#[test]
fn a_known_failure_passes_and_one_more_rule_does_not() {
    let stream = complete();
    let mut known = Baseline::default().update(&stream);
    let report = beside(&known, &stream);
    assert_eq!((report.exit_code, report.verdict), (0, reports::model::Verdict::Passed));
    let xml = reports::junit(&report).unwrap();
    assert!(xml.contains("failures=\"0\"") && xml.contains("known-failure"), "{xml}");
    assert!(reports::html(&report, &stream).unwrap().contains("0 new, 0 stale, 4 known"));

    // Another rule of a cell that fails anyway is new.
    let lost = known.expected.iter().position(|entry| entry.rule == "wire.schema").unwrap();
    known.expected.remove(lost);
    let report = beside(&known, &stream);
    assert_eq!((report.exit_code, report.gate.as_ref().unwrap().new.len()), (1, 1));
    assert!(reports::junit(&report).unwrap().contains("failures=\"1\""));
    let summary = reports::pull_request(&report);
    assert!(summary.contains("1 check new, 0 checks stale, 3 checks known"), "{summary}");
    assert!(summary.len() < reports::markdown::PULL_REQUEST_BYTES_MAX, "{}", summary.len());
}

#[test]
fn a_known_failure_that_passes_is_stale_and_fails_with_advice() {
    let known = Baseline::default().update(&complete());
    let stream = again(complete(), |cell| {
        if cell.scenario == "delivery.same-characters" {
            cell.status = Status::Pass;
            cell.failures.clear();
        }
    });
    let report = beside(&known, &stream);
    assert_eq!((report.exit_code, report.gate.as_ref().unwrap().stale.len()), (1, 2));
    for text in [
        reports::terminal(&report, Style::default()),
        reports::pull_request(&report),
        reports::html(&report, &stream).unwrap(),
        reports::junit(&report).unwrap(),
    ] {
        assert!(text.contains("hostcheck baseline update"), "{text}");
    }
    // The update removes it and keeps the reasons of the rest.
    let mut reasoned = known.clone();
    reasoned.expected[0].why = Some("contoso.com/1".to_owned());
    let next = reasoned.update(&stream);
    assert_eq!(next.expected.len(), 2);
    assert_eq!(next.expected[0].why.as_deref(), Some("contoso.com/1"));
    assert_eq!(beside(&next, &stream).exit_code, 0);
}

#[test]
fn a_check_that_was_not_selected_or_broke_is_not_judged() {
    let known = Baseline::default().update(&complete());
    let broken = again(complete(), |cell| {
        if cell.scenario == "delivery.same-characters" && cell.host.starts_with("copilot") {
            cell.status = Status::Error;
            cell.failures.clear();
        }
    });
    let gate = known.judge(&broken);
    assert_eq!((gate.not_judged.len(), gate.stale.len()), (2, 0));
    let one = ["claude-code@seed".to_owned()].into();
    let part = complete().focus(&std::collections::BTreeSet::new(), &one);
    let gate = known.judge(&part);
    assert_eq!((gate.known.len(), gate.not_judged.len(), gate.is_open()), (1, 3, true));
    assert_eq!(known.update(&part), known, "what was not asked stays in the list");
}

#[test]
fn a_missing_result_stays_incomplete_beside_a_baseline() {
    let stream = fixture::small();
    let known = Baseline::default().update(&stream);
    assert_eq!(beside(&known, &stream).exit_code, 3);
}

#[test]
fn a_baseline_is_written_as_it_is_read_and_broken_ones_are_refused() {
    let known = Baseline::default().update(&complete());
    let text = known.write().unwrap();
    assert_eq!(Baseline::read(&text).unwrap(), known);
    assert_eq!(text.lines().count(), 6, "{text}");
    assert_eq!(Baseline::read(&Baseline::default().write().unwrap()).unwrap(), Baseline::default());
    let twice = Baseline { v: 1, expected: vec![known.expected[0].clone(), known.expected[0].clone()] };
    for (text, word) in [
        (twice.write().unwrap(), "is there twice"),
        (r#"{"v":2,"expected":[]}"#.to_owned(), "baseline update"),
        (
            r#"{"v":1,"expected":[{"scenario":"a","host":"b","mode":"sim","rule":"c","since":1}]}"#
                .to_owned(),
            "unknown field",
        ),
        ("{".to_owned(), "not a baseline"),
    ] {
        let error = Baseline::read(&text).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
    let Expected { rule, .. } = &known.expected[0];
    assert_eq!(rule, "flaky");
}

#[test]
fn releases_are_a_trend_and_changed_cells_are_named() {
    let before = again(complete(), |cell| {
        if cell.scenario == "handshake.initialize" && cell.host == "claude-code@seed" {
            cell.status = Status::Unsupported;
            cell.reason = Some("the host was older".to_owned());
        }
        if cell.status.is_defect() {
            cell.status = Status::Pass;
            cell.failures.clear();
        }
    });
    let lines: Vec<String> = [("0.1.0", &before), ("0.2.0", &before)]
        .map(|(name, stream)| serde_json::to_string(&Release::new(name, &Report::new(stream))).unwrap())
        .into();
    let releases = history::read(&lines.join("\n")).unwrap();
    let stream = complete();
    let mut report = Report::new(&stream);
    report.compare_with_history(&releases);
    let trend = report.trend.as_ref().unwrap();
    assert_eq!(trend.releases.len(), 2);
    assert_eq!(trend.releases[1].defects, 0);
    let changes: Vec<_> = trend.changes.iter().map(|change| (change.scenario.as_str(), change.now)).collect();
    assert_eq!(
        changes,
        [
            ("delivery.same-characters", Status::Fail),
            ("crash.restart", Status::Error),
            ("crash.restart", Status::Flaky),
            ("handshake.initialize", Status::Pass),
        ]
    );
    let html = reports::html(&report, &stream).unwrap();
    assert!(html.contains("Across releases") && html.contains("Cells that changed since the last release."));
    let doubled = history::read(&[lines[0].clone(), lines[0].clone()].join("\n")).unwrap_err().to_string();
    assert_eq!(doubled, "line 2: release `0.1.0` is there twice; remove one of the lines");
    assert!(history::read("{}").is_err());
}

#[test]
fn a_check_that_is_not_selected_is_neither_healed_nor_stale() {
    let known = Baseline::default().update(&complete());
    for status in [Status::Unsupported, Status::Unknown, Status::NotApplicable] {
        let stream = again(complete(), |cell| {
            if cell.status.is_defect() {
                cell.status = status;
                cell.reason = Some("not asked".to_owned());
                cell.failures.clear();
            }
        });
        let report = beside(&known, &stream);
        let gate = report.gate.as_ref().unwrap();
        let cell = |name: &str| gate.stale.iter().any(|entry| entry.scenario == name);
        assert!(!cell("crash.restart"), "{status:?}: {gate:?}");
        assert!(gate.not_judged.iter().any(|entry| entry.scenario == "crash.restart"), "{status:?}");
        assert_eq!(known.update(&stream).expected.len() + gate.stale.len(), known.expected.len());
        assert!(
            reports::Versus::new(&complete(), &stream)
                .healed
                .iter()
                .all(|check| check.scenario != "crash.restart")
        );
    }
}
