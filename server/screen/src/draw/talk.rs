//! The part of the conversation that is in view.

use ratatui::layout::Rect;

use super::Pen;
use super::rows::{self, Look};
use crate::news::Who;
use crate::screen::Screen;
use crate::talk::Entry;
use crate::theme::Part;

/// From this height on there is a line between entries.
const GAP_FROM: u16 = 12;

/// What an empty conversation shows.
const WELCOME: [&str; 2] =
    ["Write what is to be done, and press enter.", "/help shows the commands and keys."];

pub(super) fn draw(pen: &mut Pen<'_>, area: Rect, screen: &mut Screen) {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if height == 0 {
        return;
    }
    if screen.talk.entries.is_empty() {
        for (row, text) in area.rows().zip(WELCOME) {
            pen.line(row.x, row.y, width, &vec![(format!("  {text}"), Part::Aside)]);
        }
        return;
    }
    let gap = usize::from(area.height >= GAP_FROM);
    let looks: Vec<Look> = screen.talk.entries.iter().map(|entry| look(entry, screen, width)).collect();
    let entries = &mut screen.talk.entries;
    let counts: Vec<usize> =
        entries.iter_mut().zip(&looks).map(|(entry, look)| rows::count(entry, look) + gap).collect();
    let total = counts.iter().sum::<usize>().saturating_sub(gap);

    let scroll = &mut screen.scroll;
    if scroll.up > 0
        && let Some((before, lines)) = scroll.drawn
        && before == width
    {
        // What is read stays where it is while more comes.
        scroll.up += total.saturating_sub(lines);
    }
    scroll.drawn = Some((width, total));
    scroll.page = height.saturating_sub(2).max(1);
    scroll.up = scroll.up.min(total.saturating_sub(height));
    let (up, end) = (scroll.up, total - scroll.up);
    let first = end.saturating_sub(height);

    let mut at = 0;
    for ((entry, look), count) in entries.iter_mut().zip(&looks).zip(&counts) {
        let next = at + count;
        if next > first && at < end {
            let from = first.saturating_sub(at);
            let to = (end - at).min(count - gap.min(*count));
            for (row, line) in rows::lines(entry, look, from..to).iter().enumerate() {
                let y = area.y + super::cells(at + from + row - first);
                pen.line(area.x, y, width, line);
            }
        }
        at = next;
    }
    if up > 0 {
        let says = format!("-- {up} more lines below; esc goes to the end --");
        let says = format!("{says:<width$}");
        pen.line(area.x, area.bottom() - 1, width, &vec![(says, Part::Asks)]);
    }
}

fn look(entry: &Entry, screen: &Screen, width: usize) -> Look {
    let is_active = entry.is_live
        && screen.active.as_ref().is_some_and(|active| Some(&active.task) == entry.task.as_ref());
    let thinks = screen.active.as_ref().is_some_and(|active| active.thinks);
    let hint = match (is_active, thinks, entry.blocks.is_empty()) {
        (true, true, _) => Some("thinking…"),
        (true, false, true) => Some("…"),
        _ => None,
    };
    let label = entry.who.as_ref().map(|who| (screen.label(who), part(who)));
    Look { label, width, hint }
}

/// The look of a label.
pub(super) fn part(who: &Who) -> Part {
    match who {
        Who::You => Part::You,
        Who::Model(_) => Part::Model,
        Who::Host(name) => Part::Host(name.bytes().map(usize::from).sum()),
    }
}
