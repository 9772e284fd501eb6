//! Compares two answers by their shape: kinds, members, types. It never compares texts or numbers.

use std::collections::BTreeSet;

use serde_json::Value;

/// Most differences of one pair of answers that are reported.
const DIFFERENCES_MAX: usize = 20;
/// Depth of the comparison.
const DEPTH_MAX: usize = 64;

/// Where two values differ in shape, one text for each place.
pub fn differences(recorded: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare("", &[recorded], &[live], 0, &mut found);
    found.truncate(DIFFERENCES_MAX);
    found
}

/// Compares the sets of values at one place; all items of a list share a place.
fn compare(at: &str, recorded: &[&Value], live: &[&Value], depth: usize, found: &mut Vec<String>) {
    if depth > DEPTH_MAX || found.len() >= DIFFERENCES_MAX || recorded.is_empty() || live.is_empty() {
        return;
    }
    let kinds = |values: &[&Value]| values.iter().map(|value| kind(value)).collect::<BTreeSet<_>>();
    let (before, now) = (kinds(recorded), kinds(live));
    if before.is_disjoint(&now) {
        let list = |kinds: &BTreeSet<&str>| kinds.iter().copied().collect::<Vec<_>>().join(" or ");
        let place = if at.is_empty() { "the answer" } else { at };
        found.push(format!("{place} is {}, was {}", list(&now), list(&before)));
        return;
    }
    compare(&format!("{at}[]"), &items(recorded), &items(live), depth + 1, found);
    // A member that some items lack may be missing.
    let always = |values: &[&Value]| -> BTreeSet<String> {
        let mut objects = values.iter().filter_map(|value| value.as_object());
        let first: BTreeSet<String> =
            objects.next().into_iter().flat_map(|one| one.keys().cloned()).collect();
        objects.fold(first, |kept, one| kept.into_iter().filter(|name| one.contains_key(name)).collect())
    };
    let ever = |values: &[&Value]| -> BTreeSet<String> {
        values.iter().filter_map(|value| value.as_object()).flat_map(|one| one.keys().cloned()).collect()
    };
    let (had, has) = (ever(recorded), ever(live));
    for name in always(recorded).difference(&has) {
        found.push(format!("{at}.{name} is missing"));
    }
    for name in always(live).difference(&had) {
        found.push(format!("{at}.{name} is new"));
    }
    for name in had.intersection(&has) {
        let (one, other) = (members(recorded, name), members(live, name));
        compare(&format!("{at}.{name}"), &one, &other, depth + 1, found);
    }
}

fn items<'v>(values: &[&'v Value]) -> Vec<&'v Value> {
    values.iter().filter_map(|value| value.as_array()).flatten().collect()
}

fn members<'v>(values: &[&'v Value], name: &str) -> Vec<&'v Value> {
    values.iter().filter_map(|value| value.get(name)).collect()
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_may_differ_and_shapes_may_not() {
        let recorded = json!({"tools": [{"name": "a", "hint": 1}, {"name": "b"}], "n": 1, "x": []});
        assert!(differences(&recorded, &json!({"tools": [{"name": "z"}], "n": 2.5, "x": [1]})).is_empty());
        let live = json!({"tools": [{"title": "z"}], "n": "1", "y": null});
        let found = differences(&recorded, &live);
        let wanted = [
            ".x is missing",
            ".y is new",
            ".n is a text, was a number",
            ".tools[].name is missing",
            ".tools[].title is new",
        ];
        assert_eq!(found, wanted);
    }
}
