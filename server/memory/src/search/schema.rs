//! What is indexed of a message.
//!
//! It must never store a text.

use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STRING, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};

/// The name of the analyzer of texts.
pub(super) const WORDS: &str = "words";
/// Longest word.
const WORD_BYTES_MAX: usize = 48;

/// The fields of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    pub(super) text: Field,
    /// The number of its file.
    pub(super) file: Field,
    pub(super) line: Field,
    pub(super) nth: Field,
    /// Seconds since 1970.
    pub(super) at: Field,
    pub(super) agent: Field,
    pub(super) role: Field,
}

/// The schema and its fields.
pub(super) fn schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    // Without positions the index is half as large; phrases are looked for in the texts of the best hits.
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let fields = Fields {
        text: builder.add_text_field("text", TextOptions::default().set_indexing_options(indexing)),
        file: builder.add_u64_field("file", FAST | INDEXED),
        line: builder.add_u64_field("line", FAST),
        nth: builder.add_u64_field("nth", FAST),
        at: builder.add_i64_field("at", FAST | INDEXED),
        agent: builder.add_text_field("agent", STRING),
        role: builder.add_text_field("role", STRING),
    };
    (builder.build(), fields)
}

/// Splits a text into words, in lower case.
pub(super) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
        .build()
}

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    let mut words = Vec::new();
    while stream.advance() {
        words.push(stream.token().text.clone());
    }
    words
}
