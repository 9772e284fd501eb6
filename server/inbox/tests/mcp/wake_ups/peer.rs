//! The wake-up that says what became of a message: Qwen Code's inbox, with a session behind it that speaks the protocol.

use std::collections::BTreeMap;
use std::sync::Arc;

use entraclaw_inbox::wake_up::{Receipt, ReceiptStatus};

use super::*;

const QWEN: &str = "qwen-cli-mcp-client-entraclaw";

/// What the session's inbox does, told by the tests.
pub(super) struct Inbox {
    pub(super) is_there: bool,
    /// Verdicts of the messages to come; `None` shows the message and loses the receipt. Then all are delivered.
    verdicts: Mutex<VecDeque<Option<ReceiptStatus>>>,
    settled: Mutex<BTreeMap<String, ReceiptStatus>>,
    shown: Mutex<Vec<(Duration, String)>>,
    tell: mpsc::UnboundedSender<Receipt>,
    told: tokio::sync::Mutex<mpsc::UnboundedReceiver<Receipt>>,
}

impl Default for Inbox {
    fn default() -> Self {
        let (tell, told) = mpsc::unbounded_channel();
        Self {
            is_there: false,
            verdicts: Mutex::default(),
            settled: Mutex::default(),
            shown: Mutex::default(),
            tell,
            told: tokio::sync::Mutex::new(told),
        }
    }
}

impl Inbox {
    pub(super) fn take(&self, id: &str, text: &str, now: Duration) {
        if let Some(verdict) = self.settled.lock().unwrap().get(id) {
            return self.say(id, *verdict);
        }
        let verdict = self.verdicts.lock().unwrap().pop_front().unwrap_or(Some(ReceiptStatus::Delivered));
        let status = verdict.unwrap_or(ReceiptStatus::Delivered);
        if status == ReceiptStatus::Delivered {
            self.shown.lock().unwrap().push((now, text.to_owned()));
        }
        if !matches!(status, ReceiptStatus::Dropped | ReceiptStatus::Held) {
            self.settled.lock().unwrap().insert(id.to_owned(), status);
        }
        if verdict.is_some() {
            self.say(id, status);
        }
    }

    fn say(&self, id: &str, status: ReceiptStatus) {
        self.tell.send(Receipt { ids: vec![id.to_owned()], status }).unwrap();
    }

    pub(super) async fn receipt(&self) -> Receipt {
        self.told.lock().await.recv().await.unwrap()
    }

    fn will(&self, verdicts: &[Option<ReceiptStatus>]) {
        self.verdicts.lock().unwrap().extend(verdicts);
    }

    fn shown(&self) -> usize {
        self.shown.lock().unwrap().len()
    }
}

async fn qwen(home: &Home, wake_ups: WakeUpSettings) -> WokenWith {
    let mut wake_up = Arc::into_inner(Scripted::new()).unwrap();
    wake_up.inbox.is_there = true;
    let mut woken = connect(home, wake_ups, &Arc::new(wake_up), None);
    woken.begin(QWEN).await;
    woken
}

fn no_file() -> WakeUpSettings {
    WakeUpSettings { qwen_input_file: None, ..all_on() }
}

