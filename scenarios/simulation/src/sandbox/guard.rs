//! Decides which requests the sandbox answers: only those of a page that knows its token, at an address of this
//! machine, from the same origin.
//! It must never look at a body, and never say which part of a token was wrong.

use subtle::ConstantTimeEq as _;

/// The facts about a request before its body is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// The verb in capitals.
    pub(crate) method: &'a str,
    /// The path without its query.
    pub(crate) path: &'a str,
    /// Every `Host` header.
    pub(crate) hosts: &'a [&'a str],
    /// Every `Origin` header.
    pub(crate) origins: &'a [&'a str],
}

/// Why nothing is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// HTTP status.
    pub(crate) status: u16,
    /// The fault and how to mend it.
    pub(crate) why: &'static str,
}

/// The token and the addresses of the page.
pub(crate) struct Guard {
    token: String,
    authorities: [String; 2],
}

impl Guard {
    /// For a page on a port of this machine.
    pub(crate) fn new(token: String, port: u16) -> Self {
        Self { token, authorities: [format!("127.0.0.1:{port}"), format!("localhost:{port}")] }
    }

    /// The page's address, token and all.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/{}/", self.authorities[0], self.token)
    }

    /// The path below the token, or the reason why the request is refused.
    ///
    /// The token stands in the path, and not in a cookie, because browsers send a cookie of one port to every other
    /// port of the same machine.
    pub(crate) fn judge<'a>(&self, asked: &Asked<'a>) -> Result<&'a str, Refusal> {
        // Another name that resolves to this machine is how a foreign page would rebind itself to us.
        let [host] = asked.hosts else {
            return Err(Refusal { status: 400, why: "send exactly one Host header" });
        };
        if !self.authorities.iter().any(|authority| authority == host) {
            return Err(Refusal { status: 421, why: "open the address that the terminal shows" });
        }
        let (token, rest) =
            asked.path.strip_prefix('/').unwrap_or_default().split_once('/').unwrap_or_default();
        if !bool::from(token.as_bytes().ct_eq(self.token.as_bytes())) {
            return Err(Refusal { status: 403, why: "open the address that the terminal shows, all of it" });
        }
        match asked.method {
            "GET" => Ok(rest),
            "POST" => match asked.origins {
                [origin] if origin.strip_prefix("http://") == Some(*host) => Ok(rest),
                _ => Err(Refusal { status: 403, why: "only the sandbox's own page may write" }),
            },
            _ => Err(Refusal { status: 405, why: "only GET and POST are known here" }),
        }
    }
}

/// A token that can't be guessed: 256 bits in the alphabet of addresses.
pub(crate) fn token() -> anyhow::Result<String> {
    use base64::Engine as _;
    use ring::rand::SecureRandom as _;
    let mut bytes = [0_u8; 32];
    ring::rand::SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| anyhow::anyhow!("the system gives no random numbers"))?;
    Ok(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const HOME: &str = "127.0.0.1:4000";
    const OWN: &str = "http://127.0.0.1:4000";

    #[rstest]
    #[case("GET", "/secret/", &[HOME], &[], Ok(""))]
    #[case("GET", "/secret/state", &["localhost:4000"], &[], Ok("state"))]
    #[case("POST", "/secret/say", &[HOME], &[OWN], Ok("say"))]
    #[case("GET", "/", &[HOME], &[], Err(403))]
    #[case("GET", "/secret", &[HOME], &[], Err(403))]
    #[case("GET", "/secre/", &[HOME], &[], Err(403))]
    #[case("GET", "//secret/", &[HOME], &[], Err(403))]
    #[case("GET", "/Secret/state", &[HOME], &[], Err(403))]
    #[case("GET", "/secret/", &["contoso.com:4000"], &[], Err(421))]
    #[case("GET", "/secret/", &["127.0.0.1"], &[], Err(421))]
    #[case("GET", "/secret/", &[], &[], Err(400))]
    #[case("GET", "/secret/", &[HOME, HOME], &[], Err(400))]
    #[case("POST", "/secret/say", &[HOME], &[], Err(403))]
    #[case("POST", "/secret/say", &[HOME], &["null"], Err(403))]
    #[case("POST", "/secret/say", &[HOME], &["http://localhost:4000"], Err(403))]
    #[case("POST", "/secret/say", &[HOME], &["https://127.0.0.1:4000"], Err(403))]
    #[case("POST", "/secret/say", &[HOME], &[OWN, OWN], Err(403))]
    #[case("POST", "/wrong/say", &[HOME], &[OWN], Err(403))]
    #[case("OPTIONS", "/secret/say", &[HOME], &[OWN], Err(405))]
    #[case("DELETE", "/secret/say", &[HOME], &[OWN], Err(405))]
    fn only_the_own_page_is_let_in(
        #[case] method: &str,
        #[case] path: &str,
        #[case] hosts: &[&str],
        #[case] origins: &[&str],
        #[case] wanted: Result<&str, u16>,
    ) {
        let guard = Guard::new("secret".to_owned(), 4000);
        let asked = Asked { method, path, hosts, origins };
        assert_eq!(guard.judge(&asked).map_err(|refusal| refusal.status), wanted);
    }

    #[test]
    fn tokens_differ_and_fit_an_address() {
        let (one, other) = (token().unwrap(), token().unwrap());
        assert_ne!(one, other);
        assert!(one.len() == 43 && one.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b)));
    }
}
