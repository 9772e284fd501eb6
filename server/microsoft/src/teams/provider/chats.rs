//! The tools `list_chats`, `watch_chat` and `unwatch_chat`: they list chats and choose those to hear in full.
//! It must never list a chat that no allowed person is in.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{PATIENCE, TeamsProvider, failed};
use crate::graph::Scope;
use crate::teams::identity::identify;
use crate::teams::send::{EXPANDED_MEMBERS_MAX, member_of};
use crate::teams::wire;
use entraclaw_inbox::gate::Verdict;
use entraclaw_sanitize::clean_name;

/// The number of chats in one answer when the model names none.
pub(super) const LIMIT_DEFAULT: u64 = 20;
/// The number of chats on a page of Graph.
const PAGE_SIZE: &str = "50";
/// The most people who are named for one chat.
const PEOPLE_NAMED_MAX: usize = 10;
/// The most bytes of one answer, without the text around it.
const ANSWER_BYTES_MAX: usize = 7_000;

impl TeamsProvider {
    pub(super) async fn list_chats(&self, limit: u64) -> Result<Value, String> {
        let client = &self.outbox.client;
        self.outbox.gate.look(&self.outbox.journal);
        let look = self.outbox.look();
        // A failure only leaves the agent's own tenant unknown; then fewer chats are shown.
        let _ = identify(client, &self.outbox.known).await;
        let query = [
            ("$expand", "members,lastMessagePreview"),
            ("$top", PAGE_SIZE),
            ("$orderby", "lastMessagePreview/createdDateTime desc"),
        ];
        let url = client.url(&["me", "chats"], &query);
        let page = client.get(&url, Scope::Common, PATIENCE).await;
        let page = page.map_err(|error| failed("the chats could not be listed", &error))?;
        let rows = page.get("value").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let watched = self.watched().chats();
        let (mut chats, mut bytes, mut not_allowed, mut left_out) = (Vec::new(), 0, 0_u64, 0_u64);
        for row in rows {
            let Some(chat) = wire::chat(row) else { continue };
            let listed = row.get("members").and_then(Value::as_array);
            let members = listed.map_or(&[][..], Vec::as_slice);
            // The list shows only some of the members of a large chat.
            let is_partial = listed.is_none_or(|members| members.len() >= EXPANDED_MEMBERS_MAX);
            let verdicts: Vec<Verdict> =
                members.iter().map(|m| self.outbox.judge_member(&member_of(m))).collect();
            let is_known = || self.outbox.known.is_accepted(&chat.id, look, Instant::now());
            if !(verdicts.contains(&Verdict::Accept) || is_partial && is_known()) {
                not_allowed += 1;
                continue;
            }
            let others = members.iter().zip(&verdicts).filter(|(_, verdict)| **verdict != Verdict::Own);
            let names: Vec<String> = others
                .take(PEOPLE_NAMED_MAX)
                .map(|(member, _)| {
                    clean_name(member.get("displayName").and_then(Value::as_str).unwrap_or(""))
                })
                .collect();
            let topic = clean_name(row.get("topic").and_then(Value::as_str).unwrap_or(""));
            let shown = json!({
                "chat_id": chat.id,
                "kind": clean_name(&chat.kind),
                "topic": topic,
                "people": names,
                "last_message_at": chat.preview.and_then(|p| p.created).map(|at| at.to_string()),
                "watched": watched.contains_key(&chat.id) && self.options.watchable.contains(&chat.id),
            });
            bytes += shown.to_string().len() + 1;
            if chats.len() as u64 >= limit || bytes > ANSWER_BYTES_MAX {
                left_out += 1;
                continue;
            }
            chats.push(shown);
        }
        let more = left_out > 0 || page.get("@odata.nextLink").is_some();
        Ok(json!({"chats": chats, "more": more, "not_allowed": not_allowed}))
    }

    pub(super) async fn watch(&self, chat_id: &str, on: bool) -> Result<Value, String> {
        if on {
            if !self.options.watchable.contains(chat_id) {
                return Err(
                    "chat_id: your user has not made this chat watchable; tell them that `teams.watchable` in the configuration decides".to_owned(),
                );
            }
            self.check_chat(chat_id).await?;
        }
        let now = on.then(|| self.outbox.client.server_now().to_string());
        let set = self.watched().set(chat_id, now);
        let changed =
            set.map_err(|error| format!("the list of watched chats could not be changed: {error}"))?;
        if changed {
            self.log(
                chat_id,
                None,
                if on { "watched from now on" } else { "not watched any more" }.to_owned(),
            );
        }
        Ok(json!({"chat_id": chat_id, "watched": on, "changed": changed}))
    }
}
