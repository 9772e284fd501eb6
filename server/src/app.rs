//! The whole server as one future: journal, sources and one host's connection, over seams that are given.
//! It must never read a clock, randomness, a file or a socket but through them, nor leave anything running when dropped.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::clock::Clock;
use crate::config::{Auth, Config};
use crate::entra::{NoToken, StaticToken, TokenSource};
use crate::gate::{Agent, Gate};
use crate::graph::{CHAT_SPACING, GraphClient, GraphParts, GraphTransport};
use crate::journal::{Interaction, Journal, JournalError, JournalOptions};
use crate::mcp::{self, Presence, SessionOptions};
use crate::random::Random;
use crate::source::teams::{Known, TeamsOutbox, TeamsParts, TeamsSource};
use crate::source::{InboundSource, SourceStatus};
use crate::status::{Keeper, WatchedSource};
use crate::storage::{MemoryStorage, Storage};
use crate::upkeep::{LastRound, Upkeep};

pub use crate::mcp::Exit;

/// How often a follower looks for new records, and tries to take the lead at every second look.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// How often the leader lets the journal try again what the disk did not take.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);
/// Head start of the host's first request before the network is touched.
const NETWORK_PAUSE: Duration = Duration::from_millis(50);

/// Longest reason in a tool's answer.
const HEALTH_CHARS_MAX: usize = 300;

/// What a server is made of.
pub struct App {
    /// What the user decided.
    pub config: Config,
    /// What is wrong with the configuration or the home folder, with the fix; every tool then answers with it. Hosts
    /// hide stderr and never restart a server, so it is the only way to tell anybody.
    pub trouble: Option<String>,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
    /// Ids and jitter.
    pub random: Arc<dyn Random>,
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The way to Microsoft Graph.
    pub transport: Arc<dyn GraphTransport>,
    /// How the Teams source is doing; a handle for whoever wants to watch.
    pub teams_status: SourceStatus,
}

impl App {
    /// A server with a good configuration.
    pub fn new(
        config: Config,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        storage: Arc<dyn Storage>,
        transport: Arc<dyn GraphTransport>,
    ) -> Self {
        let teams_status = SourceStatus::default();
        Self { config, trouble: None, clock, random, storage, transport, teams_status }
    }

    /// The sources, for `entraclaw status`.
    fn watched_sources(&self) -> Vec<WatchedSource> {
        let teams = &self.config.teams;
        let teams = teams.enabled.then(|| WatchedSource {
            name: "teams",
            poll_interval: teams.poll_interval,
            status: self.teams_status.clone(),
        });
        teams.into_iter().collect()
    }

    /// Whether this process could poll, and so may lead.
    fn can_poll(&self) -> bool {
        self.trouble.is_none() && self.config.teams.enabled && self.config.auth != Auth::None
    }
}

/// Serves one host until its pipes end. Everything, sources included, stops with the returned future, wherever it is.
pub async fn run(mut app: App, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) -> Exit {
    // Also a session with trouble says so in the home folder, if that can be used.
    let home = app.storage.clone();
    let journal = open_journal(&mut app);
    let client = Arc::new(GraphClient::new(GraphParts {
        transport: app.transport.clone(),
        tokens: tokens(&app.config.auth),
        clock: app.clock.clone(),
        random: app.random.clone(),
        origin: app.config.graph.origin.clone(),
        request_timeout: app.config.graph.request_timeout,
        // A poll interval below it is only accepted for a Graph on this machine.
        chat_spacing: CHAT_SPACING.min(app.config.teams.poll_interval),
    }));
    let people = app.config.allow.iter().filter_map(|p| p.tenant_id.clone().zip(p.object_id.clone()));
    let gate = Arc::new(Gate::new(people));
    let identity = app.config.identity.clone();
    let known = Arc::new(Known::new(Agent { tenant_id: identity.tenant_id, object_id: identity.object_id }));

    let outbox = TeamsOutbox {
        client: client.clone(),
        journal: journal.clone(),
        gate: gate.clone(),
        known: known.clone(),
    };
    let presence = Presence::default();
    let last_round = LastRound::default();
    let keeper = Keeper {
        storage: home,
        clock: app.clock.clone(),
        journal: journal.clone(),
        presence: presence.clone(),
        client: client.clone(),
        sources: app.watched_sources(),
        upkeep: last_round.clone(),
        id: app.random.uuid(),
        pid: std::process::id(),
        may_lead: app.can_poll(),
        trouble: app.trouble.clone(),
    };
    let upkeep = Upkeep {
        journal: journal.clone(),
        storage: app.storage.clone(),
        clock: app.clock.clone(),
        limits: app.config.retention.clone(),
        last: last_round,
    };

    let mut session = SessionOptions::new(journal.clone(), app.random.clone(), Arc::new(outbox));
    session.consumer.clone_from(&app.config.inbox.consumer);
    session.trouble.clone_from(&app.trouble);
    session.presence = presence;
    session.health = Some(health(&app, gate.is_closed()));

    let (lead, leading) = watch::channel(journal.is_leader());
    let polls = app.can_poll();
    if polls && gate.is_closed() {
        tracing::warn!(
            "the allowlist is empty, so nobody can write to the agent; add [[allow]] or ENTRACLAW_ALLOW"
        );
    }
    let source = TeamsSource::with_status(
        TeamsParts {
            client,
            storage: app.storage.clone(),
            clock: app.clock.clone(),
            gate,
            known,
            options: app.config.teams.clone(),
        },
        app.teams_status.clone(),
    );
    tokio::select! {
        biased;
        exit = mcp::serve(session, reader, writer) => exit,
        never = keep_up(&journal, &lead, polls) => match never {},
        never = poll(source, &journal, leading.clone(), polls) => match never {},
        never = upkeep.run(leading) => match never {},
        never = keeper.run() => match never {},
    }
}

