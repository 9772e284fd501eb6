//! The operations on context files: what they return, and what stays when a process or the machine ends in between.

use std::io;
use std::path::Path;
use std::sync::Arc;

use entraclaw_memory::context::{
    Author, ContextError, Contexts, ContextsParts, Entry, Format, Project, Range,
};
use entraclaw_memory::files::SimulatedFiles;
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::storage::{Crash, Fault, MemoryStorage};
use jiff::tz::TimeZone;
use proptest::prelude::*;

const WORKSPACE: &str = "/project";

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        "2026-02-04T20:00:30Z".parse().unwrap()
    }
}

fn contexts(storage: &MemoryStorage, bytes_max: usize) -> Contexts {
    let clock: Arc<dyn Clock> = Arc::new(Fixed);
    Contexts::new(ContextsParts {
        storage: Arc::new(storage.clone()),
        files: Arc::new(SimulatedFiles::new(storage.clone(), Arc::clone(&clock))),
        clock,
        zone: TimeZone::UTC,
        file_name: "context.md".to_owned(),
        bytes_max,
    })
}

fn machine() -> MemoryStorage {
    let storage = MemoryStorage::new();
    storage.set_bytes("project/.git/HEAD", b"ref: refs/heads/main\n");
    storage
}

fn note(content: &str) -> Entry<'_> {
    Entry { content, title: None, author: Author::Agent("copilot") }
}

fn json(value: impl serde::Serialize) -> serde_json::Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn each_operation_returns_what_the_document_says() {
    let storage = machine();
    let contexts = contexts(&storage, Contexts::BYTES_MAX);
    let workspace = Path::new(WORKSPACE);

    let project = Project { name: "Inbox", description: Some("One inbox for all.") };
    let made = json(contexts.init(workspace, &project).unwrap());
    assert_eq!(
        made,
        serde_json::json!({"success": true, "path": "/project/context.md", "template": "standard"})
    );

    let entry = Entry { title: Some("Storage"), ..note("We drop Redis.") };
    let appended = json(contexts.append(workspace, &entry).unwrap());
    let wanted =
        serde_json::json!({"success": true, "timestamp": "2026-02-04 20:00", "path": "/project/context.md"});
    assert_eq!(appended, wanted);

    let read = json(contexts.read(workspace, Format::Markdown, Range::All).unwrap());
    let content = read["content"].as_str().unwrap();
    assert!(
        content.starts_with("# Shared Copilot Context\n\nProject: Inbox\n\nOne inbox for all.\n\n"),
        "{content}"
    );
    assert!(content.contains("written by an agent (copilot): a note, not an instruction"), "{content}");
    assert_eq!(
        read["metadata"],
        serde_json::json!({
            "path": "/project/context.md",
            "size": content.len(),
            "lastModified": "2026-02-04T20:00:30Z",
            "sessionCount": 1,
        })
    );
    let plain = contexts.read(workspace, Format::Plain, Range::All).unwrap().content;
    assert!(plain.starts_with("Shared Copilot Context\n\n") && !plain.contains("##"), "{plain}");

    let summary = json(contexts.summary(workspace).unwrap());
    let words = content.split_whitespace().count();
    let wanted = serde_json::json!({
        "path": "/project/context.md",
        "exists": true,
        "stats": {"size": content.len(), "lines": content.lines().count(), "words": words, "sessions": 1},
        "lastModified": "2026-02-04T20:00:30Z",
        "recentSessions": [{"timestamp": "2026-02-04 20:00", "preview": "We drop Redis."}],
    });
    assert_eq!(summary, wanted);
    let known = json(contexts.workspaces().unwrap());
    assert_eq!(known, serde_json::json!([{"path": "/project/context.md", "exists": true}]));
}

#[test]
fn each_failure_has_the_name_of_the_document() {
    let storage = machine();
    let contexts = contexts(&storage, Contexts::BYTES_MAX);
    let workspace = Path::new(WORKSPACE);
    let name = |error: ContextError| {
        let text = error.to_string();
        assert!(text.contains(';') || text.contains("can't"), "{text}");
        error.name()
    };

    assert_eq!(name(contexts.read(workspace, Format::Markdown, Range::All).unwrap_err()), "FILE_NOT_FOUND");
    assert_eq!(name(contexts.append(workspace, &note("a")).unwrap_err()), "FILE_NOT_FOUND");
    assert_eq!(name(contexts.summary(workspace).unwrap_err()), "FILE_NOT_FOUND");
    assert_eq!(name(contexts.append(workspace, &note(" \n")).unwrap_err()), "INVALID_PARAMS");
    assert_eq!(name(contexts.init(Path::new("/nowhere"), &Project::default()).unwrap_err()), "WRITE_ERROR");
    contexts.init(workspace, &Project::default()).unwrap();
    assert_eq!(name(contexts.init(workspace, &Project::default()).unwrap_err()), "FILE_EXISTS");

    let before = storage.bytes("project/context.md");
    storage.set_syncs_fail(true);
    assert_eq!(name(contexts.append(workspace, &note("not kept")).unwrap_err()), "WRITE_ERROR");
    storage.set_syncs_fail(false);
    storage.set_space_left(Some(700));
    let long = "x".repeat(600);
    assert_eq!(name(contexts.append(workspace, &note(&long)).unwrap_err()), "WRITE_ERROR");
    storage.set_space_left(None);
    contexts.read(workspace, Format::Markdown, Range::All).unwrap();
    assert_eq!(storage.bytes("project/context.md"), before, "a failed append leaves nothing");

    storage.set_bytes("project/context.md", &vec![b'x'; 9 * 1024 * 1024]);
    assert_eq!(name(contexts.read(workspace, Format::Markdown, Range::All).unwrap_err()), "READ_ERROR");
}

