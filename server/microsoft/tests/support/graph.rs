//! The fake Graph behind the scripted transport: a test can break an answer, and sees every request.
//! It must never answer by a rule of its own.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use entraclaw_microsoft::http::{HttpResponse, TransportError};
use fake_microsoft::graph::{
    Answer, ChatKind, ChatSpec, FakeGraph, Fate, MessageSpec, PersonSpec, Request, ThrottleSpec, TokenSpec,
    WorldSpec, object_id, tenant_id,
};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::script::{Reply, Script, Seen};

// What the fake makes of the handles `contoso`, `alice`, `bob`, `mallory`, `agent`, `dm` and `team`, in every world.
pub(crate) const TENANT: &str = "ac10e680-198c-400a-b3f5-964e163ddfd2";
pub(crate) const ALICE: &str = "9b9b3104-78e1-4748-a24d-aa05768a3cae";
pub(crate) const BOB: &str = "cd2394fa-f19e-4794-85e3-ef759283cfe4";
pub(crate) const MALLORY: &str = "92652b57-0e2a-47af-9772-60b5003a1534";
pub(crate) const AGENT: &str = "26fc6fc8-bb07-4aac-9251-6842d87105d1";
/// The chat of Alice and the agent.
pub(crate) const DM: &str =
    "19:26fc6fc8-bb07-4aac-9251-6842d87105d1_9b9b3104-78e1-4748-a24d-aa05768a3cae@unq.gbl.spaces";
/// A chat of several.
pub(crate) const GROUP: &str = "19:90fd4a683a1b411d82ca2d285c4b6eb4@thread.v2";
const LATENCY_MS: u64 = 20;

type Fault = Box<dyn FnMut(&str) -> Option<Reply> + Send>;
type Change = Box<dyn FnMut(&str, Reply) -> Reply + Send>;

/// What answers.
struct State {
    fake: FakeGraph,
    fault: Option<Fault>,
    change: Option<Change>,
}

/// The Graph; a cheap clone.
#[derive(Clone)]
pub(crate) struct TestGraph {
    pub(crate) script: Arc<Script>,
    state: Arc<Mutex<State>>,
    started: Instant,
}

pub(crate) fn start_of_time() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

fn now(started: Instant) -> Timestamp {
    start_of_time() + SignedDuration::try_from(started.elapsed()).unwrap()
}

impl TestGraph {
    /// A world with Alice, Bob whom nothing names but his id, and Mallory; chats come with their first message.
    pub(crate) fn new() -> Self {
        let bob = PersonSpec { nameless: true, tenant_in_messages: Some(false), ..PersonSpec::default() };
        let people = [("alice", PersonSpec::default()), ("bob", bob), ("mallory", PersonSpec::default())];
        let world = WorldSpec {
            people: people.map(|(handle, spec)| (handle.to_owned(), spec)).into(),
            tokens: vec![TokenSpec { token: "token-1".to_owned(), ..TokenSpec::default() }],
            throttle: ThrottleSpec { off: true, ..ThrottleSpec::default() },
            latency_ms: LATENCY_MS,
            ..WorldSpec::default()
        };
        let fake = FakeGraph::from_world(&world, 1, start_of_time()).unwrap();
        let ids = ["alice", "bob", "mallory", "agent"].map(object_id);
        assert_eq!(
            (ids, tenant_id("contoso").as_str()),
            ([ALICE, BOB, MALLORY, AGENT].map(str::to_owned), TENANT)
        );
        let state = Arc::new(Mutex::new(State { fake, fault: None, change: None }));
        let (answering, started) = (state.clone(), Instant::now());
        let script = Script::new(move |seen| answering.lock().unwrap().answer(now(started), seen));
        Self { script, state, started }
    }

    pub(crate) fn now(&self) -> Timestamp {
        now(self.started)
    }

