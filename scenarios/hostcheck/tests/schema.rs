//! The schemas for editors and readers are generated from the types, and the committed files must equal them.
//! `UPDATE_SCHEMAS=1 cargo test -p hostcheck --test schema` updates them.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the committed schemas")]

use hostcheck::conformance::Area;
use hostcheck::tap::Entry;
use schemars::Schema;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/own");

fn compare(name: &str, schema: &Schema) {
    let file = format!("{FOLDER}/{name}.schema.json");
    let schema = serde_json::to_string_pretty(schema).expect("a schema") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(&file, &schema).expect("the schema is written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    if committed != schema {
        let diff =
            similar::TextDiff::from_lines(committed.as_str(), schema.as_str()).unified_diff().to_string();
        panic!("schemas/own/{name}.schema.json is out of step; run with UPDATE_SCHEMAS=1\n{diff}");
    }
}

#[test]
fn the_committed_schema_of_wire_logs_is_that_of_the_types() {
    compare("wire-log", &schemars::schema_for!(Entry));
}

#[test]
fn the_schema_of_protocol_rows_is_that_of_the_types() {
    compare("protocol", &schemars::schema_for!(Area));
}
