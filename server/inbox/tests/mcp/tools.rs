//! The tools: what the list says, what arguments they take, and what they answer.

use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Home, draft, ids, tool_json, tool_text};

#[tokio::test(start_paused = true)]
async fn the_list_is_small_plain_and_always_the_same() {
    let mut host = Home::new().host("some-host").await;
    host.request(1, "tools/list", json!({})).await;
    let first = host.next().await["result"].clone();
    host.request(2, "tools/list", json!({})).await;
    assert_eq!(host.next().await["result"], first);
    assert!(first.to_string().len() <= 12_000, "{}", first.to_string().len());
    assert!(first.get("nextCursor").is_none());
    let tools = first["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["inbound_queue_stats", "inbox_pull", "send_teams_message", "wait_for_inbound_message"]
    );
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        assert!(tool["description"].as_str().unwrap().chars().count() <= 2_048, "{name}");
        assert_eq!(tool["annotations"]["readOnlyHint"], name != "send_teams_message", "{name}");
        assert!(tool.get("outputSchema").is_none(), "{name}");
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        for (field, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string() && property["description"].is_string(), "{name}.{field}");
            assert!(property.get("format").is_none() && property.get("$ref").is_none(), "{name}.{field}");
        }
    }
    for word in ["data", "never an instruction", "redelivered", "pushed", "edit_of", "&lt;", "call it again"]
    {
        assert!(tools[3]["description"].as_str().unwrap().contains(word), "{word}");
    }
}

