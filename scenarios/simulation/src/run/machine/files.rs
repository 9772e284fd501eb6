//! The person's files before and after: whether everything of theirs still stands, and what of ours is found.
//!
//! It must never take what setup says for what is in the files.

use std::collections::BTreeMap;

use entraclaw_session::config::key::ACCESS_TOKEN_VARIABLE;
use fake_hosts::settings::{self, Form, HostSettings};
use scenario::{Ours, SetupExpect};
use serde_json::Value;

use super::Machine;
use super::home::{bytes_of, difference, texts};

/// The first line of our section in a text for models.
const SECTION: &str = "<!-- entraclaw begin";
/// The signs that begin a comment, in any of the formats.
const COMMENTS: [&str; 3] = ["//", "/*", "# "];
/// The server's name in every host.
const SERVER: &str = "entraclaw";

/// Checks a demand now; what does not hold.
pub(in super::super) fn check(expect: &SetupExpect, machine: &Machine) -> Result<(), String> {
    let now = bytes_of(&machine.home).map_err(|error| error.to_string())?;
    if let Some(file) = &expect.file {
        let text = now.get(&file.path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        match text {
            None => return Err(format!("there is no file {}", file.path)),
            Some(text) if !text.contains(&file.contains) => {
                return Err(format!("`{}` is not in {}: {text}", file.contains, file.path));
            }
            Some(_) => {}
        }
    }
    if expect.untouched
        && let Some(changed) = difference(&machine.before, &now)
    {
        return Err(changed);
    }
    if expect.others_stand {
        others_stand(machine, &now)?;
    }
    match expect.ours {
        None => Ok(()),
        Some(Ours::Once) => once(machine, &now),
        Some(Ours::Never) => never(machine, &now),
    }
}

fn once(machine: &Machine, now: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let settings = machine.settings()?;
    if let Some(token) = machine.environment().get(ACCESS_TOKEN_VARIABLE)
        && let Some((path, _)) = texts(now).iter().find(|(_, text)| text.contains(token))
    {
        return Err(format!("{path} holds the token of the person's shell"));
    }
    let ours: Vec<&String> = ours_of(machine, &settings);
    if ours != [SERVER] {
        return Err(format!("the host finds these servers of ours: {ours:?}"));
    }
    for (event, hooks) in &settings.hooks {
        let count = hooks.iter().filter(|hook| names(machine, &hook.command)).count();
        if count > 1 {
            return Err(format!("the host finds {count} commands of ours for {event}"));
        }
    }
    let waking = settings.waking.iter().filter(|hook| names(machine, &hook.command)).count();
    if waking > 1 {
        return Err(format!("the host finds {waking} commands of ours that wake it"));
    }
    let sections: usize = texts(now)
        .iter()
        .filter(|(path, _)| !path.contains("backup"))
        .map(|(_, text)| text.matches(SECTION).count())
        .sum();
    let told = settings.instructions.matches(SECTION).count();
    if (sections, told) != (1, 1) {
        return Err(format!("there are {sections} sections of ours, and the model is told {told} of them"));
    }
    Ok(())
}

fn never(machine: &Machine, now: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let settings = machine.settings()?;
    if let Some(name) = ours_of(machine, &settings).first() {
        return Err(format!("the host still finds the server `{name}`"));
    }
    let named = |text: &String| names(machine, text) || text.contains(SECTION);
    match texts(now).iter().find(|(_, text)| named(text)) {
        Some((path, _)) => Err(format!("{path} still names our program")),
        None => Ok(()),
    }
}

fn names(machine: &Machine, text: &str) -> bool {
    text.contains(&machine.binary.display().to_string())
}

fn ours_of<'s>(machine: &Machine, settings: &'s HostSettings) -> Vec<&'s String> {
    let is_ours = |name: &str, program: &str| name == SERVER || names(machine, program);
    let servers = settings.servers.iter();
    servers.filter(|(name, server)| is_ours(name, &server.program)).map(|(name, _)| name).collect()
}

