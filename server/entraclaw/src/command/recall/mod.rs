//! `entraclaw recall`: finds what was said to any agent on this machine.
//!
//! From the ground up: `since` reads a moment, `progress` shows how far the reading of sessions is, `view` is the answer as a
//! document, `show` as lines, `whole` one session from its beginning to its end, `forget` the way to find something never
//! again. It must never write into an agent's store, nor show a secret.

mod forget;
mod progress;
mod show;
mod since;
mod view;
mod whole;

use std::process::ExitCode;
use std::sync::Arc;

use entraclaw_memory::files::DiskFiles;
use entraclaw_memory::provider::INDEX;
use entraclaw_memory::search::{Filter, Memory, MemoryParts};
use entraclaw_memory::stores::{Agent, Library};
use entraclaw_seams::clock::{Clock as _, SystemClock};
use jiff::tz::TimeZone;

use super::environment::Environment;
use super::output::{self, Done, usage};
use super::place::{Entry, Home, Place};
use entraclaw_session::app::ContextSeams;
use progress::Bar;
pub use view::{Recalled, RecalledSession};

/// Most sessions that are shown.
const LIMIT_MAX: u16 = 200;
/// So many new messages are committed, so that the next search need not read them again.
const COMMITTED: usize = 50;

const EXAMPLE: &str = "\
Example: entraclaw recall \"why did we drop redis\" --since 30d
Words between quotes must stand together: entraclaw recall '\"file lock\"'
Never find it again: entraclaw recall --forget words \"project falcon\", then the same with --yes
Exit codes: 0 searched, also if nothing was found; 1 the sessions can't be searched; 2 wrong usage.";

/// Flags of `recall`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// The words to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(Agent::ALL.map(Agent::as_str)))]
    agent: Option<String>,
    /// Only what was said since then: a day (2026-11-01), a moment (RFC 3339), or how long ago (12h, 30d, 6mo)
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Most sessions to show
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=i64::from(LIMIT_MAX)))]
    limit: u16,
    /// Show the whole session of the best answer, or of the Nth, on a terminal page by page
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", conflicts_with = "json", value_parser = clap::value_parser!(u16).range(1..=i64::from(LIMIT_MAX)))]
    open: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Never find again what QUERY stands for; without --yes it only shows what would go
    #[arg(long, value_name = "WHAT", conflicts_with_all = ["json", "open", "since"])]
    forget: Option<forget::What>,
    /// Forget it, and do not only show it
    #[arg(long, requires = "forget")]
    yes: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(recall(flags))
}

fn recall(flags: Flags) -> Done {
    let query = flags.query.join(" ");
    if !query.contains(char::is_alphanumeric) {
        return Err(usage(
            "the query holds no word; name what was said, such as `entraclaw recall \"drop redis\"`",
        ));
    }
    let now = SystemClock.now();
    let since = flags.since.as_deref().map(|text| since::read(text, &now.to_zoned(TimeZone::system())));
    let since = since.transpose().map_err(usage)?;
    let environment = Environment::read();
    let place = Place::find(Entry::Take, flags.home, Vec::new(), &environment).usable()?;
    let ContextSeams { homes, index, cwd, .. } = environment.context(&place.home_text());
    let storage = place.storage();
    storage.create_dir(INDEX).map_err(|error| super::place::unusable(&error))?;
    let files = Arc::new(DiskFiles);
    let parts = MemoryParts {
        storage,
        files: files.clone(),
        homes: homes.clone(),
        clock: Arc::new(SystemClock),
        index,
        meanings: place.config.context.meanings.clone(),
    };
    let mut memory = Memory::open(parts).map_err(|error| error.to_string())?;
    let bar = Bar::default();
    let refreshed = memory.refresh_telling(&|progress| bar.tell(progress));
    drop(bar);
    let refreshed = refreshed.map_err(|error| error.to_string())?;
    let agent = flags.agent.as_deref().and_then(Agent::by_name);
    if let Some(what) = flags.forget {
        let wish = forget::Wish { what, query: &query, agent, cwd: &cwd };
        return Ok(output::text(&forget::forget(&mut memory, &wish, flags.yes)?, ExitCode::SUCCESS));
    }
    let filter = Filter { agent, since, ..Filter::default() };
    let limit = usize::from(flags.limit.max(flags.open.unwrap_or(0)));
    let answer = memory.search(&query, &filter, limit).map_err(|error| error.to_string())?;
    let mut library = Library::new(files, homes);
    let recalled = view::recalled(&query, &answer, &library, refreshed.troubles.len());
    let code = if flags.json {
        output::json(&recalled, ExitCode::SUCCESS)
    } else if let Some(nth) = flags.open {
        whole::open(&mut library, &recalled, nth, environment.program("less").as_deref())?
    } else {
        output::text(&show::human(&recalled, now), ExitCode::SUCCESS)
    };
    if refreshed.messages >= COMMITTED {
        // What could not be committed is read again by the next search.
        let _ = memory.flush();
    }
    Ok(code)
}
