//! Finds the files that hold sessions.
//!
//! It must never open one but a database, which says what it holds, so that a listing of thousands of sessions costs only
//! the reading of folders.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::homes::Homes;
use super::opencode;
use super::session::Agent;
use crate::files::Files;

/// Most files that are looked at, over all agents.
const FILES_MAX: usize = 200_000;

/// A file that holds a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// Whose it is.
    pub agent: Agent,
    /// The file.
    pub path: PathBuf,
}

/// Bytes of a session's id, which is a UUID in most stores.
const ID_BYTES: usize = 36;
/// How much of the id Gemini CLI puts into the name of a file.
const GEMINI_ID_BYTES: usize = 8;

impl Found {
    /// Whether it holds what an agent did that another one has started.
    pub fn is_of_sub_agent(&self) -> bool {
        let folder = self.path.parent().and_then(Path::file_name);
        match self.agent {
            Agent::Claude => folder.is_some_and(|folder| folder == "subagents"),
            Agent::Opencode => opencode::is_of_sub_agent(&self.path),
            _ => false,
        }
    }

    /// What its name tells of the session's id.
    pub(super) fn named_id(&self) -> Option<&str> {
        let stem = self.path.file_stem()?.to_str()?;
        match self.agent {
            Agent::Copilot => self.path.parent()?.file_name()?.to_str(),
            Agent::Codex => stem.get(stem.len().checked_sub(ID_BYTES)?..),
            Agent::Gemini => stem.get(stem.len().checked_sub(GEMINI_ID_BYTES)?..),
            Agent::Vscode | Agent::Claude | Agent::Qwen | Agent::Opencode => Some(stem),
        }
    }

    /// Whether the session may have this id, or one that begins so. Its file knows.
    pub(super) fn may_have_id(&self, id: &str) -> bool {
        self.named_id().is_some_and(|named| {
            named.starts_with(id) || (self.agent == Agent::Gemini && id.starts_with(named))
        })
    }
}

/// All files that hold sessions, and the folders that can't be read, each with the reason.
pub fn find(files: &dyn Files, homes: &Homes) -> (Vec<Found>, Vec<(PathBuf, String)>) {
    let mut search = Search { files, found: Vec::new(), troubles: Vec::new() };
    for agent in Agent::ALL {
        for home in homes.of(agent) {
            search.agent(agent, &home);
        }
    }
    search.found.truncate(FILES_MAX);
    (search.found, search.troubles)
}

struct Search<'a> {
    files: &'a dyn Files,
    found: Vec<Found>,
    troubles: Vec<(PathBuf, String)>,
}

