//! Runs commands of one task.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::ended::{Cause, Ended, Told};
use crate::error::SandboxError;
use crate::guard::Guard;
use crate::order::CommandLine;
use crate::output::Kept;
use crate::pin::{Access, Pin};
use crate::policy::Policy;
use crate::probe::{Enforcement, probe};
use crate::refused::Refused;
use crate::surroundings::Surroundings;

/// How much of each output is kept.
const OUTPUT_KEPT: usize = 64 * 1024;

/// How long a command may take to die after its time.
const DYING: Duration = Duration::from_secs(40);

/// Whether the person has agreed to commands that are not wholly enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// What can't be enforced is an error.
    None,
    /// The person has read the very command and what is missing, and agreed.
    ByPerson,
}

/// The sandbox of one task: a policy, and a private folder that is removed with it.
#[derive(Debug)]
pub struct Sandbox {
    policy: Policy,
    /// The writable folders, as they were when the task began.
    writes: Vec<Pin>,
    environment: BTreeMap<String, String>,
    #[cfg(target_os = "linux")]
    program: PathBuf,
    private: tempfile::TempDir,
    taken: PathBuf,
    enforcement: Enforcement,
    runs: AtomicU64,
}

impl Sandbox {
    /// Makes the sandbox of a task.
    ///
    /// `program` is a program that calls [`crate::become_command`], `base` a folder of this program, outside all projects, for
    /// private folders and for what is taken away.
    pub async fn new(
        policy: Policy,
        surroundings: &Surroundings,
        program: &Path,
        base: &Path,
    ) -> Result<Self, SandboxError> {
        let base = std::fs::canonicalize(base).map_err(|source| SandboxError::io(base, source))?;
        if let Some(path) = policy.writes.iter().find(|folder| base.starts_with(folder)) {
            let why = format!("it holds {}, where the sandbox keeps its own files", base.display());
            return Err(SandboxError::Folder { path: path.clone(), why });
        }
        let private = tempfile::Builder::new()
            .prefix("task-")
            .tempdir_in(&base)
            .map_err(|source| SandboxError::io(&base, source))?;
        for name in ["tmp", "home", "run"] {
            let folder = private.path().join(name);
            std::fs::create_dir(&folder).map_err(|source| SandboxError::io(folder, source))?;
        }
        let writes = policy
            .writes
            .iter()
            .map(|folder| Pin::new(folder, Access::Write))
            .collect::<Result<Vec<_>, _>>()?;
        let environment = surroundings.environment(&private.path().join("home"), &private.path().join("tmp"));
        let taken = base.join("taken-away").join(private.path().file_name().unwrap_or_default());
        let enforcement = probe(program).await;
        Ok(Self {
            policy,
            writes,
            environment,
            #[cfg(target_os = "linux")]
            program: program.to_owned(),
            private,
            taken,
            enforcement,
            runs: AtomicU64::new(0),
        })
    }

