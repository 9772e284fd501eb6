//! Runs a source while this process leads, and stops it when it does not.
//! It must never decide who leads.

use std::convert::Infallible;

use tokio::sync::watch;
use tokio::time::sleep;

use super::NETWORK_PAUSE;
use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::source::InboundSource;

/// Runs a source whenever this process leads; `None` runs nothing. The next leader reads again what was not appended when
/// the lead was lost.
pub(super) async fn while_leading(
    source: Option<impl InboundSource>,
    journal: &Journal,
    mut leading: watch::Receiver<bool>,
) -> Infallible {
    let Some(mut source) = source else { return std::future::pending().await };
    loop {
        // The sender exists as long as the session.
        if leading.wait_for(|leading| *leading).await.is_err() {
            return std::future::pending().await;
        }
        tokio::select! {
            biased;
            Ok(_) = leading.wait_for(|leading| !*leading) => {}
            never = source.run(journal) => match never {},
        }
    }
}

/// The same for a source of people's messages, once the sponsors were asked for: their messages would wait before that.
pub(super) async fn listen(
    source: Option<impl InboundSource>,
    journal: &Journal,
    leading: watch::Receiver<bool>,
    mut sponsored: watch::Receiver<bool>,
) -> Infallible {
    sleep(NETWORK_PAUSE).await;
    let _ = sponsored.wait_for(|known| *known).await;
    while_leading(source, journal, leading).await
}
