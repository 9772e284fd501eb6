//! The stages of the sandbox on Linux.

mod calls;
mod files;
mod init;
mod limits;
mod mounts;
mod tree;
mod warden;

use std::process::ExitCode;

use crate::UNENFORCED_EXIT_CODE;

/// Why something is not enforced.
type Failed = String;

fn failed<E: std::fmt::Display>(what: &str) -> impl FnOnce(E) -> Failed + '_ {
    move |error| format!("{what}: {error}")
}

/// Runs a stage by its name.
pub(crate) fn stage(name: &str) -> ExitCode {
    let tried = match name {
        "warden" => return warden::run(),
        "init" => return init::run(),
        "try-landlock" => files::restrict(&[], &[], false, true),
        "try-seccomp" => calls::restrict(false),
        "try-namespaces" => warden::enter_namespaces(false).and_then(|()| mounts::try_view()),
        _ => Err("it is started by the sandbox only".to_owned()),
    };
    match tried {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => say_unenforced(&why),
    }
}

#[expect(clippy::print_stderr, reason = "it is the stage's own process, which has no other way to speak")]
fn say_unenforced(why: &str) -> ExitCode {
    eprintln!("the sandbox is not enforced, so nothing was run: {why}");
    ExitCode::from(UNENFORCED_EXIT_CODE)
}
