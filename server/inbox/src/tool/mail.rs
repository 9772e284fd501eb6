//! `read_email` and `send_email`: the check of the model's arguments, and the words of the result.
//!
//! They must never send anything before every argument is checked; the mail service judges addresses and
//! mails.

use std::sync::Arc;

use rmcp::model::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use entraclaw_mcp::{
    ANSWER_BYTES_MAX, Answer, Arguments, Begun, Call, Connection, FRAME_BYTES, Offer, Offers, Provider,
    Refusal,
};

use super::catalog::{reads, tool, writes};
use super::mail_service::{EmailResult, MailError, MailService, MailTarget, OutgoingMail, SentMail};
use super::send::{CONTENT_BYTES_MAX, content_type};
use super::set::ToolSet;
use super::texts;
use crate::record::{NO_REPLY, WORK_ID};

/// The tool that shows a whole mail.
pub(crate) const READ_EMAIL: &str = "read_email";
/// The tool that answers a mail or writes a new one.
pub(crate) const SEND_EMAIL: &str = "send_email";

/// The most addresses of one mail.
pub(crate) const TO_MAX: usize = 10;
/// The longest subject, in characters.
const SUBJECT_CHARS_MAX: usize = 250;
/// The longest id or address, in bytes.
const ID_BYTES_MAX: usize = 1_024;

/// The answer of `send_email` for a mail that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SendEmailResult {
    /// Always true; a mail that was not sent is an error.
    pub sent: bool,
    /// The id of the sent mail.
    pub message_id: String,
    /// The addresses.
    pub to: Vec<String>,
    /// The mail's subject.
    pub subject: String,
}

/// Reads the arguments of `read_email`: the mail and the byte to go on from.
pub(crate) fn asked(arguments: Map<String, Value>) -> Result<(String, usize), Refusal> {
    let mut arguments = Arguments::new(arguments);
    let message_id = arguments.required_text("message_id", "the id of a message whose channel is email")?;
    let part_from = arguments.integer("part_from", 0, 0, u64::from(u32::MAX))?;
    arguments.finish()?;
    check_id("message_id", &message_id)?;
    Ok((message_id, usize::try_from(part_from).unwrap_or(usize::MAX)))
}

/// Reads the arguments of `send_email`.
pub(crate) fn outgoing(arguments: Map<String, Value>) -> Result<OutgoingMail, Refusal> {
    let mut arguments = Arguments::new(arguments);
    let content = arguments.required_text("content", "the text to send")?;
    let content_type = content_type(&mut arguments)?;
    let reply_to = arguments.text("reply_to", "")?;
    let to = arguments.texts("to", TO_MAX)?;
    let subject = arguments.text("subject", "")?;
    arguments.finish()?;
    if content.len() > CONTENT_BYTES_MAX {
        return Err(format!(
            "content: {} bytes are more than the {CONTENT_BYTES_MAX} that are taken; nothing was sent; send it in parts or shorten it",
            content.len()
        ));
    }
    let target = match (reply_to.is_empty(), to.is_empty()) {
        (false, true) if reply_to.starts_with(WORK_ID) => return Err(format!("reply_to: {NO_REPLY}")),
        (false, true) => {
            check_id("reply_to", &reply_to)?;
            // The subject is not used, because an answer keeps that of its conversation.
            MailTarget::Reply { message_id: reply_to }
        }
        (true, false) => {
            if subject.trim().is_empty() {
                return Err("subject: missing or empty; a new mail needs one".to_owned());
            }
            if subject.chars().count() > SUBJECT_CHARS_MAX || subject.contains(char::is_control) {
                return Err(format!("subject: expected one line of at most {SUBJECT_CHARS_MAX} characters"));
            }
            if let Some(long) = to.iter().find(|address| address.len() > ID_BYTES_MAX) {
                return Err(format!("to: an address of {} bytes is none", long.len()));
            }
            MailTarget::New { to, subject }
        }
        (false, false) => {
            return Err(
                "to: leave it out with reply_to; an answer goes to whom the mail came from".to_owned()
            );
        }
        (true, true) => {
            return Err("reply_to: missing; give the id of the mail that you answer, or `to` and `subject` for a new one".to_owned());
        }
    };
    Ok(OutgoingMail { target, content, content_type })
}

fn tool_read() -> Tool {
    tool(
        READ_EMAIL,
        "Read mail",
        texts::READ_EMAIL,
        &json!({
            "message_id": {"type": "string", "description": "The id of a message whose channel is email."},
            "part_from": {"type": "integer", "minimum": 0, "default": 0, "description":
                "Where to go on: rest_from of the part before."}
        }),
        &["message_id"],
        reads(),
        false,
    )
}

