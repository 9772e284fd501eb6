//! Hides secrets in a log: by their shape, by the name of their key, and by the variables that the user
//! names. It rather hides too much than too little. It never touches the bytes that are passed on.

use std::borrow::Cow;

use secrets::{Secrecy, hide_possible, secrecy};

use super::mask_json;
pub(crate) use super::secret::MASK;
use super::secret::Masked;

/// Depth to which JSON inside JSON strings is followed.
const NESTING_MAX: usize = 4;
/// A cut line may end within a secret, so this many bytes of its last word are hidden.
const CUT_TAIL_BYTES: usize = 16 * 1024;
/// Most lines of a printed private key.
const KEY_LINES_MAX: u32 = 200;
/// Shortest line of a variable's value that counts as a secret of its own, in bytes.
const PART_BYTES_MIN: usize = 8;

/// Hides secrets in lines. The only state is whether a private key is being printed.
#[derive(Debug, Clone, Default)]
pub struct Masker {
    /// Values that are secrets everywhere, longest first.
    values: Vec<String>,
    /// Lines of a private key that may still follow on stderr.
    key_lines_left: u32,
}

impl Masker {
    /// Also hides these values and each of their lines. Empty values are ignored.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut values: Vec<String> = Vec::new();
        for secret in secrets {
            let parts = secret.lines().map(str::trim).filter(|part| part.len() >= PART_BYTES_MIN);
            values.extend(parts.map(str::to_owned));
            values.push(secret);
        }
        values.retain(|value| !value.is_empty());
        values.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        Self { values, key_lines_left: 0 }
    }

    /// Masks a line of a pipe. `cut` says that the line was longer than what is kept.
    pub fn line(&mut self, bytes: &[u8], cut: bool) -> Masked<Vec<u8>> {
        let Ok(text) = std::str::from_utf8(bytes) else {
            // One character for each byte and back, so that bytes that are no UTF-8 are kept.
            let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
            let masked = self.text_line(&text, cut);
            let back = masked.text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?'));
            return Masked { text: back.collect(), count: masked.count };
        };
        let masked = self.text_line(text, cut);
        Masked { text: masked.text.into_bytes(), count: masked.count }
    }

    /// Masks the arguments of a command: each by itself, and the value after an option with a secret's name.
    pub fn command(&self, arguments: &[String]) -> Vec<String> {
        let mut hide_next = false;
        let mut masked = Vec::new();
        for argument in arguments {
            let option = argument.starts_with('-') && !argument.contains('=');
            let hide = std::mem::replace(&mut hide_next, option && secrecy(argument) > Secrecy::Open);
            masked.push(if hide && !option { MASK.to_owned() } else { self.value(argument, 0).text });
        }
        masked
    }

    fn text_line(&mut self, text: &str, cut: bool) -> Masked<String> {
        if self.key_lines_left > 0 && !text.trim_start().starts_with(['{', '[']) {
            self.key_lines_left = if text.contains("-----END") { 0 } else { self.key_lines_left - 1 };
            return Masked { text: MASK.to_owned(), count: 1 };
        }
        if text.contains("PRIVATE KEY-----") && text.contains("-----BEGIN") && !text.contains("-----END") {
            self.key_lines_left = KEY_LINES_MAX;
        }
        if !cut {
            return self.value(text, 0);
        }
        let masked = self.json(hide_tail(text).as_ref(), 0);
        let again = self.plain(&masked.text);
        Masked { text: again.text, count: masked.count + again.count + 1 }
    }

    /// Masks a text that is JSON, or the beginning of some.
    fn json(&self, text: &str, depth: usize) -> Masked<String> {
        mask_json::mask(text, &|said| self.value(said, depth + 1))
    }

    /// Masks a text that may be JSON as a whole.
    fn value(&self, text: &str, depth: usize) -> Masked<String> {
        let begins = text.trim_start().starts_with(['{', '[']);
        if begins && depth < NESTING_MAX && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
            return self.json(text, depth);
        }
        self.plain(text)
    }

    /// Masks a text that is not JSON as a whole.
    fn plain(&self, text: &str) -> Masked<String> {
        let mut count = 0;
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            let found = text.matches(value.as_str()).count();
            if found > 0 {
                count += u32::try_from(found).unwrap_or(u32::MAX);
                text = Cow::Owned(text.replace(value.as_str(), MASK));
            }
        }
        let hidden = hide_possible(&text, MASK);
        Masked { text: hidden.text.into_owned(), count: count + hidden.count }
    }
}

