//! The sessions of this machine as a whole: which one is meant, what it holds, and which are the newest.
//!
//! What was read of a file is kept, so that a second listing costs a look at each file. It must never hold the messages
//! of more than one session.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use super::find::{Found, find};
use super::homes::Homes;
use super::mark::Mark;
use super::read::{peek, read, standing};
use super::session::{Agent, Message, Role, Session};
use super::tally::Tally;
use crate::files::{Files, Standing};

/// Most files whose beginning is read to find the sessions of a folder.
const PEEKS_MAX: usize = 4_000;
/// Most bytes of sessions that one listing reads.
const LISTING_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Files and folders that can't be read, each with the reason.
type Troubles = Vec<(PathBuf, String)>;

/// The sessions of this machine.
pub struct Library {
    files: Arc<dyn Files>,
    homes: Homes,
    peeked: BTreeMap<PathBuf, (Standing, Session)>,
    counted: BTreeMap<PathBuf, (Mark, usize)>,
}

/// A session with all that was said in it.
#[derive(Debug, Clone)]
pub struct Whole {
    /// The session.
    pub session: Session,
    /// Everything that was said, oldest first.
    pub messages: Vec<Message>,
    /// When its file was last written.
    pub modified: Timestamp,
    /// What was not understood.
    pub tally: Tally,
}

/// A session and how much was said in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The session.
    pub session: Session,
    /// What the person and the agent said, in messages.
    pub messages: usize,
    /// When its file was last written.
    pub modified: Timestamp,
}

/// The newest sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Newest {
    /// The sessions, newest first.
    pub sessions: Vec<Counted>,
    /// Files of further sessions, which were not read.
    pub left_off: usize,
    /// Files and folders that can't be read, each with the reason.
    pub troubles: Vec<(PathBuf, String)>,
}

impl Library {
    /// The sessions in these stores.
    pub fn new(files: Arc<dyn Files>, homes: Homes) -> Self {
        Self { files, homes, peeked: BTreeMap::new(), counted: BTreeMap::new() }
    }

    /// The files of the agents.
    pub fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Where the agents keep their sessions.
    pub fn homes(&self) -> &Homes {
        &self.homes
    }

    /// The newest sessions of these agents, one for each id. Those without a word are left out.
    pub fn newest(&mut self, agents: &[Agent], count_max: usize) -> Newest {
        let (files, troubles) = self.files_by_age(Some(agents));
        let mut newest = Newest { troubles, ..Newest::default() };
        let mut seen = BTreeSet::new();
        let mut bytes = 0;
        for (at, (found, standing)) in files.iter().enumerate() {
            if newest.sessions.len() >= count_max || bytes > LISTING_BYTES_MAX {
                newest.left_off = files.len() - at;
                break;
            }
            let before = self.counted.get(&found.path).map_or(0, |(mark, _)| mark.offset);
            bytes += standing.bytes.saturating_sub(before);
            match self.count(found) {
                Ok(Some((session, messages))) => {
                    if messages > 0 && seen.insert((session.agent, session.id.clone())) {
                        newest.sessions.push(Counted { session, messages, modified: standing.modified });
                    }
                }
                Ok(None) => {}
                Err(error) => newest.troubles.push((found.path.clone(), error.to_string())),
            }
        }
        newest
    }

    /// Reads a session that was picked. Where several files have its id, it is the newest that holds a word.
    ///
    /// # Errors
    /// Fails with the error of the disk, or if the file is longer than a reader takes.
    pub fn read(&self, found: &Found) -> io::Result<Whole> {
        let gone = || io::Error::new(io::ErrorKind::NotFound, "it is gone");
        let standing = standing(&*self.files, found)?.ok_or_else(gone)?;
        let batch = read(&*self.files, found, None)?.ok_or_else(gone)?;
        let modified = standing.modified;
        Ok(Whole { session: batch.mark.session, messages: batch.messages, modified, tally: batch.tally })
    }

    /// The files of sessions of these agents with how they stand now, newest first. Those of sub-agents are left out.
    pub fn standings(&self, agents: &[Agent]) -> Vec<(Found, Standing)> {
        self.files_by_age(Some(agents)).0
    }