impl WokenWith {
    fn state(&self) -> Vec<&'static str> {
        self.presence.get().carriers.into_iter().filter(|carrier| carrier.contains("qwen")).collect()
    }

    fn ids(&self) -> Vec<String> {
        let wake_ups = self.wake_up.wake_ups.lock().unwrap();
        let id = |request: &WakeUpRequest| match request {
            WakeUpRequest::Peer { id, .. } => id.clone(),
            other => panic!("{other:?}"),
        };
        wake_ups.iter().map(|(_, request)| id(request)).collect()
    }

    async fn wait(&self, seconds: u64) {
        sleep(Duration::from_secs(seconds)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_handed_in_whole_and_its_receipt_says_that_it_was_shown() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    home.receive([1]);
    qwen.wait(1).await;
    assert_eq!(qwen.wake_up.inbox.shown(), 1);
    let (_, text) = qwen.wake_up.inbox.shown.lock().unwrap()[0].clone();
    assert!(text.starts_with("[Entraclaw] message from outside: \"Alice\" wrote in Teams"), "{text}");
    assert!(text.contains("\n> text 1\n"));
    assert_eq!(qwen.state(), ["qwen peer protocol"]);
    // It stands in a queue that dies with the session, so nothing is acknowledged by that.
    assert_eq!(qwen.pull().await, ["m1 redelivered pushed"]);
}

#[tokio::test(start_paused = true)]
async fn each_message_goes_under_an_id_of_its_own_and_never_faster_than_the_inbox_takes() {
    let home = Home::new();
    let qwen = qwen(&home, WakeUpSettings { messages_per_hour: 600, ..all_on() }).await;
    home.receive(1..=33);
    qwen.wait(60).await;
    let mut ids = qwen.ids();
    assert_eq!((ids.len(), qwen.wake_up.inbox.shown()), (33, 33));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 33);
    let shown = qwen.wake_up.inbox.shown.lock().unwrap().clone();
    let first = shown[0].0;
    let allowed = |(n, (at, _)): (usize, &(Duration, String))| {
        let refilled = at.saturating_sub(first).as_secs() / 2;
        (n as u64) < 30 + refilled
    };
    assert!(shown.iter().enumerate().all(allowed), "{shown:?}");
    assert!(
        shown[29].0.saturating_sub(first) < Duration::from_secs(2)
            && shown[32].0.saturating_sub(first) < Duration::from_secs(10)
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_receipt_is_asked_for_under_the_same_id() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[None]);
    home.receive([1]);
    qwen.wait(60).await;
    let ids = qwen.ids();
    assert_eq!((ids.len(), qwen.wake_up.inbox.shown()), (2, 1));
    assert_eq!(ids[0], ids[1]);
    assert_eq!(qwen.state(), ["qwen peer protocol"]);
    assert_eq!(qwen.pull().await, ["m1 redelivered pushed"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_says_nothing_is_given_up_and_said_to_fail() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.fail(&WakeUpError::Peer { path: "/x".to_owned(), reason: "gone".to_owned() }, 4);
    home.receive([1]);
    qwen.wait(200).await;
    assert_eq!((qwen.ids().len(), qwen.state()), (4, vec!["qwen peer protocol (failing)"]));
    home.receive([2]);
    qwen.wait(60).await;
    assert_eq!((qwen.wake_up.inbox.shown(), qwen.state()), (1, vec!["qwen peer protocol"]));
    assert_eq!(qwen.pull().await, ["m1", "m2 redelivered pushed"]);
}

#[tokio::test(start_paused = true)]
async fn a_held_message_is_told_and_nothing_more_is_handed_in_until_it_is_decided() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Held)]);
    home.receive(1..=2);
    qwen.wait(120).await;
    assert_eq!((qwen.ids().len(), qwen.state()), (1, vec!["qwen peer protocol (held: decide with /peers)"]));
    let id = qwen.ids()[0].clone();
    qwen.wake_up.inbox.say(&id, ReceiptStatus::Delivered);
    qwen.wait(30).await;
    assert_eq!((qwen.ids().len(), qwen.state()), (2, vec!["qwen peer protocol"]));
    assert_eq!(qwen.pull().await, ["m1 redelivered pushed", "m2 redelivered pushed"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_shown_stays_unread_and_unshown() {
    for status in [ReceiptStatus::Denied, ReceiptStatus::Expired, ReceiptStatus::Misaddressed] {
        let home = Home::new();
        let mut qwen = qwen(&home, all_on()).await;
        qwen.wake_up.inbox.will(&[Some(status)]);
        home.receive([1]);
        qwen.wait(60).await;
        home.receive([2]);
        qwen.wait(30).await;
        assert_eq!((qwen.ids().len(), qwen.wake_up.inbox.shown()), (2, 1), "{status:?}");
        assert_eq!(qwen.pull().await, ["m1", "m2 redelivered pushed"], "{status:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_the_user_denies_after_it_was_held_comes_without_a_mark() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Held)]);
    home.receive([1]);
    // Nobody decides for so long that it is given up; then somebody does.
    qwen.wait(20 * 60).await;
    let id = qwen.ids()[0].clone();
    qwen.wake_up.inbox.say(&id, ReceiptStatus::Denied);
    qwen.wait(1).await;
    assert_eq!(qwen.pull().await, ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_refuses_is_left_alone_for_an_hour() {
    let home = Home::new();
    let mut qwen = qwen(&home, no_file()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Refused)]);
    home.receive([1]);
    qwen.wait(5).await;
    home.receive([2]);
    qwen.wait(3_000).await;
    let refused = "qwen peer protocol (refused by agents.crossSessionInbound)";
    assert_eq!((qwen.ids().len(), qwen.state()), (1, vec![refused]));
    qwen.wait(603).await;
    assert_eq!((qwen.ids().len(), qwen.state()), (2, vec!["qwen peer protocol"]));
    assert_eq!(qwen.pull().await, ["m1", "m2 redelivered pushed"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_refusal_of_the_session_the_input_file_goes_on() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Refused)]);
    home.receive([1]);
    qwen.wait(5).await;
    let refused = qwen.ids()[0].clone();
    home.receive([2]);
    qwen.wait(60).await;
    let wake_ups = qwen.wake_up.wake_ups.lock().unwrap().clone();
    assert!(
        matches!(&wake_ups[1].1, WakeUpRequest::Append { line, .. } if line.contains("text 1") && line.contains("text 2")),
        "what was refused goes with the next: {wake_ups:?}"
    );
    // A verdict of before says nothing of what the file has brought since.
    qwen.wake_up.inbox.say(&refused, ReceiptStatus::Refused);
    qwen.wait(1).await;
    assert_eq!(qwen.pull().await, ["m1 pushed", "m2 pushed"]);
    assert!(qwen.state().contains(&"qwen input file"));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_message_comes_again_later() {
    let home = Home::new();
    let qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Dropped)]);
    home.receive([1]);
    qwen.wait(29).await;
    assert_eq!(qwen.ids().len(), 1);
    qwen.wait(2).await;
    let ids = qwen.ids();
    assert_eq!((ids.len(), ids[0] == ids[1], qwen.wake_up.inbox.shown()), (2, true, 1));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_pulled_meanwhile_is_not_handed_in_again() {
    let home = Home::new();
    let mut qwen = qwen(&home, all_on()).await;
    qwen.wake_up.inbox.will(&[Some(ReceiptStatus::Dropped)]);
    home.receive([1]);
    qwen.wait(5).await;
    assert_eq!(qwen.pull().await, ["m1 pushed"]);
    qwen.wait(600).await;
    assert_eq!(qwen.ids().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn switched_off_or_not_there_the_input_file_is_used() {
    for (is_there, qwen_peer) in [(true, false), (false, true)] {
        let home = Home::new();
        let mut wake_up = Arc::into_inner(Scripted::new()).unwrap();
        wake_up.inbox.is_there = is_there;
        let mut woken = connect(&home, WakeUpSettings { qwen_peer, ..all_on() }, &Arc::new(wake_up), None);
        woken.begin(QWEN).await;
        home.receive([1]);
        woken.wait(1).await;
        let (_, request) = woken.wake_up.wake_ups.lock().unwrap()[0].clone();
        assert!(matches!(request, WakeUpRequest::Append { .. }), "{request:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_may_not_go_whole_are_announced_under_one_id_and_reminded_under_another() {
    let home = Home::new();
    let mut wake_up = Arc::into_inner(Scripted::new()).unwrap();
    wake_up.inbox.is_there = true;
    wake_up.inbox.will(&[None]);
    let mut qwen = connect(&home, no_file(), &Arc::new(wake_up), None);
    qwen.trust(Trust::default(), &home);
    qwen.begin(QWEN).await;
    home.receive(1..=3);
    qwen.wait(60).await;
    let ids = qwen.ids();
    assert_eq!(
        (ids.len(), qwen.wake_up.inbox.shown()),
        (2, 1),
        "its receipt was lost, so it was handed in again"
    );
    assert_eq!(ids[0], ids[1]);
    qwen.wait(3_600).await;
    let shown = qwen.wake_up.inbox.shown.lock().unwrap().clone();
    assert!(shown.len() > 1, "a reminder is no repeat");
    for (_, text) in &shown {
        assert!(text.starts_with("[Entraclaw] 3 messages from outside"), "{text}");
        assert!(!text.contains("text 1"), "{text}");
    }
    assert_eq!(qwen.pull().await, ["m1", "m2", "m3"], "nothing of it was shown, so it has no mark");
}

#[tokio::test(start_paused = true)]
async fn an_announcement_that_the_session_refuses_goes_by_the_input_file() {
    let home = Home::new();
    let mut wake_up = Arc::into_inner(Scripted::new()).unwrap();
    wake_up.inbox.is_there = true;
    wake_up.inbox.will(&[Some(ReceiptStatus::Refused)]);
    let mut qwen = connect(&home, all_on(), &Arc::new(wake_up), None);
    qwen.trust(Trust::default(), &home);
    qwen.begin(QWEN).await;
    home.receive([1]);
    qwen.wait(60).await;
    let wake_ups = qwen.wake_up.wake_ups.lock().unwrap().clone();
    let is_told = |line: &str| line.contains("a message from outside") && !line.contains("text 1");
    assert!(matches!(&wake_ups[1].1, WakeUpRequest::Append { line, .. } if is_told(line)), "{wake_ups:?}");
    assert_eq!(qwen.pull().await, ["m1"]);
}
