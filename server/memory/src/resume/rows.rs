//! What is known of each agent: how it goes on with a session, and what shows that a session runs.
//!
//! Each row is recorded from the real program; `docs/src/facts/sessions.md` has what was seen of which version. It must
//! never hold what was not seen.

use crate::stores::Agent;

/// How the id follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Id {
    /// Behind these arguments, as one of its own.
    After(&'static [&'static str]),
    /// In one argument with this flag.
    Joined(&'static str),
    /// The program takes none on its command line; it is given the folder.
    Folder,
}

/// What shows that a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// A file `sessions/PID.json` in the agent's folder names the session and when its process began.
    SessionFile,
    /// A file `inuse.PID.lock` beside the session's log, and a locked `inuse.PID.hold`.
    InUse,
    /// A locked file `thread-writer-locks/ID.lock` in the agent's folder.
    WriterLock,
    /// Nothing that was found.
    None,
}

/// One agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// The name of its program.
    pub(super) program: &'static str,
    /// How it is given the session.
    pub(super) id: Id,
    /// Whether it finds the session only when it is started in the session's folder.
    pub(super) needs_folder: bool,
    /// What shows that a session runs.
    pub(super) sign: Sign,
    /// What a person must know besides.
    pub(super) note: Option<&'static str>,
}

const PLAIN: Row =
    Row { program: "", id: Id::After(&["--resume"]), needs_folder: true, sign: Sign::None, note: None };

/// The row of an agent.
pub(super) const fn row(agent: Agent) -> Row {
    match agent {
        Agent::Copilot => Row {
            program: "copilot",
            id: Id::Joined("--resume="),
            needs_folder: false,
            sign: Sign::InUse,
            ..PLAIN
        },
        // Versions before 2.1.237 find it in its folder only.
        Agent::Claude => Row { program: "claude", sign: Sign::SessionFile, ..PLAIN },
        Agent::Codex => Row {
            program: "codex",
            id: Id::After(&["resume"]),
            needs_folder: false,
            sign: Sign::WriterLock,
            ..PLAIN
        },
        Agent::Gemini => Row { program: "gemini", ..PLAIN },
        Agent::Qwen => Row { program: "qwen", ..PLAIN },
        Agent::Opencode => Row { program: "opencode", id: Id::After(&["--session"]), ..PLAIN },
        Agent::Vscode => Row {
            program: "code",
            id: Id::Folder,
            note: Some("choose the session in the history of the chat view"),
            ..PLAIN
        },
    }
}
