//! The time without polling after `kill -9` of the leader, with three real sessions on one home folder.
//! It must never count a request that the killed leader had on its way.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use entraclaw_session::status::{STATUS_FILE, StatusFile};
use fake_hosts::Signal;
use fake_hosts::drive::Server as _;
use fake_microsoft::graph::{FakeGraph, SharedGraph};
use hdrhistogram::Histogram;
use tokio::time::{Instant, sleep, timeout};

use super::live::{self, Session, wall_clock};

/// Sessions at a time.
const SESSIONS: usize = 3;
/// Leaders that are killed.
const KILLS: usize = 30;
/// The requests of the killed leader arrive within this time.
const IN_FLIGHT: Duration = Duration::from_millis(20);
/// The time between two looks for a session that polls.
const LOOK: Duration = Duration::from_millis(1);
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// Times until another session polls, in microseconds.
pub(super) async fn measure(binary: &Path) -> anyhow::Result<Histogram<u64>> {
    let home = tempfile::tempdir()?;
    let home = home.path().join("home");
    let mut graph = FakeGraph::new(1, wall_clock());
    graph.accept_bearer(live::TOKEN);
    let graph = SharedGraph::new(graph);
    let server = fake_microsoft::graph::serve(graph.clone(), wall_clock).await?;
    let mut sessions = Vec::new();
    for n in 0..SESSIONS {
        sessions.push(start(binary, &home, &server.base_url(), n).await?);
    }
    let mut histogram = Histogram::new(3)?;
    for n in 0..KILLS {
        let leader = timeout(PATIENCE, leader(&home, &sessions)).await.context("no session took the lead")?;
        let mut stopped = sessions.swap_remove(leader);
        let killed = Instant::now();
        stopped.server.signal(Signal::Kill);
        stopped.server.exited().await;
        sleep(IN_FLIGHT).await;
        let before = calls(&graph);
        let polled = async {
            while calls(&graph) == before {
                sleep(LOOK).await;
            }
        };
        timeout(PATIENCE, polled).await.context("no session took over")?;
        histogram.record(u64::try_from(killed.elapsed().as_micros())?)?;
        sessions.push(start(binary, &home, &server.base_url(), SESSIONS + n).await?);
    }
    Ok(histogram)
}

async fn start(binary: &Path, home: &Path, graph: &str, n: usize) -> anyhow::Result<Session> {
    let consumer = format!("session-{}", n % SESSIONS);
    let settings = [("ENTRACLAW_INBOX_CONSUMER", &*consumer), ("ENTRACLAW_TEAMS_POLL_INTERVAL", "250ms")];
    Session::polling(binary, home, graph, &settings).await
}

fn calls(graph: &SharedGraph) -> u64 {
    graph.with(|graph| graph.calls_total())
}

/// The index of the session that the status file names as the one that polls.
async fn leader(home: &Path, sessions: &[Session]) -> usize {
    loop {
        if let Some(pid) = leader_pid(home)
            && let Some(at) = sessions.iter().position(|session| session.server.id() == Some(pid))
        {
            return at;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge looks at the server's files")]
fn leader_pid(home: &Path) -> Option<u32> {
    let text = std::fs::read(home.join(STATUS_FILE)).ok()?;
    serde_json::from_slice::<StatusFile>(&text).ok().map(|status| status.pid)
}
