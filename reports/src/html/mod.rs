//! The report as one HTML file that is complete without scripts. Nothing on the page is fetched, nothing from an event
//! can become markup or script, and the page stays below [`HTML_BYTES_MAX`] by saying less about what went well.

mod cells;
mod families;
mod inside;
mod json_text;
mod markup;
mod say;
mod support;
mod transcript;
mod view;

use askama::Template;

use crate::model::Report;
use crate::stream::Stream;
pub use inside::EVENTS_BYTES_MAX;
use view::Page;

/// Bytes that the page stays below, up to a matrix of about 300 × 30.
pub const HTML_BYTES_MAX: usize = 2_000_000;
/// Bytes that transcripts take at most: a page is to be opened, not to be waited for.
const DETAIL_BYTES_MAX: usize = 1_250_000;
/// Bytes that transcripts of what went wrong may take, however large the rest is.
const DETAIL_BYTES_MIN: usize = 150_000;
/// Bytes that are kept free, since transcripts are only about as long as they are told to be.
const SPARE_BYTES: usize = 120_000;

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
