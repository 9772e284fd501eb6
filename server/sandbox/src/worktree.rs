//! A git worktree for one task: it works on a branch of its own, and nothing is merged by itself.
//!
//! The repository's own `.git` is outside the worktree, so that a command can't reach hooks, configuration or other branches.

use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::error::SandboxError;
use crate::protected::protected;
use crate::sandbox::on_a_thread;

/// The most text of a report's statistic, in characters.
const STATISTIC_MAX: usize = 8 * 1024;

/// What the names of the folders begin with.
const PREFIX: &str = "worktree-";
/// Where git keeps what the branch of a task began with, so that another process finds it.
const BEGINS: &str = "refs/entraclaw/begin";

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
        Self::check(task)?;
        let repository = top(project).await?;
        let folder = folder_of(base, task)?;
        let branch = format!("entraclaw/{task}");
        let shown = folder.display().to_string();
        if let Some(begin) = begin_of(&repository, task).await {
            // Its folder is gone, and its branch has what was committed.
            git(&repository, &["worktree", "prune"]).await?;
            git(&repository, &["worktree", "add", "--quiet", "--", &shown, &branch]).await?;
            return Ok(Self { repository, folder, branch, begin });
        }
        Self::clear(project, task, base).await?;
        let begin =
            git(&repository, &["rev-parse", "--verify", "HEAD^{commit}"]).await?.trim_end().to_owned();
        git(&repository, &["worktree", "add", "--quiet", "-b", &branch, "--", &shown, &begin]).await?;
        // Written last: a worktree without it was not made to its end, so that no tool has worked in it.
        git(&repository, &["update-ref", &format!("{BEGINS}/{task}"), &begin]).await?;
        Ok(Self { repository, folder, branch, begin })
    }

    /// Removes what is there of a worktree that was not made to its end.
    pub async fn clear(project: &Path, task: &str, base: &Path) -> Result<(), SandboxError> {
        Self::check(task)?;
        let repository = top(project).await?;
        if begin_of(&repository, task).await.is_some() {
            return Ok(());
        }
        let folder = folder_of(base, task)?;
        if folder.exists() {
            let shown = folder.display().to_string();
            // Twice, for one that git is still making.
            let words = ["worktree", "remove", "--force", "--force", "--", &shown];
            if git(&repository, &words).await.is_err() {
                std::fs::remove_dir_all(&folder).map_err(|source| SandboxError::io(&folder, source))?;
            }
        }
        git(&repository, &["worktree", "prune"]).await?;
        let branch = format!("entraclaw/{task}");
        if git(&repository, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])
            .await
            .is_ok()
        {
            git(&repository, &["branch", "--quiet", "-D", "--", &branch]).await?;
        }
        Ok(())
    }

    /// The worktree of a task that an earlier process has made; `None` if there is none that can be used.
    pub async fn find(project: &Path, task: &str, base: &Path) -> Result<Option<Self>, SandboxError> {
        Self::check(task)?;
        let folder = folder_of(base, task)?;
        if !folder.join(".git").is_file() {
            return Ok(None);
        }
        let repository = top(project).await?;
        let Some(begin) = begin_of(&repository, task).await else { return Ok(None) };
        // A process that was killed in the middle leaves the lock of the index, which no other process of ours can hold.
        let lock = git(&folder, &["rev-parse", "--path-format=absolute", "--git-path", "index.lock"]).await?;
        #[expect(
            clippy::disallowed_methods,
            reason = "it is a file of the repository, not of the home folder"
        )]
        let _ = std::fs::remove_file(lock.trim_end());
        let branch = format!("entraclaw/{task}");
        Ok(Some(Self { repository, folder, branch, begin }))
    }

    /// The tasks whose folders lie in `base`.
    pub fn tasks(base: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter_map(|name| name.strip_prefix(PREFIX).map(str::to_owned)).collect()
    }

    /// The folder of this task's worktree, whether there is one or not.
    ///
    /// # Errors
    /// Fails if the folder of the worktrees is missing, or for a name that is no task's.
    pub fn place(base: &Path, task: &str) -> Result<PathBuf, SandboxError> {
        Self::check(task)?;
        folder_of(base, task)
    }

    /// Whether a project can have worktrees: it lies in a repository with a commit.
    pub async fn is_possible(project: &Path) -> Result<(), SandboxError> {
        git(project, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await.map(drop)
    }

    fn check(task: &str) -> Result<(), SandboxError> {
        if task.is_empty() || !task.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
            return Err(SandboxError::Git {
                command: "worktree add".into(),
                said: format!("{task:?} is not the name of a task"),
            });
        }
        Ok(())
    }

    /// The folder that the task works in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits what the task has done to its branch, without hooks, and reports it.
    ///
    /// # Errors
    /// Refuses a repository inside the worktree: git would run the filters of its configuration, outside the sandbox.
    pub async fn report(&self) -> Result<WorktreeReport, SandboxError> {
        let folder = self.folder.clone();
        if let Some(path) = on_a_thread(move || repository_inside(&folder)).await? {
            let why =
                "git would act on the configuration of this repository inside the worktree: move it away";
            return Err(SandboxError::Folder { path, why: why.to_owned() });
        }
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

    /// Removes the folder. The branch stays, if it holds anything.
    pub async fn remove(self) -> Result<(), SandboxError> {
        let folder = self.folder.display().to_string();
        git(&self.repository, &["worktree", "remove", "--force", "--", &folder]).await?;
        let tip =
            git(&self.repository, &["rev-parse", "--verify", &format!("refs/heads/{}", self.branch)]).await?;
        if tip.trim_end() == self.begin {
            git(&self.repository, &["branch", "--quiet", "-D", "--", &self.branch]).await?;
        }
        let task = self.branch.trim_start_matches("entraclaw/");
        git(&self.repository, &["update-ref", "-d", &format!("{BEGINS}/{task}")]).await.map(drop)
    }
}

/// The first name of a repository in a folder, beside that of the folder itself. Links are not followed, as git follows none.
fn repository_inside(folder: &Path) -> Option<PathBuf> {
    let own = folder.join(".git");
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        // What can't be read by this user, git can't read either.
        let Ok(entries) = std::fs::read_dir(&next) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_repository =
                protected(Path::new(&entry.file_name())).is_some_and(|row| row.name == ".git");
            if is_repository && path != own {
                return Some(path);
            }
            if !is_repository && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    None
}

async fn top(project: &Path) -> Result<PathBuf, SandboxError> {
    Ok(PathBuf::from(git(project, &["rev-parse", "--show-toplevel"]).await?.trim_end()))
}

/// What the branch of a task began with, if its worktree was made to its end.
async fn begin_of(repository: &Path, task: &str) -> Option<String> {
    let begin = format!("{BEGINS}/{task}^{{commit}}");
    let found = git(repository, &["rev-parse", "--verify", "--quiet", &begin]).await.ok()?;
    Some(found.trim_end().to_owned())
}

fn folder_of(base: &Path, task: &str) -> Result<PathBuf, SandboxError> {
    let base = std::fs::canonicalize(base).map_err(|source| SandboxError::io(base, source))?;
    Ok(base.join(format!("{PREFIX}{task}")))
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
