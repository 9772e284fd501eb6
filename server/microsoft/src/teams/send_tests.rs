//! Tests the outbox against a small Graph: which chats it may write to, and that a lost answer never doubles
//! a message.

use std::sync::Arc;
use std::time::Duration;

use fake_microsoft::graph::{ChatKind, ChatSpec, PersonSpec, RawOverride};
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use super::*;
use crate::support::graph::{AGENT, ALICE, DM, TENANT, TestGraph};
use crate::support::script::Reply;
use entraclaw_inbox::gate::{Agent, Guid};
use entraclaw_inbox::journal::JournalOptions;
use entraclaw_inbox::tool::{ContentType, Outbox, OutgoingTeams, SendError};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;

struct Fixture {
    graph: TestGraph,
    storage: MemoryStorage,
    outbox: TeamsOutbox,
}

impl Fixture {
    fn new() -> Self {
        let graph = TestGraph::new();
        let guid = |text| Guid::parse(text).unwrap();
        let clock = Arc::new(TokioClock::starting_at(graph.now()));
        let storage = MemoryStorage::new();
        let (journal, _) =
            Journal::open(Arc::new(storage.clone()), clock.clone(), JournalOptions::default()).unwrap();
        let outbox = TeamsOutbox {
            client: Arc::new(graph.script.client_at(clock)),
            journal,
            gate: Arc::new(Gate::new([(guid(TENANT), guid(ALICE))])),
            known: Arc::new(Known::new(Agent {
                tenant_id: Some(guid(TENANT)),
                object_id: Some(guid(AGENT)),
            })),
            storage: Arc::new(storage.clone()),
            random: Arc::new(SplitMix::seeded(7)),
        };
        graph.open(DM);
        let group = |members: &[&str]| ChatSpec {
            kind: ChatKind::Group,
            members: members.iter().map(|member| (*member).to_owned()).collect(),
            ..ChatSpec::default()
        };
        let nobody =
            ChatSpec { raw: Some(RawOverride::setting("/members", json!(null))), ..group(&["alice"]) };
        graph.with(|fake, now| {
            fake.add_chat(now, "strangers", &group(&["mallory"])).unwrap();
            fake.add_chat(now, "nobody", &nobody).unwrap();
        });
        Self { graph, storage, outbox }
    }

    async fn send(
        &self,
        chat: &str,
        content: &str,
        reply_to: &[&str],
    ) -> Result<entraclaw_inbox::tool::Sent, SendError> {
        let message = OutgoingTeams {
            chat_id: chat.to_owned(),
            content: content.to_owned(),
            content_type: ContentType::Html,
            reply_to: reply_to.iter().map(|id| (*id).to_owned()).collect(),
        };
        self.outbox.send_teams_message(message).await
    }

    fn posts(&self) -> Vec<String> {
        self.graph.lines().into_iter().filter(|line| line.starts_with("POST")).collect()
    }

    /// The ids of the messages that Graph took from the agent.
    fn kept(&self) -> Vec<String> {
        self.graph.with(|fake, _| {
            fake.messages_sent_by_agent().iter().map(|sent| sent.message_id.clone()).collect()
        })
    }

    fn log(&self) -> String {
        let paths = self.storage.paths().into_iter().filter(|p| p.starts_with("interactions/"));
        paths.map(|p| String::from_utf8(self.storage.bytes(&p).unwrap()).unwrap()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_is_sent_once_and_logged_before() {
    let fixture = Fixture::new();
    let (storage, seen_in_log) = (fixture.storage.clone(), Arc::new(std::sync::Mutex::new(false)));
    let noted = seen_in_log.clone();
    fixture.graph.fault(move |line| {
        if line.starts_with("POST") {
            *noted.lock().unwrap() = storage.paths().iter().any(|p| p.starts_with("interactions/"));
        }
        None
    });
    let sent = fixture.send(DM, "<p>hello</p>", &[]).await.unwrap();
    assert_eq!(fixture.posts(), [format!("POST /v1.0/chats/{DM}/messages")]);
    assert!(!sent.message_id.is_empty() && sent.ts.starts_with("2026-11-21T10:00:0"), "{sent:?}");
    assert!(*seen_in_log.lock().unwrap());
    let log = fixture.log();
    assert!(
        log.contains("about to send") && log.contains(&sent.message_id) && !log.contains("hello"),
        "{log}"
    );
    fixture.send(DM, "again", &[]).await.unwrap();
    assert_eq!(fixture.graph.lines().iter().filter(|l| l.contains("members")).count(), 1, "looked up once");
}

#[tokio::test(start_paused = true)]
async fn a_reply_quotes() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.graph.say(DM, "one"), fixture.graph.say(DM, "two"));
    fixture.send(DM, "yes", &[&one, &two]).await.unwrap();
    assert_eq!(fixture.posts(), [format!("POST /v1.0/chats/{DM}/messages/replyWithQuote")]);
    let seen = fixture.graph.script.seen();
    let body: serde_json::Value =
        serde_json::from_slice(seen.last().unwrap().request.body.as_ref().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"messageIds": [one, two], "replyMessage": {"body": {"contentType": "html", "content": "yes"}}})
    );
}

