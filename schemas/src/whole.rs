//! Reads a JSON text whole, and tells of a name that an object repeats. `serde_json` alone would keep the last member and
//! say nothing.

use std::fmt;

use serde::de::{Deserialize as _, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::map::{Entry, Map};

/// The value, and the first name that an object repeats.
pub(crate) fn read(text: &str) -> serde_json::Result<(Value, Option<String>)> {
    let mut repeated = None;
    let mut source = serde_json::Deserializer::from_str(text);
    let value = Whole(&mut repeated).deserialize(&mut source)?;
    source.end()?;
    Ok((value, repeated))
}

struct Whole<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(Whole(&mut *self.0))? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(name) = members.next_key_seed(Name)? {
            let value = members.next_value_seed(Whole(&mut *self.0))?;
            match all.entry(name) {
                Entry::Vacant(new) => {
                    new.insert(value);
                }
                Entry::Occupied(mut earlier) => {
                    self.0.get_or_insert_with(|| earlier.key().clone());
                    earlier.insert(value);
                }
            }
        }
        Ok(Value::Object(all))
    }
}

/// The name of a member.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = String;

    fn deserialize<D: serde::Deserializer<'de>>(self, source: D) -> Result<String, D::Error> {
        String::deserialize(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_ever_and_a_repeated_name_is_told() {
        let texts = [
            (r#"{"a":1,"b":{"a":[{"c":2},{"c":3}]}}"#, None),
            (r#"{"a":1,"b":2,"a":3}"#, Some("a")),
            (r#"{"a":[0,{"b":null,"\u0062":true}]}"#, Some("b")),
            (r#"[-7, 18446744073709551615, 1.5, 1e300, "x", null, false, [], {}]"#, None),
        ];
        for (text, repeated) in texts {
            let (value, found) = read(text).unwrap();
            assert_eq!(value, serde_json::from_str::<Value>(text).unwrap(), "{text}");
            assert_eq!(found.as_deref(), repeated, "{text}");
        }
    }

    #[test]
    fn what_is_no_single_json_text_is_refused() {
        for text in ["{} {}", "{\"a\":1", ""] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
