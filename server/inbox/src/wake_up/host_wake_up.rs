//! The wake-up of each host, the place in the host where a message belongs, and the request that brings it
//! there. It must never guess a place: a turn in a conversation that no user looks at is worse than a message
//! that waits. The facts were observed on Claude Code 2.1.330, Codex CLI 0.169.0, opencode 1.18.33 and Qwen
//! Code 0.24.4.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

use super::WakeUpSettings;
use super::{
    HostActivity, HttpMethod, InboxSocket, MeetingPlace, Met, WakeUpError, WakeUpRequest, WakeUps,
    wakes_by_hook,
};
use entraclaw_seams::secret::Secret;

/// The first version of Claude Code that may give its inbox socket to MCP servers. It does so by default from
/// 2.1.248 on, and before that where the vendor has enabled it. An older version may have inherited the
/// variables of a newer one that started it.
const INBOX_SOCKET_SINCE: [u64; 3] = [2, 1, 224];

/// Longest id of a session of opencode.
const SESSION_CHARS_MAX: usize = 128;
/// Where opencode lists its sessions.
const SESSIONS_PATH: &str = "/session";

/// Whether a host of this family and version gives its inbox socket to the servers that it starts.
pub fn gives_inbox_socket(family: &str, version: [u64; 3]) -> bool {
    family == "claude-code" && version >= INBOX_SOCKET_SINCE
}

/// An enabled wake-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostWakeUp {
    /// The inbox socket of Claude Code's session.
    InboxSocket(InboxSocket),
    /// The hook that runs beside Claude Code's idle session.
    WakingHook(MeetingPlace),
    /// `codex queue`: a message for a thread, which the thread takes when its present turn has ended.
    CodexQueue {
        /// The program.
        command: String,
    },
    /// The HTTP port of opencode's terminal interface.
    OpencodePort {
        /// The port on this machine.
        port: u16,
        /// The password of the port.
        password: Option<Secret>,
    },
    /// The inbox of the Qwen Code session that started this server.
    QwenPeer,
    /// The file that Qwen Code reads prompts from.
    QwenFile {
        /// The file's absolute path.
        path: String,
    },
}

/// The state of a wake-up, for `entraclaw status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUpState {
    /// The wake-up can be used, as far as is known.
    Ready,
    /// The host has not said yet where messages belong.
    Waiting,
    /// The wake-up failed when it was last used.
    Failing,
    /// A message waits in the host for the user's decision.
    Held,
    /// The user's settings forbid the wake-up.
    Refused,
}

impl HostWakeUp {
    /// Every enabled wake-up that can be checked without its host. `inbox` is the session's own inbox socket,
    /// as this program's environment names it. `has_peer` says whether the session takes messages by Qwen
    /// Code's protocol.
    pub fn all(wake_ups: &WakeUpSettings, inbox: Option<&InboxSocket>, has_peer: bool) -> Vec<Self> {
        let inbox = inbox.filter(|_| wake_ups.inbox_socket).cloned().map(Self::InboxSocket);
        let queue =
            wake_ups.codex_queue.then(|| Self::CodexQueue { command: wake_ups.codex_command.clone() });
        let port = wake_ups
            .opencode_port
            .map(|port| Self::OpencodePort { port, password: wake_ups.opencode_password.clone() });
        let peer = (has_peer && wake_ups.qwen_peer).then_some(Self::QwenPeer);
        let file = wake_ups.qwen_input_file.clone().map(|path| Self::QwenFile { path });
        [inbox, queue, port, peer, file].into_iter().flatten().collect()
    }

    /// The first enabled wake-up of a host. `process` is the id of the host's process, where it is known.
    pub fn of(
        host: &Met,
        wake_ups: &WakeUpSettings,
        inbox: Option<&InboxSocket>,
        has_peer: bool,
        process: Option<&str>,
    ) -> Option<Self> {
        let fits = |wake_up: &Self| match wake_up {
            Self::InboxSocket(_) => gives_inbox_socket(host.family, host.version),
            Self::WakingHook(_) => wakes_by_hook(host.family, host.version),
            Self::CodexQueue { .. } => host.family == "codex",
            Self::OpencodePort { .. } => host.family == "opencode",
            Self::QwenPeer | Self::QwenFile { .. } => host.family == "qwen-code",
        };
        let meeting = process.filter(|_| wake_ups.waking_hook);
        let meeting = meeting.and_then(|process| MeetingPlace::new(&host.consumer, process));
        Self::all(wake_ups, inbox, has_peer).into_iter().chain(meeting.map(Self::WakingHook)).find(fits)
    }

