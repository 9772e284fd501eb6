//! The counts of one pass of the sanitiser.
//! It must never hold text of the message, except the ids of hosted pictures, which are metadata.

use std::collections::BTreeMap;

/// Most ids of hosted pictures that are kept.
const MAX_HOSTED_IMAGES: usize = 50;
/// Longest id of a hosted picture.
const MAX_HOSTED_ID_BYTES: usize = 1024;

/// Counters and findings of one pass.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) removed: BTreeMap<&'static str, u32>,
    pub(super) flagged: BTreeMap<&'static str, u32>,
    pub(super) left_out_bytes: usize,
    pub(super) mentions_me: bool,
    pub(super) hosted_images: Vec<String>,
}

impl Tally {
    /// Counts a removal.
    pub(super) fn remove(&mut self, kind: &'static str) {
        let count = self.removed.entry(kind).or_insert(0);
        *count = count.saturating_add(1);
    }

    /// Counts something suspicious that stays in the text.
    pub(super) fn flag(&mut self, kind: &'static str) {
        let count = self.flagged.entry(kind).or_insert(0);
        *count = count.saturating_add(1);
    }

    /// Keeps the id of a picture if its address is that of a hosted content.
    pub(super) fn hosted_image(&mut self, src: &str) {
        let Some((_, rest)) = src.split_once("/hostedContents/") else { return };
        let id = rest.split('/').next().unwrap_or_default();
        let plain = id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'='));
        if plain
            && !id.is_empty()
            && id.len() <= MAX_HOSTED_ID_BYTES
            && self.hosted_images.len() < MAX_HOSTED_IMAGES
        {
            self.hosted_images.push(id.to_owned());
        }
    }
}
