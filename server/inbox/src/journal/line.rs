//! One line of a journal file: a JSON object whose last member `crc` is the checksum of the bytes before it.
//!
//! Newline, checksum and JSON together recognise cut lines, zeroed tails and bit rot. Nothing here may panic,
//! whatever the bytes are.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::Record;

const CRC_MEMBER: &[u8] = b",\"crc\":\"";
const CRC_DIGITS: usize = 8;
const TAIL_BYTES: usize = CRC_MEMBER.len() + CRC_DIGITS + 2;

/// Closes a JSON object with its checksum and a newline.
pub(super) fn seal(mut json: Vec<u8>) -> Vec<u8> {
    debug_assert!(json.len() > 2 && json.ends_with(b"}"), "a line is an object with members");
    json.pop();
    let crc = crc32c::crc32c(&json);
    json.extend_from_slice(CRC_MEMBER);
    json.extend_from_slice(format!("{crc:08x}\"}}\n").as_bytes());
    json
}

/// Whether a line without its newline was made by [`seal`].
pub(super) fn is_intact(line: &[u8]) -> bool {
    let Some((body, tail)) = line.len().checked_sub(TAIL_BYTES).and_then(|at| line.split_at_checked(at))
    else {
        return false;
    };
    let Some(digits) = tail.strip_prefix(CRC_MEMBER).and_then(|rest| rest.strip_suffix(b"\"}")) else {
        return false;
    };
    // The digits are compared as text, so that a flipped case bit in a digit is noticed too.
    format!("{:08x}", crc32c::crc32c(body)).as_bytes() == digits
}

/// Parses an intact line as `T`; for `T`, `crc` is an unknown member.
pub(super) fn parse<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    let line = without_return(line);
    if is_intact(line) { serde_json::from_slice(line).ok() } else { None }
}

/// The shape of a file that is one line.
#[derive(Serialize, Deserialize)]
struct Versioned<T> {
    v: u32,
    #[serde(flatten)]
    body: T,
}

/// A file that is one line with this body.
pub(super) fn seal_file(body: &impl Serialize) -> io::Result<Vec<u8>> {
    Ok(seal(serde_json::to_vec(&Versioned { v: 1, body })?))
}

/// The body of a file that is one line; `None` if it is incomplete or of another version.
pub(super) fn parse_file<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let file: Versioned<T> = parse(bytes.strip_suffix(b"\n")?)?;
    (file.v == 1).then_some(file.body)
}

/// The line without the carriage return that an editor or a copy between systems may have put before its
/// newline.
pub(super) fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line of a record, with its newline, in a file where the record at the place `before` comes right
/// before it.
pub(super) fn encode(record: &Record, before: u64) -> Vec<u8> {
    // A struct of strings, numbers and maps with string keys always serialises.
    let json = |record: &Record| seal(serde_json::to_vec(record).unwrap_or_default());
    if record.seq == before + 1 {
        return json(record);
    }
    json(&Record { after: Some(before), ..record.clone() })
}

/// The record in a line without its newline.
pub(super) fn decode(line: &[u8]) -> Option<Record> {
    parse(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Vec<u8> {
        seal(br#"{"v":1,"seq":7}"#.to_vec())
    }

    #[test]
    fn the_checksum_is_the_last_member() {
        let text = String::from_utf8(line()).unwrap();
        let crc = crc32c::crc32c(br#"{"v":1,"seq":7"#);
        assert_eq!(text, format!("{{\"v\":1,\"seq\":7,\"crc\":\"{crc:08x}\"}}\n"));
        assert!(is_intact(text.trim_end().as_bytes()));
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_seen() {
        let good = line();
        let good = &good[..good.len() - 1];
        for at in 0..good.len() {
            assert!(!is_intact(&good[..at]), "cut at {at}");
            for bit in 0..8 {
                let mut bad = good.to_vec();
                bad[at] ^= 1 << bit;
                assert!(!is_intact(&bad), "bit {bit} of byte {at}");
            }
        }
    }
}
