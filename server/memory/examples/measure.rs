//! Measures the search: `cargo run --release -p entraclaw-memory --example measure -- 100000 [FOLDER]`.
//!
//! It writes that many messages as sessions of Claude Code, in a folder that is removed afterwards, and measures each
//! step in a process of its own, so that its memory is the step's. The text is of invented words whose frequency falls
//! as in a language, or that of the files in FOLDER (its `.md`, `.rs` and `.txt`), cut into messages.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "it measures real files by real time, and prints"
)]

#[path = "measure/text.rs"]
mod text;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::search::{Filter, IndexPlace, Memory, MemoryParts};
use entraclaw_memory::stores::{Agent, Homes, Role, System};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::{DiskStorage, Storage};

use text::Texts;

/// Messages of a session, and of one of a large store: 5 GB of real ones are about 19,000 sessions.
const SESSION: usize = 100;
const LONG_SESSION: usize = 320;
/// Messages of a large store.
const LARGE: usize = 1_000_000;
/// Bytes of an average message, as in the measurement of SQLite's full-text search that this one stands beside.
const MESSAGE_BYTES: usize = 820;
/// How often each query is asked.
const ROUNDS: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--generate", root, messages] => {
            let messages = messages.parse().expect("a number of messages");
            generate(Path::new(root), messages, &mut Texts::new(None, MESSAGE_BYTES));
        }
        ["--index", root] => index(Path::new(root)),
        ["--cold", root, query] => cold(Path::new(root), query),
        ["--warm", root, ref queries @ ..] => warm(Path::new(root), queries),
        [] => all(100_000, None),
        [messages] => all(messages.parse().expect("a number of messages"), None),
        [messages, folder] => all(messages.parse().expect("a number of messages"), Some(Path::new(folder))),
        _ => panic!("give the number of messages, and a folder of texts if you like"),
    }
}

/// Prints a figure beside its goal.
fn figure(what: &str, found: f64, unit: &str, goal: f64) {
    let verdict = if found <= goal { "reached" } else { "MISSED" };
    println!("{what:<58} {found:>9.1} {unit:<5} goal <= {goal} {unit}: {verdict}");
}

fn all(messages: usize, folder: Option<&Path>) {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let mut texts = Texts::new(folder, MESSAGE_BYTES);
    let bytes = generate(root, messages, &mut texts);
    let queries = texts.queries();
    println!("{messages} messages, {:.1} MB of text", bytes as f64 / 1e6);
    let is_large = messages > LARGE;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("load of the machine: {}", load.trim());

    run(&["--index", &root.display().to_string()], if is_large { 300.0 } else { 10.0 });
    let index = size(&root.join("home/memory/index")) as f64;
    figure("index, of the text", index * 100.0 / bytes as f64, "%", 15.0);
    for (kind, bytes) in kinds(&root.join("home/memory/index")) {
        println!("  {kind:<10} {:>8.2} MB", bytes as f64 / 1e6);
    }
    println!("catalog: {:.2} MB", (size(&root.join("home/memory")) as f64 - index) / 1e6);

    let mut times: Vec<f64> = Vec::new();
    for _ in 0..20 {
        let begun = Instant::now();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--cold", &root.display().to_string(), &queries[3]])
            .output()
            .unwrap();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert!(output.status.success(), "{output:?}");
    }
    times.sort_by(f64::total_cmp);
    figure("one query in a fresh process, median of 20", times[10], "ms", 60.0);
    figure("one query in a fresh process, slowest of 20", times[19], "ms", 60.0);

    let root = root.display().to_string();
    let mut words = vec!["--warm", &root];
    words.extend(queries.iter().map(String::as_str));
    run(&words, if is_large { 100.0 } else { 50.0 });
}

/// Runs a step in a process of its own. The goal is handed down by the environment.
fn run(words: &[&str], goal: f64) {
    let program = std::env::current_exe().unwrap();
    let status = Command::new(program).args(words).env("GOAL", goal.to_string()).status().unwrap();
    assert!(status.success(), "{words:?} ends with {status}");
}

fn goal() -> f64 {
    std::env::var("GOAL").ok().and_then(|goal| goal.parse().ok()).unwrap_or(1e9)
}

fn index(root: &Path) {
    let begun = Instant::now();
    let mut memory = open(root);
    let is_done = AtomicBool::new(false);
    let (refreshed, own_mb) = std::thread::scope(|scope| {
        let looking = scope.spawn(|| most_own_mb(&is_done));
        let refreshed = memory.refresh().unwrap();
        memory.flush().unwrap();
        is_done.store(true, Ordering::Relaxed);
        (refreshed, looking.join().unwrap())
    });
    figure("first index", begun.elapsed().as_secs_f64(), "s", goal());
    println!("messages: {}, seconds of processors: {:.1}", refreshed.messages, processor_seconds());
    if goal() > 10.0 {
        println!("most memory of the first index: {own_mb:.1} MB");
    } else {
        figure("most memory of the first index", own_mb, "MB", 60.0);
    }
    println!("with the pages of the index's files that the system may drop: {:.1} MB", peak_mb());
}

