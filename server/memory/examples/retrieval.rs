//! Measures how often the search finds the session that answers a question, beside SQLite's FTS5 in the same run:
//! `cargo run --release -p entraclaw-memory --example retrieval [test|dev] [FILE]`.
//!
//! The weights of the search were chosen on `dev`; `test` has other seeds. FILE is a set in the form of LongMemEval
//! (`longmemeval_s.json`). No package of a registry ships one, so it is measured only where the file is there.
//! Where the variable MEANINGS names the folder `wordllama` of that Python package (0.4.0), what words mean counts too.
//! `retrieval misses [test|dev]` prints each question whose first answer is a wrong one, for a look at the causes, and
//! `retrieval write FOLDER [test|dev]` writes the sets as JSON, for `anchor.py` beside this file.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "it runs another program, and prints"
)]

#[path = "retrieval/generate.rs"]
mod generate;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use entraclaw_memory::files::SimulatedFiles;
use entraclaw_memory::search::{Filter, IndexPlace, Memory, MemoryParts};
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::{Clock, SystemClock};
use entraclaw_seams::storage::{MemoryStorage, Storage};
use serde::Deserialize;

use generate::{Question, Said, Set, Talk, generate};

const DEV: [u64; 3] = [1, 2, 3];
const TEST: [u64; 3] = [101, 102, 103];
/// The goal for the first answer, in percent.
const GOAL: f64 = 86.0;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let seeds = |split: Option<&&str>| if split == Some(&"dev") { DEV } else { TEST };
    match words[..] {
        ["misses", ref rest @ ..] => seeds(rest.first()).map(generate).iter().for_each(misses),
        ["write", folder, ref rest @ ..] => {
            for seed in seeds(rest.first()) {
                let bytes = serde_json::to_vec(&generate(seed)).expect("a set is JSON");
                std::fs::write(PathBuf::from(folder).join(format!("set-{seed}.json")), bytes)
                    .expect("the folder can be written");
            }
        }
        _ => {
            let split = words.first().copied().unwrap_or("test");
            let seeds = seeds(words.first());
            measure(&format!("generated, {split} (seeds {seeds:?})"), &seeds.map(generate));
            match words.get(1) {
                Some(file) => measure("LongMemEval", &long_mem_eval(file)),
                None => {
                    println!("LongMemEval: left out, since no file of it was named; no package ships one");
                }
            }
        }
    }
}

/// Prints the questions of a set whose first answer is wrong, with what was found and the place of the right one.
fn misses(set: &Set) {
    let mut memory = memory(set);
    for question in &set.questions {
        let answer = memory.search(&question.text, &Filter::default(), 20).unwrap();
        let place = answer.sessions.iter().position(|found| question.answers.contains(&found.session.id));
        if place == Some(0) {
            continue;
        }
        let renamed = if question.is_renamed { " (another name)" } else { "" };
        println!("{}{renamed}: place {:?}", question.text, place.map(|place| place + 1));
        for (n, found) in answer.sessions.iter().enumerate() {
            if n == 0 || Some(n) == place {
                println!("  {:.3} {}", found.relevance, found.snippets[0].text);
            }
        }
    }
}

/// How many questions were answered by the first, and by one of the first five.
#[derive(Default)]
struct Tally {
    first: usize,
    five: usize,
}

impl Tally {
    fn add(&mut self, question: &Question, found: &[String]) {
        let hit = |found: &[String]| found.iter().any(|id| question.answers.contains(id));
        self.first += usize::from(hit(&found[..found.len().min(1)]));
        self.five += usize::from(hit(&found[..found.len().min(5)]));
    }

    fn print(&self, what: &str, all: usize, goal: Option<f64>) {
        let part = |n: usize| n as f64 * 100.0 / all.max(1) as f64;
        let verdict = goal.map_or_else(String::new, |goal| {
            let verdict = if part(self.first) >= goal { "reached" } else { "MISSED" };
            format!("  goal hit@1 >= {goal} %: {verdict}")
        });
        println!("{what:<40} hit@1 {:>5.1} %  hit@5 {:>5.1} %{verdict}", part(self.first), part(self.five));
    }
}

