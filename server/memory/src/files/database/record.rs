//! The columns of a row.
//!
//! Its form is that of <https://www.sqlite.org/fileformat2.html#record_format>. It must never read a column that is not
//! asked for, nor one that is longer than its reader takes.

use std::io;

use super::pages::Walk;
use super::{be_u32, malformed, varint};

/// The header of a row with as many columns as SQLite allows.
const HEADER_BYTES_MAX: usize = 9 * 32_768;

/// What stands in a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, or a text that is not UTF-8.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
    /// A text or bytes that are longer than the reader takes.
    TooLong,
}

impl Value {
    /// The text, if it is one.
    pub fn into_text(self) -> Option<String> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The bytes of a text or of bytes.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.into_bytes()),
            Self::Blob(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The whole number, if it is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Self::Integer(number) = self { Some(*number) } else { None }
    }
}

/// The bytes of a row: the first in the page of its tree, and the rest, if there is more, in a chain of other pages.
pub(super) struct Payload<'p> {
    walk: &'p Walk<'p>,
    bytes: usize,
    /// The part that is read, and where it begins in the row.
    part: Vec<u8>,
    begin: usize,
    /// The page of the next part; 0 at the end.
    next: u32,
}

impl<'p> Payload<'p> {
    /// The bytes of a row, of which the first stand at the beginning of the rest of its page.
    pub(super) fn new(walk: &'p Walk<'p>, bytes: u64, rest: &[u8]) -> io::Result<Self> {
        let outside = || malformed("a row stands outside of its page");
        let bytes = usize::try_from(bytes).map_err(|_| outside())?;
        let usable = walk.usable_bytes();
        let local = if bytes <= usable - 35 {
            bytes
        } else {
            let least = (usable - 12) * 32 / 255 - 23;
            let fitting = least + (bytes - least) % (usable - 4);
            if fitting <= usable - 35 { fitting } else { least }
        };
        let part = rest.get(..local).ok_or_else(outside)?.to_vec();
        let next = match rest.get(local..local + 4) {
            _ if local == bytes => 0,
            Some(next) => be_u32(next, 0),
            None => return Err(outside()),
        };
        Ok(Self { walk, bytes, part, begin: 0, next })
    }

    /// How long the row says it is.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Reads bytes behind those that were read before.
    fn read(&mut self, mut offset: usize, bytes: usize) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(bytes).filter(|end| *end <= self.bytes);
        let end = end.ok_or_else(|| malformed("a column stands outside of its row"))?;
        let mut read = Vec::new();
        while offset < end {
            let part_end = self.begin + self.part.len();
            if offset >= part_end {
                self.go_on(part_end)?;
                continue;
            }
            let to = end.min(part_end);
            read.extend_from_slice(&self.part[offset - self.begin..to - self.begin]);
            offset = to;
        }
        Ok(read)
    }

    fn go_on(&mut self, begin: usize) -> io::Result<()> {
        let page = self.walk.page(self.next)?;
        self.next = be_u32(&page, 0);
        (self.part, self.begin) = (page[4..].to_vec(), begin);
        Ok(())
    }

    /// The columns at these places. A row that was written before a column was added has nothing in it.
    pub(super) fn columns<const N: usize>(
        mut self,
        places: &[usize; N],
        bytes_max: u64,
    ) -> io::Result<[Value; N]> {
        let mut values = [const { Value::Null }; N];
        let header = self.header()?;
        let last = places.iter().max().copied().unwrap_or_default();
        let (mut kinds, mut begin) = (&header[varint(&header)?.1..], header.len());
        for place in 0..=last {
            if kinds.is_empty() {
                break;
            }
            let (kind, skipped) = varint(kinds)?;
            kinds = &kinds[skipped..];
            let bytes = width(kind)?;
            if let Some(at) = places.iter().position(|asked| *asked == place) {
                let is_too_long = kind >= 12 && bytes as u64 > bytes_max;
                values[at] = if is_too_long { Value::TooLong } else { value(kind, self.read(begin, bytes)?) };
            }
            begin = begin.saturating_add(bytes);
        }
        Ok(values)
    }

    /// The header of the row: its own length, and the kind of each column.
    fn header(&mut self) -> io::Result<Vec<u8>> {
        let mut header = self.read(0, self.bytes.min(9))?;
        let (bytes, least) = varint(&header)?;
        let bytes = usize::try_from(bytes).ok().filter(|bytes| (least..=HEADER_BYTES_MAX).contains(bytes));
        let bytes = bytes.ok_or_else(|| malformed("a row has no header"))?;
        if let Some(more) = bytes.checked_sub(header.len()) {
            header.extend(self.read(header.len(), more)?);
        }
        header.truncate(bytes);
        Ok(header)
    }
}

/// The bytes of a value of this kind.
fn width(kind: u64) -> io::Result<usize> {
    Ok(match kind {
        0 | 8 | 9 => 0,
        1 => 1,
        2 => 2,
        3 => 3,
        4 => 4,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return Err(malformed("a column is of no kind that is known")),
        _ => usize::try_from((kind - 12) / 2).unwrap_or(usize::MAX),
    })
}

fn value(kind: u64, bytes: Vec<u8>) -> Value {
    match kind {
        0 => Value::Null,
        1..=6 => {
            let is_negative = bytes.first().is_some_and(|first| *first >= 0x80);
            let high = if is_negative { -1_i64 } else { 0 };
            Value::Integer(bytes.iter().fold(high, |number, byte| number << 8 | i64::from(*byte)))
        }
        7 => Value::Real(bytes.try_into().map_or(f64::NAN, f64::from_be_bytes)),
        8 => Value::Integer(0),
        9 => Value::Integer(1),
        kind if kind % 2 == 0 => Value::Blob(bytes),
        _ => String::from_utf8(bytes).map_or(Value::Null, Value::Text),
    }
}
