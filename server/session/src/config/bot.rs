//! The `[bot]` table: an address on this machine, the registration, and the places of the channel's keys.
//! It must never take a secret from the file, nor an address that others can reach.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use url::{Host, Url};

use super::key::{self, Key};
use super::load::Loader;
use entraclaw_microsoft::bot::Settings;
use entraclaw_seams::secret::Secret;

/// The port that Bot Framework tools expect.
const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3978);

impl Loader {
    pub(super) fn bot(&mut self, environment: &BTreeMap<String, String>) -> Settings {
        let tenant_id = self.guid(&key::BOT_TENANT_ID);
        // A mistake in the agent's own tenant is reported where that is read.
        let own = self.value(&key::IDENTITY_TENANT_ID);
        let own = own.and_then(|(text, _)| entraclaw_inbox::gate::Guid::parse(&text));
        let secret = [key::BOT_SECRET_VARIABLE, key::BOT_SECRET_ALIAS]
            .iter()
            .find_map(|name| environment.get(*name).map(|text| text.trim()).filter(|text| !text.is_empty()));
        Settings {
            enabled: self.truth(&key::BOT_ENABLED),
            listen: self.listen(),
            app_id: self.guid(&key::BOT_APP_ID),
            tenant_id: tenant_id.or(own),
            secret: secret.map(Secret::new),
            openid_url: self.service(&key::BOT_OPENID_URL),
            login_url: self.service(&key::BOT_LOGIN_URL),
        }
    }

    fn listen(&mut self) -> SocketAddr {
        let Some((text, at)) = self.value(&key::BOT_LISTEN) else { return LISTEN_DEFAULT };
        match text.trim().parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => return address,
            Ok(_) => self.error(
                &at,
                format!("`bot.listen` is {text:?}, which others can reach"),
                "write \"127.0.0.1:3978\" and let a tunnel or a reverse proxy on this machine bring activities to it",
            ),
            Err(_) => self.error(
                &at,
                format!("`bot.listen` is {text:?}, which is no address with a port"),
                "write \"127.0.0.1:3978\"",
            ),
        }
        LISTEN_DEFAULT
    }

    /// Reads the address of Microsoft's host, or of one on this machine for tests: the server there decides who is trusted.
    fn service(&mut self, key: &'static Key) -> Url {
        let default = key.default;
        let microsoft = Url::parse(default).unwrap_or_else(|_| unreachable!("the defaults are tested"));
        let Some((text, at)) = self.value(key) else { return microsoft };
        let url =
            Url::parse(text.trim()).ok().filter(|url| url.username().is_empty() && url.password().is_none());
        let allowed = |url: &Url| match (url.scheme(), url.host()) {
            ("https", _) => url.origin() == microsoft.origin(),
            ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
            _ => false,
        };
        if let Some(url) = url.filter(allowed) {
            return url;
        }
        let fix = format!("leave it out for {default}; only http://127.0.0.1 is taken beside that");
        self.error(&at, format!("`{}` is not Microsoft's", key.field()), fix);
        microsoft
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::config::{Config, Sources};

    fn load(variables: &[(&str, &str)]) -> Result<Config, String> {
        let environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Config::load(&Sources { environment, ..Sources::default() }).map_err(|errors| errors.to_string())
    }

    #[rstest]
    #[case("127.0.0.1:4000", true)]
    #[case("[::1]:4000", true)]
    #[case("0.0.0.0:3978", false)]
    #[case("192.168.1.2:3978", false)]
    #[case("[::]:3978", false)]
    #[case("localhost", false)]
    #[case("127.0.0.1", false)]
    fn only_addresses_on_this_machine_are_taken(#[case] text: &str, #[case] taken: bool) {
        match load(&[("ENTRACLAW_BOT_LISTEN", text)]) {
            Ok(config) => assert!(taken && config.bot.listen.to_string() == text),
            Err(errors) => {
                assert!(!taken && errors.contains("bot.listen") && errors.contains("127.0.0.1:3978"));
            }
        }
    }

    #[rstest]
    #[case("http://127.0.0.1:9/keys", true)]
    #[case("https://login.botframework.com/v1/.well-known/openidconfiguration", true)]
    #[case("https://contoso.com/keys", false)]
    #[case("http://login.botframework.com/keys", false)]
    #[case("http://10.0.0.1/keys", false)]
    #[case("https://user@login.botframework.com/", false)]
    #[case("keys", false)]
    fn keys_come_from_microsoft_or_from_here(#[case] text: &str, #[case] taken: bool) {
        assert_eq!(load(&[("ENTRACLAW_BOT_OPENID_URL", text)]).is_ok(), taken);
    }

    #[test]
    fn the_secret_comes_from_the_environment_and_never_from_the_file() {
        let config = load(&[("ENTRACLAW_BOT_APP_PASSWORD", "hush")]).unwrap();
        assert_eq!(config.bot.secret.as_ref().map(super::Secret::expose), Some("hush"));
        assert!(!format!("{config:?}").contains("hush"));
        let text = "[bot]\nenabled = true\napp_secret = \"hush\"\n".to_owned();
        let file = Some(("config.toml".to_owned(), text));
        let errors = Config::load(&Sources { file, ..Sources::default() }).unwrap_err().to_string();
        assert!(errors.contains("ENTRACLAW_BOT_APP_PASSWORD") && !errors.contains("hush"), "{errors}");
    }

    #[test]
    fn the_bot_is_off_by_default_and_uses_the_agents_tenant() {
        let tenant = "aaaaaaaa-0000-0000-0000-000000000001";
        let config = load(&[("ENTRACLAW_IDENTITY_TENANT_ID", tenant)]).unwrap();
        assert!(!config.bot.enabled && config.bot.listen.to_string() == "127.0.0.1:3978");
        assert_eq!(config.bot.tenant_id.unwrap().as_str(), tenant);
    }
}
