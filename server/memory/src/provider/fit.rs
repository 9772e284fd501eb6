//! Cuts long texts so that every host shows an answer whole.
//! It must never cut without saying how to get the rest.

use entraclaw_mcp::json_bytes::json_prefix;
use entraclaw_mcp::{ANSWER_BYTES_MAX, FRAME_BYTES};

/// Most bytes of a text in an answer, as JSON.
pub(super) const TEXT_BYTES_MAX: usize = ANSWER_BYTES_MAX - FRAME_BYTES;

/// Whether a text fits into an answer.
pub(super) fn fits(text: &str) -> bool {
    json_prefix(text, TEXT_BYTES_MAX) == text.len()
}

/// The part of a text from `offset` on that fits, with a last line that says how to read on.
pub(super) fn piece(text: &str, offset: usize, tool: &str) -> Result<String, String> {
    let mut start = offset.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    if offset > text.len() {
        return Err(format!("offset: there are {} bytes; give less", text.len()));
    }
    let rest = &text[start..];
    let end = start + json_prefix(rest, TEXT_BYTES_MAX);
    let left = text.len() - end;
    let more = if left == 0 {
        String::new()
    } else {
        format!("\n[{left} more bytes: call {tool} again with offset {end}]")
    };
    Ok(format!("{}{more}", &text[start..end]))
}

/// The first items of a list that fit together.
pub(super) fn fitting<T: serde::Serialize>(mut items: Vec<T>, bytes_max: usize) -> Vec<T> {
    let mut bytes = 0;
    let fits = |item: &T| {
        bytes += serde_json::to_string(item).map_or(usize::MAX / 2, |text| text.len() + 1);
        bytes <= bytes_max
    };
    let count = items.iter().map(fits).take_while(|fits| *fits).count();
    items.truncate(count);
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_make_the_whole_text() {
        let text = "äöü \"quoted\"\n".repeat(2_000);
        let (mut offset, mut whole) = (0, String::new());
        loop {
            let part = piece(&text, offset, "read").unwrap();
            assert!(serde_json::to_string(&part).unwrap().len() < ANSWER_BYTES_MAX);
            let Some((body, note)) = part.rsplit_once("\n[") else {
                whole.push_str(&part);
                break;
            };
            whole.push_str(body);
            offset = note.trim_end_matches(']').rsplit(' ').next().unwrap().parse().unwrap();
        }
        assert_eq!(whole, text);
        assert!(piece("abc", 4, "read").is_err());
        assert_eq!(piece("ä", 1, "read").unwrap(), "ä");
        assert!(fits("short") && !fits(&text));
        assert_eq!(fitting(vec!["ab", "cd", "ef"], 10), ["ab", "cd"]);
    }
    #[test]
    fn a_text_fits_up_to_the_bound_as_it_is_written_in_json() {
        for (letter, bytes) in [("a", 1), ("\"", 2), ("\n", 2), ("ä", 2)] {
            let most = TEXT_BYTES_MAX / bytes;
            assert!(fits(&letter.repeat(most)), "{letter:?}");
            assert!(!fits(&letter.repeat(most + 1)), "{letter:?}");
        }
    }

    #[test]
    fn a_piece_says_how_much_is_left_and_where_to_read_on() {
        let text = "a".repeat(TEXT_BYTES_MAX + 7);
        let note = format!("\n[7 more bytes: call read again with offset {TEXT_BYTES_MAX}]");
        assert_eq!(piece(&text, 0, "read").unwrap(), format!("{}{note}", "a".repeat(TEXT_BYTES_MAX)));
        assert_eq!(piece(&text, 7, "read").unwrap(), "a".repeat(TEXT_BYTES_MAX));
        assert_eq!(piece(&text, TEXT_BYTES_MAX, "read").unwrap(), "aaaaaaa");
        assert_eq!(
            (piece("abc", 3, "read").unwrap(), piece("", 0, "read").unwrap()),
            (String::new(), String::new())
        );
        assert_eq!(piece("abc", 4, "read").unwrap_err(), "offset: there are 3 bytes; give less");
        assert_eq!(
            (piece("aä", 2, "read").unwrap(), piece("aä", 3, "read").unwrap()),
            ("ä".to_owned(), String::new())
        );
    }

    #[test]
    fn items_fit_with_the_commas_between_them() {
        let items = || vec!["ab", "cd", "ef"];
        for (bytes_max, count) in [(0, 0), (4, 0), (5, 1), (9, 1), (10, 2), (14, 2), (15, 3), (99, 3)] {
            assert_eq!(fitting(items(), bytes_max), items()[..count], "{bytes_max}");
        }
        // What is behind the first one that does not fit is left out too.
        assert_eq!(fitting(vec!["a", "bbbbbbbb", "c"], 10), ["a"]);
    }
}
