//! Outputs for other programs: they have the format that those programs read.

use std::collections::BTreeSet;

use reports::event::{RunFinished, Status};
use reports::model::Verdict;
use reports::{Baseline, Report, Versus};
use serde_json::Value;

use super::fixture;

#[test]
fn sarif_names_each_check_once_with_its_place() {
    let stream = fixture::small();
    let mut report = Report::new(&stream);
    let mut known = Baseline::default().update(&stream);
    known.expected.retain(|entry| entry.rule != "wire.schema");
    known.expected[0].why = Some("contoso.com/1".to_owned());
    report.compare_with_baseline(&known, &stream);
    let sarif: Value = serde_json::from_str(&reports::sarif(&report).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), report.failures.len());
    let prints: BTreeSet<&str> = results
        .iter()
        .map(|result| result["partialFingerprints"]["hostcheckCheck/v1"].as_str().unwrap())
        .collect();
    assert_eq!(prints.len(), results.len());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        let new = result["ruleId"] == "wire.schema";
        assert_eq!(result["baselineState"], if new { "new" } else { "unchanged" });
        assert_eq!(result.get("suppressions").is_none(), new);
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "scenarios/suites/delivery/same-characters.yaml");
    assert_eq!(place["region"]["startLine"], 17);
}

#[test]
fn sarif_of_a_strangers_server_points_into_the_strangers_repository_or_to_no_file() {
    let mut stream = fixture::small();
    let sarif = |stream: &reports::Stream| -> Value {
        let text = reports::sarif(&Report::new(stream)).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        whole["runs"][0].clone()
    };
    assert!(sarif(&stream).get("automationDetails").is_none());
    stream.header.findings_in = Some("packages/my server/package.json".to_owned());
    let run = sarif(&stream);
    assert_eq!(run["automationDetails"]["id"], "hostcheck/hosts/");
    for result in run["results"].as_array().unwrap() {
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "packages/my%20server/package.json");
        assert_eq!(place["region"]["startLine"], 1);
    }
    stream.header.findings_in = Some(String::new());
    stream.header.hosts[0].kind = reports::event::ColumnKind::Protocol;
    let run = sarif(&stream);
    assert_eq!(run["automationDetails"]["id"], "hostcheck/protocol/");
    for result in run["results"].as_array().unwrap() {
        let place = &result["locations"][0];
        assert!(place.get("physicalLocation").is_none(), "{place}");
        let name = place["logicalLocations"][0]["name"].as_str().unwrap();
        assert!(stream.header.scenarios.iter().any(|row| row.id == name), "{name}");
    }
}

#[test]
fn a_trace_has_a_bar_for_every_answered_call_and_a_mark_for_every_failure() {
    let stream = fixture::small();
    let trace: Value = serde_json::from_str(&reports::trace(&stream).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).count();
    assert_eq!(of("b"), of("e"));
    assert!(of("b") > 10);
    let marks = events.iter().filter(|event| event["s"] == "p").count();
    assert_eq!(marks, stream.cells.iter().map(|cell| cell.failures.len()).sum::<usize>());
    let processes: BTreeSet<u64> = events.iter().map(|event| event["pid"].as_u64().unwrap()).collect();
    assert_eq!(processes.len(), stream.cells.iter().filter(|cell| !cell.transcript.is_empty()).count());
    for pair in events.windows(2).filter(|pair| pair[0]["ph"] == "b") {
        assert!(
            pair[0]["id"] == pair[1]["id"] && pair[0]["ts"].as_u64() <= pair[1]["ts"].as_u64(),
            "{pair:?}"
        );
    }
}

#[test]
fn a_badge_is_green_for_a_pass_alone() {
    let red = reports::badge_json(&Report::new(&fixture::small())).unwrap();
    assert!(red.contains("\"color\":\"red\"") && red.contains("failing"), "{red}");
    let mut stream = fixture::small();
    for cell in &mut stream.cells {
        cell.status = Status::Pass;
        cell.failures.clear();
    }
    stream.footer = RunFinished::of(&stream.header, &stream.cells);
    // A cell without a run is still in the report.
    let report = Report::new(&stream);
    let amber = reports::badge_json(&report).unwrap();
    assert!(amber.contains("\"color\":\"yellow\"") && amber.contains("incomplete"), "{amber}");
    assert!(!reports::badge_svg(&report).contains("#17643a"));
    let green = stream.focus(&["handshake.initialize".to_owned()].into(), &BTreeSet::new());
    let green = Report::new(&green);
    assert!(reports::badge_json(&green).unwrap().contains("3/3 must, 3 hosts\",\"color\":\"brightgreen\""));
    assert!(reports::badge_svg(&green).contains("#17643a"));
}

