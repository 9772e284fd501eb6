//! The screen in its states, cell for cell. `UPDATE_GOLDEN=1` writes the files anew.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read and write golden files and look for UPDATE_GOLDEN"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use entraclaw_screen::{Screen, Theme};
use proptest::prelude::*;
use similar::TextDiff;
use support::{buffer, rows, styled_rows};

type State = (&'static str, fn() -> Screen);

const STATES: [State; 10] = [
    ("empty", || Screen::new("chess")),
    ("talk", support::talk),
    ("streaming", support::streaming),
    ("thinking", support::thinking),
    ("queue", support::queue),
    ("resumed", support::resumed),
    ("approval", support::approval),
    ("away", support::away),
    ("hostile", support::hostile),
    ("commands", support::commands),
];
const SIZES: [(u16, u16); 3] = [(80, 24), (40, 10), (120, 40)];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn check(name: &str, found: &str) {
    let path = folder().join(name);
    if std::env::var("UPDATE_GOLDEN").is_ok_and(|value| value == "1") {
        fs::write(&path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if expected != found {
        let diff = TextDiff::from_lines(expected.as_str(), found);
        let shown = diff.unified_diff().context_radius(2).header(name, "found").to_string();
        panic!("{name} is not as committed; UPDATE_GOLDEN=1 writes it anew\n{shown}");
    }
}

fn shown(rows: &[String], cursor: (u16, u16)) -> String {
    format!("{}\n-- cursor at {}, {}\n", rows.join("\n"), cursor.0, cursor.1)
}

fn all() -> Vec<(String, String)> {
    let mut files = Vec::new();
    for (name, make) in STATES {
        for (width, height) in SIZES {
            let (buffer, cursor) = buffer(&mut make(), width, height, Theme::PLAIN);
            files.push((format!("{name}-{width}x{height}.txt"), shown(&rows(&buffer), cursor)));
        }
    }
    for (name, make) in [("queue", support::queue as fn() -> Screen), ("approval", support::approval)] {
        for (look, theme) in [("colour", Theme::COLOUR), ("plain", Theme::PLAIN)] {
            let (buffer, cursor) = buffer(&mut make(), 80, 24, theme);
            files.push((format!("{name}-{look}.txt"), shown(&styled_rows(&buffer), cursor)));
        }
    }
    files
}

#[test]
fn every_state_at_every_size() {
    for (name, found) in all() {
        check(&name, &found);
    }
}

#[test]
fn every_golden_file_has_a_state() {
    let known: Vec<String> = all().into_iter().map(|(name, _)| name).collect();
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(known.contains(&name), "{name} belongs to no state");
    }
}

#[test]
fn a_text_stands_at_the_first_column_only_behind_a_label() {
    let (buffer, _) = buffer(&mut support::hostile(), 80, 40, Theme::PLAIN);
    let labels = rows(&buffer).iter().filter(|row| row.starts_with("[you]")).count();
    assert_eq!(labels, 1, "the person has said one thing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn no_size_is_too_small(width in 1_u16..100, height in 1_u16..40, state in 0_usize..10, wider in 1_u16..100) {
        let mut screen = STATES[state].1();
        for (width, height) in [(width, height), (wider, height), (wider, 3), (width, 24)] {
            let (buffer, cursor) = buffer(&mut screen, width, height, Theme::COLOUR);
            prop_assert!(cursor.0 < width && cursor.1 < height);
            prop_assert!(buffer.content.iter().all(|cell| !cell.symbol().contains(char::is_control)));
        }
    }
}
