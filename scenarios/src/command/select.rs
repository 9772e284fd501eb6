//! From words on the command line to scenarios and hosts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, ensure};

use crate::host::{self, Host};
use crate::scenario::{Loaded, Mode, load_builtin, load_path};

/// A mode on the command line.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum ModeArg {
    Sim,
    Process,
}

impl From<ModeArg> for Mode {
    fn from(mode: ModeArg) -> Self {
        match mode {
            ModeArg::Sim => Self::Sim,
            ModeArg::Process => Self::Process,
        }
    }
}

/// A mode that cells of a kept run may have.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum KeptMode {
    Sim,
    Process,
    /// A server behind an address, `run --url`.
    Http,
}

impl KeptMode {
    fn as_str(self) -> &'static str {
        match self {
            Self::Sim => Mode::Sim.as_str(),
            Self::Process => Mode::Process.as_str(),
            Self::Http => HTTP,
        }
    }
}

/// The mode of cells in which the server was behind an address.
pub(super) const HTTP: &str = "http";

/// The part of a run that was played in a mode; all of it when none is named. A report of nothing is none.
pub(super) fn of_mode(stream: reports::Stream, mode: Option<KeptMode>) -> anyhow::Result<reports::Stream> {
    let Some(mode) = mode.map(KeptMode::as_str) else { return Ok(stream) };
    let modes: BTreeSet<&str> = stream.cells.iter().map(|cell| cell.mode.as_str()).collect();
    if !modes.contains(mode) {
        let modes: Vec<&str> = modes.into_iter().collect();
        bail!("nothing of this run was played as `{mode}`; it has {}", modes.join(", "));
    }
    Ok(stream.in_mode(mode))
}

/// The scenarios behind the words: ids, suites, id prefixes, files or folders; all built-in ones when there are none.
pub(super) fn scenarios(words: &[String]) -> anyhow::Result<Vec<Arc<Loaded>>> {
    let builtin: Vec<Arc<Loaded>> = load_builtin()?.into_iter().map(Arc::new).collect();
    if words.is_empty() {
        return Ok(builtin);
    }
    let mut chosen: Vec<Arc<Loaded>> = Vec::new();
    for word in words {
        let found: Vec<_> = builtin
            .iter()
            .filter(|s| s.id() == word || s.suite() == word || s.id().starts_with(&format!("{word}.")))
            .cloned()
            .collect();
        if !found.is_empty() {
            chosen.extend(found);
        } else if Path::new(word).exists() {
            let found = load_path(Path::new(word))?;
            ensure!(!found.is_empty(), "there is no scenario in {word}; their files end in .yaml");
            chosen.extend(found.into_iter().map(Arc::new));
        } else {
            let names: Vec<&str> = builtin.iter().flat_map(|s| [s.id(), s.suite()]).collect();
            let hint = crate::scenario::nearest_name(word, names)
                .map_or_else(|| "see `hostcheck list`".to_owned(), |best| format!("did you mean `{best}`?"));
            bail!("no suite, scenario or file is named `{word}`; {hint}");
        }
    }
    chosen.sort_by(|a, b| a.id().cmp(b.id()));
    chosen.dedup_by(|a, b| a.id() == b.id() && a.file == b.file);
    if let Some(pair) = chosen.windows(2).find(|pair| pair[0].id() == pair[1].id()) {
        bail!(
            "two scenarios are named `{}`: {} and {}; rename one",
            pair[0].id(),
            pair[0].file,
            pair[1].file
        );
    }
    Ok(chosen)
}

/// The word that selects every host.
pub(super) const ALL_HOSTS: &str = "all";

/// Those of a list that the words name, in the order of the words and each once: an id, a family with all its
/// versions, or `all`. `lacks` begins the message about a word that names none.
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
            let hint = crate::scenario::nearest_name(word, known)
                .map_or_else(|| "see `hostcheck hosts`".to_owned(), |best| format!("did you mean `{best}`?"));
            bail!("{lacks} `{word}`; {hint}");
        }
        places.extend(found.into_iter().filter(|place| !places.contains(place)).collect::<Vec<_>>());
    }
    Ok(places.into_iter().map(|place| &list[place]).collect())
}

/// The newest version of each family; those whose version is no number have none.
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

/// The numbers of a version; nothing where it has none, as `seed`.
fn number(id: &str) -> Option<Vec<u64>> {
    id.split_once('@')?.1.split('.').map(|part| part.parse().ok()).collect()
}

/// The hosts behind the words: ids, families or `all`; all when there are none.
pub(super) fn hosts(words: &[String]) -> anyhow::Result<Vec<Arc<Host>>> {
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
