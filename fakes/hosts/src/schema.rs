//! Finds the features of a tool's input schema that some model APIs are known to refuse. It validates no
//! schema, and never follows a reference.

use serde_json::Value;

use super::profile::{Fact, Fate, Schemas};

/// Depth to which a schema is searched.
const DEPTH_MAX: usize = 32;

/// A feature of an input schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemaFeature {
    /// The root has no `properties`.
    WithoutProperties,
    /// The root is `anyOf`, `oneOf` or `allOf`.
    RootUnion,
    /// The root's type is not `object`.
    RootNotObject,
    /// There is a `$ref`.
    References,
    /// A `type` is a list.
    TypeLists,
}

impl SchemaFeature {
    /// Every feature, in the order of the facts.
    pub const ALL: [Self; 5] =
        [Self::WithoutProperties, Self::RootUnion, Self::RootNotObject, Self::References, Self::TypeLists];

    /// The feature as a text after "a tool with".
    pub fn words(self) -> &'static str {
        match self {
            Self::WithoutProperties => "an input schema without `properties`",
            Self::RootUnion => "`anyOf`, `oneOf` or `allOf` at the root of its input schema",
            Self::RootNotObject => "an input schema whose root is no object",
            Self::References => "`$ref` in its input schema",
            Self::TypeLists => "a list of types in its input schema",
        }
    }

    /// The profile's fact about the feature, and the name of the fact.
    pub fn fact(self, schemas: &Schemas) -> (&Fact<Fate>, &'static str) {
        match self {
            Self::WithoutProperties => (&schemas.without_properties, "schemas.without_properties"),
            Self::RootUnion => (&schemas.root_union, "schemas.root_union"),
            Self::RootNotObject => (&schemas.root_not_object, "schemas.root_not_object"),
            Self::References => (&schemas.references, "schemas.references"),
            Self::TypeLists => (&schemas.type_lists, "schemas.type_lists"),
        }
    }
}

/// The features of a tool's input schema, in the order of [`SchemaFeature::ALL`].
pub fn schema_features(tool: &Value) -> Vec<SchemaFeature> {
    let Some(schema) = tool.get("inputSchema") else { return Vec::new() };
    let has = |name: &str| schema.get(name).is_some();
    let there = |feature: SchemaFeature| match feature {
        SchemaFeature::WithoutProperties => !has("properties"),
        SchemaFeature::RootUnion => has("anyOf") || has("oneOf") || has("allOf"),
        SchemaFeature::RootNotObject => schema.get("type").and_then(Value::as_str) != Some("object"),
        SchemaFeature::References => any(schema, 0, &|schema| schema.get("$ref").is_some()),
        SchemaFeature::TypeLists => any(schema, 0, &|schema| schema.get("type").is_some_and(Value::is_array)),
    };
    SchemaFeature::ALL.into_iter().filter(|feature| there(*feature)).collect()
}

/// Whether the host leaves a tool out because of its schema.
pub(crate) fn is_dropped(schemas: &Schemas, tool: &Value) -> bool {
    schema_features(tool).into_iter().any(|feature| **feature.fact(schemas).0 == Fate::Dropped)
}

/// The first tool because of whose schema the host refuses the whole list, and the feature.
pub(crate) fn refuses_for<'a>(schemas: &Schemas, tools: &'a [Value]) -> Option<(&'a str, SchemaFeature)> {
    tools.iter().find_map(|tool| {
        let refused = |feature: &SchemaFeature| **feature.fact(schemas).0 == Fate::Refused;
        let feature = schema_features(tool).into_iter().find(refused)?;
        Some((tool.get("name").and_then(Value::as_str).unwrap_or_default(), feature))
    })
}

/// Whether an answer to `initialize` names the server and its version, which every version of MCP requires.
pub fn names_its_server(result: &Value) -> bool {
    ["/serverInfo/name", "/serverInfo/version"]
        .iter()
        .all(|at| result.pointer(at).is_some_and(Value::is_string))
}

/// Whether a tool runs as a task only, which 2025-11-25 has.
pub fn is_task_only(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").and_then(Value::as_str) == Some("required")
}

/// Whether a schema or one inside it satisfies a condition. Names of properties are no keywords.
fn any(schema: &Value, depth: usize, is: &dyn Fn(&Value) -> bool) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    let Value::Object(members) = schema else { return false };
    let within = |inner: &Value| any(inner, depth + 1, is);
    is(schema)
        || members.iter().any(|(name, inner)| match (name.as_str(), inner) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                Value::Object(all),
            ) => all.values().any(within),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems" | "items", Value::Array(all)) => {
                all.iter().any(within)
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                inner,
            ) => within(inner),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names;
    use crate::profile;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"type": "object", "properties": {"type": {"type": "string"}}}), &[])]
    #[case(json!({"type": "object"}), &[SchemaFeature::WithoutProperties])]
    #[case(json!({"type": "object", "properties": {}, "oneOf": []}), &[SchemaFeature::RootUnion])]
    #[case(json!({"type": "array", "properties": {}}), &[SchemaFeature::RootNotObject])]
    #[case(
        json!({"type": "object", "properties": {"a": {"items": {"$ref": "#/$defs/A"}}}}),
        &[SchemaFeature::References]
    )]
    #[case(
        json!({"type": "object", "properties": {"a": {"anyOf": [{"type": ["string", "null"]}]}}}),
        &[SchemaFeature::TypeLists]
    )]
    #[case(json!({"type": "object", "properties": {"$ref": {"type": "string"}}}), &[])]
    fn a_schema_shows_its_features(#[case] schema: Value, #[case] wanted: &[SchemaFeature]) {
        assert_eq!(schema_features(&json!({"name": "a", "inputSchema": schema})), wanted);
    }

    #[test]
    fn a_deep_schema_ends() {
        let mut schema = json!({"$ref": "#"});
        for _ in 0..100 {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        assert_eq!(schema_features(&json!({"inputSchema": schema})), []);
    }

    #[test]
    fn a_host_that_is_known_to_drop_a_feature_leaves_the_tool_out() {
        let mut profile = (*profile("claude-code@2.1.330").unwrap()).clone();
        let tool = json!({"name": "a", "inputSchema": {"type": "object", "properties": {}, "anyOf": []}});
        assert!(names::tool(&profile.names, &profile.schemas, "s", &tool).is_some());
        profile.schemas.root_union.value = Fate::Dropped;
        assert!(names::tool(&profile.names, &profile.schemas, "s", &tool).is_none());
    }
}
