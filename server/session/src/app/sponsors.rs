//! Asks Graph from time to time for the sponsors of the agent identity.
//! It must never treat a missing or an old answer as one that names a sponsor.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::NETWORK_PAUSE;
use crate::config::Config;
use entraclaw_inbox::gate::{Gate, Guid};
use entraclaw_microsoft::graph::{Failure, GraphClient, GraphError, Scope};
use entraclaw_microsoft::teams::{Known, identify};

/// How long an answer is valid without a new one.
const ANSWER_LIFE: Duration = Duration::from_secs(3_600);
/// The pause after an answer.
const ASK_INTERVAL: Duration = Duration::from_secs(900);
/// The pause after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// The shortest pause after a failure, even if a message waits for the answer.
const WANTED_PAUSE: Duration = Duration::from_secs(10);
/// How long one request is repeated by its rules.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most sponsors that are read; an agent has a handful.
const SPONSORS_MAX: usize = 200;
const PAGES_MAX: usize = 4;

/// Asks for the sponsors for ever, and reports the first answer or failure to `asked`.
pub(super) async fn know_sponsors(sponsors: Option<Sponsors>, asked: &watch::Sender<bool>) -> Infallible {
    let Some(sponsors) = sponsors else { return std::future::pending().await };
    sleep(NETWORK_PAUSE).await;
    sponsors.keep_asking(asked).await
}

/// Asks for the sponsors and tells the gate.
pub(super) struct Sponsors {
    client: Arc<GraphClient>,
    gate: Arc<Gate>,
    known: Arc<Known>,
    agent_id: Guid,
}

impl Sponsors {
    /// `None` if sponsors are not asked for. Otherwise the gate knows from now on that the answer is outstanding.
    pub(super) fn new(
        config: &Config,
        client: Arc<GraphClient>,
        gate: Arc<Gate>,
        known: Arc<Known>,
    ) -> Option<Self> {
        let agent_id = config.identity.agent_id.clone().filter(|_| config.gate.sponsors)?;
        gate.set_sponsors(None, None);
        Some(Self { client, gate, known, agent_id })
    }

    /// Asks again and again. An answer is valid for a while. A refusal is an answer too: there is no sponsor. Any other
    /// failure leaves it open.
    async fn keep_asking(&self, asked: &watch::Sender<bool>) -> Infallible {
        let mut good_until: Option<Instant> = None;
        loop {
            let answer = self.sponsors().await;
            let failed = answer.is_err();
            match answer {
                Ok(sponsors) => {
                    tracing::info!(count = sponsors.len(), "the sponsors of the agent are known");
                    good_until = Some(Instant::now() + ANSWER_LIFE);
                    self.gate.set_sponsors(Some(sponsors), None);
                }
                Err(error) => {
                    tracing::warn!(%error, fix = error.advice(), "the sponsors of the agent are not known");
                    if good_until.is_none_or(|until| until <= Instant::now()) {
                        good_until = None;
                        let none = is_refusal(&error).then(BTreeSet::new);
                        let trouble = trouble(&error, none.is_some());
                        self.gate.set_sponsors(none, Some(trouble));
                    }
                }
            }
            asked.send_replace(true);
            if failed { self.retry_pause().await } else { sleep(ASK_INTERVAL).await }
        }
    }

    /// Waits before the next attempt; less if a message waits for the answer.
    async fn retry_pause(&self) {
        let wanted = async {
            sleep(WANTED_PAUSE).await;
            self.gate.sponsors_wanted().await;
        };
        // After the timeout it is time to ask as well.
        let _ = timeout(RETRY_INTERVAL, wanted).await;
    }

    async fn sponsors(&self) -> Result<BTreeSet<(Guid, Guid)>, GraphError> {
        identify(&self.client, &self.known).await?;
        let Some(tenant_id) = self.known.agent().tenant_id else {
            return Err(GraphError::malformed(
                "the agent's own tenant is not known, which its sponsors belong to",
            ));
        };
        let path = ["servicePrincipals", self.agent_id.as_str(), "microsoft.graph.agentIdentity", "sponsors"];
        let mut url = self.client.url(&path, &[("$select", "id")]);
        let mut sponsors = BTreeSet::new();
        for _ in 0..PAGES_MAX {
            let page = self.client.get(&url, Scope::Common, PATIENCE).await?;
            let Some(listed) = page.get("value").and_then(Value::as_array) else {
                return Err(GraphError::malformed("the list of sponsors has no `value`"));
            };
            // A group can't write messages.
            let people = listed.iter().filter(|one| {
                one.get("@odata.type")
                    .and_then(Value::as_str)
                    .is_none_or(|kind| kind == "#microsoft.graph.user")
            });
            let ids = people.filter_map(|one| one.get("id").and_then(Value::as_str).and_then(Guid::parse));
            sponsors.extend(ids.map(|id| (tenant_id.clone(), id)));
            match self.client.next_link(&page)? {
                Some(next) if sponsors.len() < SPONSORS_MAX => url = next,
                _ => break,
            }
        }
        Ok(sponsors)
    }
}

/// The text for a person, with the fix.
fn trouble(error: &GraphError, is_refusal: bool) -> String {
    let so = if is_refusal { "none of them may write" } else { "what they write waits" };
    format!("it is not known who the sponsors of the agent are, so {so}: {error}; {}", error.advice())
}

/// Whether Graph has refused to answer, which asking again would not change.
fn is_refusal(error: &GraphError) -> bool {
    matches!(
        error.failure,
        Failure::Forbidden | Failure::NotFound | Failure::BadRequest | Failure::Gone | Failure::Rejected
    )
}
