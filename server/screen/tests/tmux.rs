//! The screen in a real terminal: tmux, where it is installed.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test that starts itself anew is told by its environment, reads a file of its own, and says what it passes over"
)]
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use entraclaw_screen::{Effect, Options, show};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep};

/// Tells a test that it is the one in the terminal.
const INSIDE: &str = "ENTRACLAW_SCREEN_INSIDE";
/// How long something on the screen is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program in the terminal. Elsewhere it does nothing.
#[tokio::test]
async fn inside() {
    if std::env::var(INSIDE).is_err() {
        return;
    }
    let options = Options {
        project: "chess".to_owned(),
        term: std::env::var("TERM").ok(),
        no_color: std::env::var("NO_COLOR").ok(),
    };
    let (_tells, news) = mpsc::channel(1);
    let (effects, mut wanted) = mpsc::channel(8);
    let until = async {
        while let Some(effect) = wanted.recv().await {
            assert_ne!(effect, Effect::Submit("panic".to_owned()), "it was told to");
        }
    };
    show(&options, news, &effects, until).await.unwrap();
}

struct Tmux<'a> {
    folder: &'a Path,
}

impl Tmux<'_> {
    fn run(&self, arguments: &[&str]) -> String {
        let socket = self.folder.join("socket");
        let output = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&socket)
            .args(arguments)
            .output()
            .expect("tmux starts");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn start(&self, environment: &str) {
        let program = std::env::current_exe().unwrap();
        let program = format!(
            "sh -c 'echo $$ > {pid}; exec env {INSIDE}=1 {environment} {program} --exact inside --nocapture'; \
             echo ended; stty -a; exec sleep 600",
            pid = self.folder.join("pid").display(),
            program = program.display(),
        );
        self.run(&["new-session", "-d", "-x", "80", "-y", "24", &program]);
    }

    /// What is on the screen, and what was scrolled out of it.
    fn shown(&self) -> String {
        self.run(&["capture-pane", "-p", "-S", "-100"])
    }

    fn state(&self) -> String {
        let format = "#{alternate_on} #{cursor_flag} #{mouse_any_flag}";
        self.run(&["display-message", "-p", format]).trim().to_owned()
    }

    async fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let shown = self.shown();
            if is_so(&shown) {
                return shown;
            }
            assert!(start.elapsed() < PATIENCE, "{what} is not so after {PATIENCE:?}:\n{shown}");
            sleep(Duration::from_millis(50)).await;
        }
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        let socket = self.folder.join("socket");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}

/// Whether there is a tmux; without one the test says so and passes over it.
fn has_tmux() -> bool {
    let has = Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success());
    if !has {
        println!("passed over: there is no tmux on this machine");
    }
    has
}

#[tokio::test]
async fn it_is_drawn_resized_and_left_as_it_was_found() {
    if !has_tmux() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let tmux = Tmux { folder: folder.path() };
    tmux.start("NO_COLOR=1");
    tmux.until("the welcome", |shown| shown.contains("/help shows")).await;
    assert_eq!(tmux.state(), "1 1 0", "other screen, cursor shown, mouse off");
    tmux.run(&["send-keys", "-l", "hello 漢字"]);
    tmux.run(&["send-keys", "C-j"]);
    tmux.run(&["send-keys", "-l", "there"]);
    tmux.until("what was typed", |shown| shown.contains("> hello 漢字\n  there")).await;
    tmux.run(&["resize-window", "-x", "40", "-y", "10"]);
    tmux.until("the small screen", |shown| {
        shown.lines().count() == 10 && shown.trim_end().ends_with("  there")
    })
    .await;
    let looks = tmux.run(&["capture-pane", "-p", "-e"]).replace("[39m", "").replace("[49m", "");
    assert!(!looks.contains("\u{1b}[3") && !looks.contains("\u{1b}[4"), "NO_COLOR: {looks:?}");
    tmux.run(&["set-buffer", "pasted\nlines"]);
    tmux.run(&["paste-buffer", "-p"]);
    tmux.until("the paste", |shown| shown.contains("therepasted")).await;
    tmux.run(&["send-keys", "C-c"]);
    tmux.until("the empty line", |shown| !shown.contains("pasted")).await;
    tmux.run(&["send-keys", "-l", "/quit"]);
    tmux.run(&["send-keys", "Enter"]);
    tmux.run(&["resize-window", "-x", "80", "-y", "24"]);
    let ended = tmux.until("the end", |shown| shown.contains("ended") && shown.contains(" icanon")).await;
    assert!(!ended.contains("-icanon") && !ended.contains("-echo "), "{ended}");
    assert_eq!(tmux.state(), "0 1 0");
}

#[tokio::test]
async fn a_signal_and_a_panic_leave_the_terminal_as_it_was() {
    if !has_tmux() {
        return;
    }
    for by_panic in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let tmux = Tmux { folder: folder.path() };
        tmux.start("NO_COLOR=");
        tmux.until("the welcome", |shown| shown.contains("/help shows")).await;
        if by_panic {
            tmux.run(&["send-keys", "-l", "panic"]);
            tmux.run(&["send-keys", "Enter"]);
        } else {
            let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
            assert!(Command::new("kill").args(["-TERM", pid.trim()]).status().unwrap().success());
        }
        let ended = tmux.until("the end", |shown| shown.contains("ended") && shown.contains(" icanon")).await;
        assert_eq!(ended.contains("it was told to"), by_panic, "{ended}");
        assert_eq!(tmux.state(), "0 1 0");
    }
}
