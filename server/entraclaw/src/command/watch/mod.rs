//! `entraclaw watch`: prints a line for each message in a terminal beside the agent.
//! It must never take a message from an agent, poll, or touch the network.

mod follower;
mod line;
mod pollers;
mod screen;
mod toast;

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;

use self::follower::Follower;
use self::line::{Frame, line};
use self::pollers::Pollers;
use self::screen::{End, Screen, Tone};
use self::toast::Toaster;
use super::environment::Environment;
use super::output::{self, Done, usage};
use super::place::{Entry, Home, Place};
use super::serve::asked_to_stop;
use entraclaw_inbox::journal::{ConsumerName, WATCHER};
use entraclaw_inbox::record::{Channel, Record};
use entraclaw_mcp::hosts::HOSTS;
use entraclaw_sanitize::clean_line;
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_seams::storage::Storage;
use entraclaw_session::status::amount::counted;
use entraclaw_session::status::gather_sessions;

/// How often the journal is read: half the time that a person may wait for a line.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Every so many looks, which is every two seconds, it checks which session polls.
const POLLERS_LOOKS: u64 = 8;

const EXAMPLE: &str = "\
Example: entraclaw watch --teams --toast
Messages go to stdout, everything else to stderr.
Exit codes: 0 ended by Ctrl-C or by the reader of its output, 1 the messages can't be read or written, 2 wrong usage.";

/// Flags of `watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// Print only messages, no notes about them
    #[arg(long)]
    quiet: bool,
    /// Only Teams; with --email or --bot these too
    #[arg(long)]
    teams: bool,
    /// Only mail
    #[arg(long)]
    email: bool,
    /// Only the bot's messages
    #[arg(long)]
    bot: bool,
    /// Notify the desktop too, where there is one
    #[arg(long)]
    toast: bool,
    /// The consumer whose cursor is kept; never an agent's
    #[arg(long, value_name = "NAME", default_value = WATCHER)]
    consumer: String,
}

impl Flags {
    /// The wanted channels; an empty list means all.
    fn channels(&self) -> Vec<Channel> {
        let flags = [(self.teams, Channel::Teams), (self.email, Channel::Email), (self.bot, Channel::Bot)];
        flags.into_iter().filter(|(wanted, _)| *wanted).map(|(_, channel)| channel).collect()
    }
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(watch(flags))
}

fn watch(flags: Flags) -> Done {
    let consumer =
        ConsumerName::new(&flags.consumer).map_err(|error| usage(format!("--consumer: {error}")))?;
    let channels = flags.channels();
    let place = Place::find(Entry::Take, flags.home, Vec::new(), &Environment::read()).usable()?;
    if let Some(problem) = belongs_to_an_agent(&consumer, &place) {
        return Err(usage(problem));
    }
    let storage = place.storage();
    let follower = Follower::open(storage.clone(), Arc::new(SystemClock), &consumer, &channels);
    let follower = follower.map_err(output::unreadable)?;
    let runtime = output::runtime()?;
    let only: Vec<&str> = channels.iter().map(|channel| channel.as_str()).collect();
    let only = if only.is_empty() { String::new() } else { format!(", only {}", only.join(" and ")) };
    let home = clean_line(&place.home_text());
    let header = format!("watching {home} as {consumer}{only}; Ctrl-C ends it");
    let watch = Watch {
        follower,
        pollers: Pollers::new(home, place.config_trouble.clone()),
        storage,
        toaster: flags.toast.then(Toaster::default),
        zone: TimeZone::system(),
        complaint: None,
    };
    let code = runtime.block_on(async {
        let mut screen = Screen::new(flags.quiet, asked_to_stop());
        match watch.run(&mut screen, &header).await {
            Err(End::Asked) => {
                screen.end();
                ExitCode::SUCCESS
            }
            Err(End::Closed) => ExitCode::SUCCESS,
            Err(End::Failed(problem)) => output::complain(&problem, ExitCode::FAILURE),
        }
    });
    // A thread may still wait in a write to a reader that does not read.
    runtime.shutdown_background();
    Ok(code)
}

