//! The programs seam: starts a program as a child with pipes and tells how it ended.
//!
//! It must never use a shell, nor give a child a variable that its start does not name.

use std::future::Future;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::Stdio;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;

use crate::processes::{ProcessId, Processes, SystemProcesses};

/// A program to start as a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program and its arguments; the program is never empty.
    pub argv: Vec<String>,
    /// The absolute path of its working folder.
    pub folder: PathBuf,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Whether it gets a pipe as its input; otherwise its input is empty.
    pub has_input: bool,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By a signal of this number.
    Signal(i32),
}

impl Exit {
    /// Whether it ended by itself with the code 0.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// The reading end of a child's output.
pub type Output = Box<dyn AsyncRead + Send + Unpin>;
/// The writing end of a child's input.
pub type Input = Box<dyn AsyncWrite + Send + Unpin>;

/// A running child. If it is dropped, its first process is killed.
pub struct Child {
    /// Its first process, which leads a group of its own; `None` if it has ended already.
    pub leader: Option<ProcessId>,
    /// Its input, if it was to have one.
    pub input: Option<Input>,
    /// Its output.
    pub output: Output,
    /// Its output for errors.
    pub errors: Output,
    /// Waits for the end of its first process. It may be polled anew after it was dropped in a wait, but not after its end.
    pub ended: Pin<Box<dyn Future<Output = io::Result<Exit>> + Send>>,
}

/// The operation that starts a child.
pub trait Programs: Send + Sync {
    /// Starts a program that leads a process group of its own.
    ///
    /// # Errors
    /// Fails with the error of the system if the program can't be started.
    fn start(&self, start: &Start) -> io::Result<Child>;
}

/// The programs of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPrograms;

impl Programs for SystemPrograms {
    fn start(&self, start: &Start) -> io::Result<Child> {
        let Some((program, arguments)) = start.argv.split_first() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no program is named"));
        };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&start.folder).env_clear();
        command.envs(start.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(if start.has_input { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("the system gave the program no pipes"));
        };
        Ok(Child {
            leader: child.id().and_then(|pid| SystemProcesses.identify(pid)),
            input: child.stdin.take().map(|input| Box::new(input) as Input),
            output: Box::new(output),
            errors: Box::new(errors),
            ended: Box::pin(async move { child.wait().await.map(exit) }),
        })
    }
}

fn exit(status: std::process::ExitStatus) -> Exit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Exit::Signal(signal);
    }
    Exit::Code(status.code().unwrap_or(-1))
}
