//! The wire and the model's view as table rows, within a limit of bytes. First long lines are cut, then lines
//! are left out, both with a count. The lines near the first divergence are left out last.

use std::fmt::Write;
use std::ops::Range;

use super::json_text::lay_out;
use super::markup::Markup;
use crate::event::{CellFinished, Failure, Lane, ModelLine};
use crate::text::{counted, cut, moment, thousands, visible_line};
use crate::wire::{self, Read};

/// Most rows of a transcript on the page.
pub(super) const ROWS_MAX: usize = 400;
/// Bytes of a line that are shown; the largest with which the table fits is used.
const LINE_BYTES: [usize; 5] = [8_192, 2_048, 720, 320, 160];
/// Most bytes of a line that is shown without folding.
const PLAIN_BYTES_MAX: usize = 96;
/// Most bytes of a line's name.
const KIND_BYTES_MAX: usize = 120;
/// Most rows of a model view.
const VIEW_ROWS_MAX: usize = 120;
/// Bytes of a row besides its text, to estimate how many fit.
const ROW_BYTES: usize = 420;

/// Finished rows, and the number of lines.
pub(super) struct Rows {
    /// `<tr>` elements.
    pub(super) html: Markup,
    /// Lines in the stream.
    pub(super) lines: usize,
}

/// The names of a cell's own elements.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    /// Prefix of element ids; unique on the page.
    pub(super) prefix: &'a str,
    /// The cell's line in `events.jsonl`.
    pub(super) event_line: usize,
}

/// The wire, at most about `bytes_max` bytes of HTML.
pub(super) fn wire_rows(run: &CellFinished, names: Names<'_>, bytes_max: usize) -> Rows {
    let lines = wire::read(&run.transcript);
    let failure = run.failures.iter().min_by_key(|failure| failure.at_ms);
    // The first line after the failure; all lines before it led to it.
    let divergence = failure.map(|failure| {
        let after = lines.iter().position(|read| read.line.at_ms > failure.at_ms);
        (after.unwrap_or(lines.len()), failure)
    });
    let at = divergence.map(|(at, _)| at);
    let mut table = Table { lines: &lines, names, divergence };
    let all = keep(lines.len(), ROWS_MAX, at);
    let mut html = Markup::default();
    for line_bytes in LINE_BYTES {
        html = table.rows(&all, line_bytes);
        if html.len() <= bytes_max {
            return Rows { html, lines: lines.len() };
        }
    }
    let some = keep(lines.len(), (bytes_max / ROW_BYTES).min(ROWS_MAX), at);
    if some != all {
        table.names = names;
        html = table.rows(&some, LINE_BYTES[LINE_BYTES.len() - 1]);
    }
    Rows { html, lines: lines.len() }
}

/// The rows to show out of `count`: all, or the first, those before a divergence, and the last.
fn keep(count: usize, rows_max: usize, divergence: Option<usize>) -> Vec<Range<usize>> {
    if count <= rows_max {
        return (count > 0).then_some(0..count).into_iter().collect();
    }
    let middle = divergence.map_or(0, |at| at.saturating_sub(rows_max / 3));
    let middle_end = divergence.map_or(0, |at| (at + rows_max / 6).min(count));
    let head = if divergence.is_some() { rows_max / 4 } else { rows_max * 2 / 3 };
    let tail = rows_max.saturating_sub(head + (middle_end - middle));
    let mut kept: Vec<Range<usize>> = Vec::new();
    for range in [0..head, middle..middle_end, count - tail..count] {
        match kept.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ if range.is_empty() => {}
            _ => kept.push(range),
        }
    }
    kept.retain(|range| !range.is_empty());
    kept
}

struct Table<'a> {
    lines: &'a [Read<'a>],
    names: Names<'a>,
    divergence: Option<(usize, &'a Failure)>,
}

impl Table<'_> {
    fn rows(&self, kept: &[Range<usize>], line_bytes: usize) -> Markup {
        let mut html = Markup::default();
        let mut next = 0;
        for range in kept {
            self.gap(&mut html, range.start - next);
            for index in range.clone() {
                self.diverged(&mut html, index);
                self.row(&mut html, index, kept, line_bytes);
            }
            next = range.end;
        }
        self.gap(&mut html, self.lines.len() - next);
        self.diverged(&mut html, self.lines.len());
        html
    }

    fn gap(&self, html: &mut Markup, lines: usize) {
        if lines > 0 {
            html.push_html("<tr class=gap><td colspan=6>");
            html.push_html(&counted(lines as u64, "line", "lines"));
            html.push_html(&format!(" left out; see line {} of events.jsonl\n", self.names.event_line));
        }
    }

    fn diverged(&self, html: &mut Markup, index: usize) {
        if let Some((at, failure)) = self.divergence
            && at == index
        {
            html.push_html("<tr class=dv><td colspan=6>▲ first divergence, at ");
            html.push_html(&moment(failure.at_ms));
            html.push_html(" s: <b>");
            html.push(&Markup::short(&failure.rule, KIND_BYTES_MAX));
            html.push_html("</b> ");
            html.push(&Markup::short(&failure.message, 4 * KIND_BYTES_MAX));
            html.push_html("\n");
        }
    }

    fn row(&self, html: &mut Markup, index: usize, kept: &[Range<usize>], line_bytes: usize) {
        let Read { line, pair, .. } = &self.lines[index];
        let (class, way) = match line.lane {
            Lane::HostToServer => ("hs", "host → server"),
            Lane::ServerToHost => ("sh", "server → host"),
            Lane::Graph => ("gr", "server ↔ Graph"),
            Lane::Stderr => ("er", "server’s stderr"),
            Lane::Event => ("ev", "event"),
        };
        let mut head = String::new();
        // Writing to a `String` can't fail.
        let _ = write!(
            head,
            "<tr id={}-{} class={class}><td>{}<td>{}<td><i>{way}</i><td>",
            self.names.prefix,
            index + 1,
            index + 1,
            moment(line.at_ms)
        );
        html.push_html(&head);
        message(html, &self.lines[index], line_bytes);
        html.push_html("<td>");
        html.push_html(&thousands(line.text.len() as u64));
        html.push_html("<td>");
        if let Some(pair) = *pair {
            self.pair(html, index, pair, kept);
        }
        html.push_html("\n");
    }

    fn pair(&self, html: &mut Markup, index: usize, pair: usize, kept: &[Range<usize>]) {
        let number = pair + 1;
        let shown = kept.iter().any(|range| range.contains(&pair));
        let link = if shown {
            format!("<a href=#{}-{number}>↔ {number}</a>", self.names.prefix)
        } else {
            format!("↔ {number}")
        };
        html.push_html(&link);
        if pair < index {
            let took = self.lines[index].line.at_ms.saturating_sub(self.lines[pair].line.at_ms);
            html.push_html(&format!(" <small>{}</small>", crate::text::duration(took)));
        }
    }
}

