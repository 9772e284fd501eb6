//! JSON-RPC messages with their members in the order of a host. It builds messages; it never decides when to send
//! one.

use serde_json::{Map, Value};

/// Longest id that is kept as text, in bytes.
const ID_TEXT_BYTES_MAX: usize = 1024;

/// An object with `members` in the given order; members that the order does not name come last.
pub(crate) fn ordered(order: &[String], members: Vec<(&str, Value)>) -> Value {
    let mut object = Map::new();
    let mut rest = Vec::new();
    let mut members: Vec<Option<(&str, Value)>> = members.into_iter().map(Some).collect();
    for name in order {
        for member in &mut members {
            if member.as_ref().is_some_and(|(key, _)| key == name)
                && let Some((key, value)) = member.take()
            {
                object.insert(key.to_owned(), value);
            }
        }
    }
    rest.extend(members.into_iter().flatten());
    for (key, value) in rest {
        object.insert(key.to_owned(), value);
    }
    Value::Object(object)
}

/// The key under which an open request is remembered.
pub(crate) fn id_key(id: &Value) -> Option<String> {
    let text = match id {
        Value::Number(_) | Value::String(_) => id.to_string(),
        _ => return None,
    };
    (text.len() <= ID_TEXT_BYTES_MAX).then_some(text)
}

/// A line of the server, classified.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Incoming {
    /// An answer to one of the host's requests.
    Answer {
        /// Its id as a key.
        key: String,
        /// The `result`, or the `error`.
        body: Result<Value, Value>,
    },
    /// A request of the server.
    Request {
        /// Its id, for the answer.
        id: Value,
        /// The method.
        method: String,
        /// The params; null if there are none.
        params: Value,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The params; null if there are none.
        params: Value,
    },
    /// An empty line.
    Empty,
    /// No JSON-RPC message, with the reason.
    Noise(&'static str),
}

/// Puts values for `{names}` into a template; a name without a value stays as it is. The values are not
/// searched for names, so a hostile text can't name another value.
pub(crate) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let found = values.iter().find_map(|(name, value)| {
            let tail = rest.get(1..)?.strip_prefix(name)?.strip_prefix('}')?;
            Some((*value, tail))
        });
        if let Some((value, tail)) = found {
            text.push_str(value);
            rest = tail;
        } else {
            text.push('{');
            rest = &rest[1..];
        }
    }
    text.push_str(rest);
    text
}

/// A JSON value with its texts filled; a text that is only the name of a number becomes that number.
pub(crate) fn fill_all(value: &Value, values: &[(&str, &str)], numbers: &[(&str, u64)]) -> Value {
    match value {
        Value::String(text) => {
            let number =
                numbers.iter().find(|(name, _)| text.strip_prefix('{') == Some(&format!("{name}}}")));
            number.map_or_else(|| Value::String(fill(text, values)), |(_, number)| Value::from(*number))
        }
        Value::Array(items) => items.iter().map(|item| fill_all(item, values, numbers)).collect(),
        Value::Object(members) => {
            let filled = members.iter().map(|(name, one)| (name.clone(), fill_all(one, values, numbers)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

/// The UUID by which a fake host names the object with this number.
pub(crate) fn uuid(number: u64) -> String {
    format!("00000000-0000-7000-8000-{:012x}", number & 0xffff_ffff_ffff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_follow_the_order_and_the_rest_comes_last() {
        let order = ["b", "a"].map(str::to_owned);
        let value = ordered(&order, vec![("a", json!(1)), ("c", json!(3)), ("b", json!(2))]);
        assert_eq!(value.to_string(), r#"{"b":2,"a":1,"c":3}"#);
    }

    #[test]
    fn texts_and_numbers_are_filled_at_any_depth() {
        let template = json!({"a": "{x}", "b": ["{n}", {"c": "x{x}{n}"}], "d": 1});
        let filled = fill_all(&template, &[("x", "{n}")], &[("n", 7)]);
        assert_eq!(filled.to_string(), r#"{"a":"{n}","b":[7,{"c":"x{n}{n}"}],"d":1}"#);
    }

    #[test]
    fn a_filled_value_is_not_filled_again() {
        assert_eq!(fill("{a}{b}{c}{", &[("a", "{b}"), ("b", "x")]), "{b}x{c}{");
    }
}
