//! `entraclaw hook HOST EVENT`: a host runs it, not a person.
//! It must never exit with anything but 0, nor write to stdout what is not in the host's format. With `--wake` it may also
//! exit with 2, which wakes the host's model with the text on stderr; so it must write nothing else there.

use std::io::{IsTerminal as _, Read};
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::time::Instant;

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use super::{host_process, waiter};
use crate::setup::{APPROVAL_EVENT, Approval, Host};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::notice::{self, EXIT_WAKES, HookAsk, NoticeParts, WakingAsk};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::{Random as _, SplitMix};
use entraclaw_seams::storage::Storage;

/// Most bytes of a host's JSON that are read; only its small members matter.
const STDIN_BYTES_MAX: u64 = 1024 * 1024;

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long a host may take to write its JSON.
const STDIN_WAIT: Duration = Duration::from_secs(2);

const EXAMPLE: &str = "\
Example: echo '{}' | entraclaw hook claude-code Stop
Silent unless a message waits. Messages that are shown stay unread: the next inbox_pull brings them again, marked, unless \
they were answered.
Exit code: always 0, so that no host is held up; what went wrong is on stderr. With --wake 2 when there is something to tell, \
which is on stderr and starts a turn of Claude Code's.";

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
    /// The consumer whose messages are shown [default: the host's]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Wait beside the idle session and wake it: for a hook with `asyncRewake` of Claude Code
    #[arg(long)]
    wake: bool,
    /// Wait even if the session has an inbox socket, because the server does not use it
    #[arg(long, requires = "wake")]
    without_socket: bool,
    /// For the event in which a host asks whether a tool may run: also approve the tools that send an answer
    #[arg(long)]
    allow_answers: bool,
}

pub(super) fn run(flags: &Flags) -> ExitCode {
    answer(flags).unwrap_or_else(|failure| output::complain(&failure.problem, ExitCode::SUCCESS))
}

fn answer(flags: &Flags) -> Done {
    let environment = Environment::read();
    if flags.host == Host::CopilotCli.name() && flags.event == APPROVAL_EVENT {
        return Ok(approve(flags, &environment));
    }
    let place = Place::find(Entry::Look, flags.home.clone(), Vec::new(), &environment).usable()?;
    // Without a home folder there can be no message.
    let Some(disk) = place.disk.clone() else { return Ok(ExitCode::SUCCESS) };
    let consumer = place.consumer(flags.consumer.as_deref())?;
    let storage: Arc<dyn Storage> = Arc::new(disk);
    place.check_waiting(&storage, consumer.as_ref())?;
    let parts = NoticeParts { storage, clock: Arc::new(SystemClock) };
    if flags.wake {
        let wake_ups = &place.config.wake_ups;
        let uses_socket = wake_ups.inbox_socket && !flags.without_socket;
        return Ok(if wake_ups.waking_hook {
            wake(flags, &environment, &parts, consumer.as_ref(), uses_socket)
        } else {
            ExitCode::SUCCESS
        });
    }
    let stdin = what_is_told();
    let stdin = String::from_utf8_lossy(&stdin);
    let process = host_process::find();
    let ask = HookAsk {
        host: &flags.host,
        event: &flags.event,
        stdin: &stdin,
        consumer: consumer.as_ref(),
        process: process.as_deref(),
    };
    let hooked = notice::hook(&parts, ask);
    match hooked.trouble {
        Some(trouble) => Err(trouble.into()),
        None => Ok(output::text(&hooked.answer, ExitCode::SUCCESS)),
    }
}

/// Waits beside the session. No error is printed, because stderr is for the model.
fn wake(
    flags: &Flags,
    environment: &Environment,
    parts: &NoticeParts,
    consumer: Option<&ConsumerName>,
    uses_socket: bool,
) -> ExitCode {
    let Some(process) = host_process::find() else { return ExitCode::SUCCESS };
    let ask = WakingAsk {
        host: &flags.host,
        consumer,
        variables: &environment.hooks,
        uses_socket,
        process: &process,
        has_ended: &host_process::has_ended,
        id: &SplitMix::from_os().uuid(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let Ok(runtime) = runtime else { return ExitCode::SUCCESS };
    match runtime.block_on(notice::waking(parts, ask)) {
        Ok(Some(words)) => output::aside(&words, ExitCode::from(EXIT_WAKES)),
        Ok(None) | Err(_) => ExitCode::SUCCESS,
    }
}

/// The answer to a host that asks whether a tool may run; an empty one leaves the question to the person.
fn approve(flags: &Flags, environment: &Environment) -> ExitCode {
    let place = Place::find(Entry::Look, flags.home.clone(), Vec::new(), environment);
    let wait = waiter::command(place.home.as_deref(), environment);
    let wait = wait.reading_as(place.config.inbox.consumer.as_ref().map(ConsumerName::as_str));
    let approval = Approval { wait: &wait.for_family(&flags.host), answers: flags.allow_answers };
    let stdin = what_is_told();
    match approval.answer(&String::from_utf8_lossy(&stdin)) {
        Some(answer) => output::text(&(answer + "\n"), ExitCode::SUCCESS),
        None => ExitCode::SUCCESS,
    }
}

/// The host's JSON, if it comes in time. A terminal gives none.
fn what_is_told() -> Vec<u8> {
    if std::io::stdin().is_terminal() {
        return Vec::new();
    }
    read_within(std::io::stdin(), STDIN_WAIT)
}

/// Reads until one JSON object is complete, the input ends, or the time is up. An incomplete object is useless.
fn read_within(input: impl Read + Send + 'static, wait: Duration) -> Vec<u8> {
    let (sender, chunks) = mpsc::sync_channel(1);
    let mut input = input.take(STDIN_BYTES_MAX);
    // The thread ends with the process at the latest, because a read of a pipe can't be cancelled.
    let reader = move || {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(read @ 1..) = input.read(&mut chunk) {
            let Some(read) = chunk.get(..read) else { return };
            if sender.send(read.to_vec()).is_err() {
                return;
            }
        }
    };
    let mut told = Vec::new();
    if thread::Builder::new().spawn(reader).is_err() {
        return told;
    }
    let until = Instant::now() + wait;
    while let Ok(mut chunk) = chunks.recv_timeout(until.saturating_duration_since(Instant::now())) {
        told.append(&mut chunk);
        if is_whole(&told) {
            break;
        }
    }
    told
}

fn is_whole(told: &[u8]) -> bool {
    told.trim_ascii_end().ends_with(b"}") && serde_json::from_slice::<IgnoredAny>(told).is_ok()
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// A pipe that gives its pieces and then blocks for ever.
    struct Open(Vec<&'static str>);

    impl Read for Open {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                loop {
                    thread::park();
                }
            }
            self.0.remove(0).as_bytes().read(into)
        }
    }

    #[test]
    fn a_host_that_leaves_the_input_open_is_not_waited_for() {
        let whole = read_within(Open(vec!["{\"a\":{}", ",\"b\":\"}\"}\n"]), Duration::from_secs(3_600));
        assert_eq!(whole, b"{\"a\":{},\"b\":\"}\"}\n");
        let half = read_within(Open(vec!["{\"a\":{}"]), Duration::from_millis(50));
        assert_eq!(half, b"{\"a\":{}");
    }
}
