//! The knock seam: how a host's own door is moved. Production starts a command, sends a request on loopback or adds a
//! line to a file; a simulation does none of them. It must never know what a knock says, nor repeat one by itself.

use futures_util::future::BoxFuture;

use crate::config::Secret;

/// The most bytes of an answer that are kept.
pub const KNOCK_BODY_BYTES_MAX: usize = 256 * 1024;

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
    /// Adds one line to a file that somebody else reads.
    Append {
        /// An absolute path.
        path: String,
        /// The line without its end. It may hold a person's words: never log it.
        line: String,
    },
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
    /// Nobody answers at the port, or the answer broke off.
    #[error("no answer at 127.0.0.1:{port}: {reason}; start the host with that port")]
    Unreachable {
        /// The port.
        port: u16,
        /// What the system said.
        reason: String,
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
    /// It took too long and was given up; the door may have moved.
    #[error("{what} took longer than {limit_ms} ms; see whether the host hangs")]
    TimeUp {
        /// The program, port or file.
        what: String,
        /// The limit.
        limit_ms: u64,
    },
}

fn status_fix(status: u16) -> &'static str {
    match status {
        401 | 403 => "set its password in the environment",
        _ => "see whether another program has that port",
    }
}

/// Moves doors.
pub trait Knock: Send + Sync {
    /// Moves one, once. Dropping the future abandons it; the door may have moved all the same.
    fn knock(&self, request: KnockRequest) -> BoxFuture<'_, Result<KnockAnswer, KnockError>>;
}

/// Moves nothing: for a server that is built without doors.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKnock;

impl Knock for NoKnock {
    fn knock(&self, _request: KnockRequest) -> BoxFuture<'_, Result<KnockAnswer, KnockError>> {
        Box::pin(std::future::ready(Err(KnockError::NoDoors)))
    }
}
