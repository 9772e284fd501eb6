//! Texts of the sanitiser's vectors: which are meant, and which it leaves as they are.

/// `all`, an id, or the beginning of ids with a `*`.
pub(super) fn is_meant(vector: &str, id: &str) -> bool {
    match vector.strip_suffix('*') {
        Some(start) => id.starts_with(start),
        None => vector == "all" || id == vector,
    }
}

/// Whether the sanitiser leaves a text as it is for certain.
pub(super) fn is_plain(text: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || " ,.?!'".contains(c);
    text.chars().all(harmless) && text.trim() == text && !text.contains("  ")
}
