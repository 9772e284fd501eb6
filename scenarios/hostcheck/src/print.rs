//! Lines for people on stdout and stderr, and whether they could be written.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be written to stdout.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Output on stdout; a closed pipe (`| head`) is not an error. Another failure is told once and spoils the exit code.
pub fn out(text: &str) {
    use std::io::Write as _;
    let mut stdout = anstream::stdout();
    match writeln!(stdout, "{text}") {
        Err(error)
            if error.kind() != std::io::ErrorKind::BrokenPipe && !UNWRITTEN.swap(true, Ordering::Relaxed) =>
        {
            warn(&format!("error: cannot write to standard output: {error}"));
        }
        // A reader that has gone wants no more.
        _ => {}
    }
}

/// Whether some output is missing on stdout although its reader was there.
pub(crate) fn is_cut() -> bool {
    UNWRITTEN.load(Ordering::Relaxed)
}

/// A line for people on stderr.
pub fn warn(text: &str) {
    anstream::eprintln!("{text}");
}

/// Another program's text on one line of a terminal: control characters and marks of direction are written out.
pub fn shown(text: &str) -> String {
    let odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|letter| if odd(letter) { letter.escape_unicode().to_string() } else { letter.to_string() })
        .collect()
}
