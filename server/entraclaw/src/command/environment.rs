//! The environment, which is read once and passed on as data.
//! It must never be read anywhere else, and never be logged.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::wake_ups::PROGRAM_VARIABLES;
use entraclaw_agents::SystemFinder;
use entraclaw_inbox::notice::WAKING_VARIABLES;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_inbox::wake_up::{INBOX_VARIABLES, InboxSocket};
use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::provider::{Beside, INDEX};
use entraclaw_memory::search::IndexPlace;
use entraclaw_memory::stores::{Homes, System};
use entraclaw_sandbox::Surroundings;
use entraclaw_seams::secret::Secret;
use entraclaw_session::app::ContextSeams;
use entraclaw_session::config::key::HOME_VARIABLE;
use jiff::tz::TimeZone;

/// The variables of hosts and systems that name the folders of a host's files.
const HOST_FOLDERS: [&str; 5] =
    ["APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"];

/// The variables that name more certificates for a server of the user's own.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_DIR", "SSL_CERT_FILE"];

/// The variable with the inbox of the Qwen Code session that started this program.
const PEER_SOCKET: &str = "QWEN_CODE_MESSAGING_SOCKET";
/// The variable with the token for that inbox.
const PEER_TOKEN: &str = "QWEN_CODE_MESSAGING_TOKEN";

/// The variables of settings that have another beginning: those for other coding agents, and those of the design document
/// of shared context.
const OTHER_SETTINGS: [&str; 3] = ["CONTEXT_FILE_NAME", "COPILOT_BINARY_PATH", "COPILOT_DEFAULT_MODEL"];
/// The variable of the design document for how much is logged. Other programs have it too, so it counts only with a word
/// of the document.
const LOG_LEVEL: &str = "LOG_LEVEL";
const LOG_LEVELS: [&str; 4] = ["error", "warn", "info", "debug"];
/// The variable of the design document with the workspace.
const WORKSPACE: &str = "WORKSPACE";

/// The parts of the environment that the program may know.
pub(super) struct Environment {
    /// Variables that start with `ENTRACLAW_` or `ENTRABOT_`, those of [`OTHER_SETTINGS`], and [`LOG_LEVEL`].
    pub(super) variables: BTreeMap<String, String>,
    /// The variables that started programs get.
    pub(super) for_programs: BTreeMap<String, OsString>,
    /// The variables that other coding agents get, each its part of them.
    pub(super) for_agents: BTreeMap<String, OsString>,
    /// The inbox of the session that started this program: the socket, the token, and the user's folder for sockets.
    pub(super) peer: Option<(PathBuf, Secret, Option<PathBuf>)>,
    /// The inbox socket of the host's session, if the host names one.
    pub(super) inbox_socket: Option<InboxSocket>,
    /// The variables that hosts give their hooks.
    pub(super) hooks: BTreeMap<String, String>,
    /// The folders of hosts' files, by variable; absolute paths only.
    pub(super) host_folders: BTreeMap<&'static str, PathBuf>,
    /// The user's home folder.
    pub(super) user_home: Option<PathBuf>,
    /// The variables that name more certificates, if they are set.
    pub(super) certificates: Vec<&'static str>,
    /// The variables that say where agents keep their sessions.
    stores: BTreeMap<String, String>,
    /// The workspace that the host or the user names.
    workspace: Option<String>,
    /// The folders in which programs are searched; absolute paths only.
    search_path: Vec<PathBuf>,
}

