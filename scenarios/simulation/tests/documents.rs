//! The documents: what they must hold, and that each link of theirs and each source of a scenario leads somewhere, in
//! the checkout and in the book.

#![expect(clippy::disallowed_methods, reason = "the test reads the repository")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// The README is one page.
const README_LINES_MAX: usize = 120;
/// The documents of a release for users.
const RELEASE_LINES_MAX: usize = 150;
const DESIGN_COLUMNS_MAX: usize = 110;

/// The checkout, wherever in it this crate lies.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|folder| folder.join("docs/book.toml").is_file()).expect("the book").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents below a folder, by their path from the root.
fn documents(folder: &Path, found: &mut BTreeSet<PathBuf>) {
    files(folder, "md", found);
}

/// The files below a folder with this ending, by their path from the root.
fn files(folder: &Path, ending: &str, found: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        if entry.path().is_dir() {
            let is_made = name.starts_with("hostcheck-out") || name == "target" || name == "node_modules";
            if !is_made && !name.starts_with('.') {
                files(&path, ending, found);
            }
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.insert(path);
        }
    }
}

/// A document as it is shown: with what its `{{#include …}}` names.
fn shown(path: &Path) -> String {
    let text = read(&path.to_string_lossy());
    let folder = path.parent().unwrap_or(Path::new(""));
    let lines = text.lines().map(|line| {
        let included = line.strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}"));
        included.map_or_else(|| line.to_owned(), |name| read(&plain(&folder.join(name)).to_string_lossy()))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(plain.pop(), "{} leaves the checkout", path.display()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// The text without what stands in blocks of code.
fn prose(text: &str) -> Vec<&str> {
    let mut in_code = false;
    text.lines()
        .filter(|line| {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            !in_code && !is_fence
        })
        .collect()
}

/// The targets of the links of a text.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Text between backticks is no link.
        let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in spoken.split("](").skip(1) {
            found.extend(rest.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

/// The names by which the headings of a text are linked.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    let headings = prose(text).into_iter().filter_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    headings
        .map(|title| {
            let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            let name: String = kept.flat_map(char::to_lowercase).collect::<String>().replace(' ', "-");
            let seen = times.entry(name.clone()).or_default();
            *seen += 1;
            if *seen > 1 { format!("{name}-{}", *seen - 1) } else { name }
        })
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut all = BTreeSet::new();
    documents(Path::new(""), &mut all);
    let book = Path::new("docs/src");
    let mut wrong = Vec::new();
    let mut followed = 0;
    for document in &all {
        let folder = document.parent().unwrap_or(Path::new(""));
        for link in links(&shown(document)) {
            if link.starts_with("https://") {
                continue;
            }
            followed += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { document.clone() } else { plain(&folder.join(path)) };
            if !root().join(&target).exists() {
                wrong.push(format!("{}: {link} is not there", document.display()));
            } else if document.starts_with(book) && !target.starts_with(book) {
                wrong.push(format!("{}: {link} leaves the book", document.display()));
            } else if !anchor.is_empty() && !anchors(&shown(&target)).contains(anchor) {
                wrong.push(format!("{}: {link} names no heading", document.display()));
            }
        }
    }
    assert!(all.len() > 20 && followed > 100, "the documents are somewhere else: {followed} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_is_in_the_book() {
    let mut pages = BTreeSet::new();
    documents(Path::new("docs/src"), &mut pages);
    let summary = Path::new("docs/src/SUMMARY.md");
    assert!(pages.remove(summary), "the summary is missing");
    let listed: BTreeSet<_> =
        links(&shown(summary)).into_iter().map(|link| Path::new("docs/src").join(link)).collect();
    assert_eq!(pages, listed, "pages on the left, SUMMARY.md on the right");
}

#[test]
fn the_readme_is_one_page_with_the_two_commands() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= README_LINES_MAX, "README.md: move what is more to docs/src");
    for wanted in ["cargo run --release  ", "cargo test --workspace", "report.png", "entraclaw setup "] {
        assert!(readme.contains(wanted), "README.md does not show {wanted:?}");
    }
}

#[test]
fn every_release_has_a_short_page() {
    let changelog = read("CHANGELOG.md");
    let version = env!("CARGO_PKG_VERSION");
    let page = format!("docs/src/changes/{version}.md");
    assert!(changelog.contains(&page), "CHANGELOG.md does not name {page}");
    for page in links(&changelog) {
        let lines = read(&page).lines().count();
        assert!(lines <= RELEASE_LINES_MAX, "{page} has {lines} lines; a user reads {RELEASE_LINES_MAX}");
    }
}

#[test]
fn the_design_is_wrapped_and_lists_its_questions() {
    let design = read("DESIGN.md");
    for line in prose(&design) {
        let is_whole = line.starts_with('|') || line.contains("](");
        assert!(is_whole || line.chars().count() <= DESIGN_COLUMNS_MAX, "DESIGN.md: too long: {line}");
    }
    let listed = links(&design);
    for anchor in anchors(&design).iter().filter(|anchor| !matches!(anchor.as_str(), "design" | "contents")) {
        assert!(listed.contains(&format!("#{anchor}")), "DESIGN.md: its contents do not list #{anchor}");
    }
}

/// The fault in a command that a document shows, by the description of the program's command line.
fn mistake(program: &clap::Command, words: &str) -> Option<String> {
    let mut command = program;
    for word in words.split_whitespace().take_while(|word| !matches!(*word, "--" | "|" | "&&" | "<" | ">")) {
        if let Some(flag) = word.strip_prefix("--") {
            let name = flag.split('=').next().unwrap_or(flag);
            if !command.get_arguments().any(|argument| argument.get_long() == Some(name)) {
                return Some(format!("`{}` has no --{name}", command.get_name()));
            }
        } else if let Some(sub) = command.find_subcommand(word) {
            command = sub;
        } else if std::ptr::eq(command, program) {
            return Some(format!("`{}` has no command `{word}`", program.get_name()));
        }
    }
    None
}

#[test]
fn every_command_that_is_shown_is_one() {
    let simulation = simulation::command::command_line();
    let hostcheck = hostcheck::command::command_line();
    let [entraclaw, _] = entraclaw::command::command_lines();
    let mut all = BTreeSet::from(["README.md", "CONTRIBUTING.md"].map(PathBuf::from));
    documents(Path::new("docs/src"), &mut all);
    let (mut wrong, mut read) = (Vec::new(), 0);
    for document in &all {
        let text = shown(document);
        // Every second piece stands inside a block of code, its language first.
        let blocks = text.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sh\n"));
        for line in blocks.flat_map(str::lines) {
            let line = line.split(" #").next().unwrap_or(line).trim();
            let mistake = if let Some(words) = line.strip_prefix("cargo run --release -- ") {
                mistake(&simulation, words)
            } else if let Some(words) = line.strip_prefix("hostcheck ") {
                mistake(&hostcheck, words)
            } else if let Some(words) = line.strip_prefix("entraclaw ") {
                mistake(&entraclaw, words)
            } else {
                continue;
            };
            read += 1;
            wrong.extend(mistake.map(|mistake| format!("{}: {line}: {mistake}", document.display())));
        }
    }
    assert!(read > 50, "the commands are written in another way: {read}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        mistake(&entraclaw, "setup codex --wiht queue").is_some() && mistake(&entraclaw, "setpu").is_some()
    );
}

/// Where a source can lead.
struct Places {
    /// The headings of each page of facts.
    facts: BTreeMap<String, BTreeSet<String>>,
    /// The headings of `DESIGN.md`.
    questions: Vec<String>,
    /// The numbers of the invariants in `ARCHITECTURE.md`.
    invariants: BTreeSet<String>,
}

impl Places {
    fn of_the_checkout() -> Self {
        let mut pages = BTreeSet::new();
        documents(Path::new("docs/src/facts"), &mut pages);
        let facts = pages.iter().map(|page| {
            let name = page.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, anchors(&read(&page.to_string_lossy())))
        });
        let architecture = read("ARCHITECTURE.md");
        let invariants = architecture.split("## Invariants").nth(1).expect("the invariants");
        let invariants = invariants.split("\n## ").next().unwrap_or_default().lines();
        let design = read("DESIGN.md");
        Self {
            facts: facts.collect(),
            questions: design
                .lines()
                .filter_map(|line| line.strip_prefix("## "))
                .map(str::to_owned)
                .collect(),
            invariants: invariants
                .filter_map(|line| line.split_once(". "))
                .filter(|(number, _)| number.chars().all(|c| c.is_ascii_digit()))
                .map(|(number, _)| number.to_owned())
                .collect(),
        }
    }

    /// The first reference of a source that leads nowhere.
    fn lost<'a>(&self, source: &'a str) -> Option<&'a str> {
        source.split("; ").find(|reference| !self.leads(reference))
    }

    /// Whether a reference has one of the forms and its place exists. Words may follow it in brackets or after a colon.
    fn leads(&self, reference: &str) -> bool {
        if let Some(question) = reference.strip_prefix("DESIGN: ") {
            let question = bare(question);
            self.questions.iter().filter(|known| known.starts_with(question)).count() == 1
        } else if let Some(number) = reference.strip_prefix("ARCHITECTURE: invariant ") {
            self.invariants.contains(bare(number))
        } else if let Some(place) = bare(reference).strip_prefix("facts/") {
            let place = place.split_once('#');
            place.is_some_and(|(page, heading)| {
                self.facts.get(page).is_some_and(|headings| headings.contains(heading))
            })
        } else {
            let address = bare(reference);
            address.strip_prefix("https://").is_some_and(|rest| rest.contains('.') && !rest.contains(' '))
        }
    }
}

