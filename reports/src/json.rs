//! The report and the event stream as JSON, and the schemas of both. It must never add a member that the
//! model lacks.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};

use crate::baseline::Baseline;
use crate::event::Event;
use crate::history::Release;
use crate::model::Report;

/// `report.json`: the model unchanged, indented, with a line feed at the end.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}

/// The schema of one line of `events.jsonl`.
pub fn event_schema() -> Schema {
    schema::<Event>("events", "One line of hostcheck's event stream")
}

/// The schema of `report.json`.
pub fn report_schema() -> Schema {
    schema::<Report>("report", "A report derived from hostcheck's event stream")
}

/// The schema of a baseline file.
pub fn baseline_schema() -> Schema {
    schema::<Baseline>("baseline", "Failures that a run of hostcheck is expected to have")
}

/// The schema of one line of `history.jsonl`.
pub fn release_schema() -> Schema {
    schema::<Release>("history", "One release in hostcheck's history")
}

fn schema<T: JsonSchema>(name: &str, title: &str) -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("$id".to_owned(), format!("{name}.schema.json").into());
    schema.insert("title".to_owned(), title.into());
    schema
}
