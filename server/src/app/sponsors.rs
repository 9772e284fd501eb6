//! Who the sponsors of the agent identity are, asked of Graph from time to time.
//! It must never take an answer that did not come, or an old one, for a sponsor.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::NETWORK_PAUSE;
use crate::config::Config;
use crate::gate::{Gate, Guid};
use crate::graph::{GraphClient, GraphError, Scope};
use crate::source::teams::{Known, identify};

/// How long an answer is good without a new one.
const ANSWER_LIFE: Duration = Duration::from_secs(3_600);
/// Time between two questions, after an answer and after none.
const ASK_INTERVAL: Duration = Duration::from_secs(900);
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
/// How long one question is repeated by rule.
const PATIENCE: Duration = Duration::from_secs(10);
/// Sponsors that are read; an agent has a handful.
const SPONSORS_MAX: usize = 200;
const PAGES_MAX: usize = 4;

/// Asks who the sponsors are, and says when that was first answered or given up.
pub(super) async fn know_sponsors(sponsors: Option<Sponsors>, known: &watch::Sender<bool>) -> Infallible {
    let Some(sponsors) = sponsors else { return std::future::pending().await };
    sleep(NETWORK_PAUSE).await;
    let good_until = sponsors.ask().await;
    known.send_replace(true);
    sponsors.keep_asking(good_until).await
}

/// Asks, and tells the gate.
pub(super) struct Sponsors {
    client: Arc<GraphClient>,
    gate: Arc<Gate>,
    known: Arc<Known>,
    agent_id: Guid,
}

impl Sponsors {
    /// Nothing where sponsors are not asked for.
    pub(super) fn new(
        config: &Config,
        client: Arc<GraphClient>,
        gate: Arc<Gate>,
        known: Arc<Known>,
    ) -> Option<Self> {
        let agent_id = config.identity.agent_id.clone().filter(|_| config.gate.sponsors)?;
        Some(Self { client, gate, known, agent_id })
    }

    /// Asks once. Returns when the answer, if one came, is no longer good.
    pub(super) async fn ask(&self) -> Option<Instant> {
        match self.sponsors().await {
            Ok(sponsors) => {
                tracing::info!(count = sponsors.len(), "the sponsors of the agent are known");
                self.gate.set_sponsors(sponsors);
                Some(Instant::now() + ANSWER_LIFE)
            }
            Err(error) => {
                tracing::warn!(%error, fix = error.advice(), "the sponsors of the agent are not known");
                None
            }
        }
    }

    /// Asks again and again. `good_until` is of the answer that the gate has.
    pub(super) async fn keep_asking(&self, mut good_until: Option<Instant>) -> Infallible {
        let mut failed = good_until.is_none();
        loop {
            sleep(if failed { RETRY_INTERVAL } else { ASK_INTERVAL }).await;
            let answered = self.ask().await;
            failed = answered.is_none();
            good_until = answered.or(good_until);
            if good_until.is_some_and(|until| until <= Instant::now()) {
                good_until = None;
                self.gate.set_sponsors(BTreeSet::new());
            }
        }
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