impl Search<'_> {
    fn agent(&mut self, agent: Agent, home: &Path) {
        match agent {
            Agent::Vscode => self.editor(home),
            Agent::Copilot => {
                for session in self.below(&home.join("session-state")) {
                    let events = session.join("events.jsonl");
                    if self.files.exists(&events) {
                        self.add(agent, events);
                    }
                }
            }
            Agent::Claude => {
                for project in self.below(&home.join("projects")) {
                    for entry in self.below(&project) {
                        if is(&entry, &["jsonl"]) {
                            self.add(agent, entry);
                        } else if entry.extension().is_none() {
                            self.add_all(agent, &entry.join("subagents"), &["jsonl"]);
                        }
                    }
                }
            }
            Agent::Codex => {
                for year in self.below(&home.join("sessions")) {
                    for month in self.below(&year) {
                        for day in self.below(&month) {
                            self.add_all(agent, &day, &["jsonl"]);
                        }
                    }
                }
                self.add_all(agent, &home.join("archived_sessions"), &["jsonl"]);
            }
            Agent::Gemini => {
                for project in self.below(&home.join("tmp")) {
                    self.add_all(agent, &project.join("chats"), &["json", "jsonl"]);
                }
            }
            Agent::Opencode => {
                let mut paths = Vec::new();
                self.troubles.extend(opencode::find(self.files, home, &mut paths));
                self.found.extend(paths.into_iter().map(|path| Found { agent, path }));
            }
            Agent::Qwen => {
                for project in self.below(&home.join("projects")) {
                    self.add_all(agent, &project.join("chats"), &["jsonl"]);
                }
            }
        }
    }

    fn editor(&mut self, user: &Path) {
        for workspace in self.below(&user.join("workspaceStorage")) {
            self.chats(&workspace.join("chatSessions"));
        }
        self.chats(&user.join("globalStorage/emptyWindowChatSessions"));
        self.chats(&user.join("globalStorage/transferredChatSessions"));
    }

    /// The editor keeps a session as `.jsonl` since 1.109, and leaves the old `.json` beside it.
    fn chats(&mut self, folder: &Path) {
        let entries = self.below(folder);
        let logs: BTreeSet<PathBuf> = entries.iter().filter(|entry| is(entry, &["jsonl"])).cloned().collect();
        for entry in entries {
            let is_old = is(&entry, &["json"]) && !logs.contains(&entry.with_extension("jsonl"));
            if is_old || logs.contains(&entry) {
                self.add(Agent::Vscode, entry);
            }
        }
    }

    fn add_all(&mut self, agent: Agent, folder: &Path, extensions: &[&str]) {
        for entry in self.below(folder) {
            if is(&entry, extensions) {
                self.add(agent, entry);
            }
        }
    }

    fn add(&mut self, agent: Agent, path: PathBuf) {
        self.found.push(Found { agent, path });
    }

    /// The entries of a folder; none if it is not there or no folder.
    fn below(&mut self, folder: &Path) -> Vec<PathBuf> {
        if self.found.len() >= FILES_MAX {
            return Vec::new();
        }
        match self.files.list(folder) {
            Ok(names) => names.iter().map(|name| folder.join(name)).collect(),
            Err(error) => {
                self.troubles.push((folder.to_owned(), error.to_string()));
                Vec::new()
            }
        }
    }
}

