//! Where the shipped server is that processes are started of, and the program that stands in for other agents. Both are
//! built here where cargo started this program.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hostcheck::print::warn;

use super::sources;

/// What is built for process mode, each with what it is built from: the server, its helper, and the program that
/// stands in for other agents.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("entraclaw", &["server", "schemas", "Cargo.toml", "Cargo.lock"]),
    ("entraclaw-wait", &["server", "schemas", "Cargo.toml", "Cargo.lock"]),
    ("fake-agent", &["fakes/agents", "Cargo.toml", "Cargo.lock"]),
];

/// The shipped server binary: as told, or beside this program, built with cargo when this program runs under it; `None`
/// when it is not there and can't be built.
pub fn server_binary(told: Option<&Path>) -> anyhow::Result<Option<PathBuf>> {
    if let Some(told) = told {
        anyhow::ensure!(told.is_file(), "--server-binary: there is no file {}", told.display());
        return Ok(Some(told.to_owned()));
    }
    let folder = own_folder()?;
    let binary = folder.join(format!("entraclaw{}", std::env::consts::EXE_SUFFIX));
    build_server(&folder, &binary)?;
    if binary.is_file() {
        return Ok(Some(binary));
    }
    warn(&format!(
        "no {}: what needs it is not run; build it with `cargo build --release -p entraclaw`",
        binary.display()
    ));
    Ok(None)
}

/// The program that stands in for other agents: beside this program, where [`server_binary`] has built it.
pub fn agent_binary() -> anyhow::Result<Option<PathBuf>> {
    let binary = own_folder()?.join(format!("fake-agent{}", std::env::consts::EXE_SUFFIX));
    Ok(binary.is_file().then_some(binary))
}

/// The folder in which this program was built.
fn own_folder() -> std::io::Result<PathBuf> {
    let mut folder = std::env::current_exe()?;
    folder.pop();
    if folder.ends_with("deps") {
        folder.pop();
    }
    Ok(folder)
}

/// Under `cargo run` only this package was built; the server's own binary is built here, from the same tree, unless it is
/// there and up to date.
fn build_server(folder: &Path, binary: &Path) -> anyhow::Result<()> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
    let cargo = std::env::var("CARGO").ok();
    let Some(cargo) = cargo.filter(|_| manifest.is_file()) else { return Ok(()) };
    let is_up_to_date = |(name, sources): &(&str, &[&str])| {
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let sources: Vec<PathBuf> = sources.iter().map(|source| manifest.with_file_name(source)).collect();
        sources::are_older_than(&[program], &sources)
    };
    if PROGRAMS.iter().all(is_up_to_date) {
        return Ok(());
    }
    // The folder has the name of the profile, but for `dev`.
    let profile = folder.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug");
    warn(&format!("building {}", binary.display()));
    let mut command = std::process::Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--package",
            "simulation",
            "--package",
            "entraclaw",
            "--package",
            "fake-agents",
        ])
        .args(PROGRAMS.iter().flat_map(|(name, _)| ["--bin", name]))
        .arg("--manifest-path")
        .arg(&manifest);
    // Build scripts of dependencies look at these. Of `cargo run` they name this package, and everything that asks for them
    // would be built again, here and by the next `cargo run`.
    #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
    let inherited = std::env::vars_os().map(|(name, _)| name);
    for name in inherited {
        let is_of_package = name.to_str().is_some_and(|name| {
            name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_of_package {
            command.env_remove(&name);
        }
    }
    if let Some(profile) = profile {
        command.args(["--profile", profile]);
    }
    if let Some(target) = folder.parent() {
        command.arg("--target-dir").arg(target);
    }
    let status = command.status().context("cannot run cargo to build the server")?;
    anyhow::ensure!(status.success(), "the server did not build; see cargo's messages above");
    Ok(())
}