    /// The name of the wake-up in this state, for the list of carriers.
    pub fn name(&self, state: WakeUpState) -> &'static str {
        match (self, state) {
            (Self::InboxSocket(_), WakeUpState::Failing) => "inbox socket (failing)",
            (Self::InboxSocket(_), _) => "inbox socket",
            (Self::WakingHook(_), WakeUpState::Waiting) => "waking hook (waits for the end of a turn)",
            (Self::WakingHook(_), WakeUpState::Failing) => "waking hook (failing)",
            (Self::WakingHook(_), _) => "waking hook",
            (Self::QwenPeer, WakeUpState::Ready | WakeUpState::Waiting) => "qwen peer protocol",
            (Self::QwenPeer, WakeUpState::Failing) => "qwen peer protocol (failing)",
            (Self::QwenPeer, WakeUpState::Held) => "qwen peer protocol (held: decide with /peers)",
            (Self::QwenPeer, WakeUpState::Refused) => {
                "qwen peer protocol (refused by agents.crossSessionInbound)"
            }
            (Self::CodexQueue { .. }, WakeUpState::Waiting) => "codex queue (waits for a first call)",
            (Self::CodexQueue { .. }, WakeUpState::Failing) => "codex queue (failing)",
            (Self::CodexQueue { .. }, _) => "codex queue",
            (Self::OpencodePort { .. }, WakeUpState::Waiting) => "opencode port (waits for a first prompt)",
            (Self::OpencodePort { .. }, WakeUpState::Failing) => "opencode port (failing)",
            (Self::OpencodePort { .. }, _) => "opencode port",
            (Self::QwenFile { .. }, WakeUpState::Failing) => "qwen input file (failing)",
            (Self::QwenFile { .. }, _) => "qwen input file",
        }
    }

    /// The meeting place, if this is a hook.
    pub(super) fn meeting(&self) -> Option<&MeetingPlace> {
        match self {
            Self::WakingHook(meeting) => Some(meeting),
            _ => None,
        }
    }

    /// The state before the first use.
    pub(super) fn first_state(&self, sighted: &HostActivity) -> WakeUpState {
        match self {
            Self::CodexQueue { .. } if sighted.thread.is_none() => WakeUpState::Waiting,
            Self::WakingHook(_) if !sighted.has_waking_hook => WakeUpState::Waiting,
            _ => WakeUpState::Ready,
        }
    }

    /// Where in the host a message belongs now; `None` while the host has no such place yet. `since` is when
    /// this connection began, by the host's clock, which is this machine's.
    pub(super) async fn place(
        &self,
        wake_ups: &dyn WakeUps,
        sighted: &HostActivity,
        since: Timestamp,
    ) -> Result<Option<String>, WakeUpError> {
        match self {
            Self::CodexQueue { .. } => Ok(sighted.thread.clone()),
            // The socket is checked first, because a message is marked as pushed before it is sent.
            Self::InboxSocket(inbox) => wake_ups.look(&inbox.path).map(|()| Some(String::new())),
            Self::WakingHook(_) | Self::QwenPeer | Self::QwenFile { .. } => Ok(Some(String::new())),
            Self::OpencodePort { port, password } => {
                let answer = wake_ups.wake(sessions(*port, password.as_ref())).await?;
                let path = SESSIONS_PATH.to_owned();
                newest_session(&answer.body, since).map_err(|_| WakeUpError::Malformed { port: *port, path })
            }
        }
    }

    /// The request that brings `text` to `place`. `None` where the message is sent under an id of its own, or
    /// by a hook.
    pub(super) fn wake(&self, place: &str, text: &str) -> Option<WakeUpRequest> {
        Some(match self {
            Self::QwenPeer | Self::WakingHook(_) => return None,
            Self::InboxSocket(inbox) => inbox.frame(text),
            Self::CodexQueue { command } => WakeUpRequest::Run {
                program: command.clone(),
                arguments: ["queue", "--thread", place, "--message", text].map(str::to_owned).into(),
            },
            Self::OpencodePort { port, password } => WakeUpRequest::Http {
                method: HttpMethod::Post,
                port: *port,
                path: format!("{SESSIONS_PATH}/{place}/prompt_async"),
                body: Some(json!({"parts": [{"type": "text", "text": text}]}).to_string()),
                password: password.clone(),
            },
            Self::QwenFile { path } => WakeUpRequest::Append {
                path: path.clone(),
                line: json!({"type": "submit", "text": text}).to_string(),
            },
        })
    }

    /// Whether a successful request shows that the host has the text, because the host's own server answered.
    /// An exit code or a written line shows nothing.
    pub(super) fn confirms(&self) -> bool {
        matches!(self, Self::OpencodePort { .. })
    }

    /// A request that shows, for `entraclaw doctor`, whether the wake-up is there without using it. `None`
    /// for a file or socket, which is checked in another way.
    pub fn trial(&self) -> Option<WakeUpRequest> {
        match self {
            Self::CodexQueue { command } => Some(WakeUpRequest::Run {
                program: command.clone(),
                arguments: vec!["queue".to_owned(), "--help".to_owned()],
            }),
            Self::OpencodePort { port, password } => Some(sessions(*port, password.as_ref())),
            Self::InboxSocket(_) | Self::WakingHook(_) | Self::QwenPeer | Self::QwenFile { .. } => None,
        }
    }
}

