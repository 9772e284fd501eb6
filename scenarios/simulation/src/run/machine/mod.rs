//! A person's machine in process mode: a home folder, the hosts' programs by name, and what `entraclaw setup` has made of both.
//!
//! It must never touch a file outside its own folder, nor tell a host anything that does not stand in a file or a launch line.

mod config;
mod files;
mod home;
mod installed;
mod wake_up;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use entraclaw_session::config::key::ACCESS_TOKEN_VARIABLE;
use fake_hosts::Environment;
use fake_hosts::settings::{self, HostFiles, HostSettings};
use scenario::SetupStep;
use tokio::process::Child;

use self::home::{OWN_FOLDER, bytes_of, difference, texts};
use super::miss::Miss;
use super::port::KeptPort;
use crate::plan::Cell;

pub(super) use files::check;
pub(super) use installed::install;

/// The names by which people start the hosts.
const HOST_PROGRAMS: [&str; 6] = ["claude", "copilot", "codex", "gemini", "opencode", "qwen"];
/// The search path of the system's programs.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";
/// Before what setup prints of how the host is started.
const LAUNCH: &str = "Start it: ";
/// The variable that names the file of a token.
const TOKEN_FILE_VARIABLE: &str = "ENTRACLAW_AUTH_TOKEN_FILE";
/// The person's home folder.
const HOME: &str = "alice";

/// The folder of our own program on a machine below `root`.
pub(super) fn own_folder(root: &Path) -> PathBuf {
    root.join(HOME).join(OWN_FOLDER)
}

/// The machine of one cell.
pub(crate) struct Machine {
    binary: PathBuf,
    family: String,
    /// The part of the environment that this version hands its servers.
    handed: Environment,
    home: PathBuf,
    project: PathBuf,
    /// The folder in which the hosts' programs leave the arguments that they were started with.
    spool: PathBuf,
    /// The person's own environment: that of a shell, with nothing of ours in it but a token.
    environment: BTreeMap<String, String>,
    /// The files before anything ran, to the byte.
    before: BTreeMap<String, Vec<u8>>,
    /// The port of a host that listens.
    port: KeptPort,
    /// The arguments of the host when it was last started as setup says.
    launch: RefCell<Vec<String>>,
    /// Other people's servers that the host has started.
    others: RefCell<Vec<Child>>,
}

impl Machine {
    /// A machine below `root` with the files that the scenario gives this host, on which nothing was set up.
    ///
    /// `settings` are the variables with which the server would be configured; here they stand in its own file.
    #[expect(clippy::disallowed_methods, reason = "the machine's real files are made here")]
    pub(super) fn new(
        cell: &Cell,
        root: &Path,
        binary: &Path,
        settings: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let profile = cell.host.profile.as_ref().context("a bare pipe has no files")?;
        anyhow::ensure!(cfg!(unix), "the person's shell is `sh`; leave the suite `setup` out on this system");
        // Links of the temporary folder are not what is looked at here.
        let root = root.canonicalize()?;
        let (home, bin) = (root.join(HOME), root.join("bin"));
        let (project, spool) = (home.join("project"), root.join("spool"));
        let own = home.join(OWN_FOLDER);
        for folder in [&home, &bin, &spool, &project, &own] {
            std::fs::create_dir_all(folder)?;
            close(folder, 0o700)?;
        }
        for name in HOST_PROGRAMS {
            let path = bin.join(name);
            std::fs::write(&path, program(&spool))?;
            close(&path, 0o700)?;
        }
        let mut settings = settings.clone();
        // It stands in the person's shell, or in a file of its own where the settings name one.
        let token = settings.remove(ACCESS_TOKEN_VARIABLE);
        let token_file = settings.get_mut(TOKEN_FILE_VARIABLE).map(|name| {
            let path = home.join(&*name);
            *name = path.display().to_string();
            path
        });
        let mut shell = BTreeMap::new();
        match (token, token_file) {
            (Some(token), Some(path)) => {
                std::fs::write(&path, token)?;
                close(&path, 0o600)?;
            }
            (Some(token), None) => {
                shell.insert(ACCESS_TOKEN_VARIABLE.to_owned(), token);
            }
            (None, _) => {}
        }
        let file = own.join("config.toml");
        std::fs::write(&file, config::text(&settings)?)?;
        close(&file, 0o600)?;
        for (path, text) in cell.scenario.scenario.host_files.get(&cell.host.family).into_iter().flatten() {
            let path = home.join(path);
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            std::fs::write(path, text)?;
        }
        let environment = [
            ("HOME", home.display().to_string()),
            ("LANG", "C.UTF-8".to_owned()),
            ("PATH", format!("{}:{SYSTEM_PATH}", bin.display())),
            ("SHELL", "/bin/sh".to_owned()),
            ("TERM", "xterm".to_owned()),
        ];
        Ok(Self {
            binary: binary.canonicalize()?,
            family: cell.host.family.clone(),
            handed: profile.environment.clone(),
            before: bytes_of(&home)?,
            home,
            project,
            spool,
            environment: {
                shell.extend(environment.map(|(name, value)| (name.to_owned(), value)));
                shell
            },
            port: KeptPort::take()?,
            launch: RefCell::default(),
            others: RefCell::default(),
        })
    }

