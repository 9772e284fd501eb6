//! Writes a scenario whose drawn steps are written out. What it writes must read as what was played.

use std::fmt::Write as _;

use anyhow::Context as _;
use hostcheck::json_in_yaml::yaml;
use reports::text::short_line;
use scenario::{
    BotStep, DiskStep, EntraStep, HostStep, MailWrite, MailboxStep, MessageRef, OperatorStep, PersonRef,
    ServerStep, Span, Step, Write,
};
use serde_json::{Value, json};

use super::pieces::From;
use crate::plan::Cell;

/// Bytes of a finding in a comment.
const MESSAGE_BYTES_MAX: usize = 200;

/// The head of a scenario.
pub(super) struct About<'a> {
    pub(super) id: &'a str,
    pub(super) rule: &'a str,
    pub(super) message: &'a str,
    /// Steps that the seed drew.
    pub(super) drawn: usize,
    /// Those that are left.
    pub(super) left: usize,
}

/// The scenario of a cell with these steps.
pub(super) fn write(cell: &Cell, steps: &[(From, Step)], about: &About<'_>) -> anyhow::Result<String> {
    let scenario: serde_json::Map<String, Value> =
        yaml::read(&cell.scenario.source).context("the scenario can't be read again")?;
    let mut text = String::new();
    let (host, seed) = (&cell.host.id, cell.seed);
    // A string takes every write.
    let _ = write!(
        text,
        "# The smallest part of {} on {host}, seed {seed}, that still breaks {}: {} of {} drawn steps.\n\
         # {}\n\
         # Play it with `--host {host} --mode sim --seed {seed} --seeds 1`: the seed also decides what is not written here.\n",
        cell.scenario.id(),
        short_line(about.rule, MESSAGE_BYTES_MAX),
        about.left,
        about.drawn,
        short_line(about.message, MESSAGE_BYTES_MAX),
    );
    let title = scenario.get("title").and_then(Value::as_str).unwrap_or_default();
    let mut member = |name: &str, value: &Value| {
        let _ = writeln!(text, "{name}: {}", flow(value));
    };
    member("id", &about.id.into());
    member("title", &format!("{title}: what is left of seed {seed}").into());
    member("hosts", &json!([host]));
    member("mode", &json!(["sim"]));
    for (name, value) in &scenario {
        if !["id", "title", "hosts", "mode", "long", "steps"].contains(&name.as_str()) {
            member(name, value);
        }
    }
    text.push_str("steps:\n");
    let written = scenario.get("steps").and_then(Value::as_array).context("the scenario has no steps")?;
    for (from, played) in steps {
        let value = match from {
            From::Scenario(number) => {
                written.get(*number).cloned().context("the scenario has fewer steps")?
            }
            From::Seed => step(played).with_context(|| format!("this step can't be written: {played:?}"))?,
        };
        // A step is one name with what belongs to it, or a name alone.
        match value.as_object().and_then(|members| members.iter().next()) {
            Some((name, value)) => {
                _ = writeln!(text, "  - {}: {}", flow(&Value::from(name.as_str())), flow(value));
            }
            None => _ = writeln!(text, "  - {}", flow(&value)),
        }
    }
    Ok(text)
}

/// A step that a seed can draw, as JSON; none for others.
fn step(step: &Step) -> Option<Value> {
    Some(match step {
        Step::Write(write) => json!({"write": message(write)?}),
        Step::Mail(mail) => {
            let MailWrite { from, subject, text, label, .. } = mail;
            bare(json!({"mail": {"from": from, "subject": subject, "text": text, "as": label}}))
        }
        Step::Advance(wait) => json!({"advance": span(*wait)}),
        Step::Fault(fault) => {
            let mut fault = serde_json::to_value(fault).ok()?;
            if fault["skip"] == 0 {
                fault.as_object_mut()?.remove("skip");
            }
            bare(json!({"fault": fault}))
        }
        Step::Heal => json!("heal"),
        Step::Edit(edit) => json!({"edit": {"message": edit.message, "text": edit.text}}),
        Step::Delete(MessageRef { message, if_read }) => {
            bare(json!({"delete": {"message": message, "if_read": if_read.then_some(true)}}))
        }
        Step::Host(HostStep::Start(name)) => json!({"host": {"start": name}}),
        Step::Host(HostStep::Exit(name)) => json!({"host": {"exit": name}}),
        Step::Host(HostStep::Kill(name)) => json!({"host": {"kill": name}}),
        Step::Host(HostStep::LoseReply(name)) => json!({"host": {"lose_reply": name}}),
        Step::Server(ServerStep::Crash(name)) => json!({"server": {"crash": name}}),
        Step::Server(ServerStep::Stop(name)) => json!({"server": {"stop": name}}),
        Step::Server(ServerStep::Wake(name)) => json!({"server": {"wake": name}}),
        Step::Server(ServerStep::PowerCut(name)) => json!({"server": {"power_cut": name}}),
        Step::Server(ServerStep::ClockStep(by_ms)) => json!({"server": {"clock_step": by_ms}}),
        Step::Disk(DiskStep::Full { after_bytes }) => json!({"disk": {"full": {"after_bytes": after_bytes}}}),
        Step::Disk(DiskStep::FailSync) => json!({"disk": "fail_sync"}),
        Step::Disk(DiskStep::Delete(prefix)) => json!({"disk": {"delete": prefix}}),
        Step::Disk(DiskStep::Heal) => json!({"disk": "heal"}),
        Step::Entra(EntraStep::EndTokens) => json!({"entra": "end_tokens"}),
        Step::Operator(OperatorStep::Deny(who)) => json!({"operator": {"deny": person(who)}}),
        Step::Operator(OperatorStep::Allow(who)) => json!({"operator": {"allow": person(who)}}),
        Step::Bot(BotStep::Say(say)) => bare(json!({"bot": {"say": {"from": say.from, "text": say.text,
            "conversation": say.conversation, "as": say.label, "any_status": say.any_status.then_some(true)}}})),
        Step::Bot(BotStep::Fault(fault)) => json!({"bot": {"fault": fault}}),
        Step::Mailbox(MailboxStep::Forget(how)) => json!({"mailbox": {"forget": how}}),
        _ => return None,
    })
}

