//! The search over sessions: what it finds, what it never shows, and what becomes of it beside other processes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use entraclaw_memory::files::SimulatedFiles;
use entraclaw_memory::search::{Answer, Filter, IndexPlace, Memory, MemoryParts};
use entraclaw_memory::stores::{Agent, Homes, Role, System};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{MemoryStorage, Storage};

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        "2026-11-26T12:00:00Z".parse().unwrap()
    }
}

/// A machine with sessions of Claude Code.
struct Machine {
    storage: MemoryStorage,
    index: IndexPlace,
}

impl Machine {
    fn new() -> Self {
        Self { storage: MemoryStorage::new(), index: IndexPlace::Memory }
    }

    fn open(&self) -> Memory {
        let clock: Arc<dyn Clock> = Arc::new(Fixed);
        Memory::open(MemoryParts {
            storage: Arc::new(self.storage.clone()),
            files: Arc::new(SimulatedFiles::new(self.storage.clone(), Arc::clone(&clock))),
            homes: Homes {
                home: PathBuf::from("/home/alice"),
                variables: BTreeMap::new(),
                system: System::Linux,
            },
            clock,
            index: self.index.clone(),
        })
        .unwrap()
    }

    fn path(session: &str) -> String {
        format!("home/alice/.claude/projects/-p/{session}.jsonl")
    }

    fn say(&self, session: &str, role: &str, text: &str, at: &str) {
        let line = serde_json::json!({
            "type": role, "message": {"content": text}, "timestamp": at, "cwd": "/home/alice/project",
        });
        self.storage.create_dir("home/alice/.claude/projects/-p").unwrap();
        let mut file = self.storage.append(&Self::path(session), true).unwrap();
        file.append(format!("{line}\n").as_bytes()).unwrap();
    }
}

const OLD: &str = "2026-01-01T00:00:00Z";
const NEW: &str = "2026-11-26T11:00:00Z";

fn ids(answer: &Answer) -> Vec<&str> {
    answer.sessions.iter().map(|found| found.session.id.as_str()).collect()
}

fn search(memory: &mut Memory, query: &str) -> Answer {
    memory.search(query, &Filter::default(), 10).unwrap()
}

#[test]
fn what_was_decided_is_found_with_the_words_around_it() {
    let machine = Machine::new();
    machine.say("one", "user", "why did we drop redis", OLD);
    machine.say("one", "assistant", "We dropped Redis because one file with a lock is enough.", OLD);
    machine.say("two", "user", "name the colours of the rainbow", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        let answer = search(&mut memory, "redis lock");
        assert_eq!((ids(&answer), answer.total), (vec!["one"], 1));
        let found = &answer.sessions[0];
        assert!((found.relevance - 1.0).abs() < f32::EPSILON);
        assert_eq!(found.snippets[0].text, "We dropped Redis because one file with a lock is enough.");
        assert_eq!((found.snippets[0].role, found.snippets[1].role), (Role::Assistant, Role::User));
        assert_eq!(found.session.folder.as_deref(), Some("/home/alice/project"));
        // Committed or not makes no difference.
        memory.flush().unwrap();
    }
    assert!(search(&mut memory, "absent").sessions.is_empty());
    assert!(search(&mut memory, " \"\" ").sessions.is_empty());
}

#[test]
fn what_was_said_a_moment_ago_is_found_and_what_is_gone_is_not() {
    let machine = Machine::new();
    machine.say("one", "user", "the first word", OLD);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    machine.say("one", "assistant", "zanzibar", NEW);
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["one"]);
    assert_eq!(ids(&search(&mut memory, "first")), ["one"]);

    machine.storage.remove(&Machine::path("one")).unwrap();
    assert!(search(&mut memory, "first zanzibar").sessions.is_empty());

    machine.say("one", "user", "another text under the old name", NEW);
    assert!(search(&mut memory, "zanzibar").sessions.is_empty());
    assert_eq!(ids(&search(&mut memory, "another")), ["one"]);
    memory.flush().unwrap();
    assert!(search(&mut memory, "zanzibar first").sessions.is_empty());
}

#[test]
fn of_two_that_say_the_same_the_newer_one_is_first() {
    let machine = Machine::new();
    machine.say("old", "user", "the port of the bot", OLD);
    machine.say("recent", "user", "the port of the bot", NEW);
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "port")), ["recent", "old"]);
    memory.flush().unwrap();
    assert_eq!(ids(&search(&mut memory, "port")), ["recent", "old"]);
}

