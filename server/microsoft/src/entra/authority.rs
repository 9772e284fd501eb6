//! The sign-in service of people and agents: the one origin that gets assertions and refresh tokens.
//! It must never use plain http except on this machine.

use url::Url;

use crate::http::{RootError, host_and_port, is_local, root};
use entraclaw_inbox::gate::Guid;
use entraclaw_seams::secret::Secret;

/// The sign-in service of Microsoft's public cloud.
pub const DEFAULT_LOGIN_URL: &str = "https://login.microsoftonline.com";

/// The root below which each tenant has its endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authority {
    root: Url,
}

impl Authority {
    /// The sign-in service of Microsoft's public cloud.
    pub fn microsoft() -> Self {
        Self::parse(DEFAULT_LOGIN_URL).unwrap_or_else(|_| unreachable!("the default is tested"))
    }

    /// Checks a root: https, or http on loopback; scheme, host and port only.
    pub fn parse(text: &str) -> Result<Self, RootError> {
        const EXAMPLE: &str = "write a root such as \"https://login.microsoftonline.com\"";
        let root = root(text, EXAMPLE, "the sign-in")?;
        if root.path() != "/" {
            return Err(RootError::new("has something after the host", EXAMPLE));
        }
        Ok(Self { root })
    }

    /// Whether the sign-in service is on this machine.
    pub fn is_loopback(&self) -> bool {
        is_local(&self.root)
    }

    /// Host and port, for messages.
    pub fn name(&self) -> String {
        host_and_port(&self.root)
    }

    /// An endpoint of a tenant: `token`, `devicecode` or `authorize`.
    pub(super) fn endpoint(&self, tenant: &Guid, name: &str) -> String {
        format!("{}{tenant}/oauth2/v2.0/{name}", self.root)
    }
}

/// A form body. It may hold secrets, so it is treated as one.
pub(crate) fn form(fields: &[(&str, &str)]) -> Secret {
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
    #[case("https://login.microsoftonline.com?x", "holds a query or a fragment")]
    #[case("file:///etc/passwd", "has no host")]
    #[case("ftp://127.0.0.1", "has the scheme ftp")]
    fn bad_roots(#[case] text: &str, #[case] problem: &str) {
        let error = Authority::parse(text).unwrap_err();
        assert!(error.problem.starts_with(problem), "{error}");
    }
}
