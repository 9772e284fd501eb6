//! `entraclaw wait`: blocks until a message comes, prints it, and ends, because hosts wake their model when a
//! background shell ends. It must never poll a source, and never say that nobody wrote when no session
//! polled.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::text::NoticeView;
use super::{NoticeParts, take, trouble};
use crate::journal::{ConsumerName, Journal, JournalError, Look, Purpose, WATCHER};
use crate::rules::WaitCommand;
use crate::sessions::a_session_polls;
use entraclaw_seams::storage::Storage;

/// The exit code when the inbox could not be read.
pub const EXIT_FAILED: u8 = 1;
/// The exit code when the time was up.
pub const EXIT_NOTHING_CAME: u8 = 3;
/// The exit code when no session polls, so no message can come.
pub const EXIT_NOBODY_POLLS: u8 = 4;

/// How often the files are checked on a disk that gives no change notices.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// The same for a disk whose change notices may be incomplete.
const SPARE_LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The pause between two tries to note messages before they are shown.
const NOTE_RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// How often the command checks whether a session polls, and whether a session of the consumer has ended,
/// because no notice announces either.
const LIFE_LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// How long the command goes on without a polling session; a restarted host or server is back by then. A
/// model that is woken to learn that no session polls can only start the wait again, so it is told seldom.
const POLLER_GRACE: Duration = Duration::from_secs(600);

/// How messages are printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    /// Lines of text for a reader.
    #[default]
    Text,
    /// One line of JSON, [`NoticeView`].
    Json,
}

/// The arguments of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitAsk {
    /// The consumer whose messages are awaited; `None` for the consumer that was used last.
    pub consumer: Option<ConsumerName>,
    /// The longest wait.
    pub timeout: Duration,
    /// How the messages are printed.
    pub format: Format,
    /// The command that started the wait, which starts it again.
    pub command: WaitCommand,
}

/// The result of a wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// The text, for stdout when messages came, for stderr otherwise.
    pub text: String,
    /// The exit code: 0 when messages came, otherwise one of the `EXIT_` numbers.
    pub exit: u8,
}

impl Waited {
    fn without(text: impl Into<String>, exit: u8) -> Self {
        Self { text: text.into() + "\n", exit }
    }
}

/// Waits for messages. Only messages that it returns are noted as shown.
pub async fn wait(parts: NoticeParts, ask: WaitAsk) -> Waited {
    let Some(consumer) = ask.consumer.or_else(|| last_seen(&parts)) else {
        let example = ask.command.for_consumer("claude-code");
        let text =
            format!("nobody has read this inbox yet, so it is not clear for whom to wait; say it: {example}");
        return Waited::without(text, EXIT_FAILED);
    };
    let outcome = match parts.journal() {
        Ok(journal) => until_something(&parts, &journal, &consumer, Instant::now() + ask.timeout).await,
        Err(error) => Err(error),
    };
    let again = ask.command.for_consumer(consumer.as_str());
    match outcome {
        Ok(Ended::Messages(batch)) => {
            let next = format!(
                "Next: handle these and answer each where it was asked, naming its id in reply_to. Then run `{again}` in a \
                 background shell again, so that the next message wakes you. inbox_pull brings again, marked redelivered, \
                 what you have not answered."
            );
            let view = NoticeView::of(&consumer, &batch, &next);
            let text = match ask.format {
                Format::Text => view.text(),
                Format::Json => view.json(),
            };
            Waited { text, exit: 0 }
        }
        Ok(Ended::TimeUp) => Waited::without(
            format!("nobody wrote to {consumer} in this time; run `{again}` again to keep listening"),
            EXIT_NOTHING_CAME,
        ),
        Ok(Ended::NobodyPolls) => Waited::without(
            "no session has polled in this time, so no message can come; do not run this again by yourself: tell your \
             user that entraclaw has stopped, and to see `entraclaw status`",
            EXIT_NOBODY_POLLS,
        ),
        Err(error) => Waited::without(trouble(error), EXIT_FAILED),
    }
}

enum Ended {
    Messages(crate::journal::Batch),
    TimeUp,
    NobodyPolls,
}

async fn until_something(
    parts: &NoticeParts,
    journal: &Journal,
    consumer: &ConsumerName,
    deadline: Instant,
) -> Result<Ended, JournalError> {
    let mut changes = journal.changes();
    let mut orphans = parts.orphans(consumer);
    // No notice announces records that were written before `changes` began.
    journal.refresh()?;
    let mut poller_seen = Instant::now();
    let mut next_life_look = poller_seen;
    let mut was_polled = false;
    let mut take_at = Some(Instant::now());
    loop {
        let now = Instant::now();
        if take_at.is_some_and(|at| now >= at.min(deadline)) {
            take_at = match take(journal, consumer, "wait", Purpose::TellNew) {
                Ok(batch) if batch.items.is_empty() => None,
                Ok(batch) => return Ok(Ended::Messages(batch)),
                Err(JournalError::NotNoted) if now < deadline => Some(now + NOTE_RETRY_INTERVAL),
                Err(error) => return Err(error),
            };
        }
        if now >= deadline {
            // Without a polling session, the wait must say so, however short it was.
            let listened = was_polled || a_session_polls(&*parts.storage);
            return Ok(if listened { Ended::TimeUp } else { Ended::NobodyPolls });
        }
        if now >= next_life_look {
            next_life_look = now + LIFE_LOOK_INTERVAL;
            if orphans.any_untold()? {
                take_at = Some(now);
            }
            if a_session_polls(&*parts.storage) {
                poller_seen = now;
                was_polled = true;
            } else if now.duration_since(poller_seen) >= POLLER_GRACE {
                return Ok(Ended::NobodyPolls);
            }
        }
        let until = deadline.min(next_life_look).min(take_at.unwrap_or(deadline));
        match &mut changes {
            // A change notice and a timeout are both a reason to check.
            Some(changes) if changes.is_complete() => drop(timeout_at(until, changes.next()).await),
            Some(changes) => drop(timeout_at(until.min(now + SPARE_LOOK_INTERVAL), changes.next()).await),
            None => sleep_until(until.min(now + LOOK_INTERVAL)).await,
        }
        if journal.refresh()? {
            take_at = Some(Instant::now());
        }
    }
}

/// The consumer that was used last.
fn last_seen(parts: &NoticeParts) -> Option<ConsumerName> {
    let storage: std::sync::Arc<dyn Storage> = parts.storage.clone();
    Look::at(&storage).ok()?.last_seen(WATCHER)
}