fn tool_send() -> Tool {
    tool(
        SEND_EMAIL,
        "Send mail",
        texts::SEND_EMAIL,
        &json!({
            "content": {"type": "string", "description": format!("The text, at most {CONTENT_BYTES_MAX} bytes.")},
            "content_type": {"type": "string", "enum": ["html", "text"], "default": "html", "description":
                "html: simple tags such as <p>, <b>, <ul>; escape & and < yourself. text: shown as it is."},
            "reply_to": {"type": "string", "default": "", "description":
                "The id of the mail that you answer."},
            "to": {"type": "array", "items": {"type": "string"}, "maxItems": TO_MAX, "default": [], "description":
                "Only for a new mail: allowed addresses."},
            "subject": {"type": "string", "default": "", "description": "Only for a new mail."}
        }),
        &["content"],
        writes(),
        true,
    )
}

/// The mail tools, over a mail service.
pub struct MailProvider(
    /// The service that reads and sends.
    pub Arc<dyn MailService>,
);

impl Provider for MailProvider {
    fn offers(&self) -> Offers {
        let tools = [tool_read(), tool_send()];
        Offers {
            tools: tools.map(|tool| Offer::new(ToolSet::Mail.as_str(), tool)).into(),
            ..Offers::default()
        }
    }

    fn call(&mut self, call: Call<'_>, _: &mut Connection) -> Result<Begun, Refusal> {
        let arguments = call.arguments;
        if call.tool == READ_EMAIL {
            let (message_id, part_from) = asked(arguments)?;
            let reading = self.0.read_email(message_id.clone());
            let answers = vec![message_id.clone()];
            let work = async move { page(message_id, part_from, reading.await) };
            return Ok(Begun::Work { answers, work: Box::pin(work) });
        }
        let mail = outgoing(arguments)?;
        let answers = match &mail.target {
            MailTarget::Reply { message_id } => vec![message_id.clone()],
            MailTarget::New { .. } => Vec::new(),
        };
        let sending = self.0.send_email(mail);
        Ok(Begun::Work { answers, work: Box::pin(async move { sent(sending.await) }) })
    }
}

fn check_id(name: &str, id: &str) -> Result<(), Refusal> {
    if id.len() > ID_BYTES_MAX || id.contains(char::is_control) {
        return Err(format!("{name}: this is no id; copy the id of the message"));
    }
    Ok(())
}

/// Words the result of reading, from byte `part_from` on, with as much as one answer holds.
pub(crate) fn page(message_id: String, part_from: usize, outcome: Result<EmailResult, MailError>) -> Answer {
    let mut page = match outcome {
        Ok(page) => page,
        Err(error) => return failed("message_id", &error),
    };
    let text = std::mem::take(&mut page.content_text_sanitized);
    let Some(rest) = text.get(part_from..).filter(|rest| !rest.is_empty() || part_from == 0) else {
        return Answer::error("part_from: there is no such place; leave it out, or copy rest_from");
    };
    (page.message_id, page.part_from) = (message_id, part_from);
    let frame = serde_json::to_string(&page).map_or(0, |json| json.len());
    let room = (ANSWER_BYTES_MAX - FRAME_BYTES).saturating_sub(frame);
    let end = entraclaw_mcp::json_bytes::json_prefix(rest, room);
    rest[..end].clone_into(&mut page.content_text_sanitized);
    page.rest_from = (end < rest.len()).then_some(part_from + end);
    Answer::json(&page)
}

/// Words the result of sending a mail.
pub(crate) fn sent(outcome: Result<SentMail, MailError>) -> Answer {
    match outcome {
        Ok(SentMail { message_id, to, subject }) => {
            Answer::json(&SendEmailResult { sent: true, message_id, to, subject })
        }
        Err(error) => failed("reply_to", &error),
    }
}

