//! The tool `read_chat`, which shows a page of a chat's older messages by the rules of the inbox.
//! It must never show a message of a person who may not write, or a message from before its author was let
//! in; it only says that something is left out.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{PATIENCE, TeamsProvider, beginning, failed};
use crate::graph::{Scope, fields};
use crate::incoming::Version;
use crate::teams::draft::draft;
use crate::teams::wire::{self, Message, MessageKind};
use entraclaw_inbox::gate::Verdict;
use entraclaw_mcp::Refusal;

/// The number of messages on a page when the model names none.
pub(super) const LIMIT_DEFAULT: u64 = 20;
/// The most messages on a page of Graph.
const LIMIT_MAX: u64 = 50;
/// The most bytes of one answer, without the text around it.
const ANSWER_BYTES_MAX: usize = 7_000;
/// The most bytes of one message's text; the inbox has, or had, the whole of a longer one.
const TEXT_BYTES_MAX: usize = 2_000;

/// Reads the argument `before`.
pub(super) fn before(text: &str) -> Result<Option<Timestamp>, Refusal> {
    if text.is_empty() {
        return Ok(None);
    }
    let fix = "before: expected a time such as 2026-01-31T09:30:00Z; take it from older_before";
    text.parse().map(Some).map_err(|_| fix.to_owned())
}

impl TeamsProvider {
    pub(super) async fn read_chat(
        &self,
        chat_id: &str,
        before: Option<Timestamp>,
        limit: u64,
    ) -> Result<Value, String> {
        self.check_chat(chat_id).await?;
        let client = &self.outbox.client;
        let (top, filter) =
            (limit.min(LIMIT_MAX).to_string(), before.map(|at| format!("createdDateTime lt {at}")));
        let mut query = vec![("$top", top.as_str()), ("$orderby", "createdDateTime desc")];
        if let Some(filter) = &filter {
            query.push(("$filter", filter));
        }
        let url = client.url(&["me", "chats", chat_id, "messages"], &query);
        let page = client.get(&url, Scope::Chat(chat_id), PATIENCE).await;
        let page = page.map_err(|error| failed("the chat could not be read", &error))?;
        let (messages, _) = fields::items(&page, wire::message);
        let (mut shown, mut bytes, mut left_out) = (Vec::new(), 0, 0_u64);
        let mut oldest = None;
        let mut more = page.get("@odata.nextLink").is_some();
        // The newest come first, so that older messages are left out where there is no room.
        for message in messages.iter().filter(|m| before.is_none_or(|at| m.created.is_none_or(|c| c < at))) {
            match self.line(chat_id, message) {
                Some(line) => {
                    let size = line.to_string().len() + 1;
                    if bytes + size > ANSWER_BYTES_MAX && !shown.is_empty() {
                        more = true;
                        break;
                    }
                    bytes += size;
                    shown.push(line);
                }
                None if message.kind == MessageKind::Text && !message.deleted => left_out += 1,
                None => {}
            }
            oldest = message.created.or(oldest);
        }
        shown.reverse();
        let older_before = oldest.filter(|_| more).map(|at| at.to_string());
        Ok(json!({"chat_id": chat_id, "messages": shown, "left_out": left_out, "older_before": older_before}))
    }

    /// A message as the page shows it; `None` when it must not be shown.
    fn line(&self, chat_id: &str, message: &Message) -> Option<Value> {
        let verdict = self.outbox.judge_message(message);
        let own = match verdict {
            Verdict::Own => true,
            Verdict::Accept => false,
            Verdict::Refuse(_) | Verdict::Later => self.outbox.known.was_sent(chat_id, &message.id),
        };
        let may = own || verdict == Verdict::Accept;
        if !may || message.kind != MessageKind::Text || message.deleted {
            return None;
        }
        let agent = self.outbox.known.agent();
        let now = self.outbox.client.server_now();
        let clean = draft(chat_id, "", message, Version::First, &agent, now);
        let mut text = clean.content_text_sanitized;
        let cut = text.len() > TEXT_BYTES_MAX;
        if cut {
            text = beginning(&text, TEXT_BYTES_MAX).to_owned();
        }
        let mut line = json!({
            "id": clean.id,
            "from": clean.from,
            "ts": clean.ts,
            "content_text_sanitized": text,
        });
        for name in ["attachments", "reply_to", "edited_at"] {
            if let Some(value) = clean.meta.get(name) {
                line[name] = json!(value);
            }
        }
        if own {
            line["own"] = json!(true);
        }
        if cut {
            line["cut"] = json!(true);
        }
        Some(line)
    }
}
