//! The schemas of the operator's policy and of open permission requests are generated from their types and committed.

#![expect(clippy::disallowed_methods, reason = "the committed schemas are files of the repository")]

use std::path::PathBuf;

use entraclaw_inbox::gate::{ChatRule, Pending, Person, Policy};
use entraclaw_inbox::permission::{Behavior, Book, Question};
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde_json::Value;

fn check<T: JsonSchema + Serialize>(name: &str, full: &T) {
    let mut text = serde_json::to_string_pretty(&schema_for!(T)).unwrap();
    text.push('\n');
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/own/{name}.schema.json"));
    if std::env::var("UPDATE_SCHEMAS").is_ok() {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "{name} is not what its type says; look at the change and run with UPDATE_SCHEMAS=1"
    );
    // The value has every member, and the schema must know each.
    let schema: Value = serde_json::from_str(&text).unwrap();
    known(&schema, &schema, &serde_json::to_value(full).unwrap());
}

fn known(root: &Value, schema: &Value, value: &Value) {
    let schema = match schema.get("$ref").and_then(Value::as_str) {
        Some(name) => root.pointer(name.trim_start_matches('#')).unwrap(),
        None => schema,
    };
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let of_map = schema.get("additionalProperties").filter(|schema| schema.is_object());
                let member = schema.pointer(&format!("/properties/{name}")).or(of_map);
                known(root, member.unwrap_or_else(|| panic!("{name} is unknown to {schema}")), value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| known(root, &schema["items"], item)),
        _ => {}
    }
}

#[test]
fn the_policy_has_a_schema() {
    let guid =
        |n: u8| entraclaw_inbox::gate::Guid::parse(&format!("aaaaaaaa-0000-0000-0000-{n:012}")).unwrap();
    let at = "2026-11-21T10:00:00Z".parse().unwrap();
    let person = Person {
        mail: Some("alice@contoso.com".to_owned()),
        name: Some("Alice".to_owned()),
        since: Some(at),
        chat_id: Some("chat".to_owned()),
        channel: Some(entraclaw_inbox::record::Channel::Bot),
        ..Person::by_ids(guid(1), guid(2))
    };
    let pending = Pending {
        code: "K7M2QX".to_owned(),
        tenant_id: guid(1),
        object_id: guid(3),
        name: Some("Bob".to_owned()),
        chat_id: "chat".to_owned(),
        channel: Some(entraclaw_inbox::record::Channel::Bot),
        asked_at: at,
    };
    let mut policy = Policy { wrong_tries_at: vec![at], ..Policy::default() };
    policy.allow.push(person.clone());
    policy.deny.push(person);
    policy.pending.push(pending);
    policy.chats.insert("chat".to_owned(), ChatRule::Mentioned);
    check("policy", &policy);
}

#[test]
fn open_permission_requests_have_a_schema() {
    let guid =
        |n: u8| entraclaw_inbox::gate::Guid::parse(&format!("aaaaaaaa-0000-0000-0000-{n:012}")).unwrap();
    let question = Question {
        code: "abcde".to_owned(),
        session: "s".to_owned(),
        chat_id: "chat".to_owned(),
        tenant_id: guid(1),
        object_id: guid(2),
        asked_at: "2026-11-21T10:00:00Z".parse().unwrap(),
        answer: Some(Behavior::Allow),
    };
    check("permission", &Book { v: 1, questions: vec![question] });
}
