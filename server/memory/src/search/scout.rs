//! Looks for a phrase in the bytes of a file, before they are read as messages.
//!
//! It must never say that a phrase is not there when it may be: it knows too little to say that it is.

use regex::bytes::Regex;

use super::ask::Ask;

/// What may stand within a word and is taken out when a message is read: terminal controls and invisible characters.
const HIDDEN: &str = r"(?-u)\\u001b|\\u009b|\\u20|\xe2\x80";
/// What may stand between two words: signs, and the escapes of JSON.
const BETWEEN: &str = r"(?:[^0-9A-Za-z]|\\[nrtbf]|\\u[0-9a-fA-F]{4})+";

/// The phrases of a query.
pub(super) struct Scout {
    phrases: Vec<Regex>,
    hidden: Option<Regex>,
}

impl Scout {
    pub(super) fn new(ask: &Ask) -> Self {
        let is_plain = |phrase: &&Vec<String>| {
            phrase.iter().flat_map(|word| word.chars()).all(|c| c.is_ascii_alphanumeric())
        };
        let plain = ask.phrases.iter().filter(is_plain);
        let phrases = plain.filter_map(|phrase| Regex::new(&format!("(?i-u){}", phrase.join(BETWEEN))).ok());
        Self { phrases: phrases.collect(), hidden: Regex::new(HIDDEN).ok() }
    }

    /// Whether a part of a file may hold the phrases.
    pub(super) fn may_hold(&self, bytes: &[u8]) -> bool {
        self.phrases.iter().all(|phrase| phrase.is_match(bytes))
            || self.hidden.as_ref().is_none_or(|hidden| hidden.is_match(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_that_may_be_there_is_never_denied() {
        let ask = Ask { phrases: vec![vec!["file".to_owned(), "lock".to_owned()]], ..Ask::default() };
        let scout = Scout::new(&ask);
        for text in [
            "take the File Lock",
            r#""file\nlock""#,
            r#"file, \"lock\""#,
            r"fi\u200ble lock",
            "fi\u{200b}le lock",
        ] {
            assert!(scout.may_hold(text.as_bytes()), "{text}");
        }
        assert!(!scout.may_hold(b"the lock of the file") && !scout.may_hold(b"file of the lock"));
        let other =
            Ask { phrases: vec![vec!["gr\u{f6}\u{df}e".to_owned(), "zwei".to_owned()]], ..Ask::default() };
        assert!(Scout::new(&other).may_hold(b"anything"));
    }
}
