//! The whole server as one future: journal, sources and one host's connection, over seams that are given.
//! It must never read a clock, randomness, a file or a socket but through them, nor leave anything running when dropped.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};

use crate::clock::Clock;
use crate::config::{Auth, Config};
use crate::entra::keys::{KeyStore, MemoryKeyStore};
use crate::entra::{EntraParts, SIGN_IN_RETRIES_MAX, TokenSource, graph_resource, token_source};
use crate::gate::{Agent, Gate, MailGate, PairingReply, Person, PolicyNews};
use crate::graph::{CHAT_SPACING, GraphClient, GraphParts, GraphTransport};
use crate::journal::{Interaction, Journal, JournalError, JournalOptions};
use crate::mcp::{self, Presence, SessionOptions};
use crate::permission::{self, PermissionPort, REQUESTS_MAX, Relay};
use crate::random::Random;
use crate::source::mail::{GraphMailDesk, MailKnown, MailParts, MailSource, Quota};
use crate::source::teams::{Known, TeamsDoor, TeamsOutbox, TeamsParts, TeamsSource};
use crate::source::{InboundSource, SourceStatus};
use crate::status::{Keeper, WatchedSource};
use crate::storage::{MemoryStorage, Storage};
use crate::tool::MailDoor;
use crate::upkeep::{LastRound, Upkeep};

use self::sponsors::Sponsors;
pub use crate::mcp::Exit;

/// How often a follower looks for new records, and tries to take the lead at every second look.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// A follower looks at the policy at every so many looks, which is once a second; the leader at each of its own.
const POLICY_LOOKS: u64 = 4;
/// How often the leader lets the journal try again what the disk did not take.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);
/// Head start of the host's first request before the network is touched.
const NETWORK_PAUSE: Duration = Duration::from_millis(50);

/// Longest reason in a tool's answer.
const HEALTH_CHARS_MAX: usize = 300;
/// The same for a sign-in that failed, which names what somebody must do at its end.
const SIGN_IN_CHARS_MAX: usize = 700;

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
    /// The way to where the agent signs in.
    pub login_transport: Arc<dyn GraphTransport>,
    /// Where private keys and refresh tokens are.
    pub keys: Arc<dyn KeyStore>,
    /// How the Teams source is doing; a handle for whoever wants to watch.
    pub teams_status: SourceStatus,
    /// How the mail source is doing.
    pub mail_status: SourceStatus,
}

impl App {
    /// A server with a good configuration. It signs in by the same transport, and has no keys; both can be set.
    pub fn new(
        config: Config,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        storage: Arc<dyn Storage>,
        transport: Arc<dyn GraphTransport>,
    ) -> Self {
        let (teams_status, mail_status) = (SourceStatus::default(), SourceStatus::default());
        let (login_transport, keys) = (transport.clone(), Arc::new(MemoryKeyStore::default()));
        Self {
            config,
            trouble: None,
            clock,
            random,
            storage,
            home: String::new(),
            transport,
            login_transport,
            keys,
            teams_status,
            mail_status,
        }
    }

    /// Where its tokens come from.
    pub(crate) fn tokens(&self) -> Arc<dyn TokenSource> {
        self.tokens_after(SIGN_IN_RETRIES_MAX)
    }

    /// The same for somebody who waits: each step of a sign-in is repeated so often.
    pub(crate) fn tokens_after(&self, retries_max: u32) -> Arc<dyn TokenSource> {
        let parts = EntraParts {
            transport: self.login_transport.clone(),
            clock: self.clock.clone(),
            random: self.random.clone(),
            authority: self.config.sign_in.authority.clone(),
            request_timeout: self.config.graph.request_timeout,
            retries_max,
        };
        token_source(&self.config.auth, parts, self.keys.clone(), &graph_resource(&self.config.graph.origin))
    }

