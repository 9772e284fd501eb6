//! The line in which a person writes, by any sequence of keys.

use entraclaw_screen::{Input, Key};
use proptest::prelude::*;

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        6 => "[a-c é漢👍\u{301}\u{200d}\u{1f3fd}🇩🇪\u{1b}\t]".prop_map(|text| Key::Char(text.chars().next().unwrap())),
        1 => "[a-c 漢\u{301}👨‍👩\n\r\t\u{1b}]{0,12}".prop_map(Key::Paste),
        1 => Just(Key::NewLine),
        2 => Just(Key::Backspace),
        1 => Just(Key::Delete),
        1 => Just(Key::DeleteWord),
        1 => Just(Key::DeleteToEnd),
        1 => Just(Key::DeleteToStart),
        3 => Just(Key::Left),
        2 => Just(Key::Right),
        1 => Just(Key::WordLeft),
        1 => Just(Key::WordRight),
        1 => Just(Key::Home),
        1 => Just(Key::End),
        2 => Just(Key::Up),
        2 => Just(Key::Down),
        1 => Just(Key::Send),
    ]
}

/// Presses a key; a sent message is taken, as the screen does.
fn press(input: &mut Input, key: &Key) {
    if *key == Key::Send {
        input.take();
    } else {
        input.edit(key);
    }
}

proptest! {
    #[test]
    fn the_cursor_stays_within_the_text(keys in proptest::collection::vec(key(), 0..60)) {
        let mut input = Input::default();
        for key in &keys {
            press(&mut input, key);
            prop_assert!(input.cursor() <= input.text().len());
            prop_assert!(input.text().is_char_boundary(input.cursor()));
            prop_assert!(input.text().chars().all(|c| c == '\n' || !c.is_control()));
        }
    }

    #[test]
    fn a_paste_is_the_same_as_typing(
        keys in proptest::collection::vec(key(), 0..30),
        text in "[a-c é漢👍\u{301}\u{200d}\u{1f3fd}\n\t\u{1b}\u{202e}]{0,20}",
    ) {
        let mut pasted = Input::default();
        for key in &keys {
            press(&mut pasted, key);
        }
        let mut typed = pasted.clone();
        pasted.edit(&Key::Paste(text.clone()));
        for c in text.chars() {
            typed.edit(&if c == '\n' { Key::NewLine } else { Key::Char(c) });
        }
        prop_assert_eq!((pasted.text(), pasted.cursor()), (typed.text(), typed.cursor()));
    }
}
