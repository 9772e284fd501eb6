//! The profiles that come with the program, and how one is found by name. It never reads the disk: the files
//! are part of the binary.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::Profile;
use super::file::{self, ProfileError, ProfileFile};

/// Largest edit distance of a name that is suggested.
const SUGGESTION_DISTANCE_MAX: usize = 8;

const FILES: &[(&str, &str)] = &[
    ("claude-code@2.0.73", include_str!("../claude-code@2.0.73.yaml")),
    ("claude-code@2.1.148", include_str!("../claude-code@2.1.148.yaml")),
    ("claude-code@2.1.163", include_str!("../claude-code@2.1.163.yaml")),
    ("claude-code@2.1.237", include_str!("../claude-code@2.1.237.yaml")),
    ("claude-code@2.1.274", include_str!("../claude-code@2.1.274.yaml")),
    ("claude-code@2.1.317", include_str!("../claude-code@2.1.317.yaml")),
    ("claude-code@2.1.330", include_str!("../claude-code@2.1.330.yaml")),
    ("claude-code@2.1.80", include_str!("../claude-code@2.1.80.yaml")),
    ("claude-code@seed", include_str!("../claude-code@seed.yaml")),
    ("codex@0.169.0", include_str!("../codex@0.169.0.yaml")),
    ("copilot-cli@0.0.384", include_str!("../copilot-cli@0.0.384.yaml")),
    ("copilot-cli@0.0.401", include_str!("../copilot-cli@0.0.401.yaml")),
    ("copilot-cli@0.0.406", include_str!("../copilot-cli@0.0.406.yaml")),
    ("copilot-cli@0.0.411", include_str!("../copilot-cli@0.0.411.yaml")),
    ("copilot-cli@0.0.420", include_str!("../copilot-cli@0.0.420.yaml")),
    ("copilot-cli@1.0.0", include_str!("../copilot-cli@1.0.0.yaml")),
    ("copilot-cli@1.0.102", include_str!("../copilot-cli@1.0.102.yaml")),
    ("copilot-cli@1.0.11", include_str!("../copilot-cli@1.0.11.yaml")),
    ("copilot-cli@1.0.24", include_str!("../copilot-cli@1.0.24.yaml")),
    ("copilot-cli@1.0.50", include_str!("../copilot-cli@1.0.50.yaml")),
    ("copilot-cli@1.0.60", include_str!("../copilot-cli@1.0.60.yaml")),
    ("copilot-cli@1.0.83", include_str!("../copilot-cli@1.0.83.yaml")),
    ("copilot-cli@1.0.92", include_str!("../copilot-cli@1.0.92.yaml")),
    ("copilot-cli@seed", include_str!("../copilot-cli@seed.yaml")),
    ("gemini-cli@0.61.0", include_str!("../gemini-cli@0.61.0.yaml")),
    ("generic@2026-07-28", include_str!("../generic@2026-07-28.yaml")),
    ("generic@tools-only", include_str!("../generic@tools-only.yaml")),
    ("opencode@1.18.33", include_str!("../opencode@1.18.33.yaml")),
    ("qwen-code@0.24.4", include_str!("../qwen-code@0.24.4.yaml")),
];

/// The embedded files as written, by id.
pub(super) fn files() -> Result<BTreeMap<String, ProfileFile>, ProfileError> {
    static READ: OnceLock<Result<BTreeMap<String, ProfileFile>, ProfileError>> = OnceLock::new();
    READ.get_or_init(|| {
        FILES.iter().map(|(id, text)| Ok(((*id).to_owned(), file::read(id, text)?))).collect()
    })
    .clone()
}

/// All embedded profiles, in the order of their ids.
///
/// # Errors
/// If an embedded file is broken, which a test of this crate excludes.
pub fn profiles() -> Result<Vec<Arc<Profile>>, ProfileError> {
    static ALL: OnceLock<Result<Vec<Arc<Profile>>, ProfileError>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = files()?;
        files.keys().map(|id| file::resolve(&files, id).map(Arc::new)).collect()
    })
    .clone()
}

