//! How fast `entraclaw wait` and `entraclaw hook` are, with the shipped binary beside a journal on a real disk.
//! It must measure whole processes, as a host has to wait for them.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use entraclaw_inbox::journal::{ConsumerName, DeliveryId, Journal, JournalOptions, Query};
use entraclaw_inbox::record::Draft;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::DiskStorage;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};
use tokio::time::Instant;

/// Shells that are measured.
const SHELLS: usize = 100;
/// Hooks that are measured, of each kind.
const HOOKS: usize = 200;
/// Messages that were read before.
const OLD_RECORDS: usize = 5_000;
/// The host whose hook is run.
const HOST: &str = "codex";

/// Times of whole processes, unsorted.
pub(super) struct Times {
    /// From a synced record to the exit of a shell that waits.
    pub(super) shells: Vec<Duration>,
    /// Hooks with nothing to tell.
    pub(super) silent_hooks: Vec<Duration>,
    /// Hooks with a message.
    pub(super) telling_hooks: Vec<Duration>,
}

/// Measures.
pub(super) async fn measure(binary: &Path, draft: impl Fn(usize) -> Draft) -> anyhow::Result<Times> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let storage = Arc::new(DiskStorage::open(&home)?);
    let (journal, _) = Journal::open(storage, Arc::new(SystemClock), JournalOptions::default())?;
    journal.append((0..OLD_RECORDS).map(&draft).collect())?;
    let mut mailbox = journal.mailbox(&ConsumerName::new(HOST)?, "bench")?;
    let read_all = |mailbox: &mut entraclaw_inbox::journal::Mailbox| {
        mailbox.hand_out(DeliveryId(1), &Query { limit: usize::MAX, ..Query::default() })?;
        mailbox.finish(DeliveryId(1));
        mailbox.acknowledge_returned()
    };
    read_all(&mut mailbox)?;
    let mut next = OLD_RECORDS;
    let mut write = || {
        next += 1;
        journal.append(vec![draft(next)])
    };

    let mut times = Times { shells: Vec::new(), silent_hooks: Vec::new(), telling_hooks: Vec::new() };
    for _ in 0..SHELLS {
        let mut shell = start(binary, &home, &["wait", "--consumer", HOST, "--timeout", "1m"])?;
        // It has to wait before the message is written; its start is not measured.
        tokio::time::sleep(Duration::from_millis(40)).await;
        write()?;
        let synced = Instant::now();
        end(&mut shell, "Entraclaw: 1 message").await?;
        times.shells.push(synced.elapsed());
        read_all(&mut mailbox)?;
    }
    for _ in 0..HOOKS {
        times.silent_hooks.push(hook(binary, &home, "").await?);
        write()?;
        times.telling_hooks.push(hook(binary, &home, "{\"decision\":\"block\"").await?);
        read_all(&mut mailbox)?;
    }
    Ok(times)
}

async fn hook(binary: &Path, home: &Path, told: &str) -> anyhow::Result<Duration> {
    let started = Instant::now();
    let mut hook = start(binary, home, &["hook", HOST, "Stop"])?;
    end(&mut hook, told).await?;
    Ok(started.elapsed())
}

fn start(binary: &Path, home: &Path, arguments: &[&str]) -> anyhow::Result<Child> {
    Command::new(binary)
        .args(arguments)
        .env_clear()
        .env("ENTRACLAW_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {}", binary.display()))
}

async fn end(child: &mut Child, told: &str) -> anyhow::Result<()> {
    if let Some(mut stdin) = child.stdin.take() {
        // A shell that waits reads nothing.
        let _ = stdin.write_all(b"{\"session_id\":\"bench\",\"stop_hook_active\":false}").await;
    }
    let mut said = String::new();
    child.stdout.take().context("no stdout")?.read_to_string(&mut said).await?;
    let status = child.wait().await?;
    anyhow::ensure!(status.success() && said.starts_with(told), "{status}, it said: {said}");
    anyhow::ensure!(!told.is_empty() || said.is_empty(), "it said: {said}");
    Ok(())
}
