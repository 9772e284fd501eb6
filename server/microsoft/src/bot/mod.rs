//! The Bot Gateway: it takes activities from the Bot Framework's channel for Teams at an endpoint on this
//! machine, and answers through the channel's connector. It must never believe an activity whose token has
//! not passed every check, never listen without credentials, and never have a switch that turns a check off.

mod connector;
mod conversations;
mod draft;
mod endpoint;
mod http;
mod intake;
mod judge;
mod jwt;
mod keys;
mod provider;
mod service;
mod settings;
mod strangers;
mod token;
mod wire;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use jiff::Timestamp;
use tokio::sync::mpsc;

pub use conversations::{CONVERSATIONS_FILE, Conversation, Conversations};
pub use endpoint::{BOT_BODY_BYTES_MAX, BotReply, BotRequest, Endpoint, NoEndpoint, Reception};
pub use http::HttpEndpoint;
pub use provider::BotProvider;
pub use settings::Settings;

use self::connector::{Connector, Outgoing};
use self::intake::Intake;
use self::keys::Keys;
use self::token::Tokens;
use crate::http::HttpTransport;
use entraclaw_inbox::gate::pairing::OPEN_PAIRINGS_MAX;
use entraclaw_inbox::gate::{Agent, Gate, Guid};
use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::permission::Teller;
use entraclaw_inbox::source::{InboundSource, SourceStatus};
use entraclaw_inbox::tool::{SendError, Sent};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::secret::Secret;
use entraclaw_seams::storage::Storage;

/// Pause before the endpoint tries to listen again.
const LISTEN_PAUSE: Duration = Duration::from_millis(500);
/// The number of failures to listen between two lines of the log.
const FAILURES_PER_LINE: u32 = 120;

/// The credentials with which the bot signs in; without them it does not listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The bot's application id, which every token must be for.
    pub app_id: Guid,
    /// The tenant of that application.
    pub tenant_id: Guid,
    /// The secret of that application, from the environment.
    pub secret: Secret,
}

impl Credentials {
    /// Takes the credentials from the settings.
    ///
    /// # Errors
    /// A sentence that names the missing setting, and the fix.
    pub fn of(options: &Settings) -> Result<Self, String> {
        let missing =
            |what: &str, fix: &str| format!("the bot endpoint does not listen, because {what}; {fix}");
        let app_id = options.app_id.clone().ok_or_else(|| {
            missing("`bot.app_id` is not set", "set it to the application id of the bot's registration")
        })?;
        let tenant_id = options.tenant_id.clone().ok_or_else(|| {
            missing("`bot.tenant_id` is not set", "set it to the tenant of the bot's registration")
        })?;
        let secret = options.secret.clone().ok_or_else(|| {
            let fix = "set ENTRACLAW_BOT_APP_PASSWORD in the environment; it is never kept in the file";
            missing("the bot has no secret", fix)
        })?;
        Ok(Self { app_id, tenant_id, secret })
    }
}

/// The parts that a [`BotSource`] is built from.
#[derive(Clone)]
pub struct BotParts {
    /// The HTTP client for the channel's keys, the login service and the connector.
    pub transport: Arc<dyn HttpTransport>,
    /// The endpoint at which activities arrive.
    pub endpoint: Arc<dyn Endpoint>,
    /// The storage that holds the conversations.
    pub storage: Arc<dyn Storage>,
    /// The clock by which the lifetime of tokens is checked.
    pub clock: Arc<dyn Clock>,
    /// The gate, which decides who may speak.
    pub gate: Arc<Gate>,
    /// The ids of the agent.
    pub agent: Agent,
    /// The settings of the `[bot]` table.
    pub options: Settings,
}

/// The source that listens for activities.
pub struct BotSource {
    parts: BotParts,
    app_id: Guid,
    tokens: Arc<Tokens>,
    status: SourceStatus,
}

/// Sends words of the server's own to conversations of the bot; a cheap clone.
#[derive(Clone)]
pub struct BotOutbox {
    connector: Connector,
}

impl BotOutbox {
    /// Sends HTML to a conversation, if a person who may speak now has spoken there. No model is asked, and
    /// no model can reach this.
    ///
    /// # Errors
    /// The reason why the message did not arrive, or may not have arrived.
    pub async fn tell(&self, conversation_id: &str, html: String) -> Result<Sent, SendError> {
        self.connector.send(&Outgoing::own_words(conversation_id, html)).await
    }
}

impl Teller for BotOutbox {
    fn now(&self) -> Timestamp {
        self.connector.clock.now()
    }

    fn tell<'a>(&'a self, chat_id: &'a str, html: String) -> LocalBoxFuture<'a, Result<Sent, SendError>> {
        BotOutbox::tell(self, chat_id, html).boxed_local()
    }
}

impl BotSource {
    /// Builds a source that reports to an existing status handle.
    pub fn new(parts: BotParts, credentials: Credentials, status: SourceStatus) -> Self {
        let app_id = credentials.app_id.clone();
        let tokens = Tokens::new(parts.transport.clone(), &parts.options.login_url, credentials);
        Self { parts, app_id, tokens: Arc::new(tokens), status }
    }

    /// The provider whose tool answers in conversations.
    pub fn provider(&self, journal: &Journal) -> BotProvider {
        BotProvider { connector: self.connector(journal) }
    }

    /// The outbox for the server's own words.
    pub fn outbox(&self, journal: &Journal) -> BotOutbox {
        BotOutbox { connector: self.connector(journal) }
    }

    fn connector(&self, journal: &Journal) -> Connector {
        let parts = &self.parts;
        Connector {
            transport: parts.transport.clone(),
            storage: parts.storage.clone(),
            clock: parts.clock.clone(),
            journal: journal.clone(),
            gate: parts.gate.clone(),
            agent: parts.agent.clone(),
            tokens: self.tokens.clone(),
            loopback: parts.options.trusts_loopback(),
        }
    }

    async fn listen(&self, journal: &Journal) -> Infallible {
        let parts = &self.parts;
        let keys = Keys::new(parts.transport.clone(), parts.options.openid_url.clone());
        let (strangers, waiting) = mpsc::channel(OPEN_PAIRINGS_MAX);
        let intake = Intake::new(parts, journal, self.status.clone(), self.app_id.clone(), &keys, strangers);
        let address = parts.options.listen;
        let serving = async {
            let mut failures: u32 = 0;
            loop {
                let error = parts.endpoint.serve(address, &intake).await;
                if failures.is_multiple_of(FAILURES_PER_LINE) {
                    tracing::warn!(%error, %address, "the bot endpoint can't listen");
                }
                failures = failures.saturating_add(1);
                self.status.update(|state| {
                    state.failures = state.failures.saturating_add(1);
                    state.error = Some(format!(
                        "the bot endpoint can't listen at {address}: {error}; end whoever has the port (a session that was stopped keeps it until it is resumed or ended), or set `bot.listen`"
                    ));
                });
                tokio::time::sleep(LISTEN_PAUSE).await;
            }
        };
        tokio::select! {
            biased;
            never = intake.keep_saving() => never,
            never = strangers::tell(self.connector(journal), waiting) => never,
            never = serving => never,
        }
    }
}

impl InboundSource for BotSource {
    fn name(&self) -> &'static str {
        "bot"
    }

    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible> {
        self.listen(journal).boxed_local()
    }

    fn status(&self) -> SourceStatus {
        self.status.clone()
    }
}

#[cfg(test)]
mod tests;
