//! Hides secrets in the text of a JSON line: everything that is no secret keeps its bytes, including spaces
//! and repeated keys. It never parses into a tree, which would lose these, and accepts a line that breaks
//! off.

use secrets::{Secrecy, secrecy};

use super::secret::{MASK, Masked};

/// Keys whose object describes members by their name: in a schema, `password` is no password.
const DESCRIBING: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// An object or array that is open.
#[derive(Debug, Clone, Copy)]
struct Frame {
    secrecy: Secrecy,
    describes: bool,
}

/// What the last key says about the value after it.
const NOTHING: Frame = Frame { secrecy: Secrecy::Open, describes: false };

/// Masks a text that is JSON, or the beginning of some; `value` masks the content of a string.
pub(super) fn mask(text: &str, value: &dyn Fn(&str) -> Masked<String>) -> Masked<String> {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    let mut open: Vec<Frame> = Vec::new();
    let mut next = NOTHING;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let end = match byte {
            b'"' => {
                let end = end_of_string(bytes, at);
                let literal = &text[at..end];
                let is_key = bytes[end..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                let within = open.last().copied().unwrap_or(NOTHING).secrecy;
                let hidden = !is_key && next.secrecy.max(within) > Secrecy::Open;
                let decoded = decode(literal);
                if is_key {
                    next = Frame {
                        secrecy: secrecy(&decoded),
                        describes: DESCRIBING.contains(&decoded.as_str()),
                    };
                }
                if hidden && !decoded.is_empty() {
                    out.push_str("\"***\"");
                    count += 1;
                } else {
                    let masked = value(&decoded);
                    count += masked.count;
                    if masked.count == 0 {
                        out.push_str(literal);
                    } else {
                        out.push_str(&serde_json::Value::String(masked.text).to_string());
                    }
                }
                end
            }
            b'{' | b'[' => {
                let around = open.last().copied().unwrap_or(NOTHING);
                let own = if around.describes { Secrecy::Open } else { next.secrecy };
                open.push(Frame { secrecy: own.max(around.secrecy), describes: next.describes });
                next = NOTHING;
                out.push(char::from(*byte));
                at + 1
            }
            b'}' | b']' => {
                open.pop();
                next = NOTHING;
                out.push(char::from(*byte));
                at + 1
            }
            b',' => {
                next = NOTHING;
                out.push(',');
                at + 1
            }
            _ => {
                let end = end_of_scalar(bytes, at);
                let scalar = &text[at..end];
                let within = open.last().copied().unwrap_or(NOTHING).secrecy;
                let number = scalar.trim().starts_with(|first: char| first.is_ascii_digit() || first == '-');
                if number && next.secrecy.max(within) == Secrecy::All {
                    out.push_str(&scalar.replace(scalar.trim(), &format!("\"{MASK}\"")));
                    count += 1;
                } else {
                    out.push_str(scalar);
                }
                end
            }
        };
        at = end;
    }
    Masked { text: out, count }
}

/// The text of a string literal; the literal itself if it breaks off.
fn decode(literal: &str) -> String {
    serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned())
}

/// The place after the closing quote of the string that begins here, or the end of the text.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The place of the next quote, bracket or comma. A colon belongs to what follows it.
fn end_of_scalar(bytes: &[u8], start: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']' | b',');
    if bytes.get(start) == Some(&b':') {
        return start + 1;
    }
    bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length)
}