/// The request for the list of sessions.
fn sessions(port: u16, password: Option<&Secret>) -> WakeUpRequest {
    let (method, path, password) = (HttpMethod::Get, SESSIONS_PATH.to_owned(), password.cloned());
    WakeUpRequest::Http { method, port, path, body: None, password }
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(rename = "parentID")]
    parent_id: Option<String>,
    time: Option<Times>,
}

#[derive(Deserialize)]
struct Times {
    /// Milliseconds since 1970.
    updated: Option<f64>,
}

/// The session that was used last, if that was after `since`. A session that was not used during this
/// connection is an old one, and possibly no user looks at it. Sessions of helpers are not the user's. An
/// error if the body is no list.
#[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 are far below 2^52")]
fn newest_session(body: &[u8], since: Timestamp) -> serde_json::Result<Option<String>> {
    let sessions: Vec<Listed> = serde_json::from_slice(body)?;
    let since = since.as_millisecond() as f64;
    let is_id = |id: &str| {
        !id.is_empty()
            && id.len() <= SESSION_CHARS_MAX
            && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let mut newest: Option<(f64, String)> = None;
    for session in sessions.into_iter().filter(|session| session.parent_id.is_none() && is_id(&session.id)) {
        // In a list without times, the order of the list counts.
        let used = session.time.and_then(|time| time.updated).unwrap_or(since);
        if used >= since && newest.as_ref().is_none_or(|(best, _)| used > *best) {
            newest = Some((used, session.id));
        }
    }
    Ok(newest.map(|(_, id)| id))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::journal::ConsumerName;

    #[rstest]
    fn a_waking_hook_waits_until_one_is_seen(#[values(false, true)] has_waking_hook: bool) {
        let meeting = MeetingPlace::new(&ConsumerName::new("claude-code").unwrap(), "1").unwrap();
        let hook = HostWakeUp::WakingHook(meeting);
        let mut sighted = HostActivity::default();
        sighted.has_waking_hook = has_waking_hook;
        let expected = if has_waking_hook { WakeUpState::Ready } else { WakeUpState::Waiting };
        assert_eq!(hook.first_state(&sighted), expected);
    }

    #[rstest]
    #[case("[]", Ok(None))]
    #[case(r#"[{"id":"ses_a"}]"#, Ok(Some("ses_a")))]
    #[case(r#"[{"id":"ses_a","time":{"updated":999}}]"#, Ok(None))]
    #[case(
        r#"[{"id":"ses_a","time":{"created":1,"updated":1500}},{"id":"ses_b","time":{"updated":2000}}]"#,
        Ok(Some("ses_b"))
    )]
    #[case(
        r#"[{"id":"ses_a","time":{"updated":1500}},{"id":"ses_b","parentID":"ses_a","time":{"updated":2000}}]"#,
        Ok(Some("ses_a"))
    )]
    #[case(r#"[{"id":"../config","time":{"updated":2000}}]"#, Ok(None))]
    #[case(r#"{"error":"no"}"#, Err(()))]
    #[case("<html>", Err(()))]
    #[case("", Err(()))]
    fn the_session_in_use_is_found(#[case] body: &str, #[case] found: Result<Option<&str>, ()>) {
        let since = Timestamp::from_millisecond(1_000).unwrap();
        let session = newest_session(body.as_bytes(), since).map_err(|_| ());
        assert_eq!(session, found.map(|id| id.map(str::to_owned)));
    }
}
