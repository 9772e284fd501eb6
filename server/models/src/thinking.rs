//! Tells thinking from text, where a model writes it between tags. A tag may be cut over pieces.
//!
//! A block opens at the beginning of a line only, so that an answer about such tags keeps its words. It must never let a
//! block's words into the text.

/// The tags that open a block, and what closes each.
const TAGS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// A part of what a model writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text for the asker.
    Text(String),
    /// Thinking.
    Thinking(String),
    /// All text so far was thinking: the block was opened by the template of the question, out of sight.
    AllSoFarWasThinking,
}

/// Splits what comes, piece by piece.
#[derive(Debug)]
pub(crate) struct ThinkingSplitter {
    held: String,
    /// What closes the open block.
    closes: Option<&'static str>,
    is_at_line_start: bool,
    had_block: bool,
    /// Space after a block is none of the answer's.
    skips_space: bool,
}

impl ThinkingSplitter {
    /// A splitter; `goes_on` says that the answer has begun in an earlier stream.
    pub(crate) fn new(goes_on: bool) -> Self {
        Self {
            held: String::new(),
            closes: None,
            is_at_line_start: !goes_on,
            had_block: goes_on,
            skips_space: false,
        }
    }

    /// Takes a piece and returns what is certain.
    pub(crate) fn push(&mut self, piece: &str) -> Vec<Part> {
        self.held.push_str(piece);
        let mut parts = Vec::new();
        while let Some(at) = self.held.find('<') {
            let before: String = self.held.drain(..at).collect();
            self.emit(&before, &mut parts);
            match self.tag() {
                Tag::Opens(length, closes) => {
                    self.held.drain(..length);
                    (self.closes, self.had_block) = (Some(closes), true);
                }
                Tag::Closes(length) => {
                    self.held.drain(..length);
                    if self.closes.take().is_none() {
                        parts.push(Part::AllSoFarWasThinking);
                    }
                    (self.had_block, self.skips_space, self.is_at_line_start) = (true, true, true);
                }
                Tag::Perhaps => return parts,
                Tag::None => {
                    self.held.remove(0);
                    self.emit("<", &mut parts);
                }
            }
        }
        let rest = std::mem::take(&mut self.held);
        self.emit(&rest, &mut parts);
        parts
    }

    /// What was held back, at the end.
    pub(crate) fn finish(&mut self) -> Vec<Part> {
        let mut parts = Vec::new();
        let rest = std::mem::take(&mut self.held);
        self.emit(&rest, &mut parts);
        parts
    }

    fn emit(&mut self, text: &str, parts: &mut Vec<Part>) {
        if self.closes.is_some() {
            match parts.last_mut() {
                _ if text.is_empty() => {}
                Some(Part::Thinking(last)) => last.push_str(text),
                _ => parts.push(Part::Thinking(text.to_owned())),
            }
            self.is_at_line_start = starts_line(text, self.is_at_line_start);
            return;
        }
        let text = if self.skips_space { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        self.skips_space = false;
        self.is_at_line_start = starts_line(text, self.is_at_line_start);
        match parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => parts.push(Part::Text(text.to_owned())),
        }
    }

    fn tag(&self) -> Tag {
        let mut candidates: Vec<(&str, Tag)> = Vec::new();
        if let Some(closes) = self.closes {
            candidates.push((closes, Tag::Closes(closes.len())));
        } else if self.is_at_line_start {
            for (opens, closes) in TAGS {
                candidates.push((opens, Tag::Opens(opens.len(), closes)));
                if !self.had_block {
                    candidates.push((closes, Tag::Closes(closes.len())));
                }
            }
        }
        let mut found = Tag::None;
        for (tag, meaning) in candidates {
            if self.held.starts_with(tag) {
                return meaning;
            }
            if tag.starts_with(&self.held) {
                found = Tag::Perhaps;
            }
        }
        found
    }
}

enum Tag {
    Opens(usize, &'static str),
    Closes(usize),
    Perhaps,
    None,
}

/// Whether a line has only space after this text.
fn starts_line(text: &str, was: bool) -> bool {
    match text.rsplit_once('\n') {
        Some((_, last)) => last.trim().is_empty(),
        None => was && text.trim().is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// Text and thinking, cut after so many characters, again and again.
    fn split(text: &str, lengths: &[usize]) -> (String, String) {
        let characters: Vec<char> = text.chars().collect();
        let (mut said, mut thought) = (String::new(), String::new());
        let mut splitter = ThinkingSplitter::new(false);
        let mut take = |parts: Vec<Part>| {
            for part in parts {
                match part {
                    Part::Text(text) => said.push_str(&text),
                    Part::Thinking(text) => thought.push_str(&text),
                    Part::AllSoFarWasThinking => thought = std::mem::take(&mut said),
                }
            }
        };
        let (mut rest, mut lengths) = (characters.as_slice(), lengths.iter().cycle());
        while !rest.is_empty() {
            let length = (*lengths.next().unwrap()).clamp(1, rest.len());
            take(splitter.push(&rest[..length].iter().collect::<String>()));
            rest = &rest[length..];
        }
        take(splitter.finish());
        (said, thought)
    }

    #[rstest]
    #[case("<think>why</think>\n\nBecause.", "Because.", "why")]
    #[case("<thinking>a < b</thinking>yes", "yes", "a < b")]
    #[case("plain", "plain", "")]
    #[case("if a <b> then", "if a <b> then", "")]
    #[case("the tag `<think>` opens", "the tag `<think>` opens", "")]
    #[case("one\n<think>x</think>\ntwo", "one\ntwo", "x")]
    #[case("hidden begin\n</think>\nanswer", "answer", "hidden begin\n")]
    #[case("<think>never closed", "", "never closed")]
    #[case("<thi", "<thi", "")]
    #[case("<think></think>a\n</think>", "a\n</think>", "")]
    fn thinking_is_told_apart(#[case] text: &str, #[case] said: &str, #[case] thought: &str) {
        assert_eq!(split(text, &[1000]), (said.to_owned(), thought.to_owned()));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(
            words in prop::collection::vec(prop::sample::select(vec![
                "<think>", "</think>", "<thinking>", "</thinking>", "\n", " ", "a", "<", "<th", "ä", "</", "ink>",
            ]), 0..20),
            lengths in prop::collection::vec(1_usize..5, 1..9),
        ) {
            let text = words.concat();
            prop_assert_eq!(split(&text, &lengths), split(&text, &[1000]));
        }

        #[test]
        fn no_letter_is_lost(text in "[ab<>/think\n ]{0,60}", lengths in prop::collection::vec(1_usize..5, 1..9)) {
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).count();
            let (said, thought) = split(&text, &lengths);
            prop_assert!(letters(&said) + letters(&thought) <= letters(&text));
            if !text.contains("think") {
                prop_assert_eq!(said, text);
            }
        }
    }
}
