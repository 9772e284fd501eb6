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
    #[test]
    fn a_line_takes_as_many_words_as_it_may_have_characters() {
        let line = |words: &[&str], begin: usize| from(words, begin);
        assert_eq!(line(&["one", "two"], 0), "one two");
        assert_eq!(line(&["one", "two"], 1), "…two");
        assert_eq!(line(&[], 0), "");
        let (fits, too_many) = (vec!["ä"; CHARS_MAX / 2], vec!["ä"; CHARS_MAX / 2 + 1]);
        assert_eq!(line(&fits, 0), fits.join(" "));
        assert_eq!(line(&too_many, 0), format!("{}…", fits.join(" ")));
        assert_eq!(line(&too_many, 1), format!("…{}", fits.join(" ")));
        let long = "ä".repeat(CHARS_MAX);
        assert_eq!(line(&["a", &long], 0), "a…");
        assert_eq!(line(&[&long, "a"], 0), format!("{long}…"));
        let longer = "ä".repeat(CHARS_MAX + 1);
        assert_eq!(line(&[&longer], 0), format!("{}……", "ä".repeat(CHARS_MAX - 1)));
    }

    #[test]
    fn a_few_words_lead_to_the_first_hit() {
        let text = |before: usize| format!("{}redis after", "w ".repeat(before));
        let ask = ask(&[("redis", 1.0)]);
        assert_eq!(snippet(&text(LEAD), &ask), text(LEAD));
        assert_eq!(snippet(&text(LEAD + 1), &ask), format!("…{}", text(LEAD)));
    }

    #[test]
    fn what_stands_within_a_window_of_words_tells_together() {
        let ask = ask(&[("redis", 1.0), ("cache", 1.0), ("queue", 1.5)]);
        let apart = |words: usize| {
            let filler = "w ".repeat(words);
            format!("queue {}redis {filler}cache", "w ".repeat(2 * WINDOW))
        };
        assert!(snippet(&apart(WINDOW - 2), &ask).contains("redis"));
        assert!(snippet(&apart(WINDOW - 1), &ask).starts_with("queue"));
    }

    #[test]
    fn a_word_that_is_said_twice_tells_as_much_as_once() {
        let ask = ask(&[("redis", 1.0), ("cache", 1.0)]);
        let text = format!("redis {} cache, cache: redis", "filler ".repeat(60));
        assert!(snippet(&text, &ask).ends_with("cache, cache: redis"));
    }

    #[test]
    fn a_part_of_a_text_has_the_words_themselves_their_family_and_typing_errors() {
        let mut ask = ask(&[("choose", 1.0), ("lock", 1.0)]);
        ask.wanted[0].kin = vec!["chose".to_owned()];
        ask.wanted[1].near = vec!["loock".to_owned()];
        for (token, expected) in
            [("choosing,", 0b01), ("Chose", 0b01), ("loock.", 0b10), ("chose/lock", 0b11), ("other", 0)]
        {
            assert_eq!(bits(token, &ask), expected, "{token}");
        }
    }
}
