//! Reads a type from a tree. It must never take a text for a number, or a number in quotes for one.
//!
//! What is built for each type is kept small: whether a node fits is asked in code that is built once.

use std::slice;

use serde::de::value::UsizeDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer as _, MapAccess,
    SeqAccess, Unexpected, VariantAccess, Visitor,
};

use crate::scalar::{Meaning, meaning};
use crate::spanned;
use crate::tree::{Kind, Node};
use crate::{Mistake, Place};

impl Node {
    fn meaning(&self) -> Option<Meaning> {
        match &self.kind {
            Kind::Scalar { text, is_plain: true } => Some(meaning(text)),
            Kind::Scalar { is_plain: false, .. } => Some(Meaning::Text),
            Kind::Sequence(_) | Kind::Mapping(_) => None,
        }
    }

    fn is_null(&self) -> bool {
        self.meaning() == Some(Meaning::Null)
    }

    /// The text of a scalar that is not null.
    fn word(&self, expected: &dyn Expected) -> Result<&str, Mistake> {
        match &self.kind {
            Kind::Scalar { text, .. } if !self.is_null() => Ok(text),
            _ => Err(self.refused(expected)),
        }
    }

    fn items(&self, expected: &dyn Expected) -> Result<Items<'_>, Mistake> {
        match &self.kind {
            Kind::Sequence(items) => Ok(Items(items.iter())),
            _ => Err(self.refused(expected)),
        }
    }

    fn entries(&self, expected: &dyn Expected) -> Result<Entries<'_>, Mistake> {
        match &self.kind {
            Kind::Mapping(entries) => Ok(Entries { left: entries.iter(), value: None }),
            _ => Err(self.refused(expected)),
        }
    }

    /// The name of a variant, and its value if it has one.
    fn variant(&self, expected: &dyn Expected) -> Result<(&Self, Option<&Self>), Mistake> {
        match &self.kind {
            Kind::Scalar { .. } if !self.is_null() => Ok((self, None)),
            Kind::Mapping(entries) => match entries.as_slice() {
                [(name, value)] => Ok((name, Some(value))),
                _ => Err(Mistake::at(
                    self.place,
                    format!("{} keys, expected one of {expected}", entries.len()),
                )),
            },
            _ => Err(self.refused(expected)),
        }
    }

    /// A variant without a value, which may be written as an empty one.
    fn nothing(&self) -> Result<(), Mistake> {
        match &self.kind {
            Kind::Mapping(entries) if entries.is_empty() => Ok(()),
            _ if self.is_null() => Ok(()),
            _ => Err(self.refused(&"nothing")),
        }
    }

    #[cold]
    fn refused(&self, expected: &dyn Expected) -> Mistake {
        let found = match (&self.kind, self.meaning()) {
            (Kind::Sequence(_), _) => Unexpected::Seq,
            (Kind::Mapping(_), _) => Unexpected::Map,
            (_, Some(Meaning::Null)) => Unexpected::Other("null"),
            (_, Some(Meaning::Bool(value))) => Unexpected::Bool(value),
            (_, Some(Meaning::Whole(value))) => Unexpected::Unsigned(value),
            (_, Some(Meaning::Negative(value))) => Unexpected::Signed(value),
            (_, Some(Meaning::Float(value))) => Unexpected::Float(value),
            (Kind::Scalar { text, .. }, _) => Unexpected::Str(text),
        };
        Mistake::invalid_type(found, expected).or_at(self.place)
    }
}

/// Numbers and booleans: the visitor says whether one fits.
macro_rules! meant {
    ($($method:ident: $($meaning:ident => $visit:ident),+;)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            match self.meaning() {
                $(Some(Meaning::$meaning(value)) => visitor.$visit(value),)+
                _ => Err(self.refused(&visitor)),
            }
        }
    )+};
}

