//! Compiles schemas and converts the library's errors. It never repeats a message's contents: it names types,
//! members and places.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

use crate::verdict::{ERRORS_MAX, WireError};

/// The rule of all errors that a schema finds.
pub(crate) const SCHEMA: &str = "schema";
/// Members that distinguish the shapes of a union.
const DISCRIMINATORS: [&str; 4] = ["/type", "/method", "/mode", "/status"];
/// Depth of nested unions that are explained.
const DEPTH_MAX: usize = 6;

/// Compiles a schema for this crate: formats are checked, `byte` is base64, nothing is fetched.
pub(crate) fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .with_format("byte", is_base64)
        .build(schema)
}

/// Standard base64 with its padding, without line breaks.
fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// All errors of a value, at most [`ERRORS_MAX`]; `at` is put before the paths.
pub(crate) fn errors(validator: &Validator, value: &Value, at: &str) -> Vec<WireError> {
    let mut out = Vec::new();
    for error in validator.iter_errors(value) {
        explain(&error, at, 0, &mut out);
        if out.len() >= ERRORS_MAX {
            break;
        }
    }
    out.truncate(ERRORS_MAX);
    out
}

fn explain(error: &ValidationError<'_>, at: &str, depth: usize, out: &mut Vec<WireError>) {
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } =
        error.kind()
        && depth < DEPTH_MAX
        && let Some(meant) = meant(error, context)
    {
        for inner in meant {
            explain(inner, at, depth + 1, out);
        }
        return;
    }
    if let ValidationErrorKind::AnyOf { context } = error.kind()
        && let Some(unknown) = unknown(context, at)
    {
        out.push(unknown);
        return;
    }
    out.push(WireError::new(format!("{at}{}", error.instance_path().as_str()), text(error), SCHEMA));
}

/// The shape of a union that the value was meant to have: the only one whose discriminators fit.
fn meant<'e>(
    error: &ValidationError<'_>,
    context: &'e [Vec<ValidationError<'static>>],
) -> Option<&'e Vec<ValidationError<'static>>> {
    let here = error.instance_path().as_str();
    let rules_out = |inner: &ValidationError<'static>| {
        let path = inner.instance_path().as_str().strip_prefix(here).unwrap_or_default();
        match inner.kind() {
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => {
                DISCRIMINATORS.contains(&path)
            }
            // The value itself has the wrong type, so this shape was not meant either.
            ValidationErrorKind::Type { .. } => path.is_empty(),
            _ => false,
        }
    };
    let mut left = context.iter().filter(|branch| !branch.iter().any(rules_out));
    let first = left.next()?;
    // If several are left, the one that lacks the fewest members was meant; a present member shows its shape
    // even if its value is wrong.
    let lacks = |branch: &Vec<ValidationError<'static>>| {
        branch.iter().filter(|inner| matches!(inner.kind(), ValidationErrorKind::Required { .. })).count()
    };
    std::iter::once(first).chain(left).min_by_key(|branch| (lacks(branch), branch.len()))
}

/// If one and the same member rules out every shape: the values that it could have had.
fn unknown(context: &[Vec<ValidationError<'static>>], at: &str) -> Option<WireError> {
    let mut place = None;
    let mut allowed = Vec::new();
    for branch in context {
        let (path, value) = branch.iter().find_map(|inner| match inner.kind() {
            ValidationErrorKind::Constant { expected_value } => Some((inner.instance_path(), expected_value)),
            _ => None,
        })?;
        if *place.get_or_insert(path) != path {
            return None;
        }
        allowed.push(value.to_string());
    }
    let path = format!("{at}{}", place?.as_str());
    Some(WireError::new(path, format!("must be one of {}", allowed.join(", ")), SCHEMA))
}

fn text(error: &ValidationError<'_>) -> String {
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("member {property} is missing")
        }
        ValidationErrorKind::Type { kind } => {
            let wanted = match kind {
                TypeKind::Single(one) => one.to_string(),
                TypeKind::Multiple(many) => {
                    many.iter().map(|t| t.to_string()).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("expected {wanted}, found {}", kind_of(error.instance()))
        }
        ValidationErrorKind::Constant { expected_value } => format!("must be {expected_value}"),
        ValidationErrorKind::Enum { options } => format!("must be one of {options}"),
        ValidationErrorKind::Format { format } if format == "byte" => "is not base64".to_owned(),
        ValidationErrorKind::Format { format } => format!("is not a valid {format}"),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
            "fits none of the allowed shapes".to_owned()
        }
        _ => error.masked().to_string(),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_there_tells_which_shape_was_meant() {
        let shape = |member: &str, format: Option<&str>| {
            let mut of = serde_json::json!({"type": "string"});
            if let Some(format) = format {
                of["format"] = format.into();
            }
            serde_json::json!({"type": "object", "properties": {member: of}, "required": [member]})
        };
        let schema = serde_json::json!({"anyOf": [shape("text", None), shape("blob", Some("byte"))]});
        let found = errors(&compile(&schema).unwrap(), &serde_json::json!({"blob": "no base64!"}), "");
        let [error] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((error.path.as_str(), error.message.as_str()), ("/blob", "is not base64"));
    }

    #[test]
    fn base64_is_padded_and_in_one_piece() {
        for good in ["", "AAAA", "QQ==", "QUI=", "a+/0"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in ["A", "AAA", "A===", "AA AA===", "=AAA", "AAAA\n", "AB-_"] {
            assert!(!is_base64(bad), "{bad}");
        }
    }
}