/// The embedded profile of this id.
///
/// # Errors
/// If there is none; the error names the nearest.
pub fn profile(id: &str) -> Result<Arc<Profile>, ProfileError> {
    let all = profiles()?;
    if let Some(found) = all.iter().find(|profile| profile.id == id) {
        return Ok(Arc::clone(found));
    }
    let suggestion = all
        .iter()
        .map(|profile| (strsim::levenshtein(id, &profile.id), &profile.id))
        .min()
        .filter(|(far, _)| *far <= SUGGESTION_DISTANCE_MAX)
        .map(|(_, near)| near.clone());
    Err(ProfileError::Unknown { name: id.to_owned(), suggestion })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Mark;

    #[test]
    fn every_file_of_the_folder_is_named() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let id = path.file_stem().unwrap().to_str().unwrap();
            let is_profile = path.extension().is_some_and(|ending| ending == "yaml");
            assert!(
                !is_profile || FILES.iter().any(|(name, _)| *name == id),
                "name {id} in FILES, or it is not read"
            );
        }
    }

    #[test]
    fn every_embedded_profile_is_whole_and_named_as_its_file() {
        let all = profiles().unwrap();
        assert_eq!(
            all.iter().map(|p| p.id.as_str()).collect::<Vec<_>>(),
            FILES.iter().map(|(id, _)| *id).collect::<Vec<_>>()
        );
        for profile in all {
            for fact in profile.evidence() {
                assert!(!fact.source.trim().is_empty(), "{}: {}", profile.id, fact.name);
            }
        }
    }

    #[test]
    fn a_fact_that_is_unknown_in_one_mode_has_a_value_for_each() {
        for profile in profiles().unwrap() {
            for fact in profile.evidence().iter().filter(|fact| fact.unknown_in.is_some()) {
                let name = format!("{}: {}", profile.id, fact.name);
                assert!(fact.value.get("tui").is_some() && fact.value.get("print").is_some(), "{name}");
                assert_ne!(fact.mark, Mark::Unknown, "{name}: unknown twice");
            }
        }
    }

    #[test]
    fn every_fact_has_its_file_and_its_meaning() {
        let profile = profile("copilot-cli@1.0.60").unwrap();
        for fact in profile.evidence() {
            assert!(profiles().unwrap().iter().any(|one| one.id == fact.stated_by), "{}", fact.name);
            assert!(fact.meaning.ends_with('.'), "{}: {}", fact.name, fact.meaning);
        }
        let of = |name: &str| profile.evidence().into_iter().find(|fact| fact.name == name).unwrap();
        assert_eq!(of("wire.empty_params").stated_by, "copilot-cli@1.0.60");
        assert_eq!(of("identity.accepted_versions").stated_by, "copilot-cli@1.0.102");
        assert_eq!(of("wake_up.kind").mark, Mark::Unknown);
        assert_eq!(of("shell.wakes").unknown_in, Some(crate::Mode::Tui));
    }

    #[test]
    fn a_slip_gets_the_nearest_name() {
        let error = profile("claude-code@2.1.33").unwrap_err().to_string();
        assert!(error.contains("did you mean claude-code@2.1.330?"), "{error}");
        let error = profile("something quite different").unwrap_err().to_string();
        assert!(!error.contains("did you mean"), "{error}");
    }

    #[test]
    fn a_child_differs_only_where_it_says_so() {
        let parent = profile("claude-code@2.1.330").unwrap();
        let child = profile("claude-code@seed").unwrap();
        assert_eq!(child.identity, parent.identity);
        assert!(!parent.channel.delivered.tui && child.channel.delivered.tui);
        assert_eq!(child.channel.delivered.mark, Mark::Seed);
    }
}
