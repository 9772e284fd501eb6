//! `send_teams_message`: once, in the background of the connection, with a plain word about what came of it.

use std::time::Duration;

use entraclaw_inbox::tool::{CONTENT_BYTES_MAX, ContentType, OutgoingTeams, SendError};
use rstest::rstest;
use serde_json::json;

use crate::support::{Home, tool_json, tool_text};

#[tokio::test(start_paused = true)]
async fn a_message_goes_to_the_outbox_as_it_was_given() {
    let home = Home::new();
    let mut host = home.host("some-host").await;
    let answer = host
        .ask(
            1,
            "send_teams_message",
            json!({"chat_id": "chat-1", "content": "<b>hi</b>", "reply_to": ["m1"]}),
        )
        .await;
    assert_eq!(
        answer,
        json!({"sent": true, "chat_id": "chat-1", "message_id": "sent-1", "ts": "2026-01-01T00:00:00Z"})
    );
    host.ask(
        2,
        "send_teams_message",
        json!({"chat_id": "chat-1", "content": "a < b", "content_type": "text"}),
    )
    .await;
    let sent = home.outbox.sent.lock().unwrap();
    let message = |content: &str, content_type, reply_to: &[&str]| OutgoingTeams {
        chat_id: "chat-1".to_owned(),
        content: content.to_owned(),
        content_type,
        reply_to: reply_to.iter().map(|&id| id.to_owned()).collect(),
    };
    assert_eq!(
        *sent,
        [message("<b>hi</b>", ContentType::Html, &["m1"]), message("a < b", ContentType::Text, &[])]
    );
}

#[rstest]
#[case(SendError::UnknownChat, "chat_id: no chat with this id; nothing was sent")]
#[case(SendError::NotAllowed, "chat_id: sending to this chat is not allowed; nothing was sent")]
#[case(SendError::TooLarge { bytes_max: 10 }, "content: the content is too large, at most 10 bytes")]
#[case(SendError::Graph("403 Forbidden".to_owned()), "403 Forbidden; nothing was sent")]
#[case(SendError::UnknownOutcome("timed out".to_owned()), "no answer came, it may or may not have arrived: timed out; look in the chat")]
#[tokio::test(start_paused = true)]
async fn a_failure_says_what_happened_and_what_to_do(#[case] error: SendError, #[case] text: &str) {
    let home = Home::new();
    home.outbox.outcomes.lock().unwrap().push_back(Err(error));
    let mut host = home.host("some-host").await;
    host.call(1, "send_teams_message", json!({"chat_id": "chat-1", "content": "hi"})).await;
    let answer = host.next_answer().await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(tool_text(&answer).starts_with(text), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn oversized_content_is_refused_before_anything_is_sent() {
    let home = Home::new();
    let mut host = home.host("some-host").await;
    let content = "é".repeat(CONTENT_BYTES_MAX / 2 + 1);
    host.call(1, "send_teams_message", json!({"chat_id": "chat-1", "content": content})).await;
    let answer = host.next_answer().await;
    assert!(tool_text(&answer).starts_with("content: 28674 bytes are more than the 28672"), "{answer}");
    assert!(home.outbox.sent.lock().unwrap().is_empty());
    host.ask(2, "send_teams_message", json!({"chat_id": "chat-1", "content": "x".repeat(CONTENT_BYTES_MAX)}))
        .await;
    assert_eq!(home.outbox.sent.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_slow_send_holds_up_nothing_and_a_cancelled_one_is_sent_but_not_answered() {
    let home = Home::new();
    *home.outbox.takes.lock().unwrap() = Duration::from_secs(10);
    let mut host = home.host("some-host").await;
    let message = json!({"chat_id": "chat-1", "content": "hi"});
    host.call(1, "send_teams_message", message.clone()).await;
    host.call(2, "send_teams_message", message.clone()).await;
    host.request(3, "ping", json!({})).await;
    assert_eq!(host.next().await["id"], 3);
    host.cancel(1, Some("request cancelled")).await;
    let answer = host.next().await;
    assert_eq!((&answer["id"], &tool_json(&answer)["message_id"]), (&json!(2), &json!("sent-2")));
    host.quiet(60).await;
}

#[tokio::test(start_paused = true)]
async fn too_many_messages_at_a_time_are_refused() {
    let home = Home::new();
    *home.outbox.takes.lock().unwrap() = Duration::from_secs(10);
    let mut host = home.host("some-host").await;
    for id in 0..9 {
        host.call(id, "send_teams_message", json!({"chat_id": "chat-1", "content": "hi"})).await;
    }
    let refused = host.next().await;
    assert_eq!((&refused["id"], &refused["result"]["isError"]), (&json!(8), &json!(true)));
    assert_eq!(home.outbox.sent.lock().unwrap().len(), 8);
    for id in 0..8 {
        assert_eq!(host.next().await["id"], id);
    }
}
