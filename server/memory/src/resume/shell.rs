//! A command line for a POSIX shell.
//!
//! It must never leave a character to the shell's judgement.

use std::borrow::Cow;

/// The words as one line that a shell splits into the same words. No word can hold a NUL, so what follows one is left out.
pub fn quoted(words: &[String]) -> String {
    let whole = words.iter().map(|word| word.split('\0').next().unwrap_or_default());
    whole.map(quote).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> Cow<'_, str> {
    // `shlex` also quotes a flag with a value, which no shell takes for more than a word.
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.=".contains(&b);
    if word.starts_with("--") && word.bytes().all(is_plain) {
        return Cow::Borrowed(word);
    }
    shlex::try_quote(word).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_needs_quotes_has_them() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(quoted(&words(&["copilot", "--resume=0cb916db-26aa"])), "copilot --resume=0cb916db-26aa");
        assert_eq!(quoted(&words(&["cd", "/home/alice/my project", ""])), "cd '/home/alice/my project' ''");
        assert_eq!(quoted(&words(&["a\0b"])), "a");
    }

    #[cfg(unix)]
    #[test]
    fn a_real_shell_gets_the_same_words() {
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
        let words = proptest::collection::vec("[^\0]{0,12}|[-~*?$`\"'\\\\!#&|;<> \n\t]{0,8}", 1..5);
        let check = |words: Vec<String>| {
            let script = format!("printf '%s\\0' {}", quoted(&words));
            let out = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            let wanted = words.join("\0") + "\0";
            prop_assert_eq!(String::from_utf8(out.stdout).unwrap(), wanted);
            Ok(())
        };
        runner.run(&words, check).unwrap();
    }
}
