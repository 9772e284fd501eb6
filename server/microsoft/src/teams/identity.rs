//! Finds out who the agent is: from the configuration, else from its token, else from Graph.
//! It must never guess an unknown id, nor keep messages from being read because one is unknown.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::Known;
use crate::entra;
use crate::graph::{Failure, GraphClient, GraphError, Scope};
use entraclaw_inbox::gate::{Agent, Guid};

/// How long Graph is not asked again after an answer without the ids.
const IDENTITY_PAUSE: Duration = Duration::from_secs(600);

/// Finds out the ids of the agent that are not known yet. Fails only where asking again soon may help.
pub async fn identify(client: &GraphClient, known: &Known) -> Result<(), GraphError> {
    if known.agent().object_id.is_some() && known.agent().tenant_id.is_some() {
        return Ok(());
    }
    if let Some(token) = client.token().await {
        let claims = entra::claims(&token);
        known.learn_agent(Agent { tenant_id: claims.tenant_id, object_id: claims.object_id });
    }
    let now = Instant::now();
    if known.agent().object_id.is_some() || !known.may_ask_identity(now, IDENTITY_PAUSE) {
        return Ok(());
    }
    match client.get_once(&client.url(&["me"], &[]), Scope::Common).await {
        Ok(answer) => {
            let object_id = answer.get("id").and_then(Value::as_str).and_then(Guid::parse);
            known.learn_agent(Agent { tenant_id: None, object_id });
            Ok(())
        }
        Err(error)
            if matches!(error.failure, Failure::Forbidden | Failure::NotFound | Failure::BadRequest) =>
        {
            tracing::warn!(%error, "graph does not say who the agent is; set `identity.object_id`");
            Ok(())
        }
        Err(error) => {
            known.forget_identity_asked();
            Err(error)
        }
    }
}
