//! Reads the YAML files of this repository: scenarios, profiles, scripts, rows.
//! It must never hide the place of a mistake.
//!
//! A text becomes a tree with places, and each type is read from that tree: the parser is built once and not once for each
//! type.

mod frame;
mod mistake;
mod reader;
mod scalar;
mod spanned;
mod tree;

use serde::de::DeserializeOwned;

pub use frame::frame;
pub use mistake::{Mistake, Place};
pub use spanned::Spanned;

/// Reads one document, which may be empty. A word without quotes is text where text is expected; where anything may stand it
/// is what the core schema of YAML 1.2 takes it for, and `yes` and `off` are booleans as in YAML 1.1. An alias (`*name`)
/// stands for a copy; tags and merge keys (`<<`) are not read.
///
/// # Errors
/// If the text is not YAML or does not have the shape of `T`.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, Mistake> {
    let document = tree::parse(text)?;
    T::deserialize(&document).map_err(|mistake| mistake.or_at(document.place))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rstest::rstest;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Deserialize, Debug)]
    #[serde(deny_unknown_fields)]
    struct File {
        #[serde(default)]
        id: Option<Spanned<String>>,
        #[serde(default)]
        steps: Vec<Step>,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Step {
        Write(Text),
        Wait(u64),
        Pair(u8, f64),
        Stop,
    }

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Text {
        text: String,
        #[serde(default)]
        times: Option<u8>,
    }

    #[rstest]
    #[case("id: a\nstep: []\n", 2, 1, "unknown field `step`")]
    #[case("steps:\n  - wirte: {text: a}\n", 2, 5, "unknown variant `wirte`")]
    #[case("steps:\n  - halt\n", 2, 5, "unknown variant `halt`")]
    #[case("steps:\n  - write: {text: a}\n  - write: {txt: a}\n", 3, 13, "unknown field `txt`")]
    #[case("steps:\n  - write: {times: 3}\n", 2, 12, "missing field `text`")]
    #[case(
        "steps:\n  - write: {text: a, times: many}\n",
        2,
        29,
        "invalid type: string \"many\", expected u8"
    )]
    #[case("steps:\n  - write: {text: a, times: \"3\"}\n", 2, 29, "invalid type: string \"3\", expected u8")]
    #[case("steps:\n  - write: {text: a, times: 300}\n", 2, 29, "invalid value: integer `300`, expected u8")]
    #[case("steps:\n  - write: {text: ~}\n", 2, 19, "invalid type: null, expected a string")]
    #[case("steps:\n  - write: {text: [a]}\n", 2, 19, "invalid type: sequence, expected a string")]
    #[case("steps:\n  - write: {text: a}\n    wait: 3\n", 2, 5, "2 keys, expected one")]
    #[case("steps:\n  - write\n", 2, 5, "`write` without a value")]
    #[case("steps:\n  - stop: 3\n", 2, 11, "invalid type: integer `3`, expected nothing")]
    #[case("steps:\n  - pair: [1, 2.5, 3]\n", 2, 11, "invalid length 3, expected")]
    #[case("steps:\n  - pair: [1]\n", 2, 11, "invalid length 1, expected")]
    #[case("steps:\n  - [write]\n", 2, 5, "invalid type: sequence, expected enum Step")]
    #[case("steps:\n  - wait: soon\n", 2, 11, "invalid type: string \"soon\", expected u64")]
    #[case("steps:\n  - wait: -1\n", 2, 11, "invalid value: integer `-1`, expected u64")]
    #[case("steps: {a: 1}\n", 1, 8, "invalid type: map, expected a sequence")]
    #[case("id: a\nid: b\n", 2, 1, "duplicate key `id`")]
    #[case("id: !!str a\n", 1, 5, "a tag")]
    #[case("<<: {id: a}\n", 1, 1, "a merge key")]
    #[case("id: *a\n", 1, 5, "anchor")]
    #[case("steps: [\n", 1, 8, "unclosed bracket")]
    #[case("id: a\n---\nid: b\n", 2, 1, "a second document")]
    fn a_mistake_is_placed_where_it_is(
        #[case] text: &str,
        #[case] line: usize,
        #[case] column: usize,
        #[case] says: &str,
    ) {
        let mistake = read::<File>(text).unwrap_err();
        assert_eq!(mistake.place, Some(Place { line, column }), "{mistake:?}");
        assert!(mistake.message.contains(says), "{mistake:?}");
    }

    #[test]
    fn a_value_knows_its_place() {
        let file: File = read("steps: []\nid: a\n").unwrap();
        assert_eq!(file.steps, []);
        let id = file.id.unwrap();
        assert_eq!((id.value.as_str(), id.place), ("a", Place { line: 2, column: 5 }));
    }

    #[rstest]
    #[case("- write: {text: a, times: 2}\n- wait: 3\n- stop\n- stop:\n- pair: [1, 2]\n")]
    #[case("[{write: {times: 2, text: 'a'}}, {wait: 0x3}, stop, {stop: {}}, {pair: [1, 2.0]}]")]
    fn the_forms_of_a_value_are_read(#[case] text: &str) {
        let write = Step::Write(Text { text: "a".to_owned(), times: Some(2) });
        let steps = [write, Step::Wait(3), Step::Stop, Step::Stop, Step::Pair(1, 2.0)];
        assert_eq!(read::<Vec<Step>>(text).unwrap(), steps);
    }

    #[rstest]
    #[case("", json!(null))]
    #[case("# nothing\n", json!(null))]
    #[case("[~, null, a null, '', 'null']", json!([null, null, "a null", "", "null"]))]
    #[case("[true, Yes, off, 'no', nothing]", json!([true, true, false, "no", "nothing"]))]
    #[case("[1, -2, +3, 0x1f, 007, 1_000, 2.1.3]", json!([1, -2, 3, 31, "007", "1_000", "2.1.3"]))]
    #[case("[1.5, -2e3, .5, 18446744073709551616, 1e, e1]", json!([1.5, -2000.0, 0.5, 1.844_674_407_370_955_2e19, "1e", "e1"]))]
    #[case("{a: &one {b: [1]}, c: *one}", json!({"a": {"b": [1]}, "c": {"b": [1]}}))]
    #[case("a: |\n  one\n  two\nb: >-\n  one\n  two\n", json!({"a": "one\ntwo\n", "b": "one two"}))]
    #[case("[1e400, -1e400, 99999999999999999999, -.nan]", json!(["1e400", "-1e400", 1e20, "-.nan"]))]
    #[case("\u{feff}a: 1\n", json!({"a": 1}))]
    #[case("{1: a, no: b}", json!({"1": "a", "no": "b"}))]
    fn a_free_value_is_read(#[case] text: &str, #[case] value: Value) {
        assert_eq!(read::<Value>(text).unwrap(), value);
    }

    #[test]
    fn words_are_text_where_text_is_expected_and_keys_are_of_their_type() {
        let text = "2: 1.10\n3: no\n4: 0x10\n";
        let read: BTreeMap<u8, String> = read(text).unwrap();
        let wanted = [(2, "1.10"), (3, "no"), (4, "0x10")];
        assert_eq!(read, wanted.map(|(number, text)| (number, text.to_owned())).into());
    }

    #[test]
    fn what_would_fill_the_memory_is_refused() {
        let mistake = read::<Value>(&format!("{}a", "- ".repeat(1_000))).unwrap_err();
        assert!(mistake.message.contains("nested more than 128 deep"), "{mistake}");
        let mistake = read::<Value>(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))).unwrap_err();
        assert!(mistake.message.contains("limit"), "{mistake}");
        let of_the_one_before = |level: u8| format!("a{level}: &a{level} [*a{}]\n", level - 1);
        let chain: Vec<String> = (1..200).map(of_the_one_before).collect();
        let mistake = read::<Value>(&format!("a0: &a0 x\n{}", chain.concat())).unwrap_err();
        assert!(mistake.message.contains("nested more than 128 deep"), "{mistake}");
        let of_ten = |level: u8| {
            format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", "))
        };
        let laughs: Vec<String> = (1..10).map(of_ten).collect();
        let mistake = read::<Value>(&format!("a0: &a0 [x]\n{}", laughs.concat())).unwrap_err();
        assert!(mistake.message.contains("more than 100000 values"), "{mistake}");
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let text = "[ -~äß世🌍]{0,12}";
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            (-1e6..1e6).prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            let map = prop::collection::vec((text, inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6).prop_map(Value::from),
                map.prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn json_is_read_as_what_it_is(value in any_json()) {
            prop_assert_eq!(&read::<Value>(&value.to_string()).unwrap(), &value);
            prop_assert_eq!(&read::<Value>(&format!("{value:#}")).unwrap(), &value);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-:?,{}\\[\\]&*!|>%@`\"'#~<a0. \n]{0,40}") {
            if let Err(mistake) = read::<Value>(&text) {
                prop_assert!(!mistake.framed("a.yaml", &text).is_empty());
            }
        }
    }

    #[test]
    fn the_line_of_the_mistake_is_shown() {
        let text = "steps:\n  - write: {txt: a}\n";
        let framed = read::<File>(text).unwrap_err().framed("a.yaml", text);
        assert!(framed.starts_with("error: unknown field `txt`"), "{framed}");
        assert!(framed.contains("--> a.yaml:2:13"), "{framed}");
        assert!(framed.contains("- write: {txt: a}"), "{framed}");
    }
}
