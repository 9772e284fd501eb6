//! When a host is woken, with what, how often a failed wake-up is tried again, and what becomes of a message that can't
//! be told, against a scripted host in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::storage::MemoryStorage;
use futures_util::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::{Instant, sleep_until};

use super::*;
use crate::journal::{ConsumerName, DeliveryState, Journal, JournalOptions};
use crate::presence::Presence;
use crate::record::{Channel, Draft};

/// A host that notes each wake-up and answers as it is told.
struct ScriptedHost {
    since: Instant,
    used: Mutex<Vec<(u64, WakeUpRequest)>>,
    answers: Mutex<VecDeque<Result<WakeUpAnswer, WakeUpError>>>,
    has_peer: bool,
    receipts: AsyncMutex<mpsc::UnboundedReceiver<Receipt>>,
}

impl WakeUps for ScriptedHost {
    fn wake(&self, request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>> {
        let at_s = self.since.elapsed().as_secs();
        self.used.lock().unwrap().push((at_s, request));
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or_else(|| Ok(WakeUpAnswer::default()));
        Box::pin(std::future::ready(answer))
    }

    fn has_peer(&self) -> bool {
        self.has_peer
    }

    fn receipt(&self) -> BoxFuture<'_, Receipt> {
        Box::pin(async {
            match self.receipts.lock().await.recv().await {
                Some(receipt) => receipt,
                None => std::future::pending().await,
            }
        })
    }
}

/// A session with a host that can be woken.
struct Session {
    host: Arc<ScriptedHost>,
    tell: mpsc::UnboundedSender<Receipt>,
    journal: Journal,
    activity: ActivityWatch,
    presence: Presence,
    since: Instant,
}

