//! One fake bot channel that a transport and a scenario share, in memory or behind HTTP.
//! It never keeps the lock longer than one call.

use jiff::Timestamp;

use super::state::FakeBot;
use crate::http::{HttpFake, listen};
use crate::shared::Shared;
use crate::wire::{Answer, Request};

/// A handle on a [`FakeBot`] that is cheap to clone.
pub type SharedBot = Shared<FakeBot>;

impl SharedBot {
    /// Serves one request at the instant `now`.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        self.with(|bot| bot.handle(now, request))
    }
}

/// Starts a server for a fake and gives the fake the addresses of that server.
pub async fn serve(
    bot: SharedBot,
    clock: impl Fn() -> Timestamp + Send + Sync + 'static,
) -> HttpFake<SharedBot> {
    let server = listen(bot, clock, SharedBot::handle).await;
    server.fake.with(|bot| bot.set_base_url(&server.base_url()));
    server
}
