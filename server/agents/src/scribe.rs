//! Writes an agent's answer into its job: without terminal sequences, secrets and the white space around it.
//!
//! It must never write a secret that came in two pieces, so it writes whole lines, and never keep more than one line.

use entraclaw_sanitize::clean_text;
use entraclaw_sanitize::secrets::Secrets;
use entraclaw_work::Running;

/// Most bytes of a line that is kept back until its end.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// Longest word that is kept back with the rest of a long line. Secrets are shorter.
const WORD_BYTES_MAX: usize = 4 * 1024;

/// Where the answer is written.
pub(crate) trait Paper {
    /// Adds to what is written.
    fn add(&mut self, text: &str);
    /// Removes all that is written.
    fn clear(&mut self);
}

impl Paper for Running {
    fn add(&mut self, text: &str) {
        self.say(text.as_bytes());
    }

    fn clear(&mut self) {
        self.unsay();
    }
}

/// Writes one answer.
pub(crate) struct Scribe<P> {
    paper: P,
    secrets: Secrets,
    line: String,
    /// Line ends that are written only if more text follows.
    blank: String,
    is_new: bool,
    has_written: bool,
}

impl<P: Paper> Scribe<P> {
    pub(crate) fn new(paper: P, secrets: Secrets) -> Self {
        Self { paper, secrets, line: String::new(), blank: String::new(), is_new: false, has_written: false }
    }

    /// A new message begins. Its first text replaces what is written.
    pub(crate) fn begin(&mut self) {
        self.end();
        self.is_new = true;
    }

    /// Adds a piece of the message.
    pub(crate) fn write(&mut self, piece: &str) {
        for mut part in piece.split_inclusive('\n') {
            // The cleaner reads only the beginning of a text that is very long.
            while self.line.len() + part.len() > LINE_BYTES_MAX {
                let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
                let end =
                    (0..=room.min(part.len())).rev().find(|end| part.is_char_boundary(*end)).unwrap_or(0);
                self.line.push_str(&part[..end]);
                part = &part[end..];
                self.write_part();
            }
            self.line.push_str(part);
            if part.ends_with('\n') {
                self.write_line();
            }
        }
    }

    /// The message has ended.
    pub(crate) fn end(&mut self) {
        self.write_line();
        self.blank.clear();
    }

    /// Whether anything is written.
    pub(crate) fn has_written(&self) -> bool {
        self.has_written
    }

    /// Writes a line that has no end yet, but for its last word: that may be the beginning of a secret.
    fn write_part(&mut self) {
        let blank = self.line.char_indices().rev().find(|(_, c)| c.is_whitespace());
        let word = blank.map(|(at, blank)| at + blank.len_utf8());
        let is_kept = |at: &usize| self.line.len() - at <= WORD_BYTES_MAX;
        let last_word = word.filter(is_kept).map(|at| self.line.split_off(at)).unwrap_or_default();
        self.write_line();
        self.line = last_word;
    }

    fn write_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let clean = clean_text(&line);
        let text = clean.trim_end();
        if !text.trim_start().is_empty() {
            if std::mem::take(&mut self.is_new) {
                self.paper.clear();
                self.blank.clear();
                self.has_written = false;
            }
            let text = if self.has_written { text } else { text.trim_start() };
            let before = std::mem::take(&mut self.blank);
            self.paper.add(&format!("{before}{}", self.secrets.hide(text)));
            self.has_written = true;
        }
        if self.has_written {
            self.blank.push_str(&clean[text.len()..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[derive(Default)]
    struct Page(String);

    impl Paper for &mut Page {
        fn add(&mut self, text: &str) {
            self.0.push_str(text);
        }
        fn clear(&mut self) {
            self.0.clear();
        }
    }

    fn written(pieces: &[&str]) -> String {
        let mut page = Page::default();
        let mut scribe = Scribe::new(&mut page, Secrets::new(["hunter2hunter2".to_owned()]));
        for piece in pieces {
            match *piece {
                "<begin>" => scribe.begin(),
                piece => scribe.write(piece),
            }
        }
        scribe.end();
        page.0
    }

    #[rstest]
    #[case(&["  \n\n a\n", "\n\n  b  \n\n"], "a\n\n\n  b")]
    #[case(&["use hunter2", "hunter2 now"], "use [a secret was removed here] now")]
    #[case(&["\u{1b}[31mred\u{1b}[0m"], "red")]
    #[case(&["first", "<begin>", "second"], "second")]
    #[case(&["first", "<begin>", "  \n"], "first")]
    #[case(&["<begin>", "one ", "two", "\nthree"], "one two\nthree")]
    #[case(&[], "")]
    fn the_last_message_is_the_answer_and_is_clean(#[case] pieces: &[&str], #[case] text: &str) {
        assert_eq!(written(pieces), text);
    }

    #[test]
    fn a_secret_in_a_long_line_is_hidden_wherever_the_line_is_cut() {
        for before in LINE_BYTES_MAX - 40..LINE_BYTES_MAX + 20 {
            let line = format!("{} hunter2hunter2 {}", "x".repeat(before), "y".repeat(100_000));
            assert!(!written(&[&line]).contains("hunter2h"), "after {before} bytes");
        }
    }

    #[test]
    fn a_long_line_is_not_kept_back() {
        for word in ["x", "é", "a b", "a\u{3000}b", "\u{1f980}"] {
            let long = word.repeat(1_500_000);
            // A wide space is written as a plain one.
            assert!(written(&[&long]) == long.replace('\u{3000}', " "), "{word}");
        }
    }
}
