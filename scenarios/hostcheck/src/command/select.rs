//! Finds the hosts, and the part of a stored run, that words on the command line name.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::bail;

use crate::hint;
use crate::host::{self, Host};

/// A mode of the cells in a stored run.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum KeptMode {
    Sim,
    Process,
    /// A server at an address, `run --url`.
    Http,
}

impl KeptMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Process => "process",
            Self::Http => HTTP,
        }
    }
}

/// The mode of cells whose server was reached by an address.
pub(super) const HTTP: &str = "http";

/// The part of a run that was played in a mode; the whole run when no mode is named. A run without such cells
/// is an error.
pub(super) fn of_mode(stream: reports::Stream, mode: Option<KeptMode>) -> anyhow::Result<reports::Stream> {
    let Some(mode) = mode.map(KeptMode::as_str) else { return Ok(stream) };
    let modes: BTreeSet<&str> = stream.cells.iter().map(|cell| cell.mode.as_str()).collect();
    if !modes.contains(mode) {
        let modes: Vec<&str> = modes.into_iter().collect();
        bail!("nothing of this run was played as `{mode}`; it has {}", modes.join(", "));
    }
    Ok(stream.in_mode(mode))
}

/// The word that selects every host.
pub(super) const ALL_HOSTS: &str = "all";

/// Those of a list that the words name, in the order of the words and without repeats. A word is an id, a
/// family with all its versions, or `all`. `lacks` begins the error about a word that names none.
pub(super) fn named<'a, T>(
    words: &[String],
    list: &'a [T],
    names: fn(&T) -> (&str, &str),
    lacks: &str,
) -> anyhow::Result<Vec<&'a T>> {
    let mut places: Vec<usize> = Vec::new();
    for word in words {
        let fits = |one: &T| {
            let (id, family) = names(one);
            word == id || word == family || word == ALL_HOSTS
        };
        let found: Vec<usize> = (0..list.len()).filter(|&place| fits(&list[place])).collect();
        if found.is_empty() {
            let known: Vec<&str> = list.iter().flat_map(|one| <[&str; 2]>::from(names(one))).collect();
            bail!("{lacks} `{word}`; {}", hint::or_else(word, known, "see `hostcheck hosts`"));
        }
        places.extend(found.into_iter().filter(|place| !places.contains(place)).collect::<Vec<_>>());
    }
    Ok(places.into_iter().map(|place| &list[place]).collect())
}

/// The newest version of each family; a version without numbers does not count.
pub(super) fn newest(hosts: &[Arc<Host>]) -> Vec<Arc<Host>> {
    let mut newest: Vec<Arc<Host>> = Vec::new();
    for host in hosts {
        let Some(number) = number(&host.id) else { continue };
        match newest.iter_mut().find(|other| other.family == host.family) {
            Some(other) if self::number(&other.id).is_none_or(|known| known < number) => {
                *other = Arc::clone(host);
            }
            Some(_) => {}
            None => newest.push(Arc::clone(host)),
        }
    }
    newest
}

/// The numbers of a version; `None` where it has none, as in `seed`.
pub(super) fn number(id: &str) -> Option<Vec<u64>> {
    id.split_once('@')?.1.split('.').map(|part| part.parse().ok()).collect()
}

/// The hosts that the words name: ids, families or `all`. Without words, all hosts.
pub fn hosts(words: &[String]) -> anyhow::Result<Vec<Arc<Host>>> {
    let all = host::all()?;
    if words.is_empty() {
        return Ok(all.to_vec());
    }
    let chosen = named(
        words,
        all,
        |host| (host.id.as_str(), host.family.as_str()),
        "no host profile or family is named",
    )?;
    Ok(chosen.into_iter().cloned().collect())
}