#[rstest]
#[case("strangers", SendError::NotAllowed)]
#[case("nobody", SendError::NotAllowed)]
#[case("19:unknown", SendError::UnknownChat)]
#[case("..", SendError::UnknownChat)]
#[case("x?y", SendError::UnknownChat)]
#[tokio::test(start_paused = true)]
async fn only_chats_of_allowed_people_are_written_to(#[case] chat: &str, #[case] error: SendError) {
    let fixture = Fixture::new();
    let id = fixture.graph.with(|fake, _| fake.chat_id(chat).map_or_else(|_| chat.to_owned(), str::to_owned));
    assert_eq!(fixture.send(&id, "hello", &[]).await, Err(error));
    assert!(fixture.posts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_empty_allowlist_asks_graph_nothing() {
    let mut fixture = Fixture::new();
    fixture.outbox.gate = Arc::new(Gate::default());
    assert_eq!(fixture.send(DM, "hello", &[]).await, Err(SendError::NotAllowed));
    assert!(fixture.graph.lines().is_empty());
}

#[rstest]
#[case(Reply::broken)]
#[case(|| Reply::error(503, "busy"))]
#[case(|| Reply::raw(502, "<html>"))]
#[case(|| Reply::raw(201, "{\"id\":"))]
#[case(|| Reply::json(201, &json!({})))]
#[case(|| Reply::json(201, &json!({})).after(Duration::from_secs(3_600)))]
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up_and_never_sent_twice(#[case] lost: fn() -> Reply) {
    let fixture = Fixture::new();
    fixture.graph.lose_answers(lost);
    let sent = fixture.send(DM, "<p>one <b>bold</b> word &amp; more</p>", &[]).await.unwrap();
    assert_eq!(fixture.posts().len(), 1);
    assert_eq!(fixture.kept(), [sent.message_id]);
}

#[rstest]
#[case(Reply::broken)]
#[case(|| Reply::error(500, "busy"))]
#[tokio::test(start_paused = true)]
async fn what_cannot_be_found_is_said_to_be_unknown(#[case] lost: fn() -> Reply) {
    let fixture = Fixture::new();
    // An earlier message with the same words must not be taken for the new one.
    fixture.send(DM, "hello", &[]).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    fixture.graph.fault(move |line| line.starts_with("POST").then(lost));
    let begun = Instant::now();
    let error = fixture.send(DM, "hello", &[]).await.unwrap_err();
    assert!(
        matches!(&error, SendError::UnknownOutcome(why) if why.contains("was not sent again")),
        "{error}"
    );
    assert_eq!(fixture.posts().len(), 2);
    assert!(begun.elapsed() <= Duration::from_secs(46));
}

#[tokio::test(start_paused = true)]
async fn a_throttled_message_waits_and_is_sent() {
    let fixture = Fixture::new();
    let mut left = 1;
    fixture.graph.fault(move |line| {
        let hit = line.starts_with("POST") && left > 0;
        left -= i32::from(hit);
        hit.then(|| Reply::error(429, "TooManyRequests").header("retry-after", "5"))
    });
    fixture.send(DM, "hello", &[]).await.unwrap();
    assert_eq!(fixture.posts().len(), 2);
    assert_eq!(fixture.kept().len(), 1);
}

#[rstest]
#[case(400, "BadRequest")]
#[case(403, "Forbidden")]
#[case(413, "TooLarge")]
#[tokio::test(start_paused = true)]
async fn a_refusal_is_told_with_what_helps(#[case] status: u16, #[case] code: &'static str) {
    let fixture = Fixture::new();
    fixture.graph.fault(move |line| line.starts_with("POST").then(|| Reply::error(status, code)));
    let error = fixture.send(DM, "hello", &[]).await.unwrap_err();
    assert!(matches!(&error, SendError::Graph(why) if why.contains(code) && why.contains("; ")), "{error}");
    assert_eq!(fixture.posts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_content_that_may_not_leave_asks_graph_nothing() {
    let fixture = Fixture::new();
    for content in ["<script>x</script>", " ", "the token is token-1"] {
        let error = fixture.send(DM, content, &[]).await.unwrap_err();
        assert!(matches!(&error, SendError::Refused(why) if why.starts_with("content: ")), "{error}");
    }
    let long = "x".repeat(28_001);
    assert!(matches!(fixture.send(DM, &long, &[]).await, Err(SendError::TooLarge { .. })));
    assert!(fixture.graph.lines().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_large_chat_is_searched_for_an_allowed_person() {
    let fixture = Fixture::new();
    let large = fixture.graph.with(|fake, now| {
        let strangers: Vec<String> = (0..60).map(|n| format!("stranger{n:02}")).collect();
        for stranger in &strangers {
            fake.add_person(stranger, &PersonSpec::default()).unwrap();
        }
        let members = strangers.into_iter().chain(["alice".to_owned()]).collect();
        fake.add_chat(now, "large", &ChatSpec { kind: ChatKind::Group, members, ..ChatSpec::default() })
            .unwrap()
    });
    fixture.send(&large, "hello", &[]).await.unwrap();
}
