//! The tokens of the wire source. An unknown character is an error with its line.

/// One token; `Line` ends a member.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Doc(String),
    Word(String),
    Text(String),
    Symbol(&'static str),
    /// `@from..to`, either end may be open.
    Range(Range),
    /// The text between `<` and `>`.
    Angle(String),
    Line,
}

/// Protocol versions from and to, both included; dates compare as text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

impl Range {
    pub(crate) fn holds(&self, version: &str) -> bool {
        self.from.as_deref().is_none_or(|from| from <= version)
            && self.to.as_deref().is_none_or(|to| version <= to)
    }

    fn parse(text: &str) -> Self {
        let end = |part: &str| (!part.is_empty()).then(|| part.to_owned());
        match text.split_once("..") {
            Some((from, to)) => Self { from: end(from), to: end(to) },
            None => Self { from: end(text), to: end(text) },
        }
    }
}

/// Symbols, longest first.
const SYMBOLS: [&str; 10] = ["...", "->", "{", "}", "[", "]", "|", "&", "=", "?"];

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_$/.-".contains(c)
}

/// The tokens of a source file with their line numbers (from 1).
pub(crate) fn tokens(source: &str) -> Result<Vec<(usize, Token)>, String> {
    let mut out = Vec::new();
    for (index, line) in source.lines().enumerate() {
        let number = index + 1;
        let mut rest = line.trim();
        if let Some(doc) = rest.strip_prefix("## ") {
            out.push((number, Token::Doc(doc.to_owned())));
            continue;
        }
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        while !rest.is_empty() {
            let (token, left) = one(rest).ok_or_else(|| format!("line {number}: can't read `{rest}`"))?;
            out.push((number, token));
            rest = left.trim_start();
        }
        out.push((number, Token::Line));
    }
    Ok(out)
}

fn one(rest: &str) -> Option<(Token, &str)> {
    for symbol in SYMBOLS {
        if let Some(left) = rest.strip_prefix(symbol) {
            return Some((Token::Symbol(symbol), left));
        }
    }
    let cut = |from: usize, end: char| rest[from..].find(end).map(|at| at + from);
    match rest.chars().next()? {
        '"' => cut(1, '"').map(|at| (Token::Text(rest[1..at].to_owned()), &rest[at + 1..])),
        '<' => cut(1, '>').map(|at| (Token::Angle(rest[1..at].to_owned()), &rest[at + 1..])),
        '@' => {
            let at = rest.find(char::is_whitespace).unwrap_or(rest.len());
            Some((Token::Range(Range::parse(&rest[1..at])), &rest[at..]))
        }
        c if is_word(c) => {
            let at = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            Some((Token::Word(rest[..at].to_owned()), &rest[at..]))
        }
        _ => None,
    }
}
