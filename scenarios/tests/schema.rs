//! The scenario schema for editors is made from the types; a change of one without the other fails here.
//! `UPDATE_SCHEMAS=1 cargo test -p hostcheck --test schema` writes it anew.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the committed schema")]

use hostcheck::scenario::Scenario;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../schemas/own/scenario.schema.json");

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Scenario)).expect("a schema") + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(FILE, &schema).expect("the schema is written");
    }
    let committed = std::fs::read_to_string(FILE).unwrap_or_default();
    if committed != schema {
        let diff =
            similar::TextDiff::from_lines(committed.as_str(), schema.as_str()).unified_diff().to_string();
        panic!("schemas/own/scenario.schema.json is out of step; run with UPDATE_SCHEMAS=1\n{diff}");
    }
}
