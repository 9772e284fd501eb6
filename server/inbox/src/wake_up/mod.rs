//! A host's own wake-up: a command, a port or a file by which its agent can be woken where no MCP message wakes it.
//! It must never say a person's words without saying whose they are, nor say them twice, nor own a message.
//!
//! This file has the seam: production starts a command, sends a request on loopback, adds a line to a file or
//! writes to a socket, and a simulation does none of them. `trust` decides whose text goes whole, `words`
//! writes the text, `waking_hook` gives it to a hook of the host, `told` recognises it when a hook of the
//! host is shown it, `host_wake_up` knows what each host needs, `activity` knows what the host does. `parts`, `round`,
//! `wake` and `handed_in` are what the loop has, `plan` decides what it tells, `receipts` hands in and hears what became
//! of it, and `carrier` is the loop that waits for messages and uses the wake-up.

mod activity;
mod carrier;
mod handed_in;
mod host_wake_up;
mod inbox_socket;
mod parts;
pub mod peer;
mod plan;
mod receipts;
mod round;
mod settings;
#[cfg(test)]
mod tests;
mod told;
mod trust;
mod wake;
mod waking_hook;
mod words;

use std::path::PathBuf;

use futures_util::future::BoxFuture;

pub use activity::{ActivityWatch, HostActivity, Met};
pub use host_wake_up::{HostWakeUp, WakeUpState, gives_inbox_socket};
pub use inbox_socket::{INBOX_VARIABLES, InboxSocket};
pub use parts::WakeUpCarrier;
pub use peer::{Receipt, ReceiptStatus};
pub use settings::{WakeUpSettings, WholeText};
pub use told::ToldTexts;
pub use trust::{Speaker, Trust};
pub use waking_hook::{Armed, MeetingPlace, wakes_by_hook};
pub use words::{TEXT_CHARS_MAX, Words, notice, whole};

use entraclaw_seams::secret::Secret;

/// The most bytes of an answer that are kept; a list of the sessions of years is far shorter.
pub const WAKE_UP_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One use of a wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WakeUpRequest {
    /// Starts a command without a shell and waits for its end.
    Run {
        /// A name to be found in `PATH`, or an absolute path.
        program: String,
        /// Its arguments. They hold a person's words: never log them.
        arguments: Vec<String>,
    },
    /// Sends a request to 127.0.0.1.
    Http {
        /// The HTTP method.
        method: HttpMethod,
        /// The port on this machine.
        port: u16,
        /// The path, beginning with `/`.
        path: String,
        /// A JSON document. It may hold a person's words: never log it.
        body: Option<String>,
        /// The password for basic authentication, if the host wants one.
        password: Option<Secret>,
    },
    /// Writes two lines to a Unix socket of this user and closes the writing half; the other side answers
    /// nothing.
    Socket {
        /// An absolute path.
        path: String,
        /// The first line without its end: the credential that the second line needs.
        credential: Secret,
        /// The second line without its end. It may hold a person's words: never log it.
        line: String,
    },
    /// Adds one line to a file that the host reads.
    Append {
        /// An absolute path.
        path: String,
        /// The line without its end. It may hold a person's words: never log it.
        line: String,
    },
    /// Hands a message in at the inbox of the session that started this server; see [`PeerHost`].
    Peer {
        /// The message's id, the same at every try: the session shows a message with this id once.
        id: String,
        /// A person's words: never log them.
        text: String,
    },
}

/// The inbox of the Qwen Code session that started this server, from the environment that the session set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerHost {
    /// The session's socket.
    pub socket: PathBuf,
    /// The token that the session's own processes show there. It must never be written anywhere.
    pub token: Secret,
    /// The folders that our own inbox may be in; the first usable one is taken. Each is made for this user
    /// alone.
    pub folders: Vec<PathBuf>,
}

/// The verbs that wake-ups use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Reads a document.
    Get,
    /// Asks for an action.
    Post,
}

/// The answer to a used wake-up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WakeUpAnswer {
    /// The body of an HTTP answer, at most [`WAKE_UP_BODY_BYTES_MAX`]; else empty.
    pub body: Vec<u8>,
}

