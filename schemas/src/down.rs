//! Finds a member of a message by path.

use serde_json::Value;

/// The value at a path of members; unlike a JSON pointer it needs no allocation.
pub(crate) fn down<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}
