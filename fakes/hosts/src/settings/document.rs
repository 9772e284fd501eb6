//! A settings file as data, with the places of its errors.
//!
//! It must never accept more than the host whose file it is.

use std::collections::BTreeMap;
use std::fmt;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::Value;

/// The texts below a user's home folder, by path with `/` between the names.
pub type HostFiles = BTreeMap<String, String>;

/// A file that a host would refuse, or that lacks something: the file, the place, the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The file, below the home folder.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The problem, in lower case.
    pub what: String,
}

impl SettingsError {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self { file: None, line: None, what: what.into() }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(formatter, "{file}: line {line}: {}", self.what),
            (Some(file), None) => write!(formatter, "{file}: {}", self.what),
            (None, _) => formatter.write_str(&self.what),
        }
    }
}

impl std::error::Error for SettingsError {}

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON without extensions.
    Json,
    /// JSON with comments.
    JsonWithComments,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
}

/// Parses a text; an empty one is an empty object.
///
/// # Errors
/// If it is not of that form; the error names the line.
pub fn parse(form: Form, text: &str) -> Result<Value, SettingsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let wrong = |line: usize, what: String| SettingsError { file: None, line: Some(line), what };
    if text.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match form {
        Form::Json => serde_json::from_str(text).map_err(|error| wrong(error.line(), error.to_string())),
        Form::Toml => toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.get(..at).unwrap_or(text).matches('\n').count() + 1;
            wrong(line, error.message().replace('\n', ", "))
        }),
        Form::JsonWithComments | Form::Jsonc => {
            let options = ParseOptions {
                allow_comments: true,
                allow_trailing_commas: form == Form::Jsonc,
                allow_loose_object_property_names: false,
                allow_missing_commas: false,
                allow_single_quoted_strings: false,
                allow_hexadecimal_numbers: false,
                allow_unary_plus_numbers: false,
                allow_bare_decimal_point_numbers: false,
                allow_non_finite_numbers: false,
                allow_extended_string_escapes: false,
            };
            let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
                .map_err(|error| wrong(error.line_display(), error.kind().to_string()))?;
            Ok(parsed.value.map_or_else(|| Value::Object(serde_json::Map::new()), Into::into))
        }
    }
}

/// A parsed file.
pub(super) struct Document {
    file: String,
    root: Value,
}

impl Document {
    /// Parses the file if it exists.
    pub(super) fn find(files: &HostFiles, file: &str, form: Form) -> Result<Option<Self>, SettingsError> {
        files.get(file).map(|text| Self::parse(file, form, text)).transpose()
    }

    pub(super) fn parse(file: &str, form: Form, text: &str) -> Result<Self, SettingsError> {
        let named = |error: SettingsError| SettingsError { file: Some(file.to_owned()), ..error };
        let document = Self { file: file.to_owned(), root: parse(form, text).map_err(named)? };
        if document.root.is_object() { Ok(document) } else { Err(document.wrong("is no object")) }
    }

    /// An error in this file.
    pub(super) fn wrong(&self, what: impl Into<String>) -> SettingsError {
        SettingsError { file: Some(self.file.clone()), line: None, what: what.into() }
    }

    /// The names of the top level.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.root.as_object().into_iter().flat_map(|root| root.keys().map(String::as_str))
    }

    /// The value at a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter().try_fold(&self.root, |value, name| value.get(name)).filter(|value| !value.is_null())
    }

    /// The members of the object at a path; none if nothing is there.
    pub(super) fn members(&self, path: &[&str]) -> Result<Vec<(&str, &Value)>, SettingsError> {
        match self.at(path) {
            None => Ok(Vec::new()),
            Some(Value::Object(members)) => {
                Ok(members.iter().map(|(name, value)| (name.as_str(), value)).collect())
            }
            Some(_) => Err(self.wrong(format!("`{}` is no object", path.join(".")))),
        }
    }

    /// The elements of the list at a path; none if nothing is there.
    pub(super) fn list(&self, path: &[&str]) -> Result<&[Value], SettingsError> {
        match self.at(path) {
            None => Ok(&[]),
            Some(value) => self.elements(&path.join("."), Some(value)),
        }
    }

    /// A value that must be a list if it is there.
    pub(super) fn elements<'v>(
        &self,
        name: &str,
        value: Option<&'v Value>,
    ) -> Result<&'v [Value], SettingsError> {
        match value {
            None => Ok(&[]),
            Some(Value::Array(elements)) => Ok(elements),
            Some(_) => Err(self.wrong(format!("`{name}` is no list"))),
        }
    }

    /// A member that must be a text.
    pub(super) fn text(&self, of: &str, value: &Value, name: &str) -> Result<String, SettingsError> {
        match value.get(name) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(_) => Err(self.wrong(format!("`{of}.{name}` is no text"))),
            None => Err(self.wrong(format!("`{of}` has no `{name}`"))),
        }
    }

    /// A member that must be a list of texts if it is there.
    pub(super) fn texts(&self, of: &str, value: &Value, name: &str) -> Result<Vec<String>, SettingsError> {
        let elements = self.elements(&format!("{of}.{name}"), value.get(name))?;
        let text = |element: &Value| element.as_str().map(str::to_owned);
        let not_texts = || self.wrong(format!("`{of}.{name}` holds something that is no text"));
        elements.iter().map(text).collect::<Option<_>>().ok_or_else(not_texts)
    }

    /// A member that must be an object of texts if it is there.
    pub(super) fn variables(
        &self,
        of: &str,
        value: &Value,
        name: &str,
    ) -> Result<BTreeMap<String, String>, SettingsError> {
        let not_texts = || self.wrong(format!("`{of}.{name}` is no object of texts"));
        let Some(variables) = value.get(name) else { return Ok(BTreeMap::new()) };
        let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        variables
            .as_object()
            .ok_or_else(not_texts)?
            .iter()
            .map(pair)
            .collect::<Option<_>>()
            .ok_or_else(not_texts)
    }

    /// A member that must be a whole number above 0 if it is there.
    pub(super) fn number(&self, of: &str, value: &Value, name: &str) -> Result<Option<u64>, SettingsError> {
        match value.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(number) => match number.as_u64().filter(|number| *number > 0) {
                Some(number) => Ok(Some(number)),
                None => Err(self.wrong(format!("`{of}.{name}` is no number above 0"))),
            },
        }
    }
}
