//! A host with a wake-up that the tests script, and the connection beside it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_inbox::permission::PermissionPort;
use entraclaw_inbox::presence::Presence;
use entraclaw_inbox::provider::SessionOptions;
use entraclaw_inbox::wake_up::{
    ActivityWatch, HttpMethod, InboxSocket, Trust, WakeUpAnswer, WakeUpCarrier, WakeUpError, WakeUpRequest,
    WakeUpSettings, WakeUps, WholeText,
};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::secret::Secret;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::{BEGUN, THREAD, peer};
use crate::support::{Home, Host, ids, initialize};

/// Wake-ups that return the scripted outcomes and record each use.
pub(super) struct Scripted {
    pub(super) wake_ups: Mutex<Vec<(Duration, WakeUpRequest)>>,
    /// The time and the text of each wake-up that may have reached the host.
    pub(super) moved: Mutex<Vec<(Duration, String)>>,
    pub(super) outcomes: Mutex<VecDeque<Result<WakeUpAnswer, WakeUpError>>>,
    pub(super) sessions: Mutex<Value>,
    /// The inbox of a host that reports what became of each message.
    pub(super) inbox: peer::Inbox,
    pub(super) began: Instant,
}

impl Scripted {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            wake_ups: Mutex::default(),
            moved: Mutex::default(),
            outcomes: Mutex::default(),
            sessions: Mutex::new(json!([])),
            inbox: peer::Inbox::default(),
            began: Instant::now(),
        })
    }

    pub(super) fn fail(&self, error: &WakeUpError, times: usize) {
        self.outcomes.lock().unwrap().extend(std::iter::repeat_n(Err(error.clone()), times));
    }

    pub(super) fn count(&self) -> usize {
        self.wake_ups.lock().unwrap().len()
    }

    /// The texts of all wake-ups so far, each with its time in seconds since the first.
    pub(super) fn texts(&self) -> Vec<(u64, String)> {
        let wake_ups = self.wake_ups.lock().unwrap();
        let first = wake_ups.first().map(|(at, _)| *at).unwrap_or_default();
        wake_ups.iter().map(|(at, request)| (at.saturating_sub(first).as_secs(), text(request))).collect()
    }
}

pub(super) fn text(request: &WakeUpRequest) -> String {
    let json = |json: &str| serde_json::from_str::<Value>(json).unwrap();
    match request {
        WakeUpRequest::Run { arguments, .. } => arguments.last().unwrap().clone(),
        WakeUpRequest::Http { body, .. } => {
            json(body.as_ref().unwrap())["parts"][0]["text"].as_str().unwrap().to_owned()
        }
        WakeUpRequest::Append { line, .. } => json(line)["text"].as_str().unwrap().to_owned(),
        WakeUpRequest::Peer { text, .. } => text.clone(),
        WakeUpRequest::Socket { line, .. } => json(line)["message"]["content"].as_str().unwrap().to_owned(),
    }
}

impl WakeUps for Scripted {
    fn wake(&self, request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>> {
        async move {
            if let WakeUpRequest::Http { method: HttpMethod::Get, path, .. } = &request {
                assert_eq!(path, "/session");
                return Ok(WakeUpAnswer { body: self.sessions.lock().unwrap().to_string().into_bytes() });
            }
            let outcome = self.outcomes.lock().unwrap().pop_front();
            let outcome = outcome.unwrap_or_else(|| Ok(WakeUpAnswer::default()));
            let now = self.began.elapsed();
            if let (WakeUpRequest::Peer { id, text }, true) = (&request, outcome.is_ok()) {
                self.inbox.take(id, text, now);
            }
            if !outcome.as_ref().is_err_and(WakeUpError::is_certain) {
                self.moved.lock().unwrap().push((now, text(&request)));
            }
            self.wake_ups.lock().unwrap().push((now, request));
            sleep(Duration::from_millis(20)).await;
            outcome
        }
        .boxed()
    }

    fn has_peer(&self) -> bool {
        self.inbox.is_there
    }

    fn receipt(&self) -> BoxFuture<'_, entraclaw_inbox::wake_up::Receipt> {
        self.inbox.receipt().boxed()
    }
}

pub(super) fn all_on() -> WakeUpSettings {
    WakeUpSettings {
        codex_queue: true,
        opencode_port: Some(4096),
        opencode_password: Some(Secret::new("hush")),
        qwen_input_file: Some("/tmp/qwen.jsonl".to_owned()),
        ..WakeUpSettings::default()
    }
}

