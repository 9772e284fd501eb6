//! Writes the deviations of the fakes from the real hosts as the page `fakes/hosts/FIDELITY.md`. A page that
//! differs from the findings is a failure.

use std::fmt::Write as _;
use std::path::PathBuf;

use libtest_mimic::{Failed, Trial};

use crate::real::{Outcome, Version};

/// Fewest compared recordings, so that a lost folder is noticed.
const COMPARED_MIN: usize = 500;

/// Checks that the page is up to date, and that it covers enough recordings.
pub(crate) fn trials(versions: &[Version]) -> Vec<Trial> {
    let counted: Counts = versions.iter().map(Counts::of).fold(Counts::default(), Counts::plus);
    let page = page(versions, counted);
    vec![
        Trial::test("the page of differences is true", move || held(&page).map_err(Failed::from)),
        Trial::test(format!("at least {COMPARED_MIN} recordings are compared"), move || {
            let compared = counted.equal + counted.explained;
            (compared >= COMPARED_MIN).then_some(()).ok_or_else(|| Failed::from(format!("only {compared}")))
        }),
    ]
}

#[expect(clippy::disallowed_methods, reason = "a test's own switch and file")]
fn held(page: &str) -> Result<(), String> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("FIDELITY.md");
    if std::env::var_os("UPDATE_FIDELITY").is_some() {
        return std::fs::write(&path, page).map_err(|error| error.to_string());
    }
    let kept = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let said = kept.lines().zip(page.lines()).find(|(kept, found)| kept != found);
    match said {
        None if kept.len() == page.len() => Ok(()),
        None => {
            Err("the page is longer or shorter than what was found; UPDATE_FIDELITY=1 writes it".to_owned())
        }
        Some((kept, found)) => {
            Err(format!("the page says: {kept}\n  was found: {found}\n  UPDATE_FIDELITY=1 writes it"))
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    equal: usize,
    explained: usize,
    not_played: usize,
}

impl Counts {
    fn of(version: &Version) -> Self {
        let count =
            |wanted: fn(&Outcome) -> bool| version.outcomes.values().filter(|one| wanted(one)).count();
        Self {
            equal: count(|one| matches!(one, Outcome::Equal)),
            explained: count(|one| matches!(one, Outcome::Explained(_))),
            not_played: count(|one| matches!(one, Outcome::NotPlayed(_))),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            equal: self.equal + other.equal,
            explained: self.explained + other.explained,
            not_played: self.not_played + other.not_played,
        }
    }

    fn row(self) -> String {
        let Self { equal, explained, not_played } = self;
        format!("{} | {equal} | {explained} | {not_played}", equal + explained + not_played)
    }
}

fn page(versions: &[Version], counted: Counts) -> String {
    let mut page = String::from(
        "# How close the fake hosts come to the real ones\n\n\
         Recordings of the real programs are played to the fake of their version: the server's lines, the agent's\n\
         actions, the signals. What the fake sends must be what the real host sent: members in order, ids, order of\n\
         messages, times within what the profile states. What a model is shown is not in them; the facts about that stand\n\
         in the profiles with their evidence. The recordings are not part of this repository; the fixtures\n\
         in `tests/fixtures` are. Written by `UPDATE_FIDELITY=1 cargo test -p fake-hosts --test fidelity`.\n\n\
         | version | profile | recordings | equal | equal but for what is explained | not played |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for version in versions {
        let (name, base) = (&version.name, &version.base.id);
        let own = if version.known.is_some() { ", and what is known of the version" } else { "" };
        let _ = writeln!(page, "| {name} | `{base}`{own} | {} |", Counts::of(version).row());
    }
    let _ = writeln!(page, "| all | | {} |", counted.row());
    page.push_str("\n## Versions between two profiles\n\nThe nearest profile stands for them, with these facts instead.\n\n");
    for version in versions {
        if let Some(known) = version.known {
            let _ = writeln!(page, "- {}: {} ({})", version.name, known.reason, fact_names(&known.facts()));
        }
    }
    page.push_str("\n## Differences that are explained\n\n");
    for_each(versions, &mut page, |outcome| match outcome {
        Outcome::Explained(reason) => Some(reason),
        _ => None,
    });
    page.push_str("\n## Not played\n\n");
    for_each(versions, &mut page, |outcome| match outcome {
        Outcome::NotPlayed(reason) => Some(reason),
        _ => None,
    });
    page
}

fn for_each(versions: &[Version], page: &mut String, reason: impl Fn(&Outcome) -> Option<&str>) {
    for version in versions {
        for (name, outcome) in &version.outcomes {
            if let Some(reason) = reason(outcome) {
                let _ = writeln!(page, "- {}/{name}: {reason}", version.name);
            }
        }
    }
}

/// `section.fact` of each line of a profile file.
fn fact_names(facts: &str) -> String {
    let mut section = "";
    let mut names = Vec::new();
    for line in facts.lines() {
        match line.strip_prefix("  ") {
            None => section = line.trim_end_matches(':'),
            Some(fact) => {
                names.extend(fact.split_once(':').map(|(name, _)| format!("`{section}.{name}`")));
            }
        }
    }
    names.join(", ")
}
