//! No text of an event has an effect in any output: no markup, no script, no hidden character, no moved
//! cursor.

mod fixture;

use std::collections::BTreeMap;

use proptest::prelude::*;
use reports::event::{
    Arrival, CellFinished, ColumnKind, Failure, HostColumn, Lane, ModelLine, ScenarioRow, Status, WireLine,
};
use reports::text::is_hidden;
use reports::{Report, Stream, Style};

/// The tags of the page, in alphabetical order.
const OUR_TAGS: &[&str] = &[
    "a",
    "article",
    "b",
    "body",
    "br",
    "button",
    "caption",
    "code",
    "dd",
    "del",
    "details",
    "div",
    "dl",
    "dt",
    "em",
    "figcaption",
    "figure",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "head",
    "header",
    "html",
    "i",
    "input",
    "ins",
    "li",
    "main",
    "mark",
    "meta",
    "nav",
    "option",
    "output",
    "p",
    "path",
    "pre",
    "rect",
    "script",
    "section",
    "select",
    "small",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];

/// The page without its own script and style, which contain `<` and `>`.
fn without_own_code(html: &str) -> String {
    let (head, rest) = html.split_once("<style>").unwrap();
    let (_, rest) = rest.split_once("</style>").unwrap();
    let (body, rest) = rest.split_once("<script>").unwrap();
    let (_, tail) = rest.split_once("</script>").unwrap();
    format!("{head}{body}{tail}")
}

/// Checks that every tag on the page is known, and that none has a handler or a URL to fetch.
fn check_html(html: &str) {
    assert_eq!(html.matches("<script").count(), 1, "our own");
    assert_eq!(html.matches("</script").count(), 1);
    let page = without_own_code(html);
    for rest in page.split('<').skip(1) {
        let Some((tag, _)) = rest.split_once('>') else { panic!("a tag without an end: {rest}") };
        let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
        assert!(OUR_TAGS.contains(&name) || tag == "!doctype html", "<{tag}>");
        assert!(!tag.contains(" on"), "<{tag}>");
        for place in ["src=", "javascript:", "style=", "srcdoc="] {
            assert!(!tag.contains(place), "<{tag}>");
        }
        if let Some((_, target)) = tag.split_once("href=") {
            let target = target.trim_start_matches('"');
            let known = ["#", "data:application/jsonl;base64,", "https://", "../docs/src/facts/"];
            assert!(known.iter().any(|start| target.starts_with(start)), "<{tag}>");
        }
    }
    assert_visible(&page);
}

fn assert_visible(text: &str) {
    let hidden: Vec<char> = text.chars().filter(|&character| is_hidden(character)).collect();
    assert!(hidden.is_empty(), "hidden characters: {hidden:?}");
}

fn check_all(stream: &Stream) {
    let plain = Report::new(stream);
    check_report(&plain, stream);
    // The baseline and the history are as hostile as the run.
    let mut known = reports::Baseline::default().update(stream);
    known.expected.iter_mut().step_by(2).for_each(|entry| entry.why = Some(fixture::HOSTILE.concat()));
    known.expected.iter_mut().skip(1).step_by(3).for_each(|entry| entry.rule.push_str(fixture::HOSTILE[0]));
    let mut release = reports::Release::new(fixture::HOSTILE[1], &plain);
    release.rows.values_mut().for_each(|symbols| fixture::HOSTILE[5].clone_into(symbols));
    let mut report = plain;
    report.compare_with_history(&[release]);
    report.compare_with_baseline(&known, stream);
    check_report(&report, stream);
    assert_visible(&reports::Versus::new(stream, stream).text());
}

fn check_report(report: &Report, stream: &Stream) {
    check_html(&reports::html(report, stream).unwrap());
    assert_visible(&reports::terminal(report, Style::default()));
    assert_visible(&reports::overview(report, Style::default()));
    assert_visible(&reports::terminal(report, Style { colour: false, width: 0 }));
    let colour = reports::terminal(report, Style { colour: true, width: 200 });
    let own = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m"];
    let mut rest = own.iter().fold(colour, |text, code| text.replace(code, ""));
    for number in 30..38 {
        rest = rest.replace(&format!("\u{1b}[{number}m"), "");
    }
    assert_visible(&rest);
    check_markdown(&reports::markdown(report));
    check_markdown(&reports::pull_request(report));
    check_xml(&reports::junit(report).unwrap());
    for text in [
        reports::sarif(report).unwrap(),
        reports::trace(stream).unwrap(),
        reports::badge_json(report).unwrap(),
    ] {
        assert_visible(&text);
        serde_json::from_str::<serde_json::Value>(&text).unwrap();
    }
    let json: serde_json::Value = serde_json::from_str(&reports::json(report).unwrap()).unwrap();
    assert_eq!(json["v"], 1);
}

