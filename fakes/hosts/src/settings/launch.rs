//! The words of a launch line.

use super::document::SettingsError;

/// The first words that stand at a command line's end and nobody knows.
pub(super) fn no_more(words: &[&str]) -> Result<(), SettingsError> {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(SettingsError::new(format!("the host does not know the argument `{word}`"))),
    }
}

pub(super) fn words(launch: &[String]) -> Vec<&str> {
    launch.iter().map(String::as_str).collect()
}
