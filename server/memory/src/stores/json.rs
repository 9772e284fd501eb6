//! JSON as the agents write it.
//!
//! A JavaScript program that cuts a text within a character writes half of a surrogate pair, which a strict reader refuses
//! with all that stands around it. It must never take bytes that are no JSON but for this.

use entraclaw_sanitize::surrogates::mended;
use serde_json::Value;

/// The value in these bytes; `None` if they are no JSON.
pub(super) fn json(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok().or_else(|| {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.contains("\\u"))?;
        serde_json::from_str(&mended(text)).ok()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn half_a_character_costs_itself_alone() {
        for (bytes, expected) in [
            (&br#"{"a":"x\ud83d","b":1}"#[..], Some(json!({"a": "x\u{fffd}", "b": 1}))),
            (br#"["\ud83d\ude00"]"#, Some(json!(["\u{1f600}"]))),
            (br#"{"a":"x\ud83d","b":}"#, None),
            (b"[\"\\ud83d\xff\"]", None),
            (b"", None),
        ] {
            assert_eq!(super::json(bytes), expected, "{}", bytes.escape_ascii());
        }
    }
}
