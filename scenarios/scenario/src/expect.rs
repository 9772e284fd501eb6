//! The demands that a step can make. Each demand is checked at once and again at every event until `within` has passed.

use serde::Deserialize;
use serde_json::Value;

use super::{BotExpect, DelegateExpect, SetupExpect, Span};

/// One demand.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Expect {
    /// The model was shown this.
    Model(ModelExpect),
    /// A call ended so.
    Result(ResultExpect),
    /// Lines on the wire.
    Wire(WireExpect),
    /// The reply to a raw line.
    Reply(ReplyExpect),
    /// Requests that reached Graph.
    Graph(GraphExpect),
    /// Requests that reached Entra.
    Entra(EntraExpect),
    /// Messages the agent wrote to a chat.
    Sent(SentExpect),
    /// The bot's channel received this.
    Bot(BotExpect),
    /// Mails the agent sent.
    SentMail(SentMailExpect),
    /// Lines of the interaction log.
    Interactions(InteractionExpect),
    /// Records in the journal.
    Journal(JournalExpect),
    /// The person's files.
    Setup(SetupExpect),
    /// Our hooks that run beside a session.
    Waking(WakingExpect),
    /// The state that the sessions report to the status command.
    Status(StatusExpect),
    /// The programs of other coding agents.
    Agents(AgentsExpect),
    /// A file of the person's machine.
    File(MachineFileExpect),
    /// The tasks of the local model, its server, and the project.
    Delegate(DelegateExpect),
}

impl Expect {
    /// The properties of this kind of demand.
    pub fn about(&self) -> About<'_> {
        match self {
            Self::Model(model) => About {
                is_absence: model.times == Some(0),
                message: model.message.as_ref(),
                misused: (model.message.is_none() && !model.every_message)
                    .then_some(("`model` needs `message` or `every_message`", None)),
                session: model.on.as_ref(),
                ..About::of("expect.model", model.within)
            },
            Self::Result(result) => {
                let ends_well = result.outcome.as_deref().is_none_or(|outcome| outcome == "ok");
                let looks_into_words = result.contains.is_some() || result.lacks.is_some();
                let looks_into_it = looks_into_words || result.has.is_some() || result.messages.is_some();
                let help = "a call that did not end well has no result to look into";
                About {
                    call: Some(&result.of),
                    misused: cannot_fail(!ends_well && looks_into_it, help),
                    ..About::of("expect.result", result.within)
                }
            }
            Self::Wire(wire) => {
                let lacks = wire.lacks.is_some() && wire.count != Some(0);
                let help = match wire.by.as_deref() {
                    Some(by) if !matches!(by, "host" | "server") => Some("`by` is `host` or `server`"),
                    _ if lacks || wire.count.is_some() || wire.at_least.is_some() => None,
                    _ => Some("add `count`, `at_least` or `lacks` (which says nothing of no lines)"),
                };
                About {
                    is_absence: wire.count == Some(0),
                    misused: help.and_then(|help| cannot_fail(true, help)),
                    session: wire.on.as_ref(),
                    ..About::of("expect.wire", wire.within)
                }
            }
            Self::Reply(reply) => About {
                is_absence: reply.none,
                session: reply.on.as_ref(),
                ..About::of("expect.reply", reply.within)
            },
            Self::Graph(graph) => About {
                misused: cannot_fail(
                    !graph.no_violations && graph.at_least.is_none() && graph.at_most.is_none(),
                    "add `at_least`, `at_most` or `no_violations`",
                ),
                ..About::of("expect.graph", None)
            },
            Self::Entra(entra) => About {
                misused: cannot_fail(
                    !entra.no_violations && entra.at_least.is_none() && entra.at_most.is_none(),
                    "add `at_least`, `at_most` or `no_violations`",
                ),
                ..About::of("expect.entra", None)
            },
            Self::Sent(sent) => About { chat: sent.chat.as_ref(), ..About::of("expect.sent", sent.within) },
            Self::Bot(bot) => About {
                misused: cannot_fail(
                    bot.answers.is_none() && bot.keys_fetched_at_most.is_none(),
                    "add `answers` or `keys_fetched_at_most`",
                ),
                message: bot.reply_to.as_ref(),
                ..About::of("expect.bot", bot.within)
            },
            Self::SentMail(sent) => About::of("expect.sent_mail", sent.within),
            Self::Interactions(log) => About {
                changes_silently: true,
                misused: cannot_fail(
                    log.count.is_none() && log.at_least.is_none() && log.lacks.is_none(),
                    "add `count`, `at_least` or `lacks`",
                ),
                ..About::of("expect.interactions", log.within)
            },
            Self::Journal(journal) => About {
                changes_silently: true,
                misused: cannot_fail(
                    journal.records.is_none()
                        && !journal.same_text_as_model
                        && journal.files_ending.is_none(),
                    "add `records`, `same_text_as_model` or `files_ending`",
                ),
                ..About::of("expect.journal", journal.within)
            },
            Self::Setup(setup) => About {
                changes_silently: true,
                misused: cannot_fail(
                    setup.ours.is_none() && !setup.others_stand && !setup.untouched && setup.file.is_none(),
                    "add `ours`, `others_stand`, `untouched` or `file`",
                ),
                ..About::of("expect.setup", setup.within)
            },
            Self::Waking(waking) => About {
                changes_silently: true,
                session: waking.on.as_ref(),
                ..About::of("expect.waking", waking.within)
            },
            Self::Status(status) => About {
                changes_silently: true,
                misused: cannot_fail(
                    status.contains.is_none() && status.lacks.is_none(),
                    "add `contains` or `lacks`",
                ),
                ..About::of("expect.status", status.within)
            },
            Self::Agents(agents) => About {
                changes_silently: true,
                misused: cannot_fail(
                    agents.running.is_none() && agents.started.is_none(),
                    "add `running` or `started`",
                ),
                ..About::of("expect.agents", agents.within)
            },
            Self::Delegate(delegate) => About {
                changes_silently: true,
                misused: delegate.misused(),
                ..About::of("expect.delegate", delegate.within)
            },
            Self::File(file) => About {
                changes_silently: true,
                misused: cannot_fail(
                    file.contains.is_none() && file.lacks.is_none() && !file.missing,
                    "add `contains`, `lacks` or `missing`",
                ),
                ..About::of("expect.file", file.within)
            },
        }
    }
}

