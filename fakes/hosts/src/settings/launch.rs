//! The arguments of a launch line.

use super::document::SettingsError;

/// An error for the first argument that is left over, if there is one.
pub(super) fn no_more(words: &[&str]) -> Result<(), SettingsError> {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(SettingsError::new(format!("the host does not know the argument `{word}`"))),
    }
}

pub(super) fn words(launch: &[String]) -> Vec<&str> {
    launch.iter().map(String::as_str).collect()
}
