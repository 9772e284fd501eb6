//! Turns the `mcp/source/*.wire` files into one JSON Schema for each protocol version. It runs only in tests:
//! the crate embeds the committed files.

mod emit;
mod lex;
mod parse;
mod text;

use std::path::Path;

pub(crate) use emit::schema;
pub(crate) use text::pretty;

/// The versions that are written, oldest first.
pub(crate) const VERSIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// All definitions of all source files, in the order of the files' names.
pub(crate) fn read(folder: &Path) -> Result<Vec<parse::Definition>, String> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .map_err(|e| format!("{}: {e}", folder.display()))?
        .filter_map(|entry| entry.ok().map(|e| e.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "wire"))
        .collect();
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        all.extend(parse::definitions(&source).map_err(|e| format!("{}: {e}", path.display()))?);
    }
    Ok(all)
}
