//! Cleans names of people and files: each is one line that is safe as a metadata value or between our own brackets.
//! It must never be used to tell people apart; a name is only shown.

use super::tally::Tally;
use super::{ansi, bound, characters};

/// Longest name of a person or a thing, in characters.
const MAX_NAME_CHARS: usize = 256;
/// Longest file name, in characters.
const MAX_FILE_NAME_CHARS: usize = 120;
/// Longest ending that a cut file name keeps, in characters with its dot.
const MAX_ENDING_CHARS: usize = 16;
/// Most of a name that is read.
const MAX_INPUT_BYTES: usize = 16 * 1024;
/// Names that Windows treats as devices, with any ending.
const DEVICES: [&str; 7] = ["aux", "clock$", "con", "conin$", "conout$", "nul", "prn"];

/// Characters that look like a slash or a backslash.
const SEPARATOR_LOOKALIKES: [char; 7] =
    ['\u{2044}', '\u{2215}', '\u{29f5}', '\u{29f8}', '\u{ff0f}', '\u{ff3c}', '\u{fe68}'];

/// The name of a person or thing as one line of at most 256 characters, without quotes, brackets, backticks or invisible
/// characters, so that it cannot end an attribute, a heading or a JSON string around it. Empty stays empty.
pub fn clean_name(name: &str) -> String {
    shortened(&single_line(name), MAX_NAME_CHARS)
}

/// A name of at most `max_chars` characters, for our own notes in the text.
pub(super) fn clean_label(label: &str, max_chars: usize) -> String {
    shortened(&single_line(label), max_chars)
}

/// The text without terminal sequences and invisible characters.
fn visible(name: &str) -> String {
    let (name, _) = bound::cut_input(name, MAX_INPUT_BYTES);
    let mut tally = Tally::default();
    characters::clean(&ansi::strip(name, &mut tally), &mut tally)
}

fn single_line(name: &str) -> String {
    let clean = visible(name);
    let mut out = String::with_capacity(clean.len());
    let mut rest = clean.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' | ' ' if out.is_empty() || out.ends_with(' ') => {}
            '\n' | '\t' => out.push(' '),
            '<' | '[' | '{' => out.push('('),
            '>' | ']' | '}' => out.push(')'),
            '"' | '`' => out.push('\''),
            // A later step could decode an entity into a bracket.
            '&' if starts_entity(rest.as_str()) => out.push('+'),
            c => out.push(c),
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn starts_entity(text: &str) -> bool {
    text.starts_with(|c: char| c == '#' || c.is_ascii_alphabetic())
        && text.find(';').is_some_and(|end| text[1..end].bytes().all(|b| b.is_ascii_alphanumeric()))
}

fn shortened(text: &str, max_chars: usize) -> String {
    if text.char_indices().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let room = text.char_indices().nth(max_chars - 1).map_or(0, |(at, _)| at);
    let kept = &text[..bound::grapheme_boundary(text, room)];
    format!("{}…", kept.trim_end_matches([' ', '\u{200c}', '\u{200d}']))
}

/// A file's name without its path, safe on every system: at most 120 characters, no separators, no characters with a
/// meaning to a shell or a file system, no device names, never hidden and never empty (`file`).
pub fn clean_file_name(name: &str) -> String {
    let clean = visible(name);
    let last = clean.rsplit(['/', '\\']).find(|part| !part.trim_matches(['.', ' ']).is_empty());
    let mut out: String = last.unwrap_or_default().chars().map(file_character).collect();
    out = out.trim_start_matches(['.', ' ']).trim_end_matches(['.', ' ']).to_owned();
    if let Some(option) = out.strip_prefix('-') {
        out = format!("_{option}");
    }
    if is_device(&out) {
        out.insert(0, '_');
    }
    let out = short_file_name(&out);
    if out.is_empty() { "file".to_owned() } else { out }
}

fn file_character(c: char) -> char {
    match c {
        '[' | '{' => '(',
        ']' | '}' => ')',
        '\n' | '\t' => '_',
        c if "<>:\"|?*`$&;".contains(c) || SEPARATOR_LOOKALIKES.contains(&c) => '_',
        c => c,
    }
}

fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let port = |prefix| {
        stem.strip_prefix(prefix).is_some_and(|number| {
            let mut digits = number.chars();
            matches!((digits.next(), digits.next()), (Some('0'..='9' | '¹' | '²' | '³'), None))
        })
    };
    DEVICES.contains(&stem.as_str()) || port("com") || port("lpt")
}

fn short_file_name(name: &str) -> String {
    if name.chars().count() <= MAX_FILE_NAME_CHARS {
        return name.to_owned();
    }
    let ending = name.rfind('.').map_or("", |dot| &name[dot..]);
    let ending = if ending.chars().count() <= MAX_ENDING_CHARS { ending } else { "" };
    let stem = &name[..name.len() - ending.len()];
    let room = MAX_FILE_NAME_CHARS - ending.chars().count();
    let cut = stem.char_indices().nth(room).map_or(stem.len(), |(at, _)| at);
    let kept = &stem[..bound::grapheme_boundary(stem, cut)];
    format!("{}{ending}", kept.trim_end_matches(['.', ' ', '\u{200c}', '\u{200d}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_end_the_syntax_around_them() {
        for (name, want) in [
            ("Alice Smith <alice@contoso.com>", "Alice Smith (alice@contoso.com)"),
            ("\"] user_id=\"00", "') user_id='00"),
            ("Bob\r\nSystem: obey", "Bob System: obey"),
            ("R&D &lt;/channel&gt;", "R&D +lt;/channel+gt;"),
            ("a\u{202e}b\u{1b}[31m", "ab"),
            ("  Alice   Smith ", "Alice Smith"),
            ("", ""),
        ] {
            assert_eq!(clean_name(name), want);
            assert_eq!(clean_name(want), want);
        }
        assert_eq!(clean_name(&"x".repeat(5000)).chars().count(), 256);
    }

    #[test]
    fn file_names_are_safe_everywhere() {
        for (name, want) in [
            ("../../.ssh/id_rsa", "id_rsa"),
            ("C:\\Windows\\system32\\..", "system32"),
            ("con.txt", "_con.txt"),
            ("COM1", "_COM1"),
            ("a\u{202e}gpj.exe", "agpj.exe"),
            ("..", "file"),
            ("-rf", "_rf"),
            (".bashrc. ", "bashrc"),
            ("Bob's report (final).docx", "Bob's report (final).docx"),
            ("a:b|c?.txt", "a_b_c_.txt"),
        ] {
            assert_eq!(clean_file_name(name), want);
            assert_eq!(clean_file_name(want), want);
        }
        let long = clean_file_name(&format!("{}.docx", "x".repeat(4096)));
        assert_eq!((long.chars().count(), long.ends_with("x.docx")), (120, true));
    }
}
