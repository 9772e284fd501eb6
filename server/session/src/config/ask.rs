//! `[ask]`: other coding agents as tools.

use std::path::PathBuf;

use entraclaw_agents::{Permissions, Settings};

use super::key;
use super::load::Loader;

/// Settings for other coding agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ask {
    /// The settings of the provider.
    pub settings: Settings,
    /// The program of the GitHub Copilot CLI, if the operator names one.
    pub copilot: Option<PathBuf>,
}

impl Loader {
    pub(super) fn ask(&mut self) -> Ask {
        let permissions = self.word(&key::ASK_PERMISSIONS, "write \"read-only\", \"workspace\" or \"all\"");
        let text = |loader: &Self, key| loader.value(key).map(|(text, _)| text);
        Ask {
            settings: Settings {
                permissions: Permissions::parse(permissions).unwrap_or(Permissions::ReadOnly),
                default_model: text(self, &key::ASK_DEFAULT_MODEL),
                wait: self.duration(&key::ASK_WAIT),
                time_limit: self.duration(&key::ASK_TIME_LIMIT),
                at_once: self.number(&key::ASK_AT_ONCE),
                warm: self.number(&key::ASK_WARM),
            },
            copilot: text(self, &key::ASK_COPILOT).map(PathBuf::from),
        }
    }
}
