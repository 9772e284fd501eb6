//! The cost of a real server without traffic: processor, memory and requests, with 200 chats and a waiting call.
//! It must never count the start, which is measured elsewhere.

use std::path::Path;
use std::time::Duration;

use fake_microsoft::graph::{ChatSpec, FakeGraph, PersonSpec, SharedGraph, TokenSpec, WorldSpec};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::live::{self, Session, wall_clock};

const CHATS: usize = 200;
/// The start, the first list and the first look at everything are over by then.
const SETTLE: Duration = Duration::from_secs(12);
const MEASURED: Duration = Duration::from_secs(50);

/// The measured cost.
pub(super) struct Idle {
    /// Share of one core, in percent; `None` where the system does not tell.
    pub(super) core_percent: Option<f64>,
    /// Peak resident memory in megabytes.
    pub(super) memory_mb: Option<f64>,
    /// Requests to Graph a second.
    pub(super) requests_per_second: f64,
}

pub(super) async fn measure(binary: &Path) -> anyhow::Result<Idle> {
    let home = tempfile::tempdir()?;
    let mut world = WorldSpec::default();
    world.tokens.push(TokenSpec { token: live::TOKEN.to_owned(), ..TokenSpec::default() });
    for n in 0..CHATS {
        let handle = format!("idle-{n}");
        world.people.insert(handle.clone(), PersonSpec::default());
        world.chats.insert(handle.clone(), ChatSpec { members: vec![handle], ..ChatSpec::default() });
    }
    let graph = SharedGraph::new(FakeGraph::from_world(&world, 1, wall_clock())?);
    let server = fake_microsoft::graph::serve(graph.clone(), wall_clock).await?;
    let home = home.path().join("home");
    let settings = [("ENTRACLAW_INBOX_CONSUMER", "idle")];
    let mut session = Session::polling(binary, &home, &server.base_url(), &settings).await?;
    session.pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 50}});
    session.pipe.send(&live::request(1, "tools/call", &wait)).await?;
    sleep(SETTLE).await;
    let pid = session.server.id();
    let (began, requests, used) = (Instant::now(), graph.with(|g| g.calls_total()), processor_time(pid));
    sleep(MEASURED).await;
    let seconds = began.elapsed().as_secs_f64();
    let asked = u32::try_from(graph.with(|g| g.calls_total()) - requests)?;
    let used = processor_time(pid).zip(used).map(|(after, before)| after.saturating_sub(before));
    Ok(Idle {
        core_percent: used.map(|used| used.as_secs_f64() / seconds * 100.0),
        memory_mb: super::memory::peak_megabytes(pid),
        requests_per_second: f64::from(asked) / seconds,
    })
}

/// Time that a process has had on any core, where the system tells: the sum over its threads, in nanoseconds.
fn processor_time(pid: Option<u32>) -> Option<Duration> {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge looks at a process")]
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let threads = std::fs::read_dir(format!("/proc/{}/task", pid?)).ok()?;
    let of_thread = |path: std::path::PathBuf| -> Option<u64> {
        read(&path.join("schedstat"))?.split_whitespace().next()?.parse().ok()
    };
    threads.flatten().map(|thread| of_thread(thread.path())).sum::<Option<u64>>().map(Duration::from_nanos)
}
