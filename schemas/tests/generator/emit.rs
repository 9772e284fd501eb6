//! Makes the JSON Schema of one version from the definitions. Shared members are written out where they are
//! used, so that a reader and an error need no second place.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::parse::{Definition, Member, Role, Type};

/// Definitions that are chosen by a rule and not by a reference.
const ALWAYS: [&str; 4] = ["JSONRPCMessage", "EmptyResult", "InputRequiredResult", "CreateTaskResult"];

/// The schema document of one version.
pub(crate) fn schema(all: &[Definition], version: &str) -> Result<Value, String> {
    let mut in_force: Vec<&Definition> = Vec::new();
    for definition in all.iter().filter(|d| d.range.holds(version)) {
        if in_force.iter().any(|d| d.name == definition.name) {
            return Err(format!("{version}: `{}` is defined twice", definition.name));
        }
        in_force.push(definition);
    }
    let emitter = Emitter { version, in_force };
    let mut wanted: Vec<String> = ALWAYS.iter().map(|name| (*name).to_owned()).collect();
    for definition in &emitter.in_force {
        match &definition.role {
            Role::Part => {}
            Role::Error { .. } => wanted.push(definition.name.clone()),
            Role::Message { result, .. } => {
                wanted.push(definition.name.clone());
                wanted.extend(result.clone());
            }
        }
    }
    let mut reached = BTreeSet::new();
    let mut written = Map::new();
    while let Some(name) = wanted.pop() {
        if ALWAYS.contains(&name.as_str()) && emitter.find(&name).is_err() || !reached.insert(name.clone()) {
            continue;
        }
        let body = emitter.definition(emitter.find(&name)?)?;
        references(&body, &mut wanted);
        written.insert(name, body);
    }
    let defs: Map<String, Value> = emitter
        .in_force
        .iter()
        .filter_map(|d| written.get(&d.name).map(|body| (d.name.clone(), body.clone())))
        .collect();
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("MCP on the wire, {version}"),
        "description": "One message. Written from the specification; generated from `source/*.wire`, so change it there.",
        "$ref": "#/$defs/JSONRPCMessage",
        "$defs": defs,
    }))
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("$ref", Value::String(target)) => {
                        found.extend(target.strip_prefix("#/$defs/").map(str::to_owned));
                    }
                    _ => references(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

struct Emitter<'a> {
    version: &'a str,
    in_force: Vec<&'a Definition>,
}

