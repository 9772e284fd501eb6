//! A git worktree for one task: it works on a branch of its own, and nothing is merged by itself.
//!
//! The repository's own `.git` is outside the worktree, so that a command can't reach hooks, configuration or other branches.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::error::SandboxError;

/// The most text of a report's statistic, in characters.
const STATISTIC_MAX: usize = 8 * 1024;

/// The worktree of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    repository: PathBuf,
    folder: PathBuf,
    branch: String,
    begin: String,
}

/// What a task has done in its worktree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeReport {
    /// The branch, which holds everything that was done.
    pub branch: String,
    /// The folder of the worktree.
    pub folder: PathBuf,
    /// The statistic of the difference to where the task began; empty if nothing has changed.
    pub statistic: String,
    /// How many files differ.
    pub files: usize,
}

impl Worktree {
    /// Makes a worktree of the repository that a project lies in, from what is committed, on the branch `entraclaw/TASK`.
    pub async fn new(project: &Path, task: &str, base: &Path) -> Result<Self, SandboxError> {
        if task.is_empty() || !task.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            return Err(SandboxError::Git {
                command: "worktree add".into(),
                said: format!("{task:?} is not the name of a task"),
            });
        }
        let repository = PathBuf::from(git(project, &["rev-parse", "--show-toplevel"]).await?.trim_end());
        let begin =
            git(&repository, &["rev-parse", "--verify", "HEAD^{commit}"]).await?.trim_end().to_owned();
        let base = std::fs::canonicalize(base).map_err(|source| SandboxError::io(base, source))?;
        let folder = base.join(format!("worktree-{task}"));
        let branch = format!("entraclaw/{task}");
        let shown = folder.display().to_string();
        git(&repository, &["worktree", "add", "--quiet", "-b", &branch, "--", &shown, &begin]).await?;
        Ok(Self { repository, folder, branch, begin })
    }

    /// The folder that the task works in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits what the task has done to its branch, without hooks, and reports it.
    pub async fn report(&self) -> Result<WorktreeReport, SandboxError> {
        git(&self.folder, &["add", "--all"]).await?;
        let names = git(&self.folder, &["diff", "--cached", "--name-only", "-z", &self.begin]).await?;
        let statistic = git(&self.folder, &["diff", "--cached", "--stat=100", &self.begin]).await?;
        let pending = git(&self.folder, &["diff", "--cached", "--name-only", "-z", "HEAD"]).await?;
        if !pending.is_empty() {
            let subject = format!("Work of the task {}", self.branch.trim_start_matches("entraclaw/"));
            git(&self.folder, &["commit", "--quiet", "--no-verify", "--no-gpg-sign", "-m", &subject]).await?;
        }
        Ok(WorktreeReport {
            branch: self.branch.clone(),
            folder: self.folder.clone(),
            statistic: statistic.chars().take(STATISTIC_MAX).collect(),
            files: names.split('\0').filter(|name| !name.is_empty()).count(),
        })
    }

    /// Removes the folder. The branch stays.
    pub async fn remove(self) -> Result<(), SandboxError> {
        let folder = self.folder.display().to_string();
        git(&self.repository, &["worktree", "remove", "--force", "--", &folder]).await.map(drop)
    }
}

/// Runs git without hooks, without what a configuration makes it start, and without asking.
async fn git(folder: &Path, words: &[&str]) -> Result<String, SandboxError> {
    let none = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args([
        "-c",
        &format!("core.hooksPath={none}"),
        "-c",
        "core.fsmonitor=false",
    ]);
    command
        .args(["-c", "user.name=entraclaw", "-c", "user.email=entraclaw@localhost", "-c", "core.pager=cat"])
        .args(words);
    command.env("GIT_TERMINAL_PROMPT", "0").stdin(std::process::Stdio::null()).kill_on_drop(true);
    let failed = |said: String| SandboxError::Git { command: words.first().unwrap_or(&"").to_string(), said };
    let output = command.output().await.map_err(|error| failed(format!("{error}; install git")))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()))
}
