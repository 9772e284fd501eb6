//! Reads a tool's arguments one by one. Every refusal names the field, the value that came, and how to fix it.
//!
//! It must never accept a wrong type, nor ignore an unknown name: the model would believe that its argument had an
//! effect.

use serde_json::{Map, Value};

use super::nearest::nearest;

/// The arguments of a call that are not read yet.
pub struct Arguments {
    left: Map<String, Value>,
    known: Vec<&'static str>,
}

/// A sentence for the model that says why a call was refused.
pub type Refusal = String;

impl Arguments {
    /// Starts to read the arguments of a call.
    pub fn new(arguments: Map<String, Value>) -> Self {
        Self { left: arguments, known: Vec::new() }
    }

    fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        // Several hosts send null for an argument that is not given.
        self.left.remove(name).filter(|value| !value.is_null())
    }

    /// Reads a whole number between `min` and `max`.
    pub fn integer(&mut self, name: &'static str, default: u64, min: u64, max: u64) -> Result<u64, Refusal> {
        let Some(value) = self.take(name) else { return Ok(default) };
        whole(&value).filter(|number| (min..=max).contains(number)).ok_or_else(|| {
            format!(
                "{name}: expected a whole number from {min} to {max}, got {}; leave it out for {default}",
                shown(&value)
            )
        })
    }

    /// Reads true or false.
    pub fn boolean(&mut self, name: &'static str, default: bool) -> Result<bool, Refusal> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(value),
            Some(other) => Err(format!(
                "{name}: expected true or false, got {}; leave it out for {default}",
                shown(&other)
            )),
        }
    }

    /// Reads a text, or gives `default` if it is absent.
    pub fn text(&mut self, name: &'static str, default: &str) -> Result<String, Refusal> {
        match self.take(name) {
            None => Ok(default.to_owned()),
            Some(Value::String(text)) => Ok(text),
            Some(other) => {
                Err(format!("{name}: expected a string, got {}; put it in double quotes", shown(&other)))
            }
        }
    }

    /// Reads a text that must be present and not blank.
    pub fn required_text(&mut self, name: &'static str, what: &str) -> Result<String, Refusal> {
        match self.text(name, "")? {
            text if text.trim().is_empty() => Err(format!("{name}: missing or empty; give {what}")),
            text => Ok(text),
        }
    }

    /// Reads a list of at most `max` texts; an absent one is empty.
    pub fn texts(&mut self, name: &'static str, max: usize) -> Result<Vec<String>, Refusal> {
        let refusal =
            |got: &Value| format!("{name}: expected a list of at most {max} strings, got {}", shown(got));
        match self.take(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(items)) if items.len() <= max => items
                .into_iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text),
                    other => Err(refusal(&other)),
                })
                .collect(),
            Some(other) => Err(refusal(&other)),
        }
    }

    /// Refuses arguments that were not read.
    pub fn finish(self) -> Result<(), Refusal> {
        let Some(name) = self.left.keys().next() else { return Ok(()) };
        let hint =
            nearest(name, &self.known).map(|known| format!("; did you mean {known}?")).unwrap_or_default();
        let known = if self.known.is_empty() { "none".to_owned() } else { self.known.join(", ") };
        Err(format!("{}: no such argument{hint}; known arguments: {known}", cut(name)))
    }
}

fn whole(value: &Value) -> Option<u64> {
    // Some hosts send every number as a fraction: 50.0 is 50.
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        let in_range = float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked to be whole and in range"
        )]
        in_range.then_some(float as u64)
    })
}

/// A value as an error shows it: its type, and the value itself, shortened.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("the number {number}"),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::String(text) => format!("the string \"{}\"", cut(text)),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        Value::Null => "null".to_owned(),
    }
}

/// Most characters of the caller's text in an error.
const SHOWN_CHARS_MAX: usize = 40;

fn cut(text: &str) -> String {
    let mut shown: String =
        text.chars().take(SHOWN_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
