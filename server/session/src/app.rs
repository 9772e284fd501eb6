//! The whole server as one future over given seams: the journal, the sources and the connection to one host.
//! It must never use a clock, randomness, a file or a socket but through them, nor leave anything running when dropped.

mod ask;
mod bot;
mod context;
mod delegate;
mod health;
mod lead;
mod only;
mod sponsors;
#[cfg(test)]
mod tests;
mod while_leading;
mod work;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_concurrency::future::TryJoin as _;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};

use crate::config::Config;
use crate::status::{Keeper, WatchedSource};
use entraclaw_agents::{Finder, SystemFinder};
use entraclaw_delegate::provider::Connects;
use entraclaw_inbox::gate::{Agent, Gate, MailGate, PairingReply, PolicyNews};
use entraclaw_inbox::journal::{Interaction, Journal, JournalOptions};
use entraclaw_inbox::permission::{self, PermissionPort, REQUESTS_MAX, Relay, Teller};
use entraclaw_inbox::presence::Presence;
use entraclaw_inbox::provider::{self, SessionOptions};
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::rules::WaitCommand;
use entraclaw_inbox::source::{InboundSource, SourceStatus};
use entraclaw_inbox::tool::{MailProvider, ToolSet};
use entraclaw_inbox::upkeep::{LastRound, Upkeep};
use entraclaw_inbox::wake_up::{ActivityWatch, InboxSocket, NoWakeUps, Trust, WakeUpCarrier, WakeUps};
use entraclaw_mcp::Provider;
use entraclaw_microsoft::bot::{BotSource, Credentials, Endpoint, NoEndpoint};
use entraclaw_microsoft::entra::Auth;
use entraclaw_microsoft::entra::keys::{KeyStore, MemoryKeyStore};
use entraclaw_microsoft::entra::{
    EntraParts, SIGN_IN_RETRIES_MAX, TokenSource, graph_resource, token_source,
};
use entraclaw_microsoft::graph::{CHAT_SPACING, GraphClient, GraphParts};
use entraclaw_microsoft::http::HttpTransport;
use entraclaw_microsoft::mail::{GraphMailService, MailKnown, MailParts, MailSource, Quota};
use entraclaw_microsoft::teams::{Known, TeamsOutbox, TeamsParts, TeamsProvider, TeamsSource};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::{Processes, SimulatedProcesses};
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{MemoryStorage, Storage};

pub use self::context::ContextSeams;
use self::health::health;
use self::lead::keep_up;
use self::sponsors::{Sponsors, know_sponsors};
use self::while_leading::{listen, while_leading};
pub use entraclaw_mcp::Exit;

/// The head start of the host's first request before the network is used.
const NETWORK_PAUSE: Duration = Duration::from_millis(50);

/// The parts of a server.
pub struct App {
    /// The user's configuration.
    pub config: Config,
    /// A problem of the configuration or the home folder, with the fix; every tool then answers with it. Hosts hide stderr
    /// and never restart a server, so this is the only way to tell the user.
    pub trouble: Option<String>,
    /// The clock for wall time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids and jitter.
    pub random: Arc<dyn Random>,
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The path of the home folder, for messages; empty if it has none.
    pub home: String,
    /// The transport to Microsoft Graph.
    pub transport: Arc<dyn HttpTransport>,
    /// The transport to the authority where the agent signs in.
    pub login_transport: Arc<dyn HttpTransport>,
    /// The command that the model is told to leave running in its shell.
    pub wait: WaitCommand,
    /// The store of private keys and refresh tokens.
    pub keys: Arc<dyn KeyStore>,
    /// The endpoint at which the bot's activities arrive.
    pub endpoint: Arc<dyn Endpoint>,
    /// The wake-ups of hosts.
    pub wake_ups: Arc<dyn WakeUps>,
    /// The system's processes, for the jobs of this home.
    pub processes: Arc<dyn Processes>,
    /// The path of this program, which does the jobs of this home.
    pub program: PathBuf,
    /// The programs of other coding agents.
    pub finder: Arc<dyn Finder>,
    /// What shared context needs of the machine.
    pub context: ContextSeams,
    /// The way to the engine of the project; without one its tools say what to start.
    pub engine: Option<Connects>,
    /// Whether the chosen tools are all there is: no inbox and no source.
    pub is_only: bool,
    /// More providers beside the server's own.
    pub providers: Vec<Box<dyn Provider>>,
    /// The inbox socket of the host's session, if its environment names one.
    pub inbox_socket: Option<InboxSocket>,
    /// The id of the host's process, which its hooks know too, if the system tells.
    pub host_process: Option<String>,
    /// The state of the Teams source; a handle for a test or a report.
    pub teams_status: SourceStatus,
    /// The state of the mail source.
    pub mail_status: SourceStatus,
    /// The state of the bot.
    pub bot_status: SourceStatus,
    /// The state of the source of finished work.
    pub work_status: SourceStatus,
}

