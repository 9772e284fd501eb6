//! `entraclaw completions` and `entraclaw man`, made from the description of the command line, so they are never old.
//! They must never need a home folder.

#![expect(
    clippy::disallowed_methods,
    reason = "man pages are written where the person says, not into the home folder"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use clap_complete::{Generator as _, Shell};

use super::output;

const COMPLETIONS_EXAMPLE: &str = "\
Examples:
  entraclaw completions bash > ~/.local/share/bash-completion/completions/entraclaw
  entraclaw completions zsh > \"${fpath[1]}/_entraclaw\"
  entraclaw completions fish > ~/.config/fish/completions/entraclaw.fish
  entraclaw completions bash --program entraclaw-wait > ~/.local/share/bash-completion/completions/entraclaw-wait
Exit codes: 0 printed, 2 wrong usage.";

const MAN_EXAMPLE: &str = "\
Example: entraclaw man ~/.local/share/man/man1
Exit codes: 0 written, 1 not written, and why, 2 wrong usage.";

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLE)]
pub(super) struct CompletionFlags {
    /// The shell to complete for
    #[arg(value_enum)]
    shell: Shell,
    /// The program to complete
    #[arg(long, value_enum, default_value_t)]
    program: Program,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum Program {
    /// The whole program
    #[default]
    Entraclaw,
    /// The program that can only wait
    EntraclawWait,
}

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLE)]
pub(super) struct ManFlags {
    /// The folder to write the pages into; it is created if it is missing
    dir: PathBuf,
}

pub(super) fn completions(flags: &CompletionFlags, [whole, wait]: [clap::Command; 2]) -> ExitCode {
    let mut program = match flags.program {
        Program::Entraclaw => whole,
        Program::EntraclawWait => wait,
    };
    let name = program.get_name().to_owned();
    program.set_bin_name(name);
    program.build();
    let mut script = Vec::new();
    if let Err(error) = flags.shell.try_generate(&program, &mut script) {
        return output::complain(&format!("the completions can't be made: {error}"), ExitCode::FAILURE);
    }
    output::text(&String::from_utf8_lossy(&script), ExitCode::SUCCESS)
}

pub(super) fn pages(flags: &ManFlags, programs: [clap::Command; 2]) -> ExitCode {
    match write_pages(&flags.dir, programs) {
        Ok(count) => {
            let done =
                format!("{count} man pages written; see `man {}`\n", flags.dir.join("entraclaw.1").display());
            output::text(&done, ExitCode::SUCCESS)
        }
        Err(error) => {
            let fix = "name a folder that you can write";
            let problem = format!("the man pages can't be written: {}: {error}; {fix}", flags.dir.display());
            output::complain(&problem, ExitCode::FAILURE)
        }
    }
}

fn write_pages(dir: &Path, [whole, wait]: [clap::Command; 2]) -> io::Result<usize> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(whole, dir)?;
    // The page of `entraclaw wait` would have the name of the program that can only wait, whose page covers both.
    clap_mangen::generate_to(wait, dir)?;
    let pages = fs::read_dir(dir)?.filter_map(Result::ok);
    let ours = |name: &str| {
        name.starts_with("entraclaw") && Path::new(name).extension().is_some_and(|ext| ext == "1")
    };
    Ok(pages.filter(|entry| entry.file_name().to_str().is_some_and(ours)).count())
}