/// The properties of a demand that are known before a cell is played.
#[derive(Debug, Default)]
pub struct About<'a> {
    /// The name that reports use when it does not hold.
    pub rule: &'static str,
    /// The time within which it must come true; left out, it must hold at once.
    pub within: Option<Span>,
    /// It can only be judged when its time is over, because what comes later can break it.
    pub is_absence: bool,
    /// No event tells of a change of what it is about, so that it is looked at again and again.
    pub changes_silently: bool,
    /// Why it can't mean what it says, and how to mend it.
    pub(super) misused: Option<(&'static str, Option<&'static str>)>,
    /// The session, message, chat and call that it names.
    pub(super) session: Option<&'a String>,
    pub(super) message: Option<&'a String>,
    pub(super) chat: Option<&'a String>,
    pub(super) call: Option<&'a String>,
}

impl About<'_> {
    /// A demand that names nothing and is told of by an event.
    fn of(rule: &'static str, within: Option<Span>) -> Self {
        Self { rule, within, ..Self::default() }
    }
}

/// The misuse of a demand that nothing could make fail.
fn cannot_fail(so: bool, help: &'static str) -> Option<(&'static str, Option<&'static str>)> {
    so.then_some(("this demand can't fail", Some(help)))
}

/// The lines that `entraclaw status` is made of, one a session.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StatusExpect {
    /// They hold these words.
    pub contains: Option<String>,
    /// They don't.
    pub lacks: Option<String>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// Our hooks that run beside a session, also those that outlived its host.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WakingExpect {
    /// Exactly so many.
    pub count: usize,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// Messages in the model's view.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelExpect {
    /// The message's label.
    pub message: Option<String>,
    /// Every message written so far by allowed people.
    pub every_message: bool,
    /// How often it was shown as new, without `redelivered` or `pushed`; at least once by any showing when left out.
    pub times: Option<u32>,
    /// How often it was shown at least, marked or not.
    pub at_least: Option<u32>,
    /// By which carrier (`tool_result`, `channel`); any when left out.
    pub carrier: Option<String>,
    /// The last showing was marked `redelivered`.
    pub redelivered: Option<bool>,
    /// The last showing was marked `pushed`.
    pub pushed: Option<bool>,
    /// The last showing was marked, either way.
    pub marked: Option<bool>,
    /// From the moment Graph shows it to its first showing.
    pub delivered_within: Option<Span>,
    /// The model has not rested for longer with it unread, nor passed a boundary of a turn for which the server had as
    /// long. A boundary is the result of a call of the server's.
    pub heard_within: Option<Span>,
    /// The result of a tool of the host's own is a boundary too, as it is where a carrier brings whole texts there.
    pub at_every_tool: bool,
    /// It woke an idle session.
    pub woke: Option<bool>,
    /// The text of its last showing is exactly this.
    pub text: Option<String>,
    /// The text of its last showing holds this.
    pub contains: Option<String>,
    /// The text of its last showing does not hold this.
    pub lacks: Option<String>,
    /// They were shown in the order they were written.
    pub in_order: bool,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// A call's end.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResultExpect {
    /// The call's label.
    pub of: String,
    /// Members that its JSON text must have (subset match; lists match whole).
    pub has: Option<Value>,
    /// Words that its text must hold.
    pub contains: Option<String>,
    /// Words that its text must not hold.
    pub lacks: Option<String>,
    /// True: it is an error to the model. Default: it is not.
    pub is_error: bool,
    /// `ok`, `timed_out`, `cancelled`, `rpc_error` or `open`; `ok` when left out.
    pub outcome: Option<String>,
    /// It took at least this long.
    pub after: Option<Span>,
    /// It took at most this long.
    pub before: Option<Span>,
    /// Number of messages in it.
    pub messages: Option<u32>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// Lines on the wire since the start.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WireExpect {
    /// Only requests and notifications with this method.
    pub method: Option<String>,
    /// Members that the line must have.
    pub has: Option<Value>,
    /// `server` (default) or `host`: who wrote it.
    pub by: Option<String>,
    /// Exactly so many.
    pub count: Option<u32>,
    /// At least so many.
    pub at_least: Option<u32>,
    /// No such line holds these words.
    pub lacks: Option<String>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// The response to a line sent by `raw`.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReplyExpect {
    /// Its id.
    pub id: Value,
    /// Members it must have.
    pub has: Option<Value>,
    /// Words it must hold.
    pub contains: Option<String>,
    /// No response must come.
    pub none: bool,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// Requests that reached Graph.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GraphExpect {
    /// `GET`, `POST`, …; any when left out.
    pub method: Option<String>,
    /// Words that the path must hold.
    pub path: Option<String>,
    /// Only those that were answered so.
    pub status: Option<u16>,
    /// Only requests of the last so long.
    pub during_last: Option<Span>,
    /// At least so many.
    pub at_least: Option<u32>,
    /// At most so many.
    pub at_most: Option<u32>,
    /// Rules of Graph that the server broke (retry before `Retry-After`, …): none may be there.
    pub no_violations: bool,
}

