//! The intake's second half: it decides which messages to the bot are heard, and which authors get a code
//! instead.
//! It must never judge by a display name, nor take a time that the channel did not state as the time of
//! writing.

use std::io;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::intake::Intake;
use super::strangers::Told;
use super::wire::{Activity, HTML, Kind, Part};
use crate::incoming::{Version, display_name, permission_answer};
use entraclaw_inbox::gate::{ChatRule, Guid, Reason, Refusal, Sender, SenderKind, Stranger, Verdict};
use entraclaw_inbox::journal::{Interaction, InteractionKind};
use entraclaw_inbox::permission::{self, Answer};
use entraclaw_inbox::record::Channel;

impl Intake<'_> {
    /// Learns the time of the channel's clock; an activity that came without delay shows it best. The time
    /// since then is not measured by this machine's calendar, which may be changed meanwhile.
    pub(super) fn note_time(&self, activity: &Activity) {
        let Some(stated) = activity.timestamp else { return };
        if self.channel_now().is_none_or(|known| known < stated) {
            self.channel_time.set(Some((stated, Instant::now())));
        }
    }

    /// The channel's time, or a time shortly before it; `None` as long as it has stated none.
    fn channel_now(&self) -> Option<Timestamp> {
        let (stated, at) = self.channel_time.get()?;
        stated.checked_add(SignedDuration::try_from(at.elapsed()).ok()?).ok()
    }

    /// When the message was written, by this machine's clock; `None` where the channel does not say.
    fn written(&self, activity: &Activity) -> Option<Timestamp> {
        let stated = activity.timestamp?;
        let written = match activity.kind {
            // The stated time of an edit is that of the edit. A message id of Teams is the first writing in
            // milliseconds.
            Kind::MessageUpdate => {
                let first = activity.id.parse().ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
                first.map_or(stated, |first| first.min(stated))
            }
            _ => stated,
        };
        let ahead = self.parts.clock.now().duration_since(self.channel_now()?);
        written.checked_add(ahead).ok()
    }

    pub(super) fn judge(&self, activity: &Activity) -> Verdict {
        let verdict = self.parts.gate.decide_at(&sender(activity), &self.parts.agent, self.written(activity));
        match self.parts.gate.chat_rule(&activity.conversation_id) {
            Some(ChatRule::Off) if matches!(verdict, Verdict::Accept | Verdict::Later) => {
                Verdict::Refuse(Reason::ChatOff)
            }
            _ => verdict,
        }
    }

    /// Whether a new message of a group is not for the bot.
    pub(super) fn is_chatter(&self, activity: &Activity) -> bool {
        let all = self.parts.gate.chat_rule(&activity.conversation_id) == Some(ChatRule::All);
        activity.is_group() && !all && !activity.mentions_bot()
    }

    pub(super) fn refuse(&self, activity: &Activity, reason: Reason, now: Timestamp) {
        let who = sender(activity).shown(&self.parts.agent);
        let (chat_id, id) = (activity.conversation_id.as_str(), activity.id.as_str());
        let refusal = Refusal { channel: Channel::Bot, chat_id, id, who, reason };
        self.refusals.borrow_mut().write(self.journal, refusal, now);
    }

    /// Has a code sent to a stranger who wrote in a conversation of two, where pairing is on.
    pub(super) fn meet(&self, activity: &Activity, version: Version) {
        let asks = version == Version::First
            && activity.kind == Kind::Message
            && !activity.is_group()
            && self.parts.gate.chat_rule(&activity.conversation_id) != Some(ChatRule::Off);
        let ids = asks.then(|| sender(activity).person(&self.parts.agent)).flatten();
        // A code that could not be sent must not be made.
        let Some(((tenant_id, object_id), permit)) = ids.zip(self.strangers.try_reserve().ok()) else {
            return;
        };
        let stranger = Stranger {
            tenant_id,
            object_id,
            name: display_name(activity.from.name.as_deref()),
            chat_id: activity.conversation_id.clone(),
            channel: Channel::Bot,
        };
        let Some(reply) = self.parts.gate.code_for(&stranger) else { return };
        let line = Interaction::new(InteractionKind::Access).detail("is told a pairing code");
        self.note(activity, Interaction { who: Some(reply.who.clone()), ..line });
        permit.send(Told {
            service_url: activity.service_url.clone(),
            bot_id: activity.recipient.id.clone(),
            reply,
        });
    }

    /// Takes the answer to a permission request that this person was asked in this conversation. The message
    /// must have exactly the form of an answer, must be unchanged and must carry nothing else. Returns
    /// whether it was an answer; then no model gets it. After an error the channel has to send it again.
    pub(super) fn takes_answer(&self, activity: &Activity, now: Timestamp) -> io::Result<bool> {
        // Another person may have chosen the text of a quote.
        let is_own = |part: &Part| {
            part.content_type == HTML && !part.text.as_ref().is_some_and(|text| text.contains("<blockquote"))
        };
        let is_bare = activity.mentions.is_empty() && activity.parts.iter().all(is_own);
        if activity.kind != Kind::Message || activity.is_group() || !is_bare {
            return Ok(false);
        }
        let Some((code, behavior)) = permission_answer(&activity.text, activity.html) else {
            return Ok(false);
        };
        let Some(ids) = sender(activity).person(&self.parts.agent) else { return Ok(false) };
        let answer = Answer {
            code,
            behavior,
            chat_id: activity.conversation_id.clone(),
            ids,
            message_id: activity.id.clone(),
            // The time of a question in a conversation of the bot comes from this machine's clock too.
            written: self.written(activity).unwrap_or(now),
        };
        let storage = &*self.parts.storage;
        if !permission::questions(storage).knows(&answer) {
            return Ok(false);
        }
        let detail = permission::outcome(&answer, permission::take(storage, &answer)?);
        let line = Interaction::new(InteractionKind::Permission).detail(detail);
        self.note(activity, Interaction { who: Some(format!("{}/{}", answer.ids.0, answer.ids.1)), ..line });
        Ok(true)
    }

    fn note(&self, activity: &Activity, line: Interaction) {
        let line = Interaction { id: Some(activity.id.clone()), ..line };
        self.journal.interaction(line.in_chat(Channel::Bot, &activity.conversation_id));
    }

    /// The author as `tenant/object`, where both are ids.
    pub(super) fn person(activity: &Activity) -> Option<String> {
        let id = |id: &Option<String>| id.as_deref().and_then(Guid::parse);
        let (tenant, object) = (id(&activity.tenant_id)?, id(&activity.from.object_id)?);
        Some(format!("{tenant}/{object}"))
    }
}

fn sender(activity: &Activity) -> Sender<'_> {
    Sender {
        // A tenant that is not stated must not count as the agent's, so it is empty.
        tenant_id: Some(activity.tenant_id.as_deref().unwrap_or_default()),
        object_id: activity.from.object_id.as_deref(),
        kind: if activity.from.is_bot() { SenderKind::Application } else { SenderKind::Person },
    }
}
