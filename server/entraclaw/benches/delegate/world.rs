//! A project, a home folder, an engine, and a model server in this process.

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use fake_models::{Answer, Kind, Listening, ModelSpec, Script, Server, Slots, When};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
    listening: Listening,
    _runtime: Runtime,
    api: &'static str,
}

/// The person's words are answered at once, a host's slowly and for long.
fn script(server: Kind) -> Script {
    let person = Answer {
        when: Some(When { last: Some("quick".to_owned()), ..When::default() }),
        says: "Here it is.".to_owned(),
        ..Answer::default()
    };
    let host = Answer {
        when: Some(When { last: Some("slow".to_owned()), ..When::default() }),
        says: "word ".repeat(20_000),
        token_ms: 20,
        ..Answer::default()
    };
    Script {
        models: vec![ModelSpec { context_tokens: 32_768, ..ModelSpec::default() }],
        slots: Slots { can_save: true, ..Slots::default() },
        ..Script::new(server, vec![person, host])
    }
}

impl World {
    pub(crate) fn new(kind: Kind, api: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project", "project/.git"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let builder = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = builder.unwrap();
        let (server, listening) = runtime.block_on(async {
            let server = Server::new(script(kind));
            let listening = fake_models::listen(&server).await.unwrap();
            (server, listening)
        });
        Self { folder, server, listening, _runtime: runtime, api }
    }

    /// The words of a command of the program in this world.
    pub(crate) fn words(&self, command: &[&str]) -> Vec<String> {
        let folder = |name: &str| self.folder.path().join(name).display().to_string();
        let mut words = vec![env!("CARGO_BIN_EXE_entraclaw").to_owned()];
        words.extend(command.iter().map(|&word| word.to_owned()));
        words.extend(["--home".to_owned(), folder("home"), "--project".to_owned(), folder("project")]);
        words
    }

    /// The environment of that command.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("HOME", self.folder.path().display().to_string()),
            ("ENTRACLAW_DELEGATE_BASE_URL", self.listening.base_url()),
            ("ENTRACLAW_DELEGATE_API", self.api.to_owned()),
            ("ENTRACLAW_MCP_EXTERNAL_RATE_LIMIT", "100".to_owned()),
        ]
    }

    pub(crate) fn command(&self, command: &[&str]) -> Command {
        let words = self.words(command);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env_clear().envs(self.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    pub(crate) fn engine(&self) -> Running {
        let engine = Running(self.command(&["delegate", "--headless"]).spawn().unwrap());
        drop(self.socket());
        engine
    }

    /// A connection straight to the engine.
    pub(crate) fn socket(&self) -> UnixStream {
        let folder = self.folder.path().join("home/delegate");
        let until = Instant::now() + PATIENCE;
        loop {
            let inside = std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok);
            let mut sockets =
                inside.map(|entry| entry.path()).filter(|path| path.extension() == Some("sock".as_ref()));
            if let Some(Ok(stream)) = sockets.next().map(UnixStream::connect) {
                return stream;
            }
            assert!(Instant::now() < until, "no engine listens in {}", folder.display());
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A process that ends with its owner.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
