//! The engine with a real model in its process: it answers, uses a tool, goes on where a person interrupted it, and after a crash.
//! What the engine must do is demanded, and not what a model of this size should say.
//!
//! It needs the feature `embedded-model` and a GGUF file, see `server/models/tests/embedded`. Without one of them it says so and
//! tries nothing; the usual harness would hide that sentence.
#![expect(
    clippy::print_stdout,
    reason = "a test that is skipped says so, and the others say what they measured"
)]

#[cfg(feature = "embedded-model")]
mod cases;
#[cfg(feature = "embedded-model")]
mod rig;
#[cfg(feature = "embedded-model")]
mod watched;

#[cfg(feature = "embedded-model")]
#[expect(clippy::disallowed_methods, reason = "the file is named by the environment of the test")]
fn main() -> std::process::ExitCode {
    if let Some(path) = std::env::var_os("ENTRACLAW_TEST_GGUF") {
        return cases::run(&std::path::PathBuf::from(path));
    }
    println!("skipped: ENTRACLAW_TEST_GGUF names no GGUF file of a model");
    std::process::ExitCode::SUCCESS
}

#[cfg(not(feature = "embedded-model"))]
fn main() {
    println!("skipped: the feature `embedded-model` is off");
}
