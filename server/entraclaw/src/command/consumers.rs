//! `entraclaw consumers`: lists the consumers of the inbox, and removes one that is not needed.
//! It must never remove a consumer that a session or a command reads as.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions, Look, Removed};
use entraclaw_inbox::notice::reader;
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_session::status::amount::{ago, counted};
use entraclaw_session::status::{ConsumerLine, gather};

const EXAMPLE: &str = "\
Examples:
  entraclaw consumers                        who reads, how much waits for each, and when it was there last
  entraclaw consumers remove claude-cod      forget one that a mistyped name has made
A consumer that is gone holds no old messages back; one that comes again by its name begins anew, with what comes from then on.
Exit codes: 0 done, 1 not done, and why, 2 wrong usage.";

/// Flags of `consumers`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE, args_conflicts_with_subcommands = true)]
pub(super) struct Flags {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    list: ListFlags,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Show all consumers
    List(ListFlags),
    /// Remove a consumer and its cursor for good
    Remove(RemoveFlags),
}

#[derive(Debug, Args)]
struct ListFlags {
    #[command(flatten)]
    home: Home,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct RemoveFlags {
    /// The name of the consumer, as the list shows it
    name: ConsumerName,
    #[command(flatten)]
    home: Home,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(match flags.act {
        None => list(flags.list),
        Some(Act::List(flags)) => list(flags),
        Some(Act::Remove(flags)) => remove(flags),
    })
}

fn list(flags: ListFlags) -> Done {
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &Environment::read()).usable()?;
    let now = SystemClock.now();
    let idle_days = place.config.retention.consumer_idle_days;
    let report = gather(&place.storage(), &place.home_text(), now, idle_days);
    if let Some(error) = &report.journal.error {
        return Err(output::unreadable(error).into());
    }
    if flags.json {
        return Ok(output::json(&report.consumers, ExitCode::SUCCESS));
    }
    if report.consumers.is_empty() {
        let none = "No consumer has read this inbox yet; the first session of a host makes one.\n";
        return Ok(output::text(none, ExitCode::SUCCESS));
    }
    let width = report.consumers.iter().map(|line| line.name.len()).max().unwrap_or_default();
    let mut out = String::new();
    for line in &report.consumers {
        let unread = counted(line.unread, "unread message");
        let _ = writeln!(out, "{:width$}  {unread}, {}", line.name, whereabouts(line, now));
    }
    Ok(output::text(&out, ExitCode::SUCCESS))
}

fn whereabouts(line: &ConsumerLine, now: jiff::Timestamp) -> String {
    match (line.sessions, &line.seen_at) {
        (sessions @ 1.., _) => counted(sessions, "session") + " now",
        (0, Some(at)) if line.idle => format!("there {} ago, so it holds nothing back", ago(at, now)),
        (0, Some(at)) => format!("there {} ago", ago(at, now)),
        (0, None) => "it is unknown when it was there".to_owned(),
    }
}

fn remove(flags: RemoveFlags) -> Done {
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &Environment::read()).usable()?;
    let name = flags.name;
    let storage = place.storage();
    let failed = |error: &dyn std::fmt::Display| format!("{name} was not removed: {error}");
    let names = Look::at(&storage).map_err(|error| failed(&error))?.consumers();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    if !names.iter().any(|known| known == name.as_str()) {
        return Err(reader::unknown(&name, &names).into());
    }
    let options = JournalOptions { may_lead: false, ..JournalOptions::default() };
    let (journal, _) =
        Journal::open(storage, Arc::new(SystemClock), options).map_err(|error| failed(&error))?;
    match journal.remove_consumer(&name).map_err(|error| failed(&error))? {
        Removed::Gone => {
            let text = format!("removed: {name}; a session with this name begins anew\n");
            Ok(output::text(&text, ExitCode::SUCCESS))
        }
        Removed::Unknown => Err(reader::unknown(&name, &names).into()),
        Removed::Used => Err(format!(
            "{name} was not removed, because a session or a command reads as it; end it first (`entraclaw status` shows which)"
        )
        .into()),
    }
}
