//! The keys that the screen knows, from what a terminal sends.
//!
//! It must never give one key press twice.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a person does at the keyboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// A character.
    Char(char),
    /// A text that was pasted.
    Paste(String),
    /// Enter: the message is sent.
    Send,
    /// A line end within the message.
    NewLine,
    /// Removes what is before the cursor.
    Backspace,
    /// Removes what is behind it.
    Delete,
    /// Removes the word before the cursor.
    DeleteWord,
    /// Removes everything from the cursor to the end of the line.
    DeleteToEnd,
    /// Removes everything from the start of the line to the cursor.
    DeleteToStart,
    /// One character to the left.
    Left,
    /// One character to the right.
    Right,
    /// One word to the left.
    WordLeft,
    /// One word to the right.
    WordRight,
    /// A line up, or the message before.
    Up,
    /// A line down, or the message behind.
    Down,
    /// The start of the line.
    Home,
    /// The end of the line.
    End,
    /// Up in the conversation.
    PageUp,
    /// Down in the conversation.
    PageDown,
    /// To the end of the conversation; clears what was noted.
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Ctrl-L: everything is drawn anew.
    Redraw,
}

impl Key {
    /// The key of an event of the terminal, if it is one.
    pub fn of(event: &Event) -> Option<Self> {
        match event {
            Event::Paste(text) => Some(Self::Paste(text.clone())),
            Event::Key(key) if key.kind != KeyEventKind::Release => Self::pressed(key),
            _ => None,
        }
    }

    fn pressed(key: &KeyEvent) -> Option<Self> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        Some(match key.code {
            KeyCode::Enter if alt || shift || ctrl => Self::NewLine,
            KeyCode::Enter => Self::Send,
            KeyCode::Char(c) if ctrl && !alt => return Self::with_ctrl(c),
            KeyCode::Char('b') if alt && !ctrl => Self::WordLeft,
            KeyCode::Char('f') if alt && !ctrl => Self::WordRight,
            // On some keyboards AltGr comes as both.
            KeyCode::Char(c) if !alt || ctrl => Self::Char(c),
            KeyCode::Backspace if alt || ctrl => Self::DeleteWord,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Delete => Self::Delete,
            KeyCode::Left if ctrl || alt => Self::WordLeft,
            KeyCode::Left => Self::Left,
            KeyCode::Right if ctrl || alt => Self::WordRight,
            KeyCode::Right => Self::Right,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Esc => Self::Escape,
            _ => return None,
        })
    }

    fn with_ctrl(c: char) -> Option<Self> {
        Some(match c.to_ascii_lowercase() {
            'a' => Self::Home,
            'b' => Self::Left,
            'c' => Self::Interrupt,
            'd' => Self::EndOfInput,
            'e' => Self::End,
            'f' => Self::Right,
            'h' => Self::Backspace,
            'j' => Self::NewLine,
            'k' => Self::DeleteToEnd,
            'l' => Self::Redraw,
            'n' => Self::Down,
            'p' => Self::Up,
            'u' => Self::DeleteToStart,
            'w' => Self::DeleteWord,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        Key::of(&Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn enter_sends_and_with_a_modifier_it_is_a_line_end() {
        assert_eq!(key(KeyCode::Enter, KeyModifiers::NONE), Some(Key::Send));
        for modifier in [KeyModifiers::ALT, KeyModifiers::SHIFT, KeyModifiers::CONTROL] {
            assert_eq!(key(KeyCode::Enter, modifier), Some(Key::NewLine), "{modifier:?}");
        }
        assert_eq!(key(KeyCode::Char('j'), KeyModifiers::CONTROL), Some(Key::NewLine));
    }

    #[test]
    fn a_modifier_makes_it_a_word() {
        let (none, shift) = (KeyModifiers::NONE, KeyModifiers::SHIFT);
        let (alt, ctrl) = (KeyModifiers::ALT, KeyModifiers::CONTROL);
        for (code, modifiers, expected) in [
            (KeyCode::Char('b'), none, Some(Key::Char('b'))),
            (KeyCode::Char('b'), alt, Some(Key::WordLeft)),
            (KeyCode::Char('b'), ctrl, Some(Key::Left)),
            (KeyCode::Char('b'), alt | ctrl, Some(Key::Char('b'))),
            (KeyCode::Char('f'), none, Some(Key::Char('f'))),
            (KeyCode::Char('f'), alt, Some(Key::WordRight)),
            (KeyCode::Char('f'), ctrl, Some(Key::Right)),
            (KeyCode::Char('f'), alt | ctrl, Some(Key::Char('f'))),
            (KeyCode::Char('B'), shift, Some(Key::Char('B'))),
            (KeyCode::Backspace, none, Some(Key::Backspace)),
            (KeyCode::Backspace, shift, Some(Key::Backspace)),
            (KeyCode::Backspace, alt, Some(Key::DeleteWord)),
            (KeyCode::Backspace, ctrl, Some(Key::DeleteWord)),
            (KeyCode::Left, none, Some(Key::Left)),
            (KeyCode::Left, alt, Some(Key::WordLeft)),
            (KeyCode::Left, ctrl, Some(Key::WordLeft)),
            (KeyCode::Right, none, Some(Key::Right)),
            (KeyCode::Right, alt, Some(Key::WordRight)),
            (KeyCode::Right, ctrl, Some(Key::WordRight)),
            (KeyCode::Delete, none, Some(Key::Delete)),
            (KeyCode::Up, none, Some(Key::Up)),
            (KeyCode::Down, none, Some(Key::Down)),
            (KeyCode::Home, none, Some(Key::Home)),
            (KeyCode::End, none, Some(Key::End)),
            (KeyCode::PageUp, none, Some(Key::PageUp)),
            (KeyCode::PageDown, none, Some(Key::PageDown)),
            (KeyCode::Esc, none, Some(Key::Escape)),
            (KeyCode::F(1), none, None),
        ] {
            assert_eq!(key(code, modifiers), expected, "{code:?} with {modifiers:?}");
        }
    }

    #[test]
    fn a_letter_with_ctrl_is_a_command_in_either_case() {
        for (letter, expected) in [
            ('a', Key::Home),
            ('b', Key::Left),
            ('c', Key::Interrupt),
            ('d', Key::EndOfInput),
            ('e', Key::End),
            ('f', Key::Right),
            ('h', Key::Backspace),
            ('j', Key::NewLine),
            ('k', Key::DeleteToEnd),
            ('l', Key::Redraw),
            ('n', Key::Down),
            ('p', Key::Up),
            ('u', Key::DeleteToStart),
            ('w', Key::DeleteWord),
        ] {
            for letter in [letter, letter.to_ascii_uppercase()] {
                let pressed = key(KeyCode::Char(letter), KeyModifiers::CONTROL);
                assert_eq!(pressed, Some(expected.clone()), "{letter}");
            }
        }
        assert_eq!(key(KeyCode::Char('x'), KeyModifiers::CONTROL), None);
    }

    #[test]
    fn a_released_key_is_none_and_a_lost_modifier_types_nothing() {
        let released = KeyEvent::new_with_kind(KeyCode::Char('y'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::of(&Event::Key(released)), None);
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::Char('@'), KeyModifiers::ALT | KeyModifiers::CONTROL), Some(Key::Char('@')));
    }
}
