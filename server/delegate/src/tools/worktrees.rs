//! The tools of a project in which each task of a host works in a git worktree of its own. A person's tasks work in the project.
//!
//! A worktree is made with the first tool of its task, stays while the task is paused or its engine is gone, and ends with the
//! task: what was done is a branch, and nothing is merged. It must never lose what a task has done, nor touch the project's own files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use entraclaw_models::{ToolRequest, ToolSchema};
use entraclaw_sandbox::{Policy, Sandbox, SandboxError, Surroundings, Worktree, WorktreeReport};
use futures_util::future::BoxFuture;
use tokio::sync::{Mutex, watch};

use super::outcome::failed;
use super::{FileTools, ProjectTools};
use crate::task::{Task, TaskId};
use crate::tool::{Patience, ToolOutcome, Toolbox};

/// What worktrees and their sandboxes are made from.
#[derive(Debug, Clone)]
pub struct WorktreeParts {
    /// The project, which lies in a git repository with a commit.
    pub project: PathBuf,
    /// The folder of the worktrees, outside the project.
    pub base: PathBuf,
    /// The person's home and environment.
    pub surroundings: Surroundings,
    /// A program that calls [`entraclaw_sandbox::become_command`].
    pub program: PathBuf,
    /// The folder of the sandboxes' own files.
    pub sandbox: PathBuf,
}

/// The tools of a project with worktrees.
pub struct WorktreeTools {
    project: ProjectTools,
    trees: Arc<Trees>,
}

struct Trees {
    parts: WorktreeParts,
    policy: Policy,
    /// The worktrees that are in use, each held by what works in it.
    slots: StdMutex<BTreeMap<TaskId, Slot>>,
}

type Slot = Arc<Mutex<Option<Tree>>>;

struct Tree {
    worktree: Worktree,
    tools: ProjectTools,
}

impl WorktreeTools {
    /// Tools beside those of the project itself.
    ///
    /// # Errors
    /// Fails if the project lies in no git repository with a commit.
    pub async fn new(
        project: ProjectTools,
        policy: Policy,
        parts: WorktreeParts,
    ) -> Result<Self, SandboxError> {
        Worktree::is_possible(&parts.project).await?;
        Ok(Self { project, trees: Arc::new(Trees { parts, policy, slots: StdMutex::default() }) })
    }
}

impl Trees {
    fn slot(&self, task: &TaskId) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.entry(task.clone()).or_default().clone()
    }

    fn forget(&self, task: &TaskId) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(task);
    }

    /// The worktree of an earlier process, if there is one.
    async fn found(&self, task: &str) -> Result<Option<Worktree>, SandboxError> {
        Worktree::find(&self.parts.project, task, &self.parts.base).await
    }

    /// Makes the worktree of a task, or finds the one that it has.
    async fn make(&self, task: &TaskId) -> Result<Tree, SandboxError> {
        let parts = &self.parts;
        let worktree = match self.found(&task.0).await? {
            Some(worktree) => worktree,
            None => Worktree::new(&parts.project, &task.0, &parts.base).await?,
        };
        let policy = Policy { writes: vec![worktree.folder().to_owned()], ..self.policy.clone() };
        let sandbox = Sandbox::new(policy, &parts.surroundings, &parts.program, &parts.sandbox).await?;
        let tools = ProjectTools::standing_for(sandbox, &parts.project)?;
        Ok(Tree { worktree, tools })
    }

    async fn run(
        &self,
        task: &TaskId,
        request: &ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> Result<ToolOutcome, SandboxError> {
        let slot = self.slot(task);
        let mut tree = slot.lock().await;
        let tree = match &mut *tree {
            Some(tree) => tree,
            empty => empty.insert(self.make(task).await?),
        };
        Ok(tree.tools.run(request, stop).await)
    }

    /// Commits what a task has done; `None` if it has no worktree.
    async fn report(&self, task: &TaskId) -> Result<Option<WorktreeReport>, SandboxError> {
        let slot = self.slot(task);
        let tree = slot.lock().await;
        match &*tree {
            Some(tree) => tree.worktree.report().await.map(Some),
            None => match self.found(&task.0).await? {
                Some(worktree) => worktree.report().await.map(Some),
                None => Ok(None),
            },
        }
    }

    /// Commits what a task has left, and removes its folder.
    async fn leave(&self, task: &TaskId) -> Result<(), SandboxError> {
        let slot = self.slot(task);
        let mut tree = slot.lock().await;
        let worktree = match tree.take() {
            Some(tree) => Some(tree.worktree),
            None => self.found(&task.0).await?,
        };
        match worktree {
            Some(worktree) => {
                worktree.report().await?;
                worktree.remove().await?;
            }
            None if Worktree::tasks(&self.parts.base).contains(&task.0) => {
                Worktree::clear(&self.parts.project, &task.0, &self.parts.base).await?;
            }
            None => {}
        }
        self.forget(task);
        Ok(())
    }
}

