//! Counts words that imitate a host: role names at the start of a line, chat template marks, envelope tags.
//! The counts are a warning for a person; it must never change the text, which the escape made harmless.

use super::tally::Tally;

/// Starts of a line that imitate a turn of the conversation.
const ROLES: [&str; 6] = ["human:", "assistant:", "system:", "developer:", "[inst]", "[/inst]"];
/// The words after `<` in tags and marks that hosts and models give a meaning to.
const TAGS: [&str; 12] = [
    "channel",
    "system-reminder",
    "system",
    "external_content",
    "function_calls",
    "function_results",
    "invoke",
    "tool_call",
    "tool_result",
    "tool_use",
    "task-notification",
    "|",
];

/// Counts `role_marker`, once per line for roles and once per bracket for tags.
pub(super) fn flag(text: &str, tally: &mut Tally) {
    for line in text.split('\n') {
        let line = line.trim_start_matches(['│', ' ', '\t']);
        if ROLES.iter().any(|role| starts_with(line, role)) {
            tally.flag("role_marker");
        }
        for (at, _) in line.match_indices('<') {
            let word = line[at + 1..].trim_start_matches(['/', ' ']);
            if TAGS.iter().any(|tag| starts_with(word, tag)) {
                tally.flag("role_marker");
            }
        }
    }
}

fn starts_with(text: &str, word: &str) -> bool {
    text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}
