//! Finds a message with newlines inside: consecutive lines of which none is a message, and that are one when
//! joined. It never takes a banner or a log line for a part of a message.

use serde_json::Value;

/// The rule that such a message breaks. The wire validator can't have it, because it sees one line at a time.
pub(crate) const RULE: &str = "newline-inside";
/// Most bytes of lines that are joined; a longer message is not found.
const BYTES_MAX: usize = 256 * 1024;

/// The lines since one that may begin such a message.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    pieces: String,
}

impl Spread {
    /// Takes the next line. Gives the whole text if this line ends a message that began earlier.
    pub(crate) fn take(&mut self, line: &str, is_message: bool) -> Option<String> {
        // JSON that is printed over several lines is indented except for its first and last line.
        let begins = line.starts_with(['{', '[']);
        if is_message || begins || self.pieces.len() + line.len() > BYTES_MAX {
            self.pieces.clear();
        }
        if is_message || (self.pieces.is_empty() && !begins) {
            return None;
        }
        self.pieces.push_str(line.trim_end());
        self.pieces.push('\n');
        if !line.trim_end().ends_with(['}', ']']) {
            return None;
        }
        let text = self.pieces.trim_end();
        // A newline inside a string makes the text invalid, so it is also tried with the newline escaped.
        let whole = [text.to_owned(), text.replace('\n', "\\n")];
        let read = whole.iter().find_map(|text| serde_json::from_str::<Value>(text).ok())?;
        let found = text.contains('\n') && read.get("jsonrpc").is_some();
        let text = text.to_owned();
        self.pieces.clear();
        found.then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&["{", "  \"jsonrpc\": \"2.0\",", "  \"id\": 1,", "  \"result\": {", "  }", "}"], true)]
    #[case(&["[info] ready", "{", "  \"jsonrpc\": \"2.0\"", "}"], true)]
    #[case(&["{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"text\":\"one", "two\"}}"], true)]
    #[case(&["Server ready", "listening on stdio"], false)]
    #[case(&["[info] ready", "{\"level\":\"info\"}", "[1]"], false)]
    #[case(&["{", "  \"level\": \"info\"", "}"], false)]
    #[case(&["{\"broken\":", "Server ready", "}"], false)]
    fn only_a_message_over_lines_is_found(#[case] lines: &[&str], #[case] wanted: bool) {
        let mut spread = Spread::default();
        assert_eq!(lines.iter().any(|line| spread.take(line, false).is_some()), wanted);
        assert_eq!(spread.take("{\"jsonrpc\":\"2.0\"}", true), None);
    }
}
