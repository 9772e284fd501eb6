//! Eight processes append to one context file, and each is killed at random moments.
//!
//! `cargo test -p entraclaw-memory --test appends -- --appends 10000` confirms so many appends.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test of real processes and real files, by real time"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use entraclaw_memory::context::{Author, Contexts, ContextsParts, Entry, Format, Project, Range};
use entraclaw_memory::files::DiskFiles;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::{Random, SplitMix};
use entraclaw_seams::storage::DiskStorage;
use jiff::tz::TimeZone;

const WRITERS: usize = 8;
/// Confirmed appends, if no argument says more.
const APPENDS: usize = 200;
const BYTES_MAX: usize = 64 * 1024;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let texts: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match texts[1..] {
        ["writer", root, name] => write_for_ever(Path::new(root), name),
        [.., "--appends", count] => play(count.parse().expect("a number of appends")),
        // As a runner of tests asks for them; none is ignored.
        [..] if texts.contains(&"--list") => {
            if !texts.contains(&"--ignored") {
                println!("appends: test");
            }
        }
        _ => play(APPENDS),
    }
}

fn contexts(root: &Path) -> Contexts {
    Contexts::new(ContextsParts {
        storage: Arc::new(DiskStorage::open(&root.join("home")).unwrap()),
        files: Arc::new(DiskFiles),
        clock: Arc::new(SystemClock),
        zone: TimeZone::UTC,
        file_name: "context.md".to_owned(),
        bytes_max: BYTES_MAX,
    })
}

/// A writer's process: it says the name of each section after it was confirmed.
fn write_for_ever(root: &Path, name: &str) {
    let contexts = contexts(root);
    let workspace = root.join("project");
    for n in 0.. {
        let content = format!("begin {name}.{n}\n{}\nend {name}.{n}", "filler ".repeat(n * 7 % 60));
        let entry = Entry { content: &content, title: None, author: Author::Agent("writer") };
        contexts.append(&workspace, &entry).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{name}.{n}").unwrap();
        out.flush().unwrap();
    }
}

fn start(root: &Path, name: &str, confirmed: &Sender<String>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command.args(["writer".as_ref(), root.as_os_str(), name.as_ref()]);
    child = child.stdout(Stdio::piped()).stdin(Stdio::null());
    let mut child = child.spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let confirmed = confirmed.clone();
    thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = confirmed.send(line);
        }
    });
    child
}

fn play(appends: usize) {
    let folder = tempfile::tempdir().unwrap();
    let (root, workspace) = (folder.path(), folder.path().join("project"));
    std::fs::create_dir(&workspace).unwrap();
    contexts(root).init(&workspace, &Project::default()).unwrap();

    let random = SplitMix::from_os();
    let begun = Instant::now();
    let (sender, receiver) = channel();
    let mut writers: Vec<Child> =
        (0..WRITERS).map(|writer| start(root, &format!("{writer}.0"), &sender)).collect();
    let (mut confirmed, mut kills) = (Vec::new(), 0_usize);
    while confirmed.len() < appends {
        // A writer needs a moment to start, so that of eight most are at work when one is killed.
        thread::sleep(Duration::from_millis(random.next_u64() % 200));
        confirmed.extend(receiver.try_iter());
        let writer = usize::try_from(random.next_u64() % WRITERS as u64).unwrap();
        writers[writer].kill().unwrap();
        writers[writer].wait().unwrap();
        kills += 1;
        writers[writer] = start(root, &format!("{writer}.{kills}"), &sender);
        assert!(
            begun.elapsed() < Duration::from_secs(600),
            "only {} appends in ten minutes",
            confirmed.len()
        );
    }
    for mut writer in writers {
        writer.kill().unwrap();
        writer.wait().unwrap();
    }
    drop(sender);
    confirmed.extend(receiver.iter());
    let took = begun.elapsed();

    let text =
        contexts(root).read(&workspace, Format::Markdown, Range::LastSessions(1_000_000)).unwrap().content;
    let mut found: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("begin ") {
            found.entry(name).or_default().0 += 1;
        } else if let Some(name) = line.strip_prefix("end ") {
            found.entry(name).or_default().1 += 1;
        }
    }
    for (name, counts) in &found {
        assert_eq!(*counts, (1, 1), "section {name} is not there once and whole");
    }
    let lost: Vec<_> = confirmed.iter().filter(|name| !found.contains_key(name.as_str())).collect();
    assert!(lost.is_empty(), "{} of {} confirmed sections are lost: {lost:?}", lost.len(), confirmed.len());
    let names: Vec<_> =
        std::fs::read_dir(&workspace).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["context.md"], "nothing else is written in a workspace");
    println!(
        "{} appends of {WRITERS} processes confirmed in {} ms, {kills} kills, {} sections, 0 lost",
        confirmed.len(),
        took.as_millis(),
        found.len()
    );
}
