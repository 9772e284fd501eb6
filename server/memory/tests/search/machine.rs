//! A machine with sessions, and looks into the files of its index.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use entraclaw_memory::files::SimulatedFiles;
use entraclaw_memory::search::{Answer, Filter, IndexPlace, Memory, MemoryError, MemoryParts};
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{MemoryStorage, Storage};

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> jiff::Timestamp {
        "2026-11-26T12:00:00Z".parse().unwrap()
    }
}

/// A machine with sessions of Claude Code.
pub(crate) struct Machine {
    pub(crate) storage: MemoryStorage,
    pub(crate) index: IndexPlace,
    pub(crate) meanings: Option<PathBuf>,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { storage: MemoryStorage::new(), index: IndexPlace::Memory, meanings: None }
    }

    pub(crate) fn open(&self) -> Memory {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<Memory, MemoryError> {
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
            meanings: self.meanings.clone(),
        })
    }

    pub(crate) fn path(session: &str) -> String {
        format!("home/alice/.claude/projects/-p/{session}.jsonl")
    }

    pub(crate) fn say(&self, session: &str, role: &str, text: &str, at: &str) {
        let line = serde_json::json!({
            "type": role, "message": {"content": text}, "timestamp": at, "cwd": "/home/alice/project",
        });
        self.raw(session, &line.to_string());
    }

    pub(crate) fn raw(&self, session: &str, line: &str) {
        self.storage.create_dir("home/alice/.claude/projects/-p").unwrap();
        let mut file = self.storage.append(&Self::path(session), true).unwrap();
        file.append(format!("{line}\n").as_bytes()).unwrap();
    }
}

pub(crate) const OLD: &str = "2026-01-01T00:00:00Z";
pub(crate) const NEW: &str = "2026-11-26T11:00:00Z";

pub(crate) fn ids(answer: &Answer) -> Vec<&str> {
    answer.sessions.iter().map(|found| found.session.id.as_str()).collect()
}

pub(crate) fn search(memory: &mut Memory, query: &str) -> Answer {
    memory.search(query, &Filter::default(), 10).unwrap()
}

/// Everything in a folder and what it holds, with its mode.
pub(crate) fn files(folder: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = mode(&path);
        #[expect(clippy::disallowed_methods, reason = "the test looks at real files")]
        let bytes = std::fs::read(&path).unwrap();
        found.push((path, mode, bytes));
    }
    found
}

pub(crate) fn holds(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|found| found.eq_ignore_ascii_case(word.as_bytes()))
}

/// The words that an index holds. In its files they stand in a form that no search of bytes finds.
pub(crate) fn terms(folder: &Path) -> String {
    let index = tantivy::Index::open_in_dir(folder).unwrap();
    let mut terms = String::new();
    for segment in index.reader().unwrap().searcher().segment_readers() {
        for field in ["text", "tool"] {
            let inverted = segment.inverted_index(segment.schema().get_field(field).unwrap()).unwrap();
            let mut stream = inverted.terms().stream().unwrap();
            while stream.advance() {
                terms.push_str(&String::from_utf8_lossy(stream.key()));
                terms.push('\n');
            }
        }
    }
    terms
}

/// The pages of an index beside which the texts of their messages are kept.
pub(crate) fn kept(folder: &Path) -> usize {
    let index = tantivy::Index::open_in_dir(folder).unwrap();
    let field = index.schema().get_field("kept").unwrap();
    let searcher = index.reader().unwrap().searcher();
    let stores = searcher.segment_readers().iter().map(|segment| segment.get_store_reader(1).unwrap());
    let pages = stores.flat_map(|store| {
        store.iter::<tantivy::TantivyDocument>(None).map(Result::unwrap).collect::<Vec<_>>()
    });
    pages.filter(|page| page.get_first(field).is_some()).count()
}

/// Who may do what with a file.
#[cfg(unix)]
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// Windows has no such number; the rights of the home folder hold.
#[cfg(not(unix))]
pub(crate) fn mode(path: &Path) -> u32 {
    if path.is_dir() { 0o700 } else { 0o600 }
}
