//! The one origin that the token may be sent to, and the links that stay on it.
//! It must never let a link to another host, scheme or port through, nor one with user information.

use url::Url;

use crate::http::{RootError, host_and_port, is_local, root};

/// Graph's root in Microsoft's public cloud.
pub const DEFAULT_ROOT: &str = "https://graph.microsoft.com";

/// The root of Graph, without a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    root: Url,
}

/// A link in an answer that leaves our origin; the token was not sent to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("graph answered with a link that is not followed: {0}")]
pub struct ForeignLink(
    /// The reason, without the link's query.
    pub String,
);

impl Origin {
    /// The origin of Microsoft's public cloud.
    pub fn microsoft() -> Self {
        Self::parse(DEFAULT_ROOT).unwrap_or_else(|_| unreachable!("the default root is tested"))
    }

    /// Checks a root: https, or http on loopback; no user information, query, fragment or version.
    pub fn parse(text: &str) -> Result<Self, RootError> {
        const EXAMPLE: &str = "write a root such as \"https://graph.microsoft.com\"";
        let root = root(text, EXAMPLE, "the access token")?;
        let last = root.path().trim_end_matches('/').rsplit('/').next().unwrap_or("");
        if matches!(last, "v1.0" | "beta") {
            let fix = "remove the version, the server appends /v1.0 itself";
            return Err(RootError::new("ends with an API version", fix));
        }
        Ok(Self { root })
    }

    /// Whether the root is on this machine, where frequent polling does no harm.
    pub fn is_loopback(&self) -> bool {
        is_local(&self.root)
    }

    /// Host and port, for messages.
    pub fn authority(&self) -> String {
        host_and_port(&self.root)
    }

    /// An absolute URL of version 1.0 from path segments and query pairs, both encoded here.
    pub fn url(&self, segments: &[&str], query: &[(&str, &str)]) -> String {
        let mut url = self.root.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push("v1.0").extend(segments);
        }
        let encoded: Vec<String> =
            query.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        url.set_query((!encoded.is_empty()).then(|| encoded.join("&")).as_deref());
        url.into()
    }

    /// A link from an answer (`@odata.nextLink`, `Location`), if it stays on our origin.
    pub fn follow(&self, link: &str) -> Result<String, ForeignLink> {
        const LINK_BYTES_MAX: usize = 16 * 1024;
        if link.len() > LINK_BYTES_MAX {
            return Err(ForeignLink(format!("it is longer than {LINK_BYTES_MAX} bytes")));
        }
        let Ok(url) = self.root.join(link) else { return Err(ForeignLink("it is not a URL".to_owned())) };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ForeignLink("it holds user information".to_owned()));
        }
        if url.origin() != self.root.origin() {
            let there = url.origin().ascii_serialization();
            let here = self.root.origin().ascii_serialization();
            return Err(ForeignLink(format!("it leads to {there}, not to {here}")));
        }
        Ok(url.into())
    }
}

/// Percent-encodes a query value, except for the characters that OData uses unencoded (`/`, `$`, `,`, `'`,
/// `:`).
fn encode(value: &str) -> String {
    use std::fmt::Write as _;
    value.bytes().fold(String::with_capacity(value.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~/$,':".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Origin;

    #[rstest]
    #[case("https://graph.microsoft.com")]
    #[case("https://graph.microsoft.com/")]
    #[case("http://127.0.0.1:8080")]
    #[case("http://127.8.9.1")]
    #[case("http://[::1]:80/")]
    #[case("http://LOCALHOST:9")]
    #[case("https://graph.contoso.com/proxy")]
    fn good_roots(#[case] text: &str) {
        assert!(Origin::parse(text).is_ok());
    }

    #[rstest]
    #[case("graph.microsoft.com", "is not a URL; write a root such as \"https://graph.microsoft.com\"")]
    #[case("", "is not a URL; write a root such as \"https://graph.microsoft.com\"")]
    #[case(
        "http://graph.contoso.com",
        "is plain http to graph.contoso.com, which would show the access token to the network; \
         use https; http is for 127.0.0.0/8, [::1] and localhost only"
    )]
    #[case(
        "http://localhost.contoso.com",
        "is plain http to localhost.contoso.com, which would show the access token to the network; \
         use https; http is for 127.0.0.0/8, [::1] and localhost only"
    )]
    #[case(
        "http://[::ffff:127.0.0.1]",
        "is plain http to [::ffff:7f00:1], which would show the access token to the network; \
         use https; http is for 127.0.0.0/8, [::1] and localhost only"
    )]
    #[case("https://alice:secret@graph.contoso.com", "holds user information; remove the part before the @")]
    #[case("http://127.0.0.1@contoso.com", "holds user information; remove the part before the @")]
    #[case("ftp://127.0.0.1", "has the scheme ftp; use https")]
    #[case(
        "https://graph.microsoft.com/v1.0/",
        "ends with an API version; remove the version, the server appends /v1.0 itself"
    )]
    #[case(
        "https://graph.microsoft.com?x=1",
        "holds a query or a fragment; write a root such as \"https://graph.microsoft.com\""
    )]
    fn bad_roots(#[case] text: &str, #[case] message: &str) {
        assert_eq!(Origin::parse(text).unwrap_err().to_string(), message);
    }

    #[test]
    fn urls_are_encoded() {
        let origin = Origin::parse("http://localhost:9/").unwrap();
        assert_eq!(
            origin.url(
                &["me", "chats", "19:a/b@thread.v2", "messages"],
                &[("$filter", "a gt 2026-01-01T00:00:00Z")]
            ),
            "http://localhost:9/v1.0/me/chats/19:a%2Fb@thread.v2/messages?$filter=a%20gt%202026-01-01T00:00:00Z"
        );
        let proxied = Origin::parse("https://contoso.com/graph").unwrap();
        assert_eq!(proxied.url(&["me"], &[]), "https://contoso.com/graph/v1.0/me");
    }

    #[rstest]
    #[case("https://graph.microsoft.com/v1.0/me/chats?$skiptoken=x", true)]
    #[case("https://GRAPH.microsoft.com:443/v1.0/me", true)]
    #[case("/v1.0/me/chats?$skiptoken=x", true)]
    #[case("http://graph.microsoft.com/v1.0/me", false)]
    #[case("https://graph.microsoft.com:444/v1.0/me", false)]
    #[case("https://graph.microsoft.com.contoso.com/v1.0/me", false)]
    #[case("https://graph.microsoft.com@contoso.com/v1.0/me", false)]
    #[case("https://alice@graph.microsoft.com/v1.0/me", false)]
    #[case("//contoso.com/v1.0/me", false)]
    #[case("\\\\contoso.com/v1.0/me", false)]
    #[case("javascript:alert(1)", false)]
    fn links_stay_at_home(#[case] link: &str, #[case] followed: bool) {
        assert_eq!(Origin::parse("https://graph.microsoft.com").unwrap().follow(link).is_ok(), followed);
    }

    #[test]
    fn a_long_link_is_followed_and_an_endless_one_is_not() {
        let origin = Origin::parse("https://graph.microsoft.com").unwrap();
        let link = |bytes: usize| {
            let start = "https://graph.microsoft.com/v1.0/me/chats?$skiptoken=";
            format!("{start}{}", "x".repeat(bytes - start.len()))
        };
        assert_eq!(origin.follow(&link(16 * 1024)).unwrap(), link(16 * 1024));
        assert!(origin.follow(&link(16 * 1024 + 1)).is_err());
    }
}