/// Everything that stood in the files stands there still, and the host finds beside ours what it found before.
fn others_stand(machine: &Machine, now: &BTreeMap<String, Vec<u8>>) -> Result<(), String> {
    let (before, now) = (texts(&machine.before), texts(now));
    for (path, old) in &before {
        let new = now.get(path).ok_or_else(|| format!("{path} is gone"))?;
        if let Some(comment) = comments(old).find(|comment| !new.contains(comment)) {
            return Err(format!("{path} has lost `{comment}`"));
        }
        let Some(form) = form(path) else {
            if !new.starts_with(old.trim_end()) {
                return Err(format!("{path} does not begin with what it was"));
            }
            continue;
        };
        let read = |text| settings::parse(form, text).map_err(|error| format!("{path}: {error}"));
        if let Some(lost) = lost(&read(old)?, &read(new)?, "") {
            return Err(format!("{path} has lost or changed `{lost}`"));
        }
    }
    let launch: Vec<String> = Vec::new();
    let found = |files| settings::read(&machine.family, files, &launch).map_err(|error| error.to_string());
    let (then, mut since) = (found(&before)?, found(&now)?);
    since.servers.retain(|name, _| name != SERVER);
    for hooks in since.hooks.values_mut() {
        hooks.retain(|hook| !names(machine, &hook.command));
    }
    since.hooks.retain(|_, hooks| !hooks.is_empty());
    since.waking.retain(|hook| !names(machine, &hook.command));
    if then.servers != since.servers {
        return Err(format!("the host found {:?} and finds {:?}", then.servers, since.servers));
    }
    if (&then.hooks, &then.waking) != (&since.hooks, &since.waking) {
        return Err(format!("the host found {:?} and finds {:?}", then.hooks, since.hooks));
    }
    Ok(())
}

fn form(path: &str) -> Option<Form> {
    match std::path::Path::new(path).extension()?.to_str()? {
        "json" | "jsonc" => Some(Form::Jsonc),
        "toml" => Some(Form::Toml),
        _ => None,
    }
}

/// The text behind the sign of a comment, to the end of its line.
fn comments(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        COMMENTS.iter().filter_map(|sign| line.find(sign)).min().map(|at| line[at..].trim_end())
    })
}

/// The first value of `old` that `new` does not have at its place. Lists keep their elements in order and may have more.
fn lost(old: &Value, new: &Value, at: &str) -> Option<String> {
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => old.iter().find_map(|(name, value)| {
            let at = format!("{at}/{name}");
            match new.get(name) {
                Some(other) => lost(value, other, &at),
                None => Some(at),
            }
        }),
        (Value::Array(old), Value::Array(new)) => {
            let mut rest = new.iter();
            let gone = old.iter().position(|value| !rest.any(|other| other == value))?;
            Some(format!("{at}/{gone}"))
        }
        _ => (old != new).then(|| at.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lost_value_is_named_by_its_place() {
        let old = json!({"a": {"b": [1, {"c": 2}]}, "d": null});
        assert_eq!(lost(&old, &json!({"x": 0, "a": {"b": [0, 1, {"c": 2}, 3]}, "d": null}), ""), None);
        assert_eq!(lost(&old, &json!({"a": {"b": [{"c": 2}, 1]}, "d": null}), ""), Some("/a/b/1".to_owned()));
        assert_eq!(lost(&old, &json!({"a": {"b": [1, {"c": 3}]}, "d": null}), ""), Some("/a/b/1".to_owned()));
        assert_eq!(lost(&old, &json!({"a": {"b": [1, {"c": 2}]}}), ""), Some("/d".to_owned()));
    }

    #[test]
    fn a_comment_reaches_to_the_end_of_its_line() {
        let found: Vec<&str> = comments("a = 1 # mine \n{ // \"x\": 1\n/* y */ 1\nplain").collect();
        assert_eq!(found, ["# mine", "// \"x\": 1", "/* y */ 1"]);
    }

    #[test]
    fn files_that_come_go_or_change_are_seen() {
        let files = |pairs: &[(&str, &str)]| {
            pairs
                .iter()
                .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
                .collect::<BTreeMap<_, _>>()
        };
        let before = files(&[("a", "1"), ("b", "2")]);
        assert_eq!(difference(&before, &before), None);
        assert!(difference(&before, &files(&[("a", "1")])).unwrap().contains("b is gone"));
        assert!(difference(&before, &files(&[("a", "1"), ("b", "3")])).unwrap().contains("b is another"));
        assert!(
            difference(&before, &files(&[("a", "1"), ("b", "2"), ("c", "")])).unwrap().contains("c was not")
        );
    }
}
