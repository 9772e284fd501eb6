//! `entraclaw hook HOST EVENT`: run by a host, not by a person.
//! It must never exit with anything but 0, nor write to stdout what is not the host's form.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

use super::environment::Environment;
use super::output;
use super::place::{Entry, Home, Place};
use crate::clock::SystemClock;
use crate::journal::ConsumerName;
use crate::notice::{self, HookAsk, NoticeParts};

/// A host's JSON is read up to here; only its small members matter.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

const EXAMPLE: &str = "\
Example: echo '{}' | entraclaw hook claude-code Stop
Silent unless somebody wrote. Messages that are shown stay unread: the next inbox_pull brings them again, marked, unless \
they were answered.
Exit code: always 0, so that no host is held up; what went wrong is on stderr.";

/// Flags of `hook`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// The host: claude-code, copilot-cli, codex, gemini-cli or qwen-code
    host: String,
    /// The event, as the host names it
    event: String,
    /// Whose messages [default: the host's]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
}

pub(super) fn run(flags: &Flags) -> ExitCode {
    let place = Place::find(Entry::Look, flags.home.clone(), Vec::new(), &Environment::read());
    if let Some(trouble) = place.home_trouble {
        return output::complain(&trouble, ExitCode::SUCCESS);
    }
    // Without a home folder nobody can have written.
    let Some(disk) = place.disk else { return ExitCode::SUCCESS };
    let consumer = match flags.consumer.as_deref().map(ConsumerName::new).transpose() {
        Ok(consumer) => consumer.or(place.config.inbox.consumer),
        Err(error) => return output::complain(&format!("--consumer: {error}"), ExitCode::SUCCESS),
    };
    let mut stdin = Vec::new();
    // Half of it is as good as none.
    let _ = std::io::stdin().lock().take(STDIN_BYTES_MAX).read_to_end(&mut stdin);
    let stdin = String::from_utf8_lossy(&stdin);
    let parts = NoticeParts { storage: Arc::new(disk), clock: Arc::new(SystemClock) };
    let ask = HookAsk { host: &flags.host, event: &flags.event, stdin: &stdin, consumer: consumer.as_ref() };
    let hooked = notice::hook(&parts, ask);
    if let Some(trouble) = hooked.trouble {
        return output::complain(&trouble, ExitCode::SUCCESS);
    }
    output::text(&hooked.answer, ExitCode::SUCCESS)
}
