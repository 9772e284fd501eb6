//! From words on the command line to scenarios.

use std::path::Path;
use std::sync::Arc;

use anyhow::{bail, ensure};

use scenario::{Loaded, load_builtin, load_path};

/// The scenarios behind the words: ids, suites, id prefixes, files or folders; all built-in ones when there are none.
pub(super) fn scenarios(words: &[String]) -> anyhow::Result<Vec<Arc<Loaded>>> {
    let builtin = load_builtin()?;
    if words.is_empty() {
        return Ok(builtin.to_vec());
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
            let hint = hostcheck::hint::nearest(word, names)
                .map_or_else(|| "see `simulation list`".to_owned(), |best| format!("did you mean `{best}`?"));
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
