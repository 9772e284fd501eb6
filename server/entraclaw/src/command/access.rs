//! `entraclaw pair`, `allow`, `deny`, `forget` and `chat`: the operator's commands on the policy file.
//! Running servers notice the changes. It must never print a stranger's name as if it proved anything.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use jiff::Timestamp;

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place, open_home};
use entraclaw_inbox::gate::policy_file::{BROKEN_POLICY_FILE, Changed, PolicyError};
use entraclaw_inbox::gate::{ChatRule, Person, Policy, operator};
use entraclaw_inbox::journal::{Interaction, InteractionKind, Journal, JournalOptions};
use entraclaw_sanitize::clean_name;
use entraclaw_seams::clock::{Clock, SystemClock};
use entraclaw_seams::storage::{MemoryStorage, Storage};

/// Flags of `pair`.
#[derive(Debug, Args)]
pub(super) struct PairFlags {
    /// The six letters and digits that the person reads to you
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// Show the people who wait; codes are not shown, they come from the person
    #[arg(long, conflicts_with = "code")]
    list: bool,
    #[command(flatten)]
    home: Home,
}

/// Flags of `allow`.
#[derive(Debug, Args)]
pub(super) struct AllowFlags {
    /// TENANT_ID/OBJECT_ID, or a mail address
    #[arg(required_unless_present = "list")]
    person: Option<String>,
    /// A name to recognise the entry by; it proves nothing
    #[arg(long, requires = "person")]
    name: Option<String>,
    /// Show the policy: who is allowed, who is denied, and which chats have a rule
    #[arg(long, conflicts_with = "person")]
    list: bool,
    #[command(flatten)]
    home: Home,
}

/// Flags of `deny`.
#[derive(Debug, Args)]
pub(super) struct DenyFlags {
    /// TENANT_ID/OBJECT_ID, or a mail address
    person: String,
    /// A name to recognise the entry by; it proves nothing
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    home: Home,
}

/// Flags of `forget`.
#[derive(Debug, Args)]
pub(super) struct ForgetFlags {
    /// TENANT_ID/OBJECT_ID, or a mail address
    person: String,
    #[command(flatten)]
    home: Home,
}

/// Flags of `chat`.
#[derive(Debug, Args)]
pub(super) struct ChatFlags {
    /// The chat's id, as a message's `chat_id` has it
    chat_id: String,
    /// Which messages of allowed people reach the agent
    messages: Messages,
    #[command(flatten)]
    home: Home,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Messages {
    /// Every message
    All,
    /// In a group, only messages that mention the agent
    Mentioned,
    /// No message, and nothing is sent to the chat
    Off,
    /// What the configuration says
    Default,
}

/// A change or a list that the operator asks for.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Act {
    /// Let in the stranger who was given this code, or list the people who wait
    Pair(PairFlags),
    /// Let a person write to the agent, or list the people who may
    Allow(AllowFlags),
    /// Stop a person from writing to the agent, even if another entry allows it
    Deny(DenyFlags),
    /// Remove a person from both lists, as if they had never been on one
    Forget(ForgetFlags),
    /// Set which messages of one chat reach the agent
    Chat(ChatFlags),
}

impl Act {
    fn home(&self) -> Home {
        let home = match self {
            Self::Pair(flags) => &flags.home,
            Self::Allow(flags) => &flags.home,
            Self::Deny(flags) => &flags.home,
            Self::Forget(flags) => &flags.home,
            Self::Chat(flags) => &flags.home,
        };
        home.clone()
    }
}

/// Makes the change and prints the result.
pub(super) fn run(act: &Act) -> ExitCode {
    output::end(change(act))
}

fn change(act: &Act) -> Done {
    let storage = open(act.home())?;
    let mut text = perform(act, &storage, &(Arc::new(SystemClock) as Arc<dyn Clock>))?;
    text.push_str(&unheard(act));
    match anstream::stdout().write_all(text.as_bytes()) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(_) => Ok(ExitCode::FAILURE),
    }
}

/// A note that the source for which a person was let in is switched off.
fn unheard(act: &Act) -> String {
    let Act::Allow(AllowFlags { person: Some(person), home, .. }) = act else { return String::new() };
    let config = Place::find(Entry::Look, home.clone(), Vec::new(), &Environment::read()).config;
    match Person::parse(person) {
        Ok(person) if person.ids().is_none() && !config.mail.enabled => {
            "note: mail is switched off, so what they write is not read; set `mail.enabled = true` in config.toml\n"
                .to_owned()
        }
        _ => String::new(),
    }
}

fn open(home: Home) -> Result<Arc<dyn Storage>, String> {
    match open_home(Entry::Take, home, &Environment::read())? {
        Some(disk) => Ok(Arc::new(disk)),
        None => Ok(Arc::new(MemoryStorage::new())),
    }
}

