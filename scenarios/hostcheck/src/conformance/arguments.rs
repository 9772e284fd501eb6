//! Makes arguments for a tool from its input schema: as few members as it allows, the same for the same seed.
//! The result is always validated against the schema; if that fails, there are no arguments.

use schemas::Foreign;
use serde_json::{Map, Value, json};

/// Depth to which a schema is followed.
const DEPTH_MAX: usize = 12;
/// Longest text or list that is made to satisfy a schema.
const LENGTH_MAX: u64 = 10_000;

/// Arguments that fit a tool's input schema, or the reason why none could be made.
pub(crate) fn make(schema: &Value, seed: u64) -> Result<Value, String> {
    let compiled = Foreign::compile(schema)?;
    let value = Maker { root: schema, seed }.value(schema, "", 0);
    let value = if value.is_object() { value } else { json!({}) };
    match compiled.errors(&value).first() {
        None => Ok(value),
        Some(error) => Err(format!("no arguments could be made from its schema: {}", error.message)),
    }
}

/// Arguments that break the schema, for a required member is missing. `None` where it requires none.
pub(crate) fn break_one(schema: &Value, good: &Value) -> Option<Value> {
    let compiled = Foreign::compile(schema).ok()?;
    let required = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
    required.into_iter().find_map(|name| {
        let mut broken = good.clone();
        broken.as_object_mut()?.remove(name);
        (!compiled.fits(&broken)).then_some(broken)
    })
}

struct Maker<'a> {
    root: &'a Value,
    seed: u64,
}

impl Maker<'_> {
    fn value(&self, schema: &Value, path: &str, depth: usize) -> Value {
        if depth > DEPTH_MAX {
            return Value::Null;
        }
        if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
            return value.clone();
        }
        if let Some(values) = schema.get("enum").or_else(|| schema.get("examples")).and_then(Value::as_array)
            && let Some(value) = self.pick(values, path)
        {
            return value.clone();
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
            return target.map_or(Value::Null, |target| self.value(target, path, depth + 1));
        }
        for choice in ["anyOf", "oneOf"] {
            if let Some(shapes) = schema.get(choice).and_then(Value::as_array) {
                let real = shapes.iter().find(|shape| shape.get("type") != Some(&json!("null")));
                if let Some(shape) = real {
                    return self.with_members(self.value(shape, path, depth + 1), schema, path, depth);
                }
            }
        }
        self.typed(schema, path, depth)
    }

    fn typed(&self, schema: &Value, path: &str, depth: usize) -> Value {
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("null")
            }
            _ if schema.get("properties").is_some() || schema.get("allOf").is_some() => "object",
            _ => "string",
        };
        match kind {
            "object" => self.with_members(json!({}), schema, path, depth),
            "array" => {
                let count = number(schema, "minItems").unwrap_or(0.0);
                let item = schema.get("items").cloned().unwrap_or_default();
                let make = |index: u64| self.value(&item, &format!("{path}/{index}"), depth + 1);
                Value::Array((0..to_count(count)).map(make).collect())
            }
            "integer" => json!(Self::whole(schema)),
            "number" => {
                let whole = Self::whole(schema);
                let low = number(schema, "minimum");
                match low {
                    Some(low) if low.fract() != 0.0 => json!(low),
                    _ => json!(whole),
                }
            }
            "boolean" => json!(false),
            "null" => Value::Null,
            _ => json!(self.text(schema, path)),
        }
    }

    fn with_members(&self, made: Value, schema: &Value, path: &str, depth: usize) -> Value {
        let Value::Object(mut members) = made else { return made };
        let all = schema.get("allOf").and_then(Value::as_array).into_iter().flatten();
        for part in all {
            if let Value::Object(more) = self.value(part, path, depth + 1) {
                members.extend(more);
            }
        }
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            let of = properties.get(name).cloned().unwrap_or_default();
            let value = self.value(&of, &format!("{path}/{name}"), depth + 1);
            members.insert(name.to_owned(), value);
        }
        Value::Object(members)
    }

    /// The smallest whole number within the bounds, from 1 on if they allow it.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a float that is too large is cut to the largest integer"
    )]
    fn whole(schema: &Value) -> i64 {
        let low = number(schema, "minimum").map(|low| low.ceil() as i64);
        let above = number(schema, "exclusiveMinimum").map(|low| (low.floor() as i64).saturating_add(1));
        let high = number(schema, "maximum").map(|high| high.floor() as i64);
        let below = number(schema, "exclusiveMaximum").map(|high| (high.ceil() as i64).saturating_sub(1));
        let low = low.into_iter().chain(above).max();
        let high = high.into_iter().chain(below).min();
        let wanted = 1.max(low.unwrap_or(1)).min(high.unwrap_or(i64::MAX));
        match number(schema, "multipleOf").map(|step| step as i64) {
            Some(step) if step > 1 => {
                wanted.div_euclid(step).saturating_add(i64::from(wanted.rem_euclid(step) != 0)) * step
            }
            _ => wanted,
        }
    }

    fn text(&self, schema: &Value, path: &str) -> String {
        let fixed = match schema.get("format").and_then(Value::as_str) {
            Some("date-time") => Some("2026-01-02T03:04:05Z"),
            Some("date") => Some("2026-01-02"),
            Some("time") => Some("03:04:05Z"),
            Some("email") => Some("alice@contoso.com"),
            Some("uri" | "url" | "iri") => Some("https://contoso.com/"),
            Some("uuid") => Some("00000000-0000-4000-8000-000000000001"),
            Some("ipv4") => Some("192.0.2.1"),
            Some("hostname") => Some("contoso.com"),
            _ => None,
        };
        let words = ["hello", "alice", "one", "text"].map(|word| json!(word));
        let word = self.pick(&words, path).and_then(Value::as_str).unwrap_or("text");
        let mut text = fixed.unwrap_or(word).to_owned();
        let (low, high) = (number(schema, "minLength").unwrap_or(0.0), number(schema, "maxLength"));
        let length = text.chars().count() as u64;
        text.extend(std::iter::repeat_n(
            'a',
            usize::try_from(to_count(low).saturating_sub(length)).unwrap_or(0),
        ));
        if let Some(high) = high {
            text = text.chars().take(usize::try_from(to_count(high)).unwrap_or(usize::MAX)).collect();
        }
        text
    }

    /// Chooses one of the values by the seed and the place.
    fn pick<'v>(&self, values: &'v [Value], path: &str) -> Option<&'v Value> {
        let mixed = path.bytes().fold(self.seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let index = mixed.checked_rem(values.len() as u64)?;
        values.get(usize::try_from(index).ok()?)
    }
}

