//! The shipped program as engine and as bridge, on a real folder, with the fake model server on a port.
//! It must never leave a process running.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use fake_hosts::AnyServer;
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_models::{Listening, Script, Seen, Server, listen};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use scenario::Delegate;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

use super::{Delegation, PROJECT};
use crate::run::speed::PROCESS_SPEED;

/// How long an engine may take until its socket is there.
const COMES_WITHIN: Duration = Duration::from_secs(10);
/// The pause between two looks for it.
const LOOK: Duration = Duration::from_millis(10);

/// The engine of one cell.
pub(crate) struct InstalledDelegation {
    folder: PathBuf,
    home: PathBuf,
    binary: PathBuf,
    environment: BTreeMap<String, String>,
    server: Server,
    listening: Listening,
    /// Another project, which only sessions beside the main one work in.
    beside: PathBuf,
    /// Whether the bridge is to start an engine.
    spawns: bool,
    engine: RefCell<Option<Child>>,
}

impl InstalledDelegation {
    /// Makes an empty project below the cell's folder, and a model server that listens.
    #[expect(clippy::disallowed_methods, reason = "it makes real folders")]
    pub(crate) async fn install(
        spec: &Delegate,
        binary: &Path,
        cell: &Path,
        home: &Path,
        environment: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        // A folder of its own: nothing else may appear beside the project.
        let folder = cell.canonicalize()?.join("delegate");
        let beside = cell.canonicalize()?.join("beside").join(PROJECT);
        for project in [folder.join(PROJECT), beside.clone()] {
            // A project ends at its repository, whatever lies around the cell.
            let repository = project.join(".git");
            std::fs::create_dir_all(&repository)?;
            std::fs::write(repository.join("HEAD"), "ref: refs/heads/main\n")?;
        }
        let server = Server::new(faster(&spec.model));
        let listening = listen(&server).await?;
        let mut environment = environment.clone();
        environment.insert("ENTRACLAW_DELEGATE_BASE_URL".to_owned(), listening.base_url());
        environment.insert("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        environment.insert("HOME".to_owned(), cell.display().to_string());
        let binary = binary.canonicalize()?;
        Ok(Self {
            folder,
            home: home.to_owned(),
            binary,
            environment,
            server,
            listening,
            beside,
            spawns: spec.spawn,
            engine: RefCell::default(),
        })
    }

    /// The bridge that a host starts, in the project or in the one beside it.
    pub(crate) fn bridge(&self, is_beside: bool) -> AnyServer {
        let mut arguments = vec!["mcp-bridge".to_owned()];
        if self.spawns {
            arguments.push("--spawn".to_owned());
        }
        let project = if is_beside { self.beside.clone() } else { self.folder.join(PROJECT) };
        ProcessServer::new(ServerCommand {
            program: self.binary.display().to_string(),
            arguments,
            working_directory: Some(project),
            environment: self.environment.clone(),
            bare_environment: true,
        })
        .into()
    }

    /// The sockets that lie in the home folder.
    fn sockets(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.home.join("delegate")).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "sock")).collect()
    }

    /// Kills the engines that a bridge has started: no one else knows of them.
    #[cfg(unix)]
    async fn kill_spawned(&self) {
        for socket in self.sockets() {
            let Ok(stream) = tokio::net::UnixStream::connect(&socket).await else { continue };
            let listens = stream.peer_cred().ok().and_then(|listens| listens.pid());
            if let Some(pid) = listens {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(pid),
                    nix::sys::signal::Signal::SIGKILL,
                );
            }
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_async, clippy::unused_self, reason = "as where there are sockets")]
    async fn kill_spawned(&self) {}

    async fn begin(&self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        command.args(["delegate", "--headless"]).current_dir(self.folder.join(PROJECT));
        command.env_clear().envs(&self.environment).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("the engine can't be started")?;
        let until = Instant::now() + COMES_WITHIN;
        // A killed engine leaves its socket, so that only the line that it says tells of the new one.
        let came = timeout_at(until, comes(&mut child)).await;
        let why = match came {
            Ok(Ok(None)) => None,
            Ok(Ok(Some(said))) => Some(said),
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("it takes too long".to_owned()),
        };
        if let Some(why) = why {
            anyhow::bail!("the engine of the model at {} does not come: {why}", self.listening.base_url());
        }
        while self.sockets().is_empty() && Instant::now() < until {
            sleep(LOOK).await;
        }
        *self.engine.borrow_mut() = Some(child);
        Ok(())
    }
}

/// Waits until the engine says that it works; what it says instead, when it ends.
async fn comes(child: &mut Child) -> std::io::Result<Option<String>> {
    let Some(errors) = child.stderr.take() else { return Ok(None) };
    let mut lines = BufReader::new(errors).lines();
    let mut said = String::new();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with("entraclaw works in ") {
            // What it says later is read, so that it never waits for a reader.
            tokio::task::spawn_local(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok(None);
        }
        said.push_str(&line);
    }
    Ok(Some(said))
}

impl Delegation for InstalledDelegation {
    fn start(&self) -> LocalBoxFuture<'_, anyhow::Result<()>> {
        self.begin().boxed_local()
    }

    fn kill(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            let child = self.engine.borrow_mut().take();
            if let Some(mut child) = child {
                let _ = child.kill().await;
            }
            if self.spawns {
                self.kill_spawned().await;
            }
        }
        .boxed_local()
    }

    fn questions(&self) -> Vec<Seen> {
        self.server.questions()
    }

    fn stats(&self) -> anyhow::Result<Value> {
        let mut command = std::process::Command::new(&self.binary);
        command.args(["delegate", "stats", "--json"]).current_dir(self.folder.join(PROJECT));
        let output =
            command.env_clear().envs(&self.environment).output().context("stats can't be started")?;
        anyhow::ensure!(output.status.success(), "stats: {}", String::from_utf8_lossy(&output.stderr));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    fn folder(&self) -> &Path {
        &self.folder
    }
}

/// The script in the time of real processes.
fn faster(script: &Script) -> Script {
    let mut script = script.clone();
    for answer in &mut script.answers {
        answer.first_token_ms /= u64::from(PROCESS_SPEED);
        answer.token_ms /= u64::from(PROCESS_SPEED);
    }
    script
}
