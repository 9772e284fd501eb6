//! A diagnosis as lines for a terminal.
//! It must never print a control character of foreign text.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{Diagnosis, Level};
use entraclaw_sanitize::clean_line;

/// The columns of the names.
const NAME_COLUMNS: usize = 8;

/// The whole diagnosis as text.
pub fn human(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    for check in &diagnosis.checks {
        let (style, word) = match check.level {
            Level::Ok => (AnsiColor::Green.on_default(), "ok  "),
            Level::Warn => (AnsiColor::Yellow.on_default(), "warn"),
            Level::Fail => (AnsiColor::Red.on_default().bold(), "fail"),
        };
        let (name, found) = (&check.name, clean_line(&check.found));
        let _ = writeln!(out, "{style}{word}{style:#}  {name:NAME_COLUMNS$}  {found}");
        if let Some(fix) = &check.fix {
            let dim = Style::new().dimmed();
            let _ = writeln!(out, "      {:NAME_COLUMNS$}  {dim}→ {}{dim:#}", "", clean_line(fix));
        }
    }
    let count = |level| diagnosis.checks.iter().filter(|check| check.level == level).count();
    let (warnings, failures) = (count(Level::Warn), count(Level::Fail));
    let _ = match (failures, warnings) {
        (0, 0) => writeln!(out, "\nAll is well."),
        _ => writeln!(out, "\n{failures} to repair, {warnings} to look at."),
    };
    out
}