    /// The files of sessions with how they stand now, newest first. Those of sub-agents are left out.
    pub(super) fn files_by_age(&self, agents: Option<&[Agent]>) -> (Vec<(Found, Standing)>, Troubles) {
        let (all, mut troubles) = find(&*self.files, &self.homes);
        let mut files = Vec::new();
        for found in all {
            if found.is_of_sub_agent() || agents.is_some_and(|agents| !agents.contains(&found.agent)) {
                continue;
            }
            match standing(&*self.files, &found) {
                Ok(Some(standing)) => files.push((found, standing)),
                Ok(None) => {}
                Err(error) => troubles.push((found.path, error.to_string())),
            }
        }
        files.sort_by(|(one, a), (other, b)| (b.modified, &other.path).cmp(&(a.modified, &one.path)));
        (files, troubles)
    }

    /// The newest session in a folder or below it.
    pub(super) fn newest_in(&mut self, folder: &Path, agents: Option<&[Agent]>) -> Option<Found> {
        let (files, _) = self.files_by_age(agents);
        let folder = self.files.folder(folder).unwrap_or_else(|| folder.to_owned());
        for (found, standing) in files.into_iter().take(PEEKS_MAX) {
            let Ok(session) = self.peek(&found, standing) else { continue };
            if session.is_begun_again() {
                continue;
            }
            let Some(own) = session.folder.as_deref().map(Path::new) else { continue };
            if own.starts_with(&folder) || self.files.folder(own).is_some_and(|own| own.starts_with(&folder))
            {
                return Some(found);
            }
        }
        None
    }

    /// The session as far as the beginning of its file tells.
    pub(super) fn peek(&mut self, found: &Found, standing: Standing) -> io::Result<Session> {
        if let Some((_, session)) = self.peeked.get(&found.path).filter(|(known, _)| *known == standing) {
            return Ok(session.clone());
        }
        let session = peek(&*self.files, found)?;
        self.peeked.insert(found.path.clone(), (standing, session.clone()));
        Ok(session)
    }

    fn count(&mut self, found: &Found) -> io::Result<Option<(Session, usize)>> {
        let (mark, before) = match self.counted.get(&found.path) {
            Some((mark, count)) => (Some(mark), *count),
            None => (None, 0),
        };
        if let Some(batch) = read(&*self.files, found, mark)? {
            let before = if batch.is_from_start { 0 } else { before };
            let count = before + batch.messages.iter().filter(|message| is_said(message)).count();
            self.counted.insert(found.path.clone(), (batch.mark, count));
        }
        Ok(self.counted.get(&found.path).map(|(mark, count)| (mark.session.clone(), *count)))
    }
}

