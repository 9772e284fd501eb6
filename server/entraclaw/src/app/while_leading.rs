//! Runs a source while this process leads, and stops it when it does not.
//! It must never decide who leads.

use std::convert::Infallible;

use tokio::sync::watch;

use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::source::InboundSource;

/// Runs a source whenever this process leads. The next leader reads again what was not appended when the lead was lost.
pub(super) async fn while_leading(
    source: &mut impl InboundSource,
    journal: &Journal,
    leading: &mut watch::Receiver<bool>,
) -> Infallible {
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