impl App {
    /// A server with a valid configuration. It signs in by the same transport, and has no keys, no endpoint for a bot, no
    /// wake-ups and no processes; all five can be set.
    pub fn new(
        config: Config,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
        storage: Arc<dyn Storage>,
        transport: Arc<dyn HttpTransport>,
    ) -> Self {
        let nowhere = PathBuf::from("/");
        let context = ContextSeams::simulated(MemoryStorage::new(), clock.clone(), nowhere.clone(), nowhere);
        let (teams_status, mail_status) = (SourceStatus::default(), SourceStatus::default());
        let (login_transport, keys) = (transport.clone(), Arc::new(MemoryKeyStore::default()));
        Self {
            config,
            trouble: None,
            clock,
            random,
            storage,
            home: String::new(),
            wait: WaitCommand::default(),
            transport,
            login_transport,
            keys,
            endpoint: Arc::new(NoEndpoint),
            wake_ups: Arc::new(NoWakeUps),
            processes: Arc::new(SimulatedProcesses::default()),
            program: PathBuf::from("entraclaw"),
            finder: Arc::new(SystemFinder::default()),
            context,
            engine: None,
            is_only: false,
            providers: Vec::new(),
            inbox_socket: None,
            host_process: None,
            teams_status,
            mail_status,
            bot_status: SourceStatus::default(),
            work_status: SourceStatus::default(),
        }
    }

    /// The source of its tokens.
    pub fn tokens(&self) -> Arc<dyn TokenSource> {
        self.tokens_after(SIGN_IN_RETRIES_MAX)
    }

    /// The source of its tokens for a user who waits: each step of a sign-in is repeated at most so often.
    pub fn tokens_after(&self, retries_max: u32) -> Arc<dyn TokenSource> {
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

    /// A client of Graph that has sent nothing yet.
    pub fn graph(&self, tokens: Arc<dyn TokenSource>) -> GraphClient {
        GraphClient::new(GraphParts {
            transport: self.transport.clone(),
            tokens,
            clock: self.clock.clone(),
            random: self.random.clone(),
            origin: self.config.graph.origin.clone(),
            request_timeout: self.config.graph.request_timeout,
            // A shorter poll interval is accepted only for a Graph on this machine.
            chat_spacing: CHAT_SPACING.min(self.config.teams.poll_interval),
        })
    }

    /// The gate for the people of the configuration, and for those of the policy once it is read.
    pub fn gate(&self) -> Gate {
        Gate::for_people(self.config.allow.clone()).with_policy(self.storage.clone())
    }

    /// The sources, for `entraclaw status`.
    fn watched_sources(&self) -> Vec<WatchedSource> {
        let (teams, mail, bot) = (&self.config.teams, &self.config.mail, &self.config.bot);
        let sources = [
            (teams.enabled, "teams", Some(teams.idle_poll_interval), &self.teams_status),
            (mail.enabled, "mail", Some(mail.poll_interval), &self.mail_status),
            (bot.enabled, "bot", None, &self.bot_status),
        ];
        let enabled = sources.into_iter().filter(|(enabled, ..)| *enabled);
        enabled
            .map(|(_, name, poll_interval, status)| WatchedSource {
                name,
                poll_interval,
                status: status.clone(),
            })
            .collect()
    }

    /// Whether this process can poll Teams or mail.
    fn can_poll(&self) -> bool {
        let any = self.config.teams.enabled || self.config.mail.enabled;
        self.trouble.is_none() && any && self.config.auth != Auth::None
    }

    /// Whether this process can receive for a bot.
    fn can_listen(&self) -> bool {
        self.trouble.is_none() && self.config.bot.enabled && Credentials::of(&self.config.bot).is_ok()
    }

    /// Whether this process has a source to run as the leader.
    fn may_lead(&self) -> bool {
        self.can_poll() || self.can_listen()
    }
}

/// Serves one host until its pipes end. Everything, sources included, stops when the returned future is dropped.
pub async fn run(app: App, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) -> Exit {
    if app.is_only {
        return only::serve(app, reader, writer).await;
    }
    // The future is large, so it is kept on the heap.
    Box::pin(serve(app, reader, writer)).await
}

async fn serve(mut app: App, reader: impl AsyncRead + Unpin, writer: impl AsyncWrite + Unpin) -> Exit {
    // Even a session with trouble writes its state into the home folder, if that can be used.
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
        storage: app.storage.clone(),
        random: app.random.clone(),
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
        gate: gate.clone(),
        upkeep: last_round.clone(),
        id: app.random.uuid(),
        pid: std::process::id(),
        may_lead: app.may_lead(),
        trouble: app.trouble.clone(),
    };
    let upkeep = Upkeep {
        journal: journal.clone(),
        storage: app.storage.clone(),
        clock: app.clock.clone(),
        limits: app.config.retention.clone(),
        others: vec![work::pruning(&app)],
        last: last_round,
    };