/// What the caller is told of the work of its task.
fn told(report: &WorktreeReport) -> String {
    if report.files == 0 {
        return "No file was changed.".to_owned();
    }
    let (branch, files) = (&report.branch, report.files);
    let count = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("Changed {count}, on the branch {branch}; nothing is merged:\n{}", report.statistic.trim_end())
}

fn cannot(error: &SandboxError, base: &Path) -> String {
    format!(
        "The changes of this task could not be committed: {error}. They are kept below {}.",
        base.display()
    )
}

fn leave_in_background(trees: &Arc<Trees>, tasks: Vec<TaskId>) {
    if tasks.is_empty() {
        return;
    }
    let trees = trees.clone();
    tokio::spawn(async move {
        for task in tasks {
            if let Err(error) = trees.leave(&task).await {
                tracing::warn!(%error, %task, "the worktree of a task that has ended is kept");
            }
        }
    });
}

impl Toolbox for WorktreeTools {
    fn tools(&self) -> Vec<ToolSchema> {
        self.project.tools()
    }

    fn patience(&self, name: &str) -> Patience {
        self.project.patience(name)
    }

    fn writes(&self, name: &str) -> bool {
        self.project.writes(name)
    }

    fn needs_approval(&self, request: &ToolRequest) -> Option<String> {
        self.project.needs_approval(request)
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        self.project.run(request, stop)
    }

    fn run_for<'a>(
        &'a self,
        task: &'a Task,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        if task.source.is_person() {
            return self.project.run(request, stop);
        }
        Box::pin(async move {
            let ran = self.trees.run(&task.id, request, stop).await;
            ran.unwrap_or_else(|error| failed(&format!("this task has no worktree: {error}")))
        })
    }

    fn cut_short(&self, task: &Task, request: &ToolRequest) {
        if task.source.is_person() {
            return self.project.cut_short(task, request);
        }
        let parts = &self.trees.parts;
        let folder = Worktree::place(&parts.base, &task.id.0).ok();
        if let Some(Ok(files)) = folder.map(|folder| FileTools::standing_for(&folder, &parts.project)) {
            files.cut_short(request);
        }
    }

    fn reports(&self, task: &Task) -> bool {
        !task.source.is_person()
    }

    fn report<'a>(&'a self, task: &'a TaskId) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move {
            match self.trees.report(task).await {
                Ok(report) => report.as_ref().map(told),
                Err(error) => Some(cannot(&error, &self.trees.parts.base)),
            }
        })
    }

    fn ended(&self, task: &TaskId) {
        leave_in_background(&self.trees, vec![task.clone()]);
    }

    fn begins(&self, open: &[TaskId]) {
        let there = Worktree::tasks(&self.trees.parts.base).into_iter().map(TaskId);
        leave_in_background(&self.trees, there.filter(|task| !open.contains(task)).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_is_told_how_many_files_were_changed() {
        let told = |files, statistic: &str| {
            let (branch, folder) = ("entraclaw/task_1".to_owned(), PathBuf::new());
            told(&WorktreeReport { branch, folder, statistic: statistic.to_owned(), files })
        };
        assert_eq!(told(0, ""), "No file was changed.");
        let rest = ", on the branch entraclaw/task_1; nothing is merged:\n a.rs | 2 +-";
        assert_eq!(told(1, " a.rs | 2 +-\n"), format!("Changed 1 file{rest}"));
        assert_eq!(told(2, " a.rs | 2 +-\n"), format!("Changed 2 files{rest}"));
    }

    #[tokio::test]
    async fn a_task_that_has_ended_takes_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let parts = WorktreeParts {
            project: folder.path().to_owned(),
            base: folder.path().to_owned(),
            surroundings: Surroundings::default(),
            program: PathBuf::new(),
            sandbox: folder.path().to_owned(),
        };
        let trees = Trees { parts, policy: Policy::with_usual_limits(), slots: StdMutex::default() };
        let (ended, goes_on) = (TaskId("task_1".to_owned()), TaskId("task_2".to_owned()));
        for task in [&ended, &goes_on] {
            assert_eq!(trees.report(task).await.unwrap(), None);
        }
        trees.leave(&ended).await.unwrap();
        assert_eq!(trees.slots.lock().unwrap().keys().collect::<Vec<_>>(), [&goes_on]);
    }
}