/// The reference without the words behind it.
fn bare(reference: &str) -> &str {
    let reference = reference.split_once(": ").map_or(reference, |(bare, _)| bare);
    reference.split_once(" (").map_or(reference, |(bare, _)| bare)
}

/// The sources in a scenario, each on a line of its own.
fn sources(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("source: "));
    lines.map(|value| value.trim_end().trim_matches('"')).collect()
}

#[test]
fn every_source_leads_somewhere() {
    let places = Places::of_the_checkout();
    let mut scenarios = BTreeSet::new();
    for folder in ["scenarios/suites", "scenarios/templates"] {
        files(Path::new(folder), "yaml", &mut scenarios);
    }
    let mut all: Vec<(String, String)> = Vec::new();
    for file in &scenarios {
        let name = file.display().to_string();
        let text = read(&name);
        let found = sources(&text);
        assert_eq!(found.len(), 1, "{name} must have one line `source: …`");
        all.extend(found.into_iter().map(|source| (name.clone(), source.to_owned())));
    }
    assert!(all.len() > 300, "the scenarios are somewhere else");
    let rules = fake_microsoft::graph::rules().iter().map(|rule| (format!("{:?}", rule.id), rule.source));
    let rules = rules
        .chain(fake_microsoft::entra::rules().iter().map(|rule| (format!("{:?}", rule.id), rule.source)));
    let rules =
        rules.chain(fake_microsoft::bot::BOT_RULES.iter().map(|rule| (rule.id.to_owned(), rule.source)));
    all.extend(rules.map(|(rule, source)| (format!("the rule {rule} of a fake"), source.to_owned())));
    let wrong: Vec<_> = all
        .iter()
        .filter_map(|(place, source)| Some(format!("{place}: {:?} leads nowhere", places.lost(source)?)))
        .collect();
    assert!(
        wrong.is_empty(),
        "write `https://…`, `facts/PAGE#heading`, `DESIGN: QUESTION` or `ARCHITECTURE: invariant N`, several with \
         `; ` between them:\n{}",
        wrong.join("\n")
    );
}