/// Refuses an agent's consumer: reading with its cursor would take its messages.
fn belongs_to_an_agent(consumer: &ConsumerName, place: &Place) -> Option<String> {
    let name = consumer.as_str();
    let sessions = gather_sessions(&*place.storage(), "", SystemClock.now()).sessions;
    let reads = sessions.iter().filter(|session| session.alive).flat_map(|session| &session.file.consumers);
    let taken = place.config.inbox.consumer.as_ref() == Some(consumer)
        || HOSTS.iter().any(|host| host.family == name)
        || reads.into_iter().any(|reader| reader == name);
    taken.then(|| {
        format!(
            "--consumer: {name} is an agent's, which would lose its messages; leave the flag out or choose another name"
        )
    })
}

/// The state of a running `watch`.
struct Watch {
    follower: Follower,
    pollers: Pollers,
    storage: Arc<dyn Storage>,
    toaster: Option<Toaster>,
    zone: TimeZone,
    /// The problem with the journal that was last shown.
    complaint: Option<String>,
}

impl Watch {
    async fn run(mut self, screen: &mut Screen, header: &str) -> Result<Infallible, End> {
        // Signals are handled from here on, before any output shows that it runs.
        screen.rest(Duration::ZERO).await?;
        screen.note(Tone::Aside, header).await?;
        screen
            .note(Tone::Aside, "if your agent does not react to a line, tell it to check its inbox")
            .await?;
        self.tell_who_polls(screen).await?;
        self.show_backlog(screen).await?;
        let mut looks: u64 = 0;
        loop {
            screen.rest(LOOK_EVERY).await?;
            looks += 1;
            self.show_news(screen).await?;
            if looks.is_multiple_of(POLLERS_LOOKS) {
                self.tell_who_polls(screen).await?;
            }
            if let Some(toaster) = &mut self.toaster
                && let Some(trouble) = toaster.trouble().await
            {
                screen.note(Tone::Bad, &trouble).await?;
            }
        }
    }

    async fn tell_who_polls(&mut self, screen: &mut Screen) -> Result<(), End> {
        let Some(news) = self.pollers.look(&*self.storage, SystemClock.now()) else { return Ok(()) };
        if let Some(polls) = news.polls {
            screen.note(Tone::Good, &polls).await?;
        }
        for line in news.wrong {
            screen.note(Tone::Bad, &line).await?;
        }
        Ok(())
    }

    async fn show_backlog(&mut self, screen: &mut Screen) -> Result<(), End> {
        let backlog = match self.follower.backlog() {
            Ok(backlog) => backlog,
            Err(error) => return self.complain(screen, Some(error.to_string())).await,
        };
        let shown = backlog.newest.len() as u64;
        if shown > 0 {
            let came = counted(shown + backlog.left_out, "message");
            let what = match backlog.left_out {
                0 => format!("{came} came meanwhile"),
                left => format!("{came} came meanwhile; the newest {shown}, {left} left out"),
            };
            screen.note(Tone::Aside, &what).await?;
            self.print(screen, &backlog.newest).await?;
        }
        Ok(())
    }

    async fn show_news(&mut self, screen: &mut Screen) -> Result<(), End> {
        loop {
            let records = match self.follower.news() {
                Ok(records) => records,
                Err(error) => return self.complain(screen, Some(error.to_string())).await,
            };
            if records.is_empty() {
                break;
            }
            if let Some(toaster) = &mut self.toaster {
                toaster.show(&records);
            }
            self.print(screen, &records).await?;
        }
        // A failed acknowledgement is repeated at every look.
        let owed = self.follower.printed().err().map(|error| error.to_string());
        self.complain(screen, owed).await
    }

    async fn print(&mut self, screen: &mut Screen, records: &[Record]) -> Result<(), End> {
        let frame = Frame { zone: self.zone.clone(), now: SystemClock.now(), columns: Screen::columns() };
        for record in records {
            screen.line(line(record, &frame)).await?;
        }
        let owed = self.follower.printed().err().map(|error| error.to_string());
        self.complain(screen, owed).await
    }

    /// Shows the problem with the journal when it changes.
    async fn complain(&mut self, screen: &mut Screen, trouble: Option<String>) -> Result<(), End> {
        if self.complaint == trouble {
            return Ok(());
        }
        self.complaint.clone_from(&trouble);
        match trouble {
            Some(trouble) => screen.note(Tone::Bad, &clean_line(&output::unreadable(trouble))).await,
            None => screen.note(Tone::Good, "the journal can be read again").await,
        }
    }
}
