//! Embeds every scenario file, so that the command works from any folder.

#![expect(clippy::disallowed_methods, reason = "a build script has no seams to keep")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    // The scenarios are data beside the crates that use them.
    let root = root.parent().expect("the crate stands in `scenarios`").to_owned();
    let suites = root.join("suites");
    println!("cargo::rerun-if-changed={}", suites.display());
    let mut files = Vec::new();
    collect(&suites, &mut files);
    files.sort();
    let mut out = String::from(
        "/// Every scenario file: path below `scenarios`, text.\npub(super) const SUITES: &[(&str, &str)] = &[\n",
    );
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
        writeln!(out, "    ({name:?}, include_str!({:?})),", file.display().to_string())
            .expect("writing to a string");
    }
    out.push_str("];\n");
    let target = PathBuf::from(std::env::var("OUT_DIR").expect("cargo sets it")).join("suites.rs");
    std::fs::write(target, out).expect("OUT_DIR can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            files.push(path);
        }
    }
}