pub(super) fn inbox() -> InboxSocket {
    InboxSocket { path: "/tmp/inbox.sock".to_owned(), token: Secret::new("hush") }
}

pub(super) fn refused() -> WakeUpError {
    WakeUpError::Refused { program: "codex".to_owned(), code: 1 }
}

/// A connected host with its wake-up, activity and presence.
pub(super) struct WokenWith {
    pub(super) host: Host,
    pub(super) wake_up: Arc<Scripted>,
    pub(super) wake_ups: WakeUpSettings,
    pub(super) activity: ActivityWatch,
    pub(super) presence: Presence,
    pub(super) carrier: JoinHandle<std::convert::Infallible>,
    pub(super) calls: u64,
}

impl Drop for WokenWith {
    fn drop(&mut self) {
        self.carrier.abort();
    }
}

pub(super) fn connect(
    home: &Home,
    settings: WakeUpSettings,
    wake_ups: &Arc<Scripted>,
    port: Option<PermissionPort>,
) -> WokenWith {
    let mut options = home.options();
    options.permission = port;
    connect_by(home, settings, wake_ups, options, 64 * 1024)
}

pub(super) fn connect_by(
    home: &Home,
    settings: WakeUpSettings,
    wake_ups: &Arc<Scripted>,
    mut options: SessionOptions,
    pipe_bytes: usize,
) -> WokenWith {
    let (activity, presence) = (ActivityWatch::default(), Presence::default());
    options.activity = activity.clone();
    options.inbox_socket = settings.inbox_socket;
    options.presence = presence.clone();
    let trust = Trust { whole_text: WholeText::Allowed, operator: None };
    let carrier = carrier(home, settings.clone(), wake_ups, trust, &activity, &presence);
    WokenWith {
        host: Host::start(options, pipe_bytes),
        wake_up: wake_ups.clone(),
        wake_ups: settings,
        activity,
        presence,
        carrier,
        calls: 0,
    }
}

pub(super) fn carrier(
    home: &Home,
    settings: WakeUpSettings,
    wake_ups: &Arc<Scripted>,
    trust: Trust,
    activity: &ActivityWatch,
    presence: &Presence,
) -> JoinHandle<std::convert::Infallible> {
    let carrier = WakeUpCarrier {
        wake_ups: wake_ups.clone(),
        settings,
        inbox: Some(inbox()),
        process: None,
        storage: Arc::new(entraclaw_seams::storage::MemoryStorage::new()),
        trust,
        journal: home.journal.clone(),
        clock: Arc::new(TokioClock::starting_at("2026-01-01T00:00:00Z".parse().unwrap())) as Arc<dyn Clock>,
        activity: activity.clone(),
        presence: presence.clone(),
        id: "carrier".to_owned(),
    };
    tokio::spawn(carrier.run())
}

/// A host that is initialized and has made a first call.
pub(super) async fn begun(home: &Home, client: &str) -> WokenWith {
    let mut woken = connect(home, all_on(), &Scripted::new(), None);
    woken.begin(client).await;
    woken
}

impl WokenWith {
    /// Replaces the trust settings of the carrier. Call it before the host begins.
    pub(super) fn trust(&mut self, trust: Trust, home: &Home) {
        self.carrier.abort();
        self.carrier =
            carrier(home, self.wake_ups.clone(), &self.wake_up, trust, &self.activity, &self.presence);
    }

    pub(super) async fn begin(&mut self, client: &str) {
        let mut opening = initialize(client, "2025-11-25");
        opening["params"]["clientInfo"]["version"] = json!("2.1.330");
        self.host.open_with(opening).await;
        self.ask("inbound_queue_stats", json!({})).await;
        sleep(BEGUN).await;
    }

    /// Calls a tool as Codex does.
    pub(super) async fn call(&mut self, tool: &str, arguments: Value, thread: &str) -> u64 {
        self.calls += 1;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"threadId": thread}});
        self.host.request(self.calls, "tools/call", params).await;
        self.calls
    }

    pub(super) async fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments, THREAD).await;
        crate::support::tool_json(&self.host.next_answer().await)
    }

    pub(super) async fn pull(&mut self) -> Vec<String> {
        let answer = self.ask("inbox_pull", json!({})).await;
        ids(&answer)
    }

    pub(super) fn carriers(&self) -> Vec<&'static str> {
        self.presence.get().carriers.into_iter().filter(|c| c.contains("codex")).collect()
    }
}
