//! Why messages may not be coming, for the model, who tells its user.
//! It must never say that all is well because something is not known.

use std::sync::Arc;

use jiff::Timestamp;

use super::App;
use crate::status::{SponsorsLine, leaders_word, state_of};
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::provider;
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::{SourceState, SourceStatus};
use entraclaw_microsoft::entra::Auth;
use entraclaw_microsoft::entra::TokenSource;
use entraclaw_seams::storage::Storage;

/// Longest reason in a tool's answer.
const HEALTH_CHARS_MAX: usize = 300;
/// The same for a sign-in that failed, which names what somebody must do at its end.
const SIGN_IN_CHARS_MAX: usize = 700;

/// What is said of a leader that shows no sign of moving.
const SILENT: &str = "the session that reads messages for all sessions does not move, so they come late: another one \
                      takes over within 30 s; tell your user to resume that host (`fg`) or to end it";

/// How the sources are, and what it is not known of sponsors.
struct Seen {
    teams: SourceState,
    mail: SourceState,
    bot: SourceState,
    sponsors: Option<SponsorsLine>,
    /// The session that leads does not move.
    is_leader_silent: bool,
    /// Of a source's error. A follower knows of the leader's sign-in by that alone.
    error_chars_max: usize,
}

/// Where that is seen: here while this session leads, in what the leader tells while it follows.
struct Sight {
    journal: Journal,
    storage: Arc<dyn Storage>,
    teams: SourceStatus,
    mail: SourceStatus,
    bot: SourceStatus,
    gate: Arc<Gate>,
}

impl Sight {
    fn look(&self) -> Seen {
        let is_leader_silent = self.journal.is_leader_silent();
        let leader = if self.journal.is_leader() { None } else { leaders_word(&*self.storage) };
        let Some(status) = leader else {
            let sponsors = self.gate.sponsors_trouble();
            return Seen {
                teams: self.teams.get(),
                mail: self.mail.get(),
                bot: self.bot.get(),
                sponsors: sponsors.map(|(trouble, awaited)| SponsorsLine { trouble, awaited }),
                is_leader_silent,
                error_chars_max: HEALTH_CHARS_MAX,
            };
        };
        // What came since it was written is as good as an answer.
        let written_at = status.written_at.parse::<Timestamp>().ok();
        let is_news = |at: Timestamp| written_at.is_some_and(|written_at| at > written_at);
        let last_seq = self.journal.last_seq();
        let newest = self.journal.read_after(last_seq.saturating_sub(1), 1).unwrap_or_default().pop();
        let newest = newest.filter(|record| record.received_at.parse().is_ok_and(is_news));
        let of = |name: &str, channel: Channel| {
            let is_over = newest.as_ref().is_some_and(|record| record.channel == channel);
            let line = status.sources.iter().find(|line| line.name == name).filter(|_| !is_over);
            line.map(state_of).unwrap_or_default()
        };
        Seen {
            teams: of("teams", Channel::Teams),
            mail: of("mail", Channel::Email),
            bot: of("bot", Channel::Bot),
            sponsors: status.sponsors.clone(),
            is_leader_silent,
            error_chars_max: SIGN_IN_CHARS_MAX,
        }
    }
}

/// Why messages may not be coming, in words for the model, who tells its user.
pub(super) fn health(
    app: &App,
    tokens: &Arc<dyn TokenSource>,
    gate: Arc<Gate>,
    journal: &Journal,
) -> provider::Health {
    let activity = Sight {
        journal: journal.clone(),
        storage: app.storage.clone(),
        teams: app.teams_status.clone(),
        mail: app.mail_status.clone(),
        bot: app.bot_status.clone(),
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
            return Some(nobody(&gate));
        }
        let now = clock.now();
        [("Teams", &seen.teams), ("mail", &seen.mail)]
            .into_iter()
            .find_map(|(name, state)| trouble(name, state, now, seen.error_chars_max))
    };
    Arc::new(move || {
        let seen = activity.look();
        let silent = seen.is_leader_silent.then(|| SILENT.to_owned());
        let bot = seen.bot.error.as_deref().map(short);
        let texts: Vec<String> = silent.into_iter().chain(first(&seen)).chain(bot).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    })
}

/// Why a source may bring nothing.
fn trouble(name: &str, state: &SourceState, now: Timestamp, error_chars_max: usize) -> Option<String> {
    if let Some(error) = state.serious(now) {
        let error: String = error.chars().take(error_chars_max).collect();
        return Some(format!("{name} can't be read at the moment, so messages may come late: {error}"));
    }
    let secs = state.silence(now)?.as_secs();
    Some(format!("{name} has not answered for {secs} s, so messages may come late"))
}

fn nobody(gate: &Gate) -> String {
    let how = if gate.pairs() {
        "let somebody write to the agent and run `entraclaw pair` with the code they are told"
    } else {
        "run `entraclaw allow`, or add [[allow]] to the configuration"
    };
    format!("nobody is allowed to write to you; tell your user to {how}")
}

fn short(text: &str) -> String {
    text.chars().take(HEALTH_CHARS_MAX).collect()
}
