//! Protocol versions and the two directions of a connection. They hold no state: the validator knows the
//! version of each message.

use std::fmt;
use std::str::FromStr;

/// A protocol version that can be validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// 2024-11-05, the first.
    V2024_11_05,
    /// 2025-03-26, the only one with batches.
    V2025_03_26,
    /// 2025-06-18.
    V2025_06_18,
    /// 2025-11-25, the last with a handshake.
    V2025_11_25,
    /// 2026-07-28, the first without a session.
    V2026_07_28,
}

impl Version {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] =
        [Self::V2024_11_05, Self::V2025_03_26, Self::V2025_06_18, Self::V2025_11_25, Self::V2026_07_28];
    /// The newest that opens with `initialize`.
    pub const NEWEST_LEGACY: Self = Self::V2025_11_25;
    /// The newest of all.
    pub const NEWEST: Self = Self::V2026_07_28;

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Whether requests need no session and there is no handshake.
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::V2026_07_28)
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A protocol version that is not one of [`Version::ALL`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown protocol version `{0}`; known are 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25 and 2026-07-28"
)]
pub struct UnknownVersion(pub String);

impl FromStr for Version {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

/// The direction of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the host to the server's standard input.
    HostToServer,
    /// From the server's standard output to the host.
    ServerToHost,
}

impl Direction {
    /// The opposite direction.
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::HostToServer => Self::ServerToHost,
            Self::ServerToHost => Self::HostToServer,
        }
    }

    /// The form in recordings: `host>server` or `server>host`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HostToServer => "host>server",
            Self::ServerToHost => "server>host",
        }
    }

    /// Reads the direction of a recording; `None` for any other text, such as `event`.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::HostToServer, Self::ServerToHost].into_iter().find(|direction| direction.as_str() == text)
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_back_as_it_was_written() {
        for version in Version::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(Version::ALL[version.index()], version);
        }
        assert!("draft".parse::<Version>().unwrap_err().to_string().contains("`draft`"));
    }

    #[test]
    fn a_direction_reads_back_as_it_was_written() {
        for direction in [Direction::HostToServer, Direction::ServerToHost] {
            assert_eq!(Direction::parse(direction.as_str()), Some(direction));
            assert_eq!(direction.reverse().reverse(), direction);
        }
        assert_eq!(Direction::parse("event"), None);
    }
}
