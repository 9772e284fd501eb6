//! `entraclaw inbox`: shows the waiting messages, and where each can be answered.
//! It must never count as reading: the model still gets every message.

use std::fmt::Write as _;
use std::process::ExitCode;

use anstyle::Style;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use entraclaw_inbox::journal::{ConsumerName, Handed, Look, WATCHER};
use entraclaw_inbox::notice::reader;
use entraclaw_inbox::record::Channel;
use entraclaw_sanitize::{clean_line, clean_text};
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_session::status::amount::{ago, counted, counted_with};

const STRONG: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

const EXAMPLE: &str = "\
Example: entraclaw inbox --consumer claude-code --limit 5
Exit codes: 0 shown, 1 the inbox can't be read, 2 wrong usage.";

/// Flags of `inbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// The consumer whose inbox is shown [default: the one that was there last]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Most messages to show, oldest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The document that `entraclaw inbox --json` prints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InboxView {
    /// The version of this format: 1.
    pub v: u32,
    /// The consumer whose inbox it is.
    pub consumer: String,
    /// All consumers.
    pub consumers: Vec<String>,
    /// The number of messages that it has not acknowledged.
    pub unread: u64,
    /// The oldest of these messages.
    pub messages: Vec<WaitingMessage>,
}

/// A message that is not acknowledged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingMessage {
    /// The id that the source gave it.
    pub id: String,
    /// The source.
    pub channel: String,
    /// The conversation, to which answers go.
    pub chat_id: String,
    /// The sender's name, which proves nothing.
    pub from: String,
    /// When it was written, RFC 3339.
    pub ts: String,
    /// The kind of the conversation, such as `group`; absent if it has two people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The text as it was typed, without characters that control a terminal.
    pub text: String,
    /// Whether the model was shown it, but it was not acknowledged.
    pub shown_before: bool,
    /// The id of the message that this one is a later version of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edit_of: Option<String>,
    /// Whether the sender deleted it.
    pub deleted: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(show(flags))
}

fn show(flags: Flags) -> Done {
    let place = Place::find(Entry::Look, flags.home, Vec::new(), &Environment::read()).usable()?;
    let view = view(&place, place.consumer(flags.consumer.as_deref())?, flags.limit)?;
    Ok(if flags.json {
        output::json(&view, ExitCode::SUCCESS)
    } else {
        output::text(&human(&view, SystemClock.now()), ExitCode::SUCCESS)
    })
}

fn view(place: &Place, wanted: Option<ConsumerName>, limit: usize) -> Result<InboxView, String> {
    let mut look = Look::at(&place.storage()).map_err(output::unreadable)?;
    let consumers = look.consumers();
    let names: Vec<String> = consumers.iter().map(ToString::to_string).collect();
    if let Some(wanted) = &wanted
        && !consumers.is_empty()
        && !consumers.contains(wanted)
    {
        return Err(reader::unknown(wanted, &names));
    }
    let Some(consumer) = wanted.or_else(|| look.last_seen(WATCHER)) else {
        return Ok(InboxView { v: 1, unread: look.records(), ..InboxView::default() });
    };
    let messages = look.waiting(&consumer, limit).map_err(output::unreadable)?;
    Ok(InboxView {
        v: 1,
        unread: look.unread(&consumer).map_err(output::unreadable)?,
        consumer: consumer.to_string(),
        consumers: names,
        messages: messages.into_iter().map(waiting).collect(),
    })
}

fn waiting(handed: Handed) -> WaitingMessage {
    let record = handed.record;
    WaitingMessage {
        id: clean_line(&record.id),
        channel: record.channel.as_str().to_owned(),
        chat_id: clean_line(&record.chat_id),
        from: clean_line(&record.from),
        ts: clean_line(&record.ts),
        group: record.group_kind().map(|kind| clean_line(&kind)),
        text: clean_text(&unescaped(&record.content_text_sanitized)),
        shown_before: handed.redelivered || handed.pushed,
        edit_of: record.edit_of.as_deref().map(clean_line),
        deleted: record.deleted,
    }
}

/// Undoes the escape, because a terminal has no tags. The text is cleaned for the terminal after this.
pub(super) fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn human(view: &InboxView, now: Timestamp) -> String {
    let mut out = String::new();
    if view.consumer.is_empty() {
        let _ = writeln!(
            out,
            "No consumer has read this inbox yet; {} for the first.",
            counted_with(view.unread, "message", ["waits", "wait"])
        );
        return out;
    }
    let others: Vec<&str> =
        view.consumers.iter().filter(|name| **name != view.consumer).map(String::as_str).collect();
    let others =
        if others.is_empty() { String::new() } else { format!(" (--consumer: also {})", others.join(", ")) };
    let _ = writeln!(out, "{} for {}{others}", counted(view.unread, "unread message"), view.consumer);
    for message in &view.messages {
        let state = match (message.deleted, &message.edit_of, message.shown_before) {
            (true, ..) => ", taken back",
            (_, Some(_), _) => ", edited",
            (.., true) => ", shown before",
            _ => "",
        };
        let (from, channel) = (&message.from, &message.channel);
        let group = message.group.as_ref().map_or_else(String::new, |kind| format!(" in a {kind}"));
        let _ = writeln!(
            out,
            "\n{STRONG}{from}{STRONG:#} by {channel}{group}, {} ago{state}",
            ago(&message.ts, now)
        );
        for line in message.text.lines() {
            let _ = writeln!(out, "  {line}");
        }
        let answer = match channel.as_str() {
            c if c == Channel::Teams.as_str() => {
                format!("answer: send_teams_message chat_id={} reply_to={}", message.chat_id, message.id)
            }
            _ => format!("answer in {}, message {}", message.chat_id, message.id),
        };
        let _ = writeln!(out, "  {DIM}{answer}{DIM:#}");
    }
    let left = view.unread.saturating_sub(view.messages.len() as u64);
    if left > 0 {
        let _ = writeln!(out, "\n{left} more; see them with --limit {}", view.unread);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_shown_as_typed_and_can_t_control_the_terminal() {
        let message = WaitingMessage {
            text: clean_text(&unescaped("&lt;b&gt; &amp;amp; \u{1b}[31mred\nsecond")),
            from: "Alice".to_owned(),
            channel: "teams".to_owned(),
            chat_id: "19:a".to_owned(),
            id: "7".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            ..WaitingMessage::default()
        };
        let view = InboxView {
            v: 1,
            consumer: "claude-code".to_owned(),
            consumers: vec!["claude-code".to_owned(), "watch-cli".to_owned()],
            unread: 3,
            messages: vec![message],
        };
        let shown = human(&view, "2026-11-21T10:05:00Z".parse().unwrap());
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            plain,
            "3 unread messages for claude-code (--consumer: also watch-cli)\n\nAlice by teams, 5 min ago\n  <b> &amp; \
             red\n  second\n  answer: send_teams_message chat_id=19:a reply_to=7\n\n2 more; see them with --limit 3\n"
        );
    }
}
