//! Prints the evidence of a fact, the same way in every listing of hosts.

use fake_hosts::Evidence;
use serde_json::json;

/// Adds the evidence of a fact to a JSON object.
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

/// The origin of a fact in one word.
pub(super) fn mark(fact: &Evidence) -> String {
    fact.mark.to_string()
}
