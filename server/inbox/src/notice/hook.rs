//! `entraclaw hook HOST EVENT`: the answer to a host's hook, which is empty when there are no messages. It
//! must never fail in a way that holds up the host, nor keep a model working without end.

use serde_json::{Value, json};

use super::hooked_session::HookedSession;
use super::rows::{self, Form, Moment};
use super::text::NoticeView;
use super::{NoticeParts, host_version, take, trouble, unreadable};
use crate::journal::{ConsumerName, Look, Purpose};
use crate::wake_up::ToldTexts;

/// How many turns in a row messages may add after a turn that would have ended. Copilot CLI itself allows 8.
pub const BLOCKS_IN_A_ROW_MAX: u32 = 5;

/// The call of a hook.
#[derive(Debug, Clone, Copy)]
pub struct HookAsk<'a> {
    /// The host's family.
    pub host: &'a str,
    /// The event, as the host names it.
    pub event: &'a str,
    /// The text that the host wrote to the hook's stdin: one JSON object. Any other text counts as empty.
    pub stdin: &'a str,
    /// The consumer whose messages are told; the family's when left out.
    pub consumer: Option<&'a ConsumerName>,
    /// The id of the host's process, if it is known.
    pub process: Option<&'a str>,
}

/// The output of a hook.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hooked {
    /// The text for stdout; empty when there is nothing to tell.
    pub answer: String,
    /// The text for stderr, which only a person reads.
    pub trouble: Option<String>,
}

/// Answers a hook. The messages in the answer are noted as shown before this returns.
pub fn hook(parts: &NoticeParts, ask: HookAsk<'_>) -> Hooked {
    match answer(parts, ask) {
        Ok(answer) => Hooked { answer: answer.unwrap_or_default(), trouble: None },
        Err(trouble) => Hooked { answer: String::new(), trouble: Some(trouble) },
    }
}

fn answer(parts: &NoticeParts, ask: HookAsk<'_>) -> Result<Option<String>, String> {
    let row = rows::find(ask.host, ask.event).ok_or_else(|| unknown(ask))?;
    let consumer = match ask.consumer {
        Some(consumer) => consumer.clone(),
        None => ConsumerName::new(row.family).map_err(|error| error.to_string())?,
    };
    let stdin: Value = serde_json::from_str(ask.stdin).unwrap_or_default();
    // A subagent ends with its task, and the messages that it was told would be lost to the session.
    if ["agent_id", "agentId"].iter().any(|name| stdin.get(name).is_some_and(|id| !id.is_null())) {
        return Ok(None);
    }
    if row.moment == Moment::Prompt
        && let Some(process) = ask.process
    {
        take_receipt(parts, &consumer, process, &stdin)?;
    }
    // The start is noted even without messages: messages that the session is told later must not be told
    // again at its next start.
    let tells_all = row.moment == Moment::SessionStart
        && !HookedSession::of(parts, &consumer, &stdin)?.begins_again(&stdin)?;
    let purpose = if tells_all { Purpose::TellUnread } else { Purpose::TellNew };
    let mut look = Look::at(&parts.storage).map_err(unreadable)?;
    let unread = look.unread(&consumer).map_err(unreadable)?;
    if unread == 0 {
        return Ok(None);
    }
    if purpose == Purpose::TellNew
        && !look.has_fresh(&consumer).map_err(unreadable)?
        && !parts.orphans(&consumer).any_untold().map_err(trouble)?
    {
        return Ok(None);
    }
    drop(look);
    if let Some(since) = row.since {
        match host_version::lowest(&*parts.storage, consumer.as_str()) {
            Some(version) if version >= since => {}
            // The host runs this hook before its server. Only a number is told, so nothing is lost if the
            // host drops it.
            None if row.moment == Moment::SessionStart => {
                let text = format!(
                    "Entraclaw: unread messages from people outside this conversation: {unread}. Call inbox_pull."
                );
                return Ok(Some(shape(row.form, row.event, &text) + "\n"));
            }
            _ => return Ok(None),
        }
    }
    if row.moment == Moment::TurnEnd
        && !HookedSession::of(parts, &consumer, &stdin)?.may_hold(&stdin, BLOCKS_IN_A_ROW_MAX)?
    {
        return Ok(None);
    }
    let journal = parts.journal().map_err(trouble)?;
    let batch = take(&journal, &consumer, "hook", purpose).map_err(trouble)?;
    if batch.items.is_empty() {
        return Ok(None);
    }
    let next = match row.moment {
        Moment::TurnEnd => {
            "handle these before you end your turn, and answer each where it was asked, naming its id in reply_to"
        }
        _ => "go on with your work; answer each of these where it was asked, naming its id in reply_to",
    };
    let text = NoticeView::of(&consumer, &batch, next).sentence();
    let form = match row.newer_form {
        Some(_) => row.form_of(host_version::lowest(&*parts.storage, consumer.as_str())),
        None => row.form,
    };
    Ok(Some(shape(form, row.event, &text) + "\n"))
}

/// Notes messages as shown when the prompt is the text with which this session was just told of them.
fn take_receipt(
    parts: &NoticeParts,
    consumer: &ConsumerName,
    process: &str,
    stdin: &Value,
) -> Result<(), String> {
    let Some(prompt) = stdin.get("prompt").and_then(Value::as_str) else { return Ok(()) };
    let told = ToldTexts::of(consumer);
    let seqs = told.take(&*parts.storage, process, prompt, parts.clock.now()).map_err(unreadable)?;
    if seqs.is_empty() {
        return Ok(());
    }
    let journal = parts.journal().map_err(trouble)?;
    let mut mailbox = journal.mailbox(consumer, "hook").map_err(trouble)?;
    mailbox.note_shown(&seqs).map_err(trouble)
}

fn shape(form: Form, event: &str, text: &str) -> String {
    let answer = match form {
        Form::Block => json!({"decision": "block", "reason": text}),
        Form::Deny => json!({"decision": "deny", "reason": text}),
        Form::Context => json!({"additionalContext": text}),
        Form::SpecificContext => {
            json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
        }
    };
    answer.to_string()
}

fn unknown(ask: HookAsk<'_>) -> String {
    let events: Vec<&str> =
        rows::HOOKS.iter().filter(|row| row.family == ask.host).map(|row| row.event).collect();
    if events.is_empty() {
        return format!(
            "no host with hooks is named {:?}; there are {}",
            ask.host,
            rows::families().join(", ")
        );
    }
    format!("{} has no hook {:?} that is answered; there are {}", ask.host, ask.event, events.join(", "))
}
