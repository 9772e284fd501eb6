//! The table of agents: how the program of each one is found, asked and read. Rules that differ between agents are data
//! here; code elsewhere never asks for a name.
//!
//! Each row is recorded from the real program in `docs/src/facts/agents.md`.

use std::path::PathBuf;

use entraclaw_mcp::arguments::Refusal;
use entraclaw_mcp::nearest::nearest;

use crate::permissions::Permissions;

/// How a value follows its flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// One argument: the flag, and the value right behind it.
    Joined(&'static str),
    /// Two arguments.
    Apart(&'static str),
    /// The value alone, after these arguments.
    After(&'static [&'static str]),
    /// The program can't be told.
    Missing,
}

impl Flag {
    /// The arguments for a value; `None` if the program can't be told.
    pub fn with(self, value: &str) -> Option<Vec<String>> {
        match self {
            Self::Joined(flag) => Some(vec![format!("{flag}{value}")]),
            Self::Apart(flag) => Some(vec![flag.to_owned(), value.to_owned()]),
            Self::After(words) => {
                Some(words.iter().map(|word| (*word).to_owned()).chain([value.to_owned()]).collect())
            }
            Self::Missing => None,
        }
    }
}

/// How the program is given the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptBy {
    /// As one argument with its flag, so that a leading dash is no flag.
    Joined(&'static str),
    /// As its input, which these last arguments ask for.
    Input(&'static [&'static str]),
}

/// The language in which a program reports what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// The answer alone, as text.
    Text,
    /// Copilot CLI, `--output-format json`.
    Copilot,
    /// Claude Code, `--output-format stream-json`.
    Claude,
    /// Codex, `exec --json`.
    Codex,
    /// Gemini CLI, `--output-format stream-json`.
    Gemini,
    /// opencode, `run --format json`.
    Opencode,
}

/// One agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// Its name in calls.
    pub name: &'static str,
    /// Its name in sentences.
    pub title: &'static str,
    /// The name of its program.
    pub program: &'static str,
    /// The packages that hold its program, as their `package.json` names them.
    pub packages: &'static [&'static str],
    /// How a user installs it.
    pub install: &'static str,
    /// How a user signs in.
    pub sign_in: &'static str,
    /// The first version that has all flags of `base`.
    pub oldest: [u64; 3],
    /// The environment variables that it gets; a trailing `*` matches any ending.
    pub variables: &'static [&'static str],
    /// The arguments of every question, before all others.
    pub base: &'static [&'static str],
    /// How it is given the prompt.
    pub prompt: PromptBy,
    /// The model's flag.
    pub model: Flag,
    /// The model that is asked for if neither the caller nor the operator names one, where the program lists it.
    pub default_model: Option<DefaultModel>,
    /// The flag of one more folder.
    pub add_dir: Flag,
    /// The flag with an id of ours for a new session, and the first version that has it; otherwise the program chooses one.
    pub new_session: (Flag, [u64; 3]),
    /// The flag of a session to go on with.
    pub resume: Flag,
    /// The arguments for each of [`Permissions::ALL`]; `None` where the program can't be kept to it.
    pub permissions: [Option<&'static [&'static str]>; 3],
    /// The arguments for a report, its language, and the first version that has it. Older ones answer as text.
    pub report: (&'static [&'static str], Dialect, [u64; 3]),
    /// How its program stands by for the next question, if it can.
    pub warm: Option<Warm>,
    /// What shows that it is signed in.
    pub signed_in_by: SignedInBy,
}

/// How a program stands by: over the Agent Client Protocol, on its input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Warm {
    /// The arguments for it, before those that permit.
    pub arguments: &'static [&'static str],
    /// The first version that was seen to answer as it does in a run of its own.
    pub oldest: [u64; 3],
    /// The file of a session's events below the agent's own folder; `{}` stands for the session.
    pub events: &'static str,
    /// The argument that keeps a run of its own out of the folder for temporary files. Over the protocol it does not hold, so
    /// a program with it is given a folder of its own in its place.
    pub without_temporary: &'static str,
}

/// A model that is asked for where the program lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultModel {
    /// Its name.
    pub name: &'static str,
    /// Versions that list it: the first and the last that were seen.
    pub listed: [[u64; 3]; 2],
    /// Versions that do not: the first and the last that were seen.
    pub unlisted: [[u64; 3]; 2],
    /// The arguments with which any other version lists its models, without a request.
    pub list: &'static [&'static str],
}