/// The scenarios and tests that the tables of a page name, where a row holds nothing else between backticks.
fn named_in_tables(text: &str) -> BTreeSet<String> {
    let rows = prose(text).into_iter().filter(|line| line.starts_with('|'));
    let words = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let is_name = |word: &&str| {
        let is_test =
            word.matches('_').count() > 1 && word.chars().all(|c| c.is_ascii_lowercase() || "_:".contains(c));
        word.starts_with("delegate.") || is_test
    };
    words.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn every_scenario_and_test_that_the_local_model_rests_on_is_there() {
    let mut sources = BTreeSet::new();
    for folder in ["server", "scenarios", "fakes"] {
        files(Path::new(folder), "rs", &mut sources);
    }
    let sources: String = sources.iter().map(|path| read(&path.to_string_lossy())).collect();
    let scenarios = scenario::load_builtin().expect("the scenarios are right");
    let named = named_in_tables(&shown(Path::new("docs/src/delegate.md")));
    assert!(named.len() > 60, "the tables are somewhere else: {}", named.len());
    let is_there = |name: &String| {
        let test = name.rsplit("::").next().unwrap_or(name);
        scenarios.iter().any(|one| one.id() == name) || sources.contains(&format!("fn {test}("))
    };
    let missing: Vec<_> = named.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "docs/src/delegate.md names what is not there: {missing:?}");
    let of_suite = scenarios.iter().filter(|one| one.suite() == "delegate");
    let silent: Vec<_> = of_suite.map(|loaded| loaded.id()).filter(|id| !named.contains(*id)).collect();
    assert!(silent.is_empty(), "docs/src/delegate.md has no row for {silent:?}");
}

