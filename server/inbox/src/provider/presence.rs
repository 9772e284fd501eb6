//! Reports which host is on a connection, each time that changes.

use std::collections::BTreeSet;

use entraclaw_mcp::Connection;
use entraclaw_mcp::level::Level;

use super::InboxProvider;
use crate::carrier::resource;

impl InboxProvider {
    /// Reports what a round of the loop has changed.
    pub(super) fn tell_presence(&self, connection: &Connection, lines: u64) {
        let mut unasked = BTreeSet::new();
        if self.pushes_channel(connection) {
            unasked.insert("channel");
        }
        if connection.ready().is_some_and(|session| session.level <= Level::INFO) {
            unasked.insert("log ping");
        }
        if connection.is_listened_to(resource::URI) {
            unasked.insert("resource");
        }
        let waiting = self.waits.len() + self.tasks.values().filter(|task| task.is_working()).count();
        self.options.presence.update(|state| {
            state.carriers.extend(unasked);
            state.waiting_calls = waiting;
            state.lines_total += lines;
            if state.consumers.len() != self.inboxes.len() {
                state.consumers = self.inboxes.keys().map(ToString::to_string).collect();
            }
        });
    }
}
