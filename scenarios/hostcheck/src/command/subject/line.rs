//! The words of a command that are secret: what stands behind an option or a variable with a secret's name, and what has the
//! shape of a secret. A command is shown without them. A variable of the shell is shown, because its name is no secret.

use secrets::{Secrecy, secrecy};

use super::quoted;
use crate::conformance::words_of_command;
use crate::tap::mask::{MASK, Masker};

/// A word as it is shown, and what is hidden in it.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    shown: String,
    secrets: Vec<String>,
}

/// A command as it is shown.
pub(super) fn shown(line: &str) -> String {
    let mut text = String::new();
    let mut done = 0;
    let spans = words_of_command(line);
    for (span, word) in spans.iter().zip(words(&plain(line))) {
        text.push_str(&line[done..span.start]);
        match word.secrets.as_slice() {
            [] => text.push_str(&line[span.clone()]),
            _ if word.shown.contains(char::is_whitespace) => text.push_str(&quoted(&word.shown)),
            _ => text.push_str(&word.shown),
        }
        done = span.end;
    }
    text.push_str(&line[done..]);
    text
}

/// The secrets of a command.
pub(super) fn secrets_of_line(line: &str) -> Vec<String> {
    secrets_of(&plain(line))
}

/// The secrets among the words of a command. A number is none here: all texts of a run would lose it.
pub(super) fn secrets_of(all: &[String]) -> Vec<String> {
    let secrets = words(all).into_iter().flat_map(|word| word.secrets);
    secrets.filter(|secret| secret.parse::<f64>().is_err()).collect()
}

/// The words of a line without their quotes.
fn plain(line: &str) -> Vec<String> {
    let words = words_of_command(line).into_iter().map(|span| &line[span]);
    words.map(|raw| shlex::split(raw).unwrap_or_default().pop().unwrap_or_else(|| raw.to_owned())).collect()
}

fn words(all: &[String]) -> Vec<Word> {
    let before = std::iter::once("").chain(all.iter().map(String::as_str));
    before.zip(all).map(|(before, word)| hide(before, word)).collect()
}

fn hide(before: &str, word: &str) -> Word {
    let is_option = |word: &str| word.starts_with('-') && !word.contains('=');
    let whole = |name: &str, value: &str| {
        let is_secret = is_secret(name, value);
        let shown = if is_secret { MASK } else { value };
        let secrets = is_secret.then(|| value.to_owned()).into_iter().collect();
        (shown.to_owned(), secrets)
    };
    if is_option(before) && !is_option(word) && secrecy(before) > Secrecy::Open {
        let (shown, secrets) = whole(before, word);
        return Word { shown, secrets };
    }
    let is_name =
        |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let named = word.split_once('=').filter(|(name, _)| is_name(name) && secrecy(name) > Secrecy::Open);
    if let Some((name, value)) = named {
        let (shown, secrets) = whole(name, value);
        return Word { shown: format!("{name}={shown}"), secrets };
    }
    let shown = Masker::default().command(&[word.to_owned()]).concat();
    let secrets = hidden_parts(word, &shown);
    Word { shown, secrets }
}

fn is_secret(name: &str, value: &str) -> bool {
    let is_count = secrecy(name) == Secrecy::Texts && value.parse::<f64>().is_ok();
    !value.is_empty() && !is_variable(value) && !is_count
}

/// `$NAME` or `${NAME}`.
fn is_variable(text: &str) -> bool {
    let Some(name) = text.strip_prefix('$') else { return false };
    let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What a masked word had in the place of each mask.
fn hidden_parts(word: &str, masked: &str) -> Vec<String> {
    let mut parts = masked.split(MASK);
    let Some(mut rest) = parts.next().and_then(|first| word.strip_prefix(first)) else { return Vec::new() };
    let mut hidden = Vec::new();
    for part in parts {
        let end = if part.is_empty() { rest.len() } else { rest.find(part).unwrap_or(rest.len()) };
        hidden.push(rest[..end].to_owned());
        rest = rest[end..].strip_prefix(part).unwrap_or_default();
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("srv --access-token sbp_1 --read-only", "srv --access-token *** --read-only", &["sbp_1"])]
    #[case("srv --api-key 'a b' x", "srv --api-key *** x", &["a b"])]
    #[case("srv \"--token=a b\"  -v", "srv --token=***  -v", &["a b"])]
    #[case("cd x && DB_PASSWORD='p q' exec srv", "cd x && DB_PASSWORD=*** exec srv", &["p q"])]
    #[case("docker run -e API_KEY=k1 image", "docker run -e API_KEY=*** image", &["k1"])]
    #[case("sh -c 'srv --api-key k1 -v'", "sh -c 'srv --api-key *** -v'", &["k1"])]
    #[case("srv https://alice:hunter2@contoso.com/", "srv https://alice:***@contoso.com/", &["hunter2"])]
    #[case("srv --max-tokens 4096 --max-tokens=9", "srv --max-tokens 4096 --max-tokens=9", &[])]
    #[case("srv --password 12345678", "srv --password ***", &[])]
    #[case("srv --token $T --api-key=${K} 'a  b'", "srv --token $T --api-key=${K} 'a  b'", &[])]
    fn a_command_is_shown_without_its_secrets(
        #[case] line: &str,
        #[case] wanted: &str,
        #[case] secrets: &[&str],
    ) {
        assert_eq!(shown(line), wanted);
        assert_eq!(secrets_of_line(line), secrets);
    }
}