/// Why a wake-up could not be used. No variant repeats the text of a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WakeUpError {
    /// This server has no way to wake a host.
    #[error("this server moves no wake-ups")]
    Unavailable,
    /// The command could not be started.
    #[error(
        "`{program}` could not be started: {reason}; install it, or name it by its path in the configuration"
    )]
    Start {
        /// The program as it is configured.
        program: String,
        /// What the system said.
        reason: String,
    },
    /// The command ended with an error.
    #[error("`{program}` ended with exit code {code}; run it by hand to see why")]
    Refused {
        /// The program as it is configured.
        program: String,
        /// Its exit code, -1 when a signal ended it.
        code: i32,
    },
    /// No server listens on the port.
    #[error("nobody is at 127.0.0.1:{port}: {reason}; start the host with that port")]
    Unreachable {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
    },
    /// The request was sent, and no whole answer came.
    #[error("127.0.0.1:{port} gave no whole answer: {reason}; see whether the host hangs")]
    Broken {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
    },
    /// The answer is not one that this host gives.
    #[error(
        "127.0.0.1:{port} answered {path} with something unexpected; see whether another program has that port"
    )]
    Malformed {
        /// The port.
        port: u16,
        /// The path.
        path: String,
    },
    /// The port answers, but not with success.
    #[error("127.0.0.1:{port} answered {status} to {path}; {}", status_fix(*.status))]
    Status {
        /// The port.
        port: u16,
        /// The path.
        path: String,
        /// The HTTP status.
        status: u16,
    },
    /// The file can't be written to, or must not be.
    #[error("`{path}`: {reason}; start the host with that file, a file or pipe of your own")]
    File {
        /// The path as it is configured.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The inbox of the Qwen Code session can't be written to, or must not be.
    #[error("`{path}`: {reason}; start the Qwen Code session again, or set `wake.qwen_peer` to false")]
    Peer {
        /// The path that the session gave.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no place for our own inbox, so the server would not receive the session's receipts.
    #[error(
        "no socket for receipts can be made in `{path}`: {reason}; set XDG_RUNTIME_DIR to a folder of yours alone"
    )]
    Inbox {
        /// The folder that was tried last.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No hook of the host takes the text.
    #[error("{reason}; run `entraclaw setup claude-code` and start the session again, if that lasts")]
    Hook {
        /// What is wrong.
        reason: String,
    },
    /// The socket can't be written to, or must not be.
    #[error("`{path}`: {reason}; start the host's session again, or set `wake.inbox_socket` to false")]
    Socket {
        /// The path that the host gave.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Only a part of the line was written.
    #[error("`{path}` took only a part of a line: {reason}; see whether the host hangs or the disk is full")]
    Torn {
        /// The path as it is configured.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The wake-up took too long and was abandoned; the host may have been woken.
    #[error("{what} took longer than {limit_ms} ms; see whether the host hangs")]
    TimeUp {
        /// The program, port or file.
        what: String,
        /// The limit.
        limit_ms: u64,
    },
}

impl WakeUpError {
    /// Whether the host surely was not woken, so that another try can't repeat the text.
    pub fn is_certain(&self) -> bool {
        !matches!(self, Self::Broken { .. } | Self::TimeUp { .. } | Self::Torn { .. })
    }
}

fn status_fix(status: u16) -> &'static str {
    match status {
        401 | 403 => "set ENTRACLAW_WAKE_OPENCODE_PASSWORD to its password",
        _ => "see whether another program has that port",
    }
}

/// Uses the wake-ups of hosts.
pub trait WakeUps: Send + Sync {
    /// Uses a wake-up once. If the future is dropped, the host may be woken all the same.
    fn wake(&self, request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>>;

    /// Whether this socket may be written to, as far as can be checked without writing.
    fn look(&self, _socket: &str) -> Result<(), WakeUpError> {
        Ok(())
    }

    /// Whether the session that started this server has an inbox for [`WakeUpRequest::Peer`].
    fn has_peer(&self) -> bool {
        false
    }

    /// Waits for the next receipt of that session. Dropping the future loses no receipt.
    fn receipt(&self) -> BoxFuture<'_, Receipt> {
        Box::pin(std::future::pending())
    }
}

/// Wakes no host: for a server that is built without wake-ups.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWakeUps;

impl WakeUps for NoWakeUps {
    fn wake(&self, _request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>> {
        Box::pin(std::future::ready(Err(WakeUpError::Unavailable)))
    }
}
