//! Changes to a payload, with which a scenario goes beyond the documentation.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Changes to a finished payload, because a service can send payloads that are not in its documentation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RawOverride {
    /// The new values by JSON pointer, e.g. `/from/user/displayName`.
    pub set: BTreeMap<String, Value>,
    /// The JSON pointers of the values that are removed.
    pub remove: Vec<String>,
}

impl RawOverride {
    /// An override that sets one value.
    pub fn setting(pointer: &str, value: Value) -> Self {
        Self { set: BTreeMap::from([(pointer.to_owned(), value)]), remove: Vec::new() }
    }

    /// An override that removes one value.
    pub fn removing(pointer: &str) -> Self {
        Self { set: BTreeMap::new(), remove: vec![pointer.to_owned()] }
    }

    /// The first text that is not a JSON pointer, if any.
    pub(super) fn broken_pointer(&self) -> Option<&str> {
        self.set.keys().chain(&self.remove).map(String::as_str).find(|pointer| !pointer.starts_with('/'))
    }

    pub(super) fn apply(&self, payload: &mut Value) {
        for (pointer, value) in &self.set {
            if let Some((parent, key)) = slot(payload, pointer) {
                parent.insert(key, value.clone());
            }
        }
        for pointer in &self.remove {
            if let Some((parent, key)) = slot(payload, pointer) {
                parent.remove(&key);
            }
        }
    }
}

/// The object that holds the value at `pointer`, and the value's key.
fn slot<'a>(
    payload: &'a mut Value,
    pointer: &str,
) -> Option<(&'a mut serde_json::Map<String, Value>, String)> {
    let (parent, key) = pointer.rsplit_once('/')?;
    let key = key.replace("~1", "/").replace("~0", "~");
    Some((payload.pointer_mut(parent)?.as_object_mut()?, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_override_sets_and_removes_and_ignores_a_missing_place() {
        let mut payload = json!({"from": {"user": {"displayName": "Alice"}}, "id": "1"});
        let mut raw = RawOverride::setting("/from/user/displayName", Value::Null);
        raw.set.insert("/nowhere/at/all".into(), json!(1));
        raw.remove.push("/id".into());
        raw.apply(&mut payload);
        assert_eq!(payload, json!({"from": {"user": {"displayName": null}}}));
        assert_eq!(RawOverride::removing("id").broken_pointer(), Some("id"));
    }
}
