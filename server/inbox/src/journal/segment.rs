//! The names of journal files: `<day>.jsonl`, then `<day>.1.jsonl`, `<day>.2.jsonl` when one file a day is
//! not enough. From the second term of leadership on they are `<day>.t2.jsonl`, `<day>.t2.1.jsonl`, so that
//! no term writes another's.
//!
//! Their order is the order of the records in them.

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The first term, which lasts until a leader is replaced.
pub(super) const FIRST: u64 = 1;
/// The folder of journal files.
pub(super) const INBOX: &str = "inbox";
/// The folder of their indexes.
pub(super) const INDEXES: &str = "inbox/index";

/// The day, the term and the number of a journal file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct SegmentName {
    day: Date,
    term: u64,
    n: u32,
}

impl TryFrom<String> for SegmentName {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::parse(&name).ok_or("not the name of a journal file")
    }
}

impl From<SegmentName> for String {
    fn from(name: SegmentName) -> Self {
        name.file_name()
    }
}

impl SegmentName {
    /// The first file of a day in a term.
    pub(super) fn first_of(day: Date, term: u64) -> Self {
        Self { day, term, n: 0 }
    }

    /// The term whose leader writes it.
    pub(super) fn term(self) -> u64 {
        self.term
    }

    /// Its day.
    pub(super) fn day(self) -> Date {
        self.day
    }

    /// The next file of the same day and term.
    pub(super) fn next(self) -> Self {
        Self { n: self.n + 1, ..self }
    }

    /// The name from a file name; `None` for every file that is no journal file.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let stem = name.strip_suffix(".jsonl")?;
        let mut parts = stem.split('.').peekable();
        let day = parts.next()?.parse().ok()?;
        let term = parts.next_if(|part| part.starts_with('t'));
        let term = term.map_or(Some(FIRST), |term| term[1..].parse().ok())?;
        let n = parts.next().map_or(Some(0), |n| n.parse().ok())?;
        let parsed = Self { day, term, n };
        (parsed.file_name() == name).then_some(parsed)
    }

    /// The file's name in its folder.
    pub(super) fn file_name(self) -> String {
        let term = if self.term == FIRST { String::new() } else { format!(".t{}", self.term) };
        match self.n {
            0 => format!("{}{term}.jsonl", self.day),
            n => format!("{}{term}.{n}.jsonl", self.day),
        }
    }

    /// The path of the file in the home folder.
    pub(super) fn path(self) -> String {
        format!("{INBOX}/{}", self.file_name())
    }

    /// The path of its index in the home folder.
    pub(super) fn index_path(self) -> String {
        format!("{INDEXES}/{}.json", self.file_name().trim_end_matches(".jsonl"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("2026-11-21.jsonl", Some("inbox/index/2026-11-21.json"))]
    #[case("2026-11-21.12.jsonl", Some("inbox/index/2026-11-21.12.json"))]
    #[case("2026-11-21.t2.jsonl", Some("inbox/index/2026-11-21.t2.json"))]
    #[case("2026-11-21.t12.3.jsonl", Some("inbox/index/2026-11-21.t12.3.json"))]
    #[case("2026-11-21.t1.jsonl", None)]
    #[case("2026-11-21.t.jsonl", None)]
    #[case("2026-11-21.t2.0.jsonl", None)]
    #[case("2026-11-21.2.3.jsonl", None)]
    #[case("2026-11-21.0.jsonl", None)]
    #[case("2026-11-21.01.jsonl", None)]
    #[case("2026-11-21.jsonl.torn", None)]
    #[case("2026-11-21.1.jsonl.damaged", None)]
    #[case("2026-11-31.jsonl", None)]
    #[case("state.json", None)]
    #[case("", None)]
    fn names(#[case] name: &str, #[case] index: Option<&str>) {
        let parsed = SegmentName::parse(name);
        assert_eq!(parsed.map(SegmentName::index_path).as_deref(), index);
        if let Some(parsed) = parsed {
            assert_eq!(parsed.path(), format!("inbox/{name}"));
        }
    }

    #[test]
    fn order_is_by_day_then_term_then_number() {
        let name = |text| SegmentName::parse(text).unwrap();
        assert!(name("2026-11-21.jsonl") < name("2026-11-21.2.jsonl"));
        assert!(name("2026-11-21.2.jsonl") < name("2026-11-21.10.jsonl"));
        assert!(name("2026-11-21.10.jsonl") < name("2026-11-21.t2.jsonl"));
        assert!(name("2026-11-21.t2.jsonl") < name("2026-11-21.t2.1.jsonl"));
        assert!(name("2026-11-21.t2.1.jsonl") < name("2026-11-22.jsonl"));
    }
}
