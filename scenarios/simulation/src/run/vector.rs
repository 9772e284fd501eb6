//! Texts that people write: which of the sanitiser's vectors are meant, which it leaves as they are, and long ones.

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

/// A text with numbered words in the place of ` $fill:N` at its end, `N` characters in all; no part of it is like another.
pub(super) fn lengthened(text: &str) -> String {
    let filled =
        text.rsplit_once(" $fill:").and_then(|(text, chars)| Some((text, chars.parse::<usize>().ok()?)));
    let Some((begun, chars)) = filled else { return text.to_owned() };
    let mut text = begun.to_owned();
    for number in 0.. {
        if text.len() >= chars {
            break;
        }
        text.push(' ');
        text.push_str(&i32::to_string(&number));
    }
    text.chars().take(chars).collect::<String>().trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The resource shows so many messages only, so that this scenario names the vectors in parts.
    #[test]
    fn the_parts_of_the_scenario_of_the_resource_are_all_vectors() {
        let scenario = include_str!("../../../suites/sanitise/parity-resource.yaml");
        let parts: Vec<&str> =
            scenario.split("vector: ").skip(1).filter_map(|rest| rest.split(',').next()).collect();
        for vector in crate::vectors::all().expect("the vectors") {
            let times = parts.iter().filter(|part| is_meant(part.trim_matches('"'), &vector.id)).count();
            assert_eq!(times, 1, "{}", vector.id);
        }
    }
}
