//! Makes full messages from a schema: every optional member is there, and every shape of a union is used
//! once. It supports only the schema features of this crate's definitions and of the official ones.

use serde_json::{Map, Value, json};

/// Depth of nested definitions; none of this crate goes deeper without a circle.
const DEPTH_MAX: usize = 12;

/// A value that fits a schema; `turn` chooses the shape of each union.
pub(crate) fn full(schema: &Value, definitions: &Value, turn: usize) -> Value {
    fill(schema, definitions, turn, 0)
}

fn fill(schema: &Value, definitions: &Value, turn: usize, depth: usize) -> Value {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if depth > DEPTH_MAX {
        return Value::Null;
    }
    if let Some(name) = text("$ref").and_then(|target| target.strip_prefix("#/$defs/")) {
        return fill(&definitions[name], definitions, turn, depth + 1);
    }
    if let Some(value) = schema.get("const") {
        return value.clone();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values[turn % values.len()].clone();
    }
    if let Some(shapes) = schema.get("anyOf").and_then(Value::as_array) {
        return fill(&shapes[turn % shapes.len()], definitions, turn / shapes.len(), depth);
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        let mut all = Map::new();
        for part in parts {
            if let Value::Object(members) = fill(part, definitions, turn, depth) {
                all.extend(members);
            }
        }
        return all.into();
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds[turn % kinds.len()].as_str(),
        Some(kind) => kind.as_str(),
        None => None,
    };
    match kind {
        Some("string") => match text("format") {
            Some("uri") => json!("https://contoso.com/inbox"),
            Some("uri-template") => json!("entraclaw://chat/{id}"),
            Some("byte") => json!("QUJD"),
            _ => json!("text"),
        },
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("array") => {
            let items = schema.get("items").cloned().unwrap_or(json!({}));
            // Two items, so that an array of a union shows two of its shapes.
            json!([fill(&items, definitions, turn, depth), fill(&items, definitions, turn + 1, depth)])
        }
        Some("object") => {
            let mut members = Map::new();
            for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                members.insert(name.clone(), fill(member, definitions, turn, depth));
            }
            if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
                members.insert("any".into(), fill(values, definitions, turn, depth));
                members.insert("other".into(), fill(values, definitions, turn + 1, depth));
            }
            members.into()
        }
        _ => json!({ "any": [1, null] }),
    }
}
