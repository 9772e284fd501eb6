//! Words that only hold a sentence together.
//!
//! It must never name a word by which a message could be told from others.

/// Whether a word only holds a sentence together, however few pages have it: a question is full of such words.
pub(super) fn is_of_grammar(word: &str) -> bool {
    const WORDS: [&str; 126] = [
        "a", "about", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be",
        "been", "before", "being", "but", "by", "can", "cannot", "could", "did", "do", "does", "during",
        "each", "for", "from", "had", "has", "have", "having", "he", "her", "here", "him", "his", "how", "i",
        "if", "in", "into", "is", "it", "its", "itself", "just", "let", "long", "many", "may", "me", "might",
        "more", "most", "much", "must", "my", "no", "nor", "not", "now", "of", "off", "on", "once", "only",
        "or", "other", "our", "ours", "out", "over", "own", "please", "same", "shall", "she", "should", "so",
        "some", "such", "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they",
        "this", "those", "through", "to", "too", "under", "until", "up", "us", "very", "via", "was", "we",
        "were", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why", "will",
        "with", "within", "without", "would", "yet", "you", "your", "yours",
    ];
    WORDS.binary_search(&word).is_ok()
}