fn message(html: &mut Markup, read: &Read<'_>, line_bytes: usize) {
    let text = read.line.text.as_str();
    let kept = cut(text, line_bytes);
    if read.kind.is_empty() {
        if text.len() <= PLAIN_BYTES_MAX {
            html.push_html("<code>");
            html.push_json(text);
            html.push_html("</code>");
            return;
        }
        html.push_html("<details><summary><code>");
        html.push(&Markup::line(cut(text, PLAIN_BYTES_MAX).head));
        html.push_html("…</code>");
    } else {
        html.push_html(if read.is_error {
            "<details><summary><b class=bad>"
        } else {
            "<details><summary><b>"
        });
        html.push(&Markup::short(&read.kind, KIND_BYTES_MAX));
        html.push_html("</b>");
        if !read.preview.is_empty() {
            html.push_html(" <code>");
            html.push_json(&visible_line(&read.preview));
            html.push_html("</code>");
        }
    }
    html.push_html("</summary><pre>");
    if text.starts_with('{') || text.starts_with('[') {
        html.push_json(&lay_out(kept.head));
    } else {
        html.push_json(kept.head);
    }
    html.note_left_out(kept.left_out_bytes);
    html.push_html("</pre></details>");
}

/// The texts that the model was shown, in at most about `bytes_max` bytes of HTML.
pub(super) fn view_rows(run: &CellFinished, names: Names<'_>, bytes_max: usize) -> Rows {
    let view = &run.model_view;
    let mut html = Markup::default();
    let rows_max = VIEW_ROWS_MAX.min((bytes_max / ROW_BYTES).max(1));
    let kept = keep(view.len(), rows_max, None);
    for line_bytes in LINE_BYTES {
        html = Markup::default();
        let mut next = 0;
        for range in &kept {
            view_gap(&mut html, range.start - next, names);
            view[range.clone()].iter().enumerate().for_each(|(offset, line)| {
                view_row(&mut html, range.start + offset + 1, line, line_bytes);
            });
            next = range.end;
        }
        view_gap(&mut html, view.len() - next, names);
        if html.len() <= bytes_max {
            break;
        }
    }
    Rows { html, lines: view.len() }
}

fn view_gap(html: &mut Markup, lines: usize, names: Names<'_>) {
    if lines > 0 {
        html.push_html(&format!(
            "<tr class=gap><td colspan=4>{} left out; see line {} of events.jsonl\n",
            counted(lines as u64, "text", "texts"),
            names.event_line
        ));
    }
}

fn view_row(html: &mut Markup, number: usize, line: &ModelLine, line_bytes: usize) {
    html.push_html(&format!("<tr><td>{number}<td>{}<td><b>", moment(line.at_ms)));
    html.push(&Markup::short(&line.carrier, KIND_BYTES_MAX));
    html.push_html("</b>");
    if let Some(tool) = &line.tool {
        html.push_html("<br><code>");
        html.push(&Markup::short(tool, KIND_BYTES_MAX));
        html.push_html("</code>");
    }
    if line.woke {
        html.push_html("<br><em>woke the session</em>");
    }
    html.push_html("<td><pre>");
    let kept = cut(&line.text, line_bytes);
    html.push_json(kept.head);
    html.note_left_out(kept.left_out_bytes);
    html.push_html("</pre>\n");
}

#[cfg(test)]
mod tests {
    use super::keep;

    #[test]
    fn few_rows_are_all_kept() {
        assert_eq!(keep(0, 10, None).len(), 0);
        assert_eq!(keep(10, 10, Some(3)).first(), Some(&(0..10)));
    }

    #[test]
    fn many_rows_keep_both_ends() {
        assert_eq!(keep(100, 9, None), [0..6, 97..100]);
    }

    #[test]
    fn the_rows_before_a_divergence_are_kept() {
        let kept = keep(10_000, 120, Some(5_000));
        assert!(kept.iter().any(|range| range.contains(&4_990)), "{kept:?}");
        let rows: usize = kept.iter().map(ExactSizeIterator::len).sum();
        assert_eq!(rows, 120);
    }

    #[test]
    fn no_choice_of_numbers_breaks_the_ranges() {
        for count in 0..40 {
            for rows_max in 0..40 {
                for divergence in (0..=count).map(Some).chain([None]) {
                    let kept = keep(count, rows_max, divergence);
                    let rows: usize = kept.iter().map(ExactSizeIterator::len).sum();
                    assert!(rows <= rows_max && kept.last().is_none_or(|last| last.end <= count));
                    assert!(kept.is_sorted_by_key(|range| range.start));
                }
            }
        }
    }
}
