//! Schemas from a server: of a tool's arguments, of its results. Each is checked by the dialect that it
//! names. It never fetches what a schema refers to, and never panics on an invalid one.

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
    /// The fault in a sentence: no JSON Schema, an unknown dialect, or a reference out of the document.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        if !schema.is_object() && !schema.is_boolean() {
            return Err("a JSON Schema is an object".to_owned());
        }
        jsonschema::options()
            .build(schema)
            .map(|validator| Self { validator })
            .map_err(|error| format!("{}: {error}", error.schema_path()))
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
    fn an_invalid_schema_is_reported_and_nothing_is_fetched() {
        for bad in [
            json!(null),
            json!([]),
            json!({"type": "nothing"}),
            json!({"$ref": "https://contoso.com/x.json"}),
        ] {
            assert!(Foreign::compile(&bad).is_err(), "{bad}");
        }
        assert!(!Foreign::compile(&json!({"type": "object"})).unwrap().errors(&json!(1)).is_empty());
    }
}
