//! A small world to ask questions of, and the macro that ties a case to its rules.

use fake_microsoft::graph::{Answer, FakeGraph, MessageSpec, Request, RuleId, ThrottleSpec, WorldSpec};
use jiff::Timestamp;
use serde_json::Value;

pub(crate) const TOKEN: &str = "token-of-the-agent";
/// 2026-01-01T00:00:00Z.
pub(crate) const START_MS: i64 = 1_767_225_600_000;

const WORLD: &str = "
people:
  alice: {}
  bob: {tenant: fabrikam, identity: federatedUser, nameless: true}
  carol: {display_name: Carol Ann Smith, tenant_in_messages: false}
applications:
  builder: {display_name: Builder}
chats:
  dm: {members: [alice]}
  far: {members: [bob]}
  team: {kind: group, members: [alice, carol, bob], topic: The team}
  meet: {kind: meeting, members: [alice], topic: Stand-up}
  secret: {kind: group, members: [alice, bob], without_agent: true}
throttle: {off: true}
tokens: [{token: token-of-the-agent}]
";

pub(crate) struct Bench {
    pub(crate) graph: FakeGraph,
    pub(crate) now: Timestamp,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let world: WorldSpec = yaml::read(WORLD).expect("the bench's world is well formed");
        let now = at(0);
        Self { graph: FakeGraph::from_world(&world, 1, now).expect("the bench's world is sound"), now }
    }

    /// Moves to an instant, in milliseconds after the start.
    pub(crate) fn at(&mut self, ms: i64) -> &mut Self {
        self.now = at(ms);
        self
    }

    pub(crate) fn limited(&mut self) -> &mut Self {
        self.graph.set_throttle(ThrottleSpec::default());
        self
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Answer {
        self.graph.handle(self.now, request)
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.ask(&Request::get(path).bearer(TOKEN))
    }

    /// A `GET` that must succeed.
    pub(crate) fn json(&mut self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// A `GET` with `Prefer: include-unknown-enum-members` that must succeed.
    pub(crate) fn json_newer(&mut self, path: &str) -> Value {
        let request = Request::get(path).bearer(TOKEN);
        self.ask(&request.header("Prefer", "odata.maxpagesize=5, include-unknown-enum-members")).json()
    }

    pub(crate) fn send(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        self.ask(&Request::new(method, path).bearer(TOKEN).json(body))
    }

    /// The path of a chat, with what comes after it.
    pub(crate) fn chat(&self, handle: &str, rest: &str) -> String {
        format!("/v1.0/chats/{}{rest}", self.graph.chat_id(handle).expect("the chat is in the world"))
    }

    pub(crate) fn messages(&mut self, handle: &str, query: &str) -> Vec<Value> {
        let path = self.chat(handle, &format!("/messages{query}"));
        self.json(&path)["value"].as_array().cloned().expect("a page has a list")
    }

    pub(crate) fn ids(&mut self, handle: &str, query: &str) -> Vec<String> {
        self.messages(handle, query).iter().map(|m| text(&m["id"])).collect()
    }

    pub(crate) fn say(&mut self, chat: &str, from: &str, message: &MessageSpec) -> String {
        self.graph.post(self.now, chat, from, message).expect("the message is sound")
    }

    /// The only message of a chat as it is listed.
    pub(crate) fn shown(&mut self, chat: &str, from: &str, message: &MessageSpec) -> Value {
        let id = self.say(chat, from, message);
        let path = self.chat(chat, &format!("/messages/{id}"));
        self.json(&path)
    }

    /// Asserts that a path is refused with a status, by a rule, in Graph's words.
    pub(crate) fn refused(&mut self, path: &str, status: u16, rule: RuleId) {
        let answer = self.get(path);
        self.check_refusal(&answer, status, rule);
    }

    pub(crate) fn check_refusal(&self, answer: &Answer, status: u16, rule: RuleId) {
        let body = String::from_utf8_lossy(&answer.body);
        assert_eq!(answer.status, status, "{body}");
        let last = self.graph.call_log().last().expect("the call was logged");
        assert!(last.rules.contains(&rule), "{:?} should be {rule:?}", last.rules);
        let error = &answer.json()["error"];
        assert!(error["message"].as_str().is_some_and(|m| !m.is_empty()), "{body}");
        assert_eq!(error["innerError"]["request-id"].as_str(), answer.header("request-id"), "{body}");
    }
}

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(START_MS + ms).expect("the instant is in the calendar")
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The link to the next page of a page.
pub(crate) fn next_link(page: &Value) -> Option<String> {
    page["@odata.nextLink"].as_str().map(str::to_owned)
}

/// What is inside a JSON string.
pub(crate) fn inner(value: &Value) -> Value {
    serde_json::from_str(value.as_str().expect("it is a string")).expect("it holds JSON")
}

/// Runs a case on a new bench and then asks whether its rules were really gone by.
pub(crate) fn check(rules: &[RuleId], case: fn(&mut Bench)) {
    let mut bench = Bench::new();
    case(&mut bench);
    for rule in rules {
        let exercised = bench.graph.rules_exercised();
        assert!(exercised.contains(rule), "the case never went by the rule {rule:?}");
    }
}

/// Cases: a name, the rules it goes by, what it does on a bench.
macro_rules! cases {
    ($( $name:ident [$($rule:ident),*] |$bench:ident| $body:block )*) => {
        /// The names of the cases of this file with their rules.
        pub(crate) fn cases() -> Vec<(&'static str, Vec<fake_microsoft::graph::RuleId>)> {
            vec![$( (stringify!($name), vec![$(fake_microsoft::graph::RuleId::$rule),*]), )*]
        }

        mod bodies {
            use super::*;
            $( pub(super) fn $name($bench: &mut crate::bench::Bench) $body )*
        }

        $(
            #[test]
            fn $name() {
                crate::bench::check(&[$(fake_microsoft::graph::RuleId::$rule),*], bodies::$name);
            }
        )*
    };
}
pub(crate) use cases;