impl Session {
    fn new(family: &'static str, settings: WakeUpSettings, whole_text: WholeText) -> Self {
        let storage = Arc::new(MemoryStorage::new());
        let clock = Arc::new(TokioClock::starting_at("2026-11-25T08:00:00Z".parse().unwrap()));
        let (journal, _) = Journal::open(storage.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let (tell, receipts) = mpsc::unbounded_channel();
        let since = Instant::now();
        let host = Arc::new(ScriptedHost {
            since,
            used: Mutex::default(),
            answers: Mutex::default(),
            has_peer: family == "qwen-code",
            receipts: AsyncMutex::new(receipts),
        });
        let (activity, presence) = (ActivityWatch::default(), Presence::default());
        let carrier = WakeUpCarrier {
            wake_ups: host.clone(),
            settings,
            inbox: None,
            process: None,
            storage,
            trust: Trust { whole_text, operator: None },
            journal: journal.clone(),
            clock,
            activity: activity.clone(),
            presence: presence.clone(),
            id: "one".to_owned(),
        };
        tokio::spawn(carrier.run());
        let consumer = ConsumerName::new(family).unwrap();
        activity.met(Met { family, version: [1, 0, 0], consumer });
        activity.called_by("0199b1c2-aaaa-7000-8000-000000000001");
        Self { host, tell, journal, activity, presence, since }
    }

    fn codex(whole_text: WholeText) -> Self {
        Self::new("codex", WakeUpSettings { codex_queue: true, ..WakeUpSettings::default() }, whole_text)
    }

    fn qwen() -> Self {
        Self::new("qwen-code", WakeUpSettings::default(), WholeText::Allowed)
    }

    fn opencode() -> Self {
        let settings = WakeUpSettings { opencode_port: Some(4096), ..WakeUpSettings::default() };
        Self::new("opencode", settings, WholeText::Allowed)
    }

    fn answers(&self, answers: impl IntoIterator<Item = Result<WakeUpAnswer, WakeUpError>>) {
        self.host.answers.lock().unwrap().extend(answers);
    }

    /// A message comes.
    fn comes(&self, number: u64) {
        let draft = Draft {
            key: format!("teams/{number}"),
            id: format!("m{number}"),
            channel: Channel::Teams,
            chat_id: "19:a".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-11-25T08:00:00Z".to_owned(),
            content_text_sanitized: format!("message {number}"),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        self.journal.append(vec![draft]).unwrap();
    }

    /// Time passes until that second of the session.
    async fn until(&self, second: u64) {
        sleep_until(self.since + Duration::from_secs(second) + Duration::from_millis(10)).await;
    }

    /// The seconds at which the host was woken, and the texts.
    fn woken(&self) -> Vec<(u64, String)> {
        let used = self.host.used.lock().unwrap();
        used.iter().map(|(at, request)| (*at, text_of(request))).collect()
    }

    fn woken_at(&self) -> Vec<u64> {
        self.woken().into_iter().map(|(at, _)| at).collect()
    }

    /// The ids under which messages were handed in.
    fn ids(&self) -> Vec<String> {
        let used = self.host.used.lock().unwrap();
        let id = |request: &WakeUpRequest| match request {
            WakeUpRequest::Peer { id, .. } => Some(id.clone()),
            _ => None,
        };
        used.iter().filter_map(|(_, request)| id(request)).collect()
    }

    /// The host's verdict on the last message that was handed in.
    fn receives(&self, status: ReceiptStatus) {
        let id = self.ids().pop().unwrap();
        self.tell.send(Receipt { ids: vec![id], status }).unwrap();
    }

    /// What the wake-up is called in `entraclaw status`.
    fn state(&self) -> Vec<&'static str> {
        self.presence.get().carriers.into_iter().collect()
    }

    /// The state of a message for its consumer.
    fn delivery(&self, seq: u64) -> DeliveryState {
        let consumer = self.activity.host().unwrap().consumer;
        self.journal.mailbox(&consumer, "two").unwrap().state_of(seq).unwrap()
    }
}

fn text_of(request: &WakeUpRequest) -> String {
    match request {
        WakeUpRequest::Run { arguments, .. } => arguments.last().unwrap().clone(),
        WakeUpRequest::Peer { text, .. } => text.clone(),
        WakeUpRequest::Append { line, .. } => {
            let line: Value = serde_json::from_str(line).unwrap();
            line["text"].as_str().unwrap().to_owned()
        }
        WakeUpRequest::Http { method: HttpMethod::Get, path, .. } => format!("GET {path}"),
        WakeUpRequest::Http { path, body, .. } => format!("POST {path} {}", body.as_deref().unwrap()),
        WakeUpRequest::Socket { line, .. } => line.clone(),
    }
}

/// The host surely was not woken.
fn refused() -> Result<WakeUpAnswer, WakeUpError> {
    Err(WakeUpError::Refused { program: "codex".to_owned(), code: 1 })
}

/// The host may have been woken.
fn timed_out() -> Result<WakeUpAnswer, WakeUpError> {
    Err(WakeUpError::TimeUp { what: "codex".to_owned(), limit_ms: 10_000 })
}

#[tokio::test(start_paused = true)]
async fn a_host_is_woken_two_seconds_after_it_begins_and_then_at_once() {
    let session = Session::codex(WholeText::Allowed);
    session.comes(1);
    session.until(30).await;
    session.comes(2);
    session.until(60).await;
    let woken = session.woken();
    assert_eq!(session.woken_at(), [2, 30]);
    assert!(woken[0].1.contains("> message 1") && woken[0].1.contains("[wake-up 1]"), "{woken:?}");
    assert!(woken[1].1.contains("> message 2") && woken[1].1.contains("[wake-up 2]"), "{woken:?}");
    assert_eq!(session.state(), ["codex queue"]);
    assert_eq!(session.delivery(1), DeliveryState::Pushed);
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_fails_is_tried_three_times_more_and_then_leaves_its_message() {
    let session = Session::codex(WholeText::Allowed);
    session.answers([refused(), refused(), refused(), refused()]);
    session.until(5).await;
    session.comes(1);
    session.until(30).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5, 6, 11], vec!["codex queue"]));
    session.until(60).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5, 6, 11, 41], vec!["codex queue (failing)"]));
    assert_eq!(session.delivery(1), DeliveryState::New, "it comes without a mark");
    session.comes(2);
    session.until(70).await;
    assert_eq!((session.woken_at()[4..].to_vec(), session.state()), (vec![60], vec!["codex queue"]));
}

#[tokio::test(start_paused = true)]
async fn a_pause_follows_a_wake_up_that_failed_for_good() {
    let session = Session::codex(WholeText::Allowed);
    session.answers([refused(), refused(), refused(), refused()]);
    session.until(5).await;
    session.comes(1);
    session.until(43).await;
    session.comes(2);
    session.until(60).await;
    assert_eq!(session.woken_at(), [5, 6, 11, 41, 51]);
    assert!(session.woken()[4].1.contains("> message 2"));
}