impl Emitter<'_> {
    fn find(&self, name: &str) -> Result<&Definition, String> {
        let found = self.in_force.iter().find(|d| d.name == name);
        found.copied().ok_or_else(|| format!("{}: `{name}` is not defined", self.version))
    }

    fn definition(&self, definition: &Definition) -> Result<Value, String> {
        let mut out = Map::new();
        if !definition.about.is_empty() {
            out.insert("description".into(), definition.about.clone().into());
        }
        let shape = self.shape(&definition.shape)?;
        match &definition.role {
            Role::Part => merge(&mut out, shape),
            Role::Error { code } => {
                let mut required = vec!["code", "message"];
                let mut error = Map::new();
                error.insert("code".into(), json!({ "const": code }));
                error.insert("message".into(), json!({ "type": "string" }));
                if shape.get("required").is_some() {
                    required.push("data");
                    error.insert("data".into(), shape);
                }
                merge(
                    &mut out,
                    json!({
                        "type": "object",
                        "required": ["jsonrpc", "error"],
                        "properties": {
                            "jsonrpc": { "const": "2.0" },
                            "id": { "$ref": "#/$defs/RequestId" },
                            "error": { "type": "object", "required": required, "properties": error },
                        },
                    }),
                );
            }
            Role::Message { sender, method, result, extension, forced } => {
                out.insert("x-sender".into(), sender.clone().into());
                let mut required = vec!["jsonrpc"];
                let mut properties = Map::new();
                properties.insert("jsonrpc".into(), json!({ "const": "2.0" }));
                if let Some(result) = result {
                    out.insert("x-result".into(), result.clone().into());
                    required.push("id");
                    properties.insert("id".into(), json!({ "$ref": "#/$defs/RequestId" }));
                }
                if let Some(extension) = extension {
                    out.insert("x-extension".into(), extension.clone().into());
                }
                required.push("method");
                properties.insert("method".into(), json!({ "const": method }));
                if *forced || self.demands(&definition.shape)? {
                    required.push("params");
                }
                properties.insert("params".into(), shape);
                merge(&mut out, json!({ "type": "object", "required": required, "properties": properties }));
            }
        }
        Ok(out.into())
    }

    /// Whether a value of this shape must have a member, so that the parameters can't be left out.
    fn demands(&self, shape: &Type) -> Result<bool, String> {
        Ok(match shape {
            Type::Object(members) => self.flatten(members)?.iter().any(|(_, optional, _)| !optional),
            Type::Named(name) => self.demands(&self.find(name)?.shape)?,
            Type::OneOf(parts) | Type::All(parts) => {
                parts.iter().map(|p| self.demands(p)).collect::<Result<Vec<_>, _>>()?.contains(&true)
            }
            _ => true,
        })
    }

    fn flatten<'s>(&'s self, members: &'s [Member]) -> Result<Vec<(&'s str, bool, &'s Type)>, String> {
        let mut out: Vec<(&str, bool, &Type)> = Vec::new();
        for member in members {
            match member {
                Member::Include { name, range } if range.holds(self.version) => {
                    match &self.find(name)?.shape {
                        Type::Object(inner) => out.extend(self.flatten(inner)?),
                        _ => return Err(format!("`{name}` has no members to include")),
                    }
                }
                Member::Field { name, optional, shape, range } if range.holds(self.version) => {
                    // A later member of the same name narrows an included one.
                    out.retain(|(known, ..)| known != name);
                    out.push((name, *optional, shape));
                }
                _ => {}
            }
        }
        Ok(out)
    }

    fn shape(&self, shape: &Type) -> Result<Value, String> {
        Ok(match shape {
            Type::Any => json!({}),
            Type::Plain(name, None) => json!({ "type": name }),
            Type::Plain(name, Some(format)) if name == "string" => json!({ "type": name, "format": format }),
            Type::Plain(name, Some(bounds)) => {
                with_bounds(json!({ "type": name }), bounds, "minimum", "maximum")?
            }
            Type::Const(value) => json!({ "const": value }),
            Type::Named(name) => {
                self.find(name)?;
                json!({ "$ref": format!("#/$defs/{name}") })
            }
            Type::Array(items, bounds) => {
                let array = json!({ "type": "array", "items": self.shape(items)? });
                match bounds {
                    Some(bounds) => with_bounds(array, bounds, "minItems", "maxItems")?,
                    None => array,
                }
            }
            Type::Map(values) => json!({ "type": "object", "additionalProperties": self.shape(values)? }),
            Type::OneOf(parts) => self.one_of(parts)?,
            Type::All(parts) => {
                let parts = parts.iter().map(|p| self.shape(p)).collect::<Result<Vec<_>, _>>()?;
                json!({ "allOf": parts })
            }
            Type::Object(members) => self.object(members)?,
        })
    }

    fn object(&self, members: &[Member]) -> Result<Value, String> {
        let live: Vec<&Member> = members
            .iter()
            .filter(|member| match member {
                Member::Include { range, .. } | Member::Field { range, .. } => range.holds(self.version),
            })
            .collect();
        if let [Member::Include { name, .. }] = live.as_slice() {
            return Ok(json!({ "$ref": format!("#/$defs/{name}") }));
        }
        let flat = self.flatten(members)?;
        let required: Vec<&str> =
            flat.iter().filter(|(_, optional, _)| !optional).map(|(n, ..)| *n).collect();
        let mut properties = Map::new();
        for (name, _, shape) in &flat {
            properties.insert((*name).to_owned(), self.shape(shape)?);
        }
        let mut out = Map::new();
        out.insert("type".into(), "object".into());
        if !required.is_empty() {
            out.insert("required".into(), json!(required));
        }
        if !properties.is_empty() {
            out.insert("properties".into(), properties.into());
        }
        Ok(out.into())
    }

    fn one_of(&self, parts: &[Type]) -> Result<Value, String> {
        let consts: Vec<&Value> = parts
            .iter()
            .filter_map(|p| if let Type::Const(value) = p { Some(value) } else { None })
            .collect();
        if consts.len() == parts.len() {
            return Ok(json!({ "enum": consts }));
        }
        let mut plain = Vec::new();
        let mut choices = Vec::new();
        for part in parts {
            match part {
                Type::Plain(name, None) => plain.push(name.clone()),
                _ => choices.push(self.shape(part)?),
            }
        }
        if !plain.is_empty() {
            choices.insert(0, json!({ "type": plain }));
        }
        Ok(if choices.len() == 1 { choices.remove(0) } else { json!({ "anyOf": choices }) })
    }
}

fn with_bounds(mut value: Value, bounds: &str, low: &str, high: &str) -> Result<Value, String> {
    let (from, to) = bounds.split_once("..").ok_or_else(|| format!("`<{bounds}>` is no range"))?;
    for (key, bound) in [(low, from), (high, to)] {
        if !bound.is_empty() {
            let number: u64 = bound.parse().map_err(|e| format!("`<{bounds}>`: {e}"))?;
            value[key] = number.into();
        }
    }
    Ok(value)
}

fn merge(into: &mut Map<String, Value>, from: Value) {
    if let Value::Object(members) = from {
        into.extend(members);
    }
}
