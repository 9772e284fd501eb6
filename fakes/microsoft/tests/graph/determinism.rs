//! The same seed and the same script give the same bytes.

use std::fmt::Write as _;

use fake_microsoft::graph::{FakeGraph, FaultAction, FaultSpec, MessageSpec, Request, WorldSpec};
use jiff::Timestamp;

use crate::bench::{TOKEN, at};

fn run(seed: u64) -> String {
    let world = "people: {alice: {}}\nchats: {dm: {members: [alice]}, g: {kind: group}}\ntokens: [{token: token-of-the-agent}]";
    let world: WorldSpec = yaml::read(world).unwrap();
    let mut graph = FakeGraph::from_world(&world, seed, at(0)).unwrap();
    let fault = FaultSpec { probability: Some(0.3), ..FaultSpec::always(FaultAction::EmptyBody) };
    graph.add_fault(fault).unwrap();
    let mut seen = String::new();
    for n in 0..60 {
        graph.post(at(n * 400), "dm", "alice", &MessageSpec::html("x").mentioning("agent")).unwrap();
        let path = format!("/v1.0/chats/{}/messages", graph.chat_id("dm").unwrap());
        for path in ["/v1.0/me/chats?$expand=members,lastMessagePreview", &path] {
            let answer = graph.handle(at(n * 400 + 100), &Request::get(path).bearer(TOKEN));
            let _ = writeln!(
                seen,
                "{} {:?} {}",
                answer.status,
                answer.headers,
                String::from_utf8_lossy(&answer.body)
            );
        }
    }
    let log: Vec<_> = graph.call_log().collect();
    seen + &serde_json::to_string(&log).unwrap()
}

#[test]
fn a_seed_repeats_and_another_differs() {
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn ids_do_not_depend_on_the_seed() {
    let world: WorldSpec = yaml::read("people: {alice: {}}\nchats: {dm: {members: [alice]}}").unwrap();
    let one = FakeGraph::from_world(&world, 1, at(0)).unwrap();
    let two = FakeGraph::from_world(&world, 2, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(one.chat_id("dm"), two.chat_id("dm"));
    assert_eq!(one.person("alice").unwrap().object_id, fake_microsoft::graph::object_id("alice"));
    assert_eq!(one.agent().tenant_id, fake_microsoft::graph::tenant_id("contoso"));
}

#[test]
fn any_clock_and_any_request_is_survived() {
    let world: WorldSpec = yaml::read(
        "people: {alice: {}}\nchats: {dm: {members: [alice]}}\ntokens: [{token: token-of-the-agent}]",
    )
    .unwrap();
    let mut graph = FakeGraph::from_world(&world, 1, at(0)).unwrap();
    let path = format!("/v1.0/chats/{}/messages", graph.chat_id("dm").unwrap());
    for now in [Timestamp::MIN, Timestamp::MAX, at(0), Timestamp::UNIX_EPOCH, at(-5)] {
        graph.post(now, "dm", "alice", &MessageSpec::text("x")).unwrap();
        graph.handle(now, &Request::get(&path).bearer(TOKEN));
        graph
            .handle(now, &Request::post(&path, &serde_json::json!({"body": {"content": "x"}})).bearer(TOKEN));
        graph.handle(now, &Request::new("\u{0}", "\u{0}\u{7f}%zz?$top=%ff&$filter=%00"));
    }
    let late = MessageSpec { created_ago_ms: u64::MAX, visible_after_ms: u64::MAX, ..MessageSpec::text("x") };
    graph.post(at(0), "dm", "alice", &late).unwrap();
    graph
        .edit(Timestamp::MAX, "dm", &graph.message_id("dm", "-9223372036854775808").unwrap_or_default(), "x")
        .unwrap_or_default();
    graph.handle(at(0), &Request::get(&path).bearer(TOKEN));
}
