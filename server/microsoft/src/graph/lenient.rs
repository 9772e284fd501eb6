//! Reads an answer that has an unreadable part: that part is repaired or becomes null, and the rest stays.
//! It must never be needed for an answer that a strict reader accepts, and one wrong message must never hide
//! the others.

use std::collections::BTreeMap;

use entraclaw_sanitize::surrogates::mended;
use serde_json::Value;
use serde_json::value::RawValue;

/// The depth to which parts are read one by one. A deeper part is read as a whole or becomes null.
const DEPTH_MAX: usize = 16;

/// Reads an answer part by part; `None` when it is cut short or is no JSON at all.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(bytes);
    let whole: &RawValue = serde_json::from_str(&text).ok()?;
    match piece(whole, 0) {
        Value::Null => None,
        value => Some(value),
    }
}

fn piece(raw: &RawValue, depth: usize) -> Value {
    let text = raw.get();
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(&mended(text)).unwrap_or_default(),
        Some(b'{') if depth < DEPTH_MAX => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap_or_default();
            members.into_iter().map(|(name, raw)| (name, piece(raw, depth + 1))).collect()
        }
        Some(b'[') if depth < DEPTH_MAX => {
            let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            items.into_iter().map(|raw| piece(raw, depth + 1)).collect()
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(r#"{"value":[{"id":"1","t":"x \ud83d"},{"id":"2"}]}"#, json!({"value": [{"id": "1", "t": "x \u{fffd}"}, {"id": "2"}]}))]
    #[case(r#"["\udc00\ud83d\ude00\\ud83d\ud83d\ud83d\ude00\n"]"#, json!(["\u{fffd}\u{1f600}\\ud83d\u{fffd}\u{1f600}\n"]))]
    #[case(r#"{"a":1e999,"b":[1,2]}"#, json!({"a": null, "b": [1, 2]}))]
    fn a_piece_that_cant_be_read_is_mended_or_null(#[case] text: &str, #[case] value: Value) {
        serde_json::from_str::<Value>(text).unwrap_err();
        assert_eq!(read(text.as_bytes()), Some(value));
    }

    #[test]
    fn a_message_that_is_nested_too_deep_keeps_its_other_fields() {
        let deep = format!("{}1{}", "[".repeat(400), "]".repeat(400));
        let text =
            format!(r#"{{"value":[{{"id":"1","eventDetail":{deep}}},{{"id":"2"}}],"@odata.nextLink":"n"}}"#);
        let read = read(text.as_bytes()).unwrap();
        assert_eq!((&read["value"][0]["id"], &read["value"][1]["id"]), (&json!("1"), &json!("2")));
        assert_eq!(read["@odata.nextLink"], "n");
    }

    #[test]
    fn what_is_mended_is_bounded_in_depth() {
        let nested = |depth: usize, inner: &str| format!("{}{inner}{}", "[".repeat(depth), "]".repeat(depth));
        let wanted = |depth, inner| Some(serde_json::from_str::<Value>(&nested(depth, inner)).unwrap());
        let half = "\"\\ud83d\"";
        assert_eq!(read(nested(DEPTH_MAX, half).as_bytes()), wanted(DEPTH_MAX, "\"\u{fffd}\""));
        assert_eq!(read(nested(DEPTH_MAX + 1, half).as_bytes()), wanted(DEPTH_MAX, "null"));
        let members =
            |depth: usize, inner: &str| format!("{}{inner}{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        let wanted = |depth, inner| Some(serde_json::from_str::<Value>(&members(depth, inner)).unwrap());
        assert_eq!(read(members(DEPTH_MAX, half).as_bytes()), wanted(DEPTH_MAX, "\"\u{fffd}\""));
        assert_eq!(read(members(DEPTH_MAX + 1, half).as_bytes()), wanted(DEPTH_MAX, "null"));
    }

    #[test]
    fn bytes_that_are_no_utf8_harm_their_own_text_only() {
        let mut bytes = br#"{"value":[{"t":"x"#.to_vec();
        bytes.push(0xff);
        bytes.extend_from_slice(br#""},{"t":"y"}]}"#);
        assert_eq!(read(&bytes), Some(json!({"value": [{"t": "x\u{fffd}"}, {"t": "y"}]})));
    }

    #[rstest]
    #[case("")]
    #[case("{\"value\":[{\"a\":1}")]
    #[case("<html>503</html>")]
    #[case("{\"a\":01}")]
    fn what_is_no_json_stays_unread(#[case] text: &str) {
        assert_eq!(read(text.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[\\[{\"\\\\u0-9d8c,:}\\] ]{0,40}") {
            read(&bytes);
            read(text.as_bytes());
        }

        #[test]
        fn what_a_strict_reader_takes_stays_as_it_is(text in "[\\\\\"a\u{1f600}]{0,20}") {
            let json = json!({"value": [text]});
            prop_assert_eq!(read(json.to_string().as_bytes()), Some(json));
        }
    }
}
