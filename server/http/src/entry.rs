//! Who may come in: the bearer token, and the names and origins by which the server is called.
//!
//! It must never keep the token itself once it is made, nor say of a wrong one how wrong it is.

use std::net::SocketAddr;

use hyper::header::{AUTHORIZATION, HeaderMap};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Fewest characters of a token.
pub const TOKEN_CHARS_MIN: usize = 16;

/// Why nothing can come in.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// The token is too short to keep anybody out.
    #[error("the token has fewer than {TOKEN_CHARS_MIN} characters; take a longer one")]
    ShortToken,
    /// Other machines would reach it.
    #[error(
        "{0} can be reached from other machines; take 127.0.0.1 and a port, or name by --http-host under which name it is called"
    )]
    Remote(SocketAddr),
}

/// Who may come in.
#[derive(Debug, Clone)]
pub struct Entry {
    token: [u8; 32],
    /// The names by which the server may be called, beside those of this machine.
    pub(crate) hosts: Vec<String>,
    /// The origins of web pages that may call it.
    pub(crate) origins: Vec<String>,
}

impl Entry {
    /// Lets in who has this token, at this address.
    ///
    /// # Errors
    /// Refuses a short token, and an address that other machines reach if no host is named.
    pub fn new(
        token: &str,
        address: SocketAddr,
        hosts: Vec<String>,
        origins: Vec<String>,
    ) -> Result<Self, EntryError> {
        if token.chars().count() < TOKEN_CHARS_MIN {
            return Err(EntryError::ShortToken);
        }
        if !address.ip().is_loopback() && hosts.is_empty() {
            return Err(EntryError::Remote(address));
        }
        Ok(Self { token: fingerprint(token), hosts, origins })
    }

    /// Whether a request has the token.
    pub(crate) fn lets_in(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let (Some(one), None) = (given.next(), given.next()) else { return false };
        let token = one.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        token.is_some_and(|token| fingerprint(token).ct_eq(&self.token).into())
    }
}

fn fingerprint(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn entry() -> Entry {
        Entry::new(TOKEN, "127.0.0.1:8080".parse().unwrap(), Vec::new(), Vec::new()).unwrap()
    }

    fn headers(values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(AUTHORIZATION, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_the_token_lets_in() {
        let entry = entry();
        for (values, expected) in [
            (vec!["Bearer 0123456789abcdef"], true),
            (vec!["bearer 0123456789abcdef"], true),
            (vec![], false),
            (vec!["Bearer "], false),
            (vec!["Bearer 0123456789abcdeg"], false),
            (vec!["Bearer 0123456789abcdef0"], false),
            (vec!["Basic 0123456789abcdef"], false),
            (vec!["0123456789abcdef"], false),
            (vec!["Bearer 0123456789abcdef", "Bearer x"], false),
        ] {
            assert_eq!(entry.lets_in(&headers(&values)), expected, "{values:?}");
        }
    }

    #[test]
    fn other_machines_need_a_name_and_a_token_needs_length() {
        let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let made = |token: &str, address: &str, names: &[&str]| {
            Entry::new(token, address.parse().unwrap(), hosts(names), Vec::new()).map(|_| ())
        };
        assert!(matches!(made("short", "127.0.0.1:1", &[]), Err(EntryError::ShortToken)));
        assert!(made(TOKEN, "[::1]:1", &[]).is_ok());
        let remote = made(TOKEN, "0.0.0.0:1", &[]).unwrap_err().to_string();
        assert!(remote.contains("--http-host"), "{remote}");
        assert!(made(TOKEN, "0.0.0.0:1", &["agents.contoso.com"]).is_ok());
    }

    #[test]
    fn the_token_is_in_no_text_of_it() {
        assert!(!format!("{:?}", entry()).contains(TOKEN));
    }
}
