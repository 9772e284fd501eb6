//! The schemas of what we send, generated from the types and kept as files that others can read.
//!
//! `UPDATE_SCHEMAS=1` writes them again; without it a difference fails.

use std::path::Path;

use entraclaw_inbox::carrier::channel::ChannelPush;
use entraclaw_inbox::carrier::events::{
    EventActive, EventFailed, EventHeartbeat, EventList, EventOccurrence, EventPoll, EventPolled, EventStream,
};
use entraclaw_inbox::tool::{
    EmailResult, InboxResource, PullResult, SendEmailResult, SendResult, StatsResult, WaitResult,
};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Value, json};

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn check(file: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/own").join(file);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("UPDATE_SCHEMAS").is_some() {
        #[expect(clippy::disallowed_methods, reason = "this test owns the file")]
        std::fs::write(&path, &text).unwrap();
    }
    #[expect(clippy::disallowed_methods, reason = "this test owns the file")]
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        kept, text,
        "{file} differs from the types; run again with UPDATE_SCHEMAS=1 and look at the change"
    );
}

fn reference<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

#[test]
fn tool_results() {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let tools = json!({
        "wait_for_inbound_message": reference::<WaitResult>(&mut generator),
        "inbox_pull": reference::<PullResult>(&mut generator),
        "inbound_queue_stats": reference::<StatsResult>(&mut generator),
        "send_teams_message": reference::<SendResult>(&mut generator),
        "read_email": reference::<EmailResult>(&mut generator),
        "send_email": reference::<SendEmailResult>(&mut generator),
        "entraclaw://inbox": reference::<InboxResource>(&mut generator)
    });
    let definitions = generator.take_definitions(true);
    check(
        "tool-results.schema.json",
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Tool results",
            "description":
                "What the text block of a successful tool result holds, by the tool's name, and the text of the resource by its address.",
            "type": "object",
            "properties": tools,
            "additionalProperties": false,
            "$defs": definitions
        }),
    );
}

#[test]
fn push() {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let params = reference::<ChannelPush>(&mut generator);
    let definitions = generator.take_definitions(true);
    check(
        "push.schema.json",
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Channel push",
            "description": "The notification that Claude Code shows to its model.",
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"},
                "method": {"const": "notifications/claude/channel"},
                "params": params
            },
            "required": ["jsonrpc", "method", "params"],
            "additionalProperties": false,
            "$defs": definitions
        }),
    );
}

#[test]
fn events() {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let parts = json!({
        "events/list": {"type": ["object", "null"]},
        "events/list#result": reference::<EventList>(&mut generator),
        "events/poll": reference::<EventPoll>(&mut generator),
        "events/poll#result": reference::<EventPolled>(&mut generator),
        "events/stream": reference::<EventStream>(&mut generator),
        "events/stream#result": {"type": "object"},
        "notifications/events/active": reference::<EventActive>(&mut generator),
        "notifications/events/event": reference::<EventOccurrence>(&mut generator),
        "notifications/events/heartbeat": reference::<EventHeartbeat>(&mut generator),
        "notifications/events/error": reference::<EventFailed>(&mut generator),
        "notifications/events/terminated": reference::<EventFailed>(&mut generator)
    });
    let definitions = generator.take_definitions(true);
    check(
        "mcp-events.schema.json",
        &json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "MCP Events",
            "description":
                "Parts of messages of the draft extension io.modelcontextprotocol/events, by name: the parameters by their method, a result by the method of its request and `#result`.",
            "type": "object",
            "properties": parts,
            "$defs": definitions
        }),
    );
}
