//! Reads a line as leniently as any host does, and names what is wrong with it. Whether a host reads it so is for
//! the machine to decide by its profile.

use std::borrow::Cow;
use std::fmt;

use host_profiles::{Fact, Faults, OnFault, PerStage};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::wire::{Incoming, id_key};

/// Something about a line that breaks the protocol, or that hosts read differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LineFault {
    Noise,
    BlankLine,
    ForeignJson,
    ForeignAnswer,
    ByteOrderMark,
    InvalidUtf8,
    StringId,
    FloatId,
    WrongJsonrpc,
    ExtraMembers,
    Batch,
    NullError,
    ResultAndError,
    MalformedError,
    BareResult,
    DoubledMembers,
    DoubledInside,
}

impl LineFault {
    /// The profile's fact about the fault, and the name of the fact.
    pub(crate) fn fact(self, faults: &Faults) -> (&Fact<PerStage<OnFault>>, &'static str) {
        match self {
            Self::Noise => (&faults.noise, "faults.noise"),
            Self::BlankLine => (&faults.blank_lines, "faults.blank_lines"),
            Self::ForeignJson => (&faults.foreign_json, "faults.foreign_json"),
            Self::ForeignAnswer => (&faults.foreign_answers, "faults.foreign_answers"),
            Self::ByteOrderMark => (&faults.byte_order_mark, "faults.byte_order_mark"),
            Self::InvalidUtf8 => (&faults.invalid_utf8, "faults.invalid_utf8"),
            Self::StringId => (&faults.string_ids, "faults.string_ids"),
            Self::FloatId => (&faults.float_ids, "faults.float_ids"),
            Self::WrongJsonrpc => (&faults.wrong_jsonrpc, "faults.wrong_jsonrpc"),
            Self::ExtraMembers => (&faults.extra_members, "faults.extra_members"),
            Self::Batch => (&faults.batches, "faults.batches"),
            Self::NullError => (&faults.null_error, "faults.null_error"),
            Self::ResultAndError => (&faults.result_and_error, "faults.result_and_error"),
            Self::MalformedError => (&faults.malformed_error, "faults.malformed_error"),
            Self::BareResult => (&faults.bare_result, "faults.bare_result"),
            Self::DoubledMembers => (&faults.doubled_members, "faults.doubled_members"),
            Self::DoubledInside => (&faults.doubled_inside, "faults.doubled_inside"),
        }
    }

    /// Whether the server means nothing by such a line, so that nothing is lost with it.
    pub(crate) fn is_beside(self) -> bool {
        matches!(self, Self::Noise | Self::BlankLine | Self::ForeignJson | Self::ForeignAnswer)
    }
}

/// A line of the server with its faults.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Line {
    /// What is wrong with it, in the order of finding.
    pub faults: Vec<LineFault>,
    /// The messages that a lenient reader finds in it.
    pub messages: Vec<Incoming>,
}

/// Which requests of the host an answer may belong to.
pub(crate) trait Requests {
    /// Whether the request with this key is open.
    fn is_open(&self, key: &str) -> bool;
    /// Whether the host has sent a request with this id.
    fn was_sent(&self, id: &Value) -> bool;
}

/// Reads one line, with or without its newline.
pub(crate) fn read(line: &[u8], requests: &dyn Requests) -> Line {
    let mut found = Line::default();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        found.faults.push(LineFault::BlankLine);
        found.messages.push(Incoming::Empty);
        return found;
    }
    let bare = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let text = String::from_utf8_lossy(bare);
    let Ok(value) = serde_json::from_str::<Value>(&text) else {
        found.faults.push(LineFault::Noise);
        found.messages.push(Incoming::Noise("not JSON"));
        return found;
    };
    if bare.len() < line.len() {
        found.faults.push(LineFault::ByteOrderMark);
    }
    if matches!(text, Cow::Owned(_)) {
        found.faults.push(LineFault::InvalidUtf8);
    }
    let mut doubled = Doubled::default();
    let mut reader = serde_json::Deserializer::from_str(&text);
    // The text was read once already, so it is JSON.
    let _ = Walk { depth: 0, doubled: &mut doubled }.deserialize(&mut reader);
    if doubled.outside {
        found.faults.push(LineFault::DoubledMembers);
    }
    if doubled.inside {
        found.faults.push(LineFault::DoubledInside);
    }
    match value {
        Value::Object(message) => found.take(message, requests),
        Value::Array(batch) if !batch.is_empty() && batch.iter().all(Value::is_object) => {
            found.faults.push(LineFault::Batch);
            for message in batch {
                if let Value::Object(message) = message {
                    found.take(message, requests);
                }
            }
        }
        _ => found.foreign("not a JSON object"),
    }
    found
}