#[tokio::test(start_paused = true)]
async fn an_announcement_that_fails_is_tried_again_with_what_came_meanwhile() {
    let session = Session::codex(WholeText::Nobody);
    session.answers([refused(), refused()]);
    session.until(5).await;
    session.comes(1);
    session.until(7).await;
    session.comes(2);
    session.until(60).await;
    let woken = session.woken();
    assert_eq!(session.woken_at(), [5, 6, 11]);
    assert!(woken[1].1.contains("a message from outside waits"), "{woken:?}");
    assert!(woken[2].1.contains("2 messages from outside wait"), "{woken:?}");
    assert_eq!(session.delivery(1), DeliveryState::New);
}

#[tokio::test(start_paused = true)]
async fn a_wake_up_that_may_have_arrived_is_not_tried_again() {
    let session = Session::codex(WholeText::Allowed);
    session.answers([timed_out()]);
    session.until(5).await;
    session.comes(1);
    session.until(60).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5], vec!["codex queue (failing)"]));
    assert_eq!(session.delivery(1), DeliveryState::Pushed);
}

#[tokio::test(start_paused = true)]
async fn messages_after_a_wake_up_wait_ten_seconds_or_for_a_call_and_go_together() {
    let session = Session::codex(WholeText::Allowed);
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.comes(2);
    session.comes(3);
    session.until(20).await;
    assert_eq!(session.woken_at(), [5, 15]);
    let together = session.woken()[1].1.clone();
    assert!(together.contains("1. \"Alice\"") && together.contains("> message 3"), "{together}");
    session.activity.called();
    session.comes(4);
    session.until(21).await;
    assert_eq!(session.woken_at(), [5, 15, 20]);
}

#[tokio::test(start_paused = true)]
async fn no_wake_up_is_used_while_the_agent_waits_or_asks_its_user() {
    let session = Session::codex(WholeText::Allowed);
    session.until(5).await;
    session.activity.waits(true);
    session.comes(1);
    session.until(100).await;
    assert!(session.woken().is_empty());
    session.activity.waits(false);
    session.until(109).await;
    assert!(session.woken().is_empty(), "it may call again at once");
    session.until(111).await;
    assert_eq!(session.woken_at(), [110]);
    session.until(130).await;
    session.activity.asks("abcde");
    session.comes(2);
    session.until(1_000).await;
    session.activity.answered("abcde");
    session.until(1_001).await;
    assert_eq!(session.woken_at(), [110, 1_000]);
}