    /// What is enforced, and what is missing.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// What commands may touch.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// A variable that every command has.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str)
    }

    /// The private folder for temporary files.
    pub fn private_tmp(&self) -> PathBuf {
        self.private.path().join("tmp")
    }

    /// Runs a command to its end. When `stop` becomes true, or the future is dropped, it ends at once, with everything that it
    /// started.
    pub async fn run(
        &self,
        command: &CommandLine,
        approval: Approval,
        mut stop: watch::Receiver<bool>,
    ) -> Result<Ended, SandboxError> {
        if approval == Approval::None && !self.enforcement.is_whole() {
            return Err(SandboxError::Unenforced { missing: self.enforcement.missing.clone() });
        }
        let run = self.private.path().join("run").join(self.runs.fetch_add(1, Ordering::Relaxed).to_string());
        std::fs::create_dir(&run).map_err(|source| SandboxError::io(&run, source))?;
        for pin in &self.writes {
            if Pin::new(&pin.path, Access::Write)? != *pin {
                let why = "it is not what it was when the task began: start a new task".to_owned();
                return Err(SandboxError::Folder { path: pin.path.clone(), why });
            }
        }
        let folders = self.policy.writes.clone();
        let guards =
            on_a_thread(move || folders.iter().map(|folder| Guard::new(folder)).collect::<Vec<_>>()).await?;
        let begin = Instant::now();
        let mut started = self.start(command, &guards, &run).await?;
        let mut seen = Seen { stdout: Kept::new(OUTPUT_KEPT), stderr: Kept::new(OUTPUT_KEPT) };
        let cause = self.follow(&mut started, &mut seen, &mut stop).await;
        let mut told = ended_as_told(&mut started, &run).await?;
        if let Some(why) = told.unenforced {
            return Err(SandboxError::Unenforced { missing: vec![why] });
        }
        let taken = self.taken.clone();
        let take_away = move || guards.iter().flat_map(|guard| guard.take_away(&taken)).collect::<Vec<_>>();
        let taken_away = on_a_thread(take_away).await?;
        let cause = match cause {
            Some(cause) => cause,
            None => told.cause.take().unwrap_or(Cause::Lost),
        };
        let refused = Refused::find(&command.shown(), told.exit_code, &seen.stderr, &taken_away);
        Ok(Ended {
            cause,
            exit_code: told.exit_code,
            signal: told.signal,
            stdout: seen.stdout,
            stderr: seen.stderr,
            left_behind: told.left_behind,
            taken_away,
            refused,
            elapsed_ms: u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Reads what the command says until it is at its end; returns why the parent ended it, if it did.
    async fn follow(
        &self,
        started: &mut Started,
        seen: &mut Seen,
        stop: &mut watch::Receiver<bool>,
    ) -> Option<Cause> {
        let mut cause = None;
        let hard_end = Instant::now() + Duration::from_millis(self.policy.time_ms_max) + DYING;
        let (mut stdout, mut stderr) = (started.child.stdout.take(), started.child.stderr.take());
        let (mut out_bytes, mut err_bytes) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
        while stdout.is_some() || stderr.is_some() {
            tokio::select! {
                biased;
                // A sender that is gone never stops anything.
                Ok(_) = stop.wait_for(|stop| *stop), if cause.is_none() => {
                    cause = Some(Cause::Stopped);
                    started.end();
                }
                () = tokio::time::sleep_until(hard_end) => {
                    cause.get_or_insert(Cause::TimeLimit);
                    let _ = started.child.start_kill();
                    break;
                }
                read = piece(&mut stdout, &mut out_bytes) => match read {
                    0 => stdout = None,
                    count => seen.stdout.push(&out_bytes[..count]),
                },
                read = piece(&mut stderr, &mut err_bytes) => match read {
                    0 => stderr = None,
                    count => seen.stderr.push(&err_bytes[..count]),
                },
            }
            if cause.is_none() && seen.stdout.bytes() + seen.stderr.bytes() > self.policy.output_bytes_max {
                cause = Some(Cause::OutputLimit);
                started.end();
            }
        }
        cause
    }
}

/// Walks through a project on a thread of its own, so that a large one holds up no other work.
pub(crate) async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SandboxError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| SandboxError::NotStarted(error.to_string()))
}

/// What a command has said so far.
struct Seen {
    stdout: Kept,
    stderr: Kept,
}

/// A command that runs.
struct Started {
    child: Child,
    /// The command lives as long as this is open.
    #[cfg(target_os = "linux")]
    lifeline: Option<tokio::process::ChildStdin>,
}

impl Started {
    /// Ends the command and everything that it started.
    fn end(&mut self) {
        #[cfg(target_os = "linux")]
        drop(self.lifeline.take());
        #[cfg(not(target_os = "linux"))]
        crate::elsewhere::end(&mut self.child);
    }
}

/// The next piece of a stream; zero at its end, and never if there is no stream.
async fn piece(stream: &mut Option<impl AsyncRead + Unpin>, bytes: &mut [u8]) -> usize {
    match stream {
        Some(stream) => stream.read(bytes).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "it is the stages' own file, which no storage knows")]
