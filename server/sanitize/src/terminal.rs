//! Text for a terminal: whatever it holds, it is shown and drives nothing.
//! It must never change a character that can be seen.

use super::tally::Tally;
use super::{ansi, bound, characters};

/// What is read of a text at most.
const INPUT_BYTES_MAX: usize = 1024 * 1024;

/// A text without terminal sequences and anything invisible; line ends stay.
pub fn clean_text(text: &str) -> String {
    let (text, _) = bound::cut_input(text, INPUT_BYTES_MAX);
    let mut tally = Tally::default();
    characters::clean(&ansi::strip(text, &mut tally), &mut tally)
}

/// The same on one line.
pub fn clean_line(text: &str) -> String {
    let clean = clean_text(text);
    clean.split(['\n', '\t']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_drives_the_terminal_and_the_rest_stays() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{7}\r\u{202e}d\u{200b}e [[x]] <y> \"z\" `w` é 👍🏽";
        let clean = clean_text(hostile);
        assert!(clean.chars().all(|c| !c.is_control() || c == '\n'), "{clean:?}");
        assert!(!clean.contains(['\u{202e}', '\u{200b}']), "{clean:?}");
        assert!(clean.ends_with("[[x]] <y> \"z\" `w` é 👍🏽"), "{clean:?}");
        assert_eq!(clean_line("one\n\n\ttwo  three\n"), "one two  three");
    }
}
