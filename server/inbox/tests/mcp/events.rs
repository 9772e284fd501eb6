//! The draft of MCP Events: polls and streams over the journal, beside the consumers and never instead of them.

use std::sync::Arc;
use std::time::Duration;

use entraclaw_inbox::journal::{Journal, JournalOptions, RetentionPolicy};
use entraclaw_seams::storage::MemoryStorage;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Home, Host, draft, ids, initialize, modern_meta, tool_json};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

fn connect(home: &Home) -> Host {
    let mut options = home.options();
    options.events = true;
    Host::start(options, 64 * 1024)
}

async fn open(home: &Home) -> Host {
    let mut host = connect(home);
    host.open("codex-mcp-client", "2025-11-25").await;
    host.request("level", "logging/setLevel", json!({"level": "error"})).await;
    host.next().await;
    host
}

async fn poll(host: &mut Host, id: u32, params: Value) -> Value {
    host.request(id, "events/poll", params).await;
    let answer = host.next().await;
    assert_eq!(answer["id"], id, "{answer}");
    answer["result"].clone()
}

fn event_ids(events: &Value) -> Vec<&str> {
    events.as_array().unwrap().iter().map(|event| event["data"]["id"].as_str().unwrap()).collect()
}

#[tokio::test(start_paused = true)]
async fn nothing_of_it_is_there_while_it_is_off() {
    let home = Home::new();
    let mut host = home.connect();
    host.send(initialize("some-host", "2025-11-25")).await;
    let capabilities = host.next().await["result"]["capabilities"].clone();
    assert!(capabilities.get("events").is_none() && capabilities.get("extensions").is_none());
    for method in ["events/list", "events/poll", "events/stream", "events/subscribe"] {
        host.request(1, method, json!({"name": "teams.message"})).await;
        assert_eq!(host.next().await["error"]["code"], -32601, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_declared_in_both_places_and_lists_four_types() {
    let home = Home::new();
    let mut host = connect(&home);
    host.send(initialize("some-host", "2025-11-25")).await;
    let legacy = host.next().await["result"]["capabilities"].clone();
    host.request(1, "server/discover", json!({"_meta": modern_meta("some-host")})).await;
    let modern = host.next().await["result"]["capabilities"].clone();
    for capabilities in [legacy, modern] {
        assert_eq!(capabilities["events"], json!({"listChanged": false}));
        assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/events"], json!({}));
    }
    host.request(2, "events/list", json!({"_meta": modern_meta("some-host")})).await;
    let listed = host.next().await["result"].clone();
    assert_eq!(listed["resultType"], "complete");
    let names: Vec<&str> =
        listed["events"].as_array().unwrap().iter().map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["teams.message", "email.message", "bot.message", "work.ended"]);
    for event in listed["events"].as_array().unwrap() {
        assert_eq!(event["delivery"], json!(["poll", "push"]));
        assert_eq!(event["inputSchema"]["additionalProperties"], false);
        assert_eq!(event["payloadSchema"]["type"], "object");
    }
    host.request(3, "events/list", json!({"cursor": "x"})).await;
    assert_eq!(host.next().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_poll_begins_now_and_goes_on_from_its_cursor_in_the_shape_of_every_other_answer() {
    let home = Home::new();
    home.receive([1]);
    let mut host = open(&home).await;
    let first = poll(&mut host, 1, json!({"name": "teams.message", "cursor": null, "maxAgeMs": 0})).await;
    assert_eq!(
        first,
        json!({"events": [], "cursor": first["cursor"], "truncated": false, "hasMore": false, "nextPollMs": 5000})
    );
    home.receive([2, 3]);
    let second = poll(&mut host, 2, json!({"name": "teams.message", "cursor": first["cursor"]})).await;
    assert_eq!(event_ids(&second["events"]), ["m2", "m3"]);
    let event = &second["events"][0];
    assert_eq!(event["eventId"], "teams/chat-1/m2");
    assert_eq!(event["name"], "teams.message");
    assert_eq!(event["timestamp"], "2026-01-01T00:00:00Z");
    assert!(event.get("cursor").is_none());
    let again = poll(&mut host, 3, json!({"name": "teams.message", "cursor": first["cursor"]})).await;
    assert_eq!(again, second);
    let idle = poll(&mut host, 4, json!({"name": "teams.message", "cursor": second["cursor"]})).await;
    assert_eq!((&idle["events"], &idle["cursor"]), (&json!([]), &second["cursor"]));
    // Nothing of it was taken from the consumer, and nothing is marked.
    let pulled = host.ask(5, "inbox_pull", json!({})).await;
    assert_eq!(ids(&pulled), ["m1", "m2", "m3"]);
    assert_eq!(pulled["messages"][1], event["data"]);
}

#[tokio::test(start_paused = true)]
async fn a_poll_is_bounded_and_says_that_there_is_more() {
    let home = Home::new();
    let mut host = open(&home).await;
    let mut cursor = poll(&mut host, 1, json!({"name": "teams.message"})).await["cursor"].clone();
    home.receive(1..=250);
    let mut seen = Vec::new();
    for id in 2.. {
        let asked =
            json!({"name": "teams.message", "cursor": cursor, "maxEvents": if id == 2 { 3 } else { 1_000 }});
        let polled = poll(&mut host, id, asked).await;
        assert_eq!(polled["truncated"], false);
        seen.extend(event_ids(&polled["events"]).into_iter().map(str::to_owned));
        cursor = polled["cursor"].clone();
        if polled["hasMore"] == false {
            assert_eq!(id, 5);
            break;
        }
        assert_eq!(seen.len(), [3, 103, 203][id as usize - 2]);
    }
    assert_eq!(seen, (1..=250).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_cursor_that_is_not_known_is_no_error_and_skips_nothing() {
    let home = Home::new();
    home.receive([1, 2]);
    let other = Home::new();
    other.receive_texts([("x1".to_owned(), "x".to_owned()), ("x2".to_owned(), "x".to_owned())]);
    let mut host = open(&other).await;
    let foreign = poll(&mut host, 1, json!({"name": "teams.message"})).await["cursor"].clone();
    let mut host = open(&home).await;
    for (id, cursor) in [
        (1, foreign),
        (2, json!("")),
        (3, json!("next page")),
        (4, json!("1-99-00000000")),
        (5, json!("1-18446744073709551616-00000000")),
        (6, json!("9-1-00000000")),
    ] {
        let polled = poll(&mut host, id, json!({"name": "teams.message", "cursor": cursor})).await;
        assert_eq!(polled["truncated"], true, "{cursor}");
        assert_eq!(event_ids(&polled["events"]), ["m1", "m2"], "{cursor}");
        let next =
            poll(&mut host, id + 10, json!({"name": "teams.message", "cursor": polled["cursor"]})).await;
        assert_eq!((&next["truncated"], &next["events"]), (&json!(false), &json!([])), "{cursor}");
    }
}

#[tokio::test(start_paused = true)]
async fn events_that_are_too_old_are_left_out_and_that_is_said() {
    let home = Home::new();
    let mut host = open(&home).await;
    let cursor = poll(&mut host, 1, json!({"name": "teams.message"})).await["cursor"].clone();
    home.receive([1]);
    tokio::time::sleep(Duration::from_secs(100)).await;
    home.receive([2]);
    let asked = |max_age_ms: u64| json!({"name": "teams.message", "cursor": cursor, "maxAgeMs": max_age_ms});
    let polled = poll(&mut host, 2, asked(50_000)).await;
    assert_eq!((event_ids(&polled["events"]), &polled["truncated"]), (vec!["m2"], &json!(true)));
    for (id, max_age_ms) in [(3, 200_000), (4, u64::MAX)] {
        let polled = poll(&mut host, id, asked(max_age_ms)).await;
        assert_eq!((event_ids(&polled["events"]), &polled["truncated"]), (vec!["m1", "m2"], &json!(false)));
    }
}

#[rstest]
#[case(json!({}), -32602, "params.name: missing")]
#[case(json!({"name": "teams.message", "cursor": 5}), -32602, "params.cursor: must be a string or null, got a number")]
#[case(json!({"name": "teams.message", "maxEvents": 0}), -32602, "params.maxEvents: must be a whole number from 1")]
#[case(json!({"name": "teams.message", "maxEvents": "3"}), -32602, "params.maxEvents")]
#[case(json!({"name": "teams.message", "maxAgeMs": -1}), -32602, "params.maxAgeMs")]
#[case(json!({"name": "teams.message", "arguments": []}), -32602, "params.arguments: must be an object")]
#[case(json!({"name": "teams.message", "arguments": {"chat": "c"}}), -32602, "params.arguments.chat: no such argument; did you mean chat_id?")]
#[case(json!({"name": "message"}), -32011, "params.name: no such event type; there are teams.message")]
#[tokio::test(start_paused = true)]
async fn a_wrong_parameter_is_named(#[case] params: Value, #[case] code: i64, #[case] message: &str) {
    let mut host = open(&Home::new()).await;
    host.request(1, "events/poll", params).await;
    let error = host.next().await["error"].clone();
    assert_eq!(error["code"], code, "{error}");
    assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
    assert_eq!(error.get("data").is_some(), code == -32011, "{error}");
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_refused_by_their_name() {
    let mut host = open(&Home::new()).await;
    for method in ["events/subscribe", "events/unsubscribe"] {
        host.request(1, method, json!({"name": "teams.message"})).await;
        let error = host.next().await["error"].clone();
        assert_eq!(error["code"], -32014);
        assert_eq!(error["data"], json!({"feature": "delivery", "value": "webhook"}));
    }
    host.request(1, "events/other", json!({})).await;
    assert_eq!(host.next().await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_active_first_tells_each_event_once_and_beats_until_it_is_cancelled() {
    let home = Home::new();
    home.receive([1]);
    let mut host = open(&home).await;
    host.request("s", "events/stream", json!({"name": "teams.message"})).await;
    let active = host.next().await;
    let tag = json!({SUBSCRIPTION: "s"});
    assert_eq!(active["method"], "notifications/events/active");
    assert_eq!(active["params"]["truncated"], false);
    assert_eq!(active["params"]["_meta"], tag);
    home.receive([2]);
    let event = host.next().await;
    assert_eq!(event["method"], "notifications/events/event");
    assert_eq!(event["params"]["data"]["id"], "m2");
    assert_eq!(event["params"]["_meta"], tag);
    for _ in 0..3 {
        let before = tokio::time::Instant::now();
        let beat = host.next().await;
        assert_eq!(beat["method"], "notifications/events/heartbeat");
        assert_eq!(beat["params"], json!({"cursor": event["params"]["cursor"], "_meta": tag}));
        assert!(before.elapsed() <= Duration::from_secs(30));
    }
    // The cursor of a stream is good for a poll.
    let polled =
        poll(&mut host, 1, json!({"name": "teams.message", "cursor": active["params"]["cursor"]})).await;
    assert_eq!(event_ids(&polled["events"]), ["m2"]);
    host.cancel("s", None).await;
    home.receive([3]);
    host.quiet(100).await;
    assert_eq!(ids(&host.ask(9, "inbox_pull", json!({})).await), ["m1", "m2", "m3"]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_replays_from_its_cursor_with_its_filter_in_both_eras() {
    let home = Home::new();
    let mut host = open(&home).await;
    let cursor = poll(&mut host, 1, json!({"name": "teams.message"})).await["cursor"].clone();
    let mut drafts = vec![draft("m1", "one"), draft("m2", "two"), draft("m3", "three")];
    for (draft, chat) in drafts.iter_mut().zip(["a", "b", "a"]) {
        draft.chat_id = chat.to_owned();
    }
    home.journal.append(drafts).unwrap();
    let params = json!({"name": "teams.message", "arguments": {"chat_id": "a"}, "cursor": cursor});
    let mut modern = params.clone();
    modern["_meta"] = modern_meta("some-host");
    for (id, params) in [(2, params), (3, modern)] {
        host.request(id, "events/stream", params).await;
        assert_eq!(host.next().await["params"]["truncated"], false);
        for message in ["m1", "m3"] {
            let event = host.next().await;
            assert_eq!(
                (&event["params"]["data"]["id"], &event["params"]["_meta"][SUBSCRIPTION]),
                (&json!(message), &json!(id))
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_streamed_before_the_session_is_ready() {
    let home = Home::new();
    let mut host = connect(&home);
    host.send(initialize("codex-mcp-client", "2025-11-25")).await;
    host.next().await;
    host.request(1, "events/stream", json!({"name": "teams.message"})).await;
    host.settle().await;
    home.receive([1]);
    host.quiet(100).await;
    host.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let mut told = Vec::new();
    while told.len() < 3 {
        told.push(host.next().await["method"].as_str().unwrap().to_owned());
    }
    told.retain(|method| method.starts_with("notifications/events/"));
    assert_eq!(told[..2], ["notifications/events/active", "notifications/events/event"]);
}

#[tokio::test(start_paused = true)]
async fn streams_are_many_but_bounded() {
    let home = Home::new();
    let mut host = open(&home).await;
    for id in 0..64 {
        host.request(id, "events/stream", json!({"name": "email.message"})).await;
        assert_eq!(host.next().await["method"], "notifications/events/active");
    }
    host.request(64, "events/stream", json!({"name": "email.message"})).await;
    let error = host.next().await["error"].clone();
    assert_eq!((&error["code"], &error["data"]), (&json!(-32013), &json!({"limit": "streams", "max": 64})));
    host.cancel(7, None).await;
    host.request(65, "events/stream", json!({"name": "email.message"})).await;
    assert_eq!(host.next().await["method"], "notifications/events/active");
    // They hold up nobody, and take no message from anybody.
    host.call("wait", "wait_for_inbound_message", json!({})).await;
    host.settle().await;
    home.receive([1]);
    assert_eq!(ids(&tool_json(&host.next().await)), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_host_gets_every_event_once_and_in_order() {
    let home = Home::new();
    let mut options = home.options();
    options.events = true;
    options.connection.limits.out_bytes_max = 2_000;
    let mut host = Host::start(options, 128);
    host.request("s", "events/stream", json!({"name": "teams.message", "_meta": modern_meta("some-host")}))
        .await;
    host.settle().await;
    for burst in 0..5 {
        home.receive(burst * 100..burst * 100 + 100);
        host.settle().await;
    }
    let mut seen = Vec::new();
    while seen.len() < 500 {
        let message = host.next().await;
        if message["method"] == "notifications/events/event" {
            seen.push(message["params"]["data"]["id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(seen, (0..500).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_stream_over_a_disk_that_can_not_be_read_says_so_and_ends_after_ten_tries() {
    let storage = MemoryStorage::new();
    let mut home = Home::new();
    home.journal =
        Journal::open(Arc::new(storage.clone()), home.clock.clone(), JournalOptions::default()).unwrap().0;
    let mut host = open(&home).await;
    host.request("s", "events/stream", json!({"name": "teams.message"})).await;
    let mut told = vec![host.next().await["method"].as_str().unwrap().to_owned()];
    // More than the window in memory holds.
    home.receive(1..=600);
    storage.kill();
    let result = loop {
        let message = host.next().await;
        if message.get("id").is_some() {
            assert_eq!(message["id"], "s");
            break message["result"].clone();
        }
        told.push(message["method"].as_str().unwrap().to_owned());
        assert_ne!(message["params"]["error"]["message"], "");
    };
    assert_eq!(result, json!({"_meta": {}}));
    let mut wanted = vec!["notifications/events/active"];
    wanted.extend(["notifications/events/error"; 9]);
    wanted.push("notifications/events/terminated");
    assert_eq!(told, wanted);
    host.quiet(100).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_says_once_why_messages_may_not_be_coming() {
    let home = Home::new();
    let mut options = home.options();
    options.events = true;
    options.health = Some(Arc::new(|| Some("nobody is signed in".to_owned())));
    let mut host = Host::start(options, 64 * 1024);
    host.request(1, "events/stream", json!({"name": "bot.message", "_meta": modern_meta("some-host")})).await;
    assert_eq!(host.next().await["method"], "notifications/events/active");
    let told = host.next().await;
    assert_eq!(told["method"], "notifications/events/error");
    assert_eq!(told["params"]["error"], json!({"code": -32603, "message": "nobody is signed in"}));
    for _ in 0..3 {
        assert_eq!(host.next().await["method"], "notifications/events/heartbeat");
    }
}

#[tokio::test(start_paused = true)]
async fn deleted_events_are_reported_and_the_rest_comes() {
    let home = Home::new();
    let mut host = connect(&home);
    let asked = |cursor: &Value| {
        let mut meta = modern_meta("");
        meta.as_object_mut().unwrap().remove("io.modelcontextprotocol/clientInfo");
        json!({"name": "teams.message", "cursor": cursor, "_meta": meta})
    };
    let steady = RetentionPolicy { days_max: None, bytes_max: None, consumer_idle_days: 10 };
    let first = poll(&mut host, 0, asked(&json!(null))).await["cursor"].clone();
    let mut fifth = first.clone();
    for day in 1..=8 {
        home.receive([day]);
        if day == 5 {
            fifth = poll(&mut host, 1, asked(&json!(null))).await["cursor"].clone();
        }
        tokio::time::sleep(Duration::from_secs(24 * 3_600)).await;
        home.journal.prune(&steady).unwrap();
    }
    let pruned = home.journal.prune(&RetentionPolicy { days_max: Some(3), ..steady }).unwrap();
    assert_eq!(pruned.records, 5, "{pruned:?}");
    for (id, cursor, truncated) in [(2, &first, true), (3, &fifth, false), (4, &json!("no cursor"), true)] {
        let polled = poll(&mut host, id, asked(cursor)).await;
        assert_eq!(event_ids(&polled["events"]), ["m6", "m7", "m8"]);
        assert_eq!(polled["truncated"], truncated, "{cursor}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn polls_of_any_size_bring_what_was_asked_for_once_and_in_order(
        bursts in prop::collection::vec((0_usize..70, 0_u64..3, 1_u64..50), 1..8),
    ) {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (seen, wanted) = runtime.block_on(async {
            let home = Home::new();
            let mut host = open(&home).await;
            let arguments = json!({"chat_id": "a"});
            let begins = json!({"name": "teams.message", "arguments": arguments});
            let mut cursor = poll(&mut host, 0, begins).await["cursor"].clone();
            let (mut seen, mut wanted, mut number) = (Vec::new(), Vec::new(), 0);
            let mut last = vec![(0, 500, 100)];
            last.splice(0..0, bursts);
            for (burst, polls, max_events) in last {
                let mut drafts = Vec::new();
                for _ in 0..burst {
                    number += 1;
                    let mut draft = draft(&format!("m{number}"), "text");
                    draft.chat_id = if number % 3 == 0 { "b" } else { "a" }.to_owned();
                    wanted.extend((number % 3 != 0).then(|| format!("m{number}")));
                    drafts.push(draft);
                }
                home.journal.append(drafts).unwrap();
                for _ in 0..polls {
                    let asked = json!({
                        "name": "teams.message", "arguments": arguments, "cursor": cursor, "maxEvents": max_events
                    });
                    let polled = poll(&mut host, 1, asked).await;
                    assert_eq!(polled["truncated"], false);
                    let ids = event_ids(&polled["events"]);
                    assert!(ids.len() as u64 <= max_events);
                    seen.extend(ids.into_iter().map(str::to_owned));
                    cursor = polled["cursor"].clone();
                    if polled["hasMore"] == false {
                        break;
                    }
                }
            }
            (seen, wanted)
        });
        prop_assert_eq!(seen, wanted);
    }
}
