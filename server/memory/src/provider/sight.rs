//! What a resource looks like from outside: which files it is made of, and how they stand.
//! It must never read a file's content: it is looked at after every change.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::resources::Wanted;
use super::shared::{From, Shared};
use crate::files::{News, Standing};
use crate::stores::{self, Agent};

/// Most folders that are watched.
const FOLDERS_MAX: usize = 512;
/// The folders of known context files, below the home folder.
const CONTEXTS: &str = "context";

/// How the files of a resource stand.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sight {
    /// Each file, with how it stands.
    files: Vec<(PathBuf, Option<Standing>)>,
    /// Names of a list that is no file.
    names: Vec<String>,
}

impl Sight {
    /// Looks at a resource.
    pub(super) fn of(wanted: &Wanted, shared: &Shared, from: &From) -> Self {
        let look = |path: PathBuf| {
            let standing = shared.parts.files.look(&path).ok().flatten();
            (path, standing)
        };
        match wanted {
            Wanted::Current(_) => {
                let path = shared.workspace(None, from).map(|workspace| shared.contexts.path(&workspace));
                Self { files: path.into_iter().map(look).collect(), ..Self::default() }
            }
            Wanted::Sessions => Self::of_agents(shared, &[Agent::Vscode]),
            Wanted::CliSessions => Self::of_agents(shared, &Agent::in_terminals()),
            Wanted::Session(id, _) => {
                let Ok(workspace) = shared.workspace(None, from) else { return Self::default() };
                let wanted = stores::Wanted { session: id, agent: None, workspace: &workspace };
                let found = shared.with_library(|library| library.pick(&wanted));
                Self { files: found.into_iter().map(|found| look(found.path)).collect(), ..Self::default() }
            }
            Wanted::Workspaces => {
                let names = shared.parts.storage.list(CONTEXTS).unwrap_or_default();
                Self { files: Vec::new(), names }
            }
        }
    }

    fn of_agents(shared: &Shared, agents: &[Agent]) -> Self {
        let found = shared.with_library(|library| library.standings(agents)).into_iter();
        let files = found.map(|(found, standing)| (found.path, Some(standing)));
        Self { files: files.collect(), ..Self::default() }
    }

    /// Whether a file of it was written at this moment or later.
    pub(super) fn is_newer_than(&self, at: Timestamp) -> bool {
        self.files.iter().any(|(_, standing)| standing.is_some_and(|standing| standing.modified >= at))
    }

    /// The folders in which its files change, and those in which new ones appear.
    pub(super) fn folders(&self, wanted: &Wanted, shared: &Shared) -> BTreeSet<PathBuf> {
        let own = self.files.iter().filter_map(|(path, _)| path.parent());
        let mut folders: BTreeSet<PathBuf> = own.take(FOLDERS_MAX).map(Path::to_owned).collect();
        let agents = match wanted {
            Wanted::Sessions => vec![Agent::Vscode],
            Wanted::CliSessions => Agent::in_terminals(),
            _ => Vec::new(),
        };
        let homes = agents.into_iter().flat_map(|agent| shared.parts.homes.of(agent));
        for home in homes {
            folders.extend(stores_of(shared, &home));
        }
        folders
    }
}

/// The folders below an agent's own in which a new session may appear, as far as they exist.
fn stores_of(shared: &Shared, home: &Path) -> BTreeSet<PathBuf> {
    let files = &shared.parts.files;
    let below = |folder: &Path| -> Vec<PathBuf> {
        let names = files.list(folder).unwrap_or_default();
        names.iter().rev().take(FOLDERS_MAX).map(|name| folder.join(name)).collect()
    };
    let mut found = vec![home.to_owned()];
    for store in ["globalStorage", "projects", "session-state", "tmp", "workspaceStorage"] {
        let store = home.join(store);
        for entry in below(&store) {
            found.extend([entry.join("chatSessions"), entry.join("chats"), entry]);
        }
        found.push(store);
    }
    // One folder for each day.
    let mut newest = home.join("sessions");
    for _ in 0..4 {
        found.push(newest.clone());
        match below(&newest).into_iter().next() {
            Some(next) => newest = next,
            None => break,
        }
    }
    found.into_iter().filter(|folder| files.folder(folder).is_some()).collect()
}

/// Listens for changes in folders.
pub(super) fn listen(shared: &Shared, folders: &BTreeSet<PathBuf>) -> News {
    let folders: Vec<PathBuf> = folders.iter().take(FOLDERS_MAX).cloned().collect();
    let mut news = shared.parts.files.news(&folders);
    news.has_gaps |= folders.is_empty();
    news
}

