//! The rules of `ARCHITECTURE.md` that clippy can't check, one test each.

#![expect(clippy::disallowed_methods, reason = "the test reads the repository")]

use std::path::{Path, PathBuf};

/// Longest source file, in lines: more than one noun lives in it then.
const LINES_MAX: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace").to_owned()
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') && name != "hostcheck-out" {
                files(&path, ending, found);
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["server", "fakes", "scenarios", "schemas", "reports"] {
        files(&root().join(folder), ".rs", &mut found);
    }
    assert!(found.len() > 100, "the sources are somewhere else");
    found.into_iter().map(|path| (path.clone(), std::fs::read_to_string(path).expect("UTF-8"))).collect()
}

#[test]
fn no_source_file_is_longer_than_one_noun() {
    let long: Vec<_> = sources()
        .into_iter()
        .map(|(path, text)| (path, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .collect();
    assert!(long.is_empty(), "split them: {long:?}");
}

#[test]
fn every_module_says_what_it_is() {
    let silent: Vec<_> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//!")).map(|(p, _)| p).collect();
    assert!(silent.is_empty(), "begin them with `//!`: {silent:?}");
}

#[test]
fn nothing_is_left_for_later() {
    // Put together so that this file does not find itself.
    let words = [
        ["to", "do!("].concat(),
        ["unimpl", "emented!("].concat(),
        ["#[ign", "ore"].concat(),
        ["FIX", "ME"].concat(),
    ];
    for (path, text) in sources() {
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} holds {word}", path.display());
        }
    }
}

#[test]
fn fakes_and_judges_depend_on_nothing_that_they_judge() {
    let cases: [(&str, &[&str]); 8] = [
        ("fakes/agents", &["entraclaw", "rmcp", "fake-hosts", "fake-microsoft"]),
        ("fakes/hosts", &["entraclaw", "rmcp", "fake-microsoft"]),
        ("fakes/hosts/profiles", &["entraclaw", "rmcp", "fake-microsoft"]),
        ("fakes/microsoft", &["entraclaw", "rmcp", "fake-hosts"]),
        ("scenarios/scenario", &["entraclaw", "rmcp", "reports", "simulation"]),
        ("scenarios/hostcheck", &["entraclaw", "rmcp", "fake-microsoft", "simulation"]),
        ("reports", &["entraclaw.workspace", "fake-hosts", "fake-microsoft"]),
        ("schemas", &["entraclaw.workspace", "fake-hosts", "fake-microsoft"]),
    ];
    for (folder, strangers) in cases {
        let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).expect("the manifest");
        for stranger in strangers {
            let named = manifest.lines().any(|line| line.starts_with(stranger));
            assert!(!named, "{folder} depends on {stranger}");
        }
    }
}

/// Does what `cargo machete` does, without the two minutes that its installation takes, and tells tests from the program.
#[test]
fn every_dependency_is_used_where_it_is_declared() {
    let manifest = |path: PathBuf| -> toml::Table {
        std::fs::read_to_string(path).expect("a manifest").parse().expect("TOML")
    };
    let names = |table: Option<&toml::Value>| -> Vec<String> {
        table.and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys).cloned().collect()
    };
    let workspace = manifest(root().join("Cargo.toml"));
    let mut declared = Vec::new();
    let mut unused = Vec::new();
    let members = workspace["workspace"]["members"].as_array().expect("the members");
    let folders: Vec<_> =
        members.iter().map(|member| root().join(member.as_str().expect("a folder"))).collect();
    for (member, folder) in members.iter().zip(&folders) {
        let package = manifest(folder.join("Cargo.toml"));
        let mut found = Vec::new();
        files(folder, ".rs", &mut found);
        // A crate can stand in the folder of another, which its files are not.
        let inner: Vec<_> = folders.iter().filter(|one| one.starts_with(folder) && *one != folder).collect();
        found.retain(|path| !inner.iter().any(|inner| path.starts_with(inner)));
        let (program, tests): (Vec<_>, Vec<_>) = found
            .into_iter()
            .map(|path| (path.clone(), std::fs::read_to_string(path).expect("UTF-8")))
            .partition(|(path, _)| path.starts_with(folder.join("src")) && !path.ends_with("tests.rs"));
        let named =
            |name: &str, texts: &[(PathBuf, String)]| texts.iter().any(|(_, text)| names_crate(text, name));
        let mut of_program = names(package.get("dependencies"));
        let systems = package.get("target").and_then(toml::Value::as_table);
        for system in systems.into_iter().flat_map(toml::Table::values) {
            of_program.extend(names(system.get("dependencies")));
        }
        let of_tests = names(package.get("dev-dependencies"));
        unused.extend(
            of_program.iter().filter(|name| !named(name, &program)).map(|name| format!("{member}: {name}")),
        );
        unused.extend(
            of_tests
                .iter()
                .filter(|name| !named(name, &program) && !named(name, &tests))
                .map(|name| format!("{member}: {name}, for tests")),
        );
        declared.extend(of_program.into_iter().chain(of_tests));
    }
    unused.extend(
        names(workspace["workspace"].get("dependencies")).into_iter().filter(|name| !declared.contains(name)),
    );
    assert!(
        unused.is_empty(),
        "remove them from Cargo.toml, or move them to [dev-dependencies]: {unused:#?}"
    );
}

/// The default release leaves large crates without optimisation, to be built quickly. A profile that inherits it does too,
/// whatever its own level is.
#[test]
fn what_is_installed_is_optimised_in_every_crate() {
    let manifest: toml::Table =
        std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest").parse().expect("TOML");
    let profiles = manifest["profile"].as_table().expect("the profiles");
    assert_eq!(profiles["dist"]["opt-level"].as_integer(), Some(3));
    let mut name = "dist";
    while let Some(profile) = profiles.get(name) {
        let crates = profile.get("package").and_then(toml::Value::as_table).into_iter().flatten();
        let slow: Vec<_> = crates
            .filter(|(_, own)| own.get("opt-level").is_some_and(|level| level.as_integer() != Some(3)))
            .map(|(slow, _)| slow)
            .collect();
        assert!(slow.is_empty(), "`dist` takes the levels of these crates from `{name}`: {slow:?}");
        name = profile.get("inherits").and_then(toml::Value::as_str).unwrap_or_default();
    }
}

/// Whether a source names this dependency as a path, a macro or in a `use`.
fn names_crate(text: &str, dependency: &str) -> bool {
    let name = match dependency {
        "rustls-webpki" => "webpki".to_owned(),
        other => other.replace('-', "_"),
    };
    text.match_indices(&name).any(|(at, _)| {
        let before = text[..at].chars().next_back().unwrap_or(' ');
        let after = &text[at + name.len()..];
        !before.is_alphanumeric()
            && before != '_'
            && ["::", ";", " as ", "!"].iter().any(|next| after.starts_with(next))
    })
}

#[test]
fn every_document_of_ours_has_a_schema() {
    let known: Vec<&str> = schemas::own::names().collect();
    for name in [
        "record",
        "state",
        "interaction",
        "policy",
        "permission",
        "tool-results",
        "push",
        "scenario",
        "profile",
        "events",
        "report",
    ] {
        assert!(known.contains(&name), "schemas/own/{name}.schema.json is missing; there are {known:?}");
    }
}

#[test]
fn every_scenario_names_its_schema_for_editors() {
    let mut found = Vec::new();
    files(&root().join("scenarios/suites"), ".yaml", &mut found);
    for path in found {
        let text = std::fs::read_to_string(&path).expect("UTF-8");
        assert!(text.starts_with("# yaml-language-server: $schema="), "{}", path.display());
    }
}