#[test]
fn a_phrase_must_stand_together() {
    let machine = Machine::new();
    machine.say("apart", "user", "the lock of the file, and one file more", NEW);
    machine.say("together", "user", "take the File Lock first", OLD);
    let mut memory = machine.open();
    assert_eq!(search(&mut memory, "file lock").sessions.len(), 2);
    let answer = search(&mut memory, "\"file lock\"");
    assert_eq!((ids(&answer), answer.total), (vec!["together"], 1));
}

#[test]
fn filters_narrow_the_answer_before_and_after_a_commit() {
    let machine = Machine::new();
    machine.say("old", "user", "a word", OLD);
    machine.say("recent", "assistant", "a word", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        let mut found = |filter: Filter| -> Vec<String> {
            let answer = memory.search("word", &filter, 10).unwrap();
            ids(&answer).into_iter().map(str::to_owned).collect()
        };
        let since = Some("2026-06-01T00:00:00Z".parse().unwrap());
        assert_eq!(found(Filter { since, ..Filter::default() }), ["recent"]);
        assert_eq!(found(Filter { until: since, ..Filter::default() }), ["old"]);
        assert_eq!(found(Filter { role: Some(Role::User), ..Filter::default() }), ["old"]);
        assert_eq!(found(Filter { agent: Some(Agent::Claude), ..Filter::default() }).len(), 2);
        assert!(found(Filter { agent: Some(Agent::Codex), ..Filter::default() }).is_empty());
        assert_eq!(found(Filter { folder: Some("/home/alice".to_owned()), ..Filter::default() }).len(), 2);
        assert!(found(Filter { folder: Some("/home/al".to_owned()), ..Filter::default() }).is_empty());
        memory.flush().unwrap();
    }
}

#[test]
fn a_forgotten_session_stays_forgotten() {
    let machine = Machine::new();
    machine.say("one", "user", "zanzibar", OLD);
    machine.say("two", "user", "zanzibar", OLD);
    let mut memory = machine.open();
    let answer = search(&mut memory, "zanzibar");
    let one = answer.sessions.iter().find(|found| found.session.id == "one").unwrap().session.clone();
    memory.forget(&one).unwrap();
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
    machine.say("one", "user", "zanzibar again", NEW);
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
    // The index in memory is gone with its process, and what is forgotten is not.
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
}

#[test]
fn no_secret_is_answered_or_kept() {
    let machine = Machine::new();
    let secrets = [
        "ghp_0123456789abcdefABCDEF",
        "password: hunter2hunter2",
        "https://alice:hunter2hunter2@contoso.com/",
        "Authorization: Bearer hunter2hunter2",
    ];
    for (n, secret) in secrets.iter().enumerate() {
        machine.say("one", "user", &format!("marker{n} {secret} end"), OLD);
    }
    let mut memory = machine.open();
    for n in 0..secrets.len() {
        let answer = search(&mut memory, &format!("marker{n}"));
        let shown = format!("{answer:?}");
        assert!(shown.contains(&format!("marker{n}")), "{shown}");
        assert!(!shown.contains("abcdefABCDEF") && !shown.contains("hunter2"), "{shown}");
    }
    assert!(search(&mut memory, "hunter2hunter2").sessions.is_empty());
    memory.flush().unwrap();
    assert!(search(&mut memory, "hunter2hunter2").sessions.is_empty());
    let catalog = machine.storage.bytes("memory/catalog.json").unwrap();
    assert!(!String::from_utf8_lossy(&catalog).contains("hunter2"));
}

#[test]
fn two_processes_share_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { index: IndexPlace::Folder(folder.path().to_owned()), ..Machine::new() };
    machine.say("one", "user", "first", OLD);
    let (mut one, mut other) = (machine.open(), machine.open());
    for n in 0..1200 {
        machine.say("many", "user", &format!("number{n}"), OLD);
    }
    assert_eq!(one.refresh().unwrap().messages, 1201);
    assert_eq!(ids(&search(&mut one, "number7")), ["many"]);
    // The other one takes over what was committed, and reads nothing again.
    assert_eq!(other.refresh().unwrap().messages, 0);
    assert_eq!(ids(&search(&mut other, "number7")), ["many"]);
    machine.say("one", "user", "second", NEW);
    search(&mut other, "second");
    other.flush().unwrap();
    assert_eq!(ids(&search(&mut one, "second")), ["one"]);
    drop((one, other));

    // Without its catalog the index is made anew.
    machine.storage.remove("memory/catalog.json").unwrap();
    let mut again = machine.open();
    let answer = search(&mut again, "number7");
    assert_eq!((ids(&answer), answer.sessions[0].snippets.len()), (vec!["many"], 1));
}
