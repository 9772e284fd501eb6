//! The three forms of a check: all well, a warning with its remedy, a failure with its remedy.
//! It must never have a fault without a remedy.

use super::{Check, Level};

pub(super) fn ok(name: &str, found: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Ok, found: found.into(), fix: None }
}

pub(super) fn warn(name: &str, found: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Warn, found: found.into(), fix: Some(fix.into()) }
}

pub(super) fn fail(name: &str, found: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { name: name.to_owned(), level: Level::Fail, found: found.into(), fix: Some(fix.into()) }
}
