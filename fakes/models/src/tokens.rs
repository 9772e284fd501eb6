//! Tokens of the fakes: a word with the space before it. Joined they are the text again.

/// The tokens of a text.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut was_space = true;
    for character in text.chars() {
        let is_space = character.is_whitespace();
        match found.last_mut() {
            Some(last) if !is_space || was_space => last.push(character),
            _ => found.push(character.to_string()),
        }
        was_space = is_space;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_with_the_space_before() {
        assert_eq!(tokens("The answer.\n\nEnd "), ["The", " answer.", "\n\nEnd", " "]);
        assert_eq!(tokens(" a  b"), [" a", "  b"]);
        assert!(tokens("").is_empty());
    }
}
