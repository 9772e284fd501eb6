//! Checks the connector's address, which must be Microsoft's, and builds the paths under it.
//! A token of ours must never go to an address that has not passed this check.

use url::{Host, Url};

/// The hosts of the connector for Teams. Those of other clouds have other issuers, which are not trusted.
const HOSTS: [&str; 2] = ["smba.trafficmanager.net", "smba.infra.gcc.teams.microsoft.com"];
/// The domains whose hosts all belong to the Bot Framework.
const DOMAINS: [&str; 1] = [".botframework.com"];

/// The longest address in bytes; real ones have under 100.
const ADDRESS_BYTES_MAX: usize = 1_024;

/// A checked base address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service(Url);

impl Service {
    /// Checks an address. `loopback` also accepts one on this machine, for tests against a channel that runs
    /// here.
    pub(super) fn parse(text: &str, loopback: bool) -> Option<Self> {
        let url = Url::parse(text).ok().filter(|_| text.len() <= ADDRESS_BYTES_MAX)?;
        let plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        let known = match (url.scheme(), url.host()?, url.port()) {
            ("https", Host::Domain(host), None) => {
                HOSTS.contains(&host) || DOMAINS.iter().any(|domain| host.ends_with(domain))
            }
            ("http", Host::Ipv4(address), _) => loopback && address.is_loopback(),
            _ => false,
        };
        (plain && known).then_some(Self(url))
    }

    /// The address to post an activity of a conversation to, as an answer to another activity where one is
    /// named.
    pub(super) fn activities(&self, conversation_id: &str, reply_to: &str) -> String {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(["v3", "conversations", conversation_id, "activities"]);
            if !reply_to.is_empty() {
                path.push(reply_to);
            }
        }
        url.into()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Service;

    #[rstest]
    #[case("https://smba.trafficmanager.net/emea/", true)]
    #[case("https://smba.trafficmanager.net/amer/00000000-0000-0000-0000-000000000000/", true)]
    #[case("https://europe.botframework.com", true)]
    #[case("https://smba.trafficmanager.net:443/emea/", true)]
    #[case("http://smba.trafficmanager.net/emea/", false)]
    #[case("https://smba.trafficmanager.net:8443/emea/", false)]
    #[case("https://evil.trafficmanager.net/", false)]
    #[case("https://smba.trafficmanager.net.contoso.com/", false)]
    #[case("https://smba.trafficmanager.net@contoso.com/", false)]
    #[case("https://user@smba.trafficmanager.net/", false)]
    #[case("https://smba.trafficmanager.net/?a=b", false)]
    #[case("https://evilbotframework.com/", false)]
    #[case("https://botframework.com.contoso.com/", false)]
    #[case("http://127.0.0.1:4000/", false)]
    #[case("file:///etc/passwd", false)]
    #[case("", false)]
    fn only_microsofts_hosts_pass(#[case] text: &str, #[case] passes: bool) {
        assert_eq!(Service::parse(text, false).is_some(), passes);
    }

    #[test]
    fn loopback_passes_where_it_is_asked_for() {
        assert!(Service::parse("http://127.0.0.1:4000/teams/", true).is_some());
        assert!(Service::parse("http://10.0.0.1:4000/teams/", true).is_none());
        assert!(Service::parse("http://localhost.contoso.com/", true).is_none());
    }

    #[test]
    fn ids_can_not_leave_their_place_in_the_path() {
        let service = Service::parse("https://smba.trafficmanager.net/emea/", false).unwrap();
        let base = "https://smba.trafficmanager.net/emea/v3/conversations/";
        assert_eq!(
            service.activities("19:a@thread.v2;messageid=1", "2"),
            format!("{base}19:a@thread.v2;messageid=1/activities/2")
        );
        assert_eq!(
            service.activities("a/../../b?c#d", ""),
            format!("{base}a%2F..%2F..%2Fb%3Fc%23d/activities")
        );
    }
}
