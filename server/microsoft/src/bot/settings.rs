//! What the operator decided about the bot endpoint.

use std::net::SocketAddr;

use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;
use url::Url;

/// The bot endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether it is wanted at all.
    pub enabled: bool,
    /// Where it listens; always on this machine.
    pub listen: SocketAddr,
    /// The application id of the bot's registration.
    pub app_id: Option<Guid>,
    /// The tenant of the registration; the agent's own where nothing else is said.
    pub tenant_id: Option<Guid>,
    /// The registration's secret, from the environment.
    pub secret: Option<Secret>,
    /// Where the channel says which keys it signs with: Microsoft's, or one on this machine.
    pub openid_url: Url,
    /// Root of the login service: Microsoft's, or one on this machine.
    pub login_url: Url,
}
