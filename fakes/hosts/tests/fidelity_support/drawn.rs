//! Replaces values that hosts draw in every run by fixed ones. It changes only UUIDs and the times at which
//! turns began.

/// A text with UUIDs replaced by the order of their appearance, and the start time of a turn removed.
pub(crate) fn replaced(what: &str, seen: &mut Vec<String>) -> String {
    const UUID_CHARS: usize = 36;
    const STARTED: &str = "\"turn_started_at_unix_ms\":";
    let mut text = String::with_capacity(what.len());
    let mut rest = what;
    while let Some(next) = rest.chars().next() {
        if let Some(uuid) = rest.get(..UUID_CHARS).filter(|text| is_uuid(text)) {
            let number = seen.iter().position(|one| one == uuid).unwrap_or(seen.len());
            if number == seen.len() {
                seen.push(uuid.to_owned());
            }
            text.push_str("UUID ");
            text.push_str(&number.to_string());
            rest = &rest[UUID_CHARS..];
        } else if let Some(number) = rest.strip_prefix(STARTED) {
            text.push_str(STARTED);
            rest = number.trim_start_matches(|one: char| one.is_ascii_digit());
        } else {
            text.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    text
}

fn is_uuid(text: &str) -> bool {
    text.char_indices().all(|(place, one)| match place {
        8 | 13 | 18 | 23 => one == '-',
        _ => one.is_ascii_hexdigit(),
    })
}
