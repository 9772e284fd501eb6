//! `entraclaw status`: reports from files alone, without asking the network or a running session.
//! It must never change anything.

use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;

use super::environment::Environment;
use super::local_model;
use super::output;
use super::place::{Entry, Home, Place};
use super::setup::unattended;
use entraclaw_inbox::gate::operator;
use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::stores::{Depth, Library};
use entraclaw_microsoft::entra::Auth;
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_session::status::{MemorySummary, Report, gather, judge, show};

const EXAMPLE: &str = "\
Example: entraclaw status --json | jq '.consumers[] | {name, unread}'
Exit codes: 0 healthy, 1 something is wrong, 2 wrong usage.";

/// Flags of `status`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    let environment = Environment::read();
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &environment);
    let now = SystemClock.now();
    let mut report = report(&place, now);
    let library = Library::new(Arc::new(DiskFiles), environment.context("").homes);
    let nothing = Depth { files_max: 0, bytes_max: 0 };
    report.memory = MemorySummary::of(&*place.storage(), &library, nothing).map(|(memory, _)| memory);
    let code = if report.healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if flags.json { output::json(&report, code) } else { output::text(&show::human(&report, now), code) }
}

fn report(place: &Place, now: Timestamp) -> Report {
    let idle_days = place.config.retention.consumer_idle_days;
    let mut report = gather(&place.storage(), &place.home_text(), now, idle_days);
    let mut troubles = place.troubles();
    let read_only = place.disk.as_ref().and_then(|disk| disk.health().read_only);
    troubles.extend(read_only.map(|why| {
        format!(
            "{} can't be written: {why}; make it writable for you, or set ENTRACLAW_HOME to a folder that is",
            place.home_text()
        )
    }));
    troubles.extend(place.unmakeable());
    troubles.extend(place.folder_troubles());
    // A running session has its sign-in from its host, which this command can't see.
    let runs = report.sessions.iter().any(|session| session.alive);
    if !runs && troubles.is_empty() && place.config.auth == Auth::None && !place.config.bot.enabled {
        troubles.push(
            "there is no sign-in in this environment; set `auth.mode` in config.toml and run `entraclaw login`, or set \
             ENTRACLAW_AUTH=static and ENTRACLAW_ACCESS_TOKEN, here or in the host's configuration"
                .to_owned(),
        );
    }
    if !runs && place.config_trouble.is_empty() {
        troubles.extend(place.not_signed_in());
    }
    troubles.extend(operator::read(&*place.storage()).err());
    judge::judge(&mut report, &troubles, now);
    report.notes.extend(place.disk.iter().flat_map(|disk| unattended(disk, &place.config.wake_ups)));
    report.notes.extend(local_model::note(place));
    if let Some(file) = operator::kept_aside(&*place.storage()) {
        report.notes.push(format!(
            "a broken policy is kept aside as {file}; repair it and put it back, or delete it"
        ));
    }
    report
}
