//! Schemas from a server: of a tool's arguments, of its results. Each is checked by the dialect that it
//! names. It never fetches what a schema refers to, and never panics on an invalid one. JSON Schema lets a schema refer to
//! an address elsewhere, and MCP lets no reader follow it unasked, so what stands there counts as a schema that everything fits.

use jsonschema::Validator;
use serde_json::Value;

use crate::explain;
use crate::verdict::WireError;

/// A compiled schema from a server.
#[derive(Debug)]
pub struct Foreign {
    validator: Validator,
}

impl Foreign {
    /// Compiles a schema by its `$schema`, or by 2020-12 if it names none.
    ///
    /// # Errors
    /// The fault in a sentence: no JSON Schema, an unknown dialect, or a reference to nothing in its own document.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err("a JSON Schema is an object".to_owned());
        }
        let build = |schema: &Value| jsonschema::options().build(schema).map(|validator| Self { validator });
        let error = match build(schema) {
            Ok(compiled) => return Ok(compiled),
            Err(error) => match error.schema_path().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            },
        };
        let mut here = schema.clone();
        let refers_elsewhere = leave_out_elsewhere(&mut here) > 0;
        refers_elsewhere.then(|| build(&here).ok()).flatten().ok_or(error)
    }

    /// Whether a value fits.
    pub fn fits(&self, value: &Value) -> bool {
        self.validator.is_valid(value)
    }

    /// Why a value does not fit; empty if it fits.
    pub fn errors(&self, value: &Value) -> Vec<WireError> {
        explain::errors(&self.validator, value, "")
    }
}

/// Takes the references to other addresses out of a schema; gives how many there were.
fn leave_out_elsewhere(value: &mut Value) -> usize {
    match value {
        Value::Object(members) => {
            let to = members.get("$ref").and_then(Value::as_str);
            let is_elsewhere = to.is_some_and(|to| to.contains("://"));
            if is_elsewhere {
                members.remove("$ref");
            }
            usize::from(is_elsewhere) + members.values_mut().map(leave_out_elsewhere).sum::<usize>()
        }
        Value::Array(items) => items.iter_mut().map(leave_out_elsewhere).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_is_held_to_its_dialect() {
        let old =
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
        assert!(!Foreign::compile(&old).unwrap().fits(&json!([1])));
        let new = json!({"prefixItems": [{"type": "string"}]});
        assert!(!Foreign::compile(&new).unwrap().fits(&json!([1])));
    }

    #[test]
    fn a_reference_elsewhere_is_valid_and_is_not_followed() {
        for there in
            ["https://contoso.com/x.json", "https://contoso.com/x.json#/$defs/a", "file:///etc/passwd"]
        {
            let schema = json!({"type": "object", "properties": {"a": {"$ref": there}}, "required": ["b"]});
            let schema = Foreign::compile(&schema).unwrap();
            assert!(schema.fits(&json!({"a": 1, "b": 2})), "{there}");
            assert!(!schema.fits(&json!({"a": 1})), "what stands here counts: {there}");
        }
        let dangling = Foreign::compile(&json!({"$ref": "#/$defs/none"})).unwrap_err();
        assert!(!dangling.starts_with(':'), "{dangling}");
    }

    #[test]
    fn an_invalid_schema_is_reported() {
        for bad in [json!(null), json!([]), json!({"type": "nothing"}), json!({"$ref": "#/$defs/none"})] {
            assert!(Foreign::compile(&bad).is_err(), "{bad}");
        }
        assert!(!Foreign::compile(&json!({"type": "object"})).unwrap().errors(&json!(1)).is_empty());
    }
}
