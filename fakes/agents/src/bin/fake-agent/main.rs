//! A fake coding CLI as a process. It is copied or linked under the CLI's name and finds its script beside itself:
//! `copilot` reads `copilot.yaml`, writes what happened to `copilot.log`, and keeps its sessions in `copilot.sessions`.
//! It never writes anywhere else, but for the file that its script names.
#![expect(clippy::disallowed_methods, reason = "this is the adapter to the real process, clock and disk")]

mod child;
mod disk;
mod journal;
mod place;
mod play;
mod process_time;
mod signals;

use std::process::ExitCode;
use std::time::Duration;

use place::Place;

/// The argument by which the program starts itself as a process that hangs.
const CHILD: &str = "fake-agent-child";
/// The variable by which a launcher tells the program behind it that it is that.
const BEHIND_LAUNCHER: &str = "FAKE_AGENT_BEHIND_LAUNCHER";
/// What a program that can't work ends with. No CLI uses it.
const BROKEN: u8 = 70;

fn main() -> ExitCode {
    let argv: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    if argv.first().is_some_and(|first| first == CHILD) {
        return child::hang(&argv[1..]);
    }
    let place = match Place::of_this_program() {
        Ok(place) => place,
        Err(problem) => return broken(&problem),
    };
    let script = match place.script() {
        Ok(script) => script,
        Err(problem) => return broken(&problem),
    };
    if script.launcher && std::env::var_os(BEHIND_LAUNCHER).is_none() {
        let keeps = script.agent.launcher_keeps_signals();
        return child::launch(&place, &argv, keeps).unwrap_or_else(|problem| broken(&problem));
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return broken(&format!("the runtime did not start: {error}")),
    };
    let code = runtime.block_on(play::run(&script, &place, argv));
    // A thread may still read stdin or write to a full pipe.
    runtime.shutdown_timeout(Duration::ZERO);
    code.map_or_else(|problem| broken(&problem), ExitCode::from)
}

#[expect(clippy::print_stderr, reason = "a test that uses the program wrongly must see why")]
fn broken(problem: &str) -> ExitCode {
    eprintln!("fake-agent: {problem}");
    ExitCode::from(BROKEN)
}
