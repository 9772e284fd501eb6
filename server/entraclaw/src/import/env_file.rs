//! Reads `NAME=value` lines as shells and dotenv libraries do.
//! It must never expand anything in a value.

/// Most lines that are read.
const LINES_MAX: usize = 4_096;

/// The line numbers from 1, names and values in order. Lines without an assignment are skipped.
pub(super) fn parse(text: &str) -> Vec<(usize, String, String)> {
    let lines = text.lines().take(LINES_MAX).zip(1..);
    lines.filter_map(|(line, at)| assignment(line).map(|(name, value)| (at, name, value))).collect()
}

fn assignment(line: &str) -> Option<(String, String)> {
    let line = line.trim();
    let line = line.strip_prefix("export ").unwrap_or(line).trim_start();
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let value = value.trim();
    let quoted = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.split(quote).next());
    let value = match quoted('"').or_else(|| quoted('\'')) {
        Some(inside) => inside,
        // A comment needs a blank before it.
        None => value.split(" #").next().unwrap_or("").trim_end(),
    };
    Some((name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::parse;

    #[rstest]
    #[case("A=b", Some(("A", "b")))]
    #[case("  export A = \"b # c\" # d", Some(("A", "b # c")))]
    #[case("A='b\"c'", Some(("A", "b\"c")))]
    #[case("A=b#c # d", Some(("A", "b#c")))]
    #[case("A=", Some(("A", "")))]
    #[case("A=\"open", Some(("A", "open")))]
    #[case("# A=b", None)]
    #[case("A", None)]
    #[case("=b", None)]
    #[case("A B=c", None)]
    fn lines(#[case] line: &str, #[case] parsed: Option<(&str, &str)>) {
        let found = parse(line).pop();
        assert_eq!(found, parsed.map(|(name, value)| (1, name.to_owned(), value.to_owned())));
    }
}