async fn ended_as_told(started: &mut Started, run: &Path) -> Result<Told, SandboxError> {
    let status = tokio::time::timeout(DYING, started.child.wait()).await;
    let told = std::fs::read(run.join("ended.json")).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let _ = std::fs::remove_dir_all(run);
    match (told, status) {
        (Some(told), _) => Ok(told),
        (None, Ok(Ok(status))) if status.code() == Some(i32::from(crate::UNENFORCED_EXIT_CODE)) => {
            Err(SandboxError::NotStarted("the hidden command did not read its order".to_owned()))
        }
        _ => Ok(Told { cause: Some(Cause::Lost), ..Told::nothing() }),
    }
}

#[cfg(not(target_os = "linux"))]
async fn ended_as_told(started: &mut Started, run: &Path) -> Result<Told, SandboxError> {
    let status = started.child.wait().await.map_err(|source| SandboxError::io(run, source))?;
    Ok(Told { cause: Some(Cause::Exited), exit_code: status.code(), ..Told::nothing() })
}

#[cfg(target_os = "linux")]
impl Sandbox {
    async fn start(
        &self,
        command: &CommandLine,
        guards: &[Guard],
        run: &Path,
    ) -> Result<Started, SandboxError> {
        use std::process::Stdio;
        use tokio::io::AsyncWriteExt as _;

        let order = self.order(command, guards, run)?;
        let failed =
            |error: std::io::Error| SandboxError::NotStarted(format!("{}: {error}", self.program.display()));
        let mut line =
            serde_json::to_vec(&order).map_err(|error| SandboxError::NotStarted(error.to_string()))?;
        line.push(b'\n');
        let mut warden = tokio::process::Command::new(&self.program);
        warden.args([crate::HIDDEN_COMMAND, "warden"]).env_clear();
        let mut child = warden
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let mut lifeline = child.stdin.take();
        if let Some(stdin) = &mut lifeline {
            stdin.write_all(&line).await.map_err(failed)?;
            stdin.flush().await.map_err(failed)?;
        }
        Ok(Started { child, lifeline })
    }

    fn order(
        &self,
        command: &CommandLine,
        guards: &[Guard],
        run: &Path,
    ) -> Result<crate::order::Order, SandboxError> {
        const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

        let mut command = command.clone();
        let mut environment = self.environment.clone();
        environment.append(&mut command.environment);
        command.environment = environment;
        command.folder = std::fs::canonicalize(&command.folder)
            .map_err(|source| SandboxError::io(&command.folder, source))?;
        let private = ["tmp", "home"].map(|name| self.private.path().join(name));
        let mut grants = self.writes.clone();
        for folder in &private {
            grants.push(Pin::new(folder, Access::Write)?);
        }
        // What is not there any more is not needed either.
        grants.extend(self.policy.reads.iter().filter_map(|path| Pin::new(path, Access::Read).ok()));
        grants.extend(DEVICES.iter().filter_map(|path| Pin::new(Path::new(path), Access::Device).ok()));
        let mut kept = Vec::new();
        for (path, may_be_written_inside) in guards.iter().flat_map(Guard::kept) {
            let access = if may_be_written_inside { Access::Write } else { Access::Read };
            kept.push(Pin::new(&path, access)?);
        }
        Ok(crate::order::Order {
            command,
            policy: self.policy.clone(),
            grants,
            kept,
            private: self.private.path().to_owned(),
            run: run.to_owned(),
            namespaces: self.enforcement.namespaces,
            whole: self.enforcement.is_whole(),
        })
    }
}

#[cfg(not(target_os = "linux"))]
impl Sandbox {
    async fn start(
        &self,
        command: &CommandLine,
        _guards: &[Guard],
        run: &Path,
    ) -> Result<Started, SandboxError> {
        let child = crate::elsewhere::start(command, &self.environment)
            .map_err(|source| SandboxError::io(run, source))?;
        Ok(Started { child })
    }
}
