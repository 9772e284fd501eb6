//! Reports which session polls, whenever that changes, because a terminal that shows nothing must say why.
//! It must never repeat itself, nor report the moment in which another session takes over as a fault.

use std::collections::BTreeSet;

use jiff::Timestamp;

use entraclaw_sanitize::clean_line;
use entraclaw_seams::storage::Storage;
use entraclaw_session::status::{Report, gather_sessions, judge};

/// The last report, and what was seen since.
pub(super) struct Pollers {
    /// The home folder, for people.
    home: String,
    /// The problems of the configuration.
    troubles: Vec<String>,
    told: Option<Kind>,
    /// A state that was seen once; it is reported when it is seen again.
    doubted: Option<Kind>,
}

/// The kind of a state. Process ids, times and changing details of a fault don't make a new kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Kind {
    polls: bool,
    troubles: BTreeSet<String>,
}

/// A report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct News {
    /// The session that polls, if that has changed.
    pub(super) polls: Option<String>,
    /// New problems, each with the fix.
    pub(super) wrong: Vec<String>,
}

impl Pollers {
    /// A watcher that has reported nothing yet.
    pub(super) fn new(home: String, troubles: Vec<String>) -> Self {
        Self { home, troubles, told: None, doubted: None }
    }

    /// Looks at the files and returns the report that is due. The first look always returns one.
    pub(super) fn look(&mut self, storage: &dyn Storage, now: Timestamp) -> Option<News> {
        let mut report = gather_sessions(storage, &self.home, now);
        // Files of ended sessions, and old files, are left to `status`.
        report.sessions.retain(|session| session.alive);
        if let Some(status) = &mut report.status {
            status.upkeep = None;
        }
        judge::judge(&mut report, &self.troubles, now);
        let lines: Vec<String> =
            report.problems.iter().chain(&report.notes).map(|line| clean_line(line)).collect();
        let kind = Kind {
            polls: report.leader.is_some(),
            troubles: lines.iter().map(|line| subject(line).to_owned()).collect(),
        };
        if self.told.as_ref() == Some(&kind) {
            self.doubted = None;
            return None;
        }
        if self.told.is_some() && self.doubted.as_ref() != Some(&kind) {
            self.doubted = Some(kind);
            return None;
        }
        self.doubted = None;
        let before = self.told.replace(kind);
        let is_known =
            |line: &String| before.as_ref().is_some_and(|told| told.troubles.contains(subject(line)));
        let polls = leader(&report).and_then(|leader| match &before {
            None => Some(format!("{leader} polls")),
            Some(_) if lines.is_empty() => Some(format!("{leader} polls now; messages come again")),
            Some(told) => (!told.polls).then(|| format!("{leader} polls now")),
        });
        Some(News { polls, wrong: lines.iter().filter(|line| !is_known(line)).cloned().collect() })
    }
}

/// The subject of a line.
fn subject(line: &str) -> &str {
    line.split(':').next().unwrap_or_default()
}

fn leader(report: &Report) -> Option<String> {
    let file = &report.leader.as_ref()?.file;
    let hosts: Vec<String> = file.hosts.iter().map(|host| clean_line(&host.name)).collect();
    let hosts = if hosts.is_empty() { String::new() } else { format!(" ({})", hosts.join(", ")) };
    Some(format!("process {}{hosts}", file.pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_inbox::source::SourceState;
    use entraclaw_seams::storage::MemoryStorage;
    use entraclaw_session::status::{HostLine, STATUS_FILE, SessionFile, SourceLine, StatusFile};

    fn now() -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn put(disk: &MemoryStorage, path: &str, shape: &impl serde::Serialize) {
        disk.set_bytes(path, &serde_json::to_vec(shape).unwrap());
    }

    fn session(leads: bool) -> SessionFile {
        SessionFile {
            v: 1,
            id: "one".to_owned(),
            pid: 40,
            leads,
            may_lead: true,
            hosts: vec![HostLine { name: "claude\u{1b}[2J-code".to_owned(), version: String::new() }],
            ..SessionFile::default()
        }
    }

    fn failing(error: &str) -> StatusFile {
        let state = SourceState { failures: 3, error: Some(error.to_owned()), ..SourceState::default() };
        let source = SourceLine { name: "teams".to_owned(), poll_interval_ms: None, state };
        StatusFile { v: 1, sources: vec![source], ..StatusFile::default() }
    }

    #[test]
    fn a_change_of_the_polling_session_is_reported_once() {
        let disk = MemoryStorage::new();
        let mut pollers = Pollers::new("/home/alice".to_owned(), Vec::new());
        let idle = "no session is running, so nothing is polled; start a host";
        let none = News { wrong: vec![idle.to_owned()], ..News::default() };
        assert_eq!(pollers.look(&disk, now()), Some(none.clone()), "at the start at once");
        assert_eq!(pollers.look(&disk, now()), None);

        put(&disk, "sessions/one.json", &session(true));
        let alive = disk.new_process().try_lock("sessions/one.lock").unwrap().unwrap();
        assert_eq!(pollers.look(&disk, now()), None, "seen once");
        let polls = Some("process 40 (claude-code) polls now; messages come again".to_owned());
        assert_eq!(pollers.look(&disk, now()), Some(News { polls, ..News::default() }));

        put(&disk, "sessions/one.json", &session(false));
        assert_eq!(pollers.look(&disk, now()), None, "another one may be about to lead");
        put(&disk, "sessions/one.json", &session(true));
        assert_eq!(pollers.look(&disk, now()), None);
        put(&disk, "sessions/one.json", &session(false));
        assert_eq!(pollers.look(&disk, now()), None);
        let told = pollers.look(&disk, now()).unwrap();
        assert!(
            told.wrong[0].starts_with("no session polls; one should") && told.polls.is_none(),
            "{told:?}"
        );

        drop(alive);
        assert_eq!(pollers.look(&disk, now()), None);
        assert_eq!(pollers.look(&disk, now()), Some(none));
    }

    #[test]
    fn a_fault_with_changing_words_is_reported_once() {
        let disk = MemoryStorage::new();
        put(&disk, "sessions/one.json", &session(true));
        let _alive = disk.new_process().try_lock("sessions/one.lock").unwrap().unwrap();
        put(&disk, STATUS_FILE, &failing("graph answered 503 for request 1"));
        let mut pollers =
            Pollers::new("/home/alice".to_owned(), vec!["config.toml, line 2: wrong".to_owned()]);
        let told = vec![
            "config.toml, line 2: wrong".to_owned(),
            "teams: graph answered 503 for request 1".to_owned(),
        ];
        let polls = Some("process 40 (claude-code) polls".to_owned());
        assert_eq!(pollers.look(&disk, now()), Some(News { polls, wrong: told }));
        for request in 2..9 {
            put(&disk, STATUS_FILE, &failing(&format!("graph answered 503 for request {request}")));
            assert_eq!(pollers.look(&disk, now()), None);
        }
        put(&disk, "sessions/one.json", &session(false));
        pollers.look(&disk, now());
        let told = pollers.look(&disk, now()).unwrap();
        assert!(told.wrong.iter().all(|line| !line.contains("config.toml")), "that is known: {told:?}");
        assert!(told.wrong.iter().any(|line| line.starts_with("no session polls")), "{told:?}");
    }
}
