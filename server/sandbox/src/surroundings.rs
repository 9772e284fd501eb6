//! The usual policy of a project: what its programs need of the system, and nothing of the person's secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::SandboxError;
use crate::policy::Policy;

/// What a policy is made from: the person's home and environment, read once by the caller.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// The person's environment.
    pub environment: BTreeMap<String, String>,
    /// Folders that no command may see, beside [`SECRET_FOLDERS`]: the home of this program and those of other agents.
    pub secret: Vec<PathBuf>,
}

/// What programs need of the system: to read and to run.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/run/current-system/sw",
    "/home/linuxbrew/.linuxbrew",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/localtime",
    "/etc/timezone",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/pki/tls/certs",
    "/etc/os-release",
    "/etc/debian_version",
    "/etc/mime.types",
    "/etc/magic",
    "/etc/protocols",
    "/etc/services",
    "/etc/terminfo",
    "/etc/locale.alias",
    "/etc/inputrc",
    "/etc/python3",
    "/etc/fonts",
    "/etc/java",
    "/sys/devices/system/cpu",
    "/sys/kernel/mm/transparent_hugepage",
];

/// What names are looked up with, if the network is allowed.
const SYSTEM_OF_NETWORK: &[&str] =
    &["/etc/resolv.conf", "/run/systemd/resolve/stub-resolv.conf", "/etc/gai.conf"];

/// Tools that people install into their home: to read and to run. Files with tokens beside them are not named.
const TOOLS_OF_HOME: &[&str] = &[
    ".cargo/bin",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/env",
    ".rustup/toolchains",
    ".rustup/settings.toml",
    ".pyenv",
    ".nvm/versions",
    ".volta/bin",
    ".volta/tools",
    ".asdf/installs",
    ".asdf/shims",
    ".local/bin",
    ".local/lib",
    ".local/share/mise/installs",
    ".local/share/mise/shims",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/pnpm",
    ".bun/bin",
    ".deno/bin",
    ".dotnet",
    ".sdkman/candidates",
    "go/bin",
    "go/pkg/mod",
    ".npm-global",
];

/// Folders of a home that no command may see, even if something else would give them.
pub const SECRET_FOLDERS: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".config",
    ".password-store",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".claude",
    ".codex",
    ".copilot",
    ".cursor",
    ".gemini",
    ".entraclaw",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".git-credentials",
    ".bash_history",
    ".zsh_history",
    ".Xauthority",
];

/// Variables that a command keeps. All others are left out, so that no token gets in by a name that is not listed here.
const KEPT: &[&str] = &[
    "PATH",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "TZ",
    "USER",
    "LOGNAME",
    "JAVA_HOME",
    "GOROOT",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "NVM_DIR",
    "VOLTA_HOME",
    "RUSTUP_TOOLCHAIN",
    "SystemRoot",
    "SystemDrive",
    "ComSpec",
    "PATHEXT",
    "windir",
    "ProgramFiles",
    "NUMBER_OF_PROCESSORS",
];

impl Surroundings {
    /// The usual policy of a project: it writes the project only, reads what programs need, and has no network.
    ///
    /// A project that is a home, or that holds or lies in a secret folder, is refused.
    pub fn policy(&self, project: &Path) -> Result<Policy, SandboxError> {
        let project = std::fs::canonicalize(project).map_err(|source| SandboxError::io(project, source))?;
        self.check_project(&project)?;
        let mut policy = Policy::with_usual_limits();
        let mut reads: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        if let Some(home) = &self.home {
            reads.extend(TOOLS_OF_HOME.iter().map(|name| home.join(name)));
        }
        let path = self.environment.get("PATH").map(String::as_str).unwrap_or_default();
        reads.extend(std::env::split_paths(path).filter(|folder| folder.is_absolute()));
        for read in reads {
            let Ok(real) = std::fs::canonicalize(&read) else { continue };
            if !policy.reads.contains(&real) && !self.is_secret(&real) && !self.holds_secrets(&real) {
                policy.reads.push(real);
            }
        }
        policy.writes.push(project);
        Ok(policy)
    }

