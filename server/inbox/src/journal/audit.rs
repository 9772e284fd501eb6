//! Writes the audit log, `interactions/<day>.jsonl`. Several processes share one file, so a short lock orders them.
//!
//! It must never stop a delivery: lines that can't be written are counted and reported. It must never fill the disk either:
//! a day has a bound, and refusals, of which strangers can cause any number, may use half of it.

use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::interaction::{Interaction, InteractionKind};
use entraclaw_seams::storage::Storage;

const FOLDER: &str = "interactions";
const LOCK: &str = "interactions/.lock";
/// Another process holds the lock for a few writes at most, and a stopped one must not stop this one.
const LOCK_WAIT_MS: u64 = 20;
const FIELD_CHARS_MAX: usize = 256;
/// Bytes kept at the end of a day's file for the notes of all processes that it is full.
const TOLD_BYTES: u64 = 16 * 1024;

/// Makes the folder.
pub(super) fn create(storage: &dyn Storage) -> io::Result<()> {
    storage.create_dir(FOLDER)
}

/// The lines that this process left out because a day's file was full.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The day whose file was full, and the lines left out since. The next day's file reports them.
    full: Option<(Date, u64)>,
}

/// Appends lines; returns how many could not be written, and why. `bytes_max` bounds a day's file.
pub(super) fn write(
    storage: &Arc<dyn Storage>,
    now: Timestamp,
    bytes_max: u64,
    left_out: &mut LeftOut,
    interactions: Vec<Interaction>,
) -> Option<(u64, io::Error)> {
    let mut left = interactions.len() as u64;
    let error = try_write(&**storage, now, bytes_max, left_out, interactions, &mut left).err()?;
    Some((left, error))
}

fn try_write(
    storage: &dyn Storage,
    now: Timestamp,
    bytes_max: u64,
    left_out: &mut LeftOut,
    interactions: Vec<Interaction>,
    left: &mut u64,
) -> io::Result<()> {
    let today = now.to_zoned(TimeZone::UTC).date();
    let path = format!("{FOLDER}/{today}.jsonl");
    let _lock = storage.lock(LOCK, LOCK_WAIT_MS)?;
    let mut file = storage.append(&path, true)?;
    // A process may have exited in the middle of a line.
    let mut len = file.len()?;
    let is_torn = len > 0 && storage.read(&path, len - 1, 1)? != b"\n";
    let mut line = Vec::from(if is_torn { "\n" } else { "" });
    let mut add = |interaction: Interaction, room: u64| -> io::Result<bool> {
        let start = line.len();
        serde_json::to_writer(&mut line, &finished(interaction, now))?;
        line.push(b'\n');
        if len + line.len() as u64 > room {
            line.truncate(start);
            return Ok(false);
        }
        file.append(&line)?;
        len += line.len() as u64;
        line.clear();
        Ok(true)
    };
    let room = bytes_max.saturating_sub(TOLD_BYTES);
    if let Some((day, lines)) = left_out.full.filter(|(day, _)| *day != today)
        && (lines == 0 || add(Interaction::fault(counted(day, lines)), room)?)
    {
        left_out.full = None;
    }
    for interaction in interactions {
        let room = if interaction.kind == InteractionKind::Refused { room / 2 } else { room };
        if !add(interaction, room)? {
            if left_out.full.is_none() {
                add(Interaction::fault(full(bytes_max)), bytes_max)?;
            }
            left_out.full.get_or_insert((today, 0)).1 += 1;
        }
        *left -= 1;
    }
    Ok(())
}

fn full(bytes_max: u64) -> String {
    format!(
        "this file may have {bytes_max} bytes: refusals are left out from half of that on, everything else when it is \
         full; the file of the next day says how many lines this process left out"
    )
}

fn counted(day: Date, lines: u64) -> String {
    format!("{lines} lines of {day} were left out by this process, for the file of that day was full")
}

/// Sets the time, and shortens every text to one line, so that no message text fits in.
fn finished(mut interaction: Interaction, now: Timestamp) -> Interaction {
    let Interaction { chat_id, id, who, detail, .. } = &mut interaction;
    for text in [chat_id, id, who, detail].into_iter().flatten() {
        *text = one_line(text);
    }
    Interaction { ts: now.to_string(), ..interaction }
}

fn one_line(text: &str) -> String {
    text.chars().take(FIELD_CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    #[test]
    fn only_the_lines_from_the_one_that_fails_on_count_as_not_written() {
        let disk = MemoryStorage::new();
        create(&disk).unwrap();
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let written = |lines: usize| {
            let now = "2026-11-21T12:00:00Z".parse().unwrap();
            let lines = vec![Interaction::new(InteractionKind::Access); lines];
            write(&storage, now, u64::MAX, &mut LeftOut::default(), lines).map(|(left, _)| left)
        };
        assert_eq!(written(1), None);
        let line_len = disk.bytes("interactions/2026-11-21.jsonl").unwrap().len() as u64;
        disk.set_space_left(Some(2 * line_len));
        assert_eq!(written(5), Some(3));
    }
}
