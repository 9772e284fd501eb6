//! Watching on a real disk: a write by any process is told soon.

#![expect(clippy::disallowed_methods, reason = "the test writes real files, and measures real time")]

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::provider::{Beside, ContextParts, ContextProvider, Scope};
use entraclaw_memory::search::IndexPlace;
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::processes::SystemProcesses;
use entraclaw_seams::storage::DiskStorage;
use jiff::tz::TimeZone;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex};
use tokio::time::{Instant, timeout};

const OPENING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"context://current"}}
{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"context://cli-sessions"}}
"#;

#[tokio::test]
async fn a_write_on_a_real_disk_is_told_soon() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let project = root.join("project");
    let sessions = root.join(".claude/projects/-p");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::create_dir_all(&sessions).unwrap();
    let provider = ContextProvider::new(ContextParts {
        storage: Arc::new(DiskStorage::open(&root.join("home")).unwrap()),
        files: Arc::new(DiskFiles),
        homes: Homes { home: root.clone(), variables: BTreeMap::new(), system: System::here() },
        processes: Arc::new(SystemProcesses),
        clock: Arc::new(SystemClock),
        zone: TimeZone::UTC,
        index: IndexPlace::Memory,
        meanings: None,
        file_name: "context.md".to_owned(),
        scope: Scope { cwd: project.clone(), ..Scope::default() },
        beside: Beside::Thread,
    });
    let ((mut to, input), (output, from)) = (duplex(64 * 1024), duplex(64 * 1024));
    tokio::spawn(async move {
        entraclaw_mcp::serve(entraclaw_mcp::Options::default(), vec![Box::new(provider)], input, output).await
    });
    let mut lines = BufReader::new(from).lines();
    to.write_all(OPENING.as_bytes()).await.unwrap();
    for _ in 0..3 {
        lines.next_line().await.unwrap();
    }
    let mut fastest = [Duration::MAX; 2];
    for n in 0..8 {
        for (at, (path, uri)) in [
            (project.join("context.md"), "context://current"),
            (sessions.join(format!("s-{n}.jsonl")), "context://cli-sessions"),
        ]
        .into_iter()
        .enumerate()
        {
            let began = Instant::now();
            fs::write(&path, format!("{n}\n")).unwrap();
            let line = timeout(Duration::from_secs(5), lines.next_line()).await;
            let line =
                line.unwrap_or_else(|_| panic!("nothing is told of {uri} after write {n}")).unwrap().unwrap();
            assert!(line.contains(uri), "{line}");
            fastest[at] = fastest[at].min(began.elapsed());
        }
    }
    // The slowest one tells of the machine that runs the test.
    assert!(fastest.iter().all(|time| *time <= Duration::from_millis(100)), "{fastest:?}");
}
