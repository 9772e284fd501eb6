//! The report as one HTML file that is complete without scripts. Nothing on the page is fetched, nothing from an event
//! can become markup or script, and the page stays below [`HTML_BYTES_MAX`] by saying less about what went well.

mod json_text;
mod markup;
mod say;
mod transcript;
mod view;
mod wire;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::model::Report;
use crate::stream::{self, Stream};
use markup::Markup;
use view::Page;

/// Bytes that the page stays below for a matrix of about 40 × 4.
pub const HTML_BYTES_MAX: usize = 2_000_000;
/// Bytes of an event stream that the page carries along for download.
pub const EVENTS_BYTES_MAX: usize = 48 * 1024;

const STYLE: &str = include_str!("../../templates/style.css");
const SCRIPT: &str = include_str!("../../templates/script.js");

/// `report.html`.
pub fn html(report: &Report, stream: &Stream) -> Result<String, askama::Error> {
    let mut text = Page::new(report, stream).render()?;
    // A hand-written template leaves blank lines where it has tags.
    text.push('\n');
    Ok(text)
}

/// Allows our own style and our own script by their digests, and nothing else at all.
fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// The event stream as a link, when it is small.
fn events_link(stream: &Stream) -> Option<Markup> {
    let mut bytes = Vec::new();
    for event in stream.clone().into_events() {
        stream::write_event(&event, &mut bytes).ok()?;
        if bytes.len() > EVENTS_BYTES_MAX {
            return None;
        }
    }
    let mut link = Markup::default();
    link.push_html("data:application/jsonl;base64,");
    link.push_html(&STANDARD.encode(bytes));
    Some(link)
}
