//! The page and the comment stay small, and say how much is left out.

mod fixture;

use reports::event::{Lane, WireLine};
use reports::html::HTML_BYTES_MAX;
use reports::markdown::MARKDOWN_BYTES_MAX;
use reports::{Report, Stream, Style};

fn folder(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(name)
}

/// Writes the reports as the command line does.
fn write(stream: &Stream, folder: &std::path::Path) -> Result<Vec<std::path::PathBuf>, reports::WriteError> {
    reports::write_all(&Report::new(stream), stream, folder)
}

#[test]
fn forty_rows_on_four_hosts_stay_below_two_megabytes() {
    let stream = fixture::large(40, 16);
    let paths = write(&stream, &folder("large")).unwrap();
    let html = paths[0].metadata().unwrap().len();
    assert!(html < HTML_BYTES_MAX as u64, "{html} bytes");
    assert!(html > HTML_BYTES_MAX as u64 / 4, "transcripts are missing: {html} bytes");
    let markdown = paths[1].metadata().unwrap().len();
    assert!(markdown < MARKDOWN_BYTES_MAX as u64, "{markdown} bytes");
}

/// The largest default run: 28 versions of hosts, each with facts that it mostly shares with its neighbours.
fn widest() -> Stream {
    let stream = fixture::large(260, 8);
    let (mut header, few) = (stream.header, stream.cells);
    let model = header.hosts[0].clone();
    let hosts = (0..28).map(|column| {
        let mut host = model.clone();
        ["claude-code", "copilot-cli", "codex", "generic"][column * 4 / 28].clone_into(&mut host.family);
        host.version = format!("2.1.{column}");
        host.id = format!("{}@{}", host.family, host.version);
        host.facts = (0..180)
            .map(|fact| {
                // One fact in six changes from a version to the next.
                let value = if fact % 6 == column % 6 { column } else { 0 };
                reports::event::HostFact {
                    name: format!("section.fact_{fact}"),
                    value: format!("{{\"value\":{value},\"of\":\"a host that says so at some length\"}}"),
                    source: format!("observed: [recording_{fact}], and on version {value}"),
                }
            })
            .collect();
        host
    });
    header.hosts = hosts.collect();
    let mut cells = Vec::new();
    for (row, runs) in few.chunk_by(|a, b| a.scenario == b.scenario).enumerate() {
        for (column, host) in header.hosts.iter().enumerate() {
            let seeds = if (row + column) % 3 == 0 { 1 } else { 8 };
            for run in runs.iter().filter(|run| run.host == model.id).take(seeds) {
                let mut cell = run.clone();
                cell.host.clone_from(&host.id);
                cell.replay =
                    format!("cargo run --release -- run {} --host {} --seed 1", cell.scenario, host.id);
                if (row * 7 + column) % 5 == 0 {
                    cell.status = reports::event::Status::Unsupported;
                    cell.reason = Some(format!("the host can't do thing {}", (row + column) % 9));
                }
                cells.push(cell);
            }
        }
    }
    Stream::from_events(fixture::events(header, cells)).unwrap()
}

#[test]
fn two_hundred_sixty_rows_on_twenty_eight_hosts_stay_below_two_megabytes() {
    let mut stream = widest();
    let green = reports::html(&Report::new(&stream), &stream).unwrap();
    assert!(green.len() < HTML_BYTES_MAX, "{} bytes", green.len());
    assert!(!green.contains("class=\"wire\""), "what passed has no transcript");

    // Failures bring their transcripts, and the page is still as small.
    for cell in stream.cells.iter_mut().filter(|cell| cell.host.starts_with("codex@")).step_by(40) {
        cell.status = reports::event::Status::Fail;
    }
    stream.footer = reports::event::RunFinished::of(&stream.header, &stream.cells);
    let red = reports::html(&Report::new(&stream), &stream).unwrap();
    assert!(red.len() < HTML_BYTES_MAX, "{} bytes", red.len());
    assert!(red.matches("class=\"wire\"").count() >= 100, "transcripts are missing");
    let quoted =
        |text: &str| text.split(['"', '>', ' ', '\n']).find(|name| !name.is_empty()).unwrap().to_owned();
    let ids: std::collections::BTreeSet<String> = red.split(" id=").skip(1).map(quoted).collect();
    for name in red.split("href=").skip(1).map(quoted).filter(|target| target.starts_with('#')) {
        assert!(ids.contains(&name[1..]), "a link leads to {name}, which is not there");
    }

    // Two hosts alone have room for everything.
    let two = stream.header.hosts[..2].iter().map(|host| host.id.clone()).collect();
    let stream = stream.focus(&std::collections::BTreeSet::new(), &two);
    let html = reports::html(&Report::new(&stream), &stream).unwrap();
    assert!(html.len() < HTML_BYTES_MAX && html.contains("class=\"wire\""), "{} bytes", html.len());
}

