//! Holds the fake hosts to recordings of the real ones: what the fake sends must equal what the real host sent.
//! It plays the server's side and the agent's actions of a recording; it never tells the fake what to answer.
//!
//! Recordings are looked for in `ENTRACLAW_SHARED/traces` or `../shared/traces` beside the repository; where there
//! are none, the tests say so and pass. The project's own fixtures, one fact each, always run.

#[path = "fidelity_support/fixture.rs"]
mod fixture;
#[path = "fidelity_support/recording.rs"]
mod recording;
#[path = "fidelity_support/replay.rs"]
mod replay;
#[path = "fidelity_support/situation.rs"]
mod situation;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use fakes::host::Profile;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = fixture::trials();
    let shared = shared_folder();
    for profile in fakes::host::profiles().expect("the embedded profiles are whole") {
        if profile.fidelity.recordings.is_empty() {
            continue;
        }
        trials.extend(trials_of(&profile, shared.as_deref()));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// One trial a recording of this host's version.
fn trials_of(profile: &Arc<Profile>, shared: Option<&Path>) -> Vec<Trial> {
    let version = profile.fidelity.recordings.value.clone();
    let folder = shared.map(|shared| shared.join("traces").join(&version));
    let Some(names) = folder.as_deref().and_then(recording::names) else {
        return vec![Trial::test(format!("{version}: recordings are absent, nothing was compared"), || {
            Ok(())
        })];
    };
    let folder = folder.unwrap_or_default();
    let mut trials = Vec::new();
    let mut compared = 0_usize;
    for name in names {
        let situation = situation::of(&version, &name);
        if let Some(reason) = situation.skipped {
            trials.push(Trial::test(format!("{version}/{name}: not compared: {reason}"), || Ok(())));
            continue;
        }
        compared += 1;
        let profile = Arc::clone(profile);
        let path = folder.join(format!("{name}.jsonl"));
        trials.push(Trial::test(format!("{version}/{name}"), move || {
            let recording = recording::read(&path).map_err(Failed::from)?;
            replay::compare(&profile, &situation, &recording, replay::Tolerance::of(&profile))
                .map_err(Failed::from)
        }));
    }
    trials.push(Trial::test(format!("{version}: at least twelve recordings are compared"), move || {
        (compared >= 12).then_some(()).ok_or_else(|| Failed::from(format!("only {compared}")))
    }));
    trials
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch")]
fn shared_folder() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("ENTRACLAW_SHARED") {
        return Some(PathBuf::from(folder));
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let folder = repository.parent()?.join("shared");
    folder.is_dir().then_some(folder)
}