fn person(who: &PersonRef) -> Value {
    bare(json!({"person": who.person, "unsettled": who.unsettled.then_some(true)}))
}

fn message(write: &Write) -> Option<Value> {
    let Write { chat, from, text, html, vector, label, count, every, unheard, message } = write;
    if html.is_some() || vector.is_some() || *unheard {
        return None;
    }
    let every = every.map(span);
    let later = message.as_ref().map(|message| json!({"visible_after_ms": message.visible_after_ms}));
    Some(bare(json!({"chat": chat, "from": from, "text": text, "as": label, "count": count, "every": every,
        "message": later})))
}

/// Without members that are null.
fn bare(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let said = members.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(said.map(|(name, value)| (name, bare(value))).collect())
        }
        other => other,
    }
}

fn span(wait: Span) -> String {
    let ms = wait.ms();
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}

/// YAML in one line, with as few quotes as it can be read with.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                format!("{}: {}", flow(&Value::from(name.as_str())), flow(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        other => yaml(&other.to_string()),
    }
}

/// Whether YAML reads a text without quotes as that text.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let inside = |letter: char| letter.is_ascii_alphanumeric() || " _-.".contains(letter);
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(inside)
        && !text.ends_with(' ')
        && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Selection};
    use crate::run::drawn;
    use scenario::faults::PROFILES;
    use scenario::{Loaded, Mode, load_builtin};
    use std::sync::Arc;

    /// Each step that any seed draws reads as itself.
    #[test]
    fn the_written_steps_are_the_drawn_steps() {
        let mut kinds = std::collections::BTreeSet::new();
        let is_drawn =
            |loaded: &&Arc<Loaded>| loaded.id().starts_with("days.") || loaded.id() == "crash.kills";
        for scenario in load_builtin().unwrap().iter().filter(is_drawn) {
            for (seed, faults) in (0..).zip(PROFILES) {
                let cells = plan::cells(&Selection {
                    scenarios: vec![Arc::clone(scenario)],
                    hosts: hostcheck::host::all().unwrap().to_vec(),
                    modes: vec![Mode::Sim, Mode::Process],
                    seed,
                    seeds: 1,
                    faults: Some(faults),
                    sampled: false,
                    glance: false,
                });
                let cell = cells.iter().find(|cell| cell.unplayed.is_none()).unwrap();
                let all = scenario.scenario.steps.iter().filter_map(|step| drawn(cell, &step.value));
                for drawn in all.flatten() {
                    let value = step(&drawn).unwrap_or_else(|| panic!("{drawn:?}"));
                    let read: Step =
                        yaml::read(&flow(&value)).unwrap_or_else(|error| panic!("{}: {error}", flow(&value)));
                    assert_eq!(format!("{read:?}"), format!("{drawn:?}"), "{}", flow(&value));
                    kinds.insert(format!("{drawn:?}").split(['(', ' ']).next().unwrap().to_owned());
                }
            }
        }
        let all = [
            "Advance", "Bot", "Delete", "Disk", "Edit", "Entra", "Fault", "Heal", "Host", "Mail", "Mailbox",
            "Operator", "Server", "Write",
        ];
        assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), all);
    }

    #[test]
    fn texts_that_yaml_would_take_for_something_else_are_quoted() {
        for text in
            ["", "no", "Off", "17", "2m", "a: b", "#x", " a", "a ", "- a", "\u{2028}", "ümlaut", "a,b", "~"]
        {
            let read: Value = yaml::read(&flow(&json!({"text": text}))).unwrap();
            assert_eq!(read, json!({"text": text}));
        }
    }
}
