//! `hostcheck validate`: messages in, one verdict a line out.

use std::io::{BufRead as _, BufReader, Read};
use std::path::PathBuf;

use anyhow::Context as _;

use super::{EXIT_FAILED, EXIT_PASSED, Outcome, out};

#[derive(Debug, clap::Args)]
#[command(after_help = "exit codes: 0 every message is valid, 1 one is not, 2 bad usage")]
pub(super) struct Args {
    /// Protocol version, like 2025-11-25.
    #[arg(long)]
    protocol: schemas::Version,
    /// File with one JSON-RPC message a line, or one line of a wire log; `-` for standard input.
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
    let mut validator = schemas::FileValidator::new(args.protocol);
    let mut reader = BufReader::new(reader);
    let mut line = Vec::new();
    let mut all_valid = true;
    loop {
        line.clear();
        if reader
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read {}", args.file.display()))?
            == 0
        {
            break;
        }
        if let Some(verdict) = validator.line(&line) {
            all_valid &= verdict.verdict.valid;
            out(&serde_json::to_string(&verdict)?);
        }
    }
    Ok(if all_valid { EXIT_PASSED } else { EXIT_FAILED })
}
