//! Prints lines on stdout and stderr, and remembers whether that failed.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a write to stdout failed.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Prints a line on stdout. A closed pipe (`| head`) is not an error. Any other failure is reported once and
/// changes the exit code.
pub fn out(text: &str) {
    use std::io::Write as _;
    let mut stdout = anstream::stdout();
    match writeln!(stdout, "{text}") {
        Err(error)
            if error.kind() != std::io::ErrorKind::BrokenPipe && !UNWRITTEN.swap(true, Ordering::Relaxed) =>
        {
            warn(&format!("error: cannot write to standard output: {error}"));
        }
        // The reader has closed the pipe, or the failure is already reported.
        _ => {}
    }
}

/// Whether output is missing on stdout although its reader was there.
pub(crate) fn is_cut() -> bool {
    UNWRITTEN.load(Ordering::Relaxed)
}

/// Prints a line on stderr.
pub fn warn(text: &str) {
    anstream::eprintln!("{text}");
}

/// Another program's text, safe for a terminal line: control characters and direction marks are escaped.
pub fn shown(text: &str) -> String {
    let odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|letter| if odd(letter) { letter.escape_unicode().to_string() } else { letter.to_string() })
        .collect()
}
