//! The operator's settings for the bot endpoint.

use std::net::SocketAddr;

use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;
use url::Url;

/// The settings of the bot endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether the endpoint is started at all.
    pub enabled: bool,
    /// The address at which it listens, always on this machine.
    pub listen: SocketAddr,
    /// The application id of the bot's registration.
    pub app_id: Option<Guid>,
    /// The tenant of the registration; the agent's own unless another is set.
    pub tenant_id: Option<Guid>,
    /// The registration's secret, from the environment.
    pub secret: Option<Secret>,
    /// The address where the channel publishes its signing keys: Microsoft's, or one on this machine.
    pub openid_url: Url,
    /// The root address of the login service: Microsoft's, or one on this machine.
    pub login_url: Url,
}

impl Settings {
    /// Whether connectors on this machine are trusted beside Microsoft's; only when the keys come from this
    /// machine too.
    pub(super) fn trusts_loopback(&self) -> bool {
        self.openid_url.scheme() == "http"
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::microsofts("https://login.botframework.com/v1/.well-known/openidconfiguration", false)]
    #[case::of_this_machine("http://127.0.0.1:4000/v1/.well-known/openidconfiguration", true)]
    fn a_connector_of_this_machine_is_trusted_where_the_keys_come_from_it(
        #[case] keys: &str,
        #[case] trusts: bool,
    ) {
        let settings = Settings {
            enabled: true,
            listen: "127.0.0.1:3978".parse().unwrap(),
            app_id: None,
            tenant_id: None,
            secret: None,
            openid_url: Url::parse(keys).unwrap(),
            login_url: Url::parse("https://login.microsoftonline.com").unwrap(),
        };
        assert_eq!(settings.trusts_loopback(), trusts);
    }
}
