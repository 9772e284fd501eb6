//! What is known of a fact, as every listing of hosts prints it.

use fake_hosts::Evidence;
use serde_json::json;

/// What is known of a fact, as members of a JSON object.
pub(super) fn add(line: &mut serde_json::Value, fact: &Evidence) {
    line["value"] = fact.value.clone();
    line["mark"] = json!(fact.mark.to_string());
    line["known"] = json!(!fact.is_unknown());
    if let Some(mode) = fact.unknown_in {
        line["unknown_in"] = json!(mode);
    }
    line["source"] = json!(fact.source);
    line["stated_by"] = json!(fact.stated_by);
}

/// Where a fact comes from, in a word.
pub(super) fn mark(fact: &Evidence) -> String {
    fact.mark.to_string()
}
