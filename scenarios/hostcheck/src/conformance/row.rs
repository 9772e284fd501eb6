//! One requirement of the protocol, as its file states it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// The version that rows about hosts name.
pub(crate) const HOSTS: &str = "hosts";

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A server that breaks it does not speak the protocol.
    Must,
    /// There may be a good reason not to.
    Should,
}

impl Level {
    /// The word in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
        }
    }
}

/// What must be seen of a row about a host before the server counts as working there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Needed {
    /// It must be seen.
    Seen,
    /// It must be seen where it could be asked.
    SeenIfAsked,
}

/// One file: the rows of an area.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Area {
    /// The name in reports and on the command line.
    pub area: String,
    /// The rows, in the order of the report.
    pub rows: Vec<Row>,
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// `area.what`, unique.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// The requirement, in one sentence of this project.
    pub says: String,
    /// By protocol version: the page and section below `specification/VERSION/`, the whole address where
    /// another document says it, or `practice: why`, where the requirement comes from the behaviour of real
    /// hosts and not from the specification. Rows about hosts name `hosts`.
    pub r#in: BTreeMap<String, String>,
    /// The sentence of that other document.
    pub sentence: Option<String>,
    /// The checks; all of them must pass.
    #[serde(default)]
    pub checks: Vec<String>,
    /// For a requirement on hosts: the facts of a profile that tell whether a host keeps it. Each must answer
    /// a feature.
    #[serde(default)]
    pub facts: Vec<String>,
    /// Whether it is about the lines of a pipe, which a server at an address does not write.
    #[serde(default)]
    pub of_pipes: bool,
    /// For a row about a host: how much of it must be seen before the server counts as working there.
    pub works: Option<Needed>,
    /// Why the row has no check.
    pub excluded: Option<String>,
}

/// The address of the specification.
const SPECIFICATION: &str = "https://modelcontextprotocol.io/specification";

/// Where one version states a requirement.
enum Place<'a> {
    /// Nowhere: the practice of hosts, with the reason.
    Practice(&'a str),
    /// At an address of another document.
    Elsewhere(&'a str),
    /// On a page of the specification.
    Page(&'a str),
}

impl<'a> Place<'a> {
    fn of(text: &'a str) -> Self {
        match text.strip_prefix("practice: ") {
            Some(why) => Self::Practice(why),
            None if text.starts_with("https://") => Self::Elsewhere(text),
            None => Self::Page(text),
        }
    }
}

impl Row {
    /// The source of the requirement, in one line.
    pub fn source(&self) -> String {
        let mut texts: Vec<String> = Vec::new();
        for (version, text) in &self.r#in {
            let text = match Place::of(text) {
                Place::Practice(_) => text.clone(),
                Place::Elsewhere(address) => self.with_sentence(address),
                Place::Page(page) => format!("{version} {page}"),
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts.join("; ")
    }

    /// Where a reader of one column finds the requirement: an address, or the practice of hosts.
    pub(crate) fn source_in(&self, column: &str) -> String {
        let place = self.r#in.get(column).or_else(|| self.r#in.get(HOSTS));
        match place.map(|text| Place::of(text)) {
            Some(Place::Practice(why)) => why.to_owned(),
            Some(Place::Elsewhere(address)) => self.with_sentence(address),
            Some(Place::Page(_)) | None => self.address(column).unwrap_or_else(|| self.source()),
        }
    }

    /// The address where a version states the requirement; none where only the practice of hosts does.
    pub(crate) fn address(&self, version: &str) -> Option<String> {
        match Place::of(self.r#in.get(version)?) {
            Place::Practice(_) => None,
            Place::Elsewhere(address) => Some(address.to_owned()),
            Place::Page(page) => Some(format!("{SPECIFICATION}/{version}/{page}")),
        }
    }

    /// A foreign page has many sentences, so the one that is meant stands behind its address.
    fn with_sentence(&self, address: &str) -> String {
        let sentence = self.sentence.as_ref().map(|sentence| format!(": {sentence}"));
        format!("{address}{}", sentence.unwrap_or_default())
    }
}

impl Placed {
    /// Where a reader finds the requirement: in the newest version that has it, or the file of the row.
    pub(crate) fn place(&self) -> String {
        let written = self.row.r#in.keys().rev().find_map(|version| self.row.address(version));
        written.unwrap_or_else(|| self.file.to_owned())
    }
}

/// A row with its area and file.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// The area.
    pub area: String,
    /// The file, relative to the repository.
    pub file: &'static str,
    /// The row.
    pub row: Row,
}
