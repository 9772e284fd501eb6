//! Reads the members of Graph's answers leniently: a member of another type counts as missing.

use serde_json::Value;

/// A member that is a text.
pub(crate) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The items of a member that is a list.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value.get(name).and_then(Value::as_array).into_iter().flatten()
}

/// Whether a body is a page at all: an object with a list.
pub(crate) fn is_page(body: &Value) -> bool {
    body.get("value").is_some_and(Value::is_array)
}

/// The items of a page, and the number of those that could not be read.
pub(crate) fn items<T>(page: &Value, read: impl Fn(&Value) -> Option<T>) -> (Vec<T>, usize) {
    let read: Vec<Option<T>> = list(page, "value").map(read).collect();
    let unreadable = read.iter().filter(|item| item.is_none()).count();
    (read.into_iter().flatten().collect(), unreadable)
}
