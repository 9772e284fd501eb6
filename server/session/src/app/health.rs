//! Reports to the model why messages may not arrive, so that it can tell its user.
//! It must never report that all is well if that is not known.

use std::sync::Arc;

use jiff::Timestamp;

use super::App;
use crate::status::{SponsorsLine, leaders_word};
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::provider;
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::{SourceState, SourceStatus};
use entraclaw_microsoft::entra::Auth;
use entraclaw_microsoft::entra::TokenSource;
use entraclaw_seams::storage::Storage;

/// Most characters of a reason in a tool's answer.
const HEALTH_CHARS_MAX: usize = 300;
/// Most characters for a failed sign-in, as its text ends with what the user must do.
const SIGN_IN_CHARS_MAX: usize = 700;

/// The text about a leader that shows no sign of progress.
const SILENT: &str = "the session that reads messages for all sessions does not move, so they come late: another one \
                      takes over within 30 s; tell your user to resume that host (`fg`) or to end it";

/// The state of the sources, and the trouble with sponsors.
struct Seen {
    /// Teams, mail and the bot.
    sources: [SourceState; 3],
    sponsors: Option<SponsorsLine>,
    /// Whether the leader shows no sign of progress.
    is_leader_silent: bool,
    /// Most characters of a source's error. A follower knows of the leader's sign-in only from there.
    error_chars_max: usize,
}

/// The places to look: this session's own state while it leads, the leader's status file while it follows.
struct Observer {
    journal: Journal,
    storage: Arc<dyn Storage>,
    /// Teams, mail and the bot.
    sources: [SourceStatus; 3],
    gate: Arc<Gate>,
}

impl Observer {
    fn look(&self) -> Seen {
        let is_leader_silent = self.journal.is_leader_silent();
        let leader = if self.journal.is_leader() { None } else { leaders_word(&*self.storage) };
        let Some(status) = leader else {
            let sponsors = self.gate.sponsors_trouble();
            return Seen {
                sources: self.sources.each_ref().map(SourceStatus::get),
                sponsors: sponsors.map(|(trouble, awaited)| SponsorsLine { trouble, awaited }),
                is_leader_silent,
                error_chars_max: HEALTH_CHARS_MAX,
            };
        };
        // A newer record of a channel shows that its source has answered since.
        let written_at = status.written_at.parse::<Timestamp>().ok();
        let is_news = |at: Timestamp| written_at.is_some_and(|written_at| at > written_at);
        let last_seq = self.journal.last_seq();
        let newest = self.journal.read_after(last_seq.saturating_sub(1), 1).unwrap_or_default().pop();
        let newest = newest.filter(|record| record.received_at.parse().is_ok_and(is_news));
        let of = |(name, channel): (&str, Channel)| {
            let is_over = newest.as_ref().is_some_and(|record| record.channel == channel);
            let line = status.sources.iter().find(|line| line.name == name).filter(|_| !is_over);
            line.map(|line| line.state.clone()).unwrap_or_default()
        };
        Seen {
            sources: [("teams", Channel::Teams), ("mail", Channel::Email), ("bot", Channel::Bot)].map(of),
            sponsors: status.sponsors.clone(),
            is_leader_silent,
            error_chars_max: SIGN_IN_CHARS_MAX,
        }
    }
}

