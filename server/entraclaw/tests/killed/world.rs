//! A project, a home folder, and the processes that work in it.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use tempfile::TempDir;

use super::script::{KINDS, LOG, LOG_ENDS};

/// The argument of the model server's process.
pub(crate) const MODEL: &str = "--model-server";
const PROGRAM: &str = env!("CARGO_BIN_EXE_entraclaw");

/// The processes that are killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Engine,
    Model,
    Bridge(usize),
}

pub(crate) struct World {
    folder: TempDir,
    kind: usize,
    port: u16,
    tasks: usize,
    engine: Mutex<Option<Child>>,
    model: Mutex<Option<Child>>,
    /// The bridges are begun by their hosts.
    pub(crate) bridges: [Mutex<Option<Child>>; 2],
}

/// Kills and forgets a process, if it runs.
pub(crate) fn kill(process: &Mutex<Option<Child>>) {
    if let Some(mut child) = process.lock().unwrap().take() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

impl World {
    /// A world with so many tasks for each host.
    pub(crate) fn new(kind: usize, tasks: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "project", "project/.git"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let world = Self {
            folder,
            kind,
            port,
            tasks,
            engine: Mutex::new(None),
            model: Mutex::new(None),
            bridges: [Mutex::new(None), Mutex::new(None)],
        };
        std::fs::write(world.project().join(LOG), LOG_ENDS.map(|end| format!("{end}\n")).concat()).unwrap();
        world
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where the engine keeps what it knows.
    pub(crate) fn store(&self) -> PathBuf {
        let inside =
            std::fs::read_dir(self.home().join("delegate")).unwrap().map(|entry| entry.unwrap().path());
        let mut found = inside.filter(|path| path.join("conversation.db").exists());
        found.next().expect("the engine has a store")
    }

    pub(crate) fn kind(&self) -> &'static str {
        KINDS[self.kind].0
    }

    /// A command of the program in this world.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words).arg("--home").arg(self.home()).arg("--project").arg(self.project());
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.folder.path());
        command.env("ENTRACLAW_DELEGATE_BASE_URL", format!("http://127.0.0.1:{}", self.port));
        command.env("ENTRACLAW_DELEGATE_API", KINDS[self.kind].2);
        command.env("ENTRACLAW_MCP_EXTERNAL_RATE_LIMIT", "100");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Begins the engine or the model server.
    pub(crate) fn begin(&self, which: Victim) {
        match which {
            Victim::Engine => {
                let log = std::fs::File::options().create(true).append(true).open(self.engine_log()).unwrap();
                let mut command = self.command(&["delegate", "--headless"]);
                *self.engine.lock().unwrap() = Some(command.stderr(log).spawn().unwrap());
            }
            Victim::Model => {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args([MODEL, self.kind(), &self.port.to_string(), &self.tasks.to_string()]);
                *self.model.lock().unwrap() = Some(command.spawn().unwrap());
            }
            Victim::Bridge(_) => {}
        }
    }

    pub(crate) fn kill(&self, which: Victim) {
        kill(match which {
            Victim::Engine => &self.engine,
            Victim::Model => &self.model,
            Victim::Bridge(number) => &self.bridges[number],
        });
    }

    fn engine_log(&self) -> PathBuf {
        self.folder.path().join("engine.log")
    }

    /// What the engines said.
    pub(crate) fn told(&self) -> String {
        std::fs::read_to_string(self.engine_log()).unwrap_or_default()
    }

    /// Programs that work in the project.
    pub(crate) fn left(&self) -> Vec<String> {
        let project = self.project();
        let processes = std::fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
        let works_here = |entry: &std::fs::DirEntry| {
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|at| at.starts_with(&project))
        };
        let words = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("cmdline")).ok();
        processes.filter(works_here).filter_map(words).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for which in [Victim::Engine, Victim::Model, Victim::Bridge(0), Victim::Bridge(1)] {
            self.kill(which);
        }
    }
}
