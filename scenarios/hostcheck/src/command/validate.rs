//! `hostcheck validate`: reads messages and prints one verdict a line.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;

use anyhow::Context as _;
use schemas::{FileValidator, LineVerdict, WireValidator};

use crate::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use crate::print::out;
use crate::tap::read::{ENTRY_BYTES_MAX, Flaw, Reader, Recorded, Seen};

#[derive(Debug, clap::Args)]
#[command(after_help = "exit codes: 0 every message is valid, 1 one is not, 2 bad usage or no wire log")]
pub struct Args {
    /// Protocol version, like 2025-11-25. Without it, a wire log is judged as a connection: by the version on
    /// which its two sides agreed, message by message in their order.
    #[arg(long, value_name = "VERSION")]
    protocol: Option<schemas::Version>,
    /// The file with one JSON-RPC message a line, or a wire log; `-` for standard input.
    file: PathBuf,
}

pub(super) fn main(args: &Args) -> Outcome {
    let reader: Box<dyn Read> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin())
    } else {
        Box::new(
            std::fs::File::open(&args.file)
                .with_context(|| format!("cannot read {}", args.file.display()))?,
        )
    };
    let mut judge: Box<dyn Judge> = match args.protocol {
        Some(version) => Box::new(Lines { validator: FileValidator::new(version), log: Reader::default() }),
        None => Box::new(Connections::default()),
    };
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut all_valid = true;
    loop {
        line.clear();
        let read = reader.by_ref().take(ENTRY_BYTES_MAX).read_until(b'\n', &mut line);
        if read.with_context(|| format!("cannot read {}", args.file.display()))? == 0 {
            break;
        }
        let verdict = judge.line(&line).with_context(|| {
            format!("{}: give --protocol for a file of plain messages", args.file.display())
        })?;
        if let Some(verdict) = verdict {
            all_valid &= verdict.verdict.valid;
            out(&serde_json::to_string(&verdict)?);
        }
    }
    Ok(if all_valid { EXIT_PASSED } else { EXIT_FAILED })
}

/// Judges the lines of a file; `None` for a line that holds no message.
trait Judge {
    fn line(&mut self, line: &[u8]) -> anyhow::Result<Option<LineVerdict>>;
}

/// Judges each line by itself, in a given version.
struct Lines {
    validator: FileValidator,
    log: Reader,
}

impl Judge for Lines {
    fn line(&mut self, line: &[u8]) -> anyhow::Result<Option<LineVerdict>> {
        // Only lines in this program's log format are unpacked. The validator itself reads the older format
        // and plain messages.
        let entry = self.log.line(line).ok().flatten().filter(|_| line.starts_with(b"{\"kind\":"));
        let Some(entry) = entry else { return Ok(self.validator.line(line)) };
        let Some((direction, bytes)) = message(&entry) else { return Ok(self.validator.line(b"\n")) };
        let packed = std::str::from_utf8(bytes)
            .ok()
            .filter(|text| !text.is_empty() && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        Ok(match packed {
            Some(text) => {
                let (proc, dir) = (entry.proc, direction.as_str());
                self.validator.line(format!(r#"{{"proc":{proc},"dir":"{dir}","msg":{text}}}"#).as_bytes())
            }
            None => self.validator.line(bytes),
        })
    }
}

/// Judges the connections of a wire log, each by the version on which it agreed.
#[derive(Default)]
struct Connections {
    log: Reader,
    by_proc: BTreeMap<u64, WireValidator>,
}

impl Judge for Connections {
    fn line(&mut self, line: &[u8]) -> anyhow::Result<Option<LineVerdict>> {
        let Some(entry) = self.log.line(line)? else { return Ok(None) };
        let wire = self.by_proc.entry(entry.proc).or_insert_with(WireValidator::at_host);
        let Some((direction, bytes)) = message(&entry) else {
            if let Seen::Line(line) = &entry.seen
                && let Some(direction) = line.dir.wire()
            {
                wire.missed(direction, &line.bytes);
            }
            return Ok(None);
        };
        Ok(Some(LineVerdict { line: entry.number, verdict: wire.feed_bytes(direction, bytes) }))
    }
}

/// The pipe's line in an entry, where it is complete and could be a message.
fn message(entry: &Recorded) -> Option<(schemas::Direction, &[u8])> {
    match &entry.seen {
        Seen::Line(line) if line.flaw != Some(Flaw::Cut) => Some((line.dir.wire()?, &line.bytes)),
        _ => None,
    }
}
