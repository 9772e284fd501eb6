//! A project with a world around it: secrets, services and files that must stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use entraclaw_sandbox::{Policy, Sandbox, Surroundings};
use tokio::sync::watch;

/// The program with the hidden command.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_sandboxed-command");

/// What each script of Python begins with.
pub(crate) const PRELUDE: &str = "import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
OUT, PARENT = os.environ['OUT'], int(os.environ['PARENT'])
def call(number, *arguments):
    if libc.syscall(number, *arguments) >= 0: print('ESCAPED')
    else: print(os.strerror(ctypes.get_errno()))
";

const SECRET: &str = "TOP-SECRET";

/// The interpreter itself, not a script that looks for it.
pub(crate) fn python() -> String {
    asked("import sys; print(sys.executable)")
}

fn asked(script: &str) -> String {
    let output = Command::new("python3").args(["-c", script]).output().expect("the test needs python3");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) struct World {
    root: tempfile::TempDir,
    sandbox: Sandbox,
    small: Sandbox,
    tcp: TcpListener,
    udp: UdpSocket,
    service: UnixListener,
    datagrams: UnixDatagram,
    abstract_service: UnixListener,
    abstract_name: String,
    _stop: watch::Sender<bool>,
    never: watch::Receiver<bool>,
}

impl World {
    /// The world; `None` on a system that can't keep a command in, which is told.
    pub(crate) async fn new() -> Option<Self> {
        let found = entraclaw_sandbox::probe(Path::new(env!("CARGO_BIN_EXE_sandboxed-command"))).await;
        if !found.is_whole() {
            println!("passed over: this system lacks {}", found.missing.join(", "));
            return None;
        }
        Some(Self::made().await)
    }

    async fn made() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| fs::canonicalize(root.path()).unwrap().join(name);
        for folder in [
            "project/.vscode",
            "project/editor/.idea",
            "outside/folder",
            "home/.ssh",
            "home/.aws",
            "home/.claude",
            "base",
        ] {
            fs::create_dir_all(path(folder)).unwrap();
        }
        for (file, text) in [
            ("project/.vscode/settings.json", "{}"),
            ("project/editor/.idea/x", "x"),
            ("project/README", "x"),
            ("outside/file", "x"),
            ("home/.ssh/id", SECRET),
            ("home/.aws/credentials", SECRET),
            ("home/.claude/token", SECRET),
            ("home/.bashrc", "x"),
        ] {
            fs::write(path(file), text).unwrap();
        }
        let status = Command::new("git").args(["init", "-q"]).arg(path("project")).status().unwrap();
        assert!(status.success());
        let abstract_name = format!("entraclaw-{}", path("").display());
        let name = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        let mut environment: BTreeMap<String, String> =
            std::env::vars().filter(|(name, _)| name == "PATH").collect();
        for (name, value) in [
            ("GITHUB_TOKEN", SECRET),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("SSH_AUTH_SOCK", "/tmp/agent"),
            ("LD_PRELOAD", "/tmp/x.so"),
            ("LANG", "C.UTF-8"),
        ] {
            environment.insert(name.to_owned(), value.to_owned());
        }
        let surroundings = Surroundings { home: Some(path("home")), environment, secret: Vec::new() };
        let mut policy = surroundings.policy(&path("project")).unwrap();
        policy.reads.extend(
            ["sys.base_prefix", "sys.prefix"].map(|what| asked(&format!("import sys; print({what})")).into()),
        );
        policy.processes_max = 64;
        policy.memory_bytes_max = 512 << 20;
        policy.file_bytes_max = 100 << 20;
        policy.time_ms_max = 30_000;
        let small = Policy {
            memory_all_bytes_max: 700 << 20,
            disk_bytes_max: 300 << 20,
            output_bytes_max: 4 << 20,
            time_ms_max: 8000,
            ..policy.clone()
        };
        let new = async |policy| {
            Sandbox::new(policy, &surroundings, Path::new(PROGRAM), &path("base")).await.unwrap()
        };
        let (stop, never) = watch::channel(false);
        let world = Self {
            sandbox: new(policy).await,
            small: new(small).await,
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            service: UnixListener::bind(path("outside/service.sock")).unwrap(),
            datagrams: UnixDatagram::bind(path("outside/datagram.sock")).unwrap(),
            abstract_service: UnixListener::bind_addr(&name).unwrap(),
            abstract_name,
            _stop: stop,
            never,
            root,
        };
        world.tcp.set_nonblocking(true).unwrap();
        world.udp.set_nonblocking(true).unwrap();
        world.service.set_nonblocking(true).unwrap();
        world.datagrams.set_nonblocking(true).unwrap();
        world.abstract_service.set_nonblocking(true).unwrap();
        let missing = &world.sandbox.enforcement().missing;
        assert!(missing.is_empty(), "this system can't enforce the sandbox: {missing:?}");
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    pub(crate) fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// With limits that are reached soon.
    pub(crate) fn small_sandbox(&self) -> &Sandbox {
        &self.small
    }

