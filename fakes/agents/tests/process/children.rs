//! Processes that the fake leaves behind, and its launcher.

use std::io::Read as _;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getpgid};
use rstest::rstest;

use crate::signals::send;
use crate::stage::{Stage, texts, until};

/// The children in the journal; they are killed at the end.
struct Children(Vec<Pid>);

impl Children {
    fn of(stage: &Stage, count: usize) -> Self {
        until("the children", || stage.events("child").len() == count);
        let ids = stage.events("child");
        Self(
            ids.iter()
                .map(|line| Pid::from_raw(line["child"].as_i64().unwrap().try_into().unwrap()))
                .collect(),
        )
    }

    fn live(&self) -> usize {
        self.0.iter().filter(|pid| kill(**pid, None).is_ok()).count()
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for pid in &self.0 {
            // It may have ended.
            let _ = kill(*pid, Signal::SIGKILL);
        }
    }
}

#[rstest]
#[case(false)]
#[case(true)]
fn children_hold_the_pipe_open(#[case] leave: bool) {
    let stage = Stage::copilot(&format!("answers: [{{ children: 2, children_leave_group: {leave} }}]"));
    let mut child = stage.start(&["-p", "hi", "-s"]);
    let children = Children::of(&stage, 2);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(children.live(), 2);
    if leave {
        until("sessions of their own", || children.0.iter().all(|pid| getpgid(Some(*pid)) == Ok(*pid)));
    }
    let mut text = String::new();
    let mut stdout = child.stdout.take().unwrap();
    drop(children);
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(text, "The answer.\n\n");
}

#[test]
fn a_child_that_ignores_sigterm_outlives_its_group() {
    use std::os::unix::process::CommandExt as _;

    let stage = Stage::copilot("answers: [{ children: 1, children_ignore_term: true, hangs: true }]");
    let mut command = stage.command(&["-p", "hi"]);
    let mut child = command.process_group(0).spawn().unwrap();
    let children = Children::of(&stage, 1);
    until("the handler of the child", || ignores_or_catches_term(children.0[0]));
    killpg(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(children.live(), 1);
}

#[expect(clippy::disallowed_methods, reason = "what the system says of a process stands in a file")]
fn ignores_or_catches_term(pid: Pid) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else { return true };
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|mask| mask & (1 << (Signal::SIGTERM as i32 - 1)) != 0)
}

#[test]
fn a_launcher_passes_everything_on() {
    let stage = Stage::copilot("launcher: true\nanswers: [{ exit: 3 }]");
    assert_eq!(
        texts(&stage.run(&["-p", "hi", "-s"])),
        (Some(3), "The answer.\n\n".to_owned(), String::new())
    );
}

#[test]
fn a_launcher_dies_alone() {
    use std::os::unix::process::ExitStatusExt as _;

    let stage = Stage::copilot("launcher: true\nanswers: [{ says: So far., hangs: true }]");
    let mut child = stage.start(&["-p", "hi", "-s"]);
    until("the program", || !stage.events("start").is_empty());
    let pid = stage.events("start")[0]["pid"].as_i64().unwrap();
    let behind = Children(vec![Pid::from_raw(pid.try_into().unwrap())]);
    send(&child, Signal::SIGTERM);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    assert_eq!(behind.live(), 1);
}

#[test]
fn a_launcher_can_keep_a_signal_to_itself() {
    let script = "agent: gemini-cli\nlauncher: true\nanswers: [{ after_ms: 300 }]";
    let stage = Stage::new("gemini", script);
    let child = stage.start(&["--skip-trust", "--prompt=hi"]);
    until("the program", || !stage.events("start").is_empty());
    send(&child, Signal::SIGTERM);
    assert_eq!(
        texts(&child.wait_with_output().unwrap()),
        (Some(0), "The answer.\n".to_owned(), String::new())
    );
}