    /// The person's environment.
    pub(super) fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Runs `entraclaw setup`, and starts the host once as it says. What it said when it was refused, or did what it must not.
    pub(super) fn setup(&self, step: &SetupStep) -> anyhow::Result<()> {
        let before = bytes_of(&self.home)?;
        let mut arguments = vec!["setup".to_owned(), self.family.clone()];
        if step.remove {
            arguments.push("--remove".to_owned());
        }
        if step.allow_answers {
            arguments.push("--allow-answers".to_owned());
        }
        if step.everything {
            arguments.extend(self.everything());
        }
        let output = self.command(&self.binary).args(&arguments).output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (told, complaint) = (text(&output.stdout), text(&output.stderr));
        let changed = difference(&before, &bytes_of(&self.home)?);
        let stays = step.changes_nothing || step.refused.is_some();
        if let Some(changed) = changed.filter(|_| stays) {
            return Err(Miss::new(format!("setup must change nothing, and {changed}")).into());
        }
        match (&step.refused, output.status.code()) {
            (None, Some(0)) => {}
            (Some(words), Some(1)) if complaint.contains(words.as_str()) => return Ok(()),
            (Some(words), Some(1)) => {
                return Err(Miss::new(format!("`{words}` is not in its refusal: {complaint}")).into());
            }
            (None | Some(_), code) => {
                return Err(Miss::new(format!("setup ended with {code:?}: {told}{complaint}")).into());
            }
        }
        if let Some(words) = step.says.as_ref().filter(|words| !told.contains(words.as_str())) {
            return Err(Miss::new(format!("`{words}` is not in what setup says: {told}")).into());
        }
        let line = told.lines().find_map(|line| line.strip_prefix(LAUNCH));
        match (line, step.remove) {
            (Some(line), _) => Ok(self.launch(line).map_err(Miss::new)?),
            (None, true) => Ok(()),
            (None, false) => {
                Err(Miss::new(format!("setup does not say how the host is started: {told}")).into())
            }
        }
    }

    /// The content of the host's files and launch line.
    pub(super) fn settings(&self) -> Result<HostSettings, String> {
        let files = self.files().map_err(|error| error.to_string())?;
        settings::read(&self.family, &files, &self.launch.borrow()).map_err(|error| error.to_string())
    }

    fn files(&self) -> std::io::Result<HostFiles> {
        Ok(texts(&bytes_of(&self.home)?))
    }

    /// Flags for the carrier that a host has beyond what needs none.
    fn everything(&self) -> Vec<String> {
        let carrier = match self.family.as_str() {
            "claude-code" => "channel".to_owned(),
            "copilot-cli" => "extension".to_owned(),
            "codex" => "queue".to_owned(),
            "opencode" => format!("port={}", self.port.number()),
            "qwen-code" => "input-file".to_owned(),
            _ => return Vec::new(),
        };
        vec!["--with".to_owned(), carrier]
    }

    /// The person types the line; a program of the host's name takes its words.
    fn launch(&self, line: &str) -> Result<(), String> {
        let mut shell = self.command(Path::new("/bin/sh"));
        let ended = shell.args(["-c", line]).status().map_err(|error| error.to_string())?;
        let calls = wake_up::calls(&self.spool);
        match &calls[..] {
            [call] if ended.success() => {
                *self.launch.borrow_mut() = call.iter().skip(1).cloned().collect();
                Ok(())
            }
            _ => Err(format!("`{line}` started the host {} times and ended with {ended}", calls.len())),
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(&self.environment).current_dir(&self.project);
        command
    }
}

/// A program that leaves its name and its words, each with a NUL behind it, as one file in the spool.
fn program(spool: &Path) -> String {
    let spool = format!("'{}'", spool.display().to_string().replace('\'', r"'\''"));
    format!(
        "#!/bin/sh\n\
         spool={spool}\n\
         {{ printf '%s\\0' \"${{0##*/}}\"; for word in \"$@\"; do printf '%s\\0' \"$word\"; done; }} > \"$spool/.$$\" &&\n\
         mv \"$spool/.$$\" \"$spool/$$.call\"\n"
    )
}

#[cfg(unix)]
fn close(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(not(unix))]
fn close(_path: &Path, _mode: u32) -> std::io::Result<()> {
    Ok(())
}
