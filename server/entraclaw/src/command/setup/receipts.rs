//! Reads the receipts of setups for commands that only look.
//! It must never fail because of a receipt that can't be read; then it reports less.

use super::folders::FOLDER;
use super::work::{RECEIPT_BYTES_MAX, is_receipt};
use crate::setup::{Receipt, content_adds};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_seams::storage::{DiskStorage, Storage as _, read_whole};

/// The receipts that can be read.
pub(super) fn readable(home: &DiskStorage) -> Vec<Receipt> {
    let names = home.list(FOLDER).unwrap_or_default();
    let receipt = |name: &String| {
        let path = format!("{FOLDER}/{name}");
        let bytes = read_whole(home, &path, RECEIPT_BYTES_MAX).ok()??;
        serde_json::from_slice(&bytes).ok()
    };
    names.iter().filter(|name| is_receipt(name)).filter_map(receipt).collect()
}

/// Whether a setup has added a set of tools to a host.
pub(in crate::command) fn is_set_up(home: &DiskStorage, set: ToolSet) -> bool {
    readable(home)
        .iter()
        .flat_map(|receipt| receipt.owners.values())
        .any(|content| content_adds(content, set))
}
