//! How soon an idle model is shown what another process has written to the journal: a fake host with the shipped binary, whose
//! session follows. It must measure the longest way there is: a session that polls itself has no disk between.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use entraclaw_inbox::journal::{Journal, JournalOptions};
use entraclaw_inbox::record::Draft;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::DiskStorage;
use fake_hosts::drive::{self, HostEvent, HostEventKind, Order};
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::{Action, HostMachine, HostOptions, ToolCall};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// A host that shows channel pushes.
const CHANNEL_HOST: &str = "claude-code@seed";
/// A host that moves long calls to the background, from where their end wakes the session.
const PARKING_HOST: &str = "claude-code@2.1.330";
/// Messages by each way.
const MESSAGES: usize = 100;
/// After this a call is in the background; the host's own two minutes would be waited a hundred times.
const BACKGROUND_AFTER: Duration = Duration::from_millis(50);
/// The host is at rest by then.
const SETTLE: Duration = Duration::from_millis(30);
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);
/// Events that wait at most.
const EVENTS_MAX: usize = 256;

/// Times from a synced record to the model of an idle session, unsorted.
pub(super) struct Times {
    /// By a channel push.
    pub(super) channel: Vec<Duration>,
    /// By the end of a parked call.
    pub(super) parked: Vec<Duration>,
}

/// Measures.
pub(super) async fn measure(binary: &Path, draft: impl Fn(usize) -> Draft) -> anyhow::Result<Times> {
    let local = tokio::task::LocalSet::new();
    let both = async {
        let channel = HostOptions { channels: true, ..HostOptions::default() };
        let channel = one_way(binary, CHANNEL_HOST, channel, &draft).await.context("by a channel push")?;
        let after_ms = u64::try_from(BACKGROUND_AFTER.as_millis())?;
        let parked =
            HostOptions { channels: false, background_after_ms: Some(after_ms), ..HostOptions::default() };
        let parked = one_way(binary, PARKING_HOST, parked, &draft).await.context("by a parked call")?;
        anyhow::Ok(Times { channel, parked })
    };
    local.run_until(both).await
}

async fn one_way(
    binary: &Path,
    host: &str,
    options: HostOptions,
    draft: &impl Fn(usize) -> Draft,
) -> anyhow::Result<Vec<Duration>> {
    let folder = tempfile::tempdir()?;
    let home = folder.path().join("home");
    let storage = Arc::new(DiskStorage::open(&home)?);
    // It has the lead before the session starts, so that the session follows.
    let (journal, _) = Journal::open(storage, Arc::new(SystemClock), JournalOptions::default())?;
    let environment = [
        ("ENTRACLAW_HOME", home.display().to_string()),
        ("ENTRACLAW_AUTH", "static".to_owned()),
        ("ENTRACLAW_ACCESS_TOKEN", "bench-token".to_owned()),
        ("ENTRACLAW_GRAPH_URL", "http://127.0.0.1:9".to_owned()),
    ];
    let mut server = ProcessServer::new(ServerCommand {
        program: binary.display().to_string(),
        arguments: vec!["serve".to_owned()],
        environment: environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        bare_environment: true,
        ..ServerCommand::default()
    });
    let parks = !options.channels;
    let machine = HostMachine::new(fake_hosts::profile(host)?, options);
    let (orders, queue) = mpsc::channel(EVENTS_MAX);
    let (events, mut seen) = mpsc::channel(EVENTS_MAX);
    let host =
        tokio::task::spawn_local(async move { drive::drive(machine, &mut server, queue, events).await });
    until(&mut seen, |kind| matches!(kind, HostEventKind::Ready)).await?;
    let act = async |action| orders.send(Order::Act(action)).await.context("the host is gone");
    let mut times = Vec::new();
    for n in 0..MESSAGES {
        if parks {
            act(Action::BeginTurn { prompt: "listen".to_owned() }).await?;
            let arguments = json!({"timeout_s": 0});
            act(Action::Call(ToolCall::new("wait_for_inbound_message", arguments, format!("wait-{n}"))))
                .await?;
            sleep(BACKGROUND_AFTER + SETTLE).await;
        }
        act(Action::EndTurn).await?;
        sleep(SETTLE).await;
        while seen.try_recv().is_ok() {}
        let text = draft(n).content_text_sanitized;
        journal.append(vec![draft(n)])?;
        let synced = Instant::now();
        let shown = |kind: &HostEventKind| matches!(kind, HostEventKind::Model(entry) if entry.woke && entry.text.contains(&text));
        until(&mut seen, shown).await.with_context(|| format!("message {n}"))?;
        times.push(synced.elapsed());
    }
    drop(orders);
    host.await?;
    Ok(times)
}

async fn until(
    seen: &mut mpsc::Receiver<HostEvent>,
    wanted: impl Fn(&HostEventKind) -> bool,
) -> anyhow::Result<()> {
    let come = async {
        while let Some(event) = seen.recv().await {
            if wanted(&event.kind) {
                return Ok(());
            }
        }
        anyhow::bail!("the host ended")
    };
    timeout(PATIENCE, come).await.context("nothing came in time")?
}
