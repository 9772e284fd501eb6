//! `entraclaw mcp-bridge`: connects a host over stdio to the engine of a project.
//! It must never work on a task itself, nor print anything but the protocol to stdout.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use clap::Args;
use entraclaw_bridge::{Address, End, Engines, relay};
use entraclaw_delegate::provider::StandIn;
use entraclaw_mcp::Options;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{duplex, split};
use tokio::time::{Instant, sleep};

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use super::project::{Given, Project};

const AFTER: &str = "\
A host starts this as an MCP server over stdio. It passes everything on to the engine of the project, which `entraclaw delegate`
is in a terminal, and finds it again when it is started anew.
Exit codes: 0 the host closed the connection, 1 it could not be served, and why, 2 wrong usage.";

/// How long an engine may take to come that the bridge starts.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// The pause between two looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Bytes that wait in the pipe to the stand-in.
const PIPE_BYTES: usize = 64 * 1024;

/// Flags of `mcp-bridge`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    project: Given,
    /// Start an engine without a terminal when a task comes and none runs
    #[arg(long)]
    spawn: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(perform(flags))
}

fn perform(flags: Flags) -> Done {
    let environment = Environment::read();
    let place = Place::find(Entry::Take, flags.home, Vec::new(), &environment).usable()?;
    let home = PathBuf::from(place.home_text());
    let project = flags.project.find(&home, &place.config.delegate.external)?;
    let engines = Near { spawns: flags.spawn, spawned: None, home, project };
    #[expect(clippy::disallowed_methods, reason = "the bridge's stdin and stdout belong to the host")]
    let relayed = relay(tokio::io::stdin(), tokio::io::stdout(), engines);
    output::block_on(relayed)?.map_err(|error| format!("the host can't be written to: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// The engine of the project on this machine.
struct Near {
    spawns: bool,
    spawned: Option<Instant>,
    home: PathBuf,
    project: Project,
}

impl Near {
    fn address(&self) -> &Address {
        &self.project.address
    }

    #[cfg(unix)]
    async fn end(&self) -> Option<End> {
        let (reader, writer) = entraclaw_bridge::connect(self.address()).await.ok()?.into_split();
        Some(End { reader: Box::new(reader), writer: Box::new(writer) })
    }

    /// Without sockets there is no way to an engine.
    #[cfg(not(unix))]
    #[expect(clippy::unused_async, clippy::unused_self, reason = "as where there are sockets")]
    async fn end(&self) -> Option<End> {
        None
    }

    /// Starts an engine that goes on when this bridge has ended.
    fn spawn(&self) -> std::io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["delegate", "--headless", "--home"]).arg(&self.home);
        command.arg("--project").arg(&self.project.root);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map(drop)
    }
}

impl Engines for Near {
    fn connect(&mut self, is_wanted: bool) -> BoxFuture<'_, Option<End>> {
        async move {
            if let Some(end) = self.end().await {
                return Some(end);
            }
            let began = Instant::now();
            let is_new = self.spawned.is_none_or(|spawned| began - spawned > COMES_WITHIN);
            if !is_wanted || !self.spawns || !is_new {
                return None;
            }
            self.spawned = Some(began);
            if let Err(error) = self.spawn() {
                tracing::warn!(%error, "the engine could not be started");
                return None;
            }
            while began.elapsed() < COMES_WITHIN {
                sleep(LOOK_EVERY).await;
                if let Some(end) = self.end().await {
                    return Some(end);
                }
            }
            None
        }
        .boxed()
    }

    fn stand_in(&mut self) -> End {
        let (near, far) = duplex(PIPE_BYTES);
        let (reader, writer) = split(near);
        let (far_reader, far_writer) = split(far);
        let options = Options { trouble: Some(self.trouble()), ..Options::default() };
        tokio::spawn(async move {
            entraclaw_mcp::serve(options, vec![Box::new(StandIn)], far_reader, far_writer).await
        });
        End { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

impl Near {
    fn trouble(&self) -> String {
        let (project, socket) = (self.project.root.display(), self.address().path.display());
        let how = if self.spawns {
            "it was started and did not come; see why by"
        } else {
            "start it there in a terminal:"
        };
        format!("no engine of {project} listens at {socket}; {how} `entraclaw delegate`")
    }
}
