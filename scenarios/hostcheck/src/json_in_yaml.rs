//! Writes JSON inside YAML.

use std::fmt::Write as _;

/// JSON as YAML reads it: the same text, with escapes for the line breaks and marks that only YAML knows.
pub fn yaml(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if matches!(
            letter,
            '\u{7f}'..='\u{a0}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
        ) {
            let _ = write!(text, "\\u{:04x}", u32::from(letter));
        } else {
            text.push(letter);
        }
    }
    text
}