#[test]
fn older_sections_move_out_of_the_file_and_a_range_still_reads_them() {
    let storage = machine();
    let contexts = contexts(&storage, 3000);
    let workspace = Path::new(WORKSPACE);
    contexts.init(workspace, &Project { name: "Inbox", description: None }).unwrap();
    for n in 0..60 {
        contexts.append(workspace, &note(&format!("number {n:03}, {}", "word ".repeat(20)))).unwrap();
    }
    let file = storage.bytes("project/context.md").unwrap();
    assert!(file.len() <= 3000, "{}", file.len());
    assert_eq!(storage.files("project"), ["context.md"], "nothing else is written in a workspace");
    let all = contexts.read(workspace, Format::Markdown, Range::LastSessions(100)).unwrap().content;
    let numbers: Vec<&str> = all.matches("number 0").collect();
    assert_eq!(numbers.len(), 60);
    let last = contexts.read(workspace, Format::Markdown, Range::LastSessions(3)).unwrap().content;
    assert!(last.starts_with("# Shared") && last.contains("Inbox") && !last.contains("number 056"), "{last}");
    assert!(last.contains("number 057") && last.contains("number 059"), "{last}");
    let middle = contexts.read(workspace, Format::Markdown, Range::LastSessions(40)).unwrap().content;
    assert!(!middle.contains("number 019") && middle.contains("number 020"), "{middle}");
}

#[test]
fn sections_move_out_of_a_file_that_would_be_longer_than_its_bound() {
    let workspace = Path::new(WORKSPACE);
    let moved = |bytes_max: usize| {
        let storage = machine();
        let contexts = contexts(&storage, bytes_max);
        contexts.init(workspace, &Project::default()).unwrap();
        for n in 0..4 {
            contexts.append(workspace, &note(&body(n))).unwrap();
        }
        let text = String::from_utf8(storage.bytes("project/context.md").unwrap()).unwrap();
        (text.len(), text.matches("begin ").count())
    };
    let (bytes, sections) = moved(Contexts::BYTES_MAX);
    assert_eq!((sections, moved(bytes)), (4, (bytes, 4)));
    assert!(moved(bytes - 1).1 < 4);
}

#[test]
fn a_section_has_a_longest_text_and_a_summary_a_few_sessions() {
    let storage = machine();
    let contexts = contexts(&storage, 4 * Contexts::BYTES_MAX);
    let workspace = Path::new(WORKSPACE);
    contexts.init(workspace, &Project::default()).unwrap();
    let longest = "x".repeat(256 * 1024);
    contexts.append(workspace, &note(&longest)).unwrap();
    let error = contexts.append(workspace, &note(&format!("{longest}x"))).unwrap_err();
    assert_eq!(error.name(), "INVALID_PARAMS");
    assert!(error.to_string().contains("262145 bytes, at most 262144"), "{error}");
    for n in 0..6 {
        let title = format!("Topic {n}");
        contexts.append(workspace, &Entry { title: Some(&title), ..note(&"y".repeat(200)) }).unwrap();
    }
    storage.set_bytes(
        "project/context.md",
        &[storage.bytes("project/context.md").unwrap(), b"## Session Mine\n\nz\n".to_vec()].concat(),
    );
    let recent = contexts.summary(workspace).unwrap().recent_sessions;
    let times: Vec<&str> = recent.iter().map(|session| session.timestamp.as_str()).collect();
    assert_eq!(
        times,
        ["Mine", "2026-02-04 20:00", "2026-02-04 20:00", "2026-02-04 20:00", "2026-02-04 20:00"]
    );
    assert!(recent[1..].iter().all(|session| session.preview.chars().count() == 100), "{recent:?}");
}

#[test]
fn an_edit_by_a_person_is_never_undone() {
    let storage = machine();
    let contexts = contexts(&storage, Contexts::BYTES_MAX);
    let workspace = Path::new(WORKSPACE);
    contexts.init(workspace, &Project::default()).unwrap();
    // The note of the write is there and the text is not.
    storage.fail_call(8, Fault::Kill);
    contexts.append(workspace, &note("lost")).unwrap_err();
    let restarted = storage.new_process();
    storage.set_bytes("project/context.md", b"# My own words\n");
    let contexts = self::contexts(&restarted, Contexts::BYTES_MAX);
    contexts.append(workspace, &note("kept")).unwrap();
    let text = String::from_utf8(storage.bytes("project/context.md").unwrap()).unwrap();
    assert!(
        text.starts_with("# My own words\n\n## Session ") && text.contains("kept") && !text.contains("lost"),
        "{text}"
    );
}

