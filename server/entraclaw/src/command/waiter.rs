//! Finds the program that can only wait, and builds the command by which a model runs it.
//! It must never find a program that was not installed beside this one.

use std::path::{Path, PathBuf};

use super::environment::Environment;
use entraclaw_inbox::rules::{Shell, WAIT_PROGRAM, WaitCommand};

/// The program that can only wait, if it is in the folder of `program`, which may be that program itself.
pub(super) fn beside(program: &Path) -> Option<PathBuf> {
    let waiter = program.with_file_name(format!("{WAIT_PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    waiter.is_file().then_some(waiter)
}

/// The wait command for a home folder, by the programs of this installation.
pub(super) fn command(home: Option<&Path>, environment: &Environment) -> WaitCommand {
    let Ok(program) = std::env::current_exe() else { return WaitCommand::default() };
    let home = home.filter(|home| environment.default_home().as_deref() != Some(*home));
    let home = home.map(|home| home.display().to_string());
    let waiter = beside(&program);
    match (waiter.as_deref().and_then(Path::to_str), program.to_str()) {
        (Some(waiter), _) => WaitCommand::of_waiter(waiter, home.as_deref(), Shell::here()),
        (None, Some(program)) => WaitCommand::of_whole(program, home.as_deref(), Shell::here()),
        (None, None) => WaitCommand::default(),
    }
}
