//! `entraclaw hook claude-code Stop --wake`: runs beside an idle session until its server has words for the
//! model, and then wakes the session. It must never decide the words, run twice for one host, or outlive the
//! host.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::{NoticeParts, host_version};
use crate::journal::ConsumerName;
use crate::wake_up::{INBOX_VARIABLES, MeetingPlace, gives_inbox_socket, wakes_by_hook};

/// The exit code at which the host starts a turn, and shows the model the hook's stderr.
pub const EXIT_WAKES: u8 = 2;

/// The variable that names the kind of session; `cli` is a person at a terminal.
const ENTRYPOINT_VARIABLE: &str = "CLAUDE_CODE_ENTRYPOINT";
const AT_A_TERMINAL: &str = "cli";
/// The variable that is `0` when no person can be at the session.
const ATTENDED_VARIABLE: &str = "CLAUDE_CODE_SESSION_ATTENDED";
/// The host's variables that the hook needs.
pub const WAKING_VARIABLES: [&str; 4] =
    [ENTRYPOINT_VARIABLE, ATTENDED_VARIABLE, INBOX_VARIABLES[0], INBOX_VARIABLES[1]];

/// A pause that lets the host's other hooks of this moment run first: what they tell is not told again.
const SETTLE: Duration = Duration::from_secs(1);
/// How long the hook waits until a session gives its host's version. A host version without such hooks waits
/// for the hook to end.
const VERSION_WITHIN: Duration = Duration::from_secs(2);
const VERSION_LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often the hook checks whether the host still runs, and for changes without a change notice.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The call of a hook that wakes its session.
pub struct WakingAsk<'a> {
    /// The host's family.
    pub host: &'a str,
    /// The consumer whose messages are told; the family's when left out.
    pub consumer: Option<&'a ConsumerName>,
    /// Those of [`WAKING_VARIABLES`] that the host has set.
    pub variables: &'a BTreeMap<String, String>,
    /// Whether the session's inbox socket is used, if it has one.
    pub uses_socket: bool,
    /// The id of the host's process.
    pub process: &'a str,
    /// Whether a host's process has ended, by its id.
    pub has_ended: &'a dyn Fn(&str) -> bool,
    /// An id of this run, unlike any other.
    pub id: &'a str,
}

/// Waits for the server's words and returns them; `None` when the session is woken in another way or need not
/// be woken. An error is for a person.
pub async fn waking(parts: &NoticeParts, ask: WakingAsk<'_>) -> Result<Option<String>, String> {
    // A session without a terminal waits for this hook before it ends, and is not woken.
    let said = |name: &str| ask.variables.get(name).map(String::as_str);
    if said(ENTRYPOINT_VARIABLE) != Some(AT_A_TERMINAL) || said(ATTENDED_VARIABLE) == Some("0") {
        return Ok(None);
    }
    let consumer = match ask.consumer {
        Some(consumer) => consumer.clone(),
        None => ConsumerName::new(ask.host).map_err(|error| error.to_string())?,
    };
    let Some(version) = version(parts, &consumer).await else { return Ok(None) };
    let has_socket = INBOX_VARIABLES.iter().all(|name| said(name).is_some());
    let is_woken_else = ask.uses_socket && has_socket && gives_inbox_socket(ask.host, version);
    if is_woken_else || !wakes_by_hook(ask.host, version) {
        return Ok(None);
    }
    let place = MeetingPlace::new(&consumer, ask.process)
        .ok_or_else(|| format!("{:?} names no process of a host", ask.process))?;
    wait(parts, &ask, &place).await.map_err(|error| format!("the hook can't wait: {error}"))
}

async fn wait(
    parts: &NoticeParts,
    ask: &WakingAsk<'_>,
    place: &MeetingPlace,
) -> std::io::Result<Option<String>> {
    let storage = &*parts.storage;
    place.begin(storage, ask.id)?;
    place.clear_others(storage, ask.has_ended);
    sleep(SETTLE).await;
    let mut changes = place.watch(storage);
    let mut armed = None;
    let mut next_look = Instant::now();
    loop {
        let now = Instant::now();
        if now >= next_look {
            next_look = now + LOOK_EVERY;
            if (ask.has_ended)(ask.process) {
                place.clear(storage);
                return Ok(None);
            }
        }
        if armed.is_none() {
            armed = place.arm(storage)?;
        }
        if let Some(armed) = &armed
            && let Some(words) = armed.take(storage)?
        {
            return Ok(Some(words));
        }
        if !place.is_newest(storage, ask.id)? {
            return Ok(None);
        }
        match &mut changes {
            // The hook is armed after the earlier one has left, which no change notice announces.
            Some(changes) if armed.is_some() => drop(timeout_at(next_look, changes.next()).await),
            _ => sleep(VERSION_LOOK_EVERY).await,
        }
    }
}

/// The host's version, once its session has given it.
async fn version(parts: &NoticeParts, consumer: &ConsumerName) -> Option<[u64; 3]> {
    let until = Instant::now() + VERSION_WITHIN;
    loop {
        let version = host_version::lowest(&*parts.storage, consumer.as_str());
        if version.is_some() || Instant::now() >= until {
            return version;
        }
        sleep(VERSION_LOOK_EVERY).await;
    }
}
