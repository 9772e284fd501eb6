//! The production adapter for wake-ups: processes without a shell, requests to 127.0.0.1 alone, lines for existing files
//! and sockets.
//! It must never give a program more of the environment than it needs, and never leave one running.

mod file;
#[cfg(unix)]
mod qwen_inbox;
mod socket;

pub use file::look as look_at_file;
pub use socket::look as look_at_socket;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use tokio::process::Command;
use tokio::time::timeout;

use entraclaw_inbox::wake_up::{
    HttpMethod, WAKE_UP_BODY_BYTES_MAX, WakeUpAnswer, WakeUpError, WakeUpRequest, WakeUps,
};
use entraclaw_microsoft::http::{HttpRequest, HttpTransport as _, Method, ReqwestTransport, TransportError};
use entraclaw_seams::secret::Secret;

/// The variables that programs get, if they are set.
pub const PROGRAM_VARIABLES: &[&str] = &[
    "HOME",
    "PATH",
    "CODEX_HOME",
    // Windows needs these to start any program.
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PATHEXT",
    "SystemRoot",
    "TEMP",
];

/// Longest time of a program, in milliseconds. A program that finds no daemon takes seconds.
const RUN_MS_MAX: u64 = 30_000;
/// Longest time of a request, in milliseconds.
const HTTP_MS_MAX: u64 = 10_000;
/// Longest time of a line for a file or a socket, in milliseconds.
const APPEND_MS_MAX: u64 = 2_000;
/// Longest time of a message that is handed in, in milliseconds; a session that begins closes after two seconds.
#[cfg(unix)]
const PEER_MS_MAX: u64 = 10_000;
/// The user name that opencode expects with its password.
const HTTP_USER: &str = "opencode";

/// Uses the wake-ups of hosts on this machine.
#[derive(Debug)]
pub struct ProductionWakeUps {
    variables: BTreeMap<String, OsString>,
    http: ReqwestTransport,
    run_ms_max: u64,
    #[cfg(unix)]
    peer: Option<qwen_inbox::PeerSockets>,
}

impl ProductionWakeUps {
    /// Started programs get `variables` and nothing else; see [`PROGRAM_VARIABLES`].
    pub fn new(variables: BTreeMap<String, OsString>) -> Self {
        Self {
            variables,
            http: ReqwestTransport::new(true),
            run_ms_max: RUN_MS_MAX,
            #[cfg(unix)]
            peer: None,
        }
    }

    /// Adds the inbox of the session that started this server.
    #[cfg(unix)]
    #[must_use]
    pub fn with_peer(mut self, host: Option<entraclaw_inbox::wake_up::PeerHost>) -> Self {
        self.peer = host.map(qwen_inbox::PeerSockets::new);
        self
    }

    /// Sets another time limit for a program, in milliseconds.
    #[must_use]
    pub fn with_run_limit(mut self, run_ms_max: u64) -> Self {
        self.run_ms_max = run_ms_max;
        self
    }

    async fn run(&self, program: &str, arguments: &[String]) -> Result<(), WakeUpError> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .envs(&self.variables)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        // A wrapper starts the real program, so both are ended together.
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(0x0800_0000);
        let failed = |error: std::io::Error| WakeUpError::Start {
            program: program.to_owned(),
            reason: error.to_string(),
        };
        let mut child = command.spawn().map_err(failed)?;
        let mut group = Group(child.id());
        let ended = child.wait().await;
        group.0 = None;
        let code = ended.map_err(failed)?.code().unwrap_or(-1);
        if code == 0 { Ok(()) } else { Err(WakeUpError::Refused { program: program.to_owned(), code }) }
    }

    async fn http(
        &self,
        method: HttpMethod,
        port: u16,
        path: String,
        body: Option<String>,
        password: Option<Secret>,
    ) -> Result<WakeUpAnswer, WakeUpError> {
        let mut headers = Vec::new();
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        if let Some(password) = password {
            let pair = STANDARD.encode(format!("{HTTP_USER}:{}", password.expose()));
            headers.push(("authorization".to_owned(), format!("Basic {pair}")));
        }
        let request = HttpRequest {
            method: match method {
                HttpMethod::Get => Method::Get,
                HttpMethod::Post => Method::Post,
            },
            url: format!("http://127.0.0.1:{port}{path}"),
            headers,
            body: body.map(String::into_bytes),
        };
        let answer = self.http.send(request).await.map_err(|error| match error {
            TransportError::Connect { reason, .. } => WakeUpError::Unreachable { port, reason },
            TransportError::Broken { reason, .. } => WakeUpError::Broken { port, reason },
        })?;
        match answer.status {
            200..300 if answer.body.len() > WAKE_UP_BODY_BYTES_MAX => {
                Err(WakeUpError::Malformed { port, path })
            }
            200..300 => Ok(WakeUpAnswer { body: answer.body }),
            status => Err(WakeUpError::Status { port, path, status }),
        }
    }
}

impl WakeUps for ProductionWakeUps {
    fn wake(&self, request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>> {
        Box::pin(async move {
            let done = match request {
                WakeUpRequest::Run { program, arguments } => {
                    in_time(&program, self.run_ms_max, self.run(&program, &arguments)).await
                }
                WakeUpRequest::Http { method, port, path, body, password } => {
                    let what = format!("127.0.0.1:{port}");
                    return in_time(&what, HTTP_MS_MAX, self.http(method, port, path, body, password)).await;
                }
                WakeUpRequest::Socket { path, credential, line } => {
                    in_time(&path, APPEND_MS_MAX, socket::write(&path, &credential, &line)).await
                }
                WakeUpRequest::Append { path, line } => {
                    in_time(&path, APPEND_MS_MAX, file::append(&path, &line)).await
                }
                #[cfg(unix)]
                WakeUpRequest::Peer { id, text } => {
                    let Some(peer) = &self.peer else { return Err(WakeUpError::Unavailable) };
                    in_time("the session's inbox", PEER_MS_MAX, peer.send(&id, &text)).await
                }
                #[cfg(not(unix))]
                WakeUpRequest::Peer { .. } => Err(WakeUpError::Unavailable),
            };
            done.map(|()| WakeUpAnswer::default())
        })
    }

    fn look(&self, socket: &str) -> Result<(), WakeUpError> {
        socket::look(socket)
    }

    #[cfg(unix)]
    fn has_peer(&self) -> bool {
        self.peer.is_some()
    }

    #[cfg(unix)]
    fn receipt(&self) -> BoxFuture<'_, entraclaw_inbox::wake_up::Receipt> {
        Box::pin(async move {
            match &self.peer {
                Some(peer) => peer.receipt().await,
                None => std::future::pending().await,
            }
        })
    }
}

async fn in_time<T>(
    what: &str,
    limit_ms: u64,
    work: impl Future<Output = Result<T, WakeUpError>>,
) -> Result<T, WakeUpError> {
    let late = |_| Err(WakeUpError::TimeUp { what: what.to_owned(), limit_ms });
    timeout(Duration::from_millis(limit_ms), work).await.unwrap_or_else(late)
}

/// A running program and everything it started; dropping this ends them.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(id) = self.0.and_then(|id| i32::try_from(id).ok()) {
            use nix::sys::signal::{Signal, killpg};
            // It may have just ended by itself.
            let _ = killpg(nix::unistd::Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}
