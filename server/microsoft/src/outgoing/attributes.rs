//! The attributes of a tag that is to leave, by the HTML standard's rules.
//! It must never guess: what two readers could take for different things is not read at all.

/// The most attributes of one tag.
const ATTRIBUTES_MAX: usize = 64;

/// One attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    /// In lower case.
    pub(super) name: String,
    /// As it is written, without its quotes; empty where there is none.
    pub(super) value: &'a str,
    pub(super) quoted: bool,
}

/// Why attributes were not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The tag has no end.
    Open,
    /// Another reader could see something else in it.
    Doubtful,
}

/// Reads from behind an element's name to the tag's `>`. Returns the attributes and where the `>` is.
pub(super) fn read(after: &str) -> Result<(Vec<Attribute<'_>>, usize), Unread> {
    let bytes = after.as_bytes();
    if !matches!(bytes.first(), None | Some(b'/' | b'>')) && !is_space(bytes.first()) {
        return Err(Unread::Doubtful);
    }
    let mut attributes = Vec::new();
    let mut at = 0;
    loop {
        while is_space(bytes.get(at)) || bytes.get(at) == Some(&b'/') {
            at += 1;
        }
        match bytes.get(at) {
            None => return Err(Unread::Open),
            Some(b'>') => return Ok((attributes, at)),
            Some(letter) if letter.is_ascii_alphabetic() && attributes.len() < ATTRIBUTES_MAX => {}
            Some(_) => return Err(Unread::Doubtful),
        }
        let name_at = at;
        while bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(b)) {
            at += 1;
        }
        let name = after[name_at..at].to_ascii_lowercase();
        if !matches!(bytes.get(at), None | Some(b'/' | b'>' | b'=')) && !is_space(bytes.get(at)) {
            return Err(Unread::Doubtful);
        }
        at = skip_space(bytes, at);
        if bytes.get(at) != Some(&b'=') {
            attributes.push(Attribute { name, value: "", quoted: false });
            continue;
        }
        at = skip_space(bytes, at + 1);
        let quote = bytes.get(at).copied().filter(|b| matches!(b, b'"' | b'\''));
        let value_at = at + usize::from(quote.is_some());
        let rest = after.get(value_at..).unwrap_or("");
        let length = match quote {
            Some(quote) => rest.bytes().position(|b| b == quote).ok_or(Unread::Open)?,
            None => rest.bytes().position(|b| b == b'>' || is_space(Some(&b))).ok_or(Unread::Open)?,
        };
        let value = &rest[..length];
        if value.contains('<') || (quote.is_none() && value.contains(['"', '\'', '`'])) {
            return Err(Unread::Doubtful);
        }
        attributes.push(Attribute { name, value, quoted: quote.is_some() });
        at = value_at + length + usize::from(quote.is_some());
    }
}

fn is_space(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c'))
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while is_space(bytes.get(at)) {
        at += 1;
    }
    at
}
