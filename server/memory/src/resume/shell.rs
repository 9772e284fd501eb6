//! A command line for a POSIX shell.
//!
//! It must never leave a character to the shell's judgement.

/// The words as one line that a shell splits into the same words.
pub fn quoted(words: &[String]) -> String {
    words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

pub(super) fn quote(word: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./=:@%+,".contains(&b);
    // `=` is safe only behind the first word, where no command is meant; `~` would be a home folder.
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_needs_quotes_has_them() {
        let words = ["copilot", "--resume=0cb916db-26aa"].map(str::to_owned);
        assert_eq!(quoted(&words), "copilot --resume=0cb916db-26aa");
        assert_eq!(quote("/home/alice/it's $HOME"), r"'/home/alice/it'\''s $HOME'");
        assert_eq!(quote(""), "''");
        assert_eq!(quote("~"), "'~'");
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