#[tokio::test(start_paused = true)]
async fn an_hour_has_so_many_messages_and_the_next_one_tells_when() {
    let settings = WakeUpSettings { codex_queue: true, messages_per_hour: 2, ..WakeUpSettings::default() };
    let session = Session::new("codex", settings, WholeText::Allowed);
    for (second, number) in [(5, 1), (100, 2), (200, 3)] {
        session.until(second).await;
        session.comes(number);
    }
    session.until(300).await;
    let from = session.presence.get().wake_ups_from.unwrap();
    assert_eq!((session.woken_at(), format!("{from:.0}").as_str()), (vec![5, 100], "2026-11-25T09:00:05Z"));
    session.until(3_700).await;
    assert_eq!(session.woken_at(), [5, 100, 3_605]);
    assert_eq!(session.presence.get().wake_ups_from, None);
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_reminded_of_what_it_was_told_of_until_it_makes_a_call() {
    const MINUTE: u64 = 60;
    for calls in [false, true] {
        let session = Session::codex(WholeText::Nobody);
        session.until(5).await;
        session.comes(1);
        session.until(6 * MINUTE).await;
        if calls {
            session.activity.called();
        }
        session.until(24 * 60 * MINUTE).await;
        let reminded = [5, 305, 305 + 30 * MINUTE, 305 + 150 * MINUTE];
        assert_eq!(session.woken_at(), if calls { &reminded[..2] } else { &reminded }, "calls: {calls}");
    }
}

#[tokio::test(start_paused = true)]
async fn opencode_is_woken_in_the_session_that_is_in_use_once_there_is_one() {
    let session = Session::opencode();
    let none = WakeUpAnswer { body: b"[]".to_vec() };
    let one = WakeUpAnswer { body: json!([{"id": "ses_a"}]).to_string().into_bytes() };
    session.answers([Ok(none), Ok(one)]);
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    assert_eq!(session.state(), ["opencode port (waits for a first prompt)"]);
    session.until(60).await;
    let woken = session.woken();
    assert_eq!(session.woken_at(), [5, 20, 20]);
    assert!(woken[2].1.starts_with("POST /session/ses_a/prompt_async"), "{woken:?}");
    assert_eq!((session.state(), session.delivery(1)), (vec!["opencode port"], DeliveryState::Shown));
}

/// Its place is looked for before it is claimed.
#[tokio::test(start_paused = true)]
async fn an_announcement_for_which_there_was_no_port_is_made_once() {
    let settings = WakeUpSettings { opencode_port: Some(4096), ..WakeUpSettings::default() };
    let session = Session::new("opencode", settings, WholeText::Nobody);
    let one = WakeUpAnswer { body: json!([{"id": "ses_a"}]).to_string().into_bytes() };
    let closed = WakeUpError::Unreachable { port: 4096, reason: "closed".to_owned() };
    session.answers([Err(closed), Ok(one)]);
    session.until(5).await;
    session.comes(1);
    session.until(60).await;
    assert_eq!(session.woken_at(), [5, 6, 6], "{:?}", session.woken());
}

#[tokio::test(start_paused = true)]
async fn a_port_that_is_not_opencodes_leaves_the_message_unmarked() {
    let session = Session::opencode();
    let page = || Ok(WakeUpAnswer { body: b"<html>".to_vec() });
    session.answers([page(), page(), page(), page()]);
    session.until(5).await;
    session.comes(1);
    session.until(60).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5, 6, 11, 41], vec!["opencode port (failing)"]));
    assert_eq!(session.delivery(1), DeliveryState::New);
}

#[tokio::test(start_paused = true)]
async fn messages_are_handed_in_one_by_one_at_each_receipt() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.comes(2);
    session.until(8).await;
    assert_eq!(session.woken_at(), [5], "one at a time");
    session.receives(ReceiptStatus::Delivered);
    session.until(9).await;
    session.receives(ReceiptStatus::Delivered);
    session.until(10).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5, 8], vec!["qwen peer protocol"]));
    assert_eq!([session.delivery(1), session.delivery(2)], [DeliveryState::Shown; 2]);
    let ids = session.ids();
    assert!(ids[0] != ids[1] && session.woken()[1].1.contains("> message 2"));
}

