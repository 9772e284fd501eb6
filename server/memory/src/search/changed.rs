//! Which files have changed since they were read.
//!
//! It must never take a file for unchanged whose standing can't be told: that is for its reader to report.

use super::catalog::Catalog;
use super::groups::Groups;
use crate::files::Files;
use crate::stores::{Found, unread_bytes};

/// So many files are looked at in two threads, as most of the time of a look is the system's.
const MANY: usize = 2_000;

/// A file as a look has found it.
pub(super) struct Looked {
    /// Its number, if it was read before.
    pub(super) number: Option<u64>,
    /// How many bytes of it are to be read; `None` if it is as it was.
    pub(super) unread_bytes: Option<u64>,
}

/// Looks at these files, in their order.
pub(super) fn look(files: &dyn Files, groups: &Groups, catalog: &Catalog, all: &[Found]) -> Vec<Looked> {
    let look = |found: &Found| {
        let number = groups.number(&found.path);
        let mark = number.and_then(|number| catalog.files.get(&number)).map(|entry| &entry.mark);
        Looked { number, unread_bytes: unread_bytes(files, found, mark) }
    };
    let of = |part: &[Found]| part.iter().map(look).collect::<Vec<_>>();
    if all.len() < MANY {
        return of(all);
    }
    let (one, other) = all.split_at(all.len() / 2);
    let (mut looked, rest) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| of(other));
        let looked = of(one);
        (looked, beside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    looked.extend(rest);
    looked
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::{MemoryStorage, Storage};

    use super::super::catalog::Entry;
    use super::*;
    use crate::files::SimulatedFiles;
    use crate::stores::{Agent, read};

    const LINE: &str = "{\"type\":\"user\",\"message\":{\"content\":\"hello\"}}\n";

    #[test]
    fn what_is_to_be_read_is_what_was_not() {
        let storage = MemoryStorage::new();
        let files = SimulatedFiles::new(storage.clone(), Arc::new(SystemClock));
        storage.create_dir("home").unwrap();
        let say =
            |name: &str| storage.append(&format!("home/{name}.jsonl"), true).unwrap().append(LINE.as_bytes());
        let all = ["grown", "moved", "same"].map(|name| {
            say(name).unwrap();
            Found { agent: Agent::Claude, path: PathBuf::from(format!("/home/{name}.jsonl")) }
        });
        let mut catalog = Catalog::default();
        for found in &all {
            let mark = read(&files, found, None).unwrap().unwrap().mark;
            let number = catalog.next_number();
            catalog.files.insert(number, Entry { mark, is_forgotten: false });
        }
        let groups = Groups::of(&catalog);
        say("grown").unwrap();
        storage.rename("home/moved.jsonl", "home/other.jsonl").unwrap();
        let other = Found { agent: Agent::Claude, path: PathBuf::from("/home/other.jsonl") };
        let [grown, moved, same] = all;
        let looked = look(&files, &groups, &catalog, &[grown, moved, same, other]);
        let unread: Vec<Option<u64>> = looked.iter().map(|looked| looked.unread_bytes).collect();
        let line = LINE.len() as u64;
        assert_eq!(unread, [Some(line), None, None, Some(line)]);
    }
}
