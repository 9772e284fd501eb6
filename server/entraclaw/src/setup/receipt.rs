//! What setup did to one file, kept in the home folder, and how a file looks with and without us.
//!
//! Every change starts from the file as it would be without us: the backup while nobody else has changed the file, else the
//! file with our parts taken out. So a second setup changes nothing, and a removal gives back what was there.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::content::{Content, Op, Problem};
use super::{block, json, table};

/// Version of the receipt's form.
const VERSION: u32 = 1;
const BOM: char = '\u{feff}';

/// One touched file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    version: u32,
    /// The file.
    pub path: String,
    /// Whether the file was there before.
    pub was_there: bool,
    /// SHA-256 of the text that was written, in hex.
    pub written: String,
    /// For whom, and what.
    pub owners: BTreeMap<String, Content>,
    ops: Vec<Op>,
    /// The backup of the file without us; there is none of a file that was not there.
    pub backup: Option<String>,
}

/// A file as it is found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found<'a> {
    /// Its text, if it is there.
    pub text: Option<&'a str>,
    /// What setup did to it before.
    pub receipt: Option<&'a Receipt>,
    /// The text of the receipt's backup, if it is still there.
    pub backup: Option<&'a str>,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Its text; none if it goes.
    pub text: Option<String>,
    /// How it would be without us; a backup of it is kept while we are in it.
    pub without: Option<String>,
    /// What is to be kept; nothing when nobody of us is left in it. The backup is for the caller to fill in.
    pub receipt: Option<Receipt>,
}

/// The file with the content of one owner.
pub fn with(path: &str, found: Found<'_>, owner: &str, content: &Content) -> Result<Outcome, Problem> {
    if let (Some(text), Some(receipt)) = (found.text, found.receipt)
        && receipt.owners.get(owner) == Some(content)
        && receipt.owners.values().all(|content| is_there(text, content))
    {
        // Others may have changed the rest of the file since.
        return Ok(Outcome { text: Some(text.to_owned()), without: None, receipt: Some(receipt.clone()) });
    }
    let mut owners = found.receipt.map(|receipt| receipt.owners.clone()).unwrap_or_default();
    owners.insert(owner.to_owned(), content.clone());
    let without = match found.receipt {
        Some(receipt) => without_us(found, receipt)?,
        None => found.text.map(str::to_owned),
    };
    outcome(path, found, without, owners, owner)
}

/// The file without the content of one owner. `content` is what a setup of today would put there, for a file of which
/// nothing was kept.
pub fn without(path: &str, found: Found<'_>, owner: &str, content: &Content) -> Result<Outcome, Problem> {
    let Some(receipt) = found.receipt else {
        let text = found.text.map(|text| guessed(text, content)).transpose()?.flatten();
        return Ok(Outcome { without: text.clone(), text, receipt: None });
    };
    let mut owners = receipt.owners.clone();
    if owners.remove(owner).is_none() {
        return Ok(Outcome {
            text: found.text.map(str::to_owned),
            without: None,
            receipt: Some(receipt.clone()),
        });
    }
    let without = without_us(found, receipt)?;
    outcome(path, found, without, owners, owner)
}

fn outcome(
    path: &str,
    found: Found<'_>,
    without: Option<String>,
    owners: BTreeMap<String, Content>,
    last: &str,
) -> Result<Outcome, Problem> {
    if owners.is_empty() {
        return Ok(Outcome { text: without.clone(), without, receipt: None });
    }
    let mut text = without.clone();
    let mut ops = Vec::new();
    // Where two want something else in one place, the one who asks now gets it.
    let others = owners.iter().filter(|(owner, _)| *owner != last);
    for (_, content) in others.chain(owners.get_key_value(last)) {
        let (changed, done) = apply(text.as_deref(), content)?;
        text = Some(changed);
        ops.extend(done);
    }
    let written = text.as_deref().map(digest).unwrap_or_default();
    let receipt = Receipt {
        version: VERSION,
        path: path.to_owned(),
        was_there: without.is_some(),
        written,
        owners,
        ops,
        backup: found.receipt.and_then(|receipt| receipt.backup.clone()),
    };
    Ok(Outcome { text, without, receipt: Some(receipt) })
}

