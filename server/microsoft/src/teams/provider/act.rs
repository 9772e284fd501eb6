//! The tools `react`, `edit_message` and `mark_read`, which act on messages and chats.
//! A repeated act must never do harm, and no act is done before the interaction log has it.

use serde_json::{Value, json};

use super::{TeamsProvider, failed};
use crate::graph::Scope;
use crate::outgoing;
use crate::teams::identity::identify;
use entraclaw_inbox::tool::OutgoingTeams;
use entraclaw_mcp::Refusal;

/// The default reaction; it says "seen".
pub(super) const REACTION_DEFAULT: &str = "👍";
/// The longest emoji in bytes, such as a family of four with skin tones.
const REACTION_BYTES_MAX: usize = 64;

pub(super) fn reaction(text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    let plain = |c: char| c.is_ascii() || c.is_alphanumeric() || c.is_whitespace() || c.is_control();
    // Keycap emoji begin with an ASCII character, so one character outside ASCII is enough.
    if text.is_empty() || text.len() > REACTION_BYTES_MAX || text.chars().all(plain) {
        return Err("reaction: expected one emoji; leave it out for 👍".to_owned());
    }
    Ok(text.to_owned())
}

impl TeamsProvider {
    pub(super) async fn react(
        &self,
        chat_id: &str,
        message_id: &str,
        reaction: &str,
        remove: bool,
    ) -> Result<Value, String> {
        self.check_chat(chat_id).await?;
        let action = if remove { "unsetReaction" } else { "setReaction" };
        self.log(chat_id, Some(message_id), format!("about to {action} {reaction}"));
        let client = &self.outbox.client;
        let url = client.url(&["chats", chat_id, "messages", message_id, action], &[]);
        let done = client.post(&url, &json!({"reactionType": reaction}), Scope::Chat(chat_id)).await;
        done.map_err(|error| failed("the reaction could not be changed", &error))?;
        Ok(json!({"chat_id": chat_id, "message_id": message_id, "reaction": reaction, "removed": remove}))
    }

    pub(super) async fn edit(&self, message_id: &str, message: &OutgoingTeams) -> Result<Value, String> {
        let chat_id = message.chat_id.as_str();
        let client = &self.outbox.client;
        let token = client.token().await;
        let content = outgoing::made_anew(&message.content, message.content_type, token.as_ref())
            .map_err(|error| format!("{error}; nothing was changed"))?;
        self.check_chat(chat_id).await?;
        self.log(chat_id, Some(message_id), "about to edit it".to_owned());
        let content_type = message.content_type.as_str();
        let body = json!({"body": {"contentType": content_type, "content": content}});
        let url = client.url(&["chats", chat_id, "messages", message_id], &[]);
        let done = client.patch(&url, &body, Scope::Chat(chat_id)).await;
        done.map_err(|error| failed("the message could not be edited; only your own can be", &error))?;
        Ok(json!({"edited": true, "chat_id": chat_id, "message_id": message_id}))
    }

    pub(super) async fn mark_read(&self, chat_id: &str) -> Result<Value, String> {
        self.check_chat(chat_id).await?;
        let client = &self.outbox.client;
        let _ = identify(client, &self.outbox.known).await;
        let agent = self.outbox.known.agent();
        let (Some(tenant_id), Some(object_id)) = (agent.tenant_id, agent.object_id) else {
            return Err("the agent's own ids are not known, so Teams can't be told who has read; set `identity.tenant_id` and `identity.object_id`".to_owned());
        };
        let body = json!({"user": {"id": object_id.as_str(), "tenantId": tenant_id.as_str()}});
        let url = client.url(&["chats", chat_id, "markChatReadForUser"], &[]);
        let done = client.post(&url, &body, Scope::Chat(chat_id)).await;
        done.map_err(|error| failed("the chat could not be marked as read", &error))?;
        Ok(json!({"chat_id": chat_id, "read": true}))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::reaction;

    #[rstest]
    #[case("👍", true)]
    #[case(" ❤️ ", true)]
    #[case("👨‍👩‍👧‍👦", true)]
    #[case("1️⃣", true)]
    #[case("like", false)]
    #[case("", false)]
    #[case("ü", false)]
    #[case("日本", false)]
    fn only_an_emoji_is_a_reaction(#[case] text: &str, #[case] good: bool) {
        assert_eq!(reaction(text).is_ok(), good);
    }
}
