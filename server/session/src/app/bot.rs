//! The bot in a session: its parts.
//! It must never stop a server because a part is missing: that is reported, and the rest goes on.

use std::sync::Arc;

use super::App;
use entraclaw_inbox::gate::{Agent, Gate};
use entraclaw_microsoft::bot::{BotParts, BotSource, Credentials};

/// The bot, if it is enabled and has its credentials.
pub(super) fn source(app: &App, gate: &Arc<Gate>, agent: Agent) -> Option<BotSource> {
    if !app.config.bot.enabled || app.trouble.is_some() {
        return None;
    }
    let credentials = Credentials::of(&app.config.bot).map_err(|problem| {
        tracing::warn!("{problem}");
        app.bot_status.update(|state| state.error = Some(problem));
    });
    let parts = BotParts {
        transport: app.transport.clone(),
        endpoint: app.endpoint.clone(),
        storage: app.storage.clone(),
        clock: app.clock.clone(),
        gate: gate.clone(),
        agent,
        options: app.config.bot.clone(),
    };
    Some(BotSource::new(parts, credentials.ok()?, app.bot_status.clone()))
}