fn measure(what: &str, sets: &[Set]) {
    let all: usize = sets.iter().map(|set| set.questions.len()).sum();
    let sessions: usize = sets.iter().map(|set| set.sessions.len()).sum();
    println!("{what}: {all} questions, {sessions} sessions in {} sets", sets.len());
    let (mut own, mut named, mut of_named) = (Tally::default(), Tally::default(), 0);
    let mut others: BTreeMap<String, Tally> = BTreeMap::new();
    for set in sets {
        let mut memory = memory(set);
        for question in &set.questions {
            let answer = memory.search(&question.text, &Filter::default(), 5).unwrap();
            let found: Vec<String> = answer.sessions.into_iter().map(|found| found.session.id).collect();
            own.add(question, &found);
            if !question.is_renamed {
                named.add(question, &found);
                of_named += 1;
            }
        }
        match fts5(set) {
            Ok(by_tokenizer) => {
                for (tokenizer, answers) in by_tokenizer {
                    let tally = others.entry(tokenizer).or_default();
                    set.questions
                        .iter()
                        .zip(&answers)
                        .for_each(|(question, found)| tally.add(question, found));
                }
            }
            Err(problem) => println!("FTS5: left out, {problem}"),
        }
    }
    own.print("entraclaw", all, Some(GOAL));
    named.print(&format!("  of the {of_named} that use the same name"), of_named, None);
    for (tokenizer, tally) in &others {
        tally.print(tokenizer, all, None);
    }
}

/// An index of a set, in memory.
fn memory(set: &Set) -> Memory {
    let storage = MemoryStorage::new();
    storage.create_dir("home/alice/.claude/projects/-p").unwrap();
    for talk in &set.sessions {
        let mut text = String::new();
        for said in &talk.messages {
            let line = serde_json::json!({
                "type": said.role, "message": {"content": said.content}, "timestamp": "2026-01-01T00:00:00Z",
            });
            text += &line.to_string();
            text.push('\n');
        }
        storage.set_bytes(&format!("home/alice/.claude/projects/-p/{}.jsonl", talk.id), text.as_bytes());
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let mut memory = Memory::open(MemoryParts {
        storage: Arc::new(MemoryStorage::new()),
        files: Arc::new(SimulatedFiles::new(storage.clone(), Arc::clone(&clock))),
        homes: Homes {
            home: PathBuf::from("/home/alice"),
            variables: BTreeMap::new(),
            system: System::Linux,
        },
        clock,
        index: IndexPlace::Memory,
        meanings: std::env::var_os("MEANINGS").map(|folder| take_in(&storage, &PathBuf::from(folder))),
    })
    .unwrap();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    memory
}

/// Takes a table of meanings over from the disk, and says where it is.
fn take_in(storage: &MemoryStorage, folder: &std::path::Path) -> PathBuf {
    for file in ["weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"] {
        let bytes =
            std::fs::read(folder.join(file)).expect("MEANINGS names the folder `wordllama` of that package");
        let file = format!("home/alice/meanings/{file}");
        storage.create_dir(file.rsplit_once('/').map_or("", |(folder, _)| folder)).unwrap();
        storage.set_bytes(&file, &bytes);
    }
    PathBuf::from("/home/alice/meanings")
}

#[derive(Deserialize)]
struct Fts5 {
    version: String,
    found: BTreeMap<String, Vec<Vec<String>>>,
}

/// What FTS5 finds, by its tokenizer.
fn fts5(set: &Set) -> Result<BTreeMap<String, Vec<Vec<String>>>, String> {
    let mut program = Command::new("python3")
        .args(["-c", include_str!("retrieval/fts5.py")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("as python3 can't be run: {error}"))?;
    let mut input = program.stdin.take().ok_or("as python3 takes no input")?;
    let bytes = serde_json::to_vec(set).map_err(|error| error.to_string())?;
    input.write_all(&bytes).map_err(|error| error.to_string())?;
    drop(input);
    let output = program.wait_with_output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err("as its SQLite has no FTS5".to_owned());
    }
    let found: Fts5 = serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let name = |tokenizer: String| format!("SQLite {} FTS5, {tokenizer}", found.version);
    Ok(found.found.into_iter().map(|(tokenizer, answers)| (name(tokenizer), answers)).collect())
}

#[derive(Deserialize)]
struct LongMemEval {
    question_id: String,
    question: String,
    haystack_session_ids: Vec<String>,
    haystack_sessions: Vec<Vec<Said>>,
    answer_session_ids: Vec<String>,
}

/// The questions of LongMemEval that have an answer, each with the sessions of its own.
fn long_mem_eval(file: &str) -> Vec<Set> {
    let bytes = std::fs::read(file).expect("the file of the set can be read");
    let all: Vec<LongMemEval> = serde_json::from_slice(&bytes).expect("the file is a set of LongMemEval");
    let set = |one: LongMemEval| Set {
        sessions: one
            .haystack_session_ids
            .into_iter()
            .zip(one.haystack_sessions)
            .map(|(id, messages)| Talk { id, messages })
            .collect(),
        questions: vec![Question { text: one.question, answers: one.answer_session_ids, is_renamed: false }],
    };
    all.into_iter().filter(|one| !one.question_id.ends_with("_abs")).map(set).collect()
}
