//! The sponsors of the agent identity: the people in the directory who are responsible for the agent.
//! As in the service, a list must show only ids; a client has to ask for each person to get more.

use serde_json::{Value, json};

use super::draw;
use super::reject::Rejection;
use super::rules::RuleId;
use super::script_error::ScriptError;
use super::state::{Call, FakeGraph, Reply};

/// The object id of the agent identity; it is the same in every world.
pub fn agent_identity_id() -> String {
    draw::guid(0, "agent-identity")
}

impl FakeGraph {
    /// Sets the sponsors from now on, by handle.
    pub fn set_sponsors(&mut self, handles: &[String]) -> Result<(), ScriptError> {
        for handle in handles {
            self.person(handle)?;
        }
        self.sponsors = handles.to_vec();
        Ok(())
    }

    pub(super) fn list_sponsors(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        call.trace.note(RuleId::SponsorsList);
        if call.route.principal.as_deref() != Some(agent_identity_id().as_str()) {
            return Err(Rejection::new(RuleId::SponsorsUnknown, 404, "no such agent identity"));
        }
        let ids = self.sponsors.iter().filter_map(|handle| self.people.people.get(handle));
        let sponsors: Vec<Value> = ids
            .map(|person| json!({"@odata.type": "#microsoft.graph.user", "id": person.object_id}))
            .collect();
        Ok(Reply::Json(
            200,
            json!({
                "@odata.context": format!("{}/v1.0/$metadata#directoryObjects(id)", self.base_url),
                "value": sponsors,
            }),
        ))
    }
}
