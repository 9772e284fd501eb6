//! A home folder of its own for each test, and the program run in it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;
use entraclaw_seams::storage::DiskStorage;
use tempfile::TempDir;

pub(super) const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
pub(super) const ALICE: &str = "bbbbbbbb-0000-0000-0000-000000000002";
pub(super) const AGENT: &str = "bbbbbbbb-0000-0000-0000-000000000003";

/// The output of a command.
pub(super) struct Said {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

pub(super) struct Fixture {
    pub(super) folder: TempDir,
    pub(super) home: PathBuf,
    environment: Vec<(String, String)>,
}

impl Fixture {
    /// A fixture without a home folder.
    pub(super) fn bare() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let environment = vec![("ENTRACLAW_HOME".to_owned(), home.display().to_string())];
        Self { folder, home, environment }
    }

    /// A fixture with a home folder as the server makes it.
    pub(super) fn new() -> Self {
        let fixture = Self::bare();
        DiskStorage::open(&fixture.home).unwrap();
        fixture
    }

    pub(super) fn config(self, text: &str) -> Self {
        self.file("config.toml", text);
        self
    }

    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes a private file into the home folder.
    pub(super) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path.parent().unwrap(), fs::Permissions::from_mode(0o700)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.env_clear().envs(self.environment.iter().cloned());
        command.args(arguments).timeout(Duration::from_secs(60));
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let said = Said {
            code: output.status.code().expect("it ends by itself"),
            out: text(output.stdout),
            err: text(output.stderr),
        };
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }
}
