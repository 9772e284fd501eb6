//! A directory id: a GUID in one spelling, so that two ids compare exactly. It must never hold anything that
//! is not a GUID, and never a display name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A lower-case GUID without braces, as Entra writes tenant and object ids.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Guid(String);

impl TryFrom<String> for Guid {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is not a GUID"))
    }
}

impl From<Guid> for String {
    fn from(guid: Guid) -> Self {
        guid.0
    }
}

impl Guid {
    /// Reads a GUID in any letter case; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
        let mut groups = text.trim().split('-');
        let shaped = GROUPS.iter().all(|&length| {
            groups.next().is_some_and(|g| g.len() == length && g.bytes().all(|b| b.is_ascii_hexdigit()))
        });
        (shaped && groups.next().is_none()).then(|| Self(text.trim().to_ascii_lowercase()))
    }

    /// The canonical spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Guid;

    #[rstest]
    #[case("AAAAAAAA-0000-0000-0000-00000000000F", Some("aaaaaaaa-0000-0000-0000-00000000000f"))]
    #[case(" aaaaaaaa-0000-0000-0000-000000000001 ", Some("aaaaaaaa-0000-0000-0000-000000000001"))]
    #[case("{aaaaaaaa-0000-0000-0000-000000000001}", None)]
    #[case("aaaaaaaa-0000-0000-0000-00000000000", None)]
    #[case("aaaaaaaa-0000-0000-0000-000000000001-1", None)]
    #[case("aaaaaaaa-0000-0000-0000-00000000000\u{ff11}", None)]
    #[case("", None)]
    #[case("Alice", None)]
    fn only_guids_are_guids(#[case] text: &str, #[case] canonical: Option<&str>) {
        assert_eq!(Guid::parse(text).as_ref().map(Guid::as_str), canonical);
    }
}
