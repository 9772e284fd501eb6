//! `entraclaw wait`: waits in the background shell of an agent, whose host wakes it when the shell ends.
//! It must never print anything to stdout but messages.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use super::output::{self, Done, Failure};
use super::place::{Entry, Home, Place};
use super::waiter;
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::notice::{self, NoticeParts, WaitAsk};
use entraclaw_inbox::rules::WaitCommand;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::Storage;
use entraclaw_session::config::duration;

/// The text after the example, for both programs.
macro_rules! to_know {
    () => {
        "Messages that are printed stay unread: the agent's next inbox_pull brings them again, marked, unless it has answered them.
Exit codes: 0 messages came, 1 the inbox can't be read, 2 wrong usage, 3 no message came in this time, 4 no session has polled for ten minutes, or in all of a shorter wait."
    };
}

const EXAMPLE: &str = concat!("Example: entraclaw wait --consumer claude-code --timeout 8h\n", to_know!());

/// The example of the program that can only wait.
pub(super) const EXAMPLE_OF_PROGRAM: &str = concat!(
    "Example: entraclaw-wait --consumer claude-code --timeout 8h\n",
    "`entraclaw wait` is the same, in a program that can do more.\n",
    to_know!()
);

/// Flags of `wait`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// The consumer whose messages are printed [default: the one that was there last]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Longest wait: a number with ms, s, m or h
    #[arg(long, value_name = "TIME", default_value = "8h", value_parser = time)]
    timeout: Duration,
    /// How messages are printed
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Clone, Copy, Default, clap::ValueEnum)]
enum Format {
    /// Lines for a reader
    #[default]
    Text,
    /// One JSON document on one line
    Json,
}

fn time(text: &str) -> Result<Duration, String> {
    duration::parse(text)
        .ok_or_else(|| "expected a number with ms, s, m or h, as in 30m, at most 30 days".to_owned())
}

/// Parses the words of a wait command after the program's name: the home folder, and the rest. For the simulation, which
/// has no shell.
pub(super) fn read(words: &[&str], command: WaitCommand) -> Result<(Option<PathBuf>, WaitAsk), String> {
    #[derive(clap::Parser)]
    #[command(name = "entraclaw-wait")]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }
    let typed = std::iter::once("entraclaw-wait").chain(words.iter().copied());
    let Line { flags } = <Line as clap::Parser>::try_parse_from(typed).map_err(|error| error.to_string())?;
    let consumer = flags.consumer.as_deref().map(ConsumerName::new).transpose();
    let consumer = consumer.map_err(|error| error.to_string())?;
    let ask = WaitAsk { consumer, timeout: flags.timeout, format: flags.format.into(), command };
    Ok((flags.home.given(), ask))
}

impl From<Format> for notice::Format {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
        }
    }
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(wait(flags))
}

fn wait(flags: Flags) -> Done {
    let environment = Environment::read();
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &environment);
    let command = waiter::command(place.home.as_deref(), &environment);
    let consumer = place.consumer(flags.consumer.as_deref())?;
    let place = place.usable()?;
    let Some(disk) = place.disk.clone() else {
        return Err(
            "there is no home folder yet; start a session of a host with entraclaw in it first".into()
        );
    };
    let storage: Arc<dyn Storage> = Arc::new(disk);
    place.check_waiting(&storage, consumer.as_ref())?;
    let parts = NoticeParts { storage, clock: Arc::new(SystemClock) };
    let ask = WaitAsk { consumer, timeout: flags.timeout, format: flags.format.into(), command };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let waited = runtime.block_on(notice::wait(parts, ask));
    match waited.exit {
        0 => Ok(output::text(&waited.text, ExitCode::SUCCESS)),
        exit => Err(Failure { code: ExitCode::from(exit), problem: waited.text.trim_end().to_owned() }),
    }
}
