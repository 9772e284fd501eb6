//! The sign-in service of people and agents: the one origin that gets assertions and refresh tokens.
//! It must never use plain http except on this machine.

use url::Url;

use crate::http::is_loopback;
use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

/// The sign-in service of Microsoft's public cloud.
pub const DEFAULT_LOGIN_URL: &str = "https://login.microsoftonline.com";

/// The root below which each tenant has its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    root: Url,
}

/// Says why a text can't be the root, as a problem and its fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct AuthorityError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: &'static str,
}

impl Authority {
    /// The sign-in service of Microsoft's public cloud.
    pub fn microsoft() -> Self {
        Self::parse(DEFAULT_LOGIN_URL).unwrap_or_else(|_| unreachable!("the default is tested"))
    }

    /// Checks a root: https, or http on loopback; scheme, host and port only.
    pub fn parse(text: &str) -> Result<Self, AuthorityError> {
        const EXAMPLE: &str = "write a root such as \"https://login.microsoftonline.com\"";
        let refuse = |problem: &str| AuthorityError { problem: problem.to_owned(), fix: EXAMPLE };
        let root = Url::parse(text.trim()).map_err(|_| refuse("is not a URL"))?;
        if !root.username().is_empty() || root.password().is_some() {
            return Err(refuse("holds user information"));
        }
        if root.query().is_some() || root.fragment().is_some() || root.path() != "/" {
            return Err(refuse("has something after the host"));
        }
        match (root.scheme(), root.host()) {
            (_, None) => Err(refuse("has no host")),
            ("https", Some(_)) => Ok(Self { root }),
            ("http", Some(host)) if is_loopback(&host) => Ok(Self { root }),
            ("http", Some(host)) => Err(AuthorityError {
                problem: format!("is plain http to {host}, which would show the sign-in to the network"),
                fix: "use https; http is for 127.0.0.0/8, [::1] and localhost only",
            }),
            (other, _) => Err(AuthorityError { problem: format!("has the scheme {other}"), fix: EXAMPLE }),
        }
    }

    /// Whether the sign-in service is on this machine.
    pub fn is_loopback(&self) -> bool {
        self.root.host().is_some_and(|host| is_loopback(&host))
    }

    /// Host and port, for messages.
    pub fn name(&self) -> String {
        let host = self.root.host_str().unwrap_or_default();
        self.root.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// An endpoint of a tenant: `token`, `devicecode` or `authorize`.
    pub(super) fn endpoint(&self, tenant: &Guid, name: &str) -> String {
        format!("{}{tenant}/oauth2/v2.0/{name}", self.root)
    }
}

/// A form body. It may hold secrets, so it is treated as one.
pub(super) fn form(fields: &[(&str, &str)]) -> Secret {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    Secret::new(form.finish())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[test]
    fn endpoints_are_those_of_the_tenant() {
        let tenant = Guid::parse("aaaaaaaa-0000-0000-0000-000000000001").unwrap();
        assert_eq!(
            Authority::microsoft().endpoint(&tenant, "token"),
            "https://login.microsoftonline.com/aaaaaaaa-0000-0000-0000-000000000001/oauth2/v2.0/token"
        );
        let local = Authority::parse("http://127.0.0.1:8080/").unwrap();
        assert_eq!((local.name().as_str(), local.is_loopback()), ("127.0.0.1:8080", true));
    }

    #[rstest]
    #[case("login.microsoftonline.com", "is not a URL")]
    #[case("http://login.contoso.com", "is plain http to login.contoso.com")]
    #[case("http://127.0.0.1.contoso.com", "is plain http")]
    #[case("https://a:b@contoso.com", "holds user information")]
    #[case("https://login.microsoftonline.com/common", "has something after the host")]
    #[case("https://login.microsoftonline.com?x", "has something after the host")]
    #[case("file:///etc/passwd", "has something after the host")]
    #[case("ftp://127.0.0.1", "has the scheme ftp")]
    fn bad_roots(#[case] text: &str, #[case] problem: &str) {
        let error = Authority::parse(text).unwrap_err();
        assert!(error.problem.starts_with(problem), "{error}");
    }
}
