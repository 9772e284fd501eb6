//! What a person meets who writes while a host's task is under way and twenty more wait.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fake_models::{End, Kind};
use serde_json::json;

use super::client::Client;
use super::figures::show;
use super::world::{PATIENCE, World};

/// Tasks of a host that wait.
const TASKS: usize = 20;
/// How often the person writes.
const TIMES: usize = 20;

pub(crate) fn measure() {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("a person is passed over: there is no tmux");
        return;
    }
    for (kind, api) in [(Kind::LlamaCpp, "llama.cpp"), (Kind::Ollama, "ollama"), (Kind::OpenAi, "openai")] {
        one(kind, api);
    }
}

struct Terminal<'a>(&'a World);

impl Terminal<'_> {
    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(self.0.folder.path().join("tmux")).args(arguments);
        String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) -> Instant {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "{what} did not come");
        thread::sleep(Duration::from_micros(200));
    }
    Instant::now()
}

fn one(kind: Kind, api: &'static str) {
    let world = World::new(kind, api);
    let terminal = Terminal(&world);
    let mut words = vec!["exec env -i TERM=xterm-256color LANG=C.UTF-8".to_owned()];
    words.extend(world.environment().into_iter().map(|(name, value)| format!("'{name}={value}'")));
    words.extend(world.words(&["delegate"]).into_iter().map(|word| format!("'{word}'")));
    terminal.tmux(&["new-session", "-d", "-x", "80", "-y", "24", &words.join(" ")]);
    let socket = world.socket();
    let mut host = Client::new(socket.try_clone().unwrap(), socket, "claude-code");
    for _ in 0..=TASKS {
        assert!(host.call("chat", &json!({"message": "slow"}))["task_id"].is_string());
    }
    let of_person = |seen: &fake_models::Seen| {
        let messages = seen.body["messages"].as_array();
        let last = messages.and_then(|all| all.iter().rfind(|one| one["role"] == "user"));
        last.is_some_and(|one| one["content"].as_str().is_some_and(|text| text.trim_end().ends_with("quick")))
    };
    let mut times = Vec::new();
    for time in 0..TIMES {
        let asked = || world.server.questions().iter().filter(|one| of_person(one)).count();
        let before = asked();
        until("the host's answer", || {
            world.server.questions().last().is_some_and(|last| !of_person(last) && last.end == End::Open)
        });
        terminal.tmux(&["send-keys", "-l", &format!("{time} quick")]);
        thread::sleep(Duration::from_millis(60));
        let began = Instant::now();
        terminal.tmux(&["send-keys", "Enter"]);
        times.push(until("the person's question", || asked() > before) - began);
    }
    show(&format!("a person's key to their question at {api}, {TASKS} tasks wait"), 100.0, times);
}
