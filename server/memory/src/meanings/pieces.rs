//! Pieces of words, by the rules that a table was made with: byte pair encoding as tokenizer files of Hugging Face write it
//! down (<https://huggingface.co/docs/tokenizers/api/models#tokenizers.models.BPE>).
//!
//! Only single words are cut here. It must never take a file of another kind for one of these.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Begins a word, as the space before it is a letter of the first piece.
const BEGIN: char = '▁';

#[derive(Deserialize)]
struct File {
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    vocab: BTreeMap<String, usize>,
    merges: Vec<Merge>,
}

/// Two pieces that become one, in either form of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Text(String),
    Pair(String, String),
}

/// The pieces that words are cut into.
pub(super) struct Pieces {
    letters: BTreeMap<char, usize>,
    /// By two pieces: which merge comes first, and what they become.
    merges: BTreeMap<(usize, usize), (usize, usize)>,
}

impl Pieces {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, String> {
        let model = serde_json::from_slice::<File>(bytes).map_err(|error| error.to_string())?.model;
        let vocab = &model.vocab;
        let letter = |(piece, row): (&String, &usize)| {
            let mut chars = piece.chars();
            chars.next().filter(|_| chars.next().is_none()).map(|letter| (letter, *row))
        };
        let merge = |(order, merge): (usize, &Merge)| {
            let (one, other) = match merge {
                Merge::Text(text) => text.split_once(' ')?,
                Merge::Pair(one, other) => (one.as_str(), other.as_str()),
            };
            let whole = vocab.get(&format!("{one}{other}"))?;
            Some(((*vocab.get(one)?, *vocab.get(other)?), (order, *whole)))
        };
        let letters: BTreeMap<char, usize> = vocab.iter().filter_map(letter).collect();
        if !letters.contains_key(&BEGIN) {
            return Err(format!("its words do not begin with `{BEGIN}`"));
        }
        Ok(Self { letters, merges: model.merges.iter().enumerate().filter_map(merge).collect() })
    }

    /// The rows of a word's pieces. A letter that the table does not know is left out.
    pub(super) fn of_word(&self, word: &str) -> Vec<usize> {
        let letters = std::iter::once(BEGIN).chain(word.chars());
        let mut pieces: Vec<usize> =
            letters.filter_map(|letter| self.letters.get(&letter).copied()).collect();
        loop {
            let merges = pieces.windows(2).enumerate().filter_map(|(at, pair)| {
                self.merges.get(&(pair[0], pair[1])).map(|(order, whole)| (*order, at, *whole))
            });
            let Some((_, at, whole)) = merges.min() else { return pieces };
            pieces[at] = whole;
            pieces.remove(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_cut_by_the_merges_in_their_order() {
        let file = |merges: &str| {
            format!(
                r#"{{"model": {{"vocab": {{"▁": 0, "a": 1, "b": 2, "ab": 3, "▁a": 4, "▁ab": 5}}, "merges": {merges}}}}}"#
            )
        };
        let cut = |merges: &str, word: &str| Pieces::of(file(merges).as_bytes()).unwrap().of_word(word);
        assert_eq!(cut(r#"["a b", "▁ ab"]"#, "ab"), [5]);
        assert_eq!(cut(r#"[["▁", "a"], ["a", "b"]]"#, "abab"), [4, 2, 3]);
        assert_eq!(cut("[]", "axb"), [0, 1, 2]);
        assert!(Pieces::of(br#"{"model": {"vocab": {"a": 1}, "merges": []}}"#).is_err());
        assert!(Pieces::of(b"{}").is_err());
    }
}
