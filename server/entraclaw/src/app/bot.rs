//! The bot in a session: its parts, and when it listens.
//! It must never stop a server because a part is missing: that is reported, and the rest goes on.

use std::convert::Infallible;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::sleep;

use super::while_leading::while_leading;
use super::{App, NETWORK_PAUSE};
use entraclaw_inbox::gate::{Agent, Gate};
use entraclaw_inbox::journal::Journal;
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

/// Listens once this process leads and the sponsors are known.
pub(super) async fn listen(
    bot: Option<BotSource>,
    journal: &Journal,
    mut leading: watch::Receiver<bool>,
    mut sponsored: watch::Receiver<bool>,
) -> Infallible {
    let Some(mut bot) = bot else { return std::future::pending().await };
    sleep(NETWORK_PAUSE).await;
    let _ = sponsored.wait_for(|known| *known).await;
    while_leading(&mut bot, journal, &mut leading).await
}
