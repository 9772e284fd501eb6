//! A host's own door: a command, a port or a file by which its agent can be woken where no MCP message wakes it.
//! It must never say a person's words without saying whose they are, nor say them twice, nor own a message.
//!
//! From the ground up: here is the seam (production starts a command, sends a request on loopback, adds a line to a
//! file or writes to a socket, a simulation does none of them); `trust` is whose words go whole, `words` what is said,
//! `waking_hook` where a hook of the host gets them, `told` what a hook of the host may show to have arrived, `door` how each host wants it, `sight` what the connection sees of the host, and `carrier` the loop that waits for
//! messages and knocks.

mod carrier;
mod door;
mod inbox_socket;
pub mod peer;
mod plan;
mod receipts;
mod settings;
mod sight;
mod told;
mod trust;
mod waking_hook;
mod words;

use std::path::PathBuf;

use futures_util::future::BoxFuture;

pub use carrier::DoorCarrier;
pub use door::{DoorState, HostDoor, gives_inbox_socket};
pub use inbox_socket::{INBOX_VARIABLES, InboxSocket};
pub use peer::{Receipt, ReceiptStatus};
pub use settings::{Doors, WholeText};
pub use sight::{Met, Sight, Sighted};
pub use told::ToldTexts;
pub use trust::{Speaker, Trust};
pub use waking_hook::{Armed, MeetingPlace, wakes_by_hook};
pub use words::{TEXT_CHARS_MAX, Words, notice, whole};

use entraclaw_seams::secret::Secret;

/// The most bytes of an answer that are kept; a list of sessions of years is far below.
pub const KNOCK_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;

/// One movement of a door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnockRequest {
    /// Starts a command without a shell and waits for its end.
    Run {
        /// A name to be found in `PATH`, or an absolute path.
        program: String,
        /// Its arguments. They hold a person's words: never log them.
        arguments: Vec<String>,
    },
    /// Sends a request to 127.0.0.1.
    Http {
        /// The verb.
        method: HttpMethod,
        /// The port on this machine.
        port: u16,
        /// The path, beginning with `/`.
        path: String,
        /// A JSON document. It may hold a person's words: never log it.
        body: Option<String>,
        /// For basic authentication, where the host wants one.
        password: Option<Secret>,
    },
    /// Writes two lines to a Unix socket of this user and closes that half; the other side answers nothing.
    Socket {
        /// An absolute path.
        path: String,
        /// The first line without its end: what lets the second one in.
        credential: Secret,
        /// The second line without its end. It may hold a person's words: never log it.
        line: String,
    },
    /// Adds one line to a file that somebody else reads.
    Append {
        /// An absolute path.
        path: String,
        /// The line without its end. It may hold a person's words: never log it.
        line: String,
    },
    /// Hands a message in at the inbox of the session that started this server; see [`PeerHost`].
    Peer {
        /// The same at every try: the session shows a message with this id once.
        id: String,
        /// A person's words: never log them.
        text: String,
    },
}

/// The inbox of the Qwen Code session that started this server, by what it left in the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerHost {
    /// The session's socket.
    pub socket: PathBuf,
    /// What its own processes show there. It must never be written anywhere.
    pub token: Secret,
    /// Where our own inbox may be, the first that can be used; each is made for this user alone.
    pub folders: Vec<PathBuf>,
}

/// The verbs that doors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpMethod {
    /// Read.
    Get,
    /// Act.
    Post,
}

impl HttpMethod {
    /// The verb as it is on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// What came back from a door that moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KnockAnswer {
    /// The body of an HTTP answer, at most [`KNOCK_BODY_BYTES_MAX`]; else empty.
    pub body: Vec<u8>,
}

/// Why a door did not move. No variant repeats what was said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KnockError {
    /// This server has no way to knock.
    #[error("this server moves no doors")]
    NoDoors,
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
    /// The command said no.
    #[error("`{program}` ended with exit code {code}; run it by hand to see why")]
    Refused {
        /// The program as it is configured.
        program: String,
        /// Its exit code, -1 when a signal ended it.
        code: i32,
    },
    /// Nobody is at the port.
    #[error("nobody is at 127.0.0.1:{port}: {reason}; start the host with that port")]
    Unreachable {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
    },
    /// The request was sent and no whole answer came.
    #[error("127.0.0.1:{port} gave no whole answer: {reason}; see whether the host hangs")]
    Broken {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
    },
    /// The answer is not what that host answers.
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
    #[error("`{path}`: {reason}; start the Qwen Code session again, or set `doors.qwen_peer` to false")]
    Peer {
        /// The path that the session gave.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no place for our own inbox, so the server would not hear what becomes of a message.
    #[error(
        "no socket for receipts can be made in `{path}`: {reason}; set XDG_RUNTIME_DIR to a folder of yours alone"
    )]
    Inbox {
        /// The folder that was tried last.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No hook of the host takes the words.
    #[error("{reason}; run `entraclaw setup claude-code` and start the session again, if that lasts")]
    Hook {
        /// What is wrong.
        reason: String,
    },
    /// The socket can't be written to, or must not be.
    #[error("`{path}`: {reason}; start the host's session again, or set `doors.inbox_socket` to false")]
    Socket {
        /// The path that the host gave.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A part of the line was written, and then no more.
    #[error("`{path}` took only a part of a line: {reason}; see whether the host hangs or the disk is full")]
    Torn {
        /// The path as it is configured.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// It took too long and was given up; the door may have moved.
    #[error("{what} took longer than {limit_ms} ms; see whether the host hangs")]
    TimeUp {
        /// The program, port or file.
        what: String,
        /// The limit.
        limit_ms: u64,
    },
}

impl KnockError {
    /// Whether the door surely did not move, so that moving it again can't say anything twice.
    pub fn is_certain(&self) -> bool {
        !matches!(self, Self::Broken { .. } | Self::TimeUp { .. } | Self::Torn { .. })
    }
}

fn status_fix(status: u16) -> &'static str {
    match status {
        401 | 403 => "set ENTRACLAW_DOORS_OPENCODE_PASSWORD to its password",
        _ => "see whether another program has that port",
    }
}

/// Moves doors.
pub trait Knock: Send + Sync {
    /// Moves one, once. Dropping the future abandons it; the door may have moved all the same.
    fn knock(&self, request: KnockRequest) -> BoxFuture<'_, Result<KnockAnswer, KnockError>>;

    /// Whether this socket may be written to, as far as can be seen without writing.
    fn look(&self, _socket: &str) -> Result<(), KnockError> {
        Ok(())
    }

    /// Whether the session that started this server has an inbox for [`KnockRequest::Peer`].
    fn has_peer(&self) -> bool {
        false
    }

    /// The next receipt of that session, when one comes. Dropping the future loses none.
    fn receipt(&self) -> BoxFuture<'_, Receipt> {
        Box::pin(std::future::pending())
    }
}

/// Moves nothing: for a server that is built without doors.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKnock;

impl Knock for NoKnock {
    fn knock(&self, _request: KnockRequest) -> BoxFuture<'_, Result<KnockAnswer, KnockError>> {
        Box::pin(std::future::ready(Err(KnockError::NoDoors)))
    }
}