    /// A client of Graph that has not talked to anybody yet.
    pub(crate) fn graph(&self, tokens: Arc<dyn TokenSource>) -> GraphClient {
        GraphClient::new(GraphParts {
            transport: self.transport.clone(),
            tokens,
            clock: self.clock.clone(),
            random: self.random.clone(),
            origin: self.config.graph.origin.clone(),
            request_timeout: self.config.graph.request_timeout,
            // A poll interval below it is only accepted for a Graph on this machine.
            chat_spacing: CHAT_SPACING.min(self.config.teams.poll_interval),
        })
    }

    /// The people of the configuration, and those of the policy once it was read.
    pub(crate) fn gate(&self) -> Gate {
        let people = self.config.allow.iter().map(|allowed| Person {
            tenant_id: allowed.tenant_id.clone(),
            object_id: allowed.object_id.clone(),
            mail: allowed.mail.clone(),
            name: allowed.name.clone(),
            ..Person::default()
        });
        Gate::for_people(people.collect()).with_policy(self.storage.clone())
    }

    /// The sources, for `entraclaw status`.
    fn watched_sources(&self) -> Vec<WatchedSource> {
        let (teams, mail) = (&self.config.teams, &self.config.mail);
        let teams = teams.enabled.then(|| WatchedSource {
            name: "teams",
            poll_interval: teams.idle_poll_interval,
            status: self.teams_status.clone(),
        });
        let mail = mail.enabled.then(|| WatchedSource {
            name: "mail",
            poll_interval: mail.poll_interval,
            status: self.mail_status.clone(),
        });
        teams.into_iter().chain(mail).collect()
    }

    /// Whether this process could poll, and so may lead.
    fn can_poll(&self) -> bool {
        let any = self.config.teams.enabled || self.config.mail.enabled;
        self.trouble.is_none() && any && self.config.auth != Auth::None
    }
}

/// Serves one host until its pipes end. Everything, sources included, stops with the returned future, wherever it is.
pub async fn run(mut app: App, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) -> Exit {
    // Also a session with trouble says so in the home folder, if that can be used.
    let home = app.storage.clone();
    let journal = open_journal(&mut app);
    let tokens = app.tokens();
    let client = Arc::new(app.graph(tokens.clone()));
    let (gate, pairings) = gate(&app);
    if let Some(news) = gate.refresh() {
        tracing::info!("{news}");
        if let PolicyNews::Closed(_) = news {
            journal.interaction(news.interaction());
        }
    }
    let mail_gate = Arc::new(MailGate::over(gate.clone()));
    let identity = app.config.identity.clone();
    let known =
        Arc::new(Known::new(Agent { tenant_id: identity.tenant_id.clone(), object_id: identity.object_id }));

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

    let mut session = SessionOptions::new(journal.clone(), app.random.clone(), Arc::new(outbox.clone()));
    let relay = relay(&app, &gate, &journal, &outbox);
    let relay = relay.map(|relay| {
        let (requests, asked) = mpsc::channel(REQUESTS_MAX);
        let (answered, answers) = mpsc::channel(REQUESTS_MAX);
        session.permission = Some(PermissionPort { requests, answers });
        permission::run(relay, asked, answered)
    });
    session.doors.push(Arc::new(TeamsDoor {
        outbox: outbox.clone(),
        storage: app.storage.clone(),
        home: app.home.clone(),
        options: app.config.teams.clone(),
    }));
    session.tool_sets.clone_from(&app.config.tools);
    session.consumer.clone_from(&app.config.inbox.consumer);
    session.trouble.clone_from(&app.trouble);
    session.presence = presence;
    session.health = Some(health(&app, &tokens, gate.clone()));
    if app.config.mail.enabled {
        session.doors.push(Arc::new(MailDoor(Arc::new(GraphMailDesk {
            client: client.clone(),
            journal: journal.clone(),
            gate: mail_gate.clone(),
            random: app.random.clone(),
            quota: Arc::new(Quota::new(app.config.mail.messages_per_hour)),
        }))));
    }

    let (lead, leading) = watch::channel(journal.is_leader());
    let polls = app.can_poll();
    let sponsors = Sponsors::new(&app.config, client.clone(), gate.clone(), known.clone());
    if polls && gate.is_closed() && sponsors.is_none() {
        tracing::warn!(
            "the allowlist is empty, so nobody can write to the agent; add [[allow]] or ENTRACLAW_ALLOW"
        );
    }
    let mail = MailSource::with_status(
        MailParts {
            client: client.clone(),
            storage: app.storage.clone(),
            clock: app.clock.clone(),
            gate: mail_gate,
            known: Arc::new(MailKnown::default()),
            options: app.config.mail.clone(),
        },
        app.mail_status.clone(),
    );
    let teams = TeamsSource::with_status(
        TeamsParts {
            client,
            storage: app.storage.clone(),
            clock: app.clock.clone(),
            gate: gate.clone(),
            known,
            options: app.config.teams.clone(),
        },
        app.teams_status.clone(),
    );
    tokio::select! {
        biased;
        exit = mcp::serve(session, reader, writer) => exit,
        never = keep_up(&journal, &gate, &lead, polls, app.storage.changes()) => match never {},
        never = send_pairings(pairings, &outbox) => match never {},
        never = or_never(relay) => match never {},
        never = poll(teams, sponsors, &journal, leading.clone(), polls && app.config.teams.enabled) => match never {},
        never = poll(mail, None, &journal, leading.clone(), polls && app.config.mail.enabled) => match never {},
        never = tokens.keep_fresh() => match never {},
        never = upkeep.run(leading) => match never {},
        never = keeper.run() => match never {},
    }
}

