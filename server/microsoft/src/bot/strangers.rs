//! Sends pairing codes to strangers who wrote to the bot, in the same conversation and as the bot.
//! It must never send anything but a code, because no model may write to a stranger.

use std::convert::Infallible;

use tokio::sync::mpsc;

use super::connector::{Connector, Outgoing};
use super::service::Service;
use entraclaw_inbox::gate::PairingReply;
use entraclaw_inbox::tool::SendError;

/// A code, and the conversation's address from the verified activity that asked for it.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) service_url: String,
    pub(super) bot_id: String,
    pub(super) reply: PairingReply,
}

/// Sends the codes, one after another.
pub(super) async fn tell(connector: Connector, mut waiting: mpsc::Receiver<Told>) -> Infallible {
    while let Some(told) = waiting.recv().await {
        // A failed code is not tried again, and the person is sent no other code for an hour.
        if let Err(error) = tell_one(&connector, &told).await {
            tracing::warn!(%error, who = told.reply.who, "a pairing code could not be sent by the bot");
        }
    }
    std::future::pending().await
}

async fn tell_one(connector: &Connector, told: &Told) -> Result<(), SendError> {
    let service = Service::parse(&told.service_url, connector.loopback).ok_or(SendError::NotAllowed)?;
    let message = Outgoing::own_words(&told.reply.chat_id, told.reply.html());
    connector.deliver(&service, &told.bot_id, &message).await.map(drop)
}