impl Line {
    fn foreign(&mut self, reason: &'static str) {
        self.faults.push(LineFault::ForeignJson);
        self.messages.push(Incoming::Noise(reason));
    }

    fn take(&mut self, mut object: Map<String, Value>, requests: &dyn Requests) {
        let is_named = object.contains_key("method");
        let answers =
            object.contains_key("id") && (object.contains_key("result") || object.contains_key("error"));
        if !is_named && !answers {
            return self.foreign("neither a method nor an answer");
        }
        if object.remove("jsonrpc").as_ref().and_then(Value::as_str) != Some("2.0") {
            self.faults.push(LineFault::WrongJsonrpc);
        }
        let id = object.remove("id");
        if is_named {
            let params = object.remove("params").unwrap_or_default();
            let message = match (object.remove("method"), id) {
                (Some(Value::String(method)), None) => Incoming::Notification { method, params },
                (Some(Value::String(method)), Some(id)) if id_key(&id).is_some() => {
                    Incoming::Request { id, method, params }
                }
                _ => return self.foreign("method or id of a wrong type"),
            };
            return self.messages.push(message);
        }
        let (result, error) = (object.remove("result"), object.remove("error"));
        if !object.is_empty() {
            self.faults.push(LineFault::ExtraMembers);
        }
        let body = match (result, error) {
            (Some(result), None) => Ok(result),
            (Some(result), Some(Value::Null)) => {
                self.faults.push(LineFault::NullError);
                Ok(result)
            }
            (Some(result), Some(_)) => {
                self.faults.push(LineFault::ResultAndError);
                Ok(result)
            }
            (None, error) => Err(error.unwrap_or_default()),
        };
        match &body {
            Ok(result) if !result.is_object() => self.faults.push(LineFault::BareResult),
            Err(error) if !is_error(error) => self.faults.push(LineFault::MalformedError),
            _ => {}
        }
        if let Some(key) = self.key(&id.unwrap_or_default(), requests) {
            self.messages.push(Incoming::Answer { key, body });
        } else {
            self.faults.push(LineFault::ForeignAnswer);
            self.messages.push(Incoming::Noise("an answer to no request"));
        }
    }

    /// The key of the request that an answer with this id belongs to.
    fn key(&mut self, id: &Value, requests: &dyn Requests) -> Option<String> {
        let key = id_key(id)?;
        if requests.is_open(&key) || requests.was_sent(id) {
            return Some(key);
        }
        let (fault, number) = match id {
            Value::String(text) => (LineFault::StringId, text.parse::<u64>().ok()?),
            Value::Number(number) => {
                let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
                (LineFault::FloatId, format!("{number:.0}").parse().ok()?)
            }
            _ => return None,
        };
        let id = Value::from(number);
        let key = id.to_string();
        let meant = requests.is_open(&key) || requests.was_sent(&id);
        meant.then(|| {
            self.faults.push(fault);
            key
        })
    }
}

/// Whether this is an error of JSON-RPC.
fn is_error(error: &Value) -> bool {
    error.get("code").is_some_and(Value::is_i64) && error.get("message").is_some_and(Value::is_string)
}

/// Whether objects have two members of one name.
#[derive(Debug, Default)]
struct Doubled {
    /// The message itself.
    outside: bool,
    /// An object inside it.
    inside: bool,
}

