//! Compares the fake hosts with recordings of the real ones: the fake must send what the real host sent. The
//! tests play the server's side and the model's actions of a recording; they never tell the fake what to
//! answer.
//!
//! Recordings are expected in `ENTRACLAW_SHARED/traces` or `../shared/traces` beside the repository; without
//! them the tests say so and pass. The project's own fixtures, one fact each, always run.

#[path = "fidelity_support/deviation.rs"]
mod deviation;
#[path = "fidelity_support/drawn.rs"]
mod drawn;
#[path = "fidelity_support/fixture.rs"]
mod fixture;
#[path = "fidelity_support/real.rs"]
mod real;
#[path = "fidelity_support/recording.rs"]
mod recording;
#[path = "fidelity_support/replay.rs"]
mod replay;
#[path = "fidelity_support/report.rs"]
mod report;
#[path = "fidelity_support/situation.rs"]
mod situation;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = fixture::trials();
    match shared_folder() {
        Some(shared) => trials.extend(real::trials(&shared.join("traces"))),
        None => trials.push(Trial::test("recordings are absent, nothing was compared", || Ok(()))),
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn shared_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ENTRACLAW_SHARED") {
        return Some(PathBuf::from(folder));
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.parent()?;
    let folder = repository.parent()?.join("shared");
    folder.is_dir().then_some(folder)
}
