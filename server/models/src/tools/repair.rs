//! Repair of what small models write where JSON is asked for. The rules, in their order; the first that gives an object
//! wins:
//!
//! 1. Nothing, or `null`, is an object without members.
//! 2. An object is taken as it is.
//! 3. A string that holds JSON is read again, at most twice.
//! 4. A code fence around it is taken away.
//! 5. What stands before the first `{` and after its end is taken away.
//! 6. Comments, trailing and missing commas, single quotes and names without quotes are read as JavaScript reads them.
//! 7. `True`, `False` and `None` outside strings are `true`, `false` and `null`, and a line end in a string is `\n`.
//! 8. `{"name": N, "arguments": {…}}` in the place of the arguments of the tool N is its arguments.
//!
//! What was cut off is never completed: half a file must not be written.

use jsonc_parser::ParseOptions;
use serde_json::{Map, Value};

/// How deep values may be nested; `serde_json` has the same limit.
const DEPTH_MAX: usize = 100;
/// How often a string of JSON is opened.
const STRINGS_MAX: usize = 2;

/// The arguments that this text means, for the tool of this name.
pub(crate) fn arguments(tool: &str, text: &str) -> Result<Map<String, Value>, String> {
    let object = object(text.trim(), STRINGS_MAX)?;
    Ok(unwrapped(tool, object))
}

/// The tool that this name means: without space, quotes and a prefix such as `functions.`, in the case in which it is
/// offered. A name that no rule leads to stays as it is; the model is told that there is no such tool.
pub(crate) fn name<'a>(name: &str, offered: impl Iterator<Item = &'a str> + Clone) -> String {
    let bare = name.trim().trim_matches(|c| matches!(c, '"' | '\'' | '`')).trim();
    let last = bare.rsplit(['.', ':', '/']).next().unwrap_or(bare);
    for candidate in [bare, last] {
        if let Some(found) = offered.clone().find(|offered| *offered == candidate) {
            return found.to_owned();
        }
    }
    let mut alike = offered.filter(|offered| offered.eq_ignore_ascii_case(last));
    match (alike.next(), alike.next()) {
        (Some(found), None) => found.to_owned(),
        _ => bare.to_owned(),
    }
}

fn object(text: &str, strings: usize) -> Result<Map<String, Value>, String> {
    if text.is_empty() || text == "null" {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => return Ok(object),
        Ok(Value::String(inner)) if strings > 0 => return object(inner.trim(), strings - 1),
        Ok(Value::String(_)) => return Err("they are a string in a string in a string".to_owned()),
        Ok(_) => return Err("they are JSON, but no object".to_owned()),
        Err(_) => {}
    }
    if let Some(inner) = unfenced(text) {
        return object(inner, strings);
    }
    let Some(start) = text.find('{') else { return Err("they are no JSON".to_owned()) };
    let Some(end) = end_of(&text[start..]) else {
        return Err("they were cut off before their end".to_owned());
    };
    let text = &text[start..start + end];
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(object);
    }
    if depth(text) > DEPTH_MAX {
        return Err(format!("they are nested deeper than {DEPTH_MAX}"));
    }
    jsonc_parser::parse_to_serde_value(&plain(text), &ParseOptions::default())
        .map_err(|error| format!("they are no JSON: {error}"))
}

/// What stands between code fences.
fn unfenced(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("```")?.strip_suffix("```")?;
    let inner = inner.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
    Some(inner.trim())
}

