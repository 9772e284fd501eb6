//! Makes text safe for a terminal: it is shown and can't control the terminal.
//! It must never change a visible character.

use super::tally::Tally;
use super::{ansi, bound, characters};

/// Most of a text that is read.
const INPUT_BYTES_MAX: usize = 1024 * 1024;

/// The text without terminal sequences and invisible characters; line ends stay.
pub fn clean_text(text: &str) -> String {
    let (text, _) = bound::cut_input(text, INPUT_BYTES_MAX);
    let mut tally = Tally::default();
    characters::clean(&ansi::strip(text, &mut tally), &mut tally)
}

/// The same as [`clean_text`], joined to one line.
pub fn clean_line(text: &str) -> String {
    let clean = clean_text(text);
    clean.split(['\n', '\t']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_controls_are_removed_and_the_rest_stays() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{7}\r\u{202e}d\u{200b}e [[x]] <y> \"z\" `w` é 👍🏽";
        let clean = clean_text(hostile);
        assert!(clean.chars().all(|c| !c.is_control() || c == '\n'), "{clean:?}");
        assert!(!clean.contains(['\u{202e}', '\u{200b}']), "{clean:?}");
        assert!(clean.ends_with("[[x]] <y> \"z\" `w` é 👍🏽"), "{clean:?}");
        assert_eq!(clean_line("one\n\n\ttwo  three\n"), "one two  three");
    }
}
