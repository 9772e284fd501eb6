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
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout_at};

use super::{Delegation, PROJECT};
use crate::run::speed::PROCESS_SPEED;
use crate::scenario::Delegate;

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
        // The project ends at its repository, whatever lies around the cell.
        let repository = folder.join(PROJECT).join(".git");
        std::fs::create_dir_all(&repository)?;
        std::fs::write(repository.join("HEAD"), "ref: refs/heads/main\n")?;
        let server = Server::new(faster(&spec.model));
        let listening = listen(&server).await?;
        let mut environment = environment.clone();
        environment.insert("ENTRACLAW_DELEGATE_BASE_URL".to_owned(), listening.base_url());
        environment.insert("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
        environment.insert("HOME".to_owned(), cell.display().to_string());
        let binary = binary.canonicalize()?;
        let engine = RefCell::default();
        Ok(Self { folder, home: home.to_owned(), binary, environment, server, listening, engine })
    }

    /// The bridge that a host starts.
    pub(crate) fn bridge(&self) -> AnyServer {
        ProcessServer::new(ServerCommand {
            program: self.binary.display().to_string(),
            arguments: vec!["mcp-bridge".to_owned()],
            working_directory: Some(self.folder.join(PROJECT)),
            environment: self.environment.clone(),
            bare_environment: true,
        })
        .into()
    }

    /// The sockets that lie in the home folder.
    fn sockets(&self) -> usize {
        let entries = std::fs::read_dir(self.home.join("delegate")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "sock")).count()
    }

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
        while self.sockets() == 0 && Instant::now() < until {
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
        }
        .boxed_local()
    }

    fn questions(&self) -> Vec<Seen> {
        self.server.questions()
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
