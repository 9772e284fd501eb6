//! A member of a message by the names that lead to it.

use serde_json::Value;

/// The value that lies so many members down; unlike a JSON pointer it costs no allocation.
pub(crate) fn down<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}
