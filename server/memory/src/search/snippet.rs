//! The words around a hit.
//!
//! It must never be longer than a few lines.

use super::ask::Ask;
use super::schema::stems;

/// Characters of a snippet.
const CHARS_MAX: usize = 240;
/// Words of a snippet, about.
const WINDOW: usize = 30;
/// Words that lead to the first hit.
const LEAD: usize = 6;

/// The part of a text that holds what tells the most of the query, on one line.
pub(super) fn snippet(text: &str, ask: &Ask) -> String {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let bits: Vec<u32> = tokens.iter().map(|token| bits(token, ask)).collect();
    let value = |from: usize| {
        let window = bits[from..(from + WINDOW).min(bits.len())].iter();
        ask.coverage(window.fold(0, |mask, found| mask | found))
    };
    let mut first = 0;
    let mut most = 0.0;
    for (n, _) in bits.iter().enumerate().filter(|(_, found)| **found != 0) {
        let value = value(n);
        if value > most {
            (first, most) = (n, value);
        }
    }
    from(&tokens, first.saturating_sub(LEAD))
}

/// The words of a query that a part of a text has.
fn bits(token: &str, ask: &Ask) -> u32 {
    let mut found = 0;
    for stem in stems(token) {
        for (bit, wanted) in ask.wanted.iter().enumerate() {
            if wanted.stem == stem || wanted.kin.contains(&stem) || wanted.near.contains(&stem) {
                found |= 1 << bit;
            }
        }
    }
    found
}

/// A line of what stands from a word on.
pub(super) fn from(tokens: &[&str], begin: usize) -> String {
    let mut out = if begin > 0 { "…".to_owned() } else { String::new() };
    let mut length = 0;
    for (n, token) in tokens.iter().enumerate().skip(begin) {
        length += token.chars().count() + 1;
        if length > CHARS_MAX {
            if n == begin {
                out.push_str(&crate::text::cut(token, CHARS_MAX));
            }
            out.push('…');
            break;
        }
        if n > begin {
            out.push(' ');
        }
        out.push_str(token);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::ask::Wanted;
    use super::*;

    fn ask(words: &[(&str, f32)]) -> Ask {
        let wanted = words.iter().map(|(word, weight)| Wanted {
            weight: *weight,
            ..Wanted::new((*word).to_owned(), stems(word).remove(0))
        });
        Ask { wanted: wanted.collect(), ..Ask::default() }
    }

    #[test]
    fn the_words_stand_in_the_middle() {
        let text = format!("{}we dropped Redis because{}", "before ".repeat(50), " after".repeat(50));
        let shown = snippet(&text, &ask(&[("redis", 1.0)]));
        assert!(
            shown.starts_with("…before before") && shown.contains("dropped Redis because after"),
            "{shown}"
        );
        assert!(shown.ends_with('…') && shown.chars().count() <= CHARS_MAX + 2, "{shown}");
        assert_eq!(snippet("short", &ask(&[("absent", 1.0)])), "short");
        assert!(snippet(&"x".repeat(1000), &ask(&[])).chars().count() <= CHARS_MAX + 2);
    }

    #[test]
    fn what_tells_more_is_shown() {
        let text = format!("the the the {} the redis", "filler ".repeat(60));
        let shown = snippet(&text, &ask(&[("the", 0.1), ("redis", 5.0)]));
        assert!(shown.contains("redis"), "{shown}");
    }

    #[test]
    fn of_two_places_that_tell_the_same_the_first_is_shown() {
        let text = format!("the first redis {}the second redis", "filler ".repeat(60));
        let shown = snippet(&text, &ask(&[("redis", 1.0)]));
        assert!(shown.starts_with("the first redis"), "{shown}");
    }
}
