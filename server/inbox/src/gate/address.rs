//! A mail address in one spelling. It must never hold two addresses, a pattern or a display name.

/// The longest text that is accepted as an address, in bytes.
const ADDRESS_BYTES_MAX: usize = 320;

/// A mail address in one spelling, so that two addresses compare exactly. Only ASCII letters are folded to
/// lower case, because other alphabets fold different letters into one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailAddress(String);

impl MailAddress {
    /// Reads an address; `None` for a text that is not one local part at one host.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (local, host) = text.split_once('@')?;
        let odd = |c: char| c.is_whitespace() || c.is_control() || "<>()[]\\,;:\"@".contains(c);
        let shaped = !local.is_empty() && !host.is_empty() && !local.contains(odd) && !host.contains(odd);
        (shaped && text.len() <= ADDRESS_BYTES_MAX).then(|| Self(text.to_ascii_lowercase()))
    }

    /// The canonical spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The part before the `@`.
    pub fn local(&self) -> &str {
        self.0.split_once('@').map_or("", |(local, _)| local)
    }

    /// The part after the `@`.
    pub fn host(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, host)| host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_longer_than_an_address_is_none() {
        assert_eq!(MailAddress::parse(&format!("a@{}", "b".repeat(400))), None);
    }
}
