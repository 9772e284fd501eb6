//! The columns that a table's rows have, by the statement that made it.
//!
//! It must never run the statement, as the schema is a stranger's.

/// What is no column at the beginning of a part of the statement.
const CONSTRAINTS: [&str; 5] = ["constraint", "primary", "unique", "check", "foreign"];

/// The names of the columns that stand in a row, in their order there.
pub(super) fn names(statement: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut words = Words(statement).skip_while(|word| *word != Word::Mark('('));
    words.next();
    let mut part = Vec::new();
    let mut depth = 0;
    for word in words {
        match word {
            Word::Mark(',') if depth == 0 => names.extend(column(&std::mem::take(&mut part))),
            Word::Mark(')') if depth == 0 => break,
            Word::Mark('(') => {
                depth += 1;
                part.push(word);
            }
            Word::Mark(')') => depth -= 1,
            // What stands in brackets names no column of the table.
            _ if depth > 0 => {}
            word => part.push(word),
        }
    }
    names.extend(column(&part));
    names
}

/// The name of a column; `None` for a constraint, and for a column that is computed and does not stand in a row.
fn column(part: &[Word]) -> Option<String> {
    let is = |word: &Word, text: &str| matches!(word, Word::Bare(bare) if bare.eq_ignore_ascii_case(text));
    let first = part.first()?;
    let computed = part.windows(2).position(|two| is(&two[0], "as") && two[1] == Word::Mark('('));
    let is_stored = computed.is_none_or(|at| part[at..].iter().any(|word| is(word, "stored")));
    if !is_stored || CONSTRAINTS.iter().any(|constraint| is(first, constraint)) {
        return None;
    }
    match first {
        Word::Bare(name) | Word::Quoted(name) => Some(name.clone()),
        Word::Mark(_) => None,
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    /// A keyword, a name or a number.
    Bare(String),
    /// A name or a text in quotes.
    Quoted(String),
    /// Another character.
    Mark(char),
}

/// The words of a statement.
struct Words<'s>(&'s str);

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        loop {
            // Other blanks are letters to SQLite.
            let rest = self.0.trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
            let skipped = if let Some(comment) = rest.strip_prefix("--") {
                comment.split_once('\n').map_or("", |(_, rest)| rest)
            } else if let Some(comment) = rest.strip_prefix("/*") {
                comment.split_once("*/").map_or("", |(_, rest)| rest)
            } else {
                self.0 = rest;
                break;
            };
            self.0 = skipped;
        }
        let first = self.0.chars().next()?;
        match first {
            '"' | '`' | '\'' => return Some(self.quoted(first)),
            '[' => return Some(self.quoted(']')),
            _ => {}
        }
        let is_of_word =
            |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '$') || !one.is_ascii();
        let end = self.0.find(|one| !is_of_word(one)).unwrap_or(self.0.len()).max(first.len_utf8());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(if is_of_word(first) { Word::Bare(word.to_owned()) } else { Word::Mark(first) })
    }
}

impl Words<'_> {
    /// A quote within is written twice.
    fn quoted(&mut self, quote: char) -> Word {
        let mut text = String::new();
        let mut rest = &self.0[1..];
        while let Some((before, after)) = rest.split_once(quote) {
            text.push_str(before);
            rest = after;
            match rest.strip_prefix(quote) {
                Some(after) if quote != ']' => {
                    text.push(quote);
                    rest = after;
                }
                _ => {
                    self.0 = rest;
                    return Word::Quoted(text);
                }
            }
        }
        text.push_str(rest);
        self.0 = "";
        Word::Quoted(text)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::plain("CREATE TABLE t (a TEXT, b INTEGER)", &["a", "b"])]
    #[case::without_types("create table t(a,b)", &["a", "b"])]
    #[case::quoted("CREATE TABLE `a(b` (`c d` text, \"e\"\"f\" int, [g,h] int, 'i')", &["c d", "e\"f", "g,h", "i"])]
    #[case::brackets("CREATE TABLE t (a DECIMAL(10, 2) DEFAULT (max(1, 2)), b)", &["a", "b"])]
    #[case::constraints(
        "CREATE TABLE t (a, b, CONSTRAINT c FOREIGN KEY (a) REFERENCES s (b), PRIMARY KEY (a), UNIQUE (b), CHECK (a > 0))",
        &["a", "b"]
    )]
    #[case::a_name_like_a_constraint("CREATE TABLE t (\"primary\" TEXT, [check], uniquely, b)", &["primary", "check", "uniquely", "b"])]
    #[case::comments("CREATE TABLE t (a, -- b,\n /* c, */ d)", &["a", "d"])]
    #[case::computed("CREATE TABLE t (a, b AS (a + 1), c INT GENERATED ALWAYS AS (a) VIRTUAL, d AS (a) STORED, e)", &["a", "d", "e"])]
    #[case::computed_and_named_as_what_is_stored(
        "CREATE TABLE t (a, stored AS (a + 1), b REFERENCES stored, c AS (a), d)",
        &["a", "b", "d"]
    )]
    #[case::blanks_that_are_letters("CREATE TABLE t (a\u{a0}b, \u{a0}, c)", &["a\u{a0}b", "\u{a0}", "c"])]
    #[case::behind_the_end("CREATE TABLE t (a) STRICT, b", &["a"])]
    #[case::cut("CREATE TABLE t (a, `b", &["a", "b"])]
    #[case::other_letters("CREATE TABLE t (größe, 名)", &["größe", "名"])]
    #[case::nothing("", &[])]
    fn columns_stand_in_the_order_of_the_statement(#[case] statement: &str, #[case] expected: &[&str]) {
        assert_eq!(names(statement), expected);
    }
}
