//! Measures texts in the bytes that they take inside JSON.

/// The length in bytes of the longest beginning of `whole` that takes at most `room` bytes in a JSON string.
pub fn json_prefix(whole: &str, room: usize) -> usize {
    let mut end = 0;
    let mut used = 0;
    for (at, c) in whole.char_indices() {
        used += json_char_bytes(c);
        if used > room {
            break;
        }
        end = at + c.len_utf8();
    }
    // The end must not split an entity such as `&amp;`.
    if end < whole.len()
        && let Some(at) = whole[..end].rfind('&')
        && end - at < "&quot;".len()
        && !whole[at..end].contains(';')
    {
        end = at;
    }
    end
}

fn json_char_bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        c if u32::from(c) < 0x20 => 6,
        c => c.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("R&D", 3, "R&D")]
    #[case("R&D", 2, "R")]
    #[case("R&amp;D", 4, "R")]
    #[case("R&amp;D", 6, "R&amp;")]
    fn only_what_is_cut_loses_an_entity_that_has_no_end(
        #[case] whole: &str,
        #[case] room: usize,
        #[case] kept: &str,
    ) {
        assert_eq!(&whole[..json_prefix(whole, room)], kept);
    }
}
