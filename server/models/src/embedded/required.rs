//! A call of a tool that a model has to make: what it may write is held to the tools' schemas, character by character.

use serde_json::Value;

use crate::question::ToolSchema;

/// The longest value of one argument.
const VALUE_CHARS_MAX: usize = 400;

/// The call while it is written.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// One for each tool.
    forms: Vec<Vec<Part>>,
    written: String,
}

/// A part of a call.
#[derive(Debug, Clone)]
enum Part {
    /// These characters.
    Text(String),
    /// The inside of a string.
    Inside,
    /// A whole number.
    Number,
    /// One of these.
    OneOf(Vec<String>),
}

/// How a text fits.
#[derive(Debug, PartialEq, Eq)]
enum Fit {
    /// It is whole.
    Whole,
    /// It can become whole.
    Begins,
    /// It can't.
    No,
}

impl Call {
    pub(super) fn new(tools: &[ToolSchema]) -> Self {
        Self { forms: tools.iter().map(form).collect(), written: String::new() }
    }

    pub(super) fn add(&mut self, text: &str) {
        self.written.push_str(text);
    }

    pub(super) fn is_whole(&self) -> bool {
        self.forms.iter().any(|form| fit(form, &self.written) == Fit::Whole)
    }

    /// Whether this may come next.
    pub(super) fn allows(&self, text: &str) -> bool {
        let next = format!("{}{text}", self.written);
        !text.is_empty() && self.forms.iter().any(|form| fit(form, &next) != Fit::No)
    }
}

/// The call of a tool with its required arguments; those of other types than text, numbers and truth are texts.
fn form(tool: &ToolSchema) -> Vec<Part> {
    let mut parts =
        vec![Part::Text(format!("{{\"name\": {}, \"arguments\": {{", Value::from(tool.name.as_str())))];
    let names = tool.parameters.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    for (at, name) in names.iter().filter_map(Value::as_str).enumerate() {
        let before = if at == 0 { "" } else { ", " };
        parts.push(Part::Text(format!("{before}{}: ", Value::from(name))));
        let schema = tool.parameters.pointer(&format!("/properties/{name}"));
        let kind = schema.and_then(|schema| schema.get("type")).and_then(Value::as_str);
        let choices = schema.and_then(|schema| schema.get("enum")).and_then(Value::as_array);
        if let Some(choices) = choices {
            parts.push(Part::OneOf(choices.iter().map(Value::to_string).collect()));
            continue;
        }
        match kind {
            Some("integer" | "number") => parts.push(Part::Number),
            Some("boolean") => parts.push(Part::OneOf(vec!["true".to_owned(), "false".to_owned()])),
            _ => parts.extend([Part::Text("\"".to_owned()), Part::Inside, Part::Text("\"".to_owned())]),
        }
    }
    parts.push(Part::Text("}}".to_owned()));
    parts
}

fn fit(parts: &[Part], text: &str) -> Fit {
    let Some((part, rest)) = parts.split_first() else {
        return if text.is_empty() { Fit::Whole } else { Fit::No };
    };
    match part {
        Part::Text(wanted) => literal(wanted, rest, text),
        Part::OneOf(choices) => {
            let fits: Vec<Fit> = choices.iter().map(|choice| literal(choice, rest, text)).collect();
            [Fit::Whole, Fit::Begins].into_iter().find(|wanted| fits.contains(wanted)).unwrap_or(Fit::No)
        }
        Part::Inside => inside(rest, text),
        Part::Number => {
            let digits = text.chars().take_while(char::is_ascii_digit).count();
            match (digits, text.len() == digits) {
                (_, true) if digits <= 9 => Fit::Begins,
                (1..=9, false) => fit(rest, &text[digits..]),
                _ => Fit::No,
            }
        }
    }
}

fn literal(wanted: &str, rest: &[Part], text: &str) -> Fit {
    match text.strip_prefix(wanted) {
        Some(after) => fit(rest, after),
        None if wanted.starts_with(text) => Fit::Begins,
        None => Fit::No,
    }
}

fn inside(rest: &[Part], text: &str) -> Fit {
    let mut is_escaped = false;
    for (count, (at, character)) in text.char_indices().enumerate() {
        if count >= VALUE_CHARS_MAX || character.is_control() {
            return Fit::No;
        }
        match character {
            '"' if !is_escaped => return fit(rest, &text[at..]),
            // An escape with digits would have to be counted.
            'u' if is_escaped => return Fit::No,
            other if is_escaped && !matches!(other, '"' | '\\' | '/' | 'n' | 't' | 'r' | 'b' | 'f') => {
                return Fit::No;
            }
            other => is_escaped = !is_escaped && other == '\\',
        }
    }
    Fit::Begins
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("", true, false)]
    #[case(r#"{"name": "ba"#, true, false)]
    #[case(r#"{"name": "bash", "arguments": {"command": "ls \"a\" "#, true, false)]
    #[case(r#"{"name": "bash", "arguments": {"command": "ls"}}"#, true, true)]
    #[case(r#"{"name": "bash", "arguments": {"command": "ls"}} "#, false, false)]
    #[case(r#"{"name": "bash", "arguments": {"command": 7"#, false, false)]
    #[case(r#"{"name": "wait", "arguments": {"seconds": 12, "hard": tr"#, true, false)]
    #[case(r#"{"name": "wait", "arguments": {"seconds": 12, "hard": true}}"#, true, true)]
    #[case(r#"{"name": "wait", "arguments": {"seconds": x"#, false, false)]
    #[case(r#"{"name": "other"#, false, false)]
    fn a_call_is_held_to_the_schemas(#[case] text: &str, #[case] allowed: bool, #[case] whole: bool) {
        let tool = |name: &str, parameters| ToolSchema {
            name: name.to_owned(),
            description: String::new(),
            parameters,
        };
        let bash = json!({"required": ["command"], "properties": {"command": {"type": "string"}}});
        let wait = json!({"required": ["seconds", "hard"],
            "properties": {"seconds": {"type": "integer"}, "hard": {"type": "boolean"}}});
        let mut call = Call::new(&[tool("bash", bash), tool("wait", wait)]);
        assert_eq!(text.is_empty() || call.allows(text), allowed);
        call.add(text);
        assert_eq!(call.is_whole(), whole);
        if whole {
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
    }
}