#[cfg(test)]
mod tests {
    use super::super::machine::shared;
    use super::*;

    #[test]
    fn a_sight_is_as_new_as_its_newest_file() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let file = |second: Option<i64>| {
            let standing = |second| Standing { bytes: 1, modified: at(second), identity: 1 };
            (PathBuf::from("/a"), second.map(standing))
        };
        let sight = Sight { files: vec![file(Some(3)), file(None), file(Some(5))], names: Vec::new() };
        assert!(sight.is_newer_than(at(4)) && sight.is_newer_than(at(5)) && !sight.is_newer_than(at(6)));
        assert!(!Sight { files: vec![file(None)], names: Vec::new() }.is_newer_than(at(0)));
    }
    #[test]
    fn new_sessions_appear_in_the_folders_of_a_store() {
        let (_, shared) = shared(&[
            "h/projects/-p/one.jsonl",
            "h/projects/-p/chats/two.jsonl",
            "h/tmp/p/chats/three.json",
            "h/workspaceStorage/1/chatSessions/four.json",
            "h/globalStorage/emptyWindowChatSessions/five.json",
            "h/session-state/six/events.jsonl",
            "h/other/seven/eight.jsonl",
            "h/sessions/2025/12/31/old.jsonl",
            "h/sessions/2026/10/30/old.jsonl",
            "h/sessions/2026/11/25/old.jsonl",
            "h/sessions/2026/11/26/deeper/new.jsonl",
        ]);
        let found = stores_of(&shared, Path::new("/h"));
        let expected = [
            "/h",
            "/h/globalStorage",
            "/h/globalStorage/emptyWindowChatSessions",
            "/h/projects",
            "/h/projects/-p",
            "/h/projects/-p/chats",
            "/h/session-state",
            "/h/session-state/six",
            "/h/sessions",
            "/h/sessions/2026",
            "/h/sessions/2026/11",
            "/h/sessions/2026/11/26",
            "/h/tmp",
            "/h/tmp/p",
            "/h/tmp/p/chats",
            "/h/workspaceStorage",
            "/h/workspaceStorage/1",
            "/h/workspaceStorage/1/chatSessions",
        ];
        assert_eq!(found, expected.map(PathBuf::from).into());
        assert!(stores_of(&shared, Path::new("/none")).is_empty());
    }

    #[test]
    fn a_resource_is_seen_as_its_files_and_watched_in_their_folders() {
        let (_, shared) = shared(&[
            "p/context.md",
            "home/alice/.claude/projects/-p/one.jsonl",
            "home/alice/.config/Code/User/workspaceStorage/1/chatSessions/two.json",
            "context/key/workspace.json",
        ]);
        let from = From::default();
        let claude = "/home/alice/.claude/projects/-p/one.jsonl";
        let chat = "/home/alice/.config/Code/User/workspaceStorage/1/chatSessions/two.json";
        for (uri, files, folders) in [
            ("context://current", &["/p/context.md"][..], &["/p"][..]),
            (
                "context://cli-sessions",
                &[claude],
                &["/home/alice/.claude", "/home/alice/.claude/projects/-p"],
            ),
            (
                "context://sessions",
                &[chat],
                &["/home/alice/.config/Code/User/workspaceStorage/1/chatSessions"],
            ),
            ("context://sessions/one", &[claude], &["/home/alice/.claude/projects/-p"]),
            ("context://sessions/none", &[], &[]),
            ("context://workspaces", &[], &[]),
        ] {
            let wanted = Wanted::parse(uri).unwrap().unwrap();
            let sight = Sight::of(&wanted, &shared, &from);
            let seen: Vec<&Path> = sight.files.iter().map(|(path, _)| path.as_path()).collect();
            assert_eq!(seen, files.iter().map(Path::new).collect::<Vec<_>>(), "{uri}");
            assert!(sight.files.iter().all(|(_, standing)| standing.is_some()));
            assert_eq!(sight.names.len(), usize::from(uri == "context://workspaces"));
            let watched = sight.folders(&wanted, &shared);
            assert!(folders.iter().all(|folder| watched.contains(Path::new(folder))), "{uri}: {watched:?}");
            assert_eq!(watched.is_empty(), folders.is_empty(), "{uri}: {watched:?}");
        }
        assert!(listen(&shared, &BTreeSet::new()).has_gaps);
        assert!(!listen(&shared, &BTreeSet::from([PathBuf::from("/p")])).has_gaps);
    }
}
