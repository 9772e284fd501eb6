//! A block of our text at the end of a file that a person wrote.
//!
//! It must never change a line outside its block.

use super::content::{Op, Problem, newline};

const BEGIN: &str =
    "<!-- entraclaw begin: written by `entraclaw setup`, removed by `entraclaw setup --remove` -->";
const END: &str = "<!-- entraclaw end -->";

/// The text with our section for models at its end, between markers. An existing section is replaced.
pub(super) fn apply_section(text: &str, section: &str) -> Result<(String, Vec<Op>), Problem> {
    let text = without_section(text)?;
    let (text, op) = appended(&text, &marked(section));
    Ok((text, vec![op]))
}

/// Whether the text has the section, unchanged.
pub(super) fn holds_section(text: &str, section: &str) -> bool {
    text.contains(&marked(section).replace('\n', newline(text)))
}

fn marked(section: &str) -> String {
    format!("{BEGIN}\n{}\n{END}\n", section.trim_end())
}

/// The text with a block after it, separated by an empty line.
pub(super) fn appended(text: &str, block: &str) -> (String, Op) {
    let ending = newline(text);
    let block = block.replace('\n', ending);
    let before = match text {
        "" => String::new(),
        _ if text.ends_with('\n') => ending.to_owned(),
        _ => ending.repeat(2),
    };
    (format!("{text}{before}{block}"), Op::Block { before, text: block })
}

/// The text without the block of the op, if it is there unchanged and once.
pub(super) fn cut(text: &str, before: &str, block: &str) -> Option<String> {
    let at = text.find(block).filter(|_| !block.is_empty())?;
    if text[at + block.len()..].contains(block) {
        return None;
    }
    let start = if text[..at].ends_with(before) { at - before.len() } else { at };
    Some(format!("{}{}", &text[..start], &text[at + block.len()..]))
}

/// The text without the section between the markers, whatever its content.
pub(super) fn without_section(text: &str) -> Result<String, Problem> {
    let Some(start) = text.find(BEGIN) else { return Ok(text.to_owned()) };
    let Some(length) = text[start..].find(END) else {
        let what = format!("the section begins here and its last line, `{END}`, is missing; put it back");
        return Err(Problem::at(text, start, what));
    };
    let rest = &text[start + length + END.len()..];
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest);
    let above = text[..start].strip_suffix("\r\n").or_else(|| text[..start].strip_suffix('\n'));
    let above = match above {
        Some(above) if above.ends_with('\n') => above,
        _ => &text[..start],
    };
    Ok(format!("{above}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_added_and_removed_at_any_end_of_a_text() {
        for text in ["", "a", "a\n", "a\r\nb", "a\r\nb\r\n", "# T\n\ntext\n\n", "\n", "ü\u{feff}\n"] {
            let (with, ops) = apply_section(text, "say\nthis").unwrap();
            assert!(with.contains("this"), "{with}");
            let [Op::Block { before, text: block }] = ops.as_slice() else { panic!("{ops:?}") };
            assert_eq!(cut(&with, before, block).as_deref(), Some(text));
        }
    }

    #[test]
    fn lines_end_as_the_text_does() {
        let (with, _) = apply_section("a\r\nb\r\n", "say\nthis").unwrap();
        assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
        let (with, _) = apply_section("a\nb\n", "say\nthis").unwrap();
        assert!(!with.contains('\r'));
    }

    #[test]
    fn a_changed_section_is_found_by_its_markers() {
        let (with, _) = apply_section("mine\n", "say this").unwrap();
        let changed = format!("{}more of mine\n", with.replace("say this", "say that"));
        assert_eq!(without_section(&changed).unwrap(), "mine\nmore of mine\n");
        let (again, _) = apply_section(&changed, "say this").unwrap();
        assert_eq!(again.matches(BEGIN).count(), 1);
    }

    #[test]
    fn a_section_without_its_end_is_refused_with_its_place() {
        let broken = format!("mine\n\n{BEGIN}\nsay this\n");
        assert_eq!(apply_section(&broken, "x").unwrap_err().at, Some((3, 1)));
    }
}