    pub(crate) fn never(&self) -> watch::Receiver<bool> {
        self.never.clone()
    }

    pub(crate) fn variables(&self) -> BTreeMap<String, String> {
        let text = |path: PathBuf| path.display().to_string();
        [
            ("OUT", text(self.path("outside"))),
            ("VICTIM", text(self.path("home"))),
            ("PARENT", std::process::id().to_string()),
            ("PROGRAM", PROGRAM.to_owned()),
            ("TCP", self.tcp.local_addr().unwrap().port().to_string()),
            ("UDP", self.udp.local_addr().unwrap().port().to_string()),
            ("ABSTRACT", self.abstract_name.clone()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// Everything outside, and what is protected inside: names, modes, owners, times of change, and contents.
    pub(crate) fn fingerprint(&self) -> Vec<String> {
        let mut found = Vec::new();
        for folder in ["outside", "home", "project/.vscode", "project/editor/.idea", "project/.git/hooks"] {
            look(&self.path(folder), &mut found);
        }
        look(&self.path("project/.git/config"), &mut found);
        look(Path::new(PROGRAM), &mut found);
        found
    }

    /// What a way has left behind; the project's own files are cleared for the next one.
    pub(crate) fn left(&self) -> Vec<String> {
        let mut found = Vec::new();
        for path in [
            "project/.envrc",
            "project/sub/.git",
            "project/.git2",
            "/tmp/x.so",
            "/usr/lib/escaped",
            "/dev/mqueue/escaped",
        ] {
            if self.path(path).exists() {
                found.push(format!("{path} is there"));
            }
        }
        for entry in fs::read_dir(self.project()).unwrap().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_fifo() || kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
                found.push(format!("{} is there", entry.path().display()));
            }
            if kind.is_file() && entry.file_name() != "README" {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        if self.tcp.accept().is_ok()
            || self.udp.recv(&mut [0; 8]).is_ok()
            || self.abstract_service.accept().is_ok()
        {
            found.push("a service was reached".to_owned());
        }
        if self.service.accept().is_ok() || self.datagrams.recv(&mut [0; 8]).is_ok() {
            found.push("a service was reached".to_owned());
        }
        if let Some(process) = self.processes().first() {
            found.push(format!("{process} runs"));
        }
        found
    }

    /// Processes that belong to this world and are not the test.
    pub(crate) fn processes(&self) -> Vec<String> {
        let marks = ["escaped-process".to_owned(), self.project().display().to_string()];
        let listed = fs::read_dir("/proc").unwrap().flatten();
        let words = |entry: &fs::DirEntry| {
            let mut text = Vec::new();
            let _ =
                fs::File::open(entry.path().join("cmdline")).and_then(|mut file| file.read_to_end(&mut text));
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            format!("{} in {}", String::from_utf8_lossy(&text).replace('\0', " "), folder.display())
        };
        let all = listed.filter(|entry| {
            entry.file_name().to_string_lossy().parse::<u32>().is_ok_and(|id| id != std::process::id())
        });
        all.map(|entry| words(&entry)).filter(|words| marks.iter().any(|mark| words.contains(mark))).collect()
    }
}

fn look(path: &Path, found: &mut Vec<String>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let (mode, owner, changed) = (metadata.mode(), metadata.uid(), metadata.ctime_nsec());
    let text = if metadata.is_file() && metadata.len() < 4096 { fs::read(path).unwrap() } else { Vec::new() };
    found.push(format!("{} {mode:o} {owner} {changed} {}", path.display(), String::from_utf8_lossy(&text)));
    if metadata.is_dir() {
        let mut names: Vec<_> = fs::read_dir(path).unwrap().flatten().map(|entry| entry.path()).collect();
        names.sort();
        for name in names {
            look(&name, found);
        }
    }
}
