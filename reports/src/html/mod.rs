//! The report as one HTML file that is complete without scripts. The page fetches nothing, data of events can
//! never become markup or script, and the page stays below [`HTML_BYTES_MAX`] by showing fewer details of
//! passing cells.

mod cells;
mod families;
mod inside;
mod json_text;
mod markup;
pub(crate) mod say;
mod support;
mod transcript;
mod view;

use askama::Template;

use crate::model::Report;
use crate::stream::Stream;
pub use inside::EVENTS_BYTES_MAX;
use view::Page;

/// Size limit of the page in bytes, for a matrix of up to about 300 × 30.
pub const HTML_BYTES_MAX: usize = 2_000_000;
/// Most bytes of transcripts: a page must open without a wait.
const DETAIL_BYTES_MAX: usize = 1_250_000;
/// Bytes of transcripts that failing cells always may take, however large the rest is.
const DETAIL_BYTES_MIN: usize = 150_000;
/// Bytes in reserve, since the size of transcripts is only approximate.
const SPARE_BYTES: usize = 120_000;

/// `report.html`.
pub fn html(report: &Report, stream: &Stream) -> Result<String, askama::Error> {
    // The page without transcripts shows how much room is left for them.
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