    let mut session =
        SessionOptions::new(journal.clone(), app.random.clone(), app.clock.clone(), Arc::new(outbox.clone()));
    session.wait = app.wait.clone();
    session.events = app.config.mcp.events;
    let bot = bot::source(&app, &gate, known.agent());
    let relay = relay(&app, &gate, &journal, &outbox, bot.as_ref());
    let relay = relay.map(|relay| {
        let (requests, asked) = mpsc::channel(REQUESTS_MAX);
        let (answered, answers) = mpsc::channel(REQUESTS_MAX);
        session.permission = Some(PermissionPort { requests, answers });
        permission::run(relay, asked, answered)
    });
    session.providers.push(Box::new(TeamsProvider {
        outbox: outbox.clone(),
        storage: app.storage.clone(),
        home: app.home.clone(),
        attachments_bytes_max: app.config.retention.attachments.bytes(),
        options: app.config.teams.clone(),
    }));
    session.providers.extend(bot.iter().map(|bot| Box::new(bot.provider(&journal)) as Box<dyn Provider>));
    session.providers.append(&mut app.providers);
    session.providers.extend(ask::provider(&app, true).map(|ask| Box::new(ask) as Box<dyn Provider>));
    session.providers.extend(context::provider(&app).map(|context| Box::new(context) as Box<dyn Provider>));
    session.providers.extend(delegate::provider(&mut app));
    session.connection.left_out_sets = ToolSet::left_out_of(&app.config.tools);
    session.connection.why_no_tools = ", for `tools.sets` names only sets whose source is off";
    session.consumer.clone_from(&app.config.inbox.consumer);
    session.connection.trouble.clone_from(&app.trouble);
    let activity = ActivityWatch::default();
    let wake_ups = app.trouble.is_none().then(|| WakeUpCarrier {
        wake_ups: app.wake_ups.clone(),
        settings: app.config.wake_ups.clone(),
        inbox: app.inbox_socket.clone(),
        process: app.host_process.clone(),
        storage: app.storage.clone(),
        trust: Trust { whole_text: app.config.whole_text, operator: app.config.gate.operator.clone() },
        journal: journal.clone(),
        clock: app.clock.clone(),
        activity: activity.clone(),
        presence: presence.clone(),
        id: app.random.uuid(),
    });
    let wake_ups = wake_ups.map(WakeUpCarrier::run);
    session.activity = activity;
    session.inbox_socket = app.config.wake_ups.inbox_socket && app.inbox_socket.is_some();
    session.presence = presence;
    session.listens_to = listens_to(&app.config);
    session.health = Some(health(&app, &tokens, gate.clone(), &journal));
    if app.config.mail.enabled {
        session.providers.push(Box::new(MailProvider(Arc::new(GraphMailService {
            client: client.clone(),
            journal: journal.clone(),
            gate: mail_gate.clone(),
            random: app.random.clone(),
            quota: Arc::new(Quota::new(app.config.mail.messages_per_hour)),
        }))));
    }

