//! Which files have changed since they were read.
//!
//! It must never take a file for unchanged whose standing can't be told: that is for its reader to report.

use super::catalog::Catalog;
use super::groups::Groups;
use crate::files::Files;
use crate::stores::{Found, has_changed};

/// So many files are looked at in two threads, as most of the time of a look is the system's.
const MANY: usize = 2_000;

/// A file as a look has found it.
pub(super) struct Looked {
    /// Its number, if it was read before.
    pub(super) number: Option<u64>,
    pub(super) has_changed: bool,
}

/// Looks at these files, in their order.
pub(super) fn look(files: &dyn Files, groups: &Groups, catalog: &Catalog, all: &[Found]) -> Vec<Looked> {
    let look = |found: &Found| {
        let number = groups.number(&found.path);
        let mark = number.and_then(|number| catalog.files.get(&number)).map(|entry| &entry.mark);
        Looked { number, has_changed: mark.is_none_or(|mark| has_changed(files, found, mark)) }
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