/// Whether a message is one of the person or of the session's own agent.
pub fn is_said(message: &Message) -> bool {
    matches!(message.role, Role::User | Role::Assistant) && !message.is_side
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::{Fault, MemoryStorage};

    use super::super::homes::System;
    use super::*;
    use crate::files::SimulatedFiles;

    const PATH: &str = "home/alice/.claude/projects/-p/one.jsonl";

    fn said(role: &str, text: &str, more: &str) -> String {
        format!("{{\"type\":\"{role}\",\"message\":{{\"content\":\"{text}\"}}{more}}}\n")
    }

    fn library(storage: &MemoryStorage) -> Library {
        let files = SimulatedFiles::new(storage.clone(), Arc::new(SystemClock));
        let homes = Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
        Library::new(Arc::new(files), homes)
    }

    #[test]
    fn the_beginning_of_a_file_is_read_once_as_long_as_the_file_stands_as_it_did() {
        let storage = MemoryStorage::new();
        storage.set_bytes(PATH, said("user", "first", "").as_bytes());
        let mut library = library(&storage);
        let found = Found { agent: Agent::Claude, path: format!("/{PATH}").into() };
        let now = |library: &Library| standing(library.files(), &found).unwrap().unwrap();
        let title = |library: &mut Library, standing| library.peek(&found, standing).unwrap().title.unwrap();
        let before = now(&library);
        assert_eq!(title(&mut library, before), "first");
        storage.set_bytes(PATH, said("user", "another title", "").as_bytes());
        let after = now(&library);
        assert_eq!(title(&mut library, before), "first", "it stands as it did");
        assert_eq!(title(&mut library, after), "another title");
    }

    #[test]
    fn what_a_session_gains_is_added_to_its_count_and_a_new_file_begins_anew() {
        let storage = MemoryStorage::new();
        let mut library = library(&storage);
        let mut counts = Vec::new();
        let lines = [
            said("user", "why", ""),
            said("assistant", "so", ""),
            said("user", "beside", ",\"isSidechain\":true"),
            said("user", "all", ",\"isCompactSummary\":true"),
            said("user", "and", ""),
        ];
        for count in [1, 2, 5, 5] {
            storage.set_bytes(PATH, lines[..count].concat().as_bytes());
            let newest = library.newest(&[Agent::Claude], 9);
            counts.push(newest.sessions.first().map_or(0, |counted| counted.messages));
        }
        assert_eq!(counts, [1, 2, 3, 3]);
        storage.set_bytes(PATH, said("user", "another file", "").as_bytes());
        assert_eq!(library.newest(&[Agent::Claude], 9).sessions[0].messages, 1);
    }

    #[test]
    fn sessions_are_listed_once_without_the_silent_ones_and_up_to_a_number() {
        let storage = MemoryStorage::new();
        let put = |name: &str, bytes: String| {
            storage.set_bytes(&format!("home/alice/.claude/projects/-p/{name}.jsonl"), bytes.as_bytes());
        };
        for name in ["a", "b", "c"] {
            put(name, said("user", name, ""));
        }
        put("d", said("user", "d", ",\"sessionId\":\"a\""));
        put("silent", "{\"type\":\"system\"}\n".to_owned());
        put("one/subagents/agent-1", said("user", "beside", ""));
        let mut library = library(&storage);
        let mut listed = |count_max: usize, agents: &[Agent]| {
            let newest = library.newest(agents, count_max);
            let ids: Vec<String> = newest.sessions.iter().map(|one| one.session.id.clone()).collect();
            (ids.concat(), newest.left_off, newest.troubles.len())
        };
        for _ in 0..2 {
            assert_eq!(listed(9, &[Agent::Claude]), ("acb".to_owned(), 0, 0));
            assert_eq!(listed(3, &[Agent::Claude]), ("acb".to_owned(), 1, 0));
            assert_eq!(listed(1, &[Agent::Claude]), ("a".to_owned(), 3, 0));
            assert_eq!(listed(0, &[Agent::Claude]), (String::new(), 5, 0));
            assert_eq!(listed(9, &[Agent::Codex]), (String::new(), 0, 0));
        }
    }

    #[test]
    fn the_newest_session_of_a_folder_is_found_by_where_it_worked() {
        let storage = MemoryStorage::new();
        for (name, folder) in [("a", ",\"cwd\":\"/p/sub\""), ("b", ",\"cwd\":\"/q\""), ("c", "")] {
            let path = format!("home/alice/.claude/projects/-p/{name}.jsonl");
            storage.set_bytes(&path, said("user", name, folder).as_bytes());
        }
        let mut library = library(&storage);
        let mut newest = |folder: &str, agents: Option<&[Agent]>| {
            let found = library.newest_in(Path::new(folder), agents)?;
            Some(found.path.file_stem()?.to_str()?.to_owned())
        };
        for (folder, expected) in
            [("/p", Some("a")), ("/p/sub", Some("a")), ("/q", Some("b")), ("/r", None), ("/p/su", None)]
        {
            assert_eq!(newest(folder, None).as_deref(), expected, "{folder}");
        }
        assert_eq!(newest("/p", Some(&[Agent::Codex])), None);
    }

    #[test]
    fn a_file_that_is_gone_is_no_session() {
        let library = library(&MemoryStorage::new());
        let found = Found { agent: Agent::Claude, path: format!("/{PATH}").into() };
        assert_eq!(library.read(&found).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
    #[test]
    fn a_folder_that_can_not_be_listed_and_a_file_that_can_not_be_read_are_told() {
        let storage = MemoryStorage::new();
        storage.set_bytes(PATH, said("user", "why", "").as_bytes());
        let (mut folders, mut files) = (0, 0);
        for n in 0..60 {
            let mut library = library(&storage);
            storage.fail_call(n, Fault::Error(io::ErrorKind::PermissionDenied));
            let newest = library.newest(&[Agent::Claude], 9);
            for (path, why) in newest.troubles {
                let is_file = path == Path::new("/").join(PATH);
                (folders, files) = (folders + usize::from(!is_file), files + usize::from(is_file));
                assert!(!why.is_empty() && (!is_file || newest.sessions.is_empty()), "{path:?}");
            }
            storage.clear_fault();
        }
        assert!(folders > 0 && files > 1, "{folders} {files}");
    }
}
