//! A real server process in a home folder, with the host's end of its pipes and a Graph to ask.
//! It must never outlive whoever started it.

use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};

/// The token that it shows to Graph.
pub(super) const TOKEN: &str = "live-token";

/// A server and the host's end of its input.
pub(super) struct Session {
    pub(super) child: Child,
    stdin: ChildStdin,
}

impl Session {
    /// Starts one and waits until it has answered `initialize`. Whatever else it says is read and forgotten.
    pub(super) async fn start(
        binary: &Path,
        home: &Path,
        graph: &str,
        consumer: &str,
        poll_interval: Option<&str>,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(binary);
        command
            .args(["serve", "--consumer", consumer])
            .env_clear()
            .env("ENTRACLAW_HOME", home)
            .env("ENTRACLAW_AUTH", "static")
            .env("ENTRACLAW_ACCESS_TOKEN", TOKEN)
            .env("ENTRACLAW_GRAPH_URL", graph)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(interval) = poll_interval {
            command.env("ENTRACLAW_TEAMS_POLL_INTERVAL", interval);
        }
        let mut child = command.spawn().with_context(|| format!("cannot start {}", binary.display()))?;
        let mut stdin = child.stdin.take().context("no stdin")?;
        let stdout = child.stdout.take().context("no stdout")?;
        stdin.write_all(format!("{}\n", hello()).as_bytes()).await?;
        let mut lines = BufReader::new(stdout).lines();
        lines.next_line().await?.context("the server ended")?;
        // A server ends when nobody reads it.
        tokio::task::spawn_local(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(Self { child, stdin })
    }

    /// Writes a line to the server.
    pub(super) async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        Ok(self.stdin.write_all(format!("{message}\n").as_bytes()).await?)
    }
}

fn hello() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}})
}

#[expect(clippy::disallowed_methods, reason = "real processes live on the real clock")]
pub(super) fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
