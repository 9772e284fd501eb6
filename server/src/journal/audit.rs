//! Writes the audit log, `interactions/<day>.jsonl`. Several processes share one file, so a short lock orders them.
//!
//! It must never stop a delivery: what can't be written is counted and told.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::interaction::Interaction;
use crate::storage::Storage;

const FOLDER: &str = "interactions";
const LOCK: &str = "interactions/.lock";
/// Another process holds the lock for a few writes at most; a stopped one must not stop us.
const LOCK_WAIT_MS: u64 = 20;
const FIELD_CHARS_MAX: usize = 256;

/// Makes the folder.
pub(super) fn create(storage: &dyn Storage) -> io::Result<()> {
    storage.create_dir(FOLDER)
}

/// Appends lines; returns how many could not be written, and why.
pub(super) fn write(
    storage: &Arc<dyn Storage>,
    now: Timestamp,
    interactions: Vec<Interaction>,
) -> Option<(u64, io::Error)> {
    let mut left = interactions.len() as u64;
    let error = try_write(&**storage, now, interactions, &mut left).err()?;
    Some((left, error))
}

fn try_write(
    storage: &dyn Storage,
    now: Timestamp,
    interactions: Vec<Interaction>,
    left: &mut u64,
) -> io::Result<()> {
    let path = format!("{FOLDER}/{}.jsonl", now.to_zoned(TimeZone::UTC).date());
    let _lock = storage.lock(LOCK, LOCK_WAIT_MS)?;
    let mut file = storage.append(&path, true)?;
    // Somebody may have died in the middle of a line.
    let len = file.len()?;
    let is_torn = len > 0 && storage.read(&path, len - 1, 1)? != b"\n";
    let mut line = Vec::from(if is_torn { "\n" } else { "" });
    for interaction in interactions {
        serde_json::to_writer(&mut line, &finished(interaction, now))?;
        line.push(b'\n');
        file.append(&line)?;
        line.clear();
        *left -= 1;
    }
    Ok(())
}

/// Stamps it and keeps every text short and on one line, so that nothing a person wrote fits in.
fn finished(interaction: Interaction, now: Timestamp) -> Interaction {
    let Interaction { v, ts: _, kind, channel, chat_id, id, who, detail } = interaction;
    let short = |text: Option<String>| text.map(|text| one_line(&text));
    Interaction {
        v,
        ts: now.to_string(),
        kind,
        channel,
        chat_id: short(chat_id),
        id: short(id),
        who: short(who),
        detail: short(detail),
    }
}

fn one_line(text: &str) -> String {
    text.chars().take(FIELD_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