impl Environment {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(super) fn read() -> Self {
        let ours = |name: &str| {
            name.starts_with("ENTRACLAW_") || name.starts_with("ENTRABOT_") || OTHER_SETTINGS.contains(&name)
        };
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| ours(name))
            .map(|(name, value)| (name, text(value)))
            .filter(|(name, value)| !names_itself(name, value))
            .chain(std::env::var(LOG_LEVEL).ok().and_then(|level| log_level(&level)))
            .collect();
        let home = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        let user_home = std::env::var_os(home).filter(|h| !h.is_empty()).map(PathBuf::from);
        let given = |name: &&str| Some(((*name).to_owned(), std::env::var_os(*name)?));
        let for_programs = PROGRAM_VARIABLES.iter().filter_map(given).collect();
        let whole = |name: &str| std::env::var_os(name)?.into_string().ok().filter(|text| !text.is_empty());
        let for_agents = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| entraclaw_agents::any_takes(name))
            .filter(|(name, value)| !value.to_str().is_some_and(|value| names_itself(name, value)))
            .collect();
        let peer = whole(PEER_SOCKET).zip(whole(PEER_TOKEN)).map(|(socket, token)| {
            let folder = whole("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
            (PathBuf::from(socket), Secret::new(token), folder)
        });
        let named = |name: &&str| Some(((*name).to_owned(), std::env::var(name).ok()?));
        let inbox_socket = InboxSocket::from_variables(&INBOX_VARIABLES.iter().filter_map(named).collect());
        let hooks = WAKING_VARIABLES.iter().filter_map(named).collect();
        let folder = |name: &'static str| {
            let folder = PathBuf::from(std::env::var_os(name)?);
            folder.is_absolute().then_some((name, folder))
        };
        let host_folders = HOST_FOLDERS.iter().filter_map(|name| folder(name)).collect();
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let search_path = std::env::split_paths(&search_path).filter(|folder| folder.is_absolute()).collect();
        let is_set = |name: &&str| std::env::var_os(*name).is_some_and(|value| !value.is_empty());
        let certificates = CERTIFICATES.into_iter().filter(is_set).collect();
        let stores = Homes::VARIABLES.iter().filter_map(named).collect();
        Self {
            variables,
            for_programs,
            for_agents,
            peer,
            inbox_socket,
            hooks,
            host_folders,
            user_home,
            certificates,
            stores,
            workspace: whole(WORKSPACE),
            search_path,
        }
    }

    /// The absolute path of a program that a shell would find by this name.
    pub(super) fn program(&self, name: &str) -> Option<PathBuf> {
        let found = self.search_path.iter().map(|folder| folder.join(name));
        found.into_iter().find(|path| path.is_file())
    }

    /// What finds the programs of other coding agents.
    pub(super) fn finder(&self, copilot: Option<PathBuf>) -> SystemFinder {
        SystemFinder {
            search_path: self.search_path.clone(),
            given: copilot.map(|path| ("copilot".to_owned(), path)).into_iter().collect(),
            variables: self.for_agents.clone(),
            user_home: self.user_home.clone(),
            folder: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// The names of the set variables that these sets of tools read of the environment, beside our own settings.
    pub(super) fn needed_by(&self, sets: &BTreeSet<ToolSet>) -> Vec<String> {
        let for_agents = self.for_agents.keys().filter(|_| sets.contains(&ToolSet::Ask));
        let stores = self.stores.keys().filter(|_| sets.contains(&ToolSet::Context));
        let names: BTreeSet<&String> = for_agents.chain(stores).collect();
        names.into_iter().cloned().collect()
    }

    /// What the set of shared context needs of the machine, with the index of the search below `home`.
    pub(super) fn context(&self, home: &str) -> ContextSeams {
        let home = Some(home).filter(|home| !home.is_empty());
        ContextSeams {
            files: Arc::new(DiskFiles),
            homes: Homes {
                home: self.user_home.clone().unwrap_or_default(),
                variables: self.stores.clone(),
                system: System::here(),
            },
            zone: TimeZone::system(),
            index: home
                .map_or(IndexPlace::Memory, |home| IndexPlace::Folder(PathBuf::from(home).join(INDEX))),
            workspace: self.workspace.clone(),
            cwd: std::env::current_dir().unwrap_or_default(),
            beside: Beside::Thread,
        }
    }

    /// What the screen of a local model must know.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(super) fn screen(project: &Path) -> entraclaw_screen::Options {
        let name = project.file_name().unwrap_or_default().to_string_lossy();
        let set = |name: &str| std::env::var(name).ok();
        entraclaw_screen::Options { project: name.into_owned(), term: set("TERM"), no_color: set("NO_COLOR") }
    }

    /// What the commands of a local model are kept to: the user's home, and what they may know of the environment.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub(super) fn surroundings(&self, home: &Path) -> Surroundings {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let mut secret: Vec<PathBuf> = self.host_folders.values().cloned().collect();
        secret.push(home.to_owned());
        Surroundings { home: self.user_home.clone(), environment: variables.collect(), secret }
    }

    /// The home folder: the flag, or else `ENTRACLAW_HOME`, or else `.entraclaw` in the user's home.
    pub(super) fn home(&self, flag: Option<PathBuf>) -> Option<PathBuf> {
        let stated = self.variables.get(HOME_VARIABLE).filter(|h| !h.is_empty()).map(PathBuf::from);
        flag.or(stated).or_else(|| self.default_home())
    }

    /// The home folder if neither the flag nor the variable is set.
    pub(super) fn default_home(&self) -> Option<PathBuf> {
        self.user_home.as_ref().map(|home| home.join(".entraclaw"))
    }
}

/// The setting that a level of the design document stands for.
fn log_level(level: &str) -> Option<(String, String)> {
    LOG_LEVELS.contains(&level).then(|| (LOG_LEVEL.to_owned(), level.to_owned()))
}

/// Whether a host has passed on a reference to an unset variable instead of a value.
fn names_itself(name: &str, value: &str) -> bool {
    value.strip_prefix('$').is_some_and(|rest| rest == name || rest == format!("{{{name}}}"))
}

/// The value as text. One that is not Unicode stays recognisably wrong, so that its setting is refused by name.
fn text(value: OsString) -> String {
    value.into_string().unwrap_or_else(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_another_program_is_no_setting() {
        assert_eq!(log_level("debug").map(|(_, level)| level), Some("debug".to_owned()));
        assert_eq!(log_level("verbose"), None);
        assert_eq!(log_level("INFO"), None);
    }

    #[test]
    fn a_host_passes_on_what_the_added_tools_read_and_no_more() {
        let environment = Environment {
            for_agents: [("COPILOT_HOME".to_owned(), OsString::from("/home/alice/copilot"))].into(),
            stores: [("CODEX_HOME".to_owned(), "/home/alice/codex".to_owned())].into(),
            ..Environment::read()
        };
        let needed = |sets: &[ToolSet]| environment.needed_by(&sets.iter().copied().collect());
        assert_eq!(needed(&[ToolSet::Ask]), ["COPILOT_HOME"]);
        assert_eq!(needed(&[ToolSet::Context]), ["CODEX_HOME"]);
        assert_eq!(needed(&[ToolSet::Ask, ToolSet::Context]), ["CODEX_HOME", "COPILOT_HOME"]);
        assert!(needed(&[]).is_empty());
    }

    #[test]
    fn an_unresolved_reference_is_no_value() {
        assert!(names_itself("ENTRACLAW_AUTH", "$ENTRACLAW_AUTH"));
        assert!(names_itself("ENTRACLAW_AUTH", "${ENTRACLAW_AUTH}"));
        for value in ["", "static", "$", "$OTHER", "$ENTRACLAW_AUTH ", "ENTRACLAW_AUTH"] {
            assert!(!names_itself("ENTRACLAW_AUTH", value), "{value}");
        }
    }
}