/// Many methods that do the same.
macro_rules! alike {
    ($one:ident: $($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            self.$one(visitor)
        }
    )+};
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match (&self.kind, self.meaning()) {
            (Kind::Sequence(_), _) => self.deserialize_seq(visitor),
            (Kind::Mapping(_), _) => self.deserialize_map(visitor),
            (_, Some(Meaning::Null)) => visitor.visit_unit(),
            (_, Some(Meaning::Bool(value))) => visitor.visit_bool(value),
            (_, Some(Meaning::Whole(value))) => visitor.visit_u64(value),
            (_, Some(Meaning::Negative(value))) => visitor.visit_i64(value),
            (_, Some(Meaning::Float(value))) => visitor.visit_f64(value),
            (Kind::Scalar { text, .. }, _) => visitor.visit_str(text),
        }
    }

    meant! {
        deserialize_bool: Bool => visit_bool;
        deserialize_u64: Whole => visit_u64, Negative => visit_i64;
        deserialize_f64: Float => visit_f64, Whole => visit_u64, Negative => visit_i64;
    }
    alike! {
        deserialize_u64: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64
        deserialize_u8 deserialize_u16 deserialize_u32
    }
    alike! { deserialize_f64: deserialize_f32 }
    alike! { deserialize_str: deserialize_string deserialize_char deserialize_bytes deserialize_byte_buf }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let word = self.word(&visitor)?;
        visitor.visit_str(word)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.nothing()?;
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let mut items = self.items(&visitor)?;
        visitor.visit_seq(&mut items)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        let mut items = self.items(&visitor)?;
        let found = items.0.len();
        if found > length {
            return Err(Mistake::invalid_length(found, &visitor));
        }
        visitor.visit_seq(&mut items)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        if name == spanned::NAME {
            return visitor.visit_seq(Placed { node: self, given: 0 });
        }
        self.deserialize_tuple(length, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let mut entries = self.entries(&visitor)?;
        visitor.visit_map(&mut entries)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let (name, value) = self.variant(&visitor)?;
        visitor.visit_enum(Variant { name, value })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_unit()
    }
}

/// What is left of a sequence.
struct Items<'de>(slice::Iter<'de, Node>);

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mistake> {
        let Some(item) = self.0.next() else { return Ok(None) };
        seed.deserialize(item).map(Some).map_err(|mistake| mistake.or_at(item.place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// What is left of a mapping, and the value of the key that was read last.
struct Entries<'de> {
    left: slice::Iter<'de, (Node, Node)>,
    value: Option<&'de Node>,
}

impl<'de> MapAccess<'de> for &mut Entries<'de> {
    type Error = Mistake;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mistake> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(key).map(Some).map_err(|mistake| mistake.or_at(key.place))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Mistake> {
        let value = self.value.take().ok_or_else(|| Mistake::custom("a value before its key"))?;
        seed.deserialize(value).map_err(|mistake| mistake.or_at(value.place))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A variant and its value.
struct Variant<'de> {
    name: &'de Node,
    value: Option<&'de Node>,
}

impl<'de> Variant<'de> {
    #[cold]
    fn without_value(&self) -> Mistake {
        let name = self.name.word(&"a name").unwrap_or_default();
        Mistake::at(self.name.place, format!("`{name}` without a value; write `{name}: …`"))
    }

    fn given(&self) -> Result<&'de Node, Mistake> {
        self.value.ok_or_else(|| self.without_value())
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Mistake;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Mistake> {
        let name = seed.deserialize(self.name).map_err(|mistake| mistake.or_at(self.name.place))?;
        Ok((name, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Mistake;

    fn unit_variant(self) -> Result<(), Mistake> {
        self.value.map_or(Ok(()), Node::nothing)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Mistake> {
        let value = self.given()?;
        seed.deserialize(value).map_err(|mistake| mistake.or_at(value.place))
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        let value = self.given()?;
        value.deserialize_tuple(length, visitor).map_err(|mistake| mistake.or_at(value.place))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let value = self.given()?;
        value.deserialize_map(visitor).map_err(|mistake| mistake.or_at(value.place))
    }
}

/// The line, the column and the value of a node, in this order.
struct Placed<'de> {
    node: &'de Node,
    given: u8,
}

impl<'de> SeqAccess<'de> for Placed<'de> {
    type Error = Mistake;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Mistake> {
        let Place { line, column } = self.node.place;
        self.given += 1;
        let number = |number: usize| -> UsizeDeserializer<Mistake> { number.into_deserializer() };
        match self.given {
            1 => seed.deserialize(number(line)).map(Some),
            2 => seed.deserialize(number(column)).map(Some),
            3 => seed.deserialize(self.node).map(Some),
            _ => Ok(None),
        }
    }
}
