//! The home folder and the configuration of a command, and all problems with either.
//! It must never stop at the first problem; each command decides what to do about them.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::environment::Environment;
use super::output::{Failure, usage};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::notice::reader;
use entraclaw_microsoft::entra::Auth;
use entraclaw_microsoft::entra::SignInRecord;
use entraclaw_seams::storage::{DiskStorage, MemoryStorage, Storage};
use entraclaw_session::config::key::Key;
use entraclaw_session::config::{Config, Sources};

pub(super) const CONFIG_FILE: &str = "config.toml";
/// All folders that the home folder may have.
const FOLDERS: [&str; 20] = [
    "agents",
    "context",
    "delegate",
    "delegate/sandbox",
    "inbox",
    "inbox/index",
    "inbox/consumers",
    "interactions",
    "sources",
    "sessions",
    "attachments",
    "hooks",
    "keys",
    "log",
    "memory",
    "memory/index",
    "setup",
    "standby",
    "waking",
    "work",
];
/// Largest configuration file that is read.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;

/// The flag for the home folder, which every command has.
#[derive(Debug, Clone, Default, Args)]
pub(super) struct Home {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
}

impl Home {
    /// The value of the flag.
    pub(super) fn given(self) -> Option<PathBuf> {
        self.home
    }

    /// The home folder, even if it can't be used.
    pub(super) fn folder(&self, environment: &Environment) -> Option<PathBuf> {
        environment.home(self.home.clone())
    }
}

/// The home folder and the configuration, as far as they can be used.
pub(super) struct Place {
    /// The path of the home folder; `None` if neither a flag nor the environment gives one.
    pub(super) home: Option<PathBuf>,
    /// The home folder as a disk; `None` if it is missing or can't be used.
    pub(super) disk: Option<DiskStorage>,
    /// The configuration, or the default if it is wrong.
    pub(super) config: Config,
    /// The text of the configuration file, if there is one.
    pub(super) config_text: Option<String>,
    /// The problem with the home folder, with the fix.
    pub(super) home_trouble: Option<String>,
    /// The problems of the configuration, one line each, with the fix.
    pub(super) config_trouble: Vec<String>,
}

/// How a command uses a home folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Creates it if it is missing, and closes it to others.
    Take,
    /// Changes nothing.
    Look,
}

impl Place {
    /// Finds the home folder and reads the configuration. `flags` are settings from the command line, with their flag.
    pub(super) fn find(
        entry: Entry,
        home: Home,
        flags: Vec<(&'static Key, &'static str, String)>,
        environment: &Environment,
    ) -> Self {
        let home = environment.home(home.home);
        let (disk, home_trouble) = match open(home.as_deref(), entry) {
            Ok(disk) => (disk, None),
            Err(trouble) => (None, Some(trouble)),
        };
        let mut place = Self {
            home,
            disk,
            config: Config::default(),
            config_text: None,
            home_trouble,
            config_trouble: Vec::new(),
        };
        let file = place.read_config();
        let sources = Sources { flags, environment: environment.variables.clone(), file };
        place.config = Config::load(&sources).unwrap_or_else(|errors| {
            place.config_trouble.extend(errors.0.iter().map(ToString::to_string));
            Config::default()
        });
        place
    }

    /// The place, if its home folder can be used.
    pub(super) fn usable(mut self) -> Result<Self, String> {
        self.home_trouble.take().map_or(Ok(self), Err)
    }

    /// The consumer of a flag, or else that of the configuration.
    pub(super) fn consumer(&self, flag: Option<&str>) -> Result<Option<ConsumerName>, Failure> {
        let typed = flag.map(ConsumerName::new).transpose();
        let typed = typed.map_err(|error| usage(format!("--consumer: {error}")))?;
        Ok(typed.or_else(|| self.config.inbox.consumer.clone()))
    }

    /// Checks that a wait for a consumer makes sense. That of the configuration is always valid.
    pub(super) fn check_waiting(
        &self,
        storage: &Arc<dyn Storage>,
        consumer: Option<&ConsumerName>,
    ) -> Result<(), String> {
        let typed = consumer.filter(|name| Some(*name) != self.config.inbox.consumer.as_ref());
        let Some(name) = typed else { return Ok(()) };
        reader::may_wait(storage, name)
            .map_err(|error| format!("the inbox can't be read: {error}; run `entraclaw doctor`"))?
    }

    /// The home folder as text for people.
    pub(super) fn home_text(&self) -> String {
        self.home.as_ref().map_or_else(|| "(none)".to_owned(), |home| home.display().to_string())
    }

    /// The home folder, or an empty one in memory if it can't be used.
    pub(super) fn storage(&self) -> Arc<dyn Storage> {
        match &self.disk {
            Some(disk) => Arc::new(disk.clone()),
            None => Arc::new(MemoryStorage::new()),
        }
    }

