//! The schema of scenarios is made from the types; a change of one without the other fails here.
//! `UPDATE_SCHEMAS=1 cargo test -p scenario --test schema` writes them anew.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the committed schemas")]

use scenario::Scenario;
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
fn the_committed_schema_of_scenarios_is_that_of_the_types() {
    compare("scenario", &schemars::schema_for!(Scenario));
}
