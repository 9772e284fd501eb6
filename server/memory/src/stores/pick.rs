//! Which session is meant: by its id, the beginning of its id, its file, or as the newest of a folder.
//!
//! It must never read a file that lies in no store, nor choose between two that fit.

use std::path::{Path, PathBuf};

use super::find::Found;
use super::library::Library;
use super::session::{Agent, Session};
use crate::files::Standing;

/// Shortest beginning of an id. It is what the Copilot CLI takes.
const PREFIX_BYTES_MIN: usize = 7;
/// Most ids that an error names.
const NAMED_MAX: usize = 5;
/// Ids that are compared with one that was not found.
const COMPARED_MAX: usize = 2_000;
/// The word for the newest session of the workspace.
const CURRENT: &str = "current";

/// The session that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// An id, at least seven characters of one, `AGENT/ID`, the path of its file, or `current`.
    pub session: &'a str,
    /// Whose it is; any agent's if nothing is said.
    pub agent: Option<Agent>,
    /// The folder whose newest session is `current`.
    pub workspace: &'a Path,
}

/// Why a session can't be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// There is none.
    #[error(
        "no session {wanted:?} is known{}{}; list the sessions, or search for what was said in it",
        near(nearest),
        beside(hidden.as_deref())
    )]
    NotFound {
        /// What was asked for.
        wanted: String,
        /// The sessions whose ids are nearest, as `AGENT/ID`.
        nearest: Vec<String>,
        /// What can't be read now and may hold it, with the reason.
        hidden: Option<String>,
    },
    /// There are several.
    #[error("{wanted:?} fits several sessions; name one of {}", candidates.join(", "))]
    Ambiguous {
        /// What was asked for.
        wanted: String,
        /// The sessions that fit, as `AGENT/ID`, newest first.
        candidates: Vec<String>,
    },
    /// Its file fails.
    #[error("{} can't be read: {why}; check its permissions, or try again", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
}

impl SessionError {
    /// The name of the error in the design document.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NotFound { .. } | Self::Ambiguous { .. } => "SESSION_NOT_FOUND",
            Self::Unreadable { .. } => "EXPORT_ERROR",
        }
    }
}

fn near(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; near it are {}", nearest.join(", ")) }
}

fn beside(hidden: Option<&str>) -> String {
    hidden.map_or_else(String::new, |hidden| format!("; it may be in what can't be read now: {hidden}"))
}

impl Library {
    /// The session that is meant.
    pub fn pick(&mut self, wanted: &Wanted<'_>) -> Result<Found, SessionError> {
        let asked = crate::text::cut(wanted.session.trim(), 4_096);
        let (named, id) = by_agent(&asked);
        let agents = named.or(wanted.agent).map(|agent| [agent]);
        let agents = agents.as_ref().map(<[Agent; 1]>::as_slice);
        if id == CURRENT {
            let none = || SessionError::NotFound {
                wanted: format!("{CURRENT} of {}", wanted.workspace.display()),
                nearest: Vec::new(),
                hidden: None,
            };
            return self.newest_in(wanted.workspace, agents).ok_or_else(none);
        }
        let (files, troubles) = self.files_by_age(agents);
        if let Some((found, _)) = files.iter().find(|(found, _)| self.is_at(found, &asked)) {
            return Ok(found.clone());
        }
        let fitting = self.fitting(&files, id);
        match fitting.as_slice() {
            [] => Err(SessionError::NotFound {
                wanted: crate::text::safe_line(&asked, 80),
                nearest: self.nearest(&files, id),
                hidden: troubles.first().map(|(path, why)| format!("{}, as {why}", path.display())),
            }),
            [(found, _)] => Ok(found.clone()),
            several => Err(SessionError::Ambiguous {
                wanted: crate::text::safe_line(&asked, 80),
                candidates: several.iter().take(NAMED_MAX).map(|(_, session)| full_name(session)).collect(),
            }),
        }
    }

    /// Whether a path names the file of a session, by whatever path its folder is reached.
    fn is_at(&self, found: &Found, path: &str) -> bool {
        let path = Path::new(path);
        if !path.is_absolute() || path.file_name() != found.path.file_name() {
            return false;
        }
        let folder = |path: &Path| path.parent().and_then(|parent| self.files().folder(parent));
        path == found.path || folder(path).is_some_and(|given| folder(&found.path) == Some(given))
    }

