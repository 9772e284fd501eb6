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
    /// By protocol version: the page and section below `specification/VERSION/`, or `practice: why`, where
    /// the requirement comes from the behaviour of real hosts and not from the specification. Rows about
    /// hosts name `hosts`.
    pub r#in: BTreeMap<String, String>,
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
    /// Why the row has no check.
    pub excluded: Option<String>,
}

impl Row {
    /// The source of the requirement, in one line.
    pub fn source(&self) -> String {
        let mut texts: Vec<String> = Vec::new();
        for (version, place) in &self.r#in {
            let text = match place.strip_prefix("practice: ") {
                Some(why) => format!("practice: {why}"),
                None => format!("{version} {place}"),
            };
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        texts.join("; ")
    }
}

/// The address of the specification.
pub(crate) const SPECIFICATION: &str = "https://modelcontextprotocol.io/specification";

impl Placed {
    /// Where a reader finds the requirement: the newest version of the specification that has it, or the file of the row.
    pub(crate) fn place(&self) -> String {
        let written = self.row.r#in.iter().rev().find(|(_, place)| !place.starts_with("practice: "));
        match written {
            Some((version, section)) => format!("{SPECIFICATION}/{version}/{section}"),
            None => self.file.to_owned(),
        }
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
