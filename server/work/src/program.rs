//! A kind of work: a program with its arguments, without a shell.
//! It must never give the program more of the environment than the request names, nor keep more output than its bounds.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use entraclaw_seams::processes::{Ending, ProcessId};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::run::{Kind, Outcome, Running};

/// Most arguments of a program, its name included.
const ARGUMENTS_MAX: usize = 1_000;
/// Bytes of the end of stderr that a failure reports.
const STDERR_TAIL_BYTES: usize = 4 * 1024;
/// How long the program may clean up after it was asked to end.
const ASK_GRACE: Duration = Duration::from_millis(150);
/// How long its pipes may stay open after it has ended, because a program that it left in the background holds them.
const DRAIN: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 64 * 1024;

/// The program to run, as the request describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The absolute path of its working folder.
    pub folder: PathBuf,
    /// The names of the environment variables that it gets from this process.
    #[serde(default)]
    pub environment: Vec<String>,
}

/// The kind `program`.
#[derive(Debug, Clone, Default)]
pub struct Program {
    environment: Vec<(String, String)>,
}

impl Program {
    /// The kind with the environment from which a request may choose.
    pub fn new(environment: Vec<(String, String)>) -> Self {
        Self { environment }
    }
}

impl Kind for Program {
    fn name(&self) -> &'static str {
        "program"
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        let spec = serde_json::from_value::<ProgramSpec>(running.request.ask.what.clone());
        let environment = self.environment.clone();
        async move {
            let spec = match spec.map_err(|error| error.to_string()).and_then(checked) {
                Ok(spec) => spec,
                Err(problem) => return Outcome::Failed(format!("the program can't be run: {problem}")),
            };
            let mut child = match start(&spec, environment) {
                Ok(child) => child,
                Err(error) => {
                    let program = &spec.argv[0];
                    return Outcome::Failed(format!(
                        "the program {program:?} could not be started: {error}; is it installed, and is the folder {} there?",
                        spec.folder.display()
                    ));
                }
            };
            let leader = child.id().and_then(|pid| running.processes.identify(pid));
            if let Some(leader) = &leader
                && let Err(error) = running.note_group(leader)
            {
                end(&mut child, Some(leader), &running).await;
                return Outcome::Failed(format!("its process could not be recorded in its folder: {error}"));
            }
            running.event("program", json!({"pid": child.id()}));
            follow(child, leader, &running).await
        }
        .boxed()
    }
}

fn checked(spec: ProgramSpec) -> Result<ProgramSpec, String> {
    let Some(program) = spec.argv.first() else {
        return Err("`argv` is empty; name the program in it".to_owned());
    };
    if program.is_empty() || spec.argv.len() > ARGUMENTS_MAX {
        return Err(format!("`argv` must name a program and at most {ARGUMENTS_MAX} arguments"));
    }
    if spec.argv.iter().any(|argument| argument.contains('\0')) {
        return Err("an argument has a NUL character; leave it out".to_owned());
    }
    if !spec.folder.is_absolute() || !spec.folder.is_dir() {
        return Err(format!("{} is not the absolute path of a folder", spec.folder.display()));
    }
    Ok(spec)
}

fn start(spec: &ProgramSpec, environment: Vec<(String, String)>) -> std::io::Result<Child> {
    let mut command = Command::new(&spec.argv[0]);
    command.args(&spec.argv[1..]).current_dir(&spec.folder).env_clear();
    command.envs(environment.into_iter().filter(|(name, _)| spec.environment.contains(name)));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

async fn follow(mut child: Child, leader: Option<ProcessId>, running: &Running) -> Outcome {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut tail = Vec::new();
    let status = {
        let said = read(stdout, |bytes| running.say(bytes));
        let complained = read(stderr, |bytes| keep_tail(&mut tail, bytes));
        let mut reading = Box::pin(async { tokio::join!(said, complained) });
        let ended = async {
            tokio::select! {
                biased;
                status = child.wait() => Some(status),
                _ = running.stopped() => None,
            }
        };
        let mut ended = Box::pin(ended);
        let mut is_read = false;
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut ended => break ended,
                _ = &mut reading, if !is_read => is_read = true,
            }
        };
        if !is_read && ended.is_some() {
            let _ = timeout(DRAIN, reading).await;
        }
        ended
    };
    // Even a program that succeeded may have left others in its group.
    end(&mut child, leader.as_ref(), running).await;
    match status {
        Some(Ok(status)) if status.success() => Outcome::Done,
        Some(Ok(status)) => Outcome::Failed(complaint(status, &tail)),
        Some(Err(error)) => Outcome::Failed(format!("it is unknown how the program ended: {error}")),
        None => Outcome::Cancelled,
    }
}

fn complaint(status: ExitStatus, tail: &[u8]) -> String {
    let tail = String::from_utf8_lossy(tail);
    match tail.trim() {
        "" => format!("the program ended with {status} and said nothing on stderr"),
        tail => format!("the program ended with {status}; the end of its stderr: {tail}"),
    }
}

fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes);
    let beyond = tail.len().saturating_sub(STDERR_TAIL_BYTES);
    tail.drain(..beyond);
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        take(&chunk[..read]);
    }
}

/// Asks the whole group to end, and then ends it.
async fn end(child: &mut Child, leader: Option<&ProcessId>, running: &Running) {
    let Some(leader) = leader else {
        let _ = child.kill().await;
        return;
    };
    let asked = running.processes.end_group(leader, Ending::Ask).unwrap_or(false);
    if asked {
        let _ = timeout(ASK_GRACE, async {
            let _ = child.wait().await;
            while running.processes.end_group(leader, Ending::Ask).unwrap_or(false) {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }
    let _ = running.processes.end_group(leader, Ending::Kill);
    let _ = child.wait().await;
}
