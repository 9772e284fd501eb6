//! The schemas of this project's documents, embedded by name. A missing schema is no error here, because the
//! build of its owner may not have written it yet.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::explain;
use crate::rules;
use crate::verdict::{Findings, WireError};

/// `(name, text)`, sorted by name.
static EMBEDDED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/own.rs"));

struct Own {
    name: &'static str,
    validator: Result<Validator, String>,
    /// Whether it describes a whole message, not only the parameters.
    whole: bool,
}

fn all() -> &'static [Own] {
    static ALL: OnceLock<Vec<Own>> = OnceLock::new();
    ALL.get_or_init(|| {
        EMBEDDED
            .iter()
            .map(|(name, text)| {
                let schema: Result<Value, _> = serde_json::from_str(text);
                let whole = schema.as_ref().is_ok_and(|s| s.pointer("/properties/method").is_some());
                let validator = schema
                    .map_err(|e| format!("own/{name}.schema.json: {e}"))
                    .and_then(|s| explain::compile(&s).map_err(|e| format!("own/{name}.schema.json: {e}")));
                Own { name, validator, whole }
            })
            .collect()
    })
}

/// The names that are embedded, sorted: `push` stands for `own/push.schema.json`.
pub fn names() -> impl Iterator<Item = &'static str> {
    EMBEDDED.iter().map(|(name, _)| *name)
}

/// The text of a schema.
pub fn text(name: &str) -> Option<&'static str> {
    EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Why a document does not fit the schema with this name; empty if it fits.
///
/// # Errors
/// If the schema is not embedded, or is no JSON Schema.
pub fn check(name: &str, document: &Value) -> Result<Vec<WireError>, String> {
    let own = all().iter().find(|own| own.name == name);
    let own = own.ok_or_else(|| format!("there is no schema `{name}`; write own/{name}.schema.json"))?;
    let validator = own.validator.as_ref().map_err(Clone::clone)?;
    if validator.is_valid(document) { Ok(Vec::new()) } else { Ok(explain::errors(validator, document, "")) }
}

/// The notification that Claude Code shows to its model.
pub(crate) const CHANNEL: &str = "notifications/claude/channel";

/// Checks a channel push of this project's server against its schema, if that is embedded.
pub(crate) fn push(message: &Value, at: &str, found: &mut Findings) {
    let Some(own) = all().iter().find(|own| own.name == "push") else { return };
    let Ok(validator) = &own.validator else { return };
    let (part, at) =
        if own.whole { (message, at.to_owned()) } else { (&message["params"], format!("{at}/params")) };
    if !validator.is_valid(part) {
        for error in explain::errors(validator, part, &at) {
            found.push(WireError { rule: rules::PUSH.id, ..error });
        }
    }
}

/// The schema of the draft extension: an object of message parts by name.
const EVENTS: &str = "mcp-events";

/// Whether a method belongs to the draft extension.
pub(crate) fn is_of_events(method: &str) -> bool {
    method.strip_prefix("notifications/").unwrap_or(method).starts_with("events/")
}

/// Checks a part of the draft extension against its schema, if that is embedded: `params` by the method,
/// results by the method and `#result`.
pub(crate) fn events(part: &str, value: &Value, at: &str, found: &mut Findings) {
    let Some(own) = all().iter().find(|own| own.name == EVENTS) else { return };
    let Ok(validator) = &own.validator else { return };
    let document = json!({ part: value });
    if !validator.is_valid(&document) {
        for error in explain::errors(validator, &document, at) {
            found.push(WireError { rule: rules::EVENTS.id, ..error });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_in_the_folder_is_embedded_and_compiles() {
        let mut there: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/own"))
            .unwrap()
            .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".schema.json").map(str::to_owned))
            .collect();
        there.sort();
        assert_eq!(there, names().collect::<Vec<_>>());
        for own in all() {
            assert_eq!(own.validator.as_ref().err(), None);
            assert!(text(own.name).is_some());
        }
    }

    #[test]
    fn a_missing_schema_is_named() {
        assert!(check("nothing", &Value::Null).unwrap_err().contains("own/nothing.schema.json"));
    }
}
