//! A home, a project, a model server, and the processes of the program between them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use fake_models::{Answer, Kind, Listening, Script, Server, Tool, ToolForm, When, listen};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

/// Longest time that any step here may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The model says this.
pub(crate) fn says(text: &str) -> Answer {
    Answer { says: text.to_owned(), ..Answer::default() }
}

/// The model writes a file, and says what comes next when that is done.
pub(crate) fn writes(path: &str, content: &str) -> Answer {
    let arguments = json!({"path": path, "content": content});
    let tool = Tool { name: "write_file".to_owned(), arguments, form: ToolForm::Whole };
    let when = Some(When { results: Some(0), ..When::default() });
    Answer { when, tools: vec![tool], ..says("") }
}

/// Runs git, and gives what it prints.
pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["-c", "user.name=Alice", "-c", "user.email=alice@contoso.com"]);
    let output = command.args(words).output().unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The model says this, with so many milliseconds before each further token.
pub(crate) fn slowly(text: &str, token_ms: u64) -> Answer {
    Answer { token_ms, ..says(text) }
}

/// A machine with a project and a model server.
pub(crate) struct World {
    folder: TempDir,
    model: Listening,
    _runtime: Runtime,
}

impl World {
    pub(crate) fn new(answers: Vec<Answer>) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let script = Script::new(Kind::OpenAi, answers);
        let model = runtime.block_on(async { listen(&Server::new(script)).await }).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // A folder above may be a repository of its own.
        std::fs::create_dir_all(folder.path().join("project/.git")).unwrap();
        Self { folder, model, _runtime: runtime }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// Makes the project a repository with a commit.
    pub(crate) fn begin_git(&self) {
        let project = self.project();
        git(&project, &["init", "--quiet"]);
        git(&project, &["commit", "--quiet", "--allow-empty", "-m", "begin"]);
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.args(words).arg("--home").arg(self.home()).current_dir(self.project()).env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.folder.path());
        command.env("ENTRACLAW_DELEGATE_BASE_URL", self.model.base_url());
        command
    }

    /// Starts an engine and waits until it lets hosts in.
    pub(crate) fn engine(&self) -> Engine {
        let mut command = self.command(&["delegate", "--headless"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("entraclaw works in "), "{line}");
        Engine(child)
    }
}

/// An engine at work. Dropped, it is killed.
pub(crate) struct Engine(Child);

impl Engine {
    /// Asks it to end, and waits for it.
    pub(crate) fn end(mut self) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Engine {
    /// Kills it.
    pub(crate) fn kill_9(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host over the program's own pipes.
pub(crate) struct Host {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    count: u64,
}

impl Host {
    pub(crate) fn start(world: &World, words: &[&str]) -> Self {
        let mut command = world.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut host = Self { child, stdin, stdout, count: 0 };
        let info = json!({"name": "claude-code", "version": "2.1.330"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        host.request("initialize", &params);
        host.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        host
    }

    /// The words that its process was started with.
    pub(crate) fn words(&self) -> String {
        let words = std::fs::read_to_string(format!("/proc/{}/cmdline", self.child.id())).unwrap();
        words.replace('\0', " ")
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let id = self.count;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server ended");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> (bool, String) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        (result["isError"] == true, text.to_owned())
    }

    /// Calls a tool without arguments until its answer holds a text.
    pub(crate) fn until(&mut self, tool: &str, holds: &str) -> String {
        let begun = Instant::now();
        loop {
            let (_, text) = self.call(tool, &json!({}));
            if text.contains(holds) {
                return text;
            }
            assert!(begun.elapsed() < PATIENCE, "{text}");
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Hands a task over, again while there is no engine, and gives its answer.
    pub(crate) fn until_done(&mut self, task: &Value) -> Value {
        let begun = Instant::now();
        loop {
            let (is_error, text) = self.call("chat", task);
            if !is_error {
                return serde_json::from_str(&text).unwrap();
            }
            assert!(begun.elapsed() < PATIENCE, "{text}");
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