/// The file as it would be without any of us.
fn without_us(found: Found<'_>, receipt: &Receipt) -> Result<Option<String>, Problem> {
    let Some(text) = found.text else { return Ok(None) };
    let is_untouched = digest(text) == receipt.written;
    if is_untouched && !receipt.was_there {
        return Ok(None);
    }
    if is_untouched && let Some(backup) = found.backup {
        return Ok(Some(backup.to_owned()));
    }
    let Some(content) = receipt.owners.values().next() else { return Ok(Some(text.to_owned())) };
    let (bom, bare) = split_bom(text);
    let rest = match content {
        Content::Json(_) => json::undo(bare, &receipt.ops)?,
        Content::Table { path, .. } => table::undo(bare, path, &receipt.ops)?,
        Content::Section(_) => {
            let unchanged = receipt.ops.iter().rev().find_map(|op| match op {
                Op::Block { before, text } => block::cut(bare, before, text),
                _ => None,
            });
            unchanged.map_or_else(|| block::without_section(bare), Ok)?
        }
        Content::Whole(_) => {
            let what = "it was changed since setup wrote it; move it away, then run setup again";
            return Err(Problem::new(what));
        }
    };
    let is_left = receipt.was_there || !is_blank(&rest, content);
    Ok(is_left.then(|| format!("{bom}{rest}")))
}

/// What is left when everything is taken out that is recognisably ours.
fn guessed(text: &str, content: &Content) -> Result<Option<String>, Problem> {
    let (bom, bare) = split_bom(text);
    let rest = match content {
        Content::Json(edits) => json::undo(bare, &json::guess(bare, edits)?)?,
        Content::Table { path, .. } => table::without_table(bare, path)?,
        Content::Section(_) => block::without_section(bare)?,
        Content::Whole(own) if own == text => return Ok(None),
        Content::Whole(_) => return Ok(Some(text.to_owned())),
    };
    if rest == bare {
        return Ok(Some(text.to_owned()));
    }
    Ok((!is_blank(&rest, content)).then(|| format!("{bom}{rest}")))
}

/// Whether the text holds the content already.
fn is_there(text: &str, content: &Content) -> bool {
    let (_, bare) = split_bom(text);
    match content {
        Content::Section(section) => block::holds_section(bare, section),
        _ => apply(Some(text), content).is_ok_and(|(same, _)| same == text),
    }
}

fn is_blank(rest: &str, content: &Content) -> bool {
    match content {
        Content::Json(_) => json::is_empty(rest),
        _ => rest.trim().is_empty(),
    }
}

/// The text with the content, of a file that may not be there.
fn apply(text: Option<&str>, content: &Content) -> Result<(String, Vec<Op>), Problem> {
    let (bom, bare) = split_bom(text.unwrap_or(""));
    let (changed, ops) = match content {
        Content::Json(edits) => json::apply(if text.is_none() { "{}\n" } else { bare }, edits)?,
        Content::Table { path, entry } => table::apply(bare, path, entry)?,
        Content::Section(section) => block::apply_section(bare, section)?,
        Content::Whole(own) => match text {
            Some(text) if text != own => {
                let what = "a file that setup didn't write is in the way; move it away, then run setup again";
                return Err(Problem::new(what));
            }
            _ => (own.clone(), Vec::new()),
        },
    };
    Ok((format!("{bom}{changed}"), ops))
}

/// The text that a person would write where there is nothing yet.
pub fn fresh(content: &Content) -> String {
    // Without a text there is nothing to refuse.
    apply(None, content).map(|(text, _)| text).unwrap_or_default()
}

fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BOM) {
        Some(rest) => text.split_at(text.len() - rest.len()),
        None => ("", text),
    }
}

/// SHA-256 in hex.
pub fn digest(text: &str) -> String {
    let digits =
        |byte: &u8| [byte >> 4, byte & 15].map(|half| char::from_digit(u32::from(half), 16).unwrap_or('0'));
    Sha256::digest(text.as_bytes()).iter().flat_map(digits).collect()
}
