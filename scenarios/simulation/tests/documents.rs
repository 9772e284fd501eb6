//! The documents: what they must hold, and that each link of theirs leads somewhere, in the checkout and in the book.

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
    for entry in std::fs::read_dir(root().join(folder)).expect("a folder").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name);
        if entry.path().is_dir() {
            let is_made = name.starts_with("hostcheck-out") || name == "target" || name == "node_modules";
            if !is_made && !name.starts_with('.') {
                documents(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "md") {
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

#[test]
fn links_and_anchors_are_found() {
    let text = "# One `two`: three\n\n[a](b.md#c) and `[no](link)` [d](e.md)\n\n```sh\n# no\n[no](code)\n```\n## Two\n## Two\n";
    assert_eq!(links(text), ["b.md#c", "e.md"]);
    assert_eq!(anchors(text), ["one-two-three", "two", "two-1"].map(str::to_owned).into());
}