/// Checks that outside code there are only this crate's own characters.
fn check_markdown(text: &str) {
    assert_visible(text);
    let mut fence: Option<String> = None;
    for line in text.lines() {
        if let Some(open) = &fence {
            if line == open.as_str() {
                fence = None;
            }
            continue;
        }
        let ticks: String = line.chars().take_while(|&character| character == '`').collect();
        if ticks.len() >= 3 && line[ticks.len()..] == *"diff" {
            fence = Some(ticks);
            continue;
        }
        let bare = without_spans(line);
        assert!(!bare.contains(['<', '>', '@', '[', ']', '\\', '{', '$']), "{bare}");
    }
    assert_eq!(fence, None, "a code block without an end");
}

/// A line without its code spans, by the rule of the format: a run of ticks ends at the next run of equal length.
fn without_spans(line: &str) -> String {
    let mut bare = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        bare.push_str(&rest[..start]);
        let ticks = rest[start..].chars().take_while(|&character| character == '`').count();
        let after = &rest[start + ticks..];
        let mut at = 0;
        let end = loop {
            let next = after[at..].find('`').unwrap_or_else(|| panic!("a span without an end: {line}")) + at;
            let run = after[next..].chars().take_while(|&character| character == '`').count();
            if run == ticks {
                break next + run;
            }
            at = next + run;
        };
        rest = &after[end..];
    }
    bare + rest
}

fn check_xml(xml: &str) {
    assert_visible(xml);
    for rest in xml.split('<').skip(1) {
        let name: String = rest.chars().take_while(|&c| !matches!(c, ' ' | '>' | '\n')).collect();
        let known = [
            "?xml",
            "testsuites",
            "testsuite",
            "testcase",
            "failure",
            "error",
            "skipped",
            "/testsuites",
            "/testsuite",
            "/testcase",
            "/failure",
            "/error",
            "/skipped",
            "skipped/",
            "failure/",
            "error/",
        ];
        assert!(known.contains(&name.as_str()), "<{name}");
    }
}

#[test]
fn a_run_whose_every_text_is_hostile() {
    check_all(&fixture::hostile());
}

#[test]
fn an_ordinary_run_passes_the_same_checks() {
    check_all(&fixture::small());
}

#[test]
fn the_checks_can_fail() {
    let html = reports::html(&Report::new(&fixture::small()), &fixture::small()).unwrap();
    for bad in
        ["<img src=x>", "<script>", "<b onclick=x>", "a\u{202E}b", "<a href=\"javascript:x\">", "<b style=x>"]
    {
        let spoiled = html.replacen("</main>", &format!("{bad}</main>"), 1);
        assert!(std::panic::catch_unwind(|| check_html(&spoiled)).is_err(), "{bad}");
    }
    assert!(std::panic::catch_unwind(|| check_markdown("<b>")).is_err());
    assert!(std::panic::catch_unwind(|| check_markdown("`a``")).is_err());
}

#[test]
fn a_very_long_line_is_cut_and_counted() {
    let mut stream = fixture::small();
    let run = stream.cells.iter_mut().find(|cell| cell.status.is_defect()).unwrap();
    let long = "é".repeat(1_000_000);
    run.transcript.push(WireLine { at_ms: 9_000, lane: Lane::ServerToHost, text: long.clone() });
    run.failures[0].expected = Some(long.clone());
    run.failures[0].message = long;
    let report = Report::new(&stream);
    let html = reports::html(&report, &stream).unwrap();
    assert!(html.len() < 400_000, "{}", html.len());
    assert!(html.contains("1,991,808 bytes left out"), "the wire line");
    let text = reports::terminal(&report, Style::default());
    assert!(text.len() < 20_000, "{}", text.len());
    assert!(text.contains("bytes left out"), "{text}");
    check_all(&stream);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        ".{0,40}",
        "[ -~]{0,40}",
        prop::sample::select(fixture::HOSTILE.to_vec()).prop_map(str::to_owned),
        "[<>&\"'`|\n\u{202E}\u{1b}a-c/]{0,60}",
        r#"\{"(id|method|result|messages)":(1|"x"|\[\]|\{\})\}"#,
    ]
}