impl DefaultModel {
    /// Whether the program lists it; `None` if that was not seen of this version.
    pub fn is_listed(&self, version: [u64; 3]) -> Option<bool> {
        let is_in = |[first, last]: [[u64; 3]; 2]| (first..=last).contains(&version);
        if is_in(self.listed) { Some(true) } else { is_in(self.unlisted).then_some(false) }
    }
}

/// How it can be seen, without starting it, that an agent is signed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignedInBy {
    /// Variables of which one is set.
    pub variables: &'static [&'static str],
    /// The variable that names the folder, and the folder below the user's home without it.
    pub folder: (&'static str, &'static str),
    /// Files in that folder of which one is there.
    pub files: &'static [&'static str],
}

impl Agent {
    /// The arguments that permit this much and no more; `None` if the program can't be kept to it.
    pub fn permitting(&self, permissions: Permissions) -> Option<&'static [&'static str]> {
        let at = Permissions::ALL.iter().position(|one| *one == permissions).unwrap_or(0);
        self.permissions[at]
    }

    /// Its own folder, from its variables.
    pub fn folder(&self, variables: &[(String, String)]) -> Option<PathBuf> {
        let value = |name: &str| {
            let given = variables.iter().find(|(known, value)| known == name && !value.is_empty());
            given.map(|(_, value)| PathBuf::from(value))
        };
        let (variable, below) = self.signed_in_by.folder;
        value(variable).or_else(|| Some(value(USER_HOME)?.join(below)))
    }

    /// Whether it may be given this variable.
    pub fn takes(&self, variable: &str) -> bool {
        EVERY_AGENT.iter().chain(self.variables).any(|known| match known.strip_suffix('*') {
            Some(beginning) => variable.starts_with(beginning),
            None => variable == *known,
        })
    }
}

/// Whether any agent may be given this variable.
pub fn any_takes(variable: &str) -> bool {
    AGENTS.iter().any(|agent| agent.takes(variable))
}

/// The agent of this name.
///
/// # Errors
/// A sentence that names the known ones.
pub fn by_name(name: &str) -> Result<&'static Agent, Refusal> {
    if let Some(agent) = AGENTS.iter().find(|agent| agent.name == name) {
        return Ok(agent);
    }
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    let hint = nearest(name, &names).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let name: String = name.chars().take(40).collect();
    Err(format!("agent: {name:?} is not known{hint}; known agents: {}", names.join(", ")))
}

/// The variable of the user's home folder.
const USER_HOME: &str = if cfg!(windows) { "USERPROFILE" } else { "HOME" };

/// The variables that every agent gets: who and where the user is, how to reach the network, how to write for people.
/// `CLAUDECODE` and its like are left out, for they make an agent believe that it runs inside another.
const EVERY_AGENT: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "XDG_*",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "SystemRoot",
    "COMSPEC",
    "PATHEXT",
];

