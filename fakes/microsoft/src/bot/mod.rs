//! A fake Bot Framework channel for Teams: it signs activities, publishes its keys, issues the bot's tokens and takes
//! its answers. Every rule it goes by is in [`BOT_RULES`], with its source; it shares no code with the server.

mod rules;
mod sign;
mod state;

pub use rules::{BOT_RULES, BotRule};
pub use sign::Forgery;
pub use state::{BotDelivery, BotEvent, BotFault, BotPerson, BotSaying, BotSent, FakeBot};

use crate::http::HttpFake;
pub use crate::shared::SharedBot;

/// Starts a server for a fake and moves the fake's addresses there.
pub async fn serve(
    bot: SharedBot,
    clock: impl Fn() -> jiff::Timestamp + Send + Sync + 'static,
) -> HttpFake<SharedBot> {
    let server = crate::http::listen(bot, clock, SharedBot::handle).await;
    server.fake.with(|bot| bot.set_base_url(&server.base_url()));
    server
}

/// The channel's own name for itself.
const CHANNEL: &str = "msteams";
/// Where Microsoft's metadata is.
const METADATA_URL: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";
/// Microsoft's login service.
const LOGIN_URL: &str = "https://login.microsoftonline.com";
/// One of Microsoft's connectors.
const SERVICE_URL: &str = "https://smba.trafficmanager.net/emea/";