#[rstest]
#[case(
    "wait_for_inbound_message",
    r#"{"timeout_s":"50"}"#,
    "timeout_s: expected a whole number from 0 to 4294967295, got the string \"50\""
)]
#[case("wait_for_inbound_message", r#"{"timeout_s":-1}"#, "timeout_s: expected a whole number")]
#[case("wait_for_inbound_message", r#"{"timeout_s":1.5}"#, "timeout_s: expected a whole number")]
#[case("wait_for_inbound_message", r#"{"max_items":0}"#, "max_items: expected a whole number from 1 to")]
#[case("wait_for_inbound_message", r#"{"timeout":5}"#, "timeout: no such argument; did you mean timeout_s?")]
#[case(
    "inbox_pull",
    r#"{"limit":true}"#,
    "limit: expected a whole number from 1 to 4294967295, got the boolean true"
)]
#[case(
    "inbox_pull",
    r#"{"mark_consumed":"no"}"#,
    "mark_consumed: expected true or false, got the string \"no\""
)]
#[case("inbox_pull", r#"{"channel":"sms"}"#, "channel: expected \"teams\", \"email\", \"bot\"")]
#[case("inbox_pull", r#"{"since_id":5}"#, "since_id: expected a string, got the number 5")]
#[case("inbox_pull", r#"{"since_id":"nobody"}"#, "since_id \"nobody\" names no message")]
#[case("inbound_queue_stats", r#"{"verbose":true}"#, "verbose: no such argument")]
#[case("send_teams_message", r#"{"content":"x"}"#, "chat_id: missing or empty")]
#[case("send_teams_message", r#"{"chat_id":"c","content":"  "}"#, "content: missing or empty")]
#[case(
    "send_teams_message",
    r#"{"chat_id":"c","content":"x","content_type":"md"}"#,
    "content_type: expected \"html\" or \"text\""
)]
#[case(
    "send_teams_message",
    r#"{"chat_id":"c","content":"x","reply_to":"m1"}"#,
    "reply_to: expected a list of at most 10 strings, got the string"
)]
#[case(
    "send_teams_message",
    r#"{"chat_id":"c","content":"x","reply_to":[1]}"#,
    "reply_to: expected a list of at most 10 strings, got the number 1"
)]
#[tokio::test(start_paused = true)]
async fn a_wrong_argument_is_named_and_changes_nothing(
    #[case] tool: &str,
    #[case] arguments: &str,
    #[case] text: &str,
) {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host("codex-mcp-client").await;
    host.call(1, tool, serde_json::from_str(arguments).unwrap()).await;
    let answer = host.next_answer().await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    assert!(tool_text(&answer).starts_with(text), "{answer}");
    assert!(home.outbox.sent.lock().unwrap().is_empty());
    assert_eq!(ids(&host.ask(2, "inbox_pull", json!({})).await), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_null_is_not_given_and_a_whole_fraction_is_a_number() {
    let home = Home::new();
    home.receive(1..=3);
    let mut host = home.host("codex-mcp-client").await;
    let answer = host.ask(1, "inbox_pull", json!({"limit": 2.0, "channel": null, "since_id": null})).await;
    assert_eq!(ids(&answer), ["m1", "m2"]);
    assert_eq!(answer["unread_remaining"], 1);
    assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["unread_remaining", "messages"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_has_the_records_fields_and_marks_only_when_they_are_true() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host("codex-mcp-client").await;
    let answer = host.ask(1, "wait_for_inbound_message", json!({})).await;
    assert_eq!(
        answer.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["messages", "unread_remaining", "next"]
    );
    assert_eq!(
        answer["messages"][0],
        json!({
            "id": "m1", "channel": "teams", "chat_id": "chat-1", "from": "Alice", "ts": "2026-01-01T00:00:00Z",
            "received_at": "2026-01-01T00:00:00.000Z", "content_text_sanitized": "text 1",
            "meta": {"chat_id": "chat-1", "message_id": "m1", "ts": "2026-01-01T00:00:00Z", "user": "Alice"}
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_wait_returns_at_once_when_something_is_unread() {
    let home = Home::new();
    home.receive(1..=12);
    let mut host = home.host("codex-mcp-client").await;
    let started = Instant::now();
    let answer = host.ask(1, "wait_for_inbound_message", json!({})).await;
    assert_eq!(ids(&answer).len(), 10);
    assert_eq!(answer["unread_remaining"], 2);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[rstest]
#[case("some-host", json!({}), 50)]
#[case("some-host", json!({"timeout_s": 3}), 3)]
#[case("some-host", json!({"timeout_s": 0}), 55)]
#[case("github-copilot-cli", json!({"timeout_s": 0}), 55)]
#[case("copilot-cli", json!({"timeout_s": 0}), 55)]
#[case("claude-code", json!({"timeout_s": 0}), 55)]
#[case("codex-mcp-client", json!({"timeout_s": 0}), 120)]
#[case("github-copilot-cli", json!({"timeout_s": 3600}), 55)]
#[case("copilot-cli", json!({"timeout_s": 3600}), 55)]
#[case("claude-code", json!({"timeout_s": 3600}), 55)]
#[case("opencode", json!({"timeout_s": 1_000_000_000}), 55)]
#[case("codex-mcp-client", json!({"timeout_s": 3600}), 120)]
#[tokio::test(start_paused = true)]
async fn a_wait_ends_empty_in_time_and_never_after_the_hosts_cap(
    #[case] client: &str,
    #[case] arguments: Value,
    #[case] seconds: u64,
) {
    let mut host = Home::new().host(client).await;
    let started = Instant::now();
    let is_for_ever = arguments["timeout_s"] == 0;
    let answer = host.ask(1, "wait_for_inbound_message", arguments).await;
    assert_eq!(started.elapsed(), Duration::from_secs(seconds));
    assert_eq!((&answer["messages"], &answer["unread_remaining"]), (&json!([]), &json!(0)));
    let next = answer["next"].as_str().unwrap();
    assert!(next.contains("call wait_for_inbound_message again"));
    // Only a call that was to wait for ever ends before its time.
    assert_eq!(next.contains("here a call can't wait longer"), is_for_ever, "{next}");
}

/// Versions and names of hosts that let a call wait, and progress in the first ten minutes.
#[rstest]
#[case("claude-code", "2.1.212", 0)]
#[case("copilot-cli", "1.0.102", 29)]
#[case("github-copilot-developer", "1.0.0", 29)]
#[case("opencode", "1.18.33", 29)]
#[tokio::test(start_paused = true)]
async fn a_parked_call_waits_for_days_and_says_how_long(
    #[case] client: &str,
    #[case] version: &str,
    #[case] beats: usize,
) {
    let home = Home::new();
    let mut host = home.host_of(client, version).await;
    host.request(
        1,
        "tools/call",
        json!({
            "name": "wait_for_inbound_message", "arguments": {"timeout_s": 0}, "_meta": {"progressToken": 1}
        }),
    )
    .await;
    let began = Instant::now();
    let mut seen = 0;
    tokio::time::sleep(Duration::from_secs(599)).await;
    while seen < beats {
        let beat = host.next().await;
        assert_eq!(beat["method"], "notifications/progress");
        seen += 1;
        if seen == beats {
            assert_eq!(beat["params"]["message"], "listening for 9 min: other sessions' sources");
        }
    }
    tokio::time::sleep(Duration::from_secs(86_400 * 2)).await;
    home.receive([1]);
    loop {
        let message = host.next().await;
        if message["id"] == 1 {
            let answer = tool_json(&message);
            assert_eq!(ids(&answer), ["m1"]);
            assert!(answer["next"].as_str().unwrap().contains("timeout_s 0"), "{answer}");
            break;
        }
        assert_eq!(message["method"], "notifications/progress");
    }
    assert!(began.elapsed() > Duration::from_secs(86_400 * 2));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_wakes_without_delay() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    host.call(1, "wait_for_inbound_message", json!({})).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let started = Instant::now();
    home.receive([1]);
    assert_eq!(ids(&tool_json(&host.next().await)), ["m1"]);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn stats_count_and_show_no_message() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    let empty = json!({"depth": 0, "dropped_total": 0, "spilled_total": 0, "oldest_ts": null});
    assert_eq!(host.ask(1, "inbound_queue_stats", json!({})).await, empty);
    home.receive(1..=3);
    let answer = host.ask(2, "inbound_queue_stats", json!({})).await;
    assert_eq!((&answer["depth"], &answer["oldest_ts"]), (&json!(3), &json!("2026-01-01T00:00:00Z")));
}

#[tokio::test(start_paused = true)]
async fn messages_that_overflow_before_the_first_call_are_counted_as_after_it() {
    for calls_before in [false, true] {
        let home = Home::new();
        let mut host = home.host("codex-mcp-client").await;
        if calls_before {
            host.ask(1, "inbound_queue_stats", json!({})).await;
        }
        home.receive(1..=500);
        let answer = host.ask(2, "inbound_queue_stats", json!({})).await;
        let counts = (&answer["depth"], &answer["spilled_total"], &answer["dropped_total"]);
        assert_eq!(counts, (&json!(500), &json!(300), &json!(0)), "called before: {calls_before}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_stays_under_eight_thousand_characters_and_says_what_is_left() {
    let home = Home::new();
    home.receive_texts((1..=30).map(|n| (format!("m{n}"), "long \"text\" ".repeat(100))));
    let mut host = home.host("codex-mcp-client").await;
    let mut seen = 0;
    for id in 0..30 {
        host.call(id, "inbox_pull", json!({"limit": 5000})).await;
        let answer = host.next_answer().await;
        assert!(tool_text(&answer).len() <= 8_000, "{}", tool_text(&answer).len());
        let answer = tool_json(&answer);
        for message in answer["messages"].as_array().unwrap() {
            assert!(message.get("rest_since_id").is_none());
            seen += 1;
            assert_eq!(message["id"], format!("m{seen}"));
        }
        assert_eq!(answer["unread_remaining"], 30 - seen);
        if seen == 30 {
            return;
        }
    }
    panic!("only {seen} came");
}

#[tokio::test(start_paused = true)]
async fn a_message_too_long_for_one_answer_comes_in_parts() {
    let home = Home::new();
    let text = (0..3_000).map(|n| format!("{n} &lt; ")).collect::<Vec<_>>().concat();
    home.receive_texts([("m1".to_owned(), text.clone()), ("m2".to_owned(), "short".to_owned())]);
    let mut host = home.host("codex-mcp-client").await;
    let mut answer = host.ask(0, "wait_for_inbound_message", json!({})).await;
    let mut gathered = String::new();
    for id in 1..20 {
        let part = &answer["messages"][0];
        assert_eq!(part["id"], "m1");
        assert_eq!(part.get("part_from").and_then(Value::as_u64).unwrap_or(0), gathered.len() as u64);
        gathered.push_str(part["content_text_sanitized"].as_str().unwrap());
        assert_eq!(answer["unread_remaining"], 1);
        let Some(rest) = part.get("rest_since_id") else { break };
        answer = host.ask(id, "inbox_pull", json!({"since_id": rest})).await;
    }
    assert_eq!(gathered, text);
    assert_eq!(ids(&host.ask(20, "inbox_pull", json!({})).await), ["m2"]);
}

/// An edit has the id of its message, and Teams gives ids that are unique in a chat alone.
#[rstest]
#[case::an_edit("teams/chat-1/m1@2", "chat-1", Some("m1"))]
#[case::another_chat("teams/chat-2/m1", "chat-2", None)]
#[tokio::test(start_paused = true)]
async fn two_long_texts_of_one_id_are_read_side_by_side(
    #[case] key: &str,
    #[case] chat_id: &str,
    #[case] edit_of: Option<&str>,
    #[values(true, false)] by_the_session_that_gave_them: bool,
) {
    let home = Home::new();
    let texts = ["first ", "second "].map(|word| word.repeat(2_000));
    let mut second = draft("m1", &texts[1]);
    second.key = key.to_owned();
    second.chat_id = chat_id.to_owned();
    second.edit_of = edit_of.map(str::to_owned);
    home.journal.append(vec![draft("m1", &texts[0]), second]).unwrap();
    let mut giver = home.host("codex-mcp-client").await;
    let mut other = home.host("codex-mcp-client").await;
    let mut gathered = [String::new(), String::new()];
    let mut rests = Vec::new();
    for (id, text) in (1..).zip(&mut gathered) {
        let answer = giver.ask(id, "inbox_pull", json!({})).await;
        text.push_str(answer["messages"][0]["content_text_sanitized"].as_str().unwrap());
        rests.push(answer["messages"][0]["rest_since_id"].clone());
    }
    let reader = if by_the_session_that_gave_them { &mut giver } else { &mut other };
    let mut id = 2;
    while rests.iter().any(Value::is_string) {
        for (text, rest) in gathered.iter_mut().zip(&mut rests).filter(|(_, rest)| rest.is_string()) {
            id += 1;
            let answer = reader.ask(id, "inbox_pull", json!({"since_id": rest})).await;
            assert_eq!(answer["messages"][0]["part_from"], text.len());
            text.push_str(answer["messages"][0]["content_text_sanitized"].as_str().unwrap());
            *rest = answer["messages"][0]["rest_since_id"].clone();
        }
    }
    assert_eq!(gathered, texts);
}

#[tokio::test(start_paused = true)]
async fn looking_without_consuming_leaves_a_message_unread_and_marks_it_the_next_time() {
    let home = Home::new();
    home.receive([1, 2]);
    let mut host = home.host("codex-mcp-client").await;
    let look = json!({"mark_consumed": false});
    assert_eq!(ids(&host.ask(1, "inbox_pull", look.clone()).await), ["m1", "m2"]);
    assert_eq!(ids(&host.ask(2, "inbox_pull", look).await), ["m1 redelivered", "m2 redelivered"]);
    assert_eq!(ids(&host.ask(3, "inbox_pull", json!({"since_id": "m1"})).await), ["m2 redelivered"]);
    assert!(ids(&host.ask(4, "inbox_pull", json!({})).await).is_empty());
}
