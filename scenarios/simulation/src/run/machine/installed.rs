//! A host as its files and launch line make it: the server they name, their hooks through a shell, the command its model was told of.
//!
//! It must never fall back to what the runner knows: what no file says is not there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

use fake_hosts::drive::{Beside, Commands};
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::settings::{HookCommand, HostSettings, OpenWakeUp};
use fake_hosts::{HostOptions, ShellEnd};
use futures_util::future::LocalBoxFuture;
use tokio::process::{Child, Command};

use super::super::commands::{ProcessCommands, beside, output_of, run_beside, shell_end, told_to_run};
use super::super::extension;
use super::super::session::{Attendance, Extension, Install};
use super::super::wake_up_target::WakeUpTarget;
use super::{Machine, wake_up};

/// The server's name; what setup calls it is what every host must find.
const SERVER: &str = "entraclaw";
/// A hook's limit where neither file nor host says one; the machine of the host has its own beside.
const HOOK_TIME_MAX: Duration = Duration::from_secs(60);

/// Makes a session of this machine's host from its files. It starts other people's servers too.
pub(in super::super) fn install(
    machine: &Machine,
    target: &WakeUpTarget,
    now_ms: fn() -> i64,
) -> Result<Install, String> {
    let settings = machine.settings()?;
    let said = |error: fake_hosts::settings::SettingsError| error.to_string();
    let command = |name: &str| {
        settings.command_of(name, &machine.environment, &machine.handed, machine.project.clone())
    };
    let ours = command(SERVER).map_err(said)?;
    let mut others = Vec::new();
    for name in settings.servers.keys().filter(|name| *name != SERVER) {
        let other = command(name).map_err(said)?;
        others.push(spawn(&other).map_err(|error| format!("the server `{name}` can't be started: {error}"))?);
    }
    // The host has ended and started anew: so have these.
    *machine.others.borrow_mut() = others;
    let wait = told_to_run(&settings.instructions).map(str::to_owned);
    let mut options: HostOptions = settings.options(SERVER, wait.as_deref());
    options.working_directory = machine.project.display().to_string();
    let commands = Rc::new(Installed {
        hooks: settings.hooks.clone(),
        waking: settings.waking.clone(),
        target: target.clone(),
        environment: machine.environment.clone(),
        folder: machine.project.clone(),
    });
    let extension = match &settings.wake_up {
        Some(OpenWakeUp::Extension(text)) => Some(extension_of(machine, text)?),
        _ => None,
    };
    Ok(Install {
        options,
        make_server: Rc::new(move || ProcessServer::new(ours.clone()).into()),
        commands,
        wait: wait.into_iter().collect(),
        extension,
        attendance: attendance(&settings, machine, target, now_ms),
    })
}

fn attendance(
    settings: &HostSettings,
    machine: &Machine,
    target: &WakeUpTarget,
    now_ms: fn() -> i64,
) -> Option<Attendance> {
    let (wake_up, spool, target) = (settings.wake_up.clone()?, machine.spool.clone(), target.clone());
    Some(Rc::new(move || Box::pin(wake_up::attend(wake_up.clone(), spool.clone(), target.clone(), now_ms))))
}

fn extension_of(machine: &Machine, text: &str) -> Result<Extension, String> {
    let arguments =
        extension::words_of(text).ok_or_else(|| "the extension does not say what it runs".to_owned())?;
    let commands =
        ProcessCommands { binary: PathBuf::new(), environment: machine.environment.clone(), target: None };
    Ok(Extension { commands: Rc::new(commands), arguments })
}

fn spawn(command: &ServerCommand) -> std::io::Result<Child> {
    let mut process = Command::new(&command.program);
    process.args(&command.arguments).env_clear().envs(&command.environment).kill_on_drop(true);
    if let Some(folder) = &command.working_directory {
        process.current_dir(folder);
    }
    process.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

/// Runs what the files say, through a shell, as the person's own.
struct Installed {
    hooks: BTreeMap<String, Vec<HookCommand>>,
    waking: Vec<HookCommand>,
    target: WakeUpTarget,
    environment: BTreeMap<String, String>,
    folder: PathBuf,
}

impl Installed {
    fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).env_clear().envs(&self.environment).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }
}

impl Commands for Installed {
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        Box::pin(shell_end(Self::shell(self, &arguments.join(" "))))
    }

    /// Runs every command of the event in the order of the file. The answer is that of the first with something to say; hosts
    /// put several together, each in its own way, and no scenario has two that speak.
    fn hook(&self, _host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let hooks = self.hooks.get(event).cloned().unwrap_or_default();
        let commands: Vec<(Command, Duration)> = hooks
            .iter()
            .map(|hook| {
                let limit = hook.timeout_ms.map_or(HOOK_TIME_MAX, Duration::from_millis);
                (Self::shell(self, &hook.command), limit)
            })
            .collect();
        Box::pin(async move {
            let mut answer = String::new();
            for (command, limit) in commands {
                let said = tokio::time::timeout(limit, run(command, &input)).await.unwrap_or_default();
                if answer.trim().is_empty() {
                    answer = said;
                }
            }
            answer
        })
    }

    /// Runs the first that the files name; no scenario has two.
    fn waking(
        &self,
        _host: &str,
        _event: &str,
        input: String,
        environment: BTreeMap<String, String>,
    ) -> Beside {
        let line = self.waking.first().map_or("true", |hook| hook.command.as_str());
        let mut command = Self::shell(self, line);
        command.envs(&environment);
        beside(Some(self.target.runs_beside()), run_beside(command, input))
    }
}

/// The output of a hook; `None` when it failed.
async fn run(command: Command, input: &str) -> String {
    let output = output_of(command, input).await.filter(|output| output.status.success());
    output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
}
