//! Who the sponsors of the agent identity are, asked of Graph from time to time.
//! It must never take an answer that did not come, or an old one, for a sponsor.

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

/// How long an answer is good without a new one.
const ANSWER_LIFE: Duration = Duration::from_secs(3_600);
/// Time between two questions, after an answer and after none.
const ASK_INTERVAL: Duration = Duration::from_secs(900);
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// The least pause after a question that failed, whoever waits for the answer.
const WANTED_PAUSE: Duration = Duration::from_secs(10);
/// How long one question is repeated by rule.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sponsors that are read; an agent has a handful.
const SPONSORS_MAX: usize = 200;
const PAGES_MAX: usize = 4;

/// Asks who the sponsors are for ever, and says when that was first answered or given up.
pub(super) async fn know_sponsors(sponsors: Option<Sponsors>, asked: &watch::Sender<bool>) -> Infallible {
    let Some(sponsors) = sponsors else { return std::future::pending().await };
    sleep(NETWORK_PAUSE).await;
    sponsors.keep_asking(asked).await
}

/// Asks, and tells the gate.
pub(super) struct Sponsors {
    client: Arc<GraphClient>,
    gate: Arc<Gate>,
    known: Arc<Known>,
    agent_id: Guid,
}

impl Sponsors {
    /// Nothing where sponsors are not asked for. From now on the gate knows that they are not known yet.
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

    /// Asks again and again. An answer is good for a while without another one; a refusal is an answer too, namely that
    /// nobody is a sponsor, and what else fails leaves it open who is.
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
                        let nobody = is_refusal(&error).then(BTreeSet::new);
                        let trouble = trouble(&error, nobody.is_some());
                        self.gate.set_sponsors(nobody, Some(trouble));
                    }
                }
            }
            asked.send_replace(true);
            if failed { self.retry_pause().await } else { sleep(ASK_INTERVAL).await }
        }
    }

    /// Ends early when somebody waits for the answer, but never at once.
    async fn retry_pause(&self) {
        let wanted = async {
            sleep(WANTED_PAUSE).await;
            self.gate.sponsors_wanted().await;
        };
        // The end of the time is as good a reason to ask.
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
            let page = self.client.get(&url, Scope::Common, PATIENCE).await?.body;
            let Some(listed) = page.get("value").and_then(Value::as_array) else {
                return Err(GraphError::malformed("the list of sponsors has no `value`"));
            };
            // A group is nobody who could write.
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

/// What a person is told, with what helps.
fn trouble(error: &GraphError, is_refusal: bool) -> String {
    let so = if is_refusal { "none of them may write" } else { "what they write waits" };
    format!("it is not known who the sponsors of the agent are, so {so}: {error}; {}", error.advice())
}

/// Whether Graph has answered that it does not say, which asking again does not change by itself.
fn is_refusal(error: &GraphError) -> bool {
    matches!(
        error.failure,
        Failure::Forbidden | Failure::NotFound | Failure::BadRequest | Failure::Gone | Failure::Rejected
    )
}
