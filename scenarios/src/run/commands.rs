//! Our own program where a host runs it: in the model's background shell, or as a hook. In simulation its code runs in
//! this thread on the simulated disk and clock; in process mode the shipped binary runs. Neither judges what it says.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use entraclaw::clock::Clock;
use entraclaw::journal::ConsumerName;
use entraclaw::notice::{self, Format, HookAsk, NoticeParts, WaitAsk};
use entraclaw::storage::memory::MemoryStorage;
use fakes::host::ShellEnd;
use fakes::host::drive::Commands;
use futures_util::future::LocalBoxFuture;
use tokio::io::AsyncWriteExt as _;

use super::sim::Process;

/// How long the command waits when nothing else is said; as on its command line.
const WAIT_DEFAULT: Duration = Duration::from_secs(8 * 3_600);

/// What an agent types to be woken.
pub(super) fn wait_command(consumer: &str) -> Vec<String> {
    ["wait", "--consumer", consumer].map(str::to_owned).to_vec()
}

/// Somebody's commands, and how many hooks run.
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
}

/// Counts until it is dropped, so a hook that its host gives up counts no longer.
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
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let (format, consumer) = match words[..] {
                ["wait", "--consumer", consumer] => (Format::Text, consumer),
                ["wait", "--format", "json", "--consumer", consumer] => (Format::Json, consumer),
                _ => return ShellEnd { output: String::new(), code: 2 },
            };
            let Ok(consumer) = ConsumerName::new(consumer) else {
                return ShellEnd { output: String::new(), code: 2 };
            };
            let ask = WaitAsk { consumer: Some(consumer), timeout: WAIT_DEFAULT, format };
            let waited = notice::wait(parts, ask).await;
            let output = if waited.exit == 0 { waited.text } else { String::new() };
            ShellEnd { output, code: i32::from(waited.exit) }
        })
    }

    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let (process, parts) = self.parts();
        let consumer = self.consumer.as_deref().and_then(|name| ConsumerName::new(name).ok());
        let (host, event) = (host.to_owned(), event.to_owned());
        Box::pin(async move {
            let _alive = process;
            let ask = HookAsk { host: &host, event: &event, stdin: &input, consumer: consumer.as_ref() };
            notice::hook(&parts, ask).answer
        })
    }
}

/// The shipped binary.
pub(super) struct ProcessCommands {
    pub(super) binary: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
}

impl ProcessCommands {
    fn command(&self, arguments: &[String]) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(&self.binary);
        command.args(arguments).env_clear().envs(&self.environment);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }
}

impl Commands for ProcessCommands {
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        let mut command = self.command(&arguments);
        Box::pin(async move {
            match command.output().await {
                Ok(output) => ShellEnd {
                    output: String::from_utf8_lossy(&output.stdout).into_owned(),
                    code: output.status.code().unwrap_or(-1),
                },
                Err(_) => ShellEnd { output: String::new(), code: 127 },
            }
        })
    }

    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String> {
        let mut command = self.command(&["hook".to_owned(), host.to_owned(), event.to_owned()]);
        Box::pin(async move {
            let Ok(mut child) = command.spawn() else { return String::new() };
            if let Some(mut stdin) = child.stdin.take() {
                // A hook that does not read its input is none the worse for it.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            let output = child.wait_with_output().await;
            output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default()
        })
    }
}