fn number(schema: &Value, member: &str) -> Option<f64> {
    schema.get(member)?.as_f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "bounded just before"
)]
fn to_count(number: f64) -> u64 {
    number.clamp(0.0, LENGTH_MAX as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(json!({"type": "object"}))]
    #[case(json!({"type": "object", "properties": {"a": {"type": "number", "minimum": 2.5}}, "required": ["a"]}))]
    #[case(json!({"type": "object", "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": ["integer", "null"], "minimum": 5, "multipleOf": 4}}, "required": ["a", "b"]}))]
    #[case(json!({"type": "object", "properties": {"a": {"type": "array", "items": {"$ref": "#/$defs/one"}, "minItems": 2}}, "required": ["a"], "$defs": {"one": {"type": "string", "minLength": 9, "maxLength": 9}}}))]
    #[case(json!({"type": "object", "anyOf": [{"properties": {"id": {"type": "string", "format": "uuid"}}, "required": ["id"]}]}))]
    fn made_arguments_fit(#[case] schema: Value) {
        for seed in 0..4 {
            let made = make(&schema, seed).unwrap();
            assert_eq!(made, make(&schema, seed).unwrap());
        }
    }

    #[test]
    fn impossible_arguments_are_reported() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[0-9]{3}$"}}, "required": ["a"]});
        assert!(make(&schema, 1).unwrap_err().contains("no arguments"));
        assert!(make(&json!({"type": 5}), 1).is_err());
        let endless = json!({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]});
        assert!(make(&endless, 1).is_err());
    }

    #[test]
    fn a_required_member_is_left_out() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        assert_eq!(break_one(&schema, &json!({"a": "x"})), Some(json!({})));
        assert_eq!(break_one(&json!({"type": "object"}), &json!({})), None);
    }
}
