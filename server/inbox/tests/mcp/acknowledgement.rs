//! When a message counts as having reached the model, and what happens when it has not.

use serde_json::{Value, json};

use crate::support::{Home, ids, tool_json};

/// A host that drops pushes, so that only the tools speak.
const QUIET_HOST: &str = "codex-mcp-client";

const NOTHING: [&str; 0] = [];

#[tokio::test(start_paused = true)]
async fn the_next_call_acknowledges_what_the_last_one_returned() {
    let home = Home::new();
    home.receive([1, 2]);
    let mut host = home.host(QUIET_HOST).await;
    assert_eq!(ids(&host.ask(1, "wait_for_inbound_message", json!({})).await), ["m1", "m2"]);
    assert_eq!(ids(&host.ask(2, "inbox_pull", json!({})).await), NOTHING);
    let mut next = home.host(QUIET_HOST).await;
    assert_eq!(ids(&next.ask(1, "inbox_pull", json!({})).await), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn sending_acknowledges_too() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host(QUIET_HOST).await;
    host.ask(1, "inbox_pull", json!({})).await;
    host.ask(2, "send_teams_message", json!({"chat_id": "chat-1", "content": "hi"})).await;
    drop(host.finish().await);
    let mut next = home.host(QUIET_HOST).await;
    assert_eq!(ids(&next.ask(1, "inbox_pull", json!({})).await), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn messages_that_a_session_did_not_acknowledge_are_delivered_again_to_the_next() {
    let home = Home::new();
    home.receive([1, 2]);
    let mut host = home.host(QUIET_HOST).await;
    host.ask(1, "wait_for_inbound_message", json!({})).await;
    drop(host.finish().await);
    home.receive([3]);
    let mut next = home.host(QUIET_HOST).await;
    let answer = next.ask(1, "wait_for_inbound_message", json!({})).await;
    assert_eq!(ids(&answer), ["m1 redelivered", "m2 redelivered", "m3"]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_waiting_call_is_not_answered_and_takes_nothing_with_it() {
    let home = Home::new();
    let mut host = home.host(QUIET_HOST).await;
    host.call(1, "wait_for_inbound_message", json!({})).await;
    host.cancel(1, Some("request timeout")).await;
    home.receive([1]);
    assert_eq!(host.next().await["method"], "notifications/message");
    host.quiet(60).await;
    assert_eq!(ids(&host.ask(2, "inbox_pull", json!({})).await), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_newer_waiting_call_ends_the_older_one_which_may_be_abandoned() {
    let home = Home::new();
    let mut host = home.host(QUIET_HOST).await;
    host.call(1, "wait_for_inbound_message", json!({})).await;
    host.call(2, "wait_for_inbound_message", json!({})).await;
    let older = host.next().await;
    assert_eq!(older["id"], 1);
    let older = tool_json(&older);
    assert_eq!(ids(&older), NOTHING);
    assert!(older["next"].as_str().unwrap().starts_with("a newer wait_for_inbound_message call"));
    home.receive([1]);
    let newer = host.next().await;
    assert_eq!(newer["id"], 2);
    assert_eq!(ids(&tool_json(&newer)), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_cancel_gives_back_what_the_host_did_not_take() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host(QUIET_HOST).await;
    host.ask(1, "inbox_pull", json!({})).await;
    host.cancel(1, Some("McpError: MCP error -32001: Request timed out")).await;
    assert_eq!(ids(&host.ask(2, "inbox_pull", json!({})).await), ["m1 redelivered"]);
    assert_eq!(ids(&host.ask(3, "inbox_pull", json!({})).await), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cancels_every_finished_call_still_gets_each_message_once() {
    let home = Home::new();
    let mut host = home.host("opencode").await;
    for n in 1..=5 {
        home.receive([n]);
        let answer = host.ask(n, "wait_for_inbound_message", json!({})).await;
        assert_eq!(ids(&answer), [format!("m{n}")]);
        host.cancel(n, Some("AbortError: The operation was aborted.")).await;
    }
    host.cancel(5, None).await;
    assert_eq!(ids(&host.ask(9, "inbox_pull", json!({})).await), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn late_cancels_bring_a_message_back_three_times_and_then_no_more() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host(QUIET_HOST).await;
    let mut seen = Vec::new();
    for id in 1..=6 {
        seen.extend(ids(&host.ask(id, "inbox_pull", json!({})).await));
        host.cancel(id, Some("request timeout")).await;
    }
    assert_eq!(seen, ["m1", "m1 redelivered", "m1 redelivered", "m1 redelivered"]);
}

#[tokio::test(start_paused = true)]
async fn a_late_cancel_after_the_consumer_came_back_changes_nothing() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host(QUIET_HOST).await;
    host.ask(1, "inbox_pull", json!({})).await;
    host.ask(2, "inbox_pull", json!({})).await;
    host.cancel(1, Some("request timeout")).await;
    assert_eq!(ids(&host.ask(3, "inbox_pull", json!({})).await), NOTHING);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cancelled_before_it_left_is_not_sent_and_comes_again() {
    let home = Home::new();
    home.receive([1]);
    let mut host = crate::support::Host::start(home.options(), 256);
    host.send(crate::support::initialize(QUIET_HOST, "2025-11-25")).await;
    host.settle().await;
    // The answer to `initialize` fills the narrow pipe; nobody reads, so the next answers wait behind it.
    host.call(1, "inbox_pull", json!({})).await;
    host.settle().await;
    host.cancel(1, None).await;
    host.call(2, "inbox_pull", json!({})).await;
    assert_eq!(host.next().await["id"], "init");
    let answer = host.next().await;
    assert_eq!(answer["id"], 2);
    assert_eq!(ids(&tool_json(&answer)), ["m1 redelivered"]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_left_is_not_acknowledged_by_the_next_call() {
    let home = Home::new();
    home.receive([1]);
    let mut host = crate::support::Host::start(home.options(), 256);
    host.send(crate::support::initialize(QUIET_HOST, "2025-11-25")).await;
    host.settle().await;
    // Nobody reads, so both answers stay behind the one to `initialize`; then the host dies.
    host.call(1, "inbox_pull", json!({})).await;
    host.settle().await;
    host.call(2, "inbox_pull", json!({})).await;
    host.settle().await;
    drop((host.to_server, host.from_server));
    host.server.await.unwrap();
    let mut next = home.host(QUIET_HOST).await;
    assert_eq!(ids(&next.ask(1, "inbox_pull", json!({})).await), ["m1 redelivered"]);
}

#[tokio::test(start_paused = true)]
async fn cancels_that_name_nothing_are_ignored() {
    let home = Home::new();
    let mut host = home.host(QUIET_HOST).await;
    for params in
        [json!({}), json!({"requestId": 99}), json!({"requestId": null}), json!({"requestId": "init"})]
    {
        host.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }
    host.request(1, "ping", json!({})).await;
    assert_eq!(host.next().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_pulled_message_does_not_come_out_of_the_call_that_waits_beside_it() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host(QUIET_HOST).await;
    // In one write, as a host sends calls of one turn.
    let call = |id: u32, tool: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}}).to_string()
            + "\n"
    };
    let both = call(1, "inbox_pull") + &call(2, "wait_for_inbound_message");
    host.send_bytes(both.as_bytes()).await;
    assert_eq!(ids(&tool_json(&host.next_answer().await)), ["m1"]);
    host.settle().await;
    home.receive([2]);
    assert_eq!(ids(&tool_json(&host.next_answer().await)), ["m2"]);
}

#[tokio::test(start_paused = true)]
async fn two_consumers_have_cursors_of_their_own() {
    let home = Home::new();
    home.receive([1]);
    for client in ["copilot-cli", "github-copilot-developer", QUIET_HOST] {
        let mut host = home.host(client).await;
        let answer = host.ask(1, "inbox_pull", json!({})).await;
        let again: Value = host.ask(2, "inbox_pull", json!({})).await;
        assert_eq!(ids(&again), NOTHING);
        // The second is of the same family as the first.
        assert_eq!(ids(&answer).is_empty(), client == "github-copilot-developer", "{client}");
        drop(host.finish().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_given_by_flag_wins_over_the_clients() {
    let home = Home::new();
    home.receive([1]);
    for (client, expected) in [("copilot-cli", 1), (QUIET_HOST, 0)] {
        let mut options = home.options();
        options.consumer = Some("shared".parse().unwrap());
        let mut host = crate::support::Host::start(options, 64 * 1024);
        host.open(client, "2025-11-25").await;
        assert_eq!(ids(&host.ask(1, "inbox_pull", json!({})).await).len(), expected);
        host.ask(2, "inbox_pull", json!({})).await;
        drop(host.finish().await);
    }
}