/// Requests that reached Entra.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EntraExpect {
    /// Only requests of this kind.
    pub grant: Option<fake_microsoft::entra::Grant>,
    /// Only those that were refused with this number (`AADSTS…`).
    pub refused: Option<u64>,
    /// Only those that were answered with 200.
    pub granted: bool,
    /// Only requests of the last so long.
    pub during_last: Option<Span>,
    /// At least so many.
    pub at_least: Option<u32>,
    /// At most so many.
    pub at_most: Option<u32>,
    /// Breaches of the rules for a well-behaved client; there may be none.
    pub no_violations: bool,
}

/// Messages the agent wrote.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SentExpect {
    /// The chat's handle.
    pub chat: Option<String>,
    /// Words in it.
    pub contains: Option<String>,
    /// Exactly so many.
    pub count: u32,
    /// In place of the count: each message written so far by allowed people was answered once, by its id, in its chat.
    pub to_every_message: bool,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// Mails the agent sent.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SentMailExpect {
    /// An address that it went to.
    pub to: Option<String>,
    /// Words in its subject.
    pub subject: Option<String>,
    /// Words in it.
    pub contains: Option<String>,
    /// Words that must not be in any of them.
    pub lacks: Option<String>,
    /// Exactly so many.
    pub count: u32,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// Lines of the interaction log.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct InteractionExpect {
    /// `inbound`, `outbound`, `refused`, `dropped`, …
    pub kind: Option<String>,
    /// Only lines that hold these words.
    pub contains: Option<String>,
    /// At least so many.
    pub at_least: Option<u32>,
    /// Exactly so many.
    pub count: Option<u32>,
    /// No line holds these words.
    pub lacks: Option<String>,
    /// Time from now until it must hold; now when left out. It is real time in process mode too.
    pub within: Option<Span>,
}

/// The programs of other coding agents on the machine.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AgentsExpect {
    /// Exactly so many of their processes run, with those that they have started.
    pub running: Option<u32>,
    /// Exactly so many programs stand by and can be asked at once.
    pub ready: Option<u32>,
    /// Exactly so many agents were started since the beginning.
    pub started: Option<u32>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// A file of the person's machine (sim only).
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MachineFileExpect {
    /// Its absolute path.
    pub path: String,
    /// It holds these words.
    pub contains: Option<String>,
    /// So often; at least once when left out.
    pub times: Option<u32>,
    /// It does not hold these words.
    pub lacks: Option<String>,
    /// True: it is not there.
    pub missing: bool,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

/// Records in the journal.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct JournalExpect {
    /// Exactly so many.
    pub records: Option<u32>,
    /// The text of the labelled message is what the model was shown.
    pub same_text_as_model: bool,
    /// Files in the inbox folder whose names end so.
    pub files_ending: Option<String>,
    /// How many of them at least.
    pub at_least: Option<u32>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}
