//! What is indexed of a page: messages of one role that follow each other in a file.
//!
//! It must never store a text that can be read again from the agent's own file at the place of its line.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer, TextAnalyzer};

/// The name of the analyzer of texts.
pub(super) const STEMS: &str = "stems";
/// Longest word.
const WORD_BYTES_MAX: usize = 48;

/// The fields of a page.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) text: Field,
    /// The number of its file.
    pub(super) file: Field,
    /// Where its messages stand: one value for each.
    pub(super) line: Field,
    pub(super) nth: Field,
    /// When its first and its last message were said, in seconds since 1970.
    pub(super) first: Field,
    pub(super) last: Field,
    pub(super) role: Field,
    /// The names of its tools.
    pub(super) tool: Field,
    /// The messages, if its file can't be read at a place.
    pub(super) kept: Field,
}

/// The schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    // Without positions and counts the index is a third as large. Phrases and counts are looked for in the texts of the
    // best pages.
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(STEMS)
        .set_index_option(IndexRecordOption::Basic)
        .set_fieldnorms(true);
    let fields = Fields {
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(indexing)),
        file: builder.add_u64_field("file", FAST | INDEXED),
        line: builder.add_u64_field("line", FAST),
        nth: builder.add_u64_field("nth", FAST),
        first: builder.add_i64_field("first", FAST),
        last: builder.add_i64_field("last", FAST),
        role: builder.add_u64_field("role", FAST),
        tool: builder.add_text_field("tool", STRING),
        kept: builder.add_bytes_field("kept", STORED),
    };
    (builder.build(), fields)
}

/// Splits a text into the stems of its words, in lower case.
pub(super) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
        .filter(Stemmer::new(Language::English))
        .build()
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser);
    collect(analyzer.build(), text)
}

/// The stems of the words of a text, one for each of [`words`].
pub(super) fn stems(text: &str) -> Vec<String> {
    collect(analyzer(), text)
}

fn collect(mut analyzer: TextAnalyzer, text: &str) -> Vec<String> {
    let mut stream = analyzer.token_stream(text);
    let mut words = Vec::new();
    while stream.advance() {
        words.push(stream.token().text.clone());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_stem() {
        let text = "We dropped the caches: cache_size, and Größe.";
        assert_eq!(words(text), ["we", "dropped", "the", "caches", "cache", "size", "and", "größe"]);
        assert_eq!(stems(text), ["we", "drop", "the", "cach", "cach", "size", "and", "größe"]);
    }
}