    /// Does something to the world, at its time.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut FakeGraph, Timestamp) -> T) -> T {
        let now = self.now();
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).fake, now)
    }

    /// Alice writes; returns the message's id.
    pub(crate) fn say(&self, chat: &str, text: &str) -> String {
        self.say_as(chat, "alice", text)
    }

    pub(crate) fn say_as(&self, chat: &str, who: &str, text: &str) -> String {
        self.post(chat, who, &MessageSpec::html(&format!("<p>{text}</p>")))
    }

    pub(crate) fn post(&self, chat: &str, who: &str, message: &MessageSpec) -> String {
        self.open(chat);
        self.with(|fake, now| fake.post(now, handle(chat), who, message).unwrap())
    }

    /// Makes a chat where there is none.
    pub(crate) fn open(&self, chat: &str) {
        let (kind, members): (_, &[&str]) = match chat {
            DM => (ChatKind::OneOnOne, &["alice"]),
            _ => (ChatKind::Group, &["alice", "bob", "mallory"]),
        };
        let members = members.iter().map(|member| (*member).to_owned()).collect();
        let spec = ChatSpec { kind, members, ..ChatSpec::default() };
        self.with(|fake, now| {
            if fake.chat_id(handle(chat)).is_err() {
                let id = fake.add_chat(now, handle(chat), &spec).unwrap();
                assert!(id == chat || ![DM, GROUP].contains(&chat), "{chat} is {id}");
            }
        });
    }

    pub(crate) fn edit(&self, chat: &str, id: &str, html: &str) {
        self.with(|fake, now| fake.edit(now, handle(chat), id, html).unwrap());
    }

    pub(crate) fn delete(&self, chat: &str, id: &str) {
        self.with(|fake, now| fake.delete(now, handle(chat), id).unwrap());
    }

    pub(crate) fn like(&self, chat: &str, id: &str) {
        self.with(|fake, now| fake.react(now, handle(chat), id, "alice", "👍", true).unwrap());
    }

    /// Answers what `fault` answers, instead.
    pub(crate) fn fault(&self, fault: impl FnMut(&str) -> Option<Reply> + Send + 'static) {
        self.state.lock().unwrap().fault = Some(Box::new(fault));
    }

    /// Answers this after a message was posted, instead of the 201.
    pub(crate) fn lose_answers(&self, lost: fn() -> Reply) {
        self.change(move |line, reply| if line.starts_with("POST ") { lost() } else { reply });
    }

    /// Changes what the fake answers, after the request took effect.
    pub(crate) fn change(&self, change: impl FnMut(&str, Reply) -> Reply + Send + 'static) {
        self.state.lock().unwrap().change = Some(Box::new(change));
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.script.seen().iter().map(Seen::line).collect()
    }
}

/// The fake's name for a chat.
fn handle(chat: &str) -> &str {
    match chat {
        DM => "dm",
        GROUP => "team",
        other => other,
    }
}

/// A request as a fake of Microsoft takes it.
pub(crate) fn asked(seen: &Seen) -> Request {
    let mut asked = Request::new(seen.request.method.as_str(), &seen.request.url);
    asked.headers.clone_from(&seen.request.headers);
    asked.body = seen.request.body.clone().unwrap_or_default();
    asked
}

/// The answer of a fake of Microsoft as it reaches the server.
pub(crate) fn reply(answer: Answer) -> Reply {
    let (host, reason) = ("graph".to_owned(), "reset".to_owned());
    let outcome = match answer.fate {
        Fate::Delivered => {
            Ok(HttpResponse { status: answer.status, headers: answer.headers, body: answer.body })
        }
        Fate::DroppedBeforeApply => Err(TransportError::Connect { host, reason }),
        Fate::DroppedAfterApply => Err(TransportError::Broken { host, reason }),
    };
    Reply { after: Duration::from_millis(answer.delay_ms), outcome }
}

impl State {
    fn answer(&mut self, now: Timestamp, seen: &Seen) -> Reply {
        let line = seen.line();
        if let Some(reply) = self.fault.as_mut().and_then(|fault| fault(&line)) {
            return reply;
        }
        let reply = reply(self.fake.handle(now, &asked(seen)));
        match &mut self.change {
            Some(change) => change(&line, reply),
            None => reply,
        }
    }
}