/// Makes the change; returns the text to print, or the problem.
pub(super) fn perform(
    act: &Act,
    storage: &Arc<dyn Storage>,
    clock: &Arc<dyn Clock>,
) -> Result<String, String> {
    let (disk, now) = (&**storage, clock.now());
    let note = |person: Option<&Person>, detail: String| log(storage, clock, person, detail);
    let mut text = String::new();
    match act {
        Act::Pair(PairFlags { code: None, .. }) => waiting(&mut text, &operator::read(disk)?, now),
        Act::Pair(PairFlags { code: Some(code), .. }) => {
            let outcome = settled(&mut text, operator::pair(disk, code, now))?;
            let person = outcome.map_err(|error| {
                note(None, format!("a pairing code was refused: {}", error.kind()));
                error.to_string()
            })?;
            note(Some(&person), "was paired in the terminal".to_owned());
            let _ = writeln!(text, "paired: {person} may speak to the agent from now on");
            describe(&mut text, &person);
        }
        Act::Allow(AllowFlags { person: None, .. }) => listed(&mut text, &operator::read(disk)?),
        Act::Allow(AllowFlags { person: Some(person), name, .. }) => {
            let person = Person::parse(person)?;
            let person = settled(
                &mut text,
                operator::allow(disk, &person, name.as_deref().map(clean_name).as_deref(), now),
            )?;
            note(Some(&person), "was allowed in the terminal".to_owned());
            let _ = writeln!(text, "allowed: {person} may speak to the agent from now on");
        }
        Act::Deny(flags) => {
            let person = Person::parse(&flags.person)?;
            let person = settled(
                &mut text,
                operator::deny(disk, &person, flags.name.as_deref().map(clean_name).as_deref()),
            )?;
            note(Some(&person), "was denied in the terminal".to_owned());
            let _ = writeln!(text, "denied: {person} is not heard, and not written to, from now on");
            let other = match (person.ids(), &person.mail) {
                (Some(_), None) => "a mail address of theirs",
                (None, Some(_)) => "an account of theirs",
                _ => return Ok(text),
            };
            let _ = writeln!(
                text,
                "{other} is denied with it only where one entry names both; deny it too if it is listed by itself"
            );
        }
        Act::Forget(flags) => {
            let person = Person::parse(&flags.person)?;
            let (allowed, denied) = settled(&mut text, operator::forget(disk, &person))?;
            if !allowed && !denied {
                return Err(format!(
                    "{person} is on no list of the policy; see `entraclaw allow --list`, and [[allow]] in config.toml"
                ));
            }
            note(Some(&person), "was forgotten in the terminal".to_owned());
            let was = if allowed { "allowed" } else { "denied" };
            let _ = writeln!(
                text,
                "forgotten: {person} was {was}, and is on no list now; who is in the configuration's [[allow]] is heard, \
                 others are not"
            );
        }
        Act::Chat(ChatFlags { chat_id, messages, .. }) => {
            if chat_id.trim().is_empty() || chat_id.contains(char::is_whitespace) {
                return Err(format!("{chat_id:?} is no chat id; copy the `chat_id` of a message"));
            }
            let rule = match messages {
                Messages::All => Some(ChatRule::All),
                Messages::Mentioned => Some(ChatRule::Mentioned),
                Messages::Off => Some(ChatRule::Off),
                Messages::Default => None,
            };
            settled(&mut text, operator::set_chat(disk, chat_id, rule))?;
            let word = word(*messages);
            note(None, format!("chat {chat_id} was set to {word} in the terminal"));
            let _ = writeln!(text, "chat {chat_id}: {word}");
        }
    }
    Ok(text)
}

fn word(messages: Messages) -> String {
    messages.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// The outcome of a change; adds a warning if the file was broken before.
fn settled<T>(text: &mut String, changed: Result<Changed<T>, PolicyError>) -> Result<T, String> {
    let Changed { outcome, was_broken } = changed.map_err(|error| error.to_string())?;
    if let Some(problem) = was_broken {
        let _ = writeln!(
            text,
            "warning: policy.json was broken ({problem}); it is kept as {BROKEN_POLICY_FILE}, and whom it allowed or denied has to be entered again"
        );
    }
    Ok(outcome)
}

fn describe(text: &mut String, person: &Person) {
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            let _ = writeln!(text, "  {name:<10} {value}");
        }
    };
    line("tenant id", person.tenant_id.as_ref().map(ToString::to_string));
    line("object id", person.object_id.as_ref().map(ToString::to_string));
    line("mail", person.mail.clone());
    line(
        "name",
        person.name.as_ref().map(|name| format!("{name} (unverified: a person can choose any name)")),
    );
    line("since", person.since.map(|since| since.to_string()));
}

fn waiting(text: &mut String, policy: &Policy, now: Timestamp) {
    let waiting = operator::waiting(policy, now);
    if waiting.is_empty() {
        text.push_str("no person waits to be paired\n");
    }
    for pending in waiting {
        let _ = writeln!(text, "{}/{}", pending.tenant_id, pending.object_id);
        let asked = Person { name: pending.name.clone(), ..Person::default() };
        describe(text, &asked);
        let _ = writeln!(text, "  {:<10} {}", "asked at", pending.asked_at);
    }
}

fn listed(text: &mut String, policy: &Policy) {
    for (title, people) in [("allowed", &policy.allow), ("denied", &policy.deny)] {
        let _ = writeln!(text, "{title} by the policy: {}", people.len());
        for person in people {
            let name = person.name.as_ref().map(|name| format!("  {name} (unverified)")).unwrap_or_default();
            let _ = writeln!(text, "  {person}{name}");
        }
    }
    for (chat_id, rule) in &policy.chats {
        let rule = match rule {
            ChatRule::All => "all",
            ChatRule::Mentioned => "mentioned",
            ChatRule::Off => "off",
        };
        let _ = writeln!(text, "chat {chat_id}: {rule}");
    }
    text.push_str("people of the configuration's [[allow]] may speak too, unless they are denied\n");
}

/// Writes to the interaction log, as a session that follows. A failure changes nothing else.
fn log(storage: &Arc<dyn Storage>, clock: &Arc<dyn Clock>, person: Option<&Person>, detail: String) {
    let options = JournalOptions { may_lead: false, ..JournalOptions::default() };
    if let Ok((journal, _)) = Journal::open(storage.clone(), clock.clone(), options) {
        journal.interaction(Interaction {
            who: person.map(ToString::to_string),
            ..Interaction::new(InteractionKind::Access).detail(detail)
        });
    }
}
