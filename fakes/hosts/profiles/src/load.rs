//! Loads a user's own profile, which may extend the embedded ones.

use super::Profile;
use super::embedded;
use super::file::{ProfileError, read, resolve};

/// Loads a complete profile from the text of a file; `extends` may name any embedded profile.
///
/// # Errors
/// If the text is no profile, a fact is missing, or the parent is not known.
pub fn load(name: &str, text: &str) -> Result<Profile, ProfileError> {
    load_chain(name, &[text])
}

/// Loads the last of several files as a complete profile. Each may extend an embedded profile or an earlier
/// file.
///
/// # Errors
/// As [`load`]; also if there is no file at all.
pub fn load_chain(name: &str, texts: &[impl AsRef<str>]) -> Result<Profile, ProfileError> {
    let mut files = embedded::files()?;
    let mut last = name.to_owned();
    for text in texts {
        let file = read(name, text.as_ref())?;
        last.clone_from(&file.id);
        files.insert(file.id.clone(), file);
    }
    resolve(&files, &last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        let text = "id: x@1\nextends: copilot-cli@seed\nfamily: x\ntitle: x\nabout: x\ncalls:\n  timeout_mss: { value: 1, mark: guess, source: none }\n";
        let error = load("x.yaml", text).unwrap_err().to_string();
        assert!(error.contains("timeout_mss") && error.contains('7'), "{error}");
    }

    #[test]
    fn a_profile_without_parent_must_state_everything() {
        let text = "id: x@1\nfamily: x\ntitle: x\nabout: x\n";
        let error = load("x.yaml", text).unwrap_err().to_string();
        assert!(error.contains("calls.timeout_ms") && error.contains("life.shutdown"), "{error}");
    }

    #[test]
    fn a_circle_of_parents_is_an_error() {
        let text = "id: x@1\nextends: x@1\nfamily: x\ntitle: x\nabout: x\n";
        assert!(matches!(load("x.yaml", text), Err(ProfileError::Parent { .. })));
    }
}
