//! A fake Bot Framework channel for Teams: it signs activities, publishes its keys, issues the bot's tokens and takes
//! its answers. Every rule it goes by is in [`BOT_RULES`], with its source; it shares no code with the server.

mod rules;
mod shared;
mod sign;
mod state;

pub use rules::{BOT_RULES, BotRule};
pub use shared::{SharedBot, serve};
pub use sign::Forgery;
pub use state::{BotDelivery, BotEvent, BotFault, BotPerson, BotSaying, BotSent, FakeBot};

/// The channel's own name for itself.
const CHANNEL: &str = "msteams";
/// Where Microsoft's metadata is.
const METADATA_URL: &str = "https://login.botframework.com/v1/.well-known/openidconfiguration";
/// Microsoft's login service.
const LOGIN_URL: &str = "https://login.microsoftonline.com";
/// One of Microsoft's connectors.
const SERVICE_URL: &str = "https://smba.trafficmanager.net/emea/";
