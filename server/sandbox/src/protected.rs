//! The names in a project that a task may not write, because a program of the person would run what is in them later, outside
//! the sandbox and without being asked for it.
//!
//! What a person starts knowingly is not here: `Makefile`, `build.rs`, `package.json` and workflows are the project's code, and
//! they are looked at in its diff.

use std::path::{Component, Path};

/// A protected name and who would run what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protected {
    /// The name of a file or folder, at any depth.
    pub name: &'static str,
    /// What would act on it outside the sandbox.
    pub acts: &'static str,
}

const fn row(name: &'static str, acts: &'static str) -> Protected {
    Protected { name, acts }
}

/// All protected names. In the repository of the project itself, a command may write the objects, the index and the refs of
/// `.git`, so that it can commit; see [`PROTECTED_IN_GIT`].
pub const PROTECTED: &[Protected] = &[
    row(
        ".git",
        "git: hooks, fsmonitor, filters and aliases of the configuration, also by a prompt that shows the branch",
    ),
    row(".hg", "Mercurial: hooks of hgrc"),
    row(".envrc", "direnv, on entering the folder"),
    row(".autoenv", "autoenv, on entering the folder"),
    row("mise.toml", "mise: hooks and environment, on entering the folder"),
    row(".mise.toml", "mise: hooks and environment, on entering the folder"),
    row(".vscode", "VS Code: tasks on opening, paths of interpreters"),
    row(".devcontainer", "VS Code: commands of the container, on the host too"),
    row(".idea", "JetBrains: run configurations, watchers"),
    row(".zed", "Zed: paths of language servers, tasks"),
    row(".exrc", "Vim, on starting in the folder"),
    row(".nvimrc", "Neovim, on starting in the folder"),
    row(".nvim.lua", "Neovim, on starting in the folder"),
    row(".vimrc", "Vim, on starting in the folder"),
    row(".dir-locals.el", "Emacs, on opening a file"),
    row(".gdbinit", "gdb, on starting in the folder"),
    row(".lldbinit", "lldb, on starting in the folder"),
    row(".husky", "git hooks, by core.hooksPath"),
    row(".githooks", "git hooks, by core.hooksPath"),
    row(".pre-commit-config.yaml", "pre-commit, on each commit"),
    row("lefthook.yml", "lefthook, on each commit"),
    row(".cargo", "cargo, also by an editor: runners, wrappers and linkers"),
    row("rust-toolchain", "rustup: the path of a toolchain"),
    row("rust-toolchain.toml", "rustup: the path of a toolchain"),
    row(".npmrc", "npm: scripts and registries of each command"),
    row(".yarnrc", "yarn: the path of yarn itself"),
    row(".yarnrc.yml", "yarn: the path of yarn itself, plugins"),
    row(".pnpmfile.cjs", "pnpm, on each install"),
    row(".mcp.json", "coding agents: servers to start"),
    row(".claude", "Claude Code: hooks and settings"),
    row(".codex", "Codex: configuration and hooks"),
    row(".cursor", "Cursor: servers to start, hooks"),
    row(".gemini", "Gemini CLI: settings and servers to start"),
    row(".copilot", "Copilot CLI: settings and servers to start"),
    row(".entraclaw", "this program"),
    row("entraclaw.toml", "this program"),
];

/// What is protected inside the project's own `.git`: the rest may be written, so that a command can commit. Beside hooks and
/// configuration it is what names them elsewhere, and lists of commands that a rebase goes on with.
pub const PROTECTED_IN_GIT: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "commondir",
    "gitdir",
    "modules",
    "worktrees",
    "info",
    "remotes",
    "branches",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
];

/// The row of the first protected name in a path that is relative to the project.
///
/// Letter case does not count, nor does what Windows cuts off a name: dots, spaces and streams at its end.
pub fn protected(relative: &Path) -> Option<&'static Protected> {
    relative.components().find_map(|part| {
        let Component::Normal(name) = part else { return None };
        let name = name.to_string_lossy().to_lowercase();
        let name = name.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
        let name = if name == "git~1" { ".git" } else { name };
        PROTECTED.iter().find(|row| row.name == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_at_any_depth_and_in_any_case() {
        for path in [
            ".git/hooks/pre-commit",
            "a/.GIT/config",
            "b/.Envrc",
            ".git. /config",
            "git~1/config",
            ".git::$INDEX/x",
        ] {
            assert!(protected(Path::new(path)).is_some(), "{path}");
        }
        for path in ["src/main.rs", "git/hooks", ".gitignore", ".github/workflows/ci.yml", "envrc"] {
            assert!(protected(Path::new(path)).is_none(), "{path}");
        }
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a page of the repository")]
    fn the_page_names_all() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/sandbox.md");
        let page = std::fs::read_to_string(page).unwrap();
        for name in PROTECTED.iter().map(|row| row.name).chain(PROTECTED_IN_GIT.iter().copied()) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
