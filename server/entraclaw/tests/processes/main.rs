//! What only a process shows: pipes, signals, files, and how a command ends. They stand in one program, so that tests which
//! wait run beside each other, and the server is linked once.

mod commands;
mod delegate;
mod inbox_socket;
mod notices;
mod operator;
mod serve;
mod setup;
mod teams_http;
mod wake_ups;
mod waking;
mod watch;
mod work;

/// Copies the program for a user who may not read where it was built. Another process writes the copy: a file that this one
/// writes stays open in what other tests start meanwhile, and a program that is open for writing can't be started.
#[cfg(unix)]
fn copy_program(to: &std::path::Path) {
    let program = assert_cmd::cargo::cargo_bin("entraclaw");
    let copied = std::process::Command::new("cp").arg(program).arg(to).status().expect("cp");
    assert!(copied.success(), "the program could not be copied to {}", to.display());
}
