//! Measures the search on generated sessions: `cargo run --release -p entraclaw-memory --example measure -- 100000`.
//!
//! The sessions are Claude Code's in form, a hundred messages each, of words whose frequency falls as in a language.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it measures real files by real time, and prints"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::search::{Filter, IndexPlace, Memory, MemoryParts};
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::{Random, SplitMix};
use entraclaw_seams::storage::{DiskStorage, Storage};

/// Words of a message.
const WORDS: usize = 125;
/// Different words.
const VOCABULARY: u64 = 60_000;
/// Messages of a session.
const SESSION: usize = 100;

fn main() {
    let messages: usize =
        std::env::args().nth(1).map_or(100_000, |n| n.parse().expect("a number of messages"));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let bytes = generate(root, messages);
    println!("{messages} messages, {:.1} MB of text", bytes as f64 / 1e6);

    let begun = Instant::now();
    let mut memory = open(root);
    let refreshed = memory.refresh().unwrap();
    memory.flush().unwrap();
    println!("first index: {} messages in {:.2} s", refreshed.messages, begun.elapsed().as_secs_f64());
    let index = size(&root.join("home/memory/index"));
    println!("index: {:.1} MB, {:.1} % of the text", index as f64 / 1e6, index as f64 * 100.0 / bytes as f64);
    println!("catalog: {:.1} MB", size(&root.join("home/memory")) as f64 / 1e6 - index as f64 / 1e6);

    let begun = Instant::now();
    let mut memory = open(root);
    let answer = memory.search("w1 w2", &Filter::default(), 10).unwrap();
    let cold = begun.elapsed().as_secs_f64() * 1e3;
    println!("open and first query: {cold:.1} ms, {} sessions", answer.sessions.len());

    for query in
        ["w0", "w1", "w50", "w5000", "w0 w1", "w0 w1 w2 w3 w4 w5", "w0 w40000", "\"w0 w1\"", "absent"]
    {
        let mut times: Vec<f64> = Vec::new();
        for _ in 0..100 {
            let begun = Instant::now();
            memory.search(query, &Filter::default(), 10).unwrap();
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        times.sort_by(f64::total_cmp);
        println!("query {query:?}: p50 {:.1} ms, p99 {:.1} ms", times[50], times[98]);
    }

    let session = root.join("claude/projects/-p/session-00000.jsonl");
    let mut text = std::fs::read_to_string(&session).unwrap();
    text.push_str(&line("we dropped zanzibar today", 0));
    std::fs::write(&session, text).unwrap();
    let begun = Instant::now();
    let answer = memory.search("zanzibar", &Filter::default(), 10).unwrap();
    let took = begun.elapsed().as_secs_f64() * 1e3;
    println!("a new message: {} found in {took:.1} ms", answer.sessions.len());
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("RssAnon")).for_each(
            |line| {
                println!("memory: {line}");
            },
        );
    }
}

fn open(root: &Path) -> Memory {
    let storage = DiskStorage::open(&root.join("home")).unwrap();
    storage.create_dir("memory/index").unwrap();
    let variables =
        BTreeMap::from([("CLAUDE_CONFIG_DIR".to_owned(), root.join("claude").display().to_string())]);
    Memory::open(MemoryParts {
        storage: Arc::new(storage),
        files: Arc::new(DiskFiles),
        homes: Homes { home: root.join("nobody"), variables, system: System::Linux },
        clock: Arc::new(SystemClock),
        index: IndexPlace::Folder(root.join("home/memory/index")),
    })
    .unwrap()
}

fn line(text: &str, n: usize) -> String {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    format!(
        "{{\"type\":\"{role}\",\"message\":{{\"role\":\"{role}\",\"content\":\"{text}\"}},\"timestamp\":\"2026-11-{:02}T{:02}:{:02}:00Z\",\"cwd\":\"/home/alice/project\"}}\n",
        1 + n % 28,
        n % 24,
        n % 60
    )
}

/// Writes the sessions; the bytes of all texts.
fn generate(root: &Path, messages: usize) -> u64 {
    let folder = root.join("claude/projects/-p");
    std::fs::create_dir_all(&folder).unwrap();
    let random = SplitMix::seeded(7);
    let mut bytes = 0;
    for session in 0..messages.div_ceil(SESSION) {
        let mut out = String::new();
        for n in 0..SESSION {
            let mut text = String::new();
            for _ in 0..WORDS {
                // The product of three draws falls about as the words of a language do.
                let draw = || random.next_u64() as f64 / u64::MAX as f64;
                let rank = draw() * draw() * draw() * VOCABULARY as f64;
                let _ = write!(text, "w{rank:.0} ");
            }
            bytes += text.len() as u64;
            out.push_str(&line(&text, session * SESSION + n));
        }
        std::fs::write(folder.join(format!("session-{session:05}.jsonl")), out).unwrap();
    }
    bytes
}

fn size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
