//! Draws the screen into a frame of any size.
//!
//! From the ground up: `rows` makes lines of the conversation, `talk` shows those in view, `bars` says what goes on around
//! it, `layout` who gets which lines. It must never fail for want of room: what matters less goes first.

mod bars;
mod layout;
mod rows;
mod talk;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::screen::Screen;
use crate::theme::{Part, Theme};
use layout::{Layout, Wants};

/// The start of the line in which a person writes.
const PROMPT: &str = "> ";
/// Most lines of a question.
const APPROVAL_MAX: usize = 7;

/// Lines, each of pieces with their look.
pub(crate) type Line = Vec<(String, Part)>;

/// Draws the screen, and remembers what of it the person was shown.
pub fn draw(frame: &mut Frame<'_>, screen: &mut Screen, theme: Theme) {
    let area = frame.area();
    if area.width == 0 || area.height == 0 {
        return;
    }
    let width = usize::from(area.width);
    let input = screen.input.rows(width.saturating_sub(PROMPT.len()));
    let approval = bars::approval(screen, width, APPROVAL_MAX);
    let trouble = bars::trouble(screen, width, usize::from(area.height));
    let notice = bars::notice(screen, width);
    let queue = bars::queue(screen, width);
    let wants = Wants {
        input: input.rows.len(),
        approval: approval.len(),
        trouble: trouble.len(),
        notice: notice.len(),
        queue: queue.len(),
    };
    let layout = Layout::of(area, wants);
    let buffer = frame.buffer_mut();
    let mut pen = Pen { buffer, theme };
    pen.head(layout.head, &bars::head(screen, width));
    talk::draw(&mut pen, layout.talk, screen);
    pen.lines(layout.notice, &notice);
    pen.lines(layout.rule, &[vec![("─".repeat(width), Part::Aside)]]);
    pen.lines(layout.trouble, &bars::trouble(screen, width, usize::from(layout.trouble.height)));
    let approval = bars::approval(screen, width, usize::from(layout.approval.height));
    let is_shown = !approval.is_empty();
    pen.lines(layout.approval, &approval);
    pen.lines(layout.queue, &queue);
    pen.lines(layout.status, &[bars::status(screen, width)]);

    let room = usize::from(layout.input.height);
    let first = (input.cursor.0 + 1).saturating_sub(room);
    for (at, row) in input.rows.iter().enumerate().skip(first).take(room) {
        let start = if at == 0 { PROMPT } else { "  " };
        let y = layout.input.y + cells(at - first);
        pen.line(layout.input.x, y, width, &vec![(start.to_owned(), Part::You), (row.clone(), Part::Text)]);
    }
    let column = (input.cursor.1 + PROMPT.len()).min(width.saturating_sub(1));
    let row = input.cursor.0.saturating_sub(first).min(room.saturating_sub(1));
    frame.set_cursor_position(Position::new(layout.input.x + cells(column), layout.input.y + cells(row)));
    let number = screen.approvals.front().map(|approval| approval.number).filter(|_| is_shown);
    screen.showed_approval(number);
}

/// A number of cells; no screen has more.
fn cells(count: usize) -> u16 {
    u16::try_from(count).unwrap_or(u16::MAX)
}

/// Writes lines into a buffer.
struct Pen<'a> {
    buffer: &'a mut Buffer,
    theme: Theme,
}

impl Pen<'_> {
    fn line(&mut self, x: u16, y: u16, width: usize, line: &Line) {
        let right = x.saturating_add(cells(width));
        let mut x = x;
        for (text, part) in line {
            let room = usize::from(right.saturating_sub(x));
            x = self.buffer.set_stringn(x, y, text, room, self.theme.style(*part)).0;
        }
    }

    fn lines(&mut self, area: Rect, lines: &[Line]) {
        for (y, line) in area.rows().zip(lines) {
            self.line(area.x, y.y, usize::from(area.width), line);
        }
    }

    fn head(&mut self, area: Rect, text: &str) {
        let style: Style = self.theme.style(Part::Head);
        self.buffer.set_style(area, style);
        if area.height > 0 {
            self.buffer.set_stringn(area.x, area.y, text, usize::from(area.width), style);
        }
    }
}
