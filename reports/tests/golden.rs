//! Every output of the small run and of the hostile one, byte for byte. `UPDATE_GOLDEN=1` updates the files.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read and write golden files and look for UPDATE_GOLDEN"
)]

mod fixture;

use std::fs;
use std::path::Path;

use reports::{Report, Stream, Style};
use similar::TextDiff;

const FORMATS: [&str; 12] = [
    "html",
    "md",
    "json",
    "junit.xml",
    "txt",
    "colour.txt",
    "overview.txt",
    "summary.md",
    "sarif",
    "badge.svg",
    "badge.json",
    "trace.json",
];

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::write(&path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected != found {
        let diff = TextDiff::from_lines(expected.as_str(), found);
        let shown = diff.unified_diff().context_radius(2).header(name, "found").to_string();
        let shown: String = shown.chars().take(6_000).collect();
        panic!("{name} is not as committed; UPDATE_GOLDEN=1 writes it anew\n{shown}");
    }
}

fn check_all(name: &str, stream: &Stream) {
    let report = Report::new(stream);
    check(&format!("{name}.html"), &reports::html(&report, stream).unwrap());
    check(&format!("{name}.md"), &reports::markdown(&report));
    check(&format!("{name}.json"), &reports::json(&report).unwrap());
    check(&format!("{name}.junit.xml"), &reports::junit(&report).unwrap());
    check(&format!("{name}.summary.md"), &reports::pull_request(&report));
    check(&format!("{name}.sarif"), &reports::sarif(&report).unwrap());
    check(&format!("{name}.badge.svg"), &reports::badge_svg(&report));
    check(&format!("{name}.badge.json"), &reports::badge_json(&report).unwrap());
    check(&format!("{name}.trace.json"), &reports::trace(stream).unwrap());
    check(&format!("{name}.txt"), &reports::terminal(&report, Style::default()));
    check(&format!("{name}.overview.txt"), &reports::overview(&report, Style::default()));
    let colour = reports::terminal(&report, Style { colour: true, width: 80 });
    check(&format!("{name}.colour.txt"), &colour.replace('\u{1b}', "␛"));
}

/// Writes the reports as the command line does.
fn write(stream: &Stream, folder: &Path) -> Result<Vec<std::path::PathBuf>, reports::WriteError> {
    reports::write_all(&Report::new(stream), stream, folder)
}

#[test]
fn a_small_run_with_every_state() {
    check_all("small", &fixture::small());
}

#[test]
fn a_run_whose_every_text_is_hostile() {
    check_all("hostile", &fixture::hostile());
}

#[test]
fn the_same_events_give_the_same_bytes() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = write(&fixture::large(6, 3), first.path()).unwrap();
    let two = write(&fixture::large(6, 3), second.path()).unwrap();
    let names: Vec<_> = one.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    let reports = ["report.html", "report.md", "report.json", "junit.xml"];
    assert_eq!(names[..4], reports);
    assert_eq!(names[4..], ["summary.md", "report.sarif", "badge.svg", "badge.json"]);
    for (one, two) in one.iter().zip(&two) {
        assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap(), "{}", one.display());
    }
}

#[test]
fn every_golden_file_has_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (run, format) = name.split_once('.').unwrap();
        assert!(["small", "hostile"].contains(&run), "{name} belongs to no test");
        assert!(FORMATS.contains(&format), "{name}");
    }
}