/// Where the object ends that this text begins with.
fn end_of(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, character) in outside_strings(text) {
        match character {
            '{' | '[' => open += 1,
            '}' | ']' => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn depth(text: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    for (_, character) in outside_strings(text) {
        match character {
            '{' | '[' => open += 1,
            '}' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(open);
    }
    deepest
}

/// The characters that are in no string, each with its place.
fn outside_strings(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mut is_escaped = false;
    text.char_indices().filter(move |&(_, character)| {
        let Some(mark) = quote else {
            quote = matches!(character, '"' | '\'').then_some(character);
            return quote.is_none();
        };
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == mark {
            quote = None;
        }
        false
    })
}

/// Python's words as those of JSON, and line ends in strings escaped.
fn plain(text: &str) -> String {
    let outside: std::collections::BTreeSet<usize> = outside_strings(text).map(|(at, _)| at).collect();
    let mut plain = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        let is_outside = outside.contains(&at);
        let word = [("True", "true"), ("False", "false"), ("None", "null")];
        match word.iter().find(|(python, _)| is_outside && text[at..].starts_with(python)) {
            Some((python, json)) => {
                plain.push_str(json);
                at += python.len();
                continue;
            }
            None if is_outside => plain.push(character),
            None => match character {
                '\n' => plain.push_str("\\n"),
                '\r' => plain.push_str("\\r"),
                '\t' => plain.push_str("\\t"),
                other => plain.push(other),
            },
        }
        at += character.len_utf8();
    }
    plain
}

fn unwrapped(tool: &str, mut object: Map<String, Value>) -> Map<String, Value> {
    let is_wrapped = object.len() == 2
        && object.get("name").and_then(Value::as_str) == Some(tool)
        && object.get("arguments").is_some_and(Value::is_object);
    match is_wrapped.then(|| object.remove("arguments")).flatten() {
        Some(Value::Object(inner)) => inner,
        _ => object,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::nothing("", json!({}))]
    #[case::null(" null ", json!({}))]
    #[case::whole(r#"{"path":"a"}"#, json!({"path": "a"}))]
    #[case::string(r#""{\"path\":\"a\"}""#, json!({"path": "a"}))]
    #[case::string_in_string(r#""\"{\\\"path\\\":\\\"a\\\"}\"""#, json!({"path": "a"}))]
    #[case::fence("```json\n{\"path\": \"a\"}\n```", json!({"path": "a"}))]
    #[case::words_around("Sure: {\"path\":\"a\"} there it is", json!({"path": "a"}))]
    #[case::end_twice(r#"{"path":"a"}}"#, json!({"path": "a"}))]
    #[case::trailing_comma(r#"{"path":"a","lines":[1,2,],}"#, json!({"path": "a", "lines": [1, 2]}))]
    #[case::single_quotes("{'path': 'it\\'s \"a\"'}", json!({"path": "it's \"a\""}))]
    #[case::names("{path: \"a\", deep: {b: 1}}", json!({"path": "a", "deep": {"b": 1}}))]
    #[case::comment("{\"path\": \"a\" /* here */}", json!({"path": "a"}))]
    #[case::python("{\"all\": True, \"none\": None, \"no\": False, \"text\": \"None, True\"}",
        json!({"all": true, "none": null, "no": false, "text": "None, True"}))]
    #[case::line_end("{\"text\": \"one\ntwo\tthree\"}", json!({"text": "one\ntwo\tthree"}))]
    #[case::brace_in_string(r#"x {"text": "}{"} y"#, json!({"text": "}{"}))]
    #[case::wrapped(r#"{"name":"read_file","arguments":{"path":"a"}}"#, json!({"path": "a"}))]
    #[case::not_wrapped(r#"{"name":"other","arguments":{"path":"a"}}"#, json!({"name": "other", "arguments": {"path": "a"}}))]
    fn arguments_are_repaired(#[case] text: &str, #[case] meant: Value) {
        assert_eq!(arguments("read_file", text).map(Value::Object), Ok(meant));
    }

    #[rstest]
    #[case::cut_in_a_string(r#"{"path":"a","text":"half of"#, "cut off")]
    #[case::cut_after_a_value(r#"{"path":"a""#, "cut off")]
    #[case::cut_in_a_fence("```json\n{\"path\": ", "cut off")]
    #[case::words("read the file a", "no JSON")]
    #[case::list("[1]", "no object")]
    #[case::number("7", "no object")]
    #[case::text(r#""a""#, "no JSON")]
    #[case::no_value(r#"{"path": }"#, "no JSON")]
    #[case::string_thrice(r#""\"\\\"{}\\\"\"""#, "a string in a string in a string")]
    fn what_is_not_certain_is_left(#[case] text: &str, #[case] reason: &str) {
        let error = arguments("read_file", text).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(arguments("x", &deep).unwrap_err().contains("deeper"));
    }

    #[rstest]
    #[case("read_file", "read_file")]
    #[case(" \"read_file\" ", "read_file")]
    #[case("functions.read_file", "read_file")]
    #[case("Read_File", "read_file")]
    #[case("readfile", "readfile")]
    #[case("BASH", "BASH")]
    fn names_are_found(#[case] written: &str, #[case] meant: &str) {
        assert_eq!(name(written, ["read_file", "bash", "Bash"].into_iter()), meant);
    }
}
