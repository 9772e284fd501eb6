//! The root of a service of Microsoft's, as an operator writes it.
//! It must never accept plain http except on this machine.

use url::{Host, Url};

/// Says why a text can't be a root, as a problem and its fix.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct RootError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub fix: &'static str,
}

impl RootError {
    pub(crate) fn new(problem: impl Into<String>, fix: &'static str) -> Self {
        Self { problem: problem.into(), fix }
    }
}

/// Checks a root: https, or http on loopback; no user information, query or fragment. `example` is the fix where a
/// whole root has to be written, and `secret` is what plain http would show.
pub(crate) fn root(text: &str, example: &'static str, secret: &str) -> Result<Url, RootError> {
    let root = Url::parse(text.trim()).map_err(|_| RootError::new("is not a URL", example))?;
    if !root.username().is_empty() || root.password().is_some() {
        return Err(RootError::new("holds user information", "remove the part before the @"));
    }
    if root.query().is_some() || root.fragment().is_some() {
        return Err(RootError::new("holds a query or a fragment", example));
    }
    match (root.scheme(), root.host()) {
        (_, None) => Err(RootError::new("has no host", example)),
        ("http", Some(host)) if !is_local(&root) => Err(RootError::new(
            format!("is plain http to {host}, which would show {secret} to the network"),
            "use https; http is for 127.0.0.0/8, [::1] and localhost only",
        )),
        ("http" | "https", Some(_)) => Ok(root),
        (other, _) => Err(RootError::new(format!("has the scheme {other}"), "use https")),
    }
}

/// Whether a URL leads to this machine, by its host's name alone.
pub(crate) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Host and port, for messages.
pub(crate) fn host_and_port(url: &Url) -> String {
    let host = url.host_str().unwrap_or("a URL without a host");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