/// The gate of a configuration, and the codes that strangers are to be told.
fn gate(app: &App) -> (Arc<Gate>, Option<mpsc::Receiver<PairingReply>>) {
    let gate = app.gate();
    if !app.config.gate.pairing {
        return (Arc::new(gate), None);
    }
    let (gate, pairings) = gate.with_pairing(app.clock.clone(), app.random.clone());
    (Arc::new(gate), Some(pairings))
}

fn relay(app: &App, gate: &Arc<Gate>, journal: &Journal, outbox: &TeamsOutbox) -> Option<Relay> {
    let wanted = app.config.gate.permission_relay && app.trouble.is_none() && app.config.auth != Auth::None;
    wanted.then(|| Relay {
        outbox: outbox.clone(),
        gate: gate.clone(),
        journal: journal.clone(),
        storage: app.storage.clone(),
        operator: app.config.gate.operator.clone(),
        session: app.random.uuid(),
    })
}

async fn or_never(future: Option<impl Future<Output = Infallible>>) -> Infallible {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Tells strangers their codes, one after another.
async fn send_pairings(pairings: Option<mpsc::Receiver<PairingReply>>, outbox: &TeamsOutbox) -> Infallible {
    let Some(mut pairings) = pairings else { return std::future::pending().await };
    while let Some(reply) = pairings.recv().await {
        // It is not tried again: the person is told no other code for an hour, whatever became of this one.
        if let Err(error) = outbox.tell(&reply.chat_id, reply.html()).await {
            tracing::warn!(%error, who = reply.who, "a pairing code could not be sent");
        }
    }
    std::future::pending().await
}

/// Why messages may not be coming, in words for the model, who tells its user.
fn health(app: &App, tokens: &Arc<dyn TokenSource>, gate: Arc<Gate>) -> mcp::Health {
    let (teams, mail, tokens) = (app.teams_status.clone(), app.mail_status.clone(), tokens.clone());
    let standing = if app.config.auth == Auth::None {
        Some(
            "there is no sign-in, so no messages come; tell your user to set `auth.mode` and to run `entraclaw login`, or to set ENTRACLAW_ACCESS_TOKEN",
        )
    } else if !app.config.teams.enabled && !app.config.mail.enabled {
        Some("`teams.enabled` and `mail.enabled` are false, so no messages come")
    } else {
        None
    };
    Arc::new(move || {
        if let Some(standing) = standing {
            return Some(standing.to_owned());
        }
        if let Some(error) = tokens.trouble() {
            let error: String = error.to_string().chars().take(SIGN_IN_CHARS_MAX).collect();
            return Some(format!("the agent can't sign in, so no messages come; tell your user: {error}"));
        }
        if let Some(trouble) = gate.trouble() {
            return Some(format!("{trouble}; tell your user").chars().take(HEALTH_CHARS_MAX).collect());
        }
        if gate.is_closed() {
            let how = if gate.pairs() {
                "let somebody write to the agent and run `entraclaw pair` with the code they are told"
            } else {
                "run `entraclaw allow`, or add [[allow]] to the configuration"
            };
            return Some(format!("nobody is allowed to write to you; tell your user to {how}"));
        }
        [("Teams", &teams), ("mail", &mail)].into_iter().find_map(|(name, status)| {
            let state = status.get();
            let error: String =
                state.error.filter(|_| state.failures > 1)?.chars().take(HEALTH_CHARS_MAX).collect();
            Some(format!("{name} can't be read at the moment, so messages may come late: {error}"))
        })
    })
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
async fn keep_up(
    journal: &Journal,
    gate: &Gate,
    lead: &watch::Sender<bool>,
    may_lead: bool,
    mut changes: Option<watch::Receiver<u64>>,
) -> Infallible {
    let mut look: u64 = 0;
    loop {
        sleep(if *lead.borrow() { LEAD_INTERVAL } else { FOLLOW_INTERVAL }).await;
        if let Some(changes) = &mut changes {
            let settled = *lead.borrow() && journal.is_settled() && gate.is_settled();
            if settled && !changes.has_changed().unwrap_or(true) {
                rest(changes).await;
            }
            changes.mark_unchanged();
        }
        if let Err(error) = journal.refresh() {
            tracing::warn!(%error, "the journal could not be looked at");
        }
        look += 1;
        if (*lead.borrow() || look.is_multiple_of(POLICY_LOOKS))
            && let Some(news) = gate.refresh()
        {
            tracing::info!("{news}");
            journal.interaction(news.interaction());
        }
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

/// Passes over the looks that would find nothing: comes back at the first one after a change of the disk.
async fn rest(changes: &mut watch::Receiver<u64>) {
    let began = Instant::now();
    if changes.changed().await.is_err() {
        return;
    }
    let late = began.elapsed().as_nanos() % LEAD_INTERVAL.as_nanos();
    if late > 0 {
        sleep(LEAD_INTERVAL.saturating_sub(Duration::from_nanos(u64::try_from(late).unwrap_or(0)))).await;
    }
}

fn note_lead_error(error: &JournalError) {
    tracing::warn!(%error, "the lead could not be taken");
}

/// Runs the source once this process leads.
async fn poll(
    mut source: impl InboundSource,
    sponsors: Option<Sponsors>,
    journal: &Journal,
    mut leading: watch::Receiver<bool>,
    polls: bool,
) -> Infallible {
    if !polls {
        let name = source.name();
        tracing::info!("{name} is not polled: there is no usable sign-in, or `{name}.enabled` is false");
        return std::future::pending().await;
    }
    sleep(NETWORK_PAUSE).await;
    // The sender lives as long as this future.
    let Some(sponsors) = sponsors else {
        let _ = leading.wait_for(|leading| *leading).await;
        return source.run(journal).await;
    };
    // What a sponsor writes before it is known who they are would be refused for good.
    let again = sponsors.ask().await;
    let read = async {
        let _ = leading.wait_for(|leading| *leading).await;
        source.run(journal).await
    };
    tokio::select! {
        biased;
        never = sponsors.keep_asking(again) => never,
        never = read => never,
    }
}

mod sponsors;
#[cfg(test)]
mod tests;