#[test]
fn the_terminal_fits_a_hundred_columns() {
    let report = Report::new(&fixture::large(40, 2));
    let text = reports::terminal(&report, Style::default());
    let widest = text.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap();
    assert!(widest <= 100, "{widest} columns\n{text}");
    // 40 rows, 8 areas, two heads, two lines a carrier and host, and a short rest.
    assert!(text.lines().count() <= 90, "{text}");
}

#[test]
fn a_comment_on_four_hundred_rows_is_cut_and_says_so() {
    let report = Report::new(&fixture::large(800, 1));
    let text = reports::markdown(&report);
    assert!(text.len() <= MARKDOWN_BYTES_MAX, "{}", text.len());
    assert!(text.contains("of 800 rows left out here"), "{}", &text[text.len() - 600..]);
}

#[test]
fn ten_thousand_lines_are_bounded_and_counted() {
    let mut stream = fixture::small();
    let run = stream.cells.iter_mut().find(|cell| cell.status.is_defect()).unwrap();
    run.transcript = (0..10_000)
        .map(|line| WireLine {
            at_ms: line,
            lane: Lane::Stderr,
            text: format!("line {line} {}", "x".repeat(300)),
        })
        .collect();
    let html = reports::html(&Report::new(&stream), &stream).unwrap();
    assert!(html.len() < 600_000, "{}", html.len());
    let left_out: u64 = html
        .split("<tr class=gap><td colspan=6>")
        .skip(1)
        .map(|gap| gap.split_once(" line").unwrap().0.replace(',', "").parse::<u64>().unwrap())
        .sum();
    let shown = html.matches(" class=er><td>").count() as u64;
    let other = fixture::small();
    let elsewhere =
        reports::html(&Report::new(&other), &other).unwrap().matches(" class=er><td>").count() as u64;
    assert_eq!(left_out + shown - (elsewhere - 1), 10_000);
    assert!(html.contains("line 5199 "), "the lines before the divergence are kept");
}

#[test]
fn writing_is_refused_where_there_is_no_folder_to_write_to() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = write(&fixture::small(), file.path()).unwrap_err();
    assert!(error.to_string().starts_with("could not write "), "{error}");
}

#[test]
fn an_empty_run_is_incomplete() {
    let stream = Stream::from_events(fixture::events(fixture::header(vec![], vec![], 0), vec![])).unwrap();
    let report = Report::new(&stream);
    assert_eq!(report.verdict, reports::model::Verdict::Incomplete);
    reports::html(&report, &stream).unwrap();
    assert!(reports::terminal(&report, Style::default()).contains("incomplete"));
}

#[test]
fn twelve_hosts_are_split_into_tables_that_fit() {
    let mut stream = fixture::large(10, 1);
    for copy in 1..=8 {
        let mut host = stream.header.hosts[0].clone();
        host.family = format!("other-host-{copy}");
        host.id = format!("{}@{}", host.family, host.version);
        stream.header.hosts.push(host);
    }
    write(&stream, &folder("wide")).unwrap();
    let text = reports::terminal(&Report::new(&stream), Style::default());
    assert!(text.contains("hosts 1 of 3") && text.contains("hosts 3 of 3"), "{text}");
    assert!(text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 100), "{text}");
}
