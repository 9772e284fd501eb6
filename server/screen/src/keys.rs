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
        assert_eq!(key(KeyCode::Enter, KeyModifiers::ALT), Some(Key::NewLine));
        assert_eq!(key(KeyCode::Char('j'), KeyModifiers::CONTROL), Some(Key::NewLine));
    }

    #[test]
    fn a_released_key_is_none_and_a_lost_modifier_types_nothing() {
        let released = KeyEvent::new_with_kind(KeyCode::Char('y'), KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(Key::of(&Event::Key(released)), None);
        assert_eq!(key(KeyCode::Char('y'), KeyModifiers::ALT), None);
        assert_eq!(key(KeyCode::Char('@'), KeyModifiers::ALT | KeyModifiers::CONTROL), Some(Key::Char('@')));
    }
}
