//! A real server process in a home folder, with the host's end of its pipes and a Graph to ask.
//! It must never outlive the process that started it.

use std::path::Path;

use anyhow::Context as _;
use fake_hosts::drive::Server as _;
use fake_hosts::pipe::Pipe;
use fake_hosts::process::{ProcessServer, ServerCommand};
use serde_json::{Value, json};
use tokio::process::{ChildStdin, ChildStdout};

/// The token that it shows to Graph.
pub(super) const TOKEN: &str = "live-token";
/// A Graph that is not there.
pub(super) const NO_GRAPH: &str = "http://127.0.0.1:9";

/// A server and the host's ends of its pipes.
pub(super) struct Session {
    pub(super) server: ProcessServer,
    pub(super) pipe: Pipe<ChildStdout, ChildStdin>,
}

impl Session {
    /// Starts one. Nothing has been said to it yet.
    pub(super) fn start(
        binary: &Path,
        home: &Path,
        graph: &str,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let home = home.display().to_string();
        let own = [
            ("ENTRACLAW_HOME", home.as_str()),
            ("ENTRACLAW_AUTH", "static"),
            ("ENTRACLAW_ACCESS_TOKEN", TOKEN),
            ("ENTRACLAW_GRAPH_URL", graph),
        ];
        let environment = own.iter().chain(settings);
        let mut server = ProcessServer::new(ServerCommand {
            program: binary.display().to_string(),
            arguments: vec!["serve".to_owned()],
            environment: environment.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            bare_environment: true,
            ..ServerCommand::default()
        });
        let ends = server.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        Ok(Self { server, pipe: Pipe::new(ends) })
    }

    /// Sends a message and waits for the next line.
    pub(super) async fn ask(&mut self, message: &Value) -> anyhow::Result<String> {
        self.pipe.send(message).await?;
        Ok(self.pipe.line().await?)
    }

    /// Starts one that polls, and waits until it has answered `initialize`. Whatever else it says is read and forgotten.
    pub(super) async fn polling(
        binary: &Path,
        home: &Path,
        graph: &str,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Self> {
        let mut session = Self::start(binary, home, graph, settings)?;
        session.ask(&initialize()).await?;
        // A server ends when no client reads it.
        if let Some(mut output) = session.pipe.take_output() {
            tokio::task::spawn_local(
                async move { tokio::io::copy(&mut output, &mut tokio::io::sink()).await },
            );
        }
        Ok(session)
    }
}

/// The request that opens a session.
pub(super) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}})
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[expect(clippy::disallowed_methods, reason = "real processes live on the real clock")]
pub(super) fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