    /// The folders inside the home folder that can't be used, each with the fix.
    pub(super) fn folder_troubles(&self) -> Vec<String> {
        self.disk.as_ref().map(|disk| disk.folder_troubles(&FOLDERS)).unwrap_or_default()
    }

    /// Why a missing home folder can't be created, with the fix.
    pub(super) fn unmakeable(&self) -> Option<String> {
        let home = self.home.as_deref().filter(|_| self.disk.is_none() && self.home_trouble.is_none())?;
        let above = home.ancestors().skip(1).find(|folder| folder.exists())?;
        let why = DiskStorage::write_problem(above)?;
        Some(format!(
            "{} is not there and can't be made: {} can't be written by you ({why}); make the folder yours, or set \
             ENTRACLAW_HOME to one that is",
            home.display(),
            above.display()
        ))
    }

    /// The problem that the configured sign-in was not done yet, with the fix.
    pub(super) fn not_signed_in(&self) -> Option<String> {
        let wants = match &self.config.auth {
            Auth::None | Auth::Static(_) | Auth::TokenFile(_) => return None,
            Auth::AgentUser(who) if who.key_file.is_some() => return None,
            Auth::AgentUser(_) => {
                "no key has been brought here yet, so nothing is read; run `entraclaw login --key FILE`"
            }
            Auth::Delegated(_) => "there was no sign-in here yet, so nothing is read; run `entraclaw login`",
        };
        match SignInRecord::read(&*self.storage()) {
            None => Some(wants.to_owned()),
            Some(record) if record.signed_in_at.is_some() => None,
            Some(_) => Some(
                "the key that was brought here has not signed in yet; run `entraclaw login`, which tries it and says what \
                 is wrong"
                    .to_owned(),
            ),
        }
    }

    /// The same for `setup`, which also reports that no way to sign in is chosen.
    pub(super) fn without_sign_in(&self) -> Option<String> {
        let chosen = self.config.auth != Auth::None || self.config.bot.enabled;
        if !chosen && self.config_trouble.is_empty() {
            let what = "no way to sign in is chosen yet, so nothing is read; run `entraclaw init`, set `auth.mode` in \
                        config.toml, and run `entraclaw login` (unless the host's own environment says it all)";
            return Some(what.to_owned());
        }
        self.not_signed_in()
    }

    /// All problems.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.home_trouble.iter().chain(&self.config_trouble).cloned().collect()
    }

    /// The name and text of the configuration file, if there is one.
    fn read_config(&mut self) -> Option<(String, String)> {
        let disk = self.disk.as_ref()?;
        let name = disk.root().join(CONFIG_FILE).display().to_string();
        let text = disk.read_settings(CONFIG_FILE, CONFIG_BYTES_MAX).and_then(|bytes| {
            let not_text =
                |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8; save it as UTF-8");
            bytes.map(|bytes| String::from_utf8(bytes).map_err(not_text)).transpose()
        });
        match text {
            Ok(text) => {
                self.config_text.clone_from(&text);
                text.map(|text| (name, text))
            }
            Err(error) => {
                let fix = match error.kind() {
                    io::ErrorKind::PermissionDenied if !error.to_string().contains(';') => {
                        format!("; make it yours and run `chmod 600 {name}`")
                    }
                    _ => String::new(),
                };
                self.config_trouble.push(format!("{name} can't be read: {error}{fix}"));
                None
            }
        }
    }
}

/// The home folder of a command that needs no configuration; `None` if it is only looked at and missing.
pub(super) fn open_home(
    entry: Entry,
    home: Home,
    environment: &Environment,
) -> Result<Option<DiskStorage>, String> {
    open(environment.home(home.home).as_deref(), entry)
}

fn open(home: Option<&Path>, entry: Entry) -> Result<Option<DiskStorage>, String> {
    let home = home.ok_or("there is no home folder; set ENTRACLAW_HOME or give --home")?;
    if !home.is_absolute() {
        // The host chooses the working folder, and no shell expands a `~` here.
        return Err(format!(
            "the home folder {:?} (ENTRACLAW_HOME or --home) is not an absolute path; write it out from the root",
            home.display().to_string()
        ));
    }
    let opened = match entry {
        Entry::Take => DiskStorage::open(home).map(Some),
        Entry::Look => DiskStorage::look(home),
    };
    opened.map_err(|error| unusable(&error))
}

/// The problem that the home folder can't be used, with the fix.
pub(super) fn unusable(error: &io::Error) -> String {
    let fix = match error.kind() {
        // Our own refusals already name the fix.
        io::ErrorKind::PermissionDenied if error.to_string().contains(';') => "",
        io::ErrorKind::PermissionDenied => {
            "; make the folder yours (`chown`, `chmod 700`), or set ENTRACLAW_HOME to a folder that is"
        }
        io::ErrorKind::ReadOnlyFilesystem => "; set ENTRACLAW_HOME to a folder that can be written",
        _ => "; repair it, or set ENTRACLAW_HOME to another folder",
    };
    format!("the home folder can't be used: {error}{fix}")
}
