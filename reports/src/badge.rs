//! The result of a run as a badge: the JSON of shields.io's endpoint, and a self-contained SVG. It must never
//! be green for a run that did not pass.

use serde_json::json;

use crate::event::Status;
use crate::model::{Report, Verdict, supported};

/// Approximate width of a character in pixels; the text is stretched to fit.
const CHARACTER_PX: usize = 7;
/// Pixels beside a text.
const PADDING_PX: usize = 10;
/// The text of the left half.
const LABEL: &str = "hostcheck";

/// `badge.json`: <https://shields.io/badges/endpoint-badge>.
pub fn badge_json(report: &Report) -> Result<String, serde_json::Error> {
    endpoint(LABEL, &message(report), report.verdict)
}

/// `badge.svg`.
pub fn badge_svg(report: &Report) -> String {
    picture(LABEL, &message(report), report.verdict)
}

/// The JSON of a badge.
pub(crate) fn endpoint(label: &str, message: &str, verdict: Verdict) -> Result<String, serde_json::Error> {
    let (colour, _) = colour(verdict);
    let badge = json!({
        "schemaVersion": 1,
        "label": label,
        "message": message,
        "color": colour,
        "isError": verdict == Verdict::Failed,
    });
    Ok(serde_json::to_string(&badge)? + "\n")
}

/// The picture of a badge. Both texts must be this crate's own words and numbers, for nothing in them is escaped.
pub(crate) fn picture(label: &str, message: &str, verdict: Verdict) -> String {
    let width = |text: &str| text.chars().count() * CHARACTER_PX + PADDING_PX;
    let (left, right) = (width(label), width(message));
    let (_, colour) = colour(verdict);
    let (all, left_middle, right_middle) = (left + right, left / 2, left + right / 2);
    let (left_text, right_text) = (left - PADDING_PX, right - PADDING_PX);
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{all}" height="20" role="img" aria-label="{label}: {message}"><title>{label}: {message}</title><clipPath id="r"><rect width="{all}" height="20" rx="3"/></clipPath><g clip-path="url(#r)"><rect width="{left}" height="20" fill="#444"/><rect x="{left}" width="{right}" height="20" fill="{colour}"/></g><g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="{left_middle}" y="14" textLength="{left_text}">{label}</text><text x="{right_middle}" y="14" textLength="{right_text}">{message}</text></g></svg>
"##
    )
}

/// Only numbers and this crate's own words, so no text has to be escaped.
fn message(report: &Report) -> String {
    let counts = report.totals.levels.get("must").unwrap_or(&report.totals.cells);
    let word = if report.totals.levels.contains_key("must") { " must" } else { "" };
    let passed = counts.get(&Status::Pass).copied().unwrap_or(0);
    let end = match report.verdict {
        Verdict::Passed => "",
        Verdict::Failed => ", failing",
        Verdict::Incomplete => ", incomplete",
    };
    format!("{passed}/{}{word}, {}{end}", supported(counts), report.columns())
}

/// The colour's name for shields.io, and its value for the SVG, on which white is readable.
fn colour(verdict: Verdict) -> (&'static str, &'static str) {
    match verdict {
        Verdict::Passed => ("brightgreen", "#17643a"),
        Verdict::Failed => ("red", "#a3121a"),
        Verdict::Incomplete => ("yellow", "#655300"),
    }
}
