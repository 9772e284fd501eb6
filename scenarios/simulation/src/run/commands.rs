//! Our own program where a host runs it: in the model's background shell, or as a hook. In simulation its code runs in
//! this thread on the simulated disk and clock; in process mode the shipped binary runs. Neither judges what it says.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::rc::Rc;
use std::sync::Arc;

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::notice::{self, HookAsk, NoticeParts, WakingAsk};
use entraclaw_inbox::rules::{Shell, WAIT_PROGRAM, WaitCommand};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::memory::MemoryStorage;
use entraclaw_session::config::WakeUpSettings;
use fake_hosts::ShellEnd;
use fake_hosts::drive::{Beside, Commands};
use futures_util::future::LocalBoxFuture;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::oneshot;

use super::sim_process::Process;
use super::wake_up_target::{BesideOne, WakeUpTarget};

/// The folder of our programs on a simulated machine; it is on no search path.
const SIM_WAITER: &str = "/opt/entraclaw/entraclaw-wait";
/// The home folder there; not the usual one.
const SIM_HOME: &str = "/srv/entraclaw";
/// The exit code of a shell that finds no program of that name.
const NOT_FOUND: i32 = 127;

/// The wait command of a simulated machine.
pub(super) fn sim_wait_command() -> WaitCommand {
    WaitCommand::of_waiter(SIM_WAITER, Some(SIM_HOME), Shell::Posix)
}

/// The wait command of an installation, by its program.
pub(super) fn wait_command_of(binary: &Path) -> WaitCommand {
    let waiter = binary.with_file_name(format!("{WAIT_PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    if waiter.is_file() {
        return WaitCommand::of_waiter(&waiter.display().to_string(), None, Shell::here());
    }
    WaitCommand::of_whole(&binary.display().to_string(), None, Shell::here())
}

/// The command that a text tells to run: the words in backticks that start one of our waits.
pub(super) fn told_to_run(text: &str) -> Option<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.filter(|text| !text.contains('\n')).find(|text| is_wait(text))
}

fn is_wait(line: &str) -> bool {
    let mut words = line.split(' ');
    let program = words.next().unwrap_or_default().trim_end_matches('\'').trim_end_matches(".exe");
    program.ends_with(WAIT_PROGRAM) || words.any(|word| word == "wait")
}

/// The commands of a session, and the number of running hooks.
pub(super) struct Counted {
    pub(super) commands: Rc<dyn Commands>,
    pub(super) hooks: Rc<Cell<usize>>,
}

impl Commands for Counted {
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        self.commands.shell(arguments)
    }

    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let running = RunningHook::new(&self.hooks);
        let answer = self.commands.hook(host, event, input);
        Box::pin(async move {
            let _running = running;
            answer.await
        })
    }

    fn waking(
        &self,
        host: &str,
        event: &str,
        input: String,
        environment: BTreeMap<String, String>,
    ) -> Beside {
        self.commands.waking(host, event, input, environment)
    }
}

/// Counts a running hook until it is dropped, also when the host gives it up.
struct RunningHook(Rc<Cell<usize>>);

impl RunningHook {
    fn new(hooks: &Rc<Cell<usize>>) -> Self {
        hooks.set(hooks.get() + 1);
        Self(Rc::clone(hooks))
    }
}

impl Drop for RunningHook {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The program's code on a simulated machine.
pub(super) struct SimCommands {
    pub(super) disk: MemoryStorage,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) consumer: Option<String>,
    pub(super) wake_ups: WakeUpSettings,
    /// That of the session's host.
    pub(super) target: WakeUpTarget,
}

impl SimCommands {
    fn parts(&self) -> (Process, NoticeParts) {
        let process = Process::new(&self.disk);
        let parts = NoticeParts { storage: Arc::new(process.storage()), clock: Arc::clone(&self.clock) };
        (process, parts)
    }
}