/// The agents, the default first.
pub const AGENTS: &[Agent] = &[
    Agent {
        name: "copilot",
        title: "Copilot",
        program: "copilot",
        packages: &["@github/copilot"],
        install: "npm install -g @github/copilot",
        sign_in: "start `copilot` in a terminal and use /login, or set COPILOT_GITHUB_TOKEN",
        // `--no-ask-user` is missing in 0.0.384; the design document of the contract was written for 0.0.412.
        oldest: [0, 0, 412],
        // Without COPILOT_ALLOW_ALL, which would permit everything.
        variables: &[
            "COPILOT_HOME",
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_GH_HOST",
            "COPILOT_MODEL",
            "COPILOT_PROVIDER_*",
            "COPILOT_OFFLINE",
            "GH_HOST",
            "GH_TOKEN",
            "GITHUB_TOKEN",
        ],
        base: &["--allow-all-tools", "--no-ask-user", "--silent", "--no-color", "--no-auto-update"],
        prompt: PromptBy::Joined("--prompt="),
        model: Flag::Joined("--model="),
        default_model: Some(DefaultModel {
            name: "gpt-4.1",
            listed: [[0, 0, 384], [1, 0, 24]],
            unlisted: [[1, 0, 60], [1, 0, 102]],
            // Without the flag a newer package may answer than the one that is asked.
            list: &["--no-auto-update", "help", "config"],
        }),
        add_dir: Flag::Joined("--add-dir="),
        new_session: (Flag::Joined("--session-id="), [1, 0, 51]),
        resume: Flag::Joined("--resume="),
        // A rule that denies wins over `--allow-all-tools`. The list keeps tools of the user's other servers away.
        permissions: [
            Some(&["--available-tools=view,grep,glob", "--deny-tool=write", "--deny-tool=shell"]),
            Some(&[
                "--available-tools=view,grep,glob,create,edit",
                "--deny-tool=shell",
                "--disallow-temp-dir",
            ]),
            Some(&[]),
        ],
        report: (&["--output-format=json"], Dialect::Copilot, [0, 0, 422]),
        // Older ones ask over this protocol for a sign-in with GitHub, whatever their provider is.
        warm: Some(Warm {
            arguments: &["--acp"],
            oldest: [1, 0, 102],
            events: "session-state/{}/events.jsonl",
            without_temporary: "--disallow-temp-dir",
        }),
        signed_in_by: SignedInBy {
            variables: &["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN", "COPILOT_PROVIDER_BASE_URL"],
            folder: ("COPILOT_HOME", ".copilot"),
            // Its file of settings is there before it is signed in.
            files: &[],
        },
    },
    Agent {
        name: "claude-code",
        title: "Claude Code",
        program: "claude",
        packages: &["@anthropic-ai/claude-code"],
        install: "npm install -g @anthropic-ai/claude-code",
        sign_in: "start `claude` in a terminal and use /login, or set ANTHROPIC_API_KEY",
        oldest: [2, 0, 73],
        variables: &[
            "ANTHROPIC_*",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_MAX_RETRIES",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        ],
        base: &["-p"],
        prompt: PromptBy::Input(&[]),
        model: Flag::Apart("--model"),
        default_model: None,
        add_dir: Flag::Apart("--add-dir"),
        new_session: (Flag::Apart("--session-id"), [2, 0, 73]),
        resume: Flag::Apart("--resume"),
        permissions: [
            Some(&["--tools", "Read,Grep,Glob"]),
            Some(&["--permission-mode", "acceptEdits", "--disallowedTools", "Bash"]),
            // The flag that skips all permissions is refused for root.
            Some(&["--allowedTools", "Bash,Edit,Write,NotebookEdit,WebFetch,WebSearch"]),
        ],
        report: (&["--output-format", "stream-json", "--verbose"], Dialect::Claude, [2, 0, 73]),
        warm: None,
        signed_in_by: SignedInBy {
            variables: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
            folder: ("CLAUDE_CONFIG_DIR", ".claude"),
            files: &[".credentials.json"],
        },
    },
    Agent {
        name: "codex",
        title: "Codex",
        program: "codex",
        packages: &["@openai/codex"],
        install: "npm install -g @openai/codex",
        sign_in: "run `codex login` in a terminal, or set CODEX_API_KEY",
        oldest: [0, 150, 0],
        variables: &["CODEX_HOME", "CODEX_API_KEY", "OPENAI_*"],
        base: &["exec", "--skip-git-repo-check"],
        prompt: PromptBy::Input(&["-"]),
        model: Flag::Apart("-m"),
        default_model: None,
        add_dir: Flag::Apart("--add-dir"),
        // It chooses the id itself, and its report begins with it.
        new_session: (Flag::Missing, [0, 0, 0]),
        resume: Flag::After(&["resume"]),
        permissions: [
            Some(&["-s", "read-only"]),
            Some(&[
                "-s",
                "workspace-write",
                "-c",
                "sandbox_workspace_write.exclude_tmpdir_env_var=true",
                "-c",
                "sandbox_workspace_write.exclude_slash_tmp=true",
            ]),
            Some(&["-s", "danger-full-access"]),
        ],
        report: (&["--json"], Dialect::Codex, [0, 150, 0]),
        warm: None,
        signed_in_by: SignedInBy {
            variables: &["CODEX_API_KEY", "OPENAI_API_KEY"],
            folder: ("CODEX_HOME", ".codex"),
            files: &["auth.json"],
        },
    },
    Agent {
        name: "gemini-cli",
        title: "Gemini CLI",
        program: "gemini",
        packages: &["@google/gemini-cli"],
        install: "npm install -g @google/gemini-cli",
        sign_in: "start `gemini` in a terminal and choose how to sign in",
        oldest: [0, 61, 0],
        variables: &["GEMINI_*", "GOOGLE_*"],
        // In a folder that its user has not trusted it does nothing.
        base: &["--skip-trust"],
        prompt: PromptBy::Joined("--prompt="),
        model: Flag::Apart("-m"),
        default_model: None,
        add_dir: Flag::Apart("--include-directories"),
        new_session: (Flag::Apart("--session-id"), [0, 61, 0]),
        resume: Flag::Apart("--resume"),
        permissions: [
            Some(&["--approval-mode", "default"]),
            Some(&["--approval-mode", "auto_edit"]),
            Some(&["--yolo"]),
        ],
        report: (&["-o", "stream-json"], Dialect::Gemini, [0, 61, 0]),
        warm: None,
        signed_in_by: SignedInBy {
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            folder: ("GEMINI_CLI_HOME", ".gemini"),
            files: &["oauth_creds.json"],
        },
    },
    Agent {
        name: "opencode",
        title: "opencode",
        program: "opencode",
        packages: &["opencode-ai"],
        install: "npm install -g opencode-ai",
        sign_in: "run `opencode auth login` in a terminal",
        oldest: [1, 18, 33],
        variables: &["OPENCODE_*"],
        base: &["run"],
        // A prompt as an argument would reach the model in quotes.
        prompt: PromptBy::Input(&[]),
        model: Flag::Apart("-m"),
        default_model: None,
        add_dir: Flag::Missing,
        new_session: (Flag::Missing, [0, 0, 0]),
        resume: Flag::Apart("--session"),
        // What it may do is in its settings, and no argument narrows them.
        permissions: [None, None, Some(&[])],
        report: (&["--format", "json"], Dialect::Opencode, [1, 18, 33]),
        warm: None,
        signed_in_by: SignedInBy {
            variables: &[],
            folder: ("OPENCODE_DATA", ".local/share/opencode"),
            files: &["auth.json"],
        },
    },
    Agent {
        name: "qwen-code",
        title: "Qwen Code",
        program: "qwen",
        packages: &["@qwen-code/qwen-code"],
        install: "npm install -g @qwen-code/qwen-code",
        sign_in: "start `qwen` in a terminal and use /auth, or set OPENAI_API_KEY and OPENAI_BASE_URL",
        oldest: [0, 24, 4],
        variables: &["QWEN_*", "DASHSCOPE_API_KEY", "OPENAI_*"],
        base: &[],
        prompt: PromptBy::Joined("--prompt="),
        model: Flag::Apart("-m"),
        default_model: None,
        add_dir: Flag::Apart("--include-directories"),
        new_session: (Flag::Apart("--session-id"), [0, 24, 4]),
        resume: Flag::Apart("--resume"),
        // Its `auto-edit` writes outside the folder too.
        permissions: [Some(&["--approval-mode", "plan"]), None, Some(&["--approval-mode", "yolo"])],
        // It writes the form of Claude Code.
        report: (&["-o", "stream-json"], Dialect::Claude, [0, 24, 4]),
        warm: None,
        signed_in_by: SignedInBy {
            variables: &["OPENAI_API_KEY", "DASHSCOPE_API_KEY"],
            folder: ("QWEN_HOME", ".qwen"),
            files: &["oauth_creds.json"],
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_gets_its_own_tokens_and_not_those_of_others() {
        for agent in AGENTS {
            for variable in ["PATH", "HOME", "LC_ALL", "HTTPS_PROXY"] {
                assert!(agent.takes(variable), "{}: {variable}", agent.name);
            }
            for variable in ["ENTRACLAW_ACCESS_TOKEN", "AWS_SECRET_ACCESS_KEY", "CLAUDECODE", "NPM_TOKEN", ""]
            {
                assert!(!agent.takes(variable), "{}: {variable}", agent.name);
            }
            let shares = |name: &&str| agent.takes(name) && !agent.signed_in_by.variables.contains(name);
            let own = |other: &Agent| other.signed_in_by.variables.iter().any(shares);
            let strangers = AGENTS.iter().filter(|other| other.name != agent.name && own(other));
            assert_eq!(strangers.count(), 0, "{} gets a token of another agent", agent.name);
        }
    }

    #[test]
    fn the_contract_of_copilot_is_in_its_row() {
        let row = by_name("copilot").unwrap();
        assert_eq!(AGENTS[0].name, "copilot");
        assert_eq!(
            row.base,
            ["--allow-all-tools", "--no-ask-user", "--silent", "--no-color", "--no-auto-update"]
        );
        assert_eq!(row.prompt, PromptBy::Joined("--prompt="));
        assert_eq!(row.permitting(Permissions::All), Some(&[][..]));
        assert!(!row.base.iter().any(|argument| argument.starts_with("-i")));
    }

    #[test]
    fn every_row_can_be_asked_and_installed() {
        let mut names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), AGENTS.len());
        for agent in AGENTS {
            assert!(agent.install.contains(agent.packages[0]), "{}", agent.name);
            assert!(!agent.sign_in.ends_with('.') && !agent.title.is_empty());
            // Its flag is added behind all other arguments.
            assert!(agent.default_model.is_none() || matches!(agent.prompt, PromptBy::Joined(_)));
        }
    }
}