#[test]
fn a_source_that_leads_nowhere_is_found() {
    let places = Places::of_the_checkout();
    for source in [
        "https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1: the date",
        "facts/graph#throttling; facts/requirements#default-deny (and its words)",
        "DESIGN: When is a message done?; ARCHITECTURE: invariant 14",
    ] {
        assert_eq!(places.lost(source), None);
    }
    for source in [
        "notes §4",
        "facts/graph",
        "facts/graph#no such heading",
        "facts/nowhere#throttling",
        "DESIGN: W",
        "DESIGN: Why is the sky blue?",
        "ARCHITECTURE: invariant 99",
        "https://here",
        "http://www.rfc-editor.org/rfc/rfc9110",
        "",
    ] {
        assert_eq!(places.lost(source), Some(source));
    }
    assert_eq!(places.lost("facts/graph#throttling; notes"), Some("notes"));
}

/// The recordings that a profile names in the sources of its facts.
fn recordings(profile: &str) -> BTreeSet<&str> {
    let is_name = |text: &str| {
        let of_a_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(of_a_name)
    };
    let values = profile.lines().filter_map(|line| line.split_once("source: \""));
    let bracketed = values.flat_map(|(_, value)| value.split('[').skip(1));
    bracketed
        .filter_map(|rest| rest.split_once(']'))
        .map(|(name, _)| name)
        .filter(|name| is_name(name))
        .collect()
}

#[test]
fn every_recording_of_a_profile_is_told() {
    let page = read("docs/src/facts/recordings.md");
    let told: BTreeMap<&str, BTreeSet<&str>> = page
        .split("\n## ")
        .skip(1)
        .filter_map(|part| part.split_once('\n'))
        .map(|(host, rows)| {
            let names = rows.lines().filter_map(|row| row.strip_prefix("| `")?.split_once('`'));
            (host, names.map(|(name, _)| name).collect())
        })
        .collect();
    let mut profiles = BTreeSet::new();
    files(Path::new("fakes/hosts/profiles"), "yaml", &mut profiles);
    let (mut missing, mut found) = (Vec::new(), 0);
    for profile in &profiles {
        let text = read(&profile.to_string_lossy());
        let title = text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap_or_default();
        let rows = told.iter().find(|(host, _)| title.starts_with(**host)).map(|(_, names)| names);
        for name in recordings(&text) {
            found += 1;
            if !rows.is_some_and(|rows| rows.contains(name)) {
                missing.push(format!("{}: [{name}]", profile.display()));
            }
        }
    }
    assert!(found > 100, "the profiles are somewhere else: {found} recordings");
    assert!(missing.is_empty(), "docs/src/facts/recordings.md has no row for\n{}", missing.join("\n"));
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# One `two`: three\n\n[a](b.md#c) and `[no](link)` [d](e.md)\n\n```sh\n# no\n[no](code)\n```\n## Two\n## Two\n";
    assert_eq!(links(text), ["b.md#c", "e.md"]);
    assert_eq!(anchors(text), ["one-two-three", "two", "two-1"].map(str::to_owned).into());
}