/// Why messages may not be coming, in words for the model, who tells its user.
fn health(app: &App, nobody_allowed: bool) -> mcp::Health {
    let teams = app.teams_status.clone();
    let standing = if app.config.auth == Auth::None {
        Some(
            "there is no sign-in, so no messages come; tell your user to set ENTRACLAW_AUTH=static and ENTRACLAW_ACCESS_TOKEN",
        )
    } else if !app.config.teams.enabled {
        Some("`teams.enabled` is false, so no messages come from Teams")
    } else if nobody_allowed {
        Some(
            "nobody is allowed to write to you; tell your user to add [[allow]] to the configuration, or ENTRACLAW_ALLOW",
        )
    } else {
        None
    };
    Arc::new(move || {
        if let Some(standing) = standing {
            return Some(standing.to_owned());
        }
        let state = teams.get();
        let error: String =
            state.error.filter(|_| state.failures > 1)?.chars().take(HEALTH_CHARS_MAX).collect();
        Some(format!("Teams can't be read at the moment, so messages may come late: {error}"))
    })
}

/// Where tokens come from.
pub(crate) fn tokens(auth: &Auth) -> Arc<dyn TokenSource> {
    match auth {
        Auth::None => Arc::new(NoToken),
        Auth::Static(token) => Arc::new(StaticToken(token.clone())),
    }
}

/// Opens the journal. One that can't be opened is replaced by an empty one in memory, and every tool says why.
fn open_journal(app: &mut App) -> Journal {
    // Who can't poll must not keep the lead from somebody who can.
    let options = JournalOptions { may_lead: app.can_poll(), ..JournalOptions::default() };
    if app.trouble.is_some() {
        // Nothing is done until it is mended, so nothing is written either.
        app.storage = Arc::new(MemoryStorage::new());
    }
    match Journal::open(app.storage.clone(), app.clock.clone(), options.clone()) {
        Ok((journal, report)) => {
            for finding in &report.findings {
                tracing::warn!("{finding}");
                journal.interaction(Interaction::fault(finding.to_string()));
            }
            tracing::info!(leader = report.leader, records = report.records, "the journal is open");
            journal
        }
        Err(error) => {
            tracing::error!(%error, "the journal could not be opened");
            app.trouble.get_or_insert_with(|| {
                format!("the journal could not be opened: {error}; repair the home folder and start the server again")
            });
            let spare: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
            let opened = Journal::open(spare, app.clock.clone(), options);
            opened
                .map_or_else(|error| unreachable!("memory takes everything: {error}"), |(journal, _)| journal)
        }
    }
}

/// Follows the leader's journal, and takes the lead when it is free.
async fn keep_up(journal: &Journal, lead: &watch::Sender<bool>, may_lead: bool) -> Infallible {
    let mut look: u64 = 0;
    loop {
        sleep(if *lead.borrow() { LEAD_INTERVAL } else { FOLLOW_INTERVAL }).await;
        if let Err(error) = journal.refresh() {
            tracing::warn!(%error, "the journal could not be looked at");
        }
        look += 1;
        if may_lead && !*lead.borrow() && look.is_multiple_of(2) {
            match journal.try_lead() {
                Ok(true) => {
                    tracing::info!("this session leads now: it polls");
                    lead.send_replace(true);
                }
                Ok(false) => {}
                Err(error) => note_lead_error(&error),
            }
        }
    }
}

fn note_lead_error(error: &JournalError) {
    tracing::warn!(%error, "the lead could not be taken");
}

/// Runs the source once this process leads.
async fn poll(
    mut source: TeamsSource,
    journal: &Journal,
    mut leading: watch::Receiver<bool>,
    polls: bool,
) -> Infallible {
    if !polls {
        tracing::warn!("teams is not polled: there is no usable sign-in, or `teams.enabled` is false");
        return std::future::pending().await;
    }
    sleep(NETWORK_PAUSE).await;
    // The sender lives as long as this future.
    let _ = leading.wait_for(|leading| *leading).await;
    source.run(journal).await
}

#[cfg(test)]
mod tests;