fn line() -> impl Strategy<Value = WireLine> {
    let lanes = [Lane::HostToServer, Lane::ServerToHost, Lane::Graph, Lane::Stderr, Lane::Event];
    (any::<u64>(), prop::sample::select(lanes.to_vec()), text()).prop_map(|(at_ms, lane, text)| WireLine {
        at_ms,
        lane,
        text,
    })
}

fn shown() -> impl Strategy<Value = ModelLine> {
    (any::<u64>(), text(), any::<bool>(), prop::option::of(text()), text())
        .prop_map(|(at_ms, carrier, woke, tool, text)| ModelLine { at_ms, carrier, woke, tool, text })
}

fn failure() -> impl Strategy<Value = Failure> {
    (text(), text(), any::<u64>(), any::<Option<u32>>(), prop::option::of(text()), prop::option::of(text()))
        .prop_map(|(rule, message, at_ms, step, expected, observed)| Failure {
            rule,
            message,
            at_ms,
            step,
            line: step,
            place: observed.clone(),
            expected,
            observed,
        })
}

prop_compose! {
    fn arrival()(carrier in text(), busy in any::<bool>(), ms in any::<u64>()) -> Arrival {
        Arrival { carrier, busy, ms }
    }
}

prop_compose! {
    fn cell(rows: usize, columns: usize)(
        row in 0..rows, column in 0..columns, mode in prop_oneof![Just("sim".to_owned()), Just("process".to_owned()), text()],
        seed in 0..3_u64, status in prop::sample::select(Status::ALL.to_vec()), reason in prop::option::of(text()),
        failures in prop::collection::vec(failure(), 0..3), elapsed_ms in any::<u64>(), replay in text(),
        delivery_ms in prop::collection::vec(any::<u64>(), 0..4),
        carriers in prop::collection::btree_map(text(), any::<u64>(), 0..3),
        // There are more facts than a tuple may have members.
        rest in (prop::collection::btree_map(text(), text(), 0..3), prop::collection::vec(shown(), 0..4), prop::collection::vec(line(), 0..6),
            prop::collection::vec(arrival(), 0..4), prop::collection::vec(text(), 0..3)),
    ) -> ((usize, usize), CellFinished) {
        let (session, model_view, transcript, arrivals, set_up) = rest;
        ((row, column), CellFinished {
            scenario: String::new(), host: String::new(), mode, seed, status, reason, failures, elapsed_ms, replay,
            delivery_ms, carriers, session, model_view, transcript, arrivals, set_up, fault_profile: None,
        })
    }
}

fn any_stream() -> impl Strategy<Value = Stream> {
    let hosts = prop::collection::btree_set(text(), 1..4);
    let rows = prop::collection::btree_set(text(), 1..4);
    (hosts, rows).prop_flat_map(|(hosts, rows)| {
        let cells = prop::collection::vec(cell(rows.len(), hosts.len()), 0..8);
        (Just(hosts), Just(rows), cells, prop::collection::vec(text(), 8)).prop_map(
            |(hosts, rows, cells, texts)| {
                let hosts: Vec<String> = hosts.into_iter().collect();
                let rows: Vec<String> = rows.into_iter().collect();
                let mut unique = BTreeMap::new();
                for ((row, column), mut cell) in cells {
                    cell.scenario.clone_from(&rows[row]);
                    cell.host.clone_from(&hosts[column]);
                    unique.insert((row, column, cell.mode.clone(), cell.seed), cell);
                }
                let of = |index: usize| texts[index].clone();
                let column = |id: &String| HostColumn {
                    id: id.clone(),
                    family: of(0),
                    version: of(1),
                    kind: ColumnKind::Host,
                    evidence: of(2),
                    facts: vec![],
                };
                let row = |id: &String| ScenarioRow {
                    id: id.clone(),
                    title: of(3),
                    area: of(4),
                    level: of(5),
                    says: of(6),
                    source: of(7),
                    file: of(0),
                };
                let header =
                    fixture::header(hosts.iter().map(column).collect(), rows.iter().map(row).collect(), 1);
                Stream::from_events(fixture::events(header, unique.into_values().collect())).unwrap()
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 5,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_run_renders_and_nothing_comes_to_life(stream in any_stream()) {
        check_all(&stream);
    }

    #[test]
    fn reading_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(Stream::read(&bytes[..]).is_err());
    }
}
