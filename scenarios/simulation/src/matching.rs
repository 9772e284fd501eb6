//! Subset matching of JSON: what a scenario names must be there, the rest may be. Lists match whole.

use serde_json::Value;

/// Where and how `value` does not hold `pattern`; `None` when it does.
pub fn mismatch(pattern: &Value, value: &Value) -> Option<String> {
    at("", pattern, value)
}

fn at(path: &str, pattern: &Value, value: &Value) -> Option<String> {
    match (pattern, value) {
        (Value::Object(wanted), Value::Object(there)) => wanted.iter().find_map(|(key, pattern)| {
            let path = format!("{path}/{key}");
            match there.get(key) {
                Some(value) => at(&path, pattern, value),
                None if pattern.is_null() => None,
                None => Some(format!("{path} is missing")),
            }
        }),
        (Value::Array(wanted), Value::Array(there)) if wanted.len() == there.len() => wanted
            .iter()
            .zip(there)
            .enumerate()
            .find_map(|(index, (pattern, value))| at(&format!("{path}/{index}"), pattern, value)),
        (Value::Array(wanted), Value::Array(there)) => {
            Some(format!("{} has {} items, not {}", name(path), there.len(), wanted.len()))
        }
        _ if pattern == value => None,
        _ => Some(format!("{} is {value}, not {pattern}", name(path))),
    }
}

fn name(path: &str) -> &str {
    if path.is_empty() { "it" } else { path }
}

/// The first JSON value in a text that may have something before or after it.
pub(crate) fn first_json(text: &str) -> Option<Value> {
    let start = text.find('{')?;
    serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn more_members_are_fine_and_the_first_difference_is_named() {
        assert_eq!(mismatch(&json!({"a": {"b": 1}}), &json!({"a": {"b": 1, "c": 2}})), None);
        assert_eq!(mismatch(&json!({"a": [1]}), &json!({"a": [1, 2]})), Some("/a has 2 items, not 1".into()));
        assert_eq!(mismatch(&json!({"a": 1}), &json!({"a": 2})), Some("/a is 2, not 1".into()));
        assert_eq!(mismatch(&json!({"a": null}), &json!({})), None);
    }
}
