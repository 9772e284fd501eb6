//! Who gets which lines of the screen.

use ratatui::layout::Rect;

/// From this height on there is a head.
const HEAD_FROM: u16 = 8;
/// From this height on there is a line below the conversation.
const RULE_FROM: u16 = 16;
/// Fewest lines of the conversation, where there is room for anything else.
const TALK_MIN: u16 = 3;

/// How many lines each part would like to have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wants {
    pub(super) input: usize,
    pub(super) approval: usize,
    pub(super) trouble: usize,
    pub(super) notice: usize,
    pub(super) queue: usize,
}

/// The place of each part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) head: Rect,
    pub(super) talk: Rect,
    pub(super) rule: Rect,
    pub(super) notice: Rect,
    pub(super) trouble: Rect,
    pub(super) approval: Rect,
    pub(super) queue: Rect,
    pub(super) status: Rect,
    pub(super) input: Rect,
}

impl Layout {
    /// The layout of an area. What stands first here gets its lines first.
    pub(super) fn of(area: Rect, wants: Wants) -> Self {
        let mut left = area.height;
        let mut take = |wanted: usize, most: u16| {
            let taken = u16::try_from(wanted).unwrap_or(u16::MAX).min(most).min(left);
            left -= taken;
            taken
        };
        let input = take(wants.input, (area.height / 4).max(1));
        let status = take(usize::from(area.height > 2), 1);
        let head = take(usize::from(area.height >= HEAD_FROM), 1);
        let rule = take(usize::from(area.height >= RULE_FROM), 1);
        // What a tool is to do must be read; the conversation can be scrolled.
        let talk_min = if area.height >= HEAD_FROM && wants.approval == 0 { TALK_MIN } else { 1 };
        let talk = take(usize::from(talk_min), talk_min);
        let approval = take(wants.approval, 8);
        let trouble = take(wants.trouble, (area.height / 3).max(1));
        let notice = take(wants.notice, (area.height / 8).max(1));
        let queue = take(wants.queue, 1);
        let talk = talk + left;
        let mut y = area.y;
        let mut place = |height: u16| {
            let place = Rect::new(area.x, y, area.width, height);
            y += height;
            place
        };
        Self {
            head: place(head),
            talk: place(talk),
            rule: place(rule),
            notice: place(notice),
            trouble: place(trouble),
            approval: place(approval),
            queue: place(queue),
            status: place(status),
            input: place(input),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_height_is_used_up_and_the_input_is_always_there() {
        let wants = Wants { input: 9, approval: 9, trouble: 9, notice: 9, queue: 1 };
        for height in 1..60 {
            for wants in [wants, Wants { input: 1, ..Wants::default() }] {
                let layout = Layout::of(Rect::new(0, 0, 40, height), wants);
                let Layout { head, talk, rule, notice, trouble, approval, queue, status, input } = layout;
                let all = [head, talk, rule, notice, trouble, approval, queue, status, input];
                assert_eq!(all.iter().map(|one| one.height).sum::<u16>(), height);
                assert!(input.height >= 1 && input.bottom() == height);
            }
        }
    }

    #[test]
    fn forty_by_ten_shows_the_conversation_and_the_question() {
        let wants = Wants { input: 1, approval: 4, trouble: 2, notice: 1, queue: 1 };
        let layout = Layout::of(Rect::new(0, 0, 40, 10), wants);
        assert_eq!((layout.talk.height, layout.approval.height), (1, 4));
    }
}
