//! Pieces of Markdown that can hold any text: code spans, fences, the head of a report.

use std::fmt::Write as _;

use crate::event::Status;
use crate::model::{Counts, Report, Verdict};
use crate::text::{counted, short_line, visible};

/// Most bytes of a name in a table.
const NAME_BYTES_MAX: usize = 120;

pub(super) fn head(report: &Report) -> String {
    let totals = &report.totals;
    let verdict = match report.verdict {
        Verdict::Passed => "✓ passed",
        Verdict::Failed => "✗ failed",
        Verdict::Incomplete => "? incomplete",
    };
    let rows = counted(totals.requirements, "requirement", "requirements");
    let (subject, columns, states) = (report.subject(), report.columns(), states(&totals.cells));
    let version = report.server.version.as_deref().unwrap_or("unknown version");
    let [server, version, command] = [&report.server.name, version, &report.command].map(code);
    let repeat = format!("Server {server} {version}, {}. Repeat with {command}", report.runs());
    format!("## {subject}: {verdict}\n\n{rows} on {columns}: {states}\n\n{repeat}\n\n")
}

/// `✓ 12 pass · ✗ 1 fail`, without the states that did not occur.
pub(super) fn states(counts: &Counts) -> String {
    let there = Status::ALL.into_iter().filter(|state| counts[state] > 0);
    there
        .map(|state| format!("{} {} {}", state.symbol(), counts[&state], state.word()))
        .collect::<Vec<_>>()
        .join(" · ")
}

pub(super) fn more(count: u64) -> String {
    counted(count, "more failure", "more failures")
}

pub(super) fn short_block(text: &str, bytes_max: usize) -> String {
    let cut = crate::text::cut(text, bytes_max);
    let mut shown = visible(cut.head).into_owned();
    if cut.left_out_bytes > 0 {
        let _ = writeln!(shown, "\n… {} left out", crate::text::bytes(cut.left_out_bytes));
    }
    shown
}

/// A fence that is longer than any in the body.
pub(super) fn fence(body: &str) -> String {
    "`".repeat(longest_run(body, '`').max(2) + 1)
}

/// A code span that ends correctly for any content.
pub(crate) fn code(data: &str) -> String {
    let shown = short_line(data, NAME_BYTES_MAX);
    if shown.trim().is_empty() {
        return "(empty)".to_owned();
    }
    let ticks = "`".repeat(longest_run(&shown, '`') + 1);
    // A span of more than one tick, or one that starts or ends with a tick or space, is padded by one space.
    let pad = if shown.starts_with(['`', ' ']) || shown.ends_with(['`', ' ']) { " " } else { "" };
    format!("{ticks}{pad}{shown}{pad}{ticks}")
}

/// Like [`code`], for a table, where a bar would end the cell even in a code span.
pub(crate) fn cell_code(data: &str) -> String {
    code(&data.replace('|', "¦"))
}

pub(super) fn longest_run(text: &str, wanted: char) -> usize {
    let (mut longest, mut current) = (0, 0);
    for character in text.chars() {
        current = if character == wanted { current + 1 } else { 0 };
        longest = longest.max(current);
    }
    longest
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plain", "`plain`")]
    #[case("a`b``c", "```a`b``c```")]
    #[case("`", "`` ` ``")]
    #[case("<img src=x> @alice #1\n# head", "`<img src=x> @alice #1⏎# head`")]
    #[case(" ", "(empty)")]
    fn a_code_span_holds_anything(#[case] data: &str, #[case] shown: &str) {
        assert_eq!(code(data), shown);
    }

    #[test]
    fn a_bar_does_not_end_a_cell() {
        assert_eq!(cell_code("a|b"), "`a¦b`");
    }

    #[test]
    fn a_fence_is_longer_than_any_in_its_body() {
        assert_eq!(fence("no ticks"), "```");
        assert_eq!(fence("five ````` ticks"), "``````");
    }
}