    /// The same policy with the network.
    pub fn policy_with_network(&self, project: &Path) -> Result<Policy, SandboxError> {
        let mut policy = self.policy(project)?;
        policy.network = true;
        policy.reads.extend(SYSTEM_OF_NETWORK.iter().filter_map(|path| std::fs::canonicalize(path).ok()));
        Ok(policy)
    }

    /// The environment of a command: what is kept of the person's, and what makes programs stay in the sandbox.
    pub fn environment(&self, private_home: &Path, private_tmp: &Path) -> BTreeMap<String, String> {
        let mut environment: BTreeMap<String, String> = self
            .environment
            .iter()
            .filter(|(name, _)| KEPT.contains(&name.as_str()) || name.starts_with("LC_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut set = |name: &str, value: String| environment.insert(name.to_owned(), value);
        set("HOME", private_home.display().to_string());
        for name in ["TMPDIR", "TMP", "TEMP"] {
            set(name, private_tmp.display().to_string());
        }
        for (name, value) in [
            ("PAGER", "cat"),
            ("GIT_PAGER", "cat"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("CARGO_NET_OFFLINE", "true"),
            ("PIP_NO_INPUT", "1"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
            ("ENTRACLAW_SANDBOX", "1"),
        ] {
            set(name, value.to_owned());
        }
        if let Some(home) = &self.home {
            for (name, folder, marker) in [
                ("CARGO_HOME", ".cargo", "registry"),
                ("RUSTUP_HOME", ".rustup", "toolchains"),
                ("GOMODCACHE", "go/pkg/mod", "cache"),
            ] {
                let folder = self.environment.get(name).map_or_else(|| home.join(folder), PathBuf::from);
                if folder.join(marker).exists() {
                    set(name, folder.display().to_string());
                }
            }
        }
        environment
    }

    fn secrets(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let homes = self.home.iter().flat_map(|home| SECRET_FOLDERS.iter().map(|name| home.join(name)));
        homes.chain(self.secret.iter().cloned()).map(|path| std::fs::canonicalize(&path).unwrap_or(path))
    }

    fn is_secret(&self, path: &Path) -> bool {
        self.secrets().any(|secret| path.starts_with(secret))
    }

    fn holds_secrets(&self, path: &Path) -> bool {
        self.secrets().any(|secret| secret.starts_with(path))
    }

    fn check_project(&self, project: &Path) -> Result<(), SandboxError> {
        let refuse = |why: &str| Err(SandboxError::Folder { path: project.to_owned(), why: why.to_owned() });
        if self.home.as_deref().is_some_and(|home| home.starts_with(project)) || project.parent().is_none() {
            return refuse("it holds the home folder: start in the folder of one project");
        }
        if self.is_secret(project) || self.holds_secrets(project) {
            return refuse("it holds secrets, or lies among them: start in the folder of one project");
        }
        if SYSTEM.iter().any(|system| project.starts_with(system)) && !project.starts_with("/opt") {
            return refuse("it belongs to the system: start in the folder of one project");
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the policy is made from real folders")]
mod tests {
    use super::*;

    #[test]
    fn no_secret_is_read_because_the_search_path_names_its_folder() {
        let place = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(place.path()).unwrap();
        let folder = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (tools, within, project) = (folder("tools"), folder("vault/bin"), folder("project"));
        let path = std::env::join_paths([&tools, &within, &root, &tools]).unwrap();
        let surroundings = Surroundings {
            home: None,
            environment: [("PATH".to_owned(), path.into_string().unwrap())].into(),
            secret: vec![root.join("vault")],
        };
        let policy = surroundings.policy(&project).unwrap();
        let of_place: Vec<&PathBuf> = policy.reads.iter().filter(|read| read.starts_with(&root)).collect();
        assert_eq!(of_place, [&tools]);
    }
}
