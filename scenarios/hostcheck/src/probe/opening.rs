//! The ways in which the probe may treat a host at the start of a connection. There is one for each run,
//! because a host opens once. This module holds the names only; the tracer implements them.

use std::fmt;
use std::str::FromStr;

/// One way to open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Opening {
    /// `server/discover` is refused, `initialize` is answered.
    Legacy,
    /// `server/discover` is answered.
    Modern,
    /// As `Modern`, but a stream of changes is refused.
    ModernRefuseListen,
    /// `server/discover` gets no answer.
    ProbeSilent,
    /// The process ends at `server/discover`.
    ProbeExit,
    /// `initialize` gets no answer.
    InitializeSilent,
    /// The server declares nothing.
    NoCapabilities,
    /// The server has every feature, and declares no list changes.
    Quiet,
    /// As `Legacy`, with every tool on the first page of the list: for a host that requests no other.
    OnePage,
    /// `initialize` is answered with this version, whatever the host asked for.
    Version(String),
}

/// The names of the openings without a value.
const NAMES: [(&str, Opening); 9] = [
    ("legacy", Opening::Legacy),
    ("modern", Opening::Modern),
    ("modern-refuse-listen", Opening::ModernRefuseListen),
    ("probe-silent", Opening::ProbeSilent),
    ("probe-exit", Opening::ProbeExit),
    ("initialize-silent", Opening::InitializeSilent),
    ("no-capabilities", Opening::NoCapabilities),
    ("quiet", Opening::Quiet),
    ("one-page", Opening::OnePage),
];

impl Opening {
    /// Whether `server/discover` is answered.
    pub fn is_modern(&self) -> bool {
        matches!(self, Self::Modern | Self::ModernRefuseListen)
    }
}

impl fmt::Display for Opening {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(out, "version={version}"),
            named => {
                let name = NAMES.iter().find(|(_, opening)| opening == named);
                out.write_str(name.map_or("", |(name, _)| name))
            }
        }
    }
}

impl FromStr for Opening {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(version) = text.strip_prefix("version=").filter(|version| !version.is_empty()) {
            return Ok(Self::Version(version.to_owned()));
        }
        let named = NAMES.iter().find(|(name, _)| *name == text);
        named.map(|(_, opening)| opening.clone()).ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            format!("no opening `{text}`; there are {} and version=YYYY-MM-DD", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_opening_reads_back_as_it_is_written() {
        for (_, opening) in NAMES {
            assert_eq!(opening.to_string().parse(), Ok(opening));
        }
        assert_eq!("version=1999-01-01".parse(), Ok(Opening::Version("1999-01-01".to_owned())));
        assert!("modren".parse::<Opening>().unwrap_err().contains("modern-refuse-listen"));
    }
}
