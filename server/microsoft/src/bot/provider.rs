//! The bot as a provider: its one tool answers in the bot's conversations.
//! It must never send anything before every argument is checked.

use serde_json::{Map, Value, json};

use super::connector::{Connector, Outgoing};
use super::wire::is_id;
use entraclaw_inbox::record::{NO_REPLY, WORK_CHAT, WORK_ID};
use entraclaw_inbox::tool::catalog::{tool, writes};
use entraclaw_inbox::tool::{CONTENT_BYTES_MAX, SendError, SendResult, Sent, ToolSet};
use entraclaw_mcp::{Answer, Arguments, Begun, Call, Connection, Offer, Offers, Provider, Refusal};

/// The name of the tool.
const SEND_BOT_MESSAGE: &str = "send_bot_message";
const DESCRIPTION: &str = "\
Answers in a conversation with your bot: for messages whose channel is bot. Take conversation_id from the message's chat_id, \
and put its id in reply_to. Only conversations in which somebody who may write to you has spoken are accepted. It is sent \
once, as plain text. Returns {\"sent\":true,\"chat_id\":...,\"message_id\":...,\"ts\":...}.";

/// The provider of the bot's tool.
#[derive(Clone)]
pub struct BotProvider {
    pub(super) connector: Connector,
}

impl Provider for BotProvider {
    fn offers(&self) -> Offers {
        let tool = tool(
            SEND_BOT_MESSAGE,
            "Answer as the bot",
            DESCRIPTION,
            &json!({
                "conversation_id": {"type": "string", "description": "The chat_id of the message that you answer."},
                "content": {"type": "string", "description": format!("The text, at most {CONTENT_BYTES_MAX} bytes.")},
                "reply_to": {"type": "string", "default": "", "description": "Id of the message that you answer. Empty: none."}
            }),
            &["conversation_id", "content"],
            writes(),
            false,
        );
        Offers { tools: vec![Offer::new(ToolSet::Bot.as_str(), tool)], ..Offers::default() }
    }

    fn call(&mut self, call: Call<'_>, _: &mut Connection) -> Result<Begun, Refusal> {
        let message = outgoing(call.arguments)?;
        let answers = if message.reply_to.is_empty() { Vec::new() } else { vec![message.reply_to.clone()] };
        let connector = self.connector.clone();
        let work = async move {
            let outcome = connector.send(&message).await;
            answer(message.conversation_id, outcome)
        };
        Ok(Begun::Work { answers, work: Box::pin(work) })
    }
}

fn outgoing(arguments: Map<String, Value>) -> Result<Outgoing, Refusal> {
    let mut given = Arguments::new(arguments);
    let conversation_id =
        given.required_text("conversation_id", "the chat_id of the message that you answer")?;
    let content = given.required_text("content", "the text to send")?;
    let reply_to = given.text("reply_to", "")?;
    given.finish()?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(format!(
            "content: {} bytes are more than the {CONTENT_BYTES_MAX} that Teams takes; nothing was sent; send it in parts or shorten it",
            content.len()
        ));
    }
    if conversation_id == WORK_CHAT || reply_to.starts_with(WORK_ID) {
        return Err(format!("conversation_id: {NO_REPLY}"));
    }
    // An id of dots alone would name another resource in a path.
    let usable = |id: &str| is_id(id) && !id.bytes().all(|b| b == b'.');
    if !usable(&conversation_id) {
        return Err(
            "conversation_id: this is no id; copy the chat_id of the message that you answer".to_owned()
        );
    }
    if !reply_to.is_empty() && !usable(&reply_to) {
        return Err("reply_to: this is no message id; copy the id of the message that you answer".to_owned());
    }
    Ok(Outgoing { conversation_id, content, reply_to, html: false })
}

fn answer(conversation_id: String, outcome: Result<Sent, SendError>) -> Answer {
    match outcome {
        Ok(Sent { message_id, ts }) => {
            Answer::json(&SendResult { sent: true, chat_id: conversation_id, message_id, ts })
        }
        Err(SendError::UnknownChat) => Answer::error(
            "conversation_id: the bot is in no such conversation; nothing was sent; copy the chat_id of a message whose channel is bot, and use send_teams_message for the others",
        ),
        Err(error @ SendError::NotAllowed) => Answer::error(&format!(
            "conversation_id: {error}; nothing was sent; tell your user, who can allow somebody by `entraclaw allow` or switch the conversation on by `entraclaw chat`"
        )),
        Err(error @ SendError::UnknownOutcome(_)) => {
            Answer::error(&format!("{error}; it was not sent again; ask before you send it once more"))
        }
        Err(error) => Answer::error(&format!("{error}; nothing was sent")),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(json!({"conversation_id": "a:1", "content": "x"}), None)]
    #[case(json!({"conversation_id": "a:1", "content": "x", "reply_to": "1"}), None)]
    #[case(json!({"content": "x"}), Some("conversation_id"))]
    #[case(json!({"conversation_id": "..", "content": "x"}), Some("conversation_id"))]
    #[case(json!({"conversation_id": "a\nb", "content": "x"}), Some("conversation_id"))]
    #[case(json!({"conversation_id": "a", "content": " "}), Some("content"))]
    #[case(json!({"conversation_id": "a", "content": "x".repeat(CONTENT_BYTES_MAX + 1)}), Some("content"))]
    #[case(json!({"conversation_id": "a", "content": "x", "reply_to": "."}), Some("reply_to"))]
    #[case(json!({"conversation_id": "a", "content": "x", "reply_to": ["1"]}), Some("reply_to"))]
    #[case(json!({"conversation_id": "a", "content": "x", "chat_id": "1"}), Some("chat_id"))]
    fn arguments_are_checked_before_anything_is_sent(#[case] arguments: Value, #[case] wrong: Option<&str>) {
        let arguments = arguments.as_object().unwrap().clone();
        match (outgoing(arguments), wrong) {
            (Ok(_), None) => {}
            (Err(refusal), Some(field)) => assert!(refusal.starts_with(field), "{refusal}"),
            (outcome, _) => panic!("{outcome:?}"),
        }
    }
}
