//! The tools of a simulated project: its files are real ones in the cell's own folder, and commands are scripted.
//! It must never wait in real time, nor for another thread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use entraclaw_delegate::tools::{FileTools, tool_schemas};
use entraclaw_delegate::{Patience, Task, ToolOutcome, Toolbox};
use entraclaw_models::{ToolRequest, ToolSchema};
use futures_util::future::BoxFuture;
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio::time::sleep;

/// The code with which a shell ends that does not know a command.
const UNKNOWN_COMMAND: i32 = 127;

/// The tools of the project in this folder.
pub(super) struct SimTools {
    files: FileTools,
    project: PathBuf,
    write_ms: u64,
    done: Mutex<BTreeMap<String, u32>>,
}

impl SimTools {
    /// The tools; each file takes so long to write.
    pub(super) fn new(project: &Path, write_ms: u64) -> std::io::Result<Self> {
        let files = FileTools::new(project)?;
        Ok(Self { files, project: project.to_owned(), write_ms, done: Mutex::default() })
    }

    /// How often each call that leaves something behind has ended well.
    pub(super) fn done(&self) -> BTreeMap<String, u32> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Commands with `; ` between them: `sleep SECONDS`, and `echo TEXT >> FILE` in the project.
    async fn bash(&self, line: &str, mut stop: watch::Receiver<bool>) -> ToolOutcome {
        let (mut text, mut code) = (String::new(), 0);
        for command in line.split("; ") {
            if let Some(seconds) = command.strip_prefix("sleep ").and_then(|text| text.parse::<f64>().ok()) {
                tokio::select! {
                    biased;
                    _ = stop.wait_for(|stop| *stop) => return outcome(line, "stopped for the person", None, true),
                    () = sleep(Duration::from_secs_f64(seconds)) => {}
                }
            } else if let Some((said, file)) =
                command.strip_prefix("echo ").and_then(|rest| rest.split_once(" >> "))
            {
                if file.contains("..") || file.starts_with('/') {
                    (text, code) = (format!("{file}: Permission denied"), 1);
                } else if let Err(error) = self.append(file, said) {
                    (text, code) = (error.to_string(), 1);
                }
            } else {
                (text, code) = (format!("{command}: command not found"), UNKNOWN_COMMAND);
            }
        }
        outcome(line, &text, Some(code), false)
    }

    #[expect(clippy::disallowed_methods, reason = "the project is a real folder")]
    fn append(&self, file: &str, line: &str) -> std::io::Result<()> {
        let path = self.project.join(file);
        let before = if path.exists() { std::fs::read_to_string(&path)? } else { String::new() };
        std::fs::write(path, format!("{before}{line}\n"))
    }
}

/// A call by its tool and arguments.
pub(super) fn named(request: &ToolRequest) -> String {
    format!("{} {}", request.name, request.arguments)
}

fn outcome(command: &str, text: &str, code: Option<i32>, was_stopped: bool) -> ToolOutcome {
    let mut shown = Map::new();
    shown.insert("command".to_owned(), json!(command));
    shown.insert("exit_code".to_owned(), json!(code));
    ToolOutcome { text: text.to_owned(), succeeded: code == Some(0), shown, was_stopped }
}

impl Toolbox for SimTools {
    fn tools(&self) -> Vec<ToolSchema> {
        tool_schemas()
    }

    fn patience(&self, name: &str) -> Patience {
        if matches!(name, "bash" | "lsp_diagnostics") { Patience::Stop } else { Patience::Wait }
    }

    fn writes(&self, name: &str) -> bool {
        !matches!(name, "read_file" | "glob" | "grep")
    }

    fn cut_short(&self, _task: &Task, request: &ToolRequest) {
        self.files.cut_short(request);
    }

    fn run<'a>(
        &'a self,
        request: &'a ToolRequest,
        stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        Box::pin(async move {
            let ended = if request.name == "bash" {
                let line = request.arguments["command"].as_str().unwrap_or_default();
                self.bash(line, stop).await
            } else {
                if self.writes(&request.name) {
                    sleep(Duration::from_millis(self.write_ms)).await;
                }
                self.files.run(request, &stop)
            };
            if ended.succeeded && self.writes(&request.name) {
                let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
                *done.entry(named(request)).or_default() += 1;
            }
            ended
        })
    }
}
