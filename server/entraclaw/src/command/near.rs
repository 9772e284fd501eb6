//! The engine of a project on this machine: by its socket, or what stands in for it while there is none.
//! It must never start an engine that was not asked for.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use entraclaw_bridge::{Address, End, Engines, relay};
use entraclaw_delegate::provider::{Connects, StandIn};
use entraclaw_mcp::Options;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{duplex, split};
use tokio::time::{Instant, sleep};

use super::project::{Given, Project};
use entraclaw_session::app::App;

/// How long an engine may take to come that the bridge starts.
const COMES_WITHIN: Duration = Duration::from_secs(5);
/// The pause between two looks for it.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Bytes that wait in the pipe to the stand-in.
const PIPE_BYTES: usize = 64 * 1024;

/// The engine of the project on this machine.
pub(super) struct Near {
    spawns: bool,
    spawned: Option<Instant>,
    home: PathBuf,
    project: PathBuf,
    address: Address,
}

impl Near {
    /// The engine of a project; `spawns` says whether a task that finds none may start it.
    pub(super) fn new(home: PathBuf, project: PathBuf, address: Address, spawns: bool) -> Self {
        Self { spawns, spawned: None, home, project, address }
    }

    #[cfg(unix)]
    async fn end(&self) -> Option<End> {
        let (reader, writer) = entraclaw_bridge::connect(&self.address).await.ok()?.into_split();
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
        command.arg("--project").arg(&self.project);
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
        let stand_in = Box::new(StandIn::new(self.trouble()));
        tokio::spawn(async move {
            entraclaw_mcp::serve(Options::default(), vec![stand_in], far_reader, far_writer).await
        });
        End { reader: Box::new(reader), writer: Box::new(writer) }
    }
}

impl Near {
    fn trouble(&self) -> String {
        let (project, socket) = (self.project.display(), self.address.path.display());
        let how = if self.spawns {
            "it was started and did not come; see why by"
        } else {
            "start it there in a terminal:"
        };
        format!("no engine of {project} listens at {socket}; {how} `entraclaw delegate`")
    }
}

/// The way from a session to the engine of the project that it works in.
pub(super) fn connects(app: &App) -> Connects {
    let home = PathBuf::from(&app.home);
    let found = Given::default().find(&home, &app.config.delegate.external);
    Box::new(move || {
        let (ours, theirs) = duplex(PIPE_BYTES);
        let (reader, writer) = split(theirs);
        match found {
            Ok(Project { root, address, .. }) => {
                tokio::spawn(relay(reader, writer, Near::new(home, root, address, false)));
            }
            Err(trouble) => {
                let stand_in = Box::new(StandIn::new(trouble));
                tokio::spawn(async move {
                    entraclaw_mcp::serve(Options::default(), vec![stand_in], reader, writer).await
                });
            }
        }
        ours
    })
}
