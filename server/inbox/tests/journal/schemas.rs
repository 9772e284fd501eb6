//! The schemas of our own files are generated from their types and committed; neither changes alone.

use std::path::PathBuf;

use entraclaw_inbox::journal::{Interaction, State};
use entraclaw_inbox::record::Record;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use crate::support::*;

fn committed(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/own").join(name)
}

/// The type's schema, and what its lines have besides.
fn schema<T: JsonSchema>(besides: Option<(&str, Value)>) -> Value {
    let mut schema = serde_json::to_value(schema_for!(T)).unwrap();
    if let Some((name, value)) = besides {
        schema["properties"][name] = value;
        schema["required"].as_array_mut().unwrap().push(json!(name));
    }
    schema
}

fn expected() -> [(&'static str, Value); 3] {
    let crc = json!({
        "description": "CRC-32C of the line's bytes before this member, eight lower-case hexadecimal digits.",
        "type": "string",
        "pattern": "^[0-9a-f]{8}$",
    });
    [
        ("record.schema.json", schema::<Record>(Some(("crc", crc)))),
        ("state.schema.json", schema::<State>(None)),
        ("interaction.schema.json", schema::<Interaction>(None)),
    ]
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the committed schemas are files of the repository")]
fn the_committed_schemas_are_those_of_the_types() {
    for (name, schema) in expected() {
        let mut text = serde_json::to_string_pretty(&schema).unwrap();
        text.push('\n');
        let path = committed(name);
        if std::env::var("UPDATE_SCHEMAS").is_ok() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == text,
            "{name} is not what its type says; look at the change and run with UPDATE_SCHEMAS=1"
        );
    }
}

#[test]
fn written_files_fit_the_schemas() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    take(&mut mailbox(&journal, "claude-code"), &all());
    let files = [FILE, "inbox/state.json", "interactions/2026-11-21.jsonl"];
    for ((name, schema), file) in expected().into_iter().zip(files) {
        let required: Vec<&str> =
            schema["required"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        for line in home.text(file).lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            for member in &required {
                assert!(line.get(member).is_some(), "{name}: {member} is missing in {line}");
            }
            for member in line.as_object().unwrap().keys() {
                assert!(schema["properties"].get(member).is_some(), "{name} does not know {member}");
            }
        }
    }
}
