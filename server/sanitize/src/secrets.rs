//! Hides secrets in text that goes to a model: values that are known, and words with a vendor's prefix.
//!
//! It must never hide an ordinary word: what it hides is lost for the reader, so a shape is in the list only if a
//! vendor gives its secrets that prefix.

use std::borrow::Cow;

/// What stands in place of a secret.
pub const HIDDEN: &str = "[a secret was removed here]";
/// Shortest value that counts as a secret of its own, in bytes: a shorter one may be an ordinary word.
const VALUE_BYTES_MIN: usize = 8;

/// Hides secrets. Clones are cheap enough for one a program.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    /// Longest first, so that a value within another hides the whole.
    values: Vec<String>,
}

impl Secrets {
    /// Hides these values too, beside those that are known by their shape.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = values
            .into_iter()
            .map(|value| value.trim().to_owned())
            .filter(|v| v.len() >= VALUE_BYTES_MIN)
            .collect();
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self { values }
    }

    /// Whether the name of a variable says that its value is a secret.
    pub fn is_named(variable: &str) -> bool {
        let name = variable.to_ascii_uppercase();
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY", "PRIVATE_KEY", "CREDENTIAL"]
            .iter()
            .any(|word| name.contains(word))
    }

    /// The text without secrets. A private key is hidden with all its lines.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), HIDDEN));
            }
        }
        let shaped = secrets::hide_sure(&text, HIDDEN);
        let shaped = (shaped.count > 0).then(|| shaped.text.into_owned());
        match hide_keys(shaped.as_deref().unwrap_or(&text)).or(shaped) {
            Some(hidden) => Cow::Owned(hidden),
            None => text,
        }
    }
}

fn hide_keys(text: &str) -> Option<String> {
    const BEGIN: &str = "-----BEGIN ";
    const END: &str = "-----END ";
    let mut out = String::new();
    let mut rest = text;
    let mut is_changed = false;
    while let Some(begin) = rest.find(BEGIN) {
        let line = rest[begin..].lines().next().unwrap_or_default();
        let after = begin + line.len();
        out.push_str(&rest[..after]);
        rest = &rest[after..];
        if line.contains("PRIVATE KEY-----") {
            out.push_str(HIDDEN);
            rest = rest.find(END).map_or("", |end| &rest[end..]);
            is_changed = true;
        }
    }
    is_changed.then(|| out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    #[rstest]
    #[case("use ghp_0123456789abcdefABCDEF now", "use [a secret was removed here] now")]
    #[case("\"sk-ant-api03-AbCdEf0123456789\"", "\"[a secret was removed here]\"")]
    #[case("key=AKIAIOSFODNN7EXAMPLE0", "key=[a secret was removed here]")]
    #[case("the value hunter2hunter2!", "the value [a secret was removed here]")]
    #[case(
        "-----BEGIN RSA PRIVATE KEY-----\nMIIB\nAAAA\n-----END RSA PRIVATE KEY-----\nx",
        "-----BEGIN RSA PRIVATE KEY-----[a secret was removed here]-----END RSA PRIVATE KEY-----\nx"
    )]
    fn a_secret_is_hidden(#[case] text: &str, #[case] hidden: &str) {
        let secrets = Secrets::new(["hunter2hunter2!".to_owned(), "short".to_owned()]);
        assert_eq!(secrets.hide(text), hidden);
    }

    #[rstest]
    #[case("the token of the parser, sk-learn and ghp_ alone, npm_config_registry_of_the_whole_company")]
    #[case("a short value stays: short")]
    #[case("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----")]
    #[case("token = parse(input); password: String")]
    fn an_ordinary_text_stays(#[case] text: &str) {
        let secrets = Secrets::new(["short".to_owned()]);
        assert!(matches!(secrets.hide(text), Cow::Borrowed(same) if same == text));
    }

    proptest! {
        #[test]
        fn no_known_value_is_left(before in "\\PC*", value in "[A-Za-z0-9!~]{8,40}", after in "\\PC*") {
            let secrets = Secrets::new([value.clone()]);
            let text = format!("{before}{value}{after}");
            let hidden = secrets.hide(&text);
            prop_assert!(!hidden.replace(HIDDEN, "#").contains(&value), "{}", hidden);
        }
    }
}