    /// The sessions of this id, else those whose ids begin with it; of each the newest file with a word in it.
    fn fitting(&mut self, files: &[(Found, Standing)], id: &str) -> Vec<(Found, Session)> {
        let mut whole: Vec<(Found, Session)> = Vec::new();
        let mut begun: Vec<(Found, Session)> = Vec::new();
        for (found, standing) in files.iter().filter(|(found, _)| found.may_have_id(id)) {
            let Ok(session) = self.peek(found, *standing) else { continue };
            let into = if session.id == id {
                &mut whole
            } else if id.len() >= PREFIX_BYTES_MIN && session.id.starts_with(id) {
                &mut begun
            } else {
                continue;
            };
            let same = |(_, known): &(Found, Session)| known.agent == session.agent && known.id == session.id;
            match into.iter_mut().find(|known| same(known)) {
                Some(known) if known.1.is_begun_again() => *known = (found.clone(), session),
                Some(_) => {}
                None => into.push((found.clone(), session)),
            }
        }
        if whole.is_empty() { begun } else { whole }
    }

    fn nearest(&mut self, files: &[(Found, Standing)], id: &str) -> Vec<String> {
        let id = crate::text::cut_bytes(id, 64);
        let mut ranked: Vec<(isize, usize)> = Vec::new();
        for (at, (found, _)) in files.iter().take(COMPARED_MAX).enumerate() {
            if let Some(known) = found.named_id() {
                let common = known.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
                let distance = strsim::osa_distance(id, crate::text::cut_bytes(known, 64));
                ranked.push((distance.cast_signed() - common.cast_signed(), at));
            }
        }
        ranked.sort_unstable();
        let mut names = Vec::new();
        for (_, at) in ranked {
            if names.len() >= NAMED_MAX {
                break;
            }
            let (found, standing) = &files[at];
            if let Ok(session) = self.peek(found, *standing)
                && let name = full_name(&session)
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}

/// `AGENT/ID`, which names a session among those of all agents.
pub fn full_name(session: &Session) -> String {
    format!("{}/{}", session.agent.as_str(), session.id)
}

fn by_agent(asked: &str) -> (Option<Agent>, &str) {
    let split = asked.split_once('/').and_then(|(agent, id)| Some((Agent::by_name(agent)?, id)));
    split.map_or((None, asked), |(agent, id)| (Some(agent), id))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::super::homes::{Homes, System};
    use super::*;
    use crate::files::SimulatedFiles;

    fn machine(ids: &[&str]) -> Library {
        library(MemoryStorage::new(), ids)
    }

    fn library(storage: MemoryStorage, ids: &[&str]) -> Library {
        for (n, id) in ids.iter().enumerate() {
            let line = serde_json::json!({"type": "user", "message": {"content": "why"}, "sessionId": id, "cwd": "/p"});
            let name = if n == 0 { "first" } else { id };
            let path = format!("home/alice/.claude/projects/-p/{name}.jsonl");
            storage.set_bytes(&path, format!("{line}\n").as_bytes());
        }
        storage.set_bytes("home/alice/.claude/projects/-q/other.txt", b"");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let homes = Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
        Library::new(Arc::new(files), homes)
    }

    fn wanted(session: &str) -> Wanted<'_> {
        Wanted { session, agent: None, workspace: Path::new("/p") }
    }

    #[rstest]
    #[case("abcdefg-one", Ok("abcdefg-one"))]
    #[case(" abcdefg-one\n", Ok("abcdefg-one"))]
    #[case("claude/abcdefg-one", Ok("abcdefg-one"))]
    #[case("codex/abcdefg-one", Err(0))]
    #[case("abcdefg-o", Ok("abcdefg-one"))]
    #[case("abcdefg", Err(2))]
    #[case("abcdefg-twins", Ok("abcdefg-twins"))]
    #[case("abcdefg-twin", Ok("abcdefg-twins"))]
    #[case("abcdef", Err(0))]
    #[case("current", Ok("first"))]
    #[case("/home/alice/.claude/projects/-p/abcdefg-one.jsonl", Ok("abcdefg-one"))]
    #[case("home/alice/.claude/projects/-p/abcdefg-one.jsonl", Err(0))]
    #[case("/home/alice/.claude/projects/-q/abcdefg-one.jsonl", Err(0))]
    #[case("/home/alice/.claude/projects/-r/abcdefg-one.jsonl", Err(0))]
    #[case("/home/alice/.claude/projects/-p/other.jsonl", Err(0))]
    fn one_session_is_meant_or_it_is_said_which_ones_fit(
        #[case] session: &str,
        #[case] expected: Result<&str, usize>,
    ) {
        let found = machine(&["other", "abcdefg-one", "abcdefg-twins"]).pick(&wanted(session));
        let found = found.map(|found| found.path.file_stem().unwrap().to_str().unwrap().to_owned());
        let found = found.map_err(|error| match error {
            SessionError::Ambiguous { candidates, .. } => candidates.len(),
            SessionError::NotFound { .. } | SessionError::Unreadable { .. } => 0,
        });
        assert_eq!(found, expected.map(str::to_owned));
    }

    #[test]
    fn of_many_that_fit_or_are_near_a_few_are_named() {
        let ids: Vec<String> = (0..8).map(|n| format!("abcdefg-{n}")).collect();
        let mut all = vec!["other"];
        all.extend(ids.iter().map(String::as_str));
        let mut library = machine(&all);
        let SessionError::Ambiguous { candidates, .. } = library.pick(&wanted("abcdefg-")).unwrap_err()
        else {
            panic!("several fit")
        };
        assert_eq!(candidates.len(), NAMED_MAX);
        let SessionError::NotFound { nearest, .. } = library.pick(&wanted("abcdefg-3x")).unwrap_err() else {
            panic!("none fits")
        };
        assert_eq!(nearest.len(), NAMED_MAX);
        let SessionError::NotFound { nearest, .. } = machine(&[]).pick(&wanted("abcdefg-3")).unwrap_err()
        else {
            panic!("none is there")
        };
        assert!(nearest.is_empty());
    }

    #[test]
    fn the_nearest_id_is_named_first_however_much_the_others_have_in_common() {
        let mut library = machine(&["other", "abcdefg-3", "abcdefg-45", "abcdefg-7", "abcd-3x"]);
        let (files, _) = library.files_by_age(None);
        for (id, nearest) in [
            ("abcdefg-3x", "abcdefg-3"),
            ("abcdefg-46", "abcdefg-45"),
            ("abcdefg-8", "abcdefg-7"),
            ("abcd-3xy", "abcd-3x"),
        ] {
            assert_eq!(library.nearest(&files, id)[0], format!("claude/{nearest}"));
        }
    }

    #[test]
    fn an_error_says_what_is_near_and_has_the_documents_name() {
        let missing = |nearest: &[&str]| SessionError::NotFound {
            wanted: "x".to_owned(),
            nearest: nearest.iter().map(|name| (*name).to_owned()).collect(),
            hidden: None,
        };
        let says = missing(&[]).to_string();
        assert!(says.starts_with("no session \"x\" is known; list the sessions"), "{says}");
        let says = missing(&["claude/a", "codex/b"]).to_string();
        assert!(says.contains("is known; near it are claude/a, codex/b; list"), "{says}");
        let unreadable = SessionError::Unreadable { path: "/a".into(), why: "no".to_owned() };
        assert_eq!([missing(&[]).name(), unreadable.name()], ["SESSION_NOT_FOUND", "EXPORT_ERROR"]);
    }

    #[rstest]
    #[case("claude/one", Some(Agent::Claude), "one")]
    #[case("claude/a/b", Some(Agent::Claude), "a/b")]
    #[case("cursor/one", None, "cursor/one")]
    #[case("one", None, "one")]
    fn an_agent_may_stand_before_an_id(#[case] asked: &str, #[case] agent: Option<Agent>, #[case] id: &str) {
        assert_eq!(by_agent(asked), (agent, id));
    }

    #[test]
    fn what_may_be_in_a_database_that_is_being_written_is_said() {
        let storage = MemoryStorage::new();
        storage.set_bytes("home/alice/.local/share/opencode/opencode.db", &[b'x'; 200]);
        storage.set_bytes("home/alice/.local/share/opencode/opencode.db-journal", b"x");
        let error = library(storage, &[]).pick(&wanted("abcdefg-1")).unwrap_err();
        assert_eq!(error.name(), "SESSION_NOT_FOUND");
        let says = error.to_string();
        assert!(says.contains("; it may be in what can't be read now: /home/alice/.local/share/opencode/opencode.db, as its program"), "{says}");
    }

    #[test]
    fn of_the_files_of_one_session_the_newest_with_a_word_in_it_is_meant() {
        const ID: &str = "0cb916db-26aa-40f2-86b5-1ba81b225fd2";
        let begun = format!("{{\"sessionId\":\"{ID}\"}}\n");
        let said = format!("{begun}{{\"id\":\"1\",\"type\":\"user\",\"content\":\"why\"}}\n");
        for (texts, expected) in [
            ([&said, &said, &begun], "session-2"),
            ([&said, &begun, &begun], "session-1"),
            ([&said, &begun, &said], "session-3"),
            ([&begun, &begun, &begun], "session-1"),
        ] {
            let storage = MemoryStorage::new();
            for (n, text) in (1..).zip(texts) {
                let path = format!("home/alice/.gemini/tmp/p/chats/session-{n}-0cb916db.jsonl");
                storage.set_bytes(&path, text.as_bytes());
            }
            let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
            let homes =
                Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
            let found = Library::new(Arc::new(files), homes).pick(&wanted(ID)).unwrap();
            let name = found.path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert_eq!(name, format!("{expected}-0cb916db"));
        }
    }
}
