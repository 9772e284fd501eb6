//! `entraclaw work`: does one job in a process of its own, which goes on after the session that asked for it has ended.
//! It must never leave a process of the job behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, open_home};
use super::serve::asked_to_stop;
use entraclaw_agents::{AgentKind, SystemStored};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::processes::SystemProcesses;
use entraclaw_seams::programs::SystemPrograms;
use entraclaw_seams::storage::{DiskStorage, Storage};
use entraclaw_work::{Kinds, Program, RunParts, run as run_job, stand_by};

const AFTER: &str = "\
A session starts this for work that may outlive its call; its result comes to the inbox. `entraclaw status` counts jobs.
Exit codes: 0 the job has ended, however it went, 1 it was not run here, and why, 2 wrong usage.";

/// The pause between two checks for a cancel.
const CANCEL_LOOK: Duration = Duration::from_millis(50);

/// What the process is for.
enum Purpose {
    /// This job.
    Job(String),
    /// To stand by under this key.
    Standby(String),
}

impl Purpose {
    fn arguments(&self) -> Vec<&str> {
        match self {
            Self::Job(id) => vec![id],
            Self::Standby(key) => vec!["--standby", key],
        }
    }
}

/// Flags of `work`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Flags {
    /// The id of the job: work/ in the home folder has a folder of this name
    #[arg(required_unless_present = "standby", conflicts_with = "standby")]
    id: Option<String>,
    /// Get ready for jobs that are asked later: standby/ in the home folder has a plan of this name
    #[arg(long, value_name = "KEY")]
    standby: Option<String>,
    #[command(flatten)]
    home: Home,
    /// Start the job and end at once
    #[arg(long)]
    detach: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(perform(flags))
}

fn perform(flags: Flags) -> Done {
    let environment = Environment::read();
    let Some(purpose) = flags.standby.map(Purpose::Standby).or(flags.id.map(Purpose::Job)) else {
        return Err("neither a job nor a key is named; `entraclaw work --help` says how".into());
    };
    if flags.detach {
        detach(&purpose, &flags.home, &environment)
            .map_err(|error| format!("{} could not be started: {error}", purpose.arguments().join(" ")))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(storage) = open_home(Entry::Look, flags.home, &environment)? else {
        return Err("there is no home folder yet, so there is no job; a session of a host makes both".into());
    };
    let outcome = output::block_on(work(purpose, storage, environment))?;
    Ok(output::text(&outcome?, ExitCode::SUCCESS))
}

/// Starts this program again without waiting for it.
fn detach(purpose: &Purpose, home: &Home, environment: &Environment) -> std::io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("work").args(purpose.arguments());
    if let Some(home) = home.folder(environment) {
        command.arg("--home").arg(home);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(|_| ())
}

async fn work(purpose: Purpose, storage: DiskStorage, environment: Environment) -> Result<String, String> {
    // A session of its own has no terminal that could end it, and all programs of the job can be found by it.
    #[cfg(unix)]
    if let Err(error) = nix::unistd::setsid() {
        tracing::debug!(%error, "this process leads a group already");
    }
    // Processes that the job's programs leave behind become children of this process, which ends them.
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_child_subreaper(true) {
        tracing::warn!(%error, "processes that leave the job's group may outlive it");
    }
    let texts = |variables: BTreeMap<String, OsString>| {
        variables.into_iter().filter_map(|(name, value)| Some((name, value.into_string().ok()?))).collect()
    };
    let home = storage.root().to_owned();
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let agents = AgentKind {
        environment: texts(environment.for_agents),
        programs: Arc::new(SystemPrograms),
        processes: Arc::new(SystemProcesses),
        storage: storage.clone(),
        stored: Arc::new(SystemStored),
        home,
    };
    let parts = RunParts {
        storage,
        clock: Arc::new(SystemClock),
        processes: Arc::new(SystemProcesses),
        pid: std::process::id(),
        kinds: Kinds::default().with(Program::new(texts(environment.for_programs))).with(agents),
        look_every: CANCEL_LOOK,
    };
    match purpose {
        Purpose::Job(id) => {
            let ended = run_job(&id, parts, asked_to_stop()).await.map_err(|error| error.to_string())?;
            Ok(format!("{id}: {ended}\n"))
        }
        Purpose::Standby(key) => {
            let jobs = stand_by(&key, parts, asked_to_stop()).await.map_err(|error| error.to_string())?;
            Ok(format!("jobs: {jobs}\n"))
        }
    }
}
