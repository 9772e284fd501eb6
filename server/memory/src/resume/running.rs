//! Whether a session runs now.
//!
//! It must never guess from a time or a name, nor take a lock to see whether it is held.

use std::path::Path;

use entraclaw_seams::processes::{ProcessId, Processes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Sign, row};
use crate::files::{Files, read_whole};
use crate::stores::{Library, Session};

/// Longest file that names a session.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Most files of running sessions that are looked at.
const FILES_MAX: usize = 1_000;

/// Whether a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Running {
    /// A process holds it open.
    Yes,
    /// No process does.
    No,
    /// Nothing shows it.
    Unknown,
}

/// Whether a session runs now.
pub fn running(library: &Library, processes: &dyn Processes, session: &Session) -> Running {
    let look = Look { files: library.files(), processes, session };
    let homes = library.homes().of(session.agent);
    let Some(home) = homes.iter().find(|home| session.file.starts_with(home)) else {
        return Running::Unknown;
    };
    match row(session.agent).sign {
        Sign::SessionFile => look.session_file(&home.join("sessions")),
        Sign::InUse => look.in_use(),
        Sign::WriterLock => look.writer_lock(&home.join("thread-writer-locks")),
        Sign::None => Running::Unknown,
    }
}

struct Look<'a> {
    files: &'a dyn Files,
    processes: &'a dyn Processes,
    session: &'a Session,
}

/// What Claude Code says of a running session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionFile {
    pid: u32,
    session_id: String,
    /// When the process began, in the system's own form.
    proc_start: Option<String>,
}