/// The name of a member, borrowed where nothing in it is escaped.
#[derive(PartialEq, Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads JSON only to look for doubled members.
struct Walk<'a> {
    depth: usize,
    doubled: &'a mut Doubled,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names: Vec<Name<'_>> = Vec::new();
        while let Some(name) = members.next_key::<Name<'_>>()? {
            let is_schema = name.0 == "inputSchema";
            if names.contains(&name) {
                match self.depth {
                    0 => self.doubled.outside = true,
                    _ => self.doubled.inside = true,
                }
            } else if names.len() < NAMES_MAX {
                names.push(name);
            }
            if is_schema {
                // Every host that was tried reads doubled members of an input schema: the last one counts. So they are no
                // fault, and the schema is not searched.
                members.next_value::<IgnoredAny>()?;
            } else {
                members.next_value_seed(Walk { depth: self.depth + 1, doubled: &mut *self.doubled })?;
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        // The members of the messages of a batch are those of messages too.
        while items.next_element_seed(Walk { depth: self.depth, doubled: &mut *self.doubled })?.is_some() {}
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Most names of one object that are compared, so that a hostile object takes linear time.
const NAMES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    /// Request 3 is open, 1 and 2 were answered.
    struct Three;

    impl Requests for Three {
        fn is_open(&self, key: &str) -> bool {
            key == "3"
        }

        fn was_sent(&self, id: &Value) -> bool {
            id.as_u64().is_some_and(|id| id < 3)
        }
    }

    #[rstest]
    #[case(b"  \r", &[LineFault::BlankLine])]
    #[case(b"Starting\xe9", &[LineFault::Noise])]
    #[case(b"{\"jsonrpc\":\"2.0\"", &[LineFault::Noise])]
    #[case(b"[1]", &[LineFault::ForeignJson])]
    #[case(br#"{"level":"info"}"#, &[LineFault::ForeignJson])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"method":7}"#, &[LineFault::ForeignJson])]
    #[case(br#"{"jsonrpc":"2.0","id":3}"#, &[LineFault::ForeignJson])]
    #[case(br#"{"jsonrpc":"2.0","id":null,"result":{}}"#, &[LineFault::ForeignAnswer])]
    #[case(br#"{"jsonrpc":"2.0","id":9,"result":{}}"#, &[LineFault::ForeignAnswer])]
    #[case(br#"{"jsonrpc":"2.0","id":"3","result":{}}"#, &[LineFault::StringId])]
    #[case(br#"{"jsonrpc":"2.0","id":3.0,"result":{}}"#, &[LineFault::FloatId])]
    #[case(br#"{"jsonrpc":"2.0","id":3.5,"result":{}}"#, &[LineFault::ForeignAnswer])]
    #[case(br#"{"id":3,"result":{}}"#, &[LineFault::WrongJsonrpc])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{},"more":1}"#, &[LineFault::ExtraMembers])]
    #[case(br#"[{"jsonrpc":"2.0","id":3,"result":{}}]"#, &[LineFault::Batch])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{},"error":null}"#, &[LineFault::NullError])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#, &[LineFault::ResultAndError])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"error":{"message":"no"}}"#, &[LineFault::MalformedError])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no"}}"#, &[])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":null}"#, &[LineFault::BareResult])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"id":3,"result":{}}"#, &[LineFault::DoubledMembers])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{"a":[{"b":1,"b":2}]}}"#, &[LineFault::DoubledInside])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{"a":1,"\u0061":2}}"#, &[LineFault::DoubledInside])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{"a":{"inputSchema":{"b":1,"b":2}}}}"#, &[])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{"inputSchema":1,"inputSchema":2}}"#, &[LineFault::DoubledInside])]
    #[case(br#"{"jsonrpc":"2.0","id":3,"result":{"inputSchema":{},"b":1,"b":2}}"#, &[LineFault::DoubledInside])]
    #[case(br#"[{"jsonrpc":"2.0","id":3,"id":3,"result":{}}]"#, &[LineFault::DoubledMembers, LineFault::Batch])]
    #[case(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#, &[])]
    #[case(b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":\"\xe9\"}}", &[LineFault::ByteOrderMark, LineFault::InvalidUtf8])]
    #[case(br#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#, &[])]
    fn a_line_shows_its_faults(#[case] line: &[u8], #[case] wanted: &[LineFault]) {
        assert_eq!(read(line, &Three).faults, wanted);
    }

    #[test]
    fn a_faulty_answer_is_read_as_it_was_meant() {
        let line = b"\xef\xbb\xbf[{\"id\":\"3\",\"error\":null,\"result\":{\"a\":1}}]\r\n";
        let wanted = Incoming::Answer { key: "3".to_owned(), body: Ok(json!({"a": 1})) };
        assert_eq!(read(line, &Three).messages, [wanted]);
    }
}
