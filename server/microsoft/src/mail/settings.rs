//! The operator's settings for mail.

use std::time::Duration;

/// The settings of the mail source and of the tools for mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the inbox is polled and mail can be read and sent.
    pub enabled: bool,
    /// The time between two polls of the inbox.
    pub poll_interval: Duration,
    /// How far back a first start reads; older mails are history.
    pub look_back: Duration,
    /// The name under which the organisation's own mail gateway writes `Authentication-Results`; Exchange
    /// Online writes none.
    pub authserv_id: Option<String>,
    /// Mails that may be sent in one conversation, or to one address, in an hour.
    pub messages_per_hour: u32,
}