/// Removes the last word of a text, of which only the beginning is known.
fn hide_tail(text: &str) -> Cow<'_, str> {
    let word = text.bytes().rev().take_while(|byte| !byte.is_ascii_whitespace() && *byte != b'"').count();
    let mut at = text.len() - word.min(CUT_TAIL_BYTES);
    while !text.is_char_boundary(at) {
        at += 1;
    }
    Cow::Owned(format!("{}{MASK}", &text[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn masked(text: &str) -> String {
        String::from_utf8(Masker::default().line(text.as_bytes(), false).text).unwrap()
    }

    #[rstest]
    #[case("Authorization: Bearer abcdefgh.ijk", "Authorization: ***")]
    #[case("curl -H 'Authorization: Basic QWxpY2U6Qm9i' x", "curl -H 'Authorization: ***' x")]
    #[case("got eyJhbGciOiJub25lIn0.eyJzdWIiOiJBbGljZSJ9.c2ln now", "got *** now")]
    #[case("key sk-ant-api03-abcdefgh", "key ***")]
    #[case("a task-force-of-eight", "a task-force-of-eight")]
    #[case("client_secret=abc~def&grant_type=x", "client_secret=***&grant_type=x")]
    #[case("https://contoso.com/?code=0.AbC&state=1", "https://contoso.com/?code=***&state=1")]
    #[case("https://alice:hunter2@contoso.com/", "https://alice:***@contoso.com/")]
    #[case("max_tokens: 4096, tokens=12", "max_tokens: 4096, tokens=12")]
    #[case("DB_PASSWORD=12345", "DB_PASSWORD=***")]
    #[case("run --client-secret hunter2 --x", "run --client-secret *** --x")]
    #[case("xyz8Q~abcdefghijklmnopqrstuvwxyz0123456", "***")]
    #[case("password: it's short", "password: *** short")]
    fn secrets_in_texts(#[case] text: &str, #[case] wanted: &str) {
        assert_eq!(masked(text), wanted);
    }

    #[test]
    fn variables_are_masked_wherever_they_stand_also_in_parts() {
        let mut masker = Masker::new(["one\nlonger-second".to_owned(), "abc".to_owned(), String::new()]);
        let line = masker.line(br#"{"x":"abcd one\nlonger-second","y":"longer-second"}"#, false);
        assert_eq!(String::from_utf8(line.text).unwrap(), r#"{"x":"***d ***","y":"***"}"#);
        assert_eq!(line.count, 3);
    }

    #[test]
    fn bytes_that_are_no_utf8_stay_beside_the_mask() {
        let masked = Masker::default().line(b"\xff\xfe token=hunter2 \x80", false);
        assert_eq!(masked.text, b"\xff\xfe token=*** \x80");
    }

    #[test]
    fn a_secret_at_the_cut_is_hidden() {
        let text = r#"{"jsonrpc":"2.0","text":"a b eyJhbGciOiJub"#;
        let masked = Masker::default().line(text.as_bytes(), true);
        assert_eq!(String::from_utf8(masked.text).unwrap(), r#"{"jsonrpc":"2.0","text":"a b ***"#);
    }

    #[test]
    fn a_printed_private_key_is_hidden_line_by_line() {
        let mut masker = Masker::default();
        let mut lines = Vec::new();
        for line in ["-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBg", "-----END PRIVATE KEY-----", "after"] {
            lines.push(String::from_utf8(masker.line(line.as_bytes(), false).text).unwrap());
        }
        assert_eq!(lines, ["-----BEGIN PRIVATE KEY-----", "***", "***", "after"]);
    }

    #[test]
    fn a_command_hides_the_value_of_a_secret_option() {
        let command = ["srv", "--api-key", "hunter2", "--verbose", "--token=x1"].map(str::to_owned);
        assert_eq!(
            Masker::default().command(&command),
            ["srv", "--api-key", "***", "--verbose", "--token=***"]
        );
    }

    #[test]
    fn long_lines_of_one_word_take_no_time() {
        let text = format!("{{\"text\":\"{}\"}}", "token".repeat(100_000));
        assert_eq!(masked(&text).len(), text.len());
    }

    #[rstest]
    #[case(r#"{"accessToken" : "abc", "n": 1e2}"#, r#"{"accessToken" : "***", "n": 1e2}"#)]
    #[case(r#"{"a":{"password":12345,"pin":1}}"#, r#"{"a":{"password":"***","pin":1}}"#)]
    #[case(r#"{"maxTokens":100,"token":null}"#, r#"{"maxTokens":100,"token":null}"#)]
    #[case(r#"{"_meta":{"progressToken":"t-1"}}"#, r#"{"_meta":{"progressToken":"t-1"}}"#)]
    #[case(r#"{"secrets":{"a":["x",2],"b":""}}"#, r#"{"secrets":{"a":["***","***"],"b":""}}"#)]
    #[case(r#"{"token":"one","token":"two"}"#, r#"{"token":"***","token":"***"}"#)]
    #[case(
        r#"{"properties":{"token":{"type":"string"},"password":"p"}}"#,
        r#"{"properties":{"token":{"type":"string"},"password":"***"}}"#
    )]
    #[case(
        r#"{"text":"{\"refresh_token\":\"abc\",\"x\":1}"}"#,
        r#"{"text":"{\"refresh_token\":\"***\",\"x\":1}"}"#
    )]
    #[case(r#"{"text":"api_key=\u0061bc"}"#, r#"{"text":"api_key=***"}"#)]
    #[case(r#"[{"Authorization":"Basic QWxpY2U="}]"#, r#"[{"Authorization":"***"}]"#)]
    #[case(r#"{"token":"cut \"off"#, r#"{"token":"***""#)]
    fn secrets_in_json(#[case] text: &str, #[case] wanted: &str) {
        assert_eq!(Masker::default().json(text, 0).text, wanted);
    }

    #[test]
    fn a_line_without_a_secret_keeps_every_byte() {
        let text = "{ \"a\" : [1, 2.50,\t\"\\u00e9\\/\" ],\"a\":true }\r";
        let masked = Masker::default().json(text, 0);
        assert_eq!((masked.text.as_str(), masked.count), (text, 0));
    }
}
