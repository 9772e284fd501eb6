//! The steps and demands of a person who runs `entraclaw setup`. It knows no host's files.

use serde::Deserialize;

use super::Span;

/// One run of `entraclaw setup` for the cell's host.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetupStep {
    /// With the carrier that the host has beyond what needs no flag, where it has one.
    pub everything: bool,
    /// With `--allow-answers`.
    pub allow_answers: bool,
    /// Takes everything out again.
    pub remove: bool,
    /// Every file is as it was before this run.
    pub changes_nothing: bool,
    /// Words that it says.
    pub says: Option<String>,
    /// It is refused with these words, and every file is as it was before this run.
    pub refused: Option<String>,
}

/// A demand about the person's files after setup.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SetupExpect {
    /// How often the host finds what is ours.
    pub ours: Option<Ours>,
    /// Every value, entry and comment of the files before the first run still stands, and what the host finds beside ours is
    /// what it found then.
    pub others_stand: bool,
    /// Every file is what it was before the first run, to the byte, and there is none beside.
    pub untouched: bool,
    /// What a file of the home folder holds.
    pub file: Option<FileExpect>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// How many entries of ours are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Ours {
    /// One server, at most one command an event, one section of instructions.
    Once,
    /// Nothing, and no file that names our program.
    Never,
}

/// A file of the home folder.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileExpect {
    /// Below the home folder.
    pub path: String,
    /// Words that it holds.
    pub contains: String,
}
