//! The committed schemas of the files that this crate keeps are those of its types. `UPDATE_SCHEMAS=1` writes them anew.

use entraclaw_microsoft::bot::Conversations;

#[test]
#[expect(clippy::disallowed_methods, reason = "the test reads and writes the committed schema")]
fn the_schema_of_the_bots_conversations_is_that_of_the_type() {
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/own/bot.schema.json");
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Conversations)).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        std::fs::write(PATH, &schema).unwrap();
    }
    assert_eq!(std::fs::read_to_string(PATH).unwrap(), schema, "run with UPDATE_SCHEMAS=1");
}
