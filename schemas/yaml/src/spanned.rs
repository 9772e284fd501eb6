//! A value that knows where it stands in its file.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, SeqAccess, Visitor};

use crate::Place;

/// The name by which the reader knows that a place is asked for.
pub(crate) const NAME: &str = "$yaml::Spanned";

/// A value, and where it stands. It is read from YAML alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spanned<T> {
    /// The value.
    pub value: T,
    /// Where it begins.
    pub place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_tuple_struct(NAME, 3, Parts(PhantomData))
    }
}

/// Takes a line, a column and a value.
struct Parts<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Parts<T> {
    type Value = Spanned<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value with its place")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
        let missing = |number| A::Error::invalid_length(number, &"a line, a column and a value");
        let line = parts.next_element()?.ok_or_else(|| missing(0))?;
        let column = parts.next_element()?.ok_or_else(|| missing(1))?;
        let value = parts.next_element()?.ok_or_else(|| missing(2))?;
        Ok(Spanned { value, place: Place { line, column } })
    }
}
