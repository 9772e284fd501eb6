//! The report as one HTML file that is complete without scripts. Nothing on the page is fetched, nothing from an event
//! can become markup or script, and the page stays below [`HTML_BYTES_MAX`] by saying less about what went well.

mod cells;
mod families;
mod json_text;
mod markup;
mod say;
mod support;
mod transcript;
mod view;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::event::Event;
use crate::model::Report;
use crate::stream::{self, Stream};
use markup::Markup;
use view::Page;

/// Bytes that the page stays below, up to a matrix of about 300 × 30.
pub const HTML_BYTES_MAX: usize = 2_000_000;
/// Bytes that transcripts take at most: a page is to be opened, not to be waited for.
const DETAIL_BYTES_MAX: usize = 1_250_000;
/// Bytes that transcripts of what went wrong may take, however large the rest is.
const DETAIL_BYTES_MIN: usize = 150_000;
/// Bytes that are kept free, since transcripts are only about as long as they are told to be.
const SPARE_BYTES: usize = 120_000;
/// Bytes of an event stream that the page carries along for download.
pub const EVENTS_BYTES_MAX: usize = 48 * 1024;

const STYLE: &str = include_str!("../../templates/style.css");
const SCRIPT: &str = include_str!("../../templates/script.js");

/// `report.html`.
pub fn html(report: &Report, stream: &Stream) -> Result<String, askama::Error> {
    // How much room transcripts have is known when the page without them is.
    let bare = Page::new(report, stream, 0).render()?;
    let spare = HTML_BYTES_MAX.saturating_sub(bare.len() + SPARE_BYTES);
    let mut detail_bytes = spare.clamp(DETAIL_BYTES_MIN, DETAIL_BYTES_MAX);
    loop {
        let page = Page::new(report, stream, detail_bytes).render()?;
        if page.len() < HTML_BYTES_MAX || detail_bytes <= DETAIL_BYTES_MIN {
            return Ok(page);
        }
        detail_bytes = (detail_bytes / 2).max(DETAIL_BYTES_MIN);
    }
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
    let header = std::iter::once_with(|| Event::RunStarted(stream.header.clone()));
    let cells = stream.cells.iter().map(|cell| Event::CellFinished(cell.clone()));
    let footer = std::iter::once_with(|| Event::RunFinished(stream.footer.clone()));
    let mut bytes = Vec::new();
    // One event at a time, so that a large stream is left before it is copied.
    for event in header.chain(cells).chain(footer) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_script_makes_no_markup_and_sends_nothing() {
        for word in [
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval",
            "fetch",
            "XMLHttp",
            "</script",
        ] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
    }

    #[test]
    fn our_own_style_fetches_nothing() {
        for word in ["url(", "@import", "</style"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }

    #[test]
    fn the_policy_allows_what_it_names_and_nothing_else() {
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}
