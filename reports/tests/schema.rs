//! The committed schemas equal those of the types, and written streams are valid by them. `UPDATE_SCHEMAS=1`
//! updates them.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read and write schema files and look for UPDATE_SCHEMAS"
)]

mod fixture;

use std::fs;
use std::path::Path;

use reports::{
    Baseline, Release, Report, Stream, baseline_schema, event_schema, release_schema, report_schema,
};
use rstest::rstest;
use schemars::Schema;
use serde_json::Value;

#[rstest]
#[case("events", event_schema())]
#[case("report", report_schema())]
#[case("baseline", baseline_schema())]
#[case("history", release_schema())]
fn the_committed_schema_is_that_of_the_types(#[case] name: &str, #[case] schema: Schema) {
    let file = format!("../schemas/own/{name}.schema.json");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let found = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
    if std::env::var("UPDATE_SCHEMAS").is_ok_and(|value| value == "1") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &found).unwrap();
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let diff = similar::TextDiff::from_lines(committed.as_str(), &found);
    assert!(
        committed == found,
        "{} is not as the types say; UPDATE_SCHEMAS=1 writes it anew\n{}",
        path.display(),
        diff.unified_diff().header("committed", "types")
    );
}

fn check(schema: &Schema, value: &Value) {
    let validator = jsonschema::draft202012::new(schema.as_value()).unwrap();
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[rstest]
#[case(fixture::small())]
#[case(fixture::hostile())]
fn written_streams_are_valid(#[case] stream: Stream) {
    let baseline = Baseline::default().update(&stream);
    check(&baseline_schema(), &serde_json::from_str(&baseline.write().unwrap()).unwrap());
    let release = Release::new("0.1.0", &Report::new(&stream));
    check(&release_schema(), &serde_json::to_value(&release).unwrap());
    let mut report = Report::new(&stream);
    report.compare_with_history(&[release]);
    report.compare_with_baseline(&baseline, &stream);
    let report = reports::json(&report).unwrap();
    check(&report_schema(), &serde_json::from_str(&report).unwrap());
    for event in stream.into_events() {
        check(&event_schema(), &serde_json::to_value(event).unwrap());
    }
}

#[rstest]
#[case(r#"{"event":"cell_finished"}"#)]
#[case(r#"{"event":"run_finished","counts":{},"simulated_ms":-1,"exit_code":0}"#)]
#[case(r#"{"event":"unheard_of"}"#)]
fn other_lines_are_not_valid(#[case] line: &str) {
    let schema = event_schema();
    let validator = jsonschema::draft202012::new(schema.as_value()).unwrap();
    assert!(!validator.is_valid(&serde_json::from_str(line).unwrap()), "{line}");
}
