//! Texts of messages: invented by the laws that words of a language follow, or taken from files.
//!
//! It must never make a text that an index stores more easily than a real one: words fall by Zipf's law with a long tail,
//! a session has words of its own, lengths differ widely, and one word in a hundred is a number or a hash.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use entraclaw_seams::random::{Random, SplitMix};

/// Different invented words.
const VOCABULARY: usize = 200_000;
/// Words that belong to a session.
const TOPIC: usize = 60;

/// Makes texts.
pub(crate) struct Texts {
    random: SplitMix,
    words: Vec<String>,
    /// The sums of the weights of the words up to each.
    sums: Vec<f64>,
    topic: Vec<usize>,
    bytes_mean: f64,
    /// Pieces of files, used in turn; none if texts are invented.
    pieces: Vec<String>,
    next: usize,
}

impl Texts {
    pub(crate) fn new(folder: Option<&Path>, bytes_mean: usize) -> Self {
        let random = SplitMix::seeded(7);
        let mut sum = 0.0;
        let sums = (0..VOCABULARY).map(|rank| {
            sum += 1.0 / (rank as f64 + 2.7).powf(1.05);
            sum
        });
        let mut texts = Self {
            sums: sums.collect(),
            words: (0..VOCABULARY).map(invented).collect(),
            topic: Vec::new(),
            bytes_mean: bytes_mean as f64,
            pieces: Vec::new(),
            next: 0,
            random,
        };
        if let Some(folder) = folder {
            texts.pieces = texts.cut_files(folder);
            assert!(texts.pieces.len() > 100, "{} holds too little text", folder.display());
        }
        texts
    }

    /// Queries of words that most, many, some and few messages have, alone, together and as phrases.
    pub(crate) fn queries(&self) -> Vec<String> {
        let word = |rank: usize| self.words[rank].clone();
        if self.pieces.is_empty() {
            let three = [word(1), word(2), word(40)].join(" ");
            let many = (0..12).map(word).collect::<Vec<_>>().join(" ");
            let rare = format!("{} {}", word(0), word(20_000));
            let (pair, other) =
                (format!("\"{} {}\"", word(0), word(1)), format!("\"{} {}\"", word(30), word(700)));
            vec![
                word(0),
                word(1),
                word(100),
                word(3000),
                three,
                many,
                rare,
                pair,
                other,
                "absentia".to_owned(),
            ]
        } else {
            let plain = [
                "the",
                "of",
                "error",
                "deserializer",
                "the file is",
                "a the of and to is in for it with be",
                "the mutex",
                "\"of the\"",
                "\"return value\"",
                "absentia",
            ];
            plain.map(str::to_owned).to_vec()
        }
    }

    fn draw(&self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn rank(&self) -> usize {
        let wanted = self.draw() * self.sums[VOCABULARY - 1];
        self.sums.partition_point(|sum| *sum < wanted).min(VOCABULARY - 1)
    }

    pub(crate) fn begin_session(&mut self) {
        self.topic = (0..TOPIC).map(|_| 100 + (self.draw() * self.draw() * 60_000.0) as usize).collect();
    }

    pub(crate) fn message(&mut self) -> String {
        if !self.pieces.is_empty() {
            self.next += 1;
            return self.pieces[self.next % self.pieces.len()].clone();
        }
        let bytes = self.length();
        let mut text = String::new();
        while text.len() < bytes {
            let kind = self.draw();
            if kind < 0.01 {
                let number = self.random.next_u64();
                let written = if kind < 0.005 {
                    write!(text, "{:07x}", number >> 36)
                } else {
                    write!(text, "{}", number >> 50)
                };
                written.expect("a text takes all");
            } else if kind < 0.10 {
                let own = (self.draw() * self.draw() * TOPIC as f64) as usize;
                text.push_str(&self.words[self.topic[own]]);
            } else {
                text.push_str(&self.words[self.rank()]);
            }
            text.push(if kind > 0.95 { '\n' } else { ' ' });
        }
        text
    }

    /// The logarithms of lengths are spread as those of real messages: most are short, a few very long.
    fn length(&self) -> usize {
        const SPREAD: f64 = 1.0;
        let normal = (0..12).map(|_| self.draw()).sum::<f64>() - 6.0;
        let median = self.bytes_mean / (SPREAD * SPREAD / 2.0).exp();
        (median * (SPREAD * normal).exp()).clamp(8.0, 60_000.0) as usize
    }

    fn cut_files(&self, folder: &Path) -> Vec<String> {
        const BYTES_MAX: usize = 400_000_000;
        let (mut folders, mut pieces, mut total) = (vec![folder.to_owned()], Vec::new(), 0);
        while let Some(folder) = folders.pop() {
            let mut paths: Vec<PathBuf> =
                fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            paths.sort();
            for path in paths {
                let is_text =
                    path.extension().is_some_and(|found| found == "md" || found == "rs" || found == "txt");
                if path.is_dir() {
                    folders.push(path);
                } else if let (true, Ok(text)) = (is_text && total < BYTES_MAX, fs::read_to_string(&path)) {
                    let mut rest = &text[..];
                    while !rest.is_empty() {
                        let mut end = self.length().min(rest.len());
                        while !rest.is_char_boundary(end) {
                            end += 1;
                        }
                        pieces.push(rest[..end].to_owned());
                        total += end;
                        rest = &rest[end..];
                    }
                }
            }
        }
        pieces
    }
}

/// A word for a rank: the frequent ones are short.
fn invented(rank: usize) -> String {
    const BEGINS: [&str; 20] = [
        "b", "c", "d", "f", "g", "h", "l", "m", "n", "p", "r", "s", "t", "v", "w", "st", "tr", "pl", "ch",
        "sh",
    ];
    const MIDDLES: [&str; 10] = ["a", "e", "i", "o", "u", "ea", "io", "ou", "ar", "en"];
    let mut word = String::new();
    let mut rest = rank;
    loop {
        word.push_str(BEGINS[rest % 20]);
        word.push_str(MIDDLES[rest / 20 % 10]);
        rest /= 200;
        if rest == 0 {
            return word;
        }
        rest -= 1;
    }
}