impl Commands for SimCommands {
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        let (process, parts) = self.parts();
        Box::pin(async move {
            let _alive = process;
            let line = arguments.join(" ");
            // The paths of this machine need no quotes.
            let words: Vec<&str> = line.split(' ').collect();
            let ended = |output: String, code| ShellEnd { output, code };
            let [program, words @ ..] = &words[..] else { return ended(String::new(), 0) };
            if *program != SIM_WAITER {
                return ended(format!("sh: 1: {program}: not found\n"), NOT_FOUND);
            }
            let (home, ask) = match entraclaw::command::wait_ask(words, sim_wait_command()) {
                Ok(read) => read,
                Err(complaint) => return ended(complaint, 2),
            };
            if home.as_deref() != Some(Path::new(SIM_HOME)) {
                let complaint = "error: there is no home folder yet; start a session of a host with entraclaw in it first\n";
                return ended(complaint.to_owned(), i32::from(notice::EXIT_FAILED));
            }
            let waited = notice::wait(parts, ask).await;
            let output = if waited.exit == 0 { waited.text } else { String::new() };
            ShellEnd { output, code: i32::from(waited.exit) }
        })
    }

    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let (process, parts) = self.parts();
        let consumer = self.consumer.as_deref().and_then(|name| ConsumerName::new(name).ok());
        let (host, event, target) = (host.to_owned(), event.to_owned(), self.target.clone());
        Box::pin(async move {
            let _alive = process;
            let process = target.host_process();
            let ask = HookAsk {
                host: &host,
                event: &event,
                stdin: &input,
                consumer: consumer.as_ref(),
                process: Some(&process),
            };
            notice::hook(&parts, ask).answer
        })
    }

    fn waking(
        &self,
        host: &str,
        _event: &str,
        _input: String,
        environment: BTreeMap<String, String>,
    ) -> Beside {
        let (process, parts) = self.parts();
        let consumer = self.consumer.as_deref().and_then(|name| ConsumerName::new(name).ok());
        let (host, wake_ups, target) = (host.to_owned(), self.wake_ups.clone(), self.target.clone());
        let id = self.target.next_run();
        beside(Some(self.target.runs_beside()), async move {
            let _alive = process;
            if !wake_ups.waking_hook {
                return ShellEnd::default();
            }
            let host_process = target.host_process();
            let ask = WakingAsk {
                host: &host,
                consumer: consumer.as_ref(),
                variables: &environment,
                uses_socket: wake_ups.inbox_socket,
                process: &host_process,
                has_ended: &|process| target.has_ended(process),
                id: &id,
            };
            match notice::waking(&parts, ask).await {
                Ok(Some(output)) => ShellEnd { output, code: i32::from(notice::EXIT_WAKES) },
                Ok(None) | Err(_) => ShellEnd::default(),
            }
        })
    }
}

/// A program that runs on when its host does not wait for its end.
pub(super) fn beside(
    running: Option<BesideOne>,
    program: impl Future<Output = ShellEnd> + 'static,
) -> Beside {
    let (tell, told) = oneshot::channel();
    let task = tokio::task::spawn_local(async move {
        let end = program.await;
        drop(running);
        // The host may have gone meanwhile.
        let _ = tell.send(end);
    });
    let ended = async move { told.await.unwrap_or(ShellEnd { output: String::new(), code: -1 }) };
    Beside { ended: Box::pin(ended), end: Box::new(move || task.abort()) }
}

/// The shipped binary.
pub(super) struct ProcessCommands {
    pub(super) binary: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    /// That of the session's host, where it has hooks.
    pub(super) target: Option<WakeUpTarget>,
}

impl ProcessCommands {
    fn command(&self, program: &Path, arguments: &[String]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).env_clear().envs(&self.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }

    /// A line for the person's shell, which finds programs by its own path.
    fn line(&self, line: &str) -> tokio::process::Command {
        let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("/bin/sh", "-c") };
        self.command(Path::new(shell), &[flag.to_owned(), line.to_owned()])
    }
}

impl Commands for ProcessCommands {
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        Box::pin(shell_end(self.line(&arguments.join(" "))))
    }

    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let command = self.command(&self.binary, &["hook".to_owned(), host.to_owned(), event.to_owned()]);
        Box::pin(async move {
            let output = output_of(command, &input).await;
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
        })
    }

    fn waking(
        &self,
        host: &str,
        event: &str,
        input: String,
        environment: BTreeMap<String, String>,
    ) -> Beside {
        let arguments = ["hook", host, event, "--wake"].map(str::to_owned);
        let mut command = self.command(&self.binary, &arguments);
        command.envs(&environment);
        let running = self.target.as_ref().map(WakeUpTarget::runs_beside);
        beside(running, run_beside(command, input))
    }
}

/// Runs a hook to its end: its exit code, and what it wrote to stderr.
pub(super) async fn run_beside(mut command: tokio::process::Command, input: String) -> ShellEnd {
    command.stderr(Stdio::piped());
    match output_of(command, &input).await {
        Some(output) => ShellEnd {
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code().unwrap_or(-1),
        },
        None => ShellEnd { output: String::new(), code: -1 },
    }
}

/// Runs a program to its end with this on its stdin; nothing where it can't be run.
pub(super) async fn output_of(mut command: tokio::process::Command, input: &str) -> Option<Output> {
    let mut child = command.spawn().ok()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A hook that does not read its input is none the worse for it.
        let _ = stdin.write_all(input.as_bytes()).await;
    }
    child.wait_with_output().await.ok()
}

/// Runs a line of a shell to its end: its exit code, and what it wrote to stdout.
pub(super) async fn shell_end(mut command: tokio::process::Command) -> ShellEnd {
    match command.output().await {
        Ok(output) => ShellEnd {
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            code: output.status.code().unwrap_or(-1),
        },
        Err(_) => ShellEnd { output: String::new(), code: NOT_FOUND },
    }
}
