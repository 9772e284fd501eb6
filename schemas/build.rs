//! Lists the schemas in `own/`, so that a new file there is embedded without a second place to name it.
//! It must never fail because one is missing: each is written by the crate that owns the type.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script has no seams: it reads its folder and its environment"
)]

use std::fmt::Write as _;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=own");
    println!("cargo:rerun-if-changed=build.rs");
    let folder = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("own");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".schema.json").map(str::to_owned))
        .collect();
    names.sort();
    let mut list = String::from("&[\n");
    for name in names {
        let path = folder.join(format!("{name}.schema.json"));
        // `Debug` quotes what a path may hold, also on Windows.
        let _ = writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string());
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap_or_default()).join("own.rs");
    if let Err(error) = std::fs::write(&out, list) {
        panic!("{}: {error}", out.display());
    }
}
