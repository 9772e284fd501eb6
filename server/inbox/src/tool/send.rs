//! `send_teams_message`: the check of the model's arguments, and the words of the result.
//!
//! It must never send anything before every argument is checked; the outbox judges the chat.

use std::sync::Arc;

use entraclaw_mcp::{Answer, Arguments, Begun, Call, Connection, Offer, Offers, Provider, Refusal};
use rmcp::model::Tool;
use serde_json::{Map, Value, json};

use super::catalog::{tool, writes};
use super::outbox::{ContentType, Outbox, OutgoingTeams, SendError, Sent};
use super::results::SendResult;
use super::set::ToolSet;
use super::texts;
use crate::record::{NO_REPLY, WORK_CHAT, WORK_ID};

/// The tool that writes in a Teams chat.
pub const SEND_TEAMS_MESSAGE: &str = "send_teams_message";

/// The largest content that Teams takes, in bytes: about 28 kB, by Microsoft's limits for Teams messages.
pub const CONTENT_BYTES_MAX: usize = 28 * 1024;

/// The most messages that one answer can refer to.
pub(crate) const REPLY_TO_MAX: usize = 10;

/// The longest chat or message id, in bytes; real ones have under 200.
const ID_BYTES_MAX: usize = 1_024;

fn tool_send() -> Tool {
    tool(
        SEND_TEAMS_MESSAGE,
        "Send Teams message",
        texts::SEND,
        &json!({
            "chat_id": {"type": "string", "description": "The chat_id of the message that you answer."},
            "content": {"type": "string", "description": format!("The text, at most {CONTENT_BYTES_MAX} bytes.")},
            "content_type": {"type": "string", "enum": ["html", "text"], "default": "html", "description":
                "html: simple tags such as <p>, <b>, <ul>, <code>; escape & and < yourself. text: shown as it is."},
            "reply_to": {"type": "array", "items": {"type": "string"}, "maxItems": REPLY_TO_MAX, "default": [], "description":
                "Ids of the messages that you answer, for a reference in the chat."}
        }),
        &["chat_id", "content"],
        writes(),
        true,
    )
}

/// The tool that sends in Teams, over an outbox.
pub struct SendProvider(
    /// The service that judges the chat and sends.
    pub Arc<dyn Outbox>,
);

impl Provider for SendProvider {
    fn offers(&self) -> Offers {
        Offers { tools: vec![Offer::new(ToolSet::Reply.as_str(), tool_send())], ..Offers::default() }
    }

    fn call(&mut self, call: Call<'_>, _: &mut Connection) -> Result<Begun, Refusal> {
        let message = outgoing(call.arguments)?;
        let (answers, chat_id) = (message.reply_to.clone(), message.chat_id.clone());
        let sending = self.0.send_teams_message(message);
        Ok(Begun::Work { answers, work: Box::pin(async move { answer(chat_id, sending.await) }) })
    }
}

pub(crate) fn outgoing(arguments: Map<String, Value>) -> Result<OutgoingTeams, Refusal> {
    let mut arguments = Arguments::new(arguments);
    let message = content(&mut arguments)?;
    let reply_to = arguments.texts("reply_to", REPLY_TO_MAX)?;
    arguments.finish()?;
    if reply_to.iter().any(|id| id.starts_with(WORK_ID)) {
        return Err(format!("reply_to: {NO_REPLY}"));
    }
    if reply_to.iter().any(|id| id.is_empty() || id.len() > ID_BYTES_MAX || id.contains(char::is_control)) {
        return Err("reply_to: holds something that is no message id; copy the id of the message".to_owned());
    }
    Ok(OutgoingTeams { reply_to, ..message })
}

