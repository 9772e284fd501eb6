//! What is wrong in a file, and where.

use std::fmt;

use crate::frame;

/// A place in a file, both numbers from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// What is wrong in a text, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// One line, without the place.
    pub message: String,
    /// Where it is, if that is known.
    pub place: Option<Place>,
}

impl Mistake {
    pub(crate) fn at(place: Place, message: impl Into<String>) -> Self {
        Self { message: message.into(), place: Some(place) }
    }

    /// The mistake, at a place unless it has one already.
    #[cold]
    pub(crate) fn or_at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// The mistake with the file's name and the line that it is in.
    pub fn framed(&self, file: &str, source: &str) -> String {
        match self.place {
            Some(place) => frame(file, source, place, &self.message, None),
            None => format!("error: {}\n --> {file}", self.message),
        }
    }

    /// As [`Mistake::framed`], for an error that begins with words of its own.
    pub fn within(&self, file: &str, source: &str) -> String {
        let framed = self.framed(file, source);
        framed.strip_prefix("error: ").map_or_else(|| framed.clone(), str::to_owned)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(formatter, "line {line} column {column}: ")?;
        }
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Mistake {}

impl serde::de::Error for Mistake {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { message: message.to_string(), place: None }
    }
}
