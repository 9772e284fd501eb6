//! Takes a finished list of chats: it finds the chats that are new and those that have something new.
//! It must never let a strange date or an unreadable row hide another chat.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::{Live, Poll, REFUSED_PAUSE};
use crate::graph::GraphError;
use crate::teams::cursor::{CHATS_MAX, ChatCursor, Cursor};
use crate::teams::listing::Listing;
use crate::teams::wire::{ChatRow, Preview};
use entraclaw_inbox::source::position::Position as _;

impl Poll<'_> {
    pub(super) fn on_listed(&mut self, outcome: Result<Listing, GraphError>) {
        self.listing = None;
        let now = Instant::now();
        let listing = match outcome {
            Ok(listing) => listing,
            Err(error) => {
                self.list_failures += 1;
                let pause = self.pause_after(&error, self.list_failures);
                self.next_list = self.next_list.max(now + pause);
                self.failed("the list of chats", &error, self.status.get().asked_at, pause);
                return;
            }
        };
        self.list_failures = 0;
        // The list now contains again what was listed and not read before a restart.
        self.cursor.behind = None;
        if !listing.sorted && self.unsorted_until.is_none_or(|until| until <= now) {
            self.unsorted_until = Some(now + REFUSED_PAUSE);
        }
        if listing.unreadable > 0 {
            tracing::warn!(count = listing.unreadable, "chats without a usable id are passed over");
        }
        if let Some(first) = self.first_look {
            // Messages from before the first start are history.
            let look_back = self.parts.options.look_back;
            self.cursor = Cursor::starting_at(first.history_ends(look_back, self.parts.client.server_now()));
        }
        let before = self.cursor.watermark;
        let server_now = self.parts.client.server_now();
        for row in listing.rows {
            if let Some(created) = row.preview.as_ref().and_then(|p| p.created) {
                // A date from the future must not hide earlier messages.
                self.cursor.watermark = self.cursor.watermark.max(created.min(server_now));
            }
            self.on_row(row, before);
        }
        if self.first_look.take().is_some() {
            self.cursor.all_known = listing.complete;
            self.dirty = true;
        }
        let answered_at = self.parts.clock.now();
        self.status.update(|state| state.answered_at = Some(answered_at));
        self.recovered();
    }

    fn on_row(&mut self, row: ChatRow, watermark_before: Timestamp) {
        let ChatRow { id, kind, updated, preview } = row;
        if !self.cursor.chats.contains_key(&id) && !self.meet(&id, preview.as_ref(), watermark_before) {
            return;
        }
        if !self.chats.contains_key(&id) {
            self.take_up(&id);
        }
        let live = self.chats.entry(id.clone()).or_default();
        live.kind = kind;
        let before = std::mem::replace(&mut live.updated, updated);
        if !before.is_empty() && before != live.updated {
            // Its name or its members have changed; the list does not say which.
            self.members_changed(&id);
        }
        let live = self.chats.entry(id.clone()).or_default();
        let Some(chat) = self.cursor.chats.get(&id) else { return };
        let is_new = |p: &Preview| p.print != chat.print && live.given_up.as_ref() != Some(&p.print);
        let Some(preview) = preview.filter(is_new) else { return };
        if live.wanted.as_ref() != Some(&preview) {
            live.missing_tries = 0;
            live.wanted = Some(preview);
            live.hurry.set(true);
            if live.held.is_some() && live.failures == 0 {
                // The author of the new message may be known.
                live.not_before = None;
            }
        }
    }

    /// Continues with a chat that the previous process was reading or sweeping.
    fn take_up(&mut self, id: &str) {
        let Some(chat) = self.cursor.chats.get(id).filter(|chat| chat.was_active()).cloned() else { return };
        let now = Instant::now();
        self.chats.insert(id.to_owned(), Live::default());
        self.come_back(id, &chat, now);
        self.heat(id, Some(chat.read_to), now);
    }

    /// Gives a position to a chat that has none. Returns whether it has one now.
    fn meet(&mut self, id: &str, preview: Option<&Preview>, watermark_before: Timestamp) -> bool {
        const MOMENT: SignedDuration = SignedDuration::from_millis(1);
        let created = preview.and_then(|p| p.created);
        let floor = if self.first_look.is_some() {
            self.cursor.since
        } else {
            // A message since then would have put the chat into the list.
            let floor = watermark_before.checked_sub(self.overlap()).unwrap_or(watermark_before);
            let floor = floor.max(self.cursor.since);
            match created.and_then(|at| at.checked_sub(MOMENT).ok()) {
                // The chat did not exist when all chats were listed, so its newest message is news whatever
                // its date.
                Some(before_newest) if self.cursor.all_known => floor.min(before_newest),
                _ => floor,
            }
        };
        let silent = preview.is_none() || created.is_some_and(|at| at <= floor);
        if silent && self.cursor.chats.len() >= CHATS_MAX {
            self.cursor.all_known = false;
            return false;
        }
        let mut chat = ChatCursor::from_floor(floor);
        if silent && let Some(preview) = preview {
            chat.print.clone_from(&preview.print);
            chat.floor = created.unwrap_or(floor).min(floor);
            chat.read_to = chat.floor;
        }
        self.cursor.chats.insert(id.to_owned(), chat);
        self.dirty = true;
        true
    }
}