fn failed(id_field: &str, error: &MailError) -> Answer {
    let sending = id_field == "reply_to";
    let nothing = if sending { "; nothing was sent" } else { "" };
    Answer::error(&match error {
        MailError::UnknownMail => {
            format!("{id_field}: {error}{nothing}; copy the id of a message whose channel is email")
        }
        MailError::Gone => format!("{id_field}: {error}{nothing}"),
        MailError::NotAllowed(_) => {
            format!(
                "to: {error}; nothing was sent; tell your user, who can allow the address in the configuration"
            )
        }
        MailError::TooMany => {
            format!("{error}; nothing was sent; tell your user, or wait for an hour")
        }
        MailError::Refused(_) | MailError::Graph(_) => format!("{error}{nothing}"),
        MailError::UnknownOutcome(_) => {
            format!("{error}; ask your user to look into the sent items before you send it again")
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::tool::ContentType;

    fn object(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[rstest]
    #[case(json!({"content": "x"}), "reply_to: missing")]
    #[case(json!({"reply_to": "1"}), "content: missing")]
    #[case(json!({"content": "x", "reply_to": "1", "to": ["a@contoso.com"]}), "to: leave it out with reply_to")]
    #[case(json!({"content": "x", "to": ["a@contoso.com"]}), "subject: missing")]
    #[case(json!({"content": "x", "to": ["a@contoso.com"], "subject": "a\nBcc: b@contoso.com"}), "subject: expected one line")]
    #[case(json!({"content": "x", "to": "a@contoso.com", "subject": "a"}), "to: expected a list")]
    #[case(json!({"content": "x", "reply_to": "a\nb"}), "reply_to: this is no id")]
    #[case(json!({"content": "x", "reply_to": "1", "cc": []}), "cc: no such argument")]
    fn a_wrong_argument_is_named(#[case] arguments: Value, #[case] start: &str) {
        let refusal = outgoing(object(&arguments)).unwrap_err();
        assert!(refusal.starts_with(start), "{refusal}");
    }

    #[test]
    fn an_id_may_be_as_long_as_is_said_and_no_longer() {
        assert_eq!(check_id("reply_to", &"1".repeat(ID_BYTES_MAX)), Ok(()));
        let refused = check_id("reply_to", &"1".repeat(ID_BYTES_MAX + 1)).unwrap_err();
        assert!(refused.starts_with("reply_to: this is no id"), "{refused}");
    }

    #[test]
    fn an_answer_and_a_new_mail() {
        let reply = outgoing(object(&json!({"content": "x", "reply_to": "1", "subject": "y"}))).unwrap();
        assert_eq!(reply.target, MailTarget::Reply { message_id: "1".to_owned() });
        let new = json!({"content": "x", "content_type": "text", "to": ["a@contoso.com"], "subject": "y"});
        let new = outgoing(object(&new)).unwrap();
        let target = MailTarget::New { to: vec!["a@contoso.com".to_owned()], subject: "y".to_owned() };
        assert_eq!((new.target, new.content_type), (target, ContentType::Text));
    }

    #[test]
    fn texts_subjects_and_addresses_may_be_as_long_as_is_said_and_no_longer() {
        let with = |content: usize, subject: usize, address: usize| {
            let to = format!("{}@contoso.com", "a".repeat(address - "@contoso.com".len()));
            let (content, subject) = ("x".repeat(content), "é".repeat(subject));
            outgoing(object(&json!({"content": content, "to": [to], "subject": subject}))).map(|_| ())
        };
        for longer in [0, 1, 20] {
            let starts = |told: Result<(), Refusal>, start: &str| match longer {
                0 => assert_eq!(told, Ok(())),
                _ => assert!(told.unwrap_err().starts_with(start), "{start}, {longer} more"),
            };
            starts(with(CONTENT_BYTES_MAX + longer, 1, 20), "content: ");
            starts(with(1, SUBJECT_CHARS_MAX + longer, 20), "subject: expected one line");
            starts(with(1, 1, ID_BYTES_MAX + longer), "to: an address of");
        }
    }

    fn shown(text: &str, from: usize) -> Value {
        let read = EmailResult { content_text_sanitized: text.to_owned(), ..EmailResult::default() };
        let result = page("1".to_owned(), from, Ok(read)).into_result();
        let text = result.pointer("/content/0/text").and_then(Value::as_str).unwrap();
        assert!(text.len() <= ANSWER_BYTES_MAX, "{}", text.len());
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    }

    #[test]
    fn a_long_mail_comes_whole_in_parts() {
        for unit in ["a", "\"\\\n", "日本", "&amp;x"] {
            let text = unit.repeat(5_000);
            let (mut gathered, mut from) = (String::new(), 0);
            for _ in 0..100 {
                let part = shown(&text, from);
                gathered.push_str(part["content_text_sanitized"].as_str().unwrap());
                let Some(rest) = part["rest_from"].as_u64() else { break };
                from = usize::try_from(rest).unwrap();
            }
            assert_eq!(gathered, text);
        }
        assert_eq!(shown("", 0)["content_text_sanitized"], "");
        assert!(shown("é", 1).as_str().unwrap().starts_with("part_from: there is no such place"));
        assert!(shown("x", 1).as_str().unwrap().starts_with("part_from: there is no such place"));
    }
}