/// Reads the chat and the content from the arguments.
pub fn content(arguments: &mut Arguments) -> Result<OutgoingTeams, Refusal> {
    let chat_id = arguments.required_text("chat_id", "the chat_id of the message that you answer")?;
    let content = arguments.required_text("content", "the text to send")?;
    let content_type = content_type(arguments)?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(format!(
            "content: {} bytes are more than the {CONTENT_BYTES_MAX} that Teams takes; nothing was sent; send it in parts or shorten it",
            content.len()
        ));
    }
    if chat_id == "email" {
        return Err(
            "chat_id: this message came by mail; nothing was sent; answer with send_email and its id in reply_to"
                .to_owned(),
        );
    }
    if chat_id == WORK_CHAT {
        return Err(format!("chat_id: {NO_REPLY}"));
    }
    if chat_id.len() > ID_BYTES_MAX || chat_id.contains(char::is_control) {
        return Err("chat_id: this is no chat id; copy the chat_id of the message that you answer".to_owned());
    }
    Ok(OutgoingTeams { chat_id, content, content_type, reply_to: Vec::new() })
}

/// How the text of a message is written.
pub(super) fn content_type(arguments: &mut Arguments) -> Result<ContentType, Refusal> {
    match arguments.text("content_type", "html")?.as_str() {
        "html" => Ok(ContentType::Html),
        "text" => Ok(ContentType::Text),
        _ => Err("content_type: expected \"html\" or \"text\"; leave it out for html".to_owned()),
    }
}

pub(crate) fn answer(chat_id: String, outcome: Result<Sent, SendError>) -> Answer {
    let error = match outcome {
        Ok(Sent { message_id, ts }) => {
            return Answer::json(&SendResult { sent: true, chat_id, message_id, ts });
        }
        Err(error) => error,
    };
    let fix = match &error {
        SendError::UnknownChat => {
            "chat_id: {error}; nothing was sent; copy the chat_id of the message that you answer"
        }
        SendError::NotAllowed => {
            "chat_id: {error}; nothing was sent; nobody in it may write to you, or it is switched off; tell your user, who lets people in with `entraclaw allow` or `entraclaw pair`"
        }
        SendError::TooLarge { .. } => "content: {error}; nothing was sent; send it in parts or shorten it",
        SendError::Refused(_) | SendError::Graph(_) => "{error}; nothing was sent",
        SendError::UnknownOutcome(_) => "{error}; look in the chat, or ask, before you send it again",
    };
    Answer::error(&fix.replace("{error}", &error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(arguments: &Value) -> Result<OutgoingTeams, Refusal> {
        content(&mut Arguments::new(arguments.as_object().unwrap().clone()))
    }

    #[rstest::rstest]
    #[case::as_long_as_is_taken("c".repeat(ID_BYTES_MAX), None)]
    #[case::longer("c".repeat(ID_BYTES_MAX + 1), Some("chat_id: this is no chat id"))]
    #[case::control("19:a\n@thread.v2".to_owned(), Some("chat_id: this is no chat id"))]
    #[case::mail("email".to_owned(), Some("chat_id: this message came by mail"))]
    #[case::work(WORK_CHAT.to_owned(), Some("chat_id: "))]
    fn a_chat_id_is_checked(#[case] chat_id: String, #[case] refusal: Option<&str>) {
        let read = read(&json!({"chat_id": chat_id, "content": "x"}));
        match refusal {
            None => assert_eq!(read.unwrap().chat_id, chat_id),
            Some(start) => assert!(read.unwrap_err().starts_with(start)),
        }
    }

    #[test]
    fn a_text_may_be_as_long_as_is_said_and_no_longer() {
        let with = |bytes: usize| read(&json!({"chat_id": "19:a", "content": "x".repeat(bytes)}));
        assert_eq!(with(CONTENT_BYTES_MAX).unwrap().content.len(), CONTENT_BYTES_MAX);
        let refusal = with(CONTENT_BYTES_MAX + 1).unwrap_err();
        assert!(
            refusal.starts_with(&format!("content: {} bytes are more", CONTENT_BYTES_MAX + 1)),
            "{refusal}"
        );
    }
}