#[test]
fn what_should_hold_fails_a_run_only_where_it_counts() {
    let mut stream = fixture::small();
    for (index, cell) in stream.cells.iter_mut().enumerate() {
        cell.status = if index == 0 { Status::Fail } else { Status::Pass };
        cell.failures.clear();
    }
    let row = stream.cells[0].scenario.clone();
    for one in &mut stream.header.scenarios {
        one.level = if one.id == row { "should" } else { "must" }.to_owned();
    }
    stream = stream.focus(&BTreeSet::new(), &BTreeSet::new());
    let judge = |stream: &mut reports::Stream| {
        stream.footer = RunFinished::of(&stream.header, &stream.cells);
        let report = Report::new(stream);
        (report.verdict, report.exit_code, reports::junit(&report).unwrap().contains("<failure"))
    };
    assert_eq!(judge(&mut stream), (Verdict::Failed, 1, true));
    stream.header.must_only = true;
    let (verdict, exit_code, has_failures) = judge(&mut stream);
    assert!(verdict != Verdict::Failed && exit_code != 1 && !has_failures, "{verdict:?}, {exit_code}");
    assert!(reports::Stream::from_events(stream.clone().into_events()).is_ok());
    for one in &mut stream.header.scenarios {
        one.level = "must".to_owned();
    }
    assert_eq!(judge(&mut stream), (Verdict::Failed, 1, true));
    stream.cells[0].status = Status::Flaky;
    assert_eq!(judge(&mut stream).1, 0, "what held some of the times is told and does not count");
    let part = stream.focus(&[row].into(), &BTreeSet::new());
    let told = reports::terminal(&Report::new(&part), reports::Style::default());
    assert!(told.contains("✓ passed in all that counts  "), "{told}");
}

#[test]
fn one_mode_of_a_run_is_a_run_without_the_other() {
    let whole = fixture::small();
    let only_simulated = whole.cells[0].scenario.clone();
    let mut mixed = whole.clone();
    mixed.cells.retain(|cell| cell.scenario != only_simulated || cell.mode == "sim");
    let (sim, process) = (mixed.clone().in_mode("sim"), mixed.clone().in_mode("process"));
    assert!(!sim.cells.is_empty() && !process.cells.is_empty());
    assert_eq!(sim.cells.len() + process.cells.len(), mixed.cells.len());
    assert!(sim.cells.iter().all(|cell| cell.mode == "sim"));
    assert_eq!(sim.footer, RunFinished::of(&sim.header, &sim.cells));
    let asks = |stream: &reports::Stream| stream.header.scenarios.iter().any(|row| row.id == only_simulated);
    assert!(asks(&sim) && !asks(&process), "a requirement that was not played in a mode is no row of it");
}

#[test]
fn two_runs_differ_by_checks_cells_and_rows() {
    let before = fixture::small();
    assert_eq!(Versus::new(&before, &before).text(), "0 checks broken, 0 checks healed, 0 cells changed");
    let mut now = before.clone();
    for cell in &mut now.cells {
        match (cell.scenario.as_str(), cell.host.as_str()) {
            ("handshake.initialize", "claude-code@seed") => cell.status = Status::Fail,
            ("delivery.same-characters", _) => {
                cell.status = Status::Pass;
                cell.failures.clear();
            }
            _ => {}
        }
    }
    now.footer = RunFinished::of(&now.header, &now.cells);
    let versus = Versus::new(&before, &now);
    assert!(versus.is_worse());
    let text = versus.text();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        [
            "broken  handshake.initialize × claude-code@seed (sim): fail",
            "healed  delivery.same-characters × copilot-cli@1.0.102 (sim): expect.model",
            "healed  delivery.same-characters × copilot-cli@1.0.102 (sim): wire.schema",
            "changed handshake.initialize × claude-code@seed: pass → fail",
            "changed delivery.same-characters × copilot-cli@1.0.102: fail → pass",
            "1 check broken, 2 checks healed, 2 cells changed",
        ]
    );
    let fewer = before.clone().focus(&BTreeSet::new(), &["claude-code@seed".to_owned()].into());
    let versus = Versus::new(&before, &fewer);
    assert_eq!(versus.removed, ["claude-code@2.1.330", "copilot-cli@1.0.102"]);
    assert!(!versus.is_worse(), "{}", versus.text());
}
