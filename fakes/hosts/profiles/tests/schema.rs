//! The schema of profile files is generated from the types, and the committed file must equal it.
//! `UPDATE_SCHEMAS=1 cargo test -p host-profiles --test schema` updates it.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes the committed schema")]

use std::path::Path;

use host_profiles::{ProfileFile, profiles};
use serde_json::Value;

#[test]
fn the_committed_profile_schema_is_the_generated_one() {
    let schema = schemars::schema_for!(ProfileFile);
    let mut text = serde_json::to_string_pretty(&schema).unwrap();
    text.push('\n');
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../schemas/own/profile.schema.json");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == text,
        "schemas/own/profile.schema.json differs from the types; run UPDATE_SCHEMAS=1 cargo test -p host-profiles --test schema\n{}",
        similar::TextDiff::from_lines(&committed, &text).unified_diff().context_radius(2)
    );
}

#[test]
fn every_embedded_profile_file_fits_the_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(ProfileFile)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for profile in profiles().unwrap() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{}.yaml", profile.id));
        let text = std::fs::read_to_string(path).unwrap();
        let value: Value = yaml::read(&text).unwrap();
        let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:?}", profile.id);
    }
}

#[test]
fn an_unknown_key_does_not_fit_the_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(ProfileFile)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value =
        serde_json::json!({"id": "x@1", "family": "x", "title": "x", "about": "x", "calls": {"timeout": 1}});
    assert!(!validator.is_valid(&value));
}
