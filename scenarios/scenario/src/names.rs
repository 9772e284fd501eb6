//! The names that a scenario has given so far. What a step refers to must be among them.

use std::collections::BTreeSet;

use hostcheck::hint::nearest;
use serde_json::Value;
use yaml::Spanned;

use super::error::Place;
use super::{Call, Scenario, ScenarioError, WORK_TOOL};

/// The names that hold where a step stands, and the place that an error is shown at.
pub(super) struct Names<'a> {
    file: &'a str,
    source: &'a str,
    place: Place,
    messages: BTreeSet<String>,
    calls: BTreeSet<String>,
    sessions: BTreeSet<String>,
    people: BTreeSet<String>,
    chats: BTreeSet<String>,
}

impl<'a> Names<'a> {
    /// Those that a scenario gives before its first step. Errors are shown at its id.
    pub(super) fn of(file: &'a str, source: &'a str, scenario: &Scenario) -> Self {
        let world = &scenario.world;
        let mails = world.mail.iter().flat_map(|mailbox| &mailbox.messages);
        Self {
            file,
            source,
            place: scenario.id.place,
            messages: mails.filter_map(|item| item.message.handle.clone()).collect(),
            calls: BTreeSet::new(),
            sessions: scenario.sessions.keys().cloned().chain(["main".to_owned()]).collect(),
            people: world.people.keys().chain(world.applications.keys()).cloned().collect(),
            chats: world.chats.keys().cloned().collect(),
        }
    }

    /// From here on errors are shown at this place.
    pub(super) fn go_to<T>(&mut self, at: &Spanned<T>) {
        self.place = at.place;
    }

    /// An error at the place that was gone to last.
    pub(super) fn fail<'h>(&self, message: &str, help: impl Into<Option<&'h str>>) -> ScenarioError {
        ScenarioError::at(self.file, self.source, self.place, message, help.into())
    }

    /// Refuses what does not hold.
    pub(super) fn ensure<'h>(
        &self,
        holds: bool,
        message: &str,
        help: impl Into<Option<&'h str>>,
    ) -> Result<(), ScenarioError> {
        if holds { Ok(()) } else { Err(self.fail(message, help)) }
    }

    /// Notes the name of a message, or of as many as are written. A name is given once.
    pub(super) fn give(&mut self, label: Option<&String>, count: Option<u32>) -> Result<(), ScenarioError> {
        let Some(label) = label else { return Ok(()) };
        let message = format!("a message is named `{label}` already");
        self.ensure(!self.messages.contains(label), &message, "choose another name")?;
        self.give_again(label, count);
        Ok(())
    }

    /// Notes the name of messages, which may have been given before.
    pub(super) fn give_again(&mut self, label: &String, count: Option<u32>) {
        self.messages.insert(label.clone());
        self.messages.extend((1..=count.unwrap_or(1)).map(|n| format!("{label}-{n}")));
    }

    /// Notes the names of calls.
    pub(super) fn give_calls<'n>(&mut self, labels: impl IntoIterator<Item = &'n String>) {
        self.calls.extend(labels.into_iter().cloned());
    }

    /// Notes the labels of the work that a call begins; that of a question to another agent is its prompt. They are those of the messages that bring its results.
    pub(super) fn give_jobs(&mut self, call: &Call) {
        let argument = |name: &str| call.args.as_ref().and_then(|args| args.get(name));
        let word = |name: &str| argument(name).and_then(Value::as_str);
        let label = match call.tool.as_str() {
            WORK_TOOL => word("label"),
            "ask" | "suggest" => word("prompt"),
            "explain" => word("command"),
            _ => None,
        };
        let count = argument("count").and_then(Value::as_u64).unwrap_or(1);
        match label {
            None => {}
            Some(label) if count == 1 => drop(self.messages.insert(label.to_owned())),
            Some(label) => self.messages.extend((1..=count).map(|n| format!("{label}-{n}"))),
        }
    }

    /// Whether a person has this name.
    pub(super) fn is_person(&self, name: &str) -> bool {
        self.people.contains(name)
    }

    /// Refuses names that no message has.
    pub(super) fn messages<'n>(
        &self,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<(), ScenarioError> {
        self.known("message", names, &self.messages)
    }

    /// Refuses names that no call has.
    pub(super) fn calls<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Result<(), ScenarioError> {
        self.known("call", names, &self.calls)
    }

    /// Refuses names that no session has.
    pub(super) fn sessions<'n>(
        &self,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<(), ScenarioError> {
        self.known("session", names, &self.sessions)
    }

    /// Refuses names that no person has.
    pub(super) fn people<'n>(
        &self,
        names: impl IntoIterator<Item = &'n String>,
    ) -> Result<(), ScenarioError> {
        self.known("person", names, &self.people)
    }

    /// Refuses names that no chat has.
    pub(super) fn chats<'n>(&self, names: impl IntoIterator<Item = &'n String>) -> Result<(), ScenarioError> {
        self.known("chat", names, &self.chats)
    }

    fn known<'n>(
        &self,
        what: &str,
        names: impl IntoIterator<Item = &'n String>,
        set: &BTreeSet<String>,
    ) -> Result<(), ScenarioError> {
        let Some(name) = names.into_iter().find(|name| !set.contains(*name)) else { return Ok(()) };
        let help = nearest(name, set.iter().map(String::as_str)).map_or_else(
            || format!("known: {}", set.iter().cloned().collect::<Vec<_>>().join(", ")),
            |best| format!("did you mean `{best}`?"),
        );
        Err(self.fail(&format!("no {what} is named `{name}`"), &*help))
    }
}