#[tokio::test(start_paused = true)]
async fn a_message_without_a_receipt_is_handed_in_four_times_under_one_id() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(134).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5, 15, 35, 75], vec!["qwen peer protocol"]));
    session.until(136).await;
    assert_eq!((session.woken_at().len(), session.state()), (4, vec!["qwen peer protocol (failing)"]));
    assert!(session.ids().iter().all(|id| *id == session.ids()[0]));
    assert_eq!(session.delivery(1), DeliveryState::Pushed, "it may be there");
    // Its receipt may come late.
    session.receives(ReceiptStatus::Delivered);
    session.until(137).await;
    assert_eq!(session.delivery(1), DeliveryState::Shown);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_surely_never_arrived_is_left_unmarked() {
    let session = Session::qwen();
    let gone = || Err(WakeUpError::Peer { path: "/run/qwen.sock".to_owned(), reason: "gone".to_owned() });
    session.answers([gone(), gone(), gone(), gone()]);
    session.until(5).await;
    session.comes(1);
    session.until(136).await;
    assert_eq!((session.woken_at(), session.delivery(1)), (vec![5, 15, 35, 75], DeliveryState::New));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_pulled_meanwhile_is_not_handed_in_again() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(8).await;
    let mut mailbox = session.journal.mailbox(&session.activity.host().unwrap().consumer, "one").unwrap();
    mailbox.hand_out(crate::journal::DeliveryId(1), &crate::journal::Query::default()).unwrap();
    session.comes(2);
    session.until(19).await;
    let woken = session.woken();
    assert!(woken.len() == 2 && woken[1].1.contains("> message 2"), "{woken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_held_message_waits_a_quarter_of_an_hour_for_the_user_and_is_not_repeated() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.receives(ReceiptStatus::Held);
    session.until(7).await;
    session.receives(ReceiptStatus::Held);
    session.comes(2);
    session.until(905).await;
    let held = ["qwen peer protocol (held: decide with /peers)"];
    assert_eq!((session.woken_at(), session.state()), (vec![5], held.to_vec()));
    session.until(917).await;
    assert_eq!(session.woken_at(), [5, 916], "the next message goes");
    assert_eq!(session.delivery(1), DeliveryState::Pushed);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_dropped_is_handed_in_again_after_half_a_minute() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.receives(ReceiptStatus::Dropped);
    session.until(60).await;
    assert_eq!(session.woken_at(), [5, 36, 56]);
    assert_eq!(session.ids()[0], session.ids()[2]);
}

#[rstest]
#[case::denied(ReceiptStatus::Denied)]
#[case::expired(ReceiptStatus::Expired)]
#[case::of_another_session(ReceiptStatus::Misaddressed)]
#[tokio::test(start_paused = true)]
async fn a_message_that_was_not_taken_comes_unmarked_by_a_call(#[case] status: ReceiptStatus) {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.receives(status);
    session.until(120).await;
    assert_eq!((session.woken_at(), session.state()), (vec![5], vec!["qwen peer protocol"]));
    assert_eq!(session.delivery(1), DeliveryState::New);
    // A late verdict on a message that is settled changes nothing but its mark.
    session.receives(ReceiptStatus::Delivered);
    session.until(121).await;
    assert_eq!((session.woken_at().len(), session.delivery(1)), (1, DeliveryState::Shown));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_refuses_messages_is_asked_again_after_an_hour() {
    let session = Session::qwen();
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.receives(ReceiptStatus::Refused);
    session.until(10).await;
    assert_eq!(session.state(), ["qwen peer protocol (refused by agents.crossSessionInbound)"]);
    assert_eq!(session.delivery(1), DeliveryState::New);
    session.comes(2);
    session.until(4_000).await;
    assert_eq!(session.woken_at()[..2], [5, 3_606]);
    assert!(session.woken()[1].1.contains("> message 2"));
}

#[rstest]
#[case::whole(WholeText::Allowed, "> message 1")]
#[case::announced(WholeText::Nobody, "a message from outside waits")]
#[tokio::test(start_paused = true)]
async fn what_a_session_refuses_goes_through_its_file_where_there_is_one(
    #[case] whole_text: WholeText,
    #[case] told: &str,
) {
    let file = Some("/home/alice/qwen.jsonl".to_owned());
    let settings = WakeUpSettings { qwen_input_file: file, ..WakeUpSettings::default() };
    let session = Session::new("qwen-code", settings, whole_text);
    session.until(5).await;
    session.comes(1);
    session.until(6).await;
    session.receives(ReceiptStatus::Refused);
    session.until(60).await;
    let woken = session.woken();
    assert_eq!(woken.len(), 2);
    assert!(woken.iter().all(|(_, text)| text.contains(told)), "{woken:?}");
    assert!(matches!(session.host.used.lock().unwrap()[1].1, WakeUpRequest::Append { .. }));
    assert!(session.state().contains(&"qwen input file"), "{:?}", session.state());
    // The refusal stands for the first way alone.
    session.receives(ReceiptStatus::Refused);
    session.until(61).await;
    let pushed = if whole_text == WholeText::Allowed { DeliveryState::Pushed } else { DeliveryState::New };
    assert_eq!(session.delivery(1), pushed);
}

#[rstest]
#[case(401, "set ENTRACLAW_WAKE_OPENCODE_PASSWORD to its password")]
#[case(403, "set ENTRACLAW_WAKE_OPENCODE_PASSWORD to its password")]
#[case(404, "see whether another program has that port")]
fn a_port_that_refuses_says_what_to_do(#[case] status: u16, #[case] remedy: &str) {
    let error = WakeUpError::Status { port: 4_096, path: "/tui".to_owned(), status };
    assert_eq!(error.to_string(), format!("127.0.0.1:4096 answered {status} to /tui; {remedy}"));
}
