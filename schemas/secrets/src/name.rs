//! Decides by the name of a key whether its value is a secret.
//!
//! It must never look at the value.

/// How secret the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Secrecy {
    /// It is none.
    Open,
    /// Its texts are secret; numbers under such a name are counts.
    Texts,
    /// Its texts and numbers are secret.
    All,
}

/// What the name of a key says about its value.
pub fn secrecy(key: &str) -> Secrecy {
    let name: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    // A member of the protocol, without which calls can't be told apart.
    if name.ends_with("progresstoken") {
        return Secrecy::Open;
    }
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // The keys of Azure's storage and buses; `AccessKeyName` beside them is only a name.
    let is_azure = name.ends_with("accountkey") || name.ends_with("accesskey");
    if is_azure || has(&["secret", "password", "passwd", "passphrase", "apikey", "privatekey"]) {
        Secrecy::All
    } else if has(&["token", "authorization", "credential", "assertion", "cookie"]) {
        Secrecy::Texts
    } else {
        Secrecy::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("CLIENT_SECRET", Secrecy::All)]
    #[case("api-key", Secrecy::All)]
    #[case("SharedAccessKey", Secrecy::All)]
    #[case("SharedAccessKeyName", Secrecy::Open)]
    #[case("accessToken", Secrecy::Texts)]
    #[case("progressToken", Secrecy::Open)]
    #[case("name", Secrecy::Open)]
    fn a_name_says_how_secret_its_value_is(#[case] key: &str, #[case] wanted: Secrecy) {
        assert_eq!(secrecy(key), wanted);
    }
}
