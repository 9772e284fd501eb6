//! `hostcheck hosts --matrix FACT`: one fact of all hosts. Neighbours with the same value share a line. It
//! never fills in a value that a profile calls unknown.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::bail;
use fake_hosts::{Evidence, Mark, Profile};
use serde_json::json;

use super::evidence::add;
use crate::command::select;
use crate::hint;
use crate::host::Host;
use crate::host::said as value;
use crate::print::out;
use crate::support::{self, Answer};

/// Lists the facts that `--matrix` takes, each with its meaning and the feature that it answers.
pub(super) fn print_facts(names: &[String], json: bool) -> anyhow::Result<()> {
    let hosts = select::hosts(names)?;
    let mut facts: Vec<(String, &'static str)> = Vec::new();
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (place, profile) in profiles(&hosts).enumerate() {
        for fact in profile.evidence() {
            if place == 0 {
                facts.push((fact.name.clone(), fact.meaning));
            }
            let all = values.entry(fact.name.clone()).or_default();
            let said = value(&fact);
            if !all.contains(&said) {
                all.push(said);
            }
        }
    }
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, meaning) in facts {
        let values = values.get(&name).map_or(0, Vec::len);
        let feature = support::of_fact(&name).map(|feature| feature.title);
        out(&if json {
            json!({"fact": name, "meaning": meaning, "feature": feature, "values": values}).to_string()
        } else {
            let said = feature.unwrap_or(meaning);
            format!("{name:width$}  {said} ({values} {})", if values == 1 { "value" } else { "values" })
        });
    }
    Ok(())
}

/// Prints one fact of the given hosts.
pub(super) fn print(fact: &str, names: &[String], json: bool) -> anyhow::Result<()> {
    let hosts = select::hosts(names)?;
    let name = full_name(fact, &hosts)?;
    let feature = support::of_fact(&name);
    let rows: Vec<Row> = hosts
        .iter()
        .filter_map(|host| {
            let profile = host.profile.as_ref()?;
            let fact = profile.evidence().into_iter().find(|fact| fact.name == name)?;
            let answer = feature.map(|feature| feature.answer(profile));
            Some(Row { host: Arc::clone(host), fact, answer })
        })
        .collect();
    if json {
        for row in &rows {
            let Row { host, fact, answer } = row;
            let mut line =
                json!({"fact": name, "host": host.id, "family": host.family, "version": host.version()});
            if let Some(answer) = answer {
                line["support"] = json!(answer.support);
                line["note"] = json!(answer.note);
            }
            add(&mut line, fact);
            out(&line.to_string());
        }
        return Ok(());
    }
    let meaning = rows.first().map_or("", |row| row.fact.meaning);
    let title = feature.map(|feature| format!("{}\n", feature.title)).unwrap_or_default();
    out(&format!("{title}{name}: {meaning}\n"));
    let lines: Vec<[String; 4]> = rows.chunk_by(Row::says_the_same).map(line).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..3).map(width).collect();
    let mut family = "";
    for line in &lines {
        let shown = if line[0] == family { "" } else { &line[0] };
        family = &line[0];
        let text = format!(
            "{shown:first$}  {:second$}  {:third$}  {}",
            line[1],
            line[2],
            line[3],
            first = widths[0],
            second = widths[1],
            third = widths[2],
        );
        out(text.trim_end());
    }
    Ok(())
}

/// One host and its value of the fact.
struct Row {
    host: Arc<Host>,
    fact: Evidence,
    answer: Option<Answer>,
}

impl Row {
    fn says_the_same(&self, other: &Self) -> bool {
        self.host.family == other.host.family
            && value(&self.fact) == value(&other.fact)
            && self.answer == other.answer
            && self.fact.is_unknown() == other.fact.is_unknown()
            && self.host.family != "generic"
    }
}

/// Family, versions, value, and marks of neighbours that share a line.
fn line(rows: &[Row]) -> [String; 4] {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Default::default() };
    let versions = match rows {
        [one] => one.host.version().to_owned(),
        [one, two] => format!("{}, {}", one.host.version(), two.host.version()),
        _ => format!("{} … {} ({})", first.host.version(), last.host.version(), rows.len()),
    };
    let answer = first.answer.as_ref().map_or_else(String::new, |answer| {
        let word = answer.support.word();
        answer.note.as_ref().map_or_else(|| word.to_owned(), |note| format!("{word} ({note})"))
    });
    let mut marks: Vec<Mark> = rows.iter().map(|row| row.fact.mark).collect();
    marks.sort();
    marks.dedup();
    let marks: Vec<String> = marks.iter().map(ToString::to_string).collect();
    // The answer says the value in words. Where there is no answer, the value itself is printed.
    let said = if answer.is_empty() { value(&first.fact) } else { answer };
    [first.host.family.clone(), versions, said, marks.join(", ")]
}

fn profiles(hosts: &[Arc<Host>]) -> impl Iterator<Item = &Arc<Profile>> {
    hosts.iter().filter_map(|host| host.profile.as_ref())
}

/// `section.field` of the fact that the user named. The field alone is enough where it is unique.
fn full_name(asked: &str, hosts: &[Arc<Host>]) -> anyhow::Result<String> {
    let all: Vec<String> = profiles(hosts)
        .next()
        .map(|profile| profile.evidence().into_iter().map(|fact| fact.name).collect())
        .unwrap_or_default();
    if all.iter().any(|name| name == asked) {
        return Ok(asked.to_owned());
    }
    let fields: Vec<&String> =
        all.iter().filter(|name| name.split_once('.').is_some_and(|(_, field)| field == asked)).collect();
    match fields.as_slice() {
        [only] => Ok((*only).clone()),
        [] => {
            let known = all.iter().map(String::as_str);
            let hint = hint::or_else(asked, known, "see `hostcheck hosts --matrix`");
            bail!("no fact is named `{asked}`; {hint}")
        }
        several => {
            let names: Vec<&str> = several.iter().map(|name| name.as_str()).collect();
            bail!("`{asked}` is a fact of several sections; name one: {}", names.join(", "))
        }
    }
}
