//! The schema of agents' scripts is generated from the types, and the committed file must equal it.
//! `UPDATE_SCHEMAS=1 cargo test -p fake-agents --test script_schema` updates it.
#![expect(clippy::disallowed_methods, reason = "a test reads and writes the committed schema")]

use std::path::{Path, PathBuf};

use fake_agents::Script;
use serde_json::{Value, json};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn examples() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(here("examples")).unwrap();
    let mut found: Vec<_> = entries
        .map(|entry| entry.unwrap())
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap())
        })
        .collect();
    found.sort();
    assert!(found.len() > 3, "the examples are somewhere else");
    found
}

#[test]
fn the_committed_script_schema_is_the_generated_one() {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Script)).unwrap();
    text.push('\n');
    let file = here("../../schemas/own/agent-script.schema.json");
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        committed == text,
        "schemas/own/agent-script.schema.json differs from the types; run UPDATE_SCHEMAS=1 cargo test -p fake-agents --test script_schema\n{}",
        similar::TextDiff::from_lines(&committed, &text).unified_diff().context_radius(2)
    );
}

#[test]
fn every_example_is_a_script_and_fits_the_schema() {
    let schema = serde_json::to_value(schemars::schema_for!(Script)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, text) in examples() {
        Script::parse(&name, &text).unwrap();
        let value: Value = yaml::read(&text).unwrap();
        let problems: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{name}: {problems:?}");
        assert!(text.starts_with("# yaml-language-server: $schema="), "{name}");
    }
}

#[test]
fn an_unknown_key_does_not_fit() {
    let schema = serde_json::to_value(schemars::schema_for!(Script)).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(!validator.is_valid(&json!({"agent": "copilot", "answer": []})));
    assert!(!validator.is_valid(&json!({"agent": "copilot", "answers": [{"say": "x"}]})));
    let error = Script::parse("x.yaml", "agent: copilot\nanswers: [{ say: x }]\n").unwrap_err();
    assert!(error.to_string().contains("x.yaml"), "{error}");
}

#[test]
fn a_flood_has_a_limit() {
    let error =
        Script::parse("x.yaml", "agent: copilot\nanswers: [{ stdout_bytes: 99999999999 }]").unwrap_err();
    assert_eq!(error.to_string(), "x.yaml: stdout_bytes is 99999999999; use 67108864 at most");
}
