//! The page and the comment stay small, and what is left out is said.

mod fixture;

use reports::event::{Lane, WireLine};
use reports::html::HTML_BYTES_MAX;
use reports::markdown::MARKDOWN_BYTES_MAX;
use reports::{Report, Stream, Style};

fn folder(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("reports").join(name)
}

#[test]
fn forty_rows_on_four_hosts_stay_below_two_megabytes() {
    let stream = fixture::large(40, 16);
    let paths = reports::write_all(&stream, &folder("large")).unwrap();
    let html = paths[0].metadata().unwrap().len();
    assert!(html < HTML_BYTES_MAX as u64, "{html} bytes");
    assert!(html > HTML_BYTES_MAX as u64 / 4, "transcripts are missing: {html} bytes");
    let markdown = paths[1].metadata().unwrap().len();
    assert!(markdown < MARKDOWN_BYTES_MAX as u64, "{markdown} bytes");
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
    let error = reports::write_all(&fixture::small(), file.path()).unwrap_err();
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
    reports::write_all(&stream, &folder("wide")).unwrap();
    let text = reports::terminal(&Report::new(&stream), Style::default());
    assert!(text.contains("hosts 1 of 3") && text.contains("hosts 3 of 3"), "{text}");
    assert!(text.lines().all(|line| unicode_width::UnicodeWidthStr::width(line) <= 100), "{text}");
}
