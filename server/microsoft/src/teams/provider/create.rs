//! The tool `create_chat`, which creates a chat with allowed people.
//! It must never add a person whom the gate does not accept, nor create a group twice because an answer was
//! lost.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{TeamsProvider, failed};
use crate::graph::Scope;
use crate::teams::identity::identify;
use crate::teams::wire;
use entraclaw_inbox::gate::{Guid, Sender, SenderKind, Verdict};
use entraclaw_mcp::Refusal;
use entraclaw_sanitize::clean_name;

/// The most people in a new chat beside the agent.
pub(super) const PEOPLE_MAX: usize = 20;
/// Teams' limit for a topic, in characters.
const TOPIC_CHARS_MAX: usize = 250;
/// The character that Teams refuses in a topic.
const TOPIC_WITHOUT: char = ':';

/// The people and the topic of the wanted chat.
pub(super) struct Wanted {
    people: Vec<(Option<Guid>, Guid)>,
    topic: String,
}

pub(super) fn wanted(people: &[String], topic: &str) -> Result<Wanted, Refusal> {
    let fix = "people: expected the sender_id of a message, or sender_tenant_id/sender_id";
    let person = |text: &String| match text.split_once('/') {
        Some((tenant, object)) => Some((Some(Guid::parse(tenant.trim())?), Guid::parse(object.trim())?)),
        None => Some((None, Guid::parse(text.trim())?)),
    };
    let people: Vec<_> = people.iter().map(person).collect::<Option<_>>().ok_or_else(|| fix.to_owned())?;
    if people.is_empty() {
        return Err("people: nobody is named; name at least one".to_owned());
    }
    let topic = clean_name(topic);
    if topic.chars().count() > TOPIC_CHARS_MAX || topic.contains(TOPIC_WITHOUT) {
        return Err(format!("topic: at most {TOPIC_CHARS_MAX} characters and no colon; shorten it"));
    }
    if people.len() == 1 && !topic.is_empty() {
        return Err("topic: a chat of two has none; leave it out, or name more people".to_owned());
    }
    Ok(Wanted { people, topic })
}

impl TeamsProvider {
    pub(super) async fn create_chat(&self, wanted: Wanted) -> Result<Value, String> {
        let (client, known) = (&self.outbox.client, &self.outbox.known);
        self.outbox.gate.look(&self.outbox.journal);
        let _ = identify(client, known).await;
        let look = self.outbox.look();
        let agent = known.agent();
        let Some(own) = agent.object_id.clone() else {
            return Err("the agent's own id is not known, so it can't be a member; set `identity.object_id`"
                .to_owned());
        };
        for (tenant, object) in &wanted.people {
            let sender = Sender {
                tenant_id: tenant.as_ref().map(Guid::as_str),
                object_id: Some(object.as_str()),
                kind: SenderKind::Person,
            };
            if self.outbox.gate.decide(&sender, &agent) != Verdict::Accept {
                return Err(format!(
                    "people: {object} may not write to you, so no chat was created; tell your user, who can allow them in the configuration"
                ));
            }
        }
        let users = client.url(&["users"], &[]);
        let member = |tenant: Option<&Guid>, id: &Guid| {
            let mut member = json!({
                "@odata.type": "#microsoft.graph.aadUserConversationMember",
                "roles": ["owner"],
                "user@odata.bind": format!("{users}('{id}')"),
            });
            if let Some(tenant) = tenant.filter(|tenant| agent.tenant_id.as_ref() != Some(*tenant)) {
                member["tenantId"] = json!(tenant.as_str());
            }
            member
        };
        let mut members = vec![member(None, &own)];
        members.extend(wanted.people.iter().map(|(tenant, id)| member(tenant.as_ref(), id)));
        let kind = if wanted.people.len() == 1 { "oneOnOne" } else { "group" };
        let mut body = json!({"chatType": kind, "members": members});
        if !wanted.topic.is_empty() {
            body["topic"] = json!(wanted.topic);
        }
        self.log("", None, format!("about to create a {kind} chat with {} people", wanted.people.len()));
        let url = client.url(&["chats"], &[]);
        let created = client.post(&url, &body, Scope::Common).await.map_err(|error| {
            let lost = if error.was_not_applied() || kind == "oneOnOne" {
                ""
            } else {
                "; it may exist all the same: look at list_chats before you try again"
            };
            format!("{}{lost}", failed("the chat could not be created", &error))
        })?;
        let chat =
            wire::chat(&created).ok_or("graph created a chat without saying its id; look at list_chats")?;
        known.accept_chat(&chat.id, look, Instant::now());
        self.log(&chat.id, None, format!("created this {kind} chat"));
        Ok(json!({"chat_id": chat.id, "kind": kind}))
    }
}

#[cfg(test)]
mod tests {
    use super::wanted;

    const ALICE: &str = "11111111-1111-4111-8111-111111111111";

    #[test]
    fn people_are_ids() {
        let of = |people: &[&str], topic: &str| {
            wanted(&people.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>(), topic).map(|w| w.people.len())
        };
        assert_eq!(of(&[ALICE], ""), Ok(1));
        assert_eq!(of(&[&format!("{ALICE}/{ALICE}"), ALICE], "Plans"), Ok(2));
        for (people, topic) in
            [(&["Alice"][..], ""), (&[], ""), (&[ALICE], "Plans"), (&[ALICE, ALICE], "a: b")]
        {
            assert!(of(people, topic).is_err(), "{people:?} {topic:?}");
        }
    }
}