impl Look<'_> {
    fn session_file(&self, folder: &Path) -> Running {
        // A version that writes no such files has no such folder.
        if self.files.folder(folder).is_none() {
            return Running::Unknown;
        }
        let Ok(names) = self.files.list(folder) else { return Running::Unknown };
        let names = names.iter().filter(|name| Path::new(name).extension().is_some_and(|e| e == "json"));
        let mut is_unsure = false;
        for name in names.take(FILES_MAX) {
            let read = read_whole(self.files, &folder.join(name), FILE_BYTES_MAX);
            let Ok(Some((bytes, _))) = read else { continue };
            let Ok(file) = serde_json::from_slice::<SessionFile>(&bytes) else { continue };
            if file.session_id != self.session.id {
                continue;
            }
            // Older versions don't say when the process began, so another one may have its number.
            match (self.processes.identify(file.pid), file.proc_start) {
                (None, _) => {}
                (Some(ProcessId { began: Some(now), .. }), Some(then)) if now != then => {}
                (Some(ProcessId { began: Some(_), .. }), Some(_)) => return Running::Yes,
                (Some(_), _) => is_unsure = true,
            }
        }
        if is_unsure { Running::Unknown } else { Running::No }
    }

    fn in_use(&self) -> Running {
        let Some(folder) = self.session.file.parent() else { return Running::Unknown };
        let Ok(names) = self.files.list(folder) else { return Running::Unknown };
        let mut is_unsure = false;
        for name in names.iter() {
            let Some(pid) = name.strip_prefix("inuse.").and_then(|rest| rest.strip_suffix(".lock")) else {
                continue;
            };
            let Some(pid) = pid.parse::<u32>().ok().filter(|pid| self.processes.identify(*pid).is_some())
            else {
                continue;
            };
            // A crash leaves both files, and another process may have the number; the lock ends with its process.
            match self.files.is_locked(&folder.join(format!("inuse.{pid}.hold"))) {
                Some(true) => return Running::Yes,
                Some(false) => {}
                None => is_unsure = true,
            }
        }
        if is_unsure { Running::Unknown } else { Running::No }
    }

    fn writer_lock(&self, folder: &Path) -> Running {
        if self.files.folder(folder).is_none() {
            return Running::Unknown;
        }
        let path = folder.join(format!("{}.lock", self.session.id));
        match (self.files.exists(&path), self.files.is_locked(&path)) {
            (false, _) | (true, Some(false)) => Running::No,
            (true, Some(true)) => Running::Yes,
            (true, None) => Running::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io;
    use std::path::PathBuf;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::processes::{Ending, Program};
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;
    use crate::files::{Database, Moment, SimulatedFiles, Standing};
    use crate::stores::{Agent, Homes, System};

    /// Processes that run, each with when it began.
    struct Known(Vec<ProcessId>);

    impl Processes for Known {
        fn start_detached(&self, _program: &Program) -> io::Result<()> {
            Ok(())
        }

        fn identify(&self, pid: u32) -> Option<ProcessId> {
            self.0.iter().find(|process| process.pid == pid).cloned()
        }

        fn end_group(&self, _leader: &ProcessId, _ending: Ending) -> io::Result<bool> {
            Ok(false)
        }

        fn end_descendants(&self, _ending: Ending, _spared: &[ProcessId]) -> usize {
            0
        }

        fn below(&self, _process: &ProcessId) -> Vec<ProcessId> {
            Vec::new()
        }

        fn memory_bytes(&self, _process: &ProcessId) -> Option<u64> {
            None
        }

        fn boot_id(&self) -> Option<String> {
            None
        }
    }

    fn known() -> Known {
        let process = |pid, began: Option<&str>| ProcessId { pid, began: began.map(str::to_owned) };
        Known(vec![process(1, Some("100")), process(2, None)])
    }

    /// Files of which some are locked or free; of others it can't be told.
    struct Locked {
        files: SimulatedFiles,
        locks: Vec<(&'static str, bool)>,
    }

    impl Files for Locked {
        fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
            self.files.list(folder)
        }

        fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
            self.files.look(path)
        }

        fn exists(&self, path: &Path) -> bool {
            self.files.exists(path)
        }

        fn folder(&self, path: &Path) -> Option<PathBuf> {
            self.files.folder(path)
        }

        fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
            self.files.read(path, offset, len)
        }

        fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>> {
            self.files.database(path, moment)
        }

        fn is_locked(&self, path: &Path) -> Option<bool> {
            self.locks.iter().find(|(known, _)| Path::new(known) == path).map(|(_, is_locked)| *is_locked)
        }
    }

    /// Whether the session `one` in this file runs on a machine with these files.
    fn judged(agent: Agent, file: &str, files: &[(&str, &str)], locks: &[(&'static str, bool)]) -> Running {
        let storage = MemoryStorage::new();
        for (path, text) in files {
            storage.set_bytes(&format!("home/alice/{path}"), text.as_bytes());
        }
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let files = Locked { files, locks: locks.to_vec() };
        let homes = Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
        let session = Session {
            agent,
            id: "one".to_owned(),
            folder: None,
            title: None,
            version: None,
            started: None,
            last: None,
            file: file.into(),
        };
        running(&Library::new(Arc::new(files), homes), &known(), &session)
    }

    const CLAUDE: &str = "/home/alice/.claude/projects/-p/one.jsonl";

    #[rstest]
    #[case::no_such_folder(&[], Running::Unknown)]
    #[case::of_another_session(&[("1.json", r#"{"pid":1,"sessionId":"two","procStart":"100"}"#)], Running::No)]
    #[case::of_a_process(&[("1.json", r#"{"pid":1,"sessionId":"one","procStart":"100"}"#)], Running::Yes)]
    #[case::of_an_earlier_process(&[("1.json", r#"{"pid":1,"sessionId":"one","procStart":"99"}"#)], Running::No)]
    #[case::of_no_process(&[("7.json", r#"{"pid":7,"sessionId":"one","procStart":"100"}"#)], Running::No)]
    #[case::without_a_beginning(&[("1.json", r#"{"pid":1,"sessionId":"one"}"#)], Running::Unknown)]
    #[case::of_a_system_that_tells_none(
        &[("2.json", r#"{"pid":2,"sessionId":"one","procStart":"100"}"#)],
        Running::Unknown
    )]
    #[case::no_json(&[("1.json", "{")], Running::No)]
    #[case::of_another_kind(&[("1.txt", r#"{"pid":1,"sessionId":"one","procStart":"100"}"#)], Running::No)]
    #[case::unsure_and_sure(
        &[("1.json", r#"{"pid":2,"sessionId":"one"}"#), ("2.json", r#"{"pid":1,"sessionId":"one","procStart":"100"}"#)],
        Running::Yes
    )]
    fn a_file_names_the_process_of_a_session(#[case] files: &[(&str, &str)], #[case] expected: Running) {
        let files: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!(".claude/sessions/{name}"), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        assert_eq!(judged(Agent::Claude, CLAUDE, &files, &[]), expected);
        assert_eq!(judged(Agent::Claude, "/elsewhere/one.jsonl", &files, &[]), Running::Unknown);
    }

    #[rstest]
    #[case::no_file(&[], &[], Running::No)]
    #[case::held(&["inuse.1.lock"], &[("inuse.1.hold", true)], Running::Yes)]
    #[case::let_go(&["inuse.1.lock"], &[("inuse.1.hold", false)], Running::No)]
    #[case::not_told(&["inuse.1.lock"], &[], Running::Unknown)]
    #[case::of_no_process(&["inuse.7.lock"], &[("inuse.7.hold", true)], Running::No)]
    #[case::no_number(&["inuse.x.lock", "inuse.1.txt", "other.1.lock"], &[("inuse.1.hold", true)], Running::No)]
    #[case::one_of_two(&["inuse.1.lock", "inuse.2.lock"], &[("inuse.2.hold", true)], Running::Yes)]
    #[case::none_of_two(&["inuse.1.lock", "inuse.2.lock"], &[("inuse.2.hold", false)], Running::Unknown)]
    fn a_lock_beside_the_log_is_held_by_its_process(
        #[case] names: &[&str],
        #[case] locks: &[(&'static str, bool)],
        #[case] expected: Running,
    ) {
        const FOLDER: &str = ".copilot/session-state/one";
        let mut files = vec![format!("{FOLDER}/events.jsonl")];
        files.extend(names.iter().map(|name| format!("{FOLDER}/{name}")));
        let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "")).collect();
        let locks: Vec<(&'static str, bool)> = locks
            .iter()
            .map(|(name, is_locked)| {
                let path = match *name {
                    "inuse.1.hold" => "/home/alice/.copilot/session-state/one/inuse.1.hold",
                    "inuse.2.hold" => "/home/alice/.copilot/session-state/one/inuse.2.hold",
                    _ => "/home/alice/.copilot/session-state/one/inuse.7.hold",
                };
                (path, *is_locked)
            })
            .collect();
        let file = format!("/home/alice/{FOLDER}/events.jsonl");
        assert_eq!(judged(Agent::Copilot, &file, &files, &locks), expected);
    }

    #[rstest]
    #[case::no_such_folder(&[], None, Running::Unknown)]
    #[case::of_another_session(&["two.lock"], None, Running::No)]
    #[case::held(&["one.lock"], Some(true), Running::Yes)]
    #[case::let_go(&["one.lock"], Some(false), Running::No)]
    #[case::not_told(&["one.lock"], None, Running::Unknown)]
    fn a_lock_names_the_session_that_writes(
        #[case] names: &[&str],
        #[case] lock: Option<bool>,
        #[case] expected: Running,
    ) {
        let files: Vec<String> =
            names.iter().map(|name| format!(".codex/thread-writer-locks/{name}")).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "")).collect();
        let locks: Vec<(&str, bool)> =
            lock.map(|lock| ("/home/alice/.codex/thread-writer-locks/one.lock", lock)).into_iter().collect();
        assert_eq!(judged(Agent::Codex, "/home/alice/.codex/sessions/one.jsonl", &files, &locks), expected);
    }

    #[test]
    fn of_an_agent_that_leaves_no_sign_nothing_is_known() {
        let file = "/home/alice/.qwen/projects/-p/chats/one.jsonl";
        assert_eq!(judged(Agent::Qwen, file, &[(".qwen/sessions/1.json", "{}")], &[]), Running::Unknown);
    }
}