fn cold(root: &Path, query: &str) {
    let mut memory = open(root);
    let answer = memory.search(query, &Filter::default(), 10).unwrap();
    assert!(!answer.sessions.is_empty(), "{query} is not found");
}

fn warm(root: &Path, queries: &[&str]) {
    let mut memory = open(root);
    let goal = goal();
    let session = root.join("claude/projects/-p/session-00000.jsonl");
    let mut news = OpenOptions::new().append(true).open(&session).unwrap();
    let mut times: Vec<f64> = Vec::new();
    for n in 0..50 {
        let word = format!("zanzibar{n}");
        news.write_all(line(&format!("today we dropped {word} for good"), n).as_bytes()).unwrap();
        let begun = Instant::now();
        let answer = memory.search(&word, &Filter::default(), 10).unwrap();
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        assert_eq!(answer.sessions.len(), 1, "{word}");
    }
    times.sort_by(f64::total_cmp);
    figure("a new message found after its write, slowest of 50", times[49], "ms", 20.0);

    let filtered = Filter { agent: Some(Agent::Claude), role: Some(Role::User), ..Filter::default() };
    let plain = Filter::default();
    let narrow = queries.iter().take(2).map(|query| (*query, &filtered));
    for (query, filter) in queries.iter().map(|query| (*query, &plain)).chain(narrow) {
        let mut times: Vec<f64> = Vec::new();
        let (mut sessions, mut total, mut is_cut) = (0, 0, false);
        let used = processor_seconds();
        for n in 0..ROUNDS {
            // Something is said before each query, so that none is spared from looking.
            news.write_all(line("one more word", n).as_bytes()).unwrap();
            let begun = Instant::now();
            let answer = memory.search(query, filter, 10).unwrap();
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            (sessions, total, is_cut) = (answer.sessions.len(), answer.total, answer.is_cut);
        }
        times.sort_by(f64::total_cmp);
        let mark = if filter == &plain { "" } else { " filtered" };
        let used = (processor_seconds() - used) * 1e3 / ROUNDS as f64;
        let more = if is_cut { " or more" } else { "" };
        let median = times[ROUNDS / 2];
        let what = format!(
            "{query}{mark}: {sessions} of {total}{more}, {used:.1} ms of a processor, p50 {median:.1} ms, p99"
        );
        figure(&what, times[ROUNDS - 1 - ROUNDS / 100], "ms", goal);
    }
    figure("most memory of the queries", peak_mb(), "MB", 60.0);
}

/// What this process has used of all processors, which others beside it don't change much.
fn processor_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = fields.iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

/// The most memory of its own that this process has had at one of the looks, one every 20 ms, until it is done.
fn most_own_mb(is_done: &AtomicBool) -> f64 {
    let mut most = 0.0_f64;
    while !is_done.load(Ordering::Relaxed) {
        most = most.max(status_mb("RssAnon:"));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    most
}

/// The most memory that this process has had, mapped files included.
fn peak_mb() -> f64 {
    status_mb("VmHWM:")
}

/// A line of what Linux tells of this process.
fn status_mb(name: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(name));
    let kilobytes = found.and_then(|found| found.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
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
        meanings: std::env::var_os("MEANINGS").map(std::path::PathBuf::from),
    })
    .unwrap()
}

fn line(text: &str, n: usize) -> String {
    let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
    let at = jiff::Timestamp::from_second(1_780_000_000 + 137 * i64::try_from(n).unwrap()).unwrap();
    let line = serde_json::json!({
        "type": role, "message": {"role": role, "content": text}, "timestamp": at.to_string(),
        "cwd": "/home/alice/project",
    });
    format!("{line}\n")
}

/// Writes the sessions; the bytes of all texts.
fn generate(root: &Path, messages: usize, texts: &mut Texts) -> u64 {
    let folder = root.join("claude/projects/-p");
    fs::create_dir_all(&folder).unwrap();
    let mut bytes = 0;
    let length = if messages > LARGE { LONG_SESSION } else { SESSION };
    for session in 0..messages.div_ceil(length) {
        let path = folder.join(format!("session-{session:05}.jsonl"));
        let mut out = BufWriter::new(fs::File::create(path).unwrap());
        texts.begin_session();
        for n in 0..length {
            let text = texts.message();
            bytes += text.len() as u64;
            out.write_all(line(&text, session * length + n).as_bytes()).unwrap();
        }
    }
    bytes
}

/// The bytes of the index by the endings of its files.
fn kinds(folder: &Path) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.path().extension().map(|kind| kind.to_string_lossy().into_owned());
        *kinds.entry(kind.unwrap_or_default()).or_default() += entry.metadata().unwrap().len();
    }
    kinds
}

fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
