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
use crate::mcp::{self, SessionOptions};
use crate::random::Random;
use crate::source::bot::{BotParts, BotSource, Credentials, Endpoint, NoEndpoint};
use crate::source::teams::{Known, TeamsDoor, TeamsOutbox, TeamsParts, TeamsSource};
use crate::source::{InboundSource, SourceStatus};
use crate::storage::{MemoryStorage, Storage};
use crate::tool::Door;

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
    /// Its path, for messages; empty where it has none.
    pub home: String,
    /// The way to Microsoft Graph.
    pub transport: Arc<dyn GraphTransport>,
    /// What the bot's activities arrive at.
    pub endpoint: Arc<dyn Endpoint>,
    /// How the Teams source is doing; a handle for whoever wants to watch.
    pub teams_status: SourceStatus,
    /// The same of the bot.
    pub bot_status: SourceStatus,
}

impl App {
    /// A server with a good configuration. It has no endpoint for a bot; one can be set.
    pub fn new(
        config: Config,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        storage: Arc<dyn Storage>,
        transport: Arc<dyn GraphTransport>,
    ) -> Self {
        Self {
            config,
            trouble: None,
            clock,
            random,
            storage,
            home: String::new(),
            transport,
            endpoint: Arc::new(NoEndpoint),
            teams_status: SourceStatus::default(),
            bot_status: SourceStatus::default(),
        }
    }

    /// Whether this process could poll Teams.
    fn can_poll(&self) -> bool {
        self.trouble.is_none() && self.config.teams.enabled && self.config.auth != Auth::None
    }

    /// Whether this process could hear a bot.
    fn can_listen(&self) -> bool {
        self.trouble.is_none() && self.config.bot.enabled && Credentials::of(&self.config.bot).is_ok()
    }

    /// Whether there is anything to lead.
    fn may_lead(&self) -> bool {
        self.can_poll() || self.can_listen()
    }
}

/// Serves one host until its pipes end. Everything, sources included, stops with the returned future, wherever it is.
pub async fn run(mut app: App, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) -> Exit {
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
    let mut session = SessionOptions::new(journal.clone(), app.random.clone(), Arc::new(outbox.clone()));
    session.doors.push(Arc::new(TeamsDoor {
        outbox,
        storage: app.storage.clone(),
        home: app.home.clone(),
        options: app.config.teams.clone(),
    }));
    let agent = known.agent();
    let bot = bot(&app, &gate, agent);
    session.doors.extend(bot.iter().map(|bot| Arc::new(bot.door(&journal)) as Arc<dyn Door>));
    session.tool_sets.clone_from(&app.config.tools);
    session.consumer.clone_from(&app.config.inbox.consumer);
    session.trouble.clone_from(&app.trouble);
    session.health = Some(health(&app, gate.is_closed()));

    let (lead, leading) = watch::channel(journal.is_leader());
    let (polls, may_lead) = (app.can_poll(), app.may_lead());
    if may_lead && gate.is_closed() {
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
        never = keep_up(&journal, &lead, may_lead) => match never {},
        never = listen(bot, &journal, leading.clone()) => match never {},
        never = poll(source, &journal, leading, polls) => match never {},
    }
}

/// The bot, where one is wanted and has what it needs. What is missing is told; the server goes on without it.
fn bot(app: &App, gate: &Arc<Gate>, agent: Agent) -> Option<BotSource> {
    if !app.config.bot.enabled || app.trouble.is_some() {
        return None;
    }
    let credentials = Credentials::of(&app.config.bot).map_err(|problem| {
        tracing::warn!("{problem}");
        app.bot_status.update(|state| state.error = Some(problem));
    });
    let parts = BotParts {
        transport: app.transport.clone(),
        endpoint: app.endpoint.clone(),
        storage: app.storage.clone(),
        clock: app.clock.clone(),
        gate: gate.clone(),
        agent,
        options: app.config.bot.clone(),
    };
    Some(BotSource::new(parts, credentials.ok()?, app.bot_status.clone()))
}

/// Why messages may not be coming, in words for the model, who tells its user.
fn health(app: &App, nobody_allowed: bool) -> mcp::Health {
    let (teams, bot) = (app.teams_status.clone(), app.bot_status.clone());
    let listens = app.can_listen();
    let standing = if app.config.auth == Auth::None && listens {
        // A bot needs no sign-in to Graph.
        None
    } else if app.config.auth == Auth::None {
        Some(
            "there is no sign-in, so no messages come; tell your user to set ENTRACLAW_AUTH=static and ENTRACLAW_ACCESS_TOKEN",
        )
    } else if !app.config.teams.enabled && !listens {
        Some("`teams.enabled` is false, so no messages come from Teams")
    } else if nobody_allowed {
        Some(
            "nobody is allowed to write to you; tell your user to add [[allow]] to the configuration, or ENTRACLAW_ALLOW",
        )
    } else {
        None
    };
    Arc::new(move || {
        let short = |text: String| text.chars().take(HEALTH_CHARS_MAX).collect::<String>();
        let state = teams.get();
        let late = state.error.filter(|_| state.failures > 1).map(|error| {
            format!("Teams can't be read at the moment, so messages may come late: {}", short(error))
        });
        let teams = standing.map(str::to_owned).or(late);
        let texts: Vec<String> = teams.into_iter().chain(bot.get().error.map(short)).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    })
}

fn tokens(auth: &Auth) -> Arc<dyn TokenSource> {
    match auth {
        Auth::None => Arc::new(NoToken),
        Auth::Static(token) => Arc::new(StaticToken(token.clone())),
    }
}

/// Opens the journal. One that can't be opened is replaced by an empty one in memory, and every tool says why.
fn open_journal(app: &mut App) -> Journal {
    // Who can neither poll nor listen must not keep the lead from somebody who can.
    let options = JournalOptions { may_lead: app.may_lead(), ..JournalOptions::default() };
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

/// Listens for the bot once this process leads.
async fn listen(bot: Option<BotSource>, journal: &Journal, mut leading: watch::Receiver<bool>) -> Infallible {
    let Some(mut bot) = bot else { return std::future::pending().await };
    sleep(NETWORK_PAUSE).await;
    // The sender lives as long as this future.
    let _ = leading.wait_for(|leading| *leading).await;
    bot.run(journal).await
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