    let work = work::source(&app);
    let (lead, leading) = watch::channel(journal.is_leader());
    let (polls, may_lead) = (app.can_poll(), app.may_lead());
    let asks = may_lead && app.config.auth != Auth::None;
    let sponsors =
        asks.then(|| Sponsors::new(&app.config, client.clone(), gate.clone(), known.clone())).flatten();
    let (sponsors_known, sponsored) = watch::channel(sponsors.is_none());
    if may_lead && gate.is_closed() && sponsors.is_none() {
        tracing::warn!(
            "the allowlist is empty, so no person can write to the agent; add [[allow]] or ENTRACLAW_ALLOW"
        );
    }
    let mail = MailSource::new(
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
    let teams = TeamsSource::new(
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
    let teams = polled(teams, polls && app.config.teams.enabled);
    let mail = polled(mail, polls && app.config.mail.enabled);
    // A selection would poll all of them whenever one was woken. This polls those that were, in this order, so that a
    // simulated run can be repeated.
    let parts = [
        provider::serve(session, reader, writer).map(Err).boxed_local(),
        endless(keep_up(&journal, &gate, &*app.storage, &lead, may_lead)),
        endless(while_leading(work, &journal, leading.clone())),
        endless(send_pairings(pairings, &outbox)),
        endless(or_never(relay)),
        endless(or_never(wake_ups)),
        endless(know_sponsors(sponsors, &sponsors_known)),
        endless(listen(bot, &journal, leading.clone(), sponsored.clone())),
        endless(listen(teams, &journal, leading.clone(), sponsored.clone())),
        endless(listen(mail, &journal, leading.clone(), sponsored)),
        endless(tokens.keep_fresh()),
        endless(upkeep.run(leading.clone())),
        endless(keeper.run(leading)),
    ];
    let Err(exit) = parts.try_join().await;
    exit
}

/// A part of the server that the end of the connection ends.
fn endless<'a>(part: impl Future<Output = Infallible> + 'a) -> LocalBoxFuture<'a, Result<Infallible, Exit>> {
    part.map(Ok).boxed_local()
}

/// The source, if it is polled.
fn polled<S: InboundSource>(source: S, polls: bool) -> Option<S> {
    if !polls {
        let name = source.name();
        tracing::info!("{name} is not polled: there is no usable sign-in, or `{name}.enabled` is false");
    }
    polls.then_some(source)
}

/// The names of the sources for people.
fn listens_to(config: &Config) -> Vec<&'static str> {
    let sources =
        [(config.teams.enabled, "Teams"), (config.mail.enabled, "mail"), (config.bot.enabled, "the bot")];
    sources.into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect()
}

/// The gate of a configuration, and the pairing codes to send to strangers.
fn gate(app: &App) -> (Arc<Gate>, Option<mpsc::Receiver<PairingReply>>) {
    let gate = app.gate();
    if !app.config.gate.pairing {
        return (Arc::new(gate), None);
    }
    let (gate, pairings) = gate.with_pairing(app.clock.clone(), app.random.clone());
    (Arc::new(gate), Some(pairings))
}

fn relay(
    app: &App,
    gate: &Arc<Gate>,
    journal: &Journal,
    outbox: &TeamsOutbox,
    bot: Option<&BotSource>,
) -> Option<Relay> {
    let teams = (app.config.auth != Auth::None).then(|| Arc::new(outbox.clone()) as Arc<dyn Teller>);
    let bot = bot.map(|bot| Arc::new(bot.outbox(journal)) as Arc<dyn Teller>);
    let ways = [(Channel::Teams, teams), (Channel::Bot, bot)];
    let ways: BTreeMap<_, _> = ways.into_iter().filter_map(|(channel, way)| Some((channel, way?))).collect();
    let wanted = app.config.gate.permission_relay && app.trouble.is_none();
    (wanted && !ways.is_empty()).then(|| Relay {
        ways,
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

/// Sends pairing codes to strangers, one after another.
async fn send_pairings(pairings: Option<mpsc::Receiver<PairingReply>>, outbox: &TeamsOutbox) -> Infallible {
    let Some(mut pairings) = pairings else { return std::future::pending().await };
    while let Some(reply) = pairings.recv().await {
        // A leader that was replaced must not send the code a second time.
        if !outbox.journal.leads() {
            continue;
        }
        // A failed send is not repeated: the person gets no other code for an hour either way.
        if let Err(error) = outbox.tell(&reply.chat_id, reply.html()).await {
            tracing::warn!(%error, who = reply.who, "a pairing code could not be sent");
        }
    }
    std::future::pending().await
}

/// Opens the journal. One that can't be opened is replaced by an empty one in memory, and every tool says why.
fn open_journal(app: &mut App) -> Journal {
    // A session without a source must not keep the lead from one that has a source.
    let options = JournalOptions { may_lead: app.may_lead(), ..JournalOptions::default() };
    if app.trouble.is_some() {
        // A session with trouble does nothing, so it must not write either.
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
            // The leader of the real journal goes on; this session must not change it.
            app.storage = Arc::new(MemoryStorage::new());
            let opened = Journal::open(app.storage.clone(), app.clock.clone(), options);
            opened
                .map_or_else(|error| unreachable!("memory takes everything: {error}"), |(journal, _)| journal)
        }
    }
}
