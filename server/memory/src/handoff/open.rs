//! What a session leaves open, as far as a rule finds it.
//!
//! It must never take a model's help, nor a line out of a block of code.

/// Most items.
const ITEMS_MAX: usize = 12;
/// Longest item, in characters.
const ITEM_CHARS_MAX: usize = 200;
/// Words that name what is left to do. They are looked for at the beginning of a line, after its mark.
const WORDS: [&str; 12] = [
    "todo",
    "to do",
    "next step",
    "next:",
    "open:",
    "open item",
    "open question",
    "remaining",
    "still to",
    "not yet",
    "left to do",
    "follow-up",
];

/// The lines of a text that name something open: boxes that are not ticked, lines that begin with such a word, and the
/// list under such a line.
pub(super) fn items(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut is_under = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            continue;
        }
        if is_code {
            continue;
        }
        let (is_listed, is_ticked, words) = unmarked(line);
        let lower = words.to_lowercase();
        let begins = WORDS.iter().any(|word| lower.starts_with(word));
        let is_heading =
            begins && (lower.trim_end_matches(['*', '_', ' ']).ends_with(':') || line.starts_with('#'));
        if is_heading {
            is_under = true;
            continue;
        }
        if is_ticked == Some(false) || begins || (is_under && is_listed && is_ticked.is_none()) {
            found.push(crate::text::safe_line(words, ITEM_CHARS_MAX));
        } else if !line.is_empty() && !is_listed {
            is_under = false;
        }
        if found.len() >= ITEMS_MAX {
            break;
        }
    }
    found.retain(|item| !item.is_empty());
    found
}

/// Whether a line is an item of a list, whether its box is ticked, and its words.
fn unmarked(line: &str) -> (bool, Option<bool>, &str) {
    let number = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    let numbered = || line.get(number..).filter(|_| number > 0).and_then(|rest| rest.strip_prefix(". "));
    let item = rest.or_else(numbered);
    let words = item.unwrap_or(line).trim_start();
    let boxed = |mark: &str| words.strip_prefix(mark);
    let (is_ticked, words) = match (boxed("[ ]"), boxed("[x]").or_else(|| boxed("[X]"))) {
        (Some(rest), _) => (Some(false), rest),
        (_, Some(rest)) => (Some(true), rest),
        _ => (None, words),
    };
    (item.is_some(), is_ticked, words.trim_start_matches(['#', '*', '_', ' ']))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn what_is_open_is_found_by_its_marks_and_words() {
        let text = "Done:\n- [x] the reader\n- [ ] the search\n```\nTODO: in code\n```\nTODO: ask Alice\n\n**Next steps:**\n1. measure\n2. merge\n\nThat is all.\n- no item";
        assert_eq!(items(text), ["the search", "TODO: ask Alice", "measure", "merge"]);
        assert!(items("Nothing is left.").is_empty());
    }

    proptest! {
        #[test]
        fn items_are_bounded_lines(text in "(- \\[ \\] |TODO|next steps:|```|# |\\PC|\n){0,80}") {
            let found = items(&text);
            prop_assert!(found.len() <= ITEMS_MAX);
            prop_assert!(found.iter().all(|item| !item.contains('\n') && item.chars().count() <= ITEM_CHARS_MAX));
        }
    }
    #[rstest]
    #[case("- one", true, None, "one")]
    #[case("* one", true, None, "one")]
    #[case("+ one", true, None, "one")]
    #[case("1. one", true, None, "one")]
    #[case("12. one", true, None, "one")]
    #[case(". one", false, None, ". one")]
    #[case("1) one", false, None, "1) one")]
    #[case("-one", false, None, "-one")]
    #[case("- [ ] one", true, Some(false), "one")]
    #[case("- [x] one", true, Some(true), "one")]
    #[case("2. [X] one", true, Some(true), "one")]
    #[case("[ ] one", false, Some(false), "one")]
    #[case("## **one**", false, None, "one**")]
    #[case("one", false, None, "one")]
    #[case("", false, None, "")]
    fn a_line_is_told_from_its_mark_and_its_box(
        #[case] line: &str,
        #[case] is_listed: bool,
        #[case] is_ticked: Option<bool>,
        #[case] words: &str,
    ) {
        assert_eq!(unmarked(line), (is_listed, is_ticked, words));
    }

    #[rstest]
    #[case::a_heading("# Next steps\n- one\n\n- two\nThe end.\n- no", &["one", "two"])]
    #[case::a_line_with_a_colon("Remaining:\n- one\n- [x] done\n- two", &["one", "two"])]
    #[case::a_bold_line("**Open items:** \n* one", &["one"])]
    #[case::no_heading("Next steps are clear\n- no", &["Next steps are clear"])]
    #[case::a_word_within_a_line("We do it next: no", &[])]
    #[case::a_list_under_nothing("- no\n1. no", &[])]
    #[case::a_text_under_a_heading("# TODO\nno", &[])]
    #[case::boxes_anywhere("text\n[ ] one\n- [ ] two", &["one", "two"])]
    #[case::a_box_under_a_heading("Follow-up:\n- [ ] one\n- [X] done", &["one"])]
    #[case::code("~~~\n- [ ] no\n~~~\n- [ ] one\n```rust\nTODO: no\n```\nTODO: two", &["one", "TODO: two"])]
    #[case::an_empty_item("- [ ] \n- [ ] one", &["one"])]
    fn only_what_is_left_to_do_is_open(#[case] text: &str, #[case] expected: &[&str]) {
        assert_eq!(items(text), expected);
    }

    #[test]
    fn so_many_items_are_taken_and_no_more() {
        let lines: Vec<String> = (0..=ITEMS_MAX).map(|n| format!("- [ ] item {n}")).collect();
        let found = items(&lines.join("\n"));
        assert_eq!((found.len(), found.last().map(String::as_str)), (ITEMS_MAX, Some("item 11")));
    }
}
