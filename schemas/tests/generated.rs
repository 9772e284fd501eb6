//! The committed MCP schemas equal the output of `mcp/source/*.wire`. `UPDATE_SCHEMAS=1 cargo test -p schemas
//! --test generated` updates them.

#![expect(clippy::disallowed_methods, reason = "a test reads and writes the crate's own files")]

mod generator;

use std::path::PathBuf;

use similar::TextDiff;

#[test]
fn the_committed_schemas_match_their_source() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("mcp");
    let definitions = generator::read(&folder.join("source")).unwrap();
    let update = std::env::var("UPDATE_SCHEMAS").is_ok();
    for version in generator::VERSIONS {
        let wanted = generator::pretty(&generator::schema(&definitions, version).unwrap());
        let path = folder.join(format!("{version}.schema.json"));
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found == wanted {
            continue;
        }
        if update {
            std::fs::write(&path, &wanted).unwrap();
            continue;
        }
        let diff = TextDiff::from_lines(&found, &wanted);
        panic!(
            "{version}.schema.json differs from its source; run UPDATE_SCHEMAS=1 cargo test -p schemas --test generated\n{}",
            diff.unified_diff().context_radius(2)
        );
    }
}
