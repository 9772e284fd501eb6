//! Runs a command in the sandbox.

use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use entraclaw_sandbox::{Approval, Cause, CommandLine, Ended, Sandbox};

use super::outcome::{cut, map};
use super::root::Root;
use crate::tool::ToolOutcome;

#[derive(Debug, Deserialize)]
pub(super) struct Bash {
    command: String,
}

/// Runs a line of bash, or of the system's shell where there is no bash.
pub(super) async fn bash(
    root: &Root,
    sandbox: &Sandbox,
    approval: Approval,
    asked: &Bash,
    stop: watch::Receiver<bool>,
) -> Result<ToolOutcome, String> {
    if asked.command.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    let mut ended = None;
    for shell in ["bash", "sh"] {
        let command = CommandLine::new([shell, "-c", &asked.command], root.folder());
        let this = sandbox.run(&command, approval, stop.clone()).await.map_err(|error| error.to_string())?;
        let is_missing = matches!(this.cause, Cause::NotStarted(_));
        ended = Some(this);
        if !is_missing {
            break;
        }
    }
    let ended = ended.ok_or("there is no shell")?;
    Ok(outcome(&ended, &asked.command, &text(&ended), sandbox))
}

/// What is told of a command that has ended.
pub(super) fn outcome(ended: &Ended, command: &str, text: &str, sandbox: &Sandbox) -> ToolOutcome {
    let exit_code = ended.exit_code.map_or(Value::Null, Value::from);
    let mut text = text.to_owned();
    for line in notes(ended, sandbox) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
    }
    ToolOutcome {
        text: cut(&text),
        succeeded: ended.cause == Cause::Exited && ended.exit_code == Some(0),
        shown: map([("command", Value::from(command)), ("exit_code", exit_code)]),
        was_stopped: ended.cause == Cause::Stopped,
    }
}

fn text(ended: &Ended) -> String {
    let (stdout, stderr) = (ended.stdout.text(), ended.stderr.text());
    let between = if stdout.is_empty() || stderr.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
    format!("{stdout}{between}{stderr}")
}

/// What the output does not say by itself.
fn notes(ended: &Ended, sandbox: &Sandbox) -> Vec<String> {
    let policy = sandbox.policy();
    let mut notes = Vec::new();
    notes.push(match (&ended.cause, ended.exit_code, ended.signal) {
        (Cause::Exited, Some(0), _) if ended.stdout.bytes() + ended.stderr.bytes() > 0 => String::new(),
        (Cause::Exited, Some(code), _) => format!("[exit code {code}]"),
        (Cause::Exited, None, signal) => format!("[ended by the signal {}]", signal.unwrap_or_default()),
        (Cause::NotStarted(why), ..) => format!("[not started: {why}]"),
        (Cause::TimeLimit, ..) => format!("[ended: it took longer than {} ms]", policy.time_ms_max),
        (Cause::Stopped, ..) => "[stopped for the person; it will be run again]".to_owned(),
        (Cause::MemoryLimit, ..) => {
            format!("[ended: it used more than {} bytes of memory]", policy.memory_all_bytes_max)
        }
        (Cause::ProcessLimit, ..) => format!("[ended: it had more than {} processes]", policy.processes_max),
        (Cause::DiskLimit, ..) => format!("[ended: the disk lost more than {} bytes]", policy.disk_bytes_max),
        (Cause::OutputLimit, ..) => format!("[ended: it said more than {} bytes]", policy.output_bytes_max),
        (Cause::Lost, ..) => "[ended: the process that watches it is gone]".to_owned(),
    });
    if ended.left_behind > 0 {
        notes.push(format!("[{} processes were still running and were ended]", ended.left_behind));
    }
    if let Some(refused) = ended.refused.as_ref().filter(|refused| !refused.lines.is_empty()) {
        let lines = refused.lines.len();
        notes.push(format!(
            "[{lines} lines tell of a refusal: only the project can be written, there is no network]"
        ));
    }
    for path in &ended.taken_away {
        notes.push(format!("[{} was taken away: a program of the person would act on it]", path.display()));
    }
    notes.retain(|note| !note.is_empty());
    notes
}
