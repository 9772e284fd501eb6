//! Turns a finished reading into news to append, refusals to log, or a pause before the next try.
//! It must never let a failure touch another chat, nor save a position before the journal has its news.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{
    APPEND_PAUSE, GATHER, Gathered, HELD_ORDER, Held, Live, MISSING_PAUSE, MISSING_TRIES_MAX, Poll,
    REFUSED_PAUSE, SWEPT_CHATS_MAX,
};
use crate::teams::cursor::{ChatCursor, Cursor};
use crate::teams::judge::{Bench, Judged, News, Refused};
use crate::teams::known::Look;
use crate::teams::reading::ReadDone;
use crate::teams::watched::Watched;
use crate::teams::wire::{Message, MessageKind};
use entraclaw_inbox::gate::Refusal;
use entraclaw_inbox::journal::{Interaction, InteractionKind};
use entraclaw_inbox::permission::{self, Answer};
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position;

impl Poll<'_> {
    pub(super) fn on_read(&mut self, done: ReadDone) {
        let now = Instant::now();
        let refused_filter = done.filter_was_refused();
        let ReadDone { job, outcome } = done;
        let Some(live) = self.chats.get_mut(&job.chat_id) else { return };
        live.reading = false;
        live.last_read = Some(now);
        let began = live.began.unwrap_or(now);
        let pages = match outcome {
            Ok(pages) => pages,
            Err(error) if refused_filter => {
                tracing::warn!(%error, "graph refused to filter messages; they are filtered here");
                self.unfiltered_until = Some(now + REFUSED_PAUSE);
                return;
            }
            Err(error) => {
                live.failures += 1;
                let (failures, asked_at) = (live.failures, live.asked_at);
                let pause = self.pause_after(&error, failures);
                if let Some(live) = self.chats.get_mut(&job.chat_id) {
                    live.not_before = Some(now + pause);
                    if let Some(held) = &mut live.held {
                        held.generation = self.parts.gate.generation();
                    }
                }
                self.failed(&format!("chat {}", job.chat_id), &error, asked_at, pause);
                return;
            }
        };
        live.failures = 0;
        live.not_before = None;
        // This comes before the messages are delivered, so that they don't come with an outdated warning.
        self.recovered();
        let Some(live) = self.chats.get_mut(&job.chat_id) else { return };
        let missing = job.wanted.as_ref().and_then(|w| w.message_id.as_ref()).is_some_and(|wanted| {
            !pages.messages.iter().any(|m| m.id == *wanted)
                && job.wanted.as_ref().and_then(|w| w.created).is_some_and(|at| at > pages.from)
        });
        let again = missing && live.missing_tries < MISSING_TRIES_MAX;
        if again {
            live.missing_tries += 1;
            live.not_before = Some(now + MISSING_PAUSE);
        } else if missing {
            tracing::warn!(
                chat_id = job.chat_id,
                "the newest message of the list of chats is not in its chat; the chat is looked at for a while"
            );
            live.given_up = job.wanted.as_ref().map(|wanted| wanted.print.clone());
            // Here the chat is swept more than once, even where `hot_for` is very short.
            let options = &self.parts.options;
            let look_for = options.hot_for.max(options.sweep_interval.saturating_mul(2) + MISSING_PAUSE);
            live.hot_until = live.hot_until.max(Some(now + look_for));
        }
        let kind = live.kind.clone();
        let held = live.held;
        if pages.unreadable > 0 {
            let count = pages.unreadable;
            tracing::warn!(chat_id = job.chat_id, count, "messages without a usable id are passed over");
        }
        if pages.cut {
            let detail = "too many unread messages at once; the oldest of them were passed over";
            let line = Interaction::new(InteractionKind::Dropped).detail(detail);
            self.journal.interaction(line.in_chat(Channel::Teams, &job.chat_id));
        }
        let Some(position) = self.cursor.chats.get(&job.chat_id).cloned() else { return };
        // A person who was let in a moment ago may have written at once, and a refused message is not judged
        // again.
        self.parts.gate.look(self.journal);
        let generation = self.parts.gate.generation();
        let look = self.parts.known.look(generation);
        let comings = self.note_comings(&job.chat_id, &pages.messages);
        let server_now = self.parts.client.server_now();
        let bench = Bench {
            gate: &self.parts.gate,
            known: &self.parts.known,
            agent: self.parts.known.agent(),
            group_messages: self.parts.options.group_messages,
            watched_from: self.watched_from(&job.chat_id).filter(|_| kind != "oneOnOne"),
            now: server_now,
            skew: server_now.duration_since(self.parts.clock.now()),
            held: &|key| self.journal.held(key),
            overlap: self.overlap(),
            asked: &permission::questions(&*self.parts.storage),
            keeps_order: held.is_none_or(|held| now < held.since + HELD_ORDER),
        };
        let Judged { news, refused, answers, mut cursor, active_at, is_held } =
            bench.judge(&job.chat_id, &kind, position.clone(), &pages);
        let reading_for = SignedDuration::try_from(now.duration_since(began)).unwrap_or(SignedDuration::ZERO);
        let began = server_now.checked_sub(reading_for).unwrap_or(server_now);
        cursor.note_read_from(pages.from, began, &position, self.overlap());
        self.heat(&job.chat_id, active_at, now);
        // An answer that can't be kept now is read again. Until then it does not count, and the model never
        // gets it.
        let mut are_taken = true;
        for answer in answers {
            are_taken &= self.take_answer(&answer);
        }
        // One is enough: in a chat of two, all strangers are the same person.
        if let Some(stranger) = refused.iter().rev().find_map(|one| one.stranger.as_ref())
            && let Some(reply) = self.parts.gate.meet(stranger)
        {
            let line = Interaction::new(InteractionKind::Access).in_chat(Channel::Teams, &job.chat_id);
            let line = line.detail("is told a pairing code");
            self.journal.interaction(Interaction { who: Some(reply.who), ..line });
        }
        for one in refused {
            self.refuse(&job.chat_id, one);
        }
        if let Some(live) = self.chats.get_mut(&job.chat_id) {
            live.gathered = true;
            live.held = None;
            if !are_taken {
                live.not_before = Some(now + APPEND_PAUSE);
            } else if is_held {
                live.hold(Held { since: held.map_or(now, |held| held.since), generation }, cursor.read_to);
            }
        }
        if !are_taken {
            cursor = position;
        } else if is_held {
            // The chat keeps counting as unread, after a restart too.
            cursor.print.clear();
        } else if let (Some(wanted), false) = (&job.wanted, missing) {
            // This is left out for a missing message, so that a restart looks for it again.
            cursor.print.clone_from(&wanted.print);
        }
        // Where members came or left, the author may have left since.
        let newest = news.iter().map(|one| one.written).max().filter(|_| !comings);
        let age = newest.map(|written| server_now.duration_since(written));
        let since = age.and_then(|age| now.checked_sub(Duration::try_from(age).unwrap_or_default()));
        let opened = since.map(|since| (look, since));
        self.gathered.push(Gathered { chat_id: job.chat_id, news, cursor, opened });
        self.flush_at = self.flush_at.or(Some(now + GATHER));
    }

    /// Says whether a reading shows that members came or left, and reports it where that is new.
    fn note_comings(&mut self, chat_id: &str, messages: &[Message]) -> bool {
        let is_coming = |message: &&Message| message.kind == MessageKind::Members;
        let comings: BTreeSet<String> = messages.iter().filter(is_coming).map(|m| m.id.clone()).collect();
        let Some(live) = self.chats.get_mut(chat_id) else { return true };
        let (any, new) = (!comings.is_empty(), !comings.is_subset(&live.comings));
        live.comings = comings;
        if new {
            self.members_changed(chat_id);
        }
        any
    }

    /// Another session may have changed the list since the last reading.
    fn watched_from(&self, chat_id: &str) -> Option<Timestamp> {
        if !self.parts.options.watchable.contains(chat_id) {
            return None;
        }
        Watched::of(&*self.parts.storage).chats().get(chat_id)?.parse().ok()
    }

    /// Plans one more reading of a chat in which messages may turn up late.
    pub(super) fn come_back(&mut self, chat_id: &str, cursor: &ChatCursor, now: Instant) {
        let wait = cursor.settles_at(self.overlap()).duration_since(self.parts.client.server_now());
        let wait = Duration::try_from(wait).unwrap_or(Duration::ZERO);
        // The part that a reading left out is read by a sweep, because no message waits for it.
        let wait =
            if cursor.settled_to.is_some() { wait.max(self.parts.options.sweep_interval) } else { wait };
        if let Some(live) = self.chats.get_mut(chat_id) {
            // A date too far in the future gives no moment to wait for.
            live.back_at = cursor.open.then(|| now.checked_add(wait)).flatten();
        }
    }

    /// Has a chat with recent activity swept for a while.
    pub(super) fn heat(&mut self, chat_id: &str, active_at: Option<Timestamp>, now: Instant) {
        let Some(active_at) = active_at else { return };
        let ago = self.parts.client.server_now().duration_since(active_at);
        let ago = Duration::try_from(ago).unwrap_or(Duration::ZERO);
        let left = self.parts.options.hot_for.saturating_sub(ago);
        if let Some(live) = self.chats.get_mut(chat_id).filter(|_| left > Duration::ZERO) {
            live.hot_until = live.hot_until.max(Some(now + left));
        }
        let mut hot: Vec<(Instant, String)> = self
            .chats
            .iter()
            .filter_map(|(id, live)| Some((live.hot_until.filter(|until| *until > now)?, id.clone())))
            .collect();
        hot.sort();
        for (_, id) in hot.iter().rev().skip(SWEPT_CHATS_MAX) {
            if let Some(live) = self.chats.get_mut(id) {
                live.hot_until = None;
            }
        }
    }

    /// Keeps an answer to a permission request. Returns whether it was kept.
    fn take_answer(&mut self, answer: &Answer) -> bool {
        let taken = match permission::take(&*self.parts.storage, answer) {
            Ok(taken) => taken,
            Err(error) => {
                if self.untaken.as_ref() != Some(&answer.message_id) {
                    tracing::warn!(%error, code = answer.code, "an answer to a permission request can't be kept; it is read again");
                    self.untaken = Some(answer.message_id.clone());
                }
                return false;
            }
        };
        let detail = permission::outcome(answer, taken);
        let (id, who) = (answer.message_id.clone(), format!("{}/{}", answer.ids.0, answer.ids.1));
        let line = Interaction::new(InteractionKind::Permission).in_chat(Channel::Teams, &answer.chat_id);
        self.journal.interaction(Interaction { id: Some(id), who: Some(who), ..line.detail(detail) });
        true
    }

    fn refuse(&mut self, chat_id: &str, refused: Refused) {
        let Refused { message_id: id, who, reason, .. } = refused;
        let refusal = Refusal { channel: Channel::Teams, chat_id, id: &id, who, reason };
        self.refusals.write(self.journal, refusal, self.parts.clock.now());
    }

    /// Appends the gathered news as soon as no reading runs, or the time to gather is over.
    pub(super) fn append_what_is_gathered(&mut self) {
        let now = Instant::now();
        let Some(flush_at) = self.flush_at else { return };
        if flush_at > now && !self.reads.is_empty() {
            return;
        }
        self.flush_at = None;
        let mut gathered = std::mem::take(&mut self.gathered);
        let opened: Vec<(String, (Look, Instant))> =
            gathered.iter().filter_map(|g| Some((g.chat_id.clone(), g.opened?))).collect();
        let mut news: Vec<News> = gathered.iter_mut().flat_map(|g| std::mem::take(&mut g.news)).collect();
        news.sort_by(|a, b| (a.written, &a.draft.id).cmp(&(b.written, &b.draft.id)));
        if !news.is_empty()
            && let Err(error) = self.journal.append(news.into_iter().map(|n| n.draft).collect())
        {
            tracing::error!(%error, "the journal does not keep the messages; they are read again");
            self.unkept = Some(error.to_string());
            for Gathered { chat_id, .. } in gathered {
                if let Some(live) = self.chats.get_mut(&chat_id) {
                    live.gathered = false;
                    live.not_before = Some(now + APPEND_PAUSE);
                }
            }
            return;
        }
        self.unkept = None;
        for (chat_id, (look, since)) in opened {
            self.parts.known.accept_chat(&chat_id, look, since);
        }
        for Gathered { chat_id, cursor, .. } in gathered {
            if let Some(live) = self.chats.get_mut(&chat_id) {
                live.gathered = false;
                let given_up = live.given_up.as_ref();
                let is_done = |print: &String| *print == cursor.print || Some(print) == given_up;
                if live.wanted.as_ref().is_some_and(|wanted| is_done(&wanted.print)) {
                    live.wanted = None;
                }
            }
            self.come_back(&chat_id, &cursor, now);
            if self.cursor.chats.get(&chat_id) != Some(&cursor) {
                self.cursor.chats.insert(chat_id, cursor);
                self.dirty = true;
            }
        }
    }

    /// Saves the position if it moved. After a failure, a restart only reads some messages again.
    pub(super) fn save(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let Self { cursor, chats, term, .. } = self;
        cursor.prune(|id| chats.get(id).is_some_and(Live::is_needed));
        chats.retain(|id, live| live.is_needed() || cursor.chats.contains_key(id));
        let mut cursor = cursor.clone();
        let unread = chats.values().filter_map(|live| live.wanted.as_ref()?.created);
        let open = cursor.chats.values().filter(|chat| chat.open).map(|chat| chat.read_to);
        cursor.behind = unread.chain(open).chain(cursor.behind).min();
        self.unsaved = position::note_saved::<Cursor>(
            self.unsaved.as_ref(),
            position::save(&*self.parts.storage, *term, &cursor),
        );
        // A failed save is tried again at the next event.
        self.dirty = self.unsaved.is_some();
    }
}