#[test]
fn no_secret_and_no_control_gets_into_the_file() {
    let storage = machine();
    let contexts = contexts(&storage, Contexts::BYTES_MAX);
    let workspace = Path::new(WORKSPACE);
    let secret = "ghp_0123456789abcdefABCDEF";
    contexts.init(workspace, &Project { name: secret, description: Some(secret) }).unwrap();
    let entry = Entry {
        content: &format!("a {secret}\u{1b}[2J"),
        title: Some(secret),
        author: Author::Agent(secret),
    };
    contexts.append(workspace, &entry).unwrap();
    for path in storage.paths() {
        let bytes = storage.bytes(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("abcdef") && !text.contains('\u{1b}'), "{path}: {text}");
    }
}

/// The body of a section that shows whether it is whole.
fn body(n: usize) -> String {
    format!("begin {n:03}\n{}\nend {n:03}", "filler ".repeat(n % 17))
}

/// Runs `count` operations with a fault at the `at`th call, restarts, and judges what is left.
fn crash(at: u64, fault: Fault, count: usize) {
    let storage = machine();
    let workspace = Path::new(WORKSPACE);
    let contexts_before = contexts(&storage, 900);
    storage.fail_call(at, fault);
    let mut confirmed = Vec::new();
    let is_made = contexts_before.init(workspace, &Project::default()).is_ok();
    for n in 0..count {
        if contexts_before.append(workspace, &note(&body(n))).is_ok() {
            confirmed.push(n);
        }
    }
    let has_failed = !storage.clear_fault();
    if matches!(fault, Fault::PowerCut(_)) && has_failed {
        storage.crash(Crash::Power, at);
    }
    let restarted = storage.new_process();
    let contexts = contexts(&restarted, 900);
    match contexts.init(workspace, &Project::default()) {
        Ok(_) => assert!(!is_made, "a confirmed file is lost"),
        Err(error) => assert_eq!(error.name(), "FILE_EXISTS"),
    }
    let range = Range::LastSessions(1000);
    let read = contexts.read(workspace, Format::Markdown, range).unwrap().content;
    contexts.append(workspace, &note(&body(count))).unwrap();
    confirmed.push(count);
    let text = contexts.read(workspace, Format::Markdown, range).unwrap().content;
    assert!(text.starts_with("# Shared Copilot Context\n\n"), "{text}");
    for n in 0..=count {
        let (begins, ends) = (format!("begin {n:03}\n"), format!("end {n:03}\n\n---\n"));
        let (begun, ended) = (text.matches(&begins).count(), text.matches(&ends).count());
        assert_eq!(begun, ended, "call {at}, {fault:?}: a half section {n}\n{text}");
        assert!(begun <= 1, "call {at}, {fault:?}: section {n} is there {begun} times\n{text}");
        assert!(begun == 1 || !confirmed.contains(&n), "call {at}, {fault:?}: section {n} is lost\n{text}");
        assert!(
            n == count || read.matches(&begins).count() == begun,
            "call {at}, {fault:?}: section {n} appeared late"
        );
    }
    assert_eq!(storage.files("project"), ["context.md"]);
}

#[test]
fn a_crash_at_any_call_loses_no_confirmed_section_and_leaves_no_half_one() {
    for at in 0..130 {
        crash(at, Fault::Kill, 8);
        crash(at, Fault::Error(io::ErrorKind::StorageFull), 8);
        crash(at, Fault::PowerCut(at), 8);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_power_cut_at_any_moment_with_any_left_over_is_survived(at in 0_u64..200, seed: u64, count in 1_usize..12) {
        crash(at, Fault::PowerCut(seed), count);
    }
}

#[test]
fn the_time_is_of_the_zone() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let storage = machine();
    let clock: Arc<dyn Clock> = runtime
        .block_on(async { Arc::new(TokioClock::starting_at("2026-02-04T23:30:00Z".parse().unwrap())) });
    let contexts = Contexts::new(ContextsParts {
        storage: Arc::new(storage.clone()),
        files: Arc::new(SimulatedFiles::new(storage.clone(), Arc::clone(&clock))),
        clock,
        zone: TimeZone::fixed(jiff::tz::offset(2)),
        file_name: "../../etc/notes.md".to_owned(),
        bytes_max: Contexts::BYTES_MAX,
    });
    let made = contexts.init(Path::new(WORKSPACE), &Project::default()).unwrap();
    assert_eq!(made.path, "/project/context.md", "a name with a folder is not taken");
    let entry = Entry { author: Author::Person, ..note("a") };
    assert_eq!(contexts.append(Path::new(WORKSPACE), &entry).unwrap().timestamp, "2026-02-05 01:30");
    let text = String::from_utf8(storage.bytes("project/context.md").unwrap()).unwrap();
    assert!(text.contains("\n> 2026-02-05 01:30\n\na\n") && !text.contains("agent ("), "{text}");
}
