//! Decides by the name of a key whether its value is a secret.

/// The replacement of a secret.
pub(super) const MASK: &str = "***";

/// How secret the value of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Secrecy {
    Open,
    /// Its texts are secret; numbers under such a name are counts.
    Texts,
    /// Its texts and numbers are secret.
    All,
}

/// What the name of a key says about its value.
pub(super) fn secrecy(key: &str) -> Secrecy {
    let name: String =
        key.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect();
    // A member of the protocol, without which calls can't be told apart.
    if name.ends_with("progresstoken") {
        return Secrecy::Open;
    }
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["secret", "password", "passwd", "passphrase", "apikey", "privatekey"]) {
        Secrecy::All
    } else if has(&["token", "authorization", "credential", "assertion", "cookie"]) {
        Secrecy::Texts
    } else {
        Secrecy::Open
    }
}

/// A masked text and how many secrets were hidden in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<T> {
    /// The text.
    pub text: T,
    /// The number of hidden secrets.
    pub count: u32,
}