fn is(path: &Path, extensions: &[&str]) -> bool {
    path.extension().and_then(|found| found.to_str()).is_some_and(|found| extensions.contains(&found))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::super::homes::System;
    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case(Agent::Copilot, "/s/0cb9/events.jsonl", "0cb9")]
    #[case(Agent::Claude, "/s/0cb9.jsonl", "0cb9")]
    #[case(Agent::Qwen, "/s/0cb9.jsonl", "0cb9")]
    #[case(Agent::Vscode, "/s/0cb9.json", "0cb9")]
    #[case(Agent::Opencode, "/s/opencode.db/ses_a", "ses_a")]
    #[case(
        Agent::Codex,
        "/s/rollout-2026-01a21536-8602-7c92-b30c-28a0f6303714.jsonl",
        "01a21536-8602-7c92-b30c-28a0f6303714"
    )]
    #[case(
        Agent::Codex,
        "/s/01a21536-8602-7c92-b30c-28a0f6303714.jsonl",
        "01a21536-8602-7c92-b30c-28a0f6303714"
    )]
    #[case(Agent::Gemini, "/s/session-2026-0cb916db.jsonl", "0cb916db")]
    #[case(Agent::Gemini, "/s/0cb916db.jsonl", "0cb916db")]
    fn a_file_is_named_by_the_id_of_its_session(#[case] agent: Agent, #[case] path: &str, #[case] id: &str) {
        let found = Found { agent, path: path.into() };
        assert_eq!(found.named_id(), Some(id));
        assert!(found.may_have_id(id) && found.may_have_id(&id[..2]) && !found.may_have_id("other"));
        // Gemini CLI writes the beginning alone.
        assert_eq!(found.may_have_id(&format!("{id}-more")), agent == Agent::Gemini);
    }

    #[rstest]
    #[case(Agent::Codex, "/s/short.jsonl")]
    #[case(Agent::Gemini, "/s/short.jsonl")]
    fn a_name_without_an_id_may_have_none(#[case] agent: Agent, #[case] path: &str) {
        let found = Found { agent, path: path.into() };
        assert_eq!(found.named_id(), None);
        assert!(!found.may_have_id("short"));
    }

    #[rstest]
    #[case(Agent::Claude, "/s/projects/-p/one/subagents/agent-1.jsonl", true)]
    #[case(Agent::Claude, "/s/projects/-p/one.jsonl", false)]
    #[case(Agent::Qwen, "/s/subagents/one.jsonl", false)]
    #[case(Agent::Opencode, "/s/opencode.db/ses_a", false)]
    #[case(Agent::Opencode, "/s/opencode.db/ses_a/ses_b", true)]
    #[case(Agent::Opencode, "/s/opencode-dev.db/ses_a/ses_b", true)]
    #[case(Agent::Opencode, "/s/storage/session/p/ses_a.json", false)]
    fn what_another_agent_began_is_told_by_its_place(
        #[case] agent: Agent,
        #[case] path: &str,
        #[case] is_of_sub_agent: bool,
    ) {
        assert_eq!(Found { agent, path: path.into() }.is_of_sub_agent(), is_of_sub_agent);
    }

    #[test]
    fn each_agents_sessions_are_found_where_it_keeps_them() {
        let storage = MemoryStorage::new();
        let home = "home/alice";
        let user = format!("{home}/.config/Code/User");
        let there = [
            (Agent::Vscode, format!("{user}/workspaceStorage/1/chatSessions/a.jsonl")),
            (Agent::Vscode, format!("{user}/workspaceStorage/1/chatSessions/old.json")),
            (Agent::Vscode, format!("{user}/globalStorage/emptyWindowChatSessions/b.json")),
            (Agent::Vscode, format!("{user}/globalStorage/transferredChatSessions/c.json")),
            (Agent::Copilot, format!("{home}/.copilot/session-state/a/events.jsonl")),
            (Agent::Claude, format!("{home}/.claude/projects/-p/one.jsonl")),
            (Agent::Claude, format!("{home}/.claude/projects/-p/one/subagents/agent-1.jsonl")),
            (Agent::Codex, format!("{home}/.codex/sessions/2026/11/26/one.jsonl")),
            (Agent::Codex, format!("{home}/.codex/archived_sessions/two.jsonl")),
            (Agent::Gemini, format!("{home}/.gemini/tmp/p/chats/one.json")),
            (Agent::Gemini, format!("{home}/.gemini/tmp/p/chats/two.jsonl")),
            (Agent::Qwen, format!("{home}/.qwen/projects/-p/chats/one.jsonl")),
            (Agent::Opencode, format!("{home}/.local/share/opencode/storage/session/p/ses_a.json")),
            (Agent::Opencode, format!("{home}/.local/share/opencode/storage/session/p/ses_b.json")),
        ];
        let other = [
            format!("{user}/workspaceStorage/1/chatSessions/a.json"),
            format!("{user}/workspaceStorage/1/chatSessions/a.txt"),
            format!("{user}/workspaceStorage/1/other/a.json"),
            format!("{home}/.copilot/session-state/b/other.jsonl"),
            format!("{home}/.claude/projects/-p/one.json"),
            format!("{home}/.claude/projects/-p/a.d/subagents/agent-1.jsonl"),
            format!("{home}/.codex/sessions/2026/11/26/one.json"),
            format!("{home}/.gemini/tmp/p/other/one.json"),
            format!("{home}/.qwen/projects/-p/chats/one.json"),
            format!("{home}/.local/share/opencode/storage/session/p/--x.json"),
            format!("{home}/.local/share/opencode/storage/session/p/ses_c.txt"),
            format!("{home}/.local/share/opencode/other.db"),
            format!("{home}/.local/share/opencode/opencode.txt"),
        ];
        for path in there.iter().map(|(_, path)| path).chain(&other) {
            storage.set_bytes(path, b"{}");
        }
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let homes = Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
        let (mut found, troubles) = find(&files, &homes);
        let mut expected: Vec<Found> = there
            .iter()
            .map(|(agent, path)| Found { agent: *agent, path: format!("/{path}").into() })
            .collect();
        expected.sort();
        found.sort();
        assert_eq!((found, troubles), (expected, Vec::new()));
    }
}
