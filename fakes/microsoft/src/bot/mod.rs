//! A fake Bot Framework channel for Teams: it signs activities, publishes its keys, issues the bot's tokens
//! and takes its answers. It must follow no rule that is not in [`BOT_RULES`], and share no code
//! with the server.

mod rules;
mod shared;
mod sign;
mod state;

pub use rules::{BOT_RULES, BotRule};
pub use shared::{SharedBot, serve};
pub use sign::Forgery;
pub use state::{BotDelivery, BotEvent, BotFault, BotPerson, BotSaying, BotSent, FakeBot};

/// The name that the channel gives in `channelId`.
const CHANNEL: &str = "msteams";
/// The address of Microsoft's metadata.
const METADATA_URL: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";
/// The address of Microsoft's login service.
const LOGIN_URL: &str = "https://login.microsoftonline.com";
/// The address of one of Microsoft's connectors.
const SERVICE_URL: &str = "https://smba.trafficmanager.net/emea/";
