//! The embedded parts of the page: its style, its script, and the event stream if it is small.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::markup::Markup;
use crate::event::Event;
use crate::stream::{self, Stream};

/// Largest event stream that the page embeds for download, in bytes.
pub const EVENTS_BYTES_MAX: usize = 48 * 1024;

pub(super) const STYLE: &str = include_str!("../../templates/style.css");
pub(super) const SCRIPT: &str = include_str!("../../templates/script.js");

/// Allows only this page's own style and script, by their digests.
pub(super) fn policy() -> String {
    let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    )
}

/// The event stream as a link, if it is small.
pub(super) fn events_link(stream: &Stream) -> Option<Markup> {
    let header = std::iter::once_with(|| Event::RunStarted(stream.header.clone()));
    let cells = stream.cells.iter().map(|cell| Event::CellFinished(cell.clone()));
    let footer = std::iter::once_with(|| Event::RunFinished(stream.footer.clone()));
    let mut bytes = Vec::new();
    // One event at a time, so that a large stream is not copied first.
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
    fn the_policy_allows_only_named_sources() {
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; "), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
    }
}
