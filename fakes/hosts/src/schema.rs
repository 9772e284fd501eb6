//! Finds the features of a tool's declaration because of which some host, or the API of its model, may refuse it.
//! It validates no schema, and never follows a reference.

use host_profiles::{Fact, Fate, Schemas};
use serde_json::Value;

/// Depth to which a schema is searched.
const DEPTH_MAX: usize = 32;

/// A feature of a tool's declaration, most of them of its input schema.
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
    /// The `type` of a schema inside is a list.
    TypeLists,
    /// There is no input schema, or it is null.
    NoSchema,
    /// The description, the title or the annotations are null.
    NullMembers,
    /// The output schema is null.
    NullOutput,
    /// The description is no text.
    WrongDescription,
    /// There is no name.
    Nameless,
}

impl SchemaFeature {
    /// Every feature, in the order of the facts.
    pub const ALL: [Self; 10] = [
        Self::WithoutProperties,
        Self::RootUnion,
        Self::RootNotObject,
        Self::References,
        Self::TypeLists,
        Self::NoSchema,
        Self::NullMembers,
        Self::NullOutput,
        Self::WrongDescription,
        Self::Nameless,
    ];

    /// The feature as a text after "a tool with".
    pub fn words(self) -> &'static str {
        match self {
            Self::WithoutProperties => "an input schema without `properties`",
            Self::RootUnion => "`anyOf`, `oneOf` or `allOf` at the root of its input schema",
            Self::RootNotObject => "an input schema whose root is no object",
            Self::References => "`$ref` in its input schema",
            Self::TypeLists => "a list of types in its input schema",
            Self::NoSchema => "no input schema",
            Self::NullMembers => "a description, a title or annotations of null",
            Self::NullOutput => "an output schema of null",
            Self::WrongDescription => "a description that is no text",
            Self::Nameless => "no name",
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
            Self::NoSchema => (&schemas.no_schema, "schemas.no_schema"),
            Self::NullMembers => (&schemas.null_members, "schemas.null_members"),
            Self::NullOutput => (&schemas.null_output, "schemas.null_output"),
            Self::WrongDescription => (&schemas.wrong_description, "schemas.wrong_description"),
            Self::Nameless => (&schemas.nameless, "schemas.nameless"),
        }
    }
}

/// The features of a tool's declaration, in the order of [`SchemaFeature::ALL`].
pub fn schema_features(tool: &Value) -> Vec<SchemaFeature> {
    let schema = tool.get("inputSchema").filter(|schema| !schema.is_null());
    let none = Value::Null;
    let (there_is, schema) = (schema.is_some(), schema.unwrap_or(&none));
    let has = |name: &str| schema.get(name).is_some();
    let null = |name: &str| tool.get(name) == Some(&Value::Null);
    let there = |feature: SchemaFeature| match feature {
        SchemaFeature::WithoutProperties => there_is && !has("properties"),
        SchemaFeature::RootUnion => has("anyOf") || has("oneOf") || has("allOf"),
        SchemaFeature::RootNotObject => {
            there_is && schema.get("type").and_then(Value::as_str) != Some("object")
        }
        SchemaFeature::References => any(schema, 0, &|schema| schema.get("$ref").is_some()),
        // A list at the root makes it no object, whatever is inside.
        SchemaFeature::TypeLists => {
            any(schema, 0, &|one| !std::ptr::eq(one, schema) && one.get("type").is_some_and(Value::is_array))
        }
        SchemaFeature::NoSchema => !there_is,
        SchemaFeature::NullMembers => ["description", "title", "annotations"].into_iter().any(null),
        SchemaFeature::NullOutput => null("outputSchema"),
        SchemaFeature::WrongDescription => {
            tool.get("description").is_some_and(|text| !text.is_string() && !text.is_null())
        }
        SchemaFeature::Nameless => !tool.get("name").is_some_and(Value::is_string),
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
        assert_eq!(schema_features(&json!({"name": "a", "inputSchema": schema})), []);
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
