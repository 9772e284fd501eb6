//! Replays the log of changes in which the editor keeps a session since 1.109.
//!
//! It must never build more than the log holds: a place that the log has not made is not invented.

use serde_json::{Map, Value};

/// Deepest path of a change.
const DEPTH_MAX: usize = 64;

/// The state that a log builds.
#[derive(Debug, Default)]
pub(super) struct Replay {
    state: Value,
}

impl Replay {
    /// Applies an entry; `false` if it can't be.
    pub(super) fn apply(&mut self, mut entry: Value) -> bool {
        let kind = entry.get("kind").and_then(Value::as_u64);
        let value = entry.get_mut("v").map(Value::take);
        let path = entry.get("k").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if path.len() > DEPTH_MAX {
            return false;
        }
        match (kind, value) {
            (Some(0), Some(state)) => {
                self.state = state;
                true
            }
            (Some(1), Some(value)) => self.set(path, value),
            (Some(2), items) => self.push(path, entry.get("i").and_then(Value::as_u64), items),
            (Some(3), _) => self.delete(path),
            _ => false,
        }
    }

    /// The state.
    pub(super) fn state(&self) -> &Value {
        &self.state
    }

    /// The value at a path. A log that begins in the middle has lost its first entry, so members are made on the way.
    fn at(&mut self, path: &[Value]) -> Option<&mut Value> {
        let mut at = &mut self.state;
        for step in path {
            if at.is_null() && step.is_string() {
                *at = Value::Object(Map::new());
            }
            at = match (at, step) {
                (Value::Object(members), Value::String(name)) => {
                    members.entry(name.clone()).or_insert(Value::Null)
                }
                (Value::Array(items), Value::Number(index)) => {
                    items.get_mut(usize::try_from(index.as_u64()?).ok()?)?
                }
                _ => return None,
            };
        }
        Some(at)
    }

    fn set(&mut self, path: &[Value], value: Value) -> bool {
        if let Some((Value::Number(index), parent)) = path.split_last()
            && let Some(Value::Array(items)) = self.at(parent)
            && index.as_u64() == Some(items.len() as u64)
        {
            items.push(value);
            return true;
        }
        self.at(path).is_some_and(|at| {
            *at = value;
            true
        })
    }

    /// Cuts a list to `length`, then adds items.
    fn push(&mut self, path: &[Value], length: Option<u64>, items: Option<Value>) -> bool {
        let Some(at) = self.at(path) else { return false };
        if at.is_null() {
            *at = Value::Array(Vec::new());
        }
        let Value::Array(list) = at else { return false };
        if let Some(length) = length {
            list.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        }
        match items {
            Some(Value::Array(items)) => list.extend(items),
            None | Some(Value::Null) => {}
            Some(_) => return false,
        }
        true
    }

