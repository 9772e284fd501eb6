//! The environment, read once and handed down as data.
//! It must never be read anywhere else, and never be logged.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::config::key::HOME_VARIABLE;
use crate::knock::PROGRAM_VARIABLES;

/// What the environment says, as far as anybody may know it.
pub(super) struct Environment {
    /// Variables that start with `ENTRACLAW_` or `ENTRABOT_`.
    pub(super) variables: BTreeMap<String, String>,
    /// What programs that are started get of it.
    pub(super) for_programs: BTreeMap<String, OsString>,
    user_home: Option<PathBuf>,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(super) fn read() -> Self {
        let ours = |name: &str| name.starts_with("ENTRACLAW_") || name.starts_with("ENTRABOT_");
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| ours(name))
            .map(|(name, value)| (name, text(value)))
            .collect();
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let user_home = std::env::var_os(home).filter(|h| !h.is_empty()).map(PathBuf::from);
        let given = |name: &&str| Some(((*name).to_owned(), std::env::var_os(*name)?));
        Self { variables, for_programs: PROGRAM_VARIABLES.iter().filter_map(given).collect(), user_home }
    }

    /// The home folder: the flag, else `ENTRACLAW_HOME`, else `.entraclaw` in the user's home.
    pub(super) fn home(&self, flag: Option<PathBuf>) -> Option<PathBuf> {
        let stated = self.variables.get(HOME_VARIABLE).filter(|h| !h.is_empty()).map(PathBuf::from);
        flag.or(stated).or_else(|| self.user_home.as_ref().map(|home| home.join(".entraclaw")))
    }
}

/// A value that is not Unicode is kept recognisably wrong, so that its setting is refused by name.
fn text(value: OsString) -> String {
    value.into_string().unwrap_or_else(|value| value.to_string_lossy().into_owned())
}