/// Makes the function that says why messages may not arrive, in words for the model.
pub(super) fn health(
    app: &App,
    tokens: &Arc<dyn TokenSource>,
    gate: Arc<Gate>,
    journal: &Journal,
) -> provider::Health {
    let observer = Observer {
        journal: journal.clone(),
        storage: app.storage.clone(),
        sources: [&app.teams_status, &app.mail_status, &app.bot_status].map(SourceStatus::clone),
        gate: gate.clone(),
    };
    let (clock, tokens, listens) = (app.clock.clone(), tokens.clone(), app.can_listen());
    let reads = app.config.teams.enabled || app.config.mail.enabled;
    let standing = match (app.config.auth == Auth::None, reads) {
        // A bot needs no sign-in to Graph.
        _ if listens => None,
        (true, _) => Some(
            "there is no sign-in, so no messages come; tell your user to set `auth.mode` and to run `entraclaw login`, or to set ENTRACLAW_ACCESS_TOKEN",
        ),
        (false, false) => Some("`teams.enabled` and `mail.enabled` are false, so no messages come"),
        (false, true) => None,
    };
    let signs_in = app.config.auth != Auth::None;
    let first = move |seen: &Seen| {
        if let Some(standing) = standing {
            return Some(standing.to_owned());
        }
        if let Some(error) = tokens.trouble().filter(|_| signs_in) {
            let error: String = error.to_string().chars().take(SIGN_IN_CHARS_MAX).collect();
            return Some(format!("the agent can't sign in, so no messages come; tell your user: {error}"));
        }
        if let Some(trouble) = gate.trouble() {
            return Some(short(&format!("{trouble}; tell your user")));
        }
        let sponsors = seen.sponsors.as_ref().filter(|line| line.awaited || gate.is_closed());
        if let Some(line) = sponsors {
            return Some(short(&format!("tell your user: {}", line.trouble)));
        }
        if gate.is_closed() {
            return Some(empty_allowlist(&gate));
        }
        let now = clock.now();
        let polled = ["Teams", "mail"].into_iter().zip(&seen.sources);
        polled.into_iter().find_map(|(name, state)| trouble(name, state, now, seen.error_chars_max))
    };
    Arc::new(move || {
        let seen = observer.look();
        let silent = seen.is_leader_silent.then(|| SILENT.to_owned());
        let [.., bot] = &seen.sources;
        let bot = bot.error.as_deref().map(short);
        let texts: Vec<String> = silent.into_iter().chain(first(&seen)).chain(bot).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    })
}

/// Why a source may bring nothing, if so.
fn trouble(name: &str, state: &SourceState, now: Timestamp, error_chars_max: usize) -> Option<String> {
    if let Some(error) = state.serious(now) {
        let error: String = error.chars().take(error_chars_max).collect();
        return Some(format!("{name} can't be read at the moment, so messages may come late: {error}"));
    }
    let secs = state.silence(now)?.as_secs();
    Some(format!("{name} has not answered for {secs} s, so messages may come late"))
}

fn empty_allowlist(gate: &Gate) -> String {
    let how = if gate.pairs() {
        "have the person write to the agent and run `entraclaw pair` with the code that comes back"
    } else {
        "run `entraclaw allow`, or add [[allow]] to the configuration"
    };
    format!("no person is allowed to write to you; tell your user to {how}")
}

fn short(text: &str) -> String {
    text.chars().take(HEALTH_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::*;
    use crate::status::{SourceLine, StatusFile};
    use entraclaw_inbox::journal::JournalOptions;
    use entraclaw_inbox::record::Draft;
    use entraclaw_inbox::sessions::{SESSIONS, session_lock, write_status};
    use entraclaw_seams::clock::{Clock, TokioClock};
    use entraclaw_seams::storage::MemoryStorage;

    #[tokio::test(start_paused = true)]
    async fn a_message_that_is_newer_than_the_leaders_word_shows_that_its_source_answers() {
        let start: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(start));
        let disk = MemoryStorage::new();
        let open = |process: &MemoryStorage| {
            Journal::open(Arc::new(process.clone()), clock.clone(), JournalOptions::default()).unwrap().0
        };
        let (leader, follower) = (disk.new_process(), disk.new_process());
        let (leads, follows) = (open(&leader), open(&follower));
        assert!(leads.try_lead().unwrap());
        leader.create_dir(SESSIONS).unwrap();
        let _alive = leader.try_lock(&session_lock("one")).unwrap().unwrap();
        let state =
            SourceState { error: Some("no answer".to_owned()), failures: 2, ..SourceState::default() };
        let failing =
            |name: &str| SourceLine { name: name.to_owned(), poll_interval_ms: None, state: state.clone() };
        let said = StatusFile {
            v: 1,
            written_at: start.to_string(),
            session: "one".to_owned(),
            sources: ["teams", "mail"].map(failing).into(),
            ..StatusFile::default()
        };
        assert!(write_status(&leader, &said));
        let observer = Observer {
            journal: follows.clone(),
            storage: Arc::new(follower),
            sources: Default::default(),
            gate: Arc::new(Gate::new([])),
        };
        let errors = || observer.look().sources.map(|state| state.error.is_some());
        assert_eq!(errors(), [true, true, false]);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let draft = Draft {
            key: "teams/chat-1/m1".to_owned(),
            id: "m1".to_owned(),
            channel: Channel::Teams,
            chat_id: "chat-1".to_owned(),
            from: "Alice".to_owned(),
            ts: start.to_string(),
            content_text_sanitized: "there".to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        leads.append(vec![draft]).unwrap();
        follows.refresh().unwrap();
        assert_eq!(errors(), [false, true, false], "of mail nothing is known");
    }
}