    fn delete(&mut self, path: &[Value]) -> bool {
        let Some((last, parent)) = path.split_last() else { return false };
        match (self.at(parent), last) {
            (Some(Value::Object(members)), Value::String(name)) => members.shift_remove(name).is_some(),
            (Some(Value::Array(items)), Value::Number(index)) => {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                index.and_then(|index| items.get_mut(index)).map(Value::take).is_some()
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn replay(entries: &[Value]) -> (Value, usize) {
        let mut replay = Replay::default();
        let refused = entries.iter().filter(|entry| !replay.apply((*entry).clone())).count();
        (replay.state.clone(), refused)
    }

    #[test]
    fn each_kind_of_entry_changes_the_state() {
        let (state, refused) = replay(&[
            json!({"kind": 0, "v": {"requests": [{"n": 1}], "title": "a", "old": 1}}),
            json!({"kind": 1, "k": ["title"], "v": "b"}),
            json!({"kind": 2, "k": ["requests"], "v": [{"n": 2}, {"n": 3}]}),
            json!({"kind": 2, "k": ["requests"], "i": 1, "v": [{"n": 4}]}),
            json!({"kind": 1, "k": ["requests", 1, "response"], "v": []}),
            json!({"kind": 2, "k": ["requests", 1, "response"], "v": ["x"]}),
            json!({"kind": 2, "k": ["requests", 1, "response"], "i": 0}),
            json!({"kind": 3, "k": ["old"]}),
        ]);
        assert_eq!(state, json!({"requests": [{"n": 1}, {"n": 4, "response": []}], "title": "b"}));
        assert_eq!(refused, 0);
    }

    #[test]
    fn a_log_without_its_first_entry_still_gives_what_it_holds() {
        let (state, refused) = replay(&[
            json!({"kind": 1, "k": ["customTitle"], "v": "a"}),
            json!({"kind": 2, "k": ["requests"], "v": [{"n": 1}]}),
            json!({"kind": 1, "k": ["requests", 7, "n"], "v": 2}),
        ]);
        assert_eq!(state, json!({"customTitle": "a", "requests": [{"n": 1}]}));
        assert_eq!(refused, 1);
    }

    #[test]
    fn an_entry_that_fits_nothing_is_refused() {
        let hostile = [
            json!({"kind": 9}),
            json!({"kind": "0", "v": 1}),
            json!([1]),
            json!({"kind": 1, "k": ["a", "b"], "v": 1, "i": 2}),
            json!({"kind": 3, "k": []}),
            json!({"kind": 2, "k": ["a", 99_999_999_999_u64], "v": [1]}),
        ];
        let (_, refused) = replay(&hostile);
        assert!(refused >= 5, "{refused}");
    }

    proptest! {
        #[test]
        fn a_compacted_log_gives_the_same_state(texts in proptest::collection::vec("[a-z]{0,5}", 0..20), cut in 0_usize..20) {
            let entry = |text: &String| json!({"kind": 2, "k": ["requests"], "v": [text]});
            let mut log = vec![json!({"kind": 0, "v": {"requests": []}})];
            log.extend(texts.iter().map(entry));
            let (whole, _) = replay(&log);
            let cut = cut.min(log.len() - 1) + 1;
            let (before, _) = replay(&log[..cut]);
            let mut compacted = vec![json!({"kind": 0, "v": before})];
            compacted.extend_from_slice(&log[cut..]);
            prop_assert_eq!(replay(&compacted).0, whole);
        }
    }
    #[test]
    fn a_path_has_a_greatest_depth() {
        for (depth, refused) in [(DEPTH_MAX, 0), (DEPTH_MAX + 1, 1)] {
            let path: Vec<Value> = (0..depth).map(|_| json!("a")).collect();
            assert_eq!(replay(&[json!({"kind": 1, "k": path, "v": 1})]).1, refused, "{depth}");
        }
    }

    #[test]
    fn only_what_is_there_is_set_behind_deleted_or_cut() {
        let begun = json!({"kind": 0, "v": {"list": [1, 2, 3], "member": {"a": 1}, "text": "x"}});
        for (entry, expected) in [
            (json!({"kind": 1, "k": ["list", 0], "v": 9}), Some(json!([9, 2, 3]))),
            (json!({"kind": 1, "k": ["list", 3], "v": 9}), Some(json!([1, 2, 3, 9]))),
            (json!({"kind": 1, "k": ["list", 4], "v": 9}), None),
            (json!({"kind": 1, "k": ["list", "a"], "v": 9}), None),
            (json!({"kind": 1, "k": ["text", "a"], "v": 9}), None),
            (json!({"kind": 1, "k": ["list"]}), None),
            (json!({"kind": 2, "k": ["list"], "v": [4]}), Some(json!([1, 2, 3, 4]))),
            (json!({"kind": 2, "k": ["list"], "i": 1, "v": [4]}), Some(json!([1, 4]))),
            (json!({"kind": 2, "k": ["list"], "i": 9}), Some(json!([1, 2, 3]))),
            (json!({"kind": 2, "k": ["list"], "i": 0, "v": null}), Some(json!([]))),
            (json!({"kind": 2, "k": ["list"], "v": 4}), None),
            (json!({"kind": 2, "k": ["text"], "v": [4]}), None),
            (json!({"kind": 3, "k": ["list", 1]}), Some(json!([1, null, 3]))),
            (json!({"kind": 3, "k": ["list", 3]}), None),
            (json!({"kind": 3, "k": ["list", "a"]}), None),
            (json!({"kind": 3, "k": ["none"]}), None),
            (json!({"kind": 3, "k": ["list"]}), Some(Value::Null)),
            (json!({"kind": 4, "k": ["list"], "v": 1}), None),
            (json!({"kind": 0}), None),
        ] {
            let (state, refused) = replay(&[begun.clone(), entry.clone()]);
            assert_eq!(refused, usize::from(expected.is_none()), "{entry}");
            let list = state.get("list").cloned().unwrap_or_default();
            assert_eq!(list, expected.unwrap_or(json!([1, 2, 3])), "{entry}");
        }
    }
}
