//! The scripted agent: what a model does of its own accord in a session. It sees only its own results.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;

use super::expect::first_json;
use super::session::SessionPort;
use crate::scenario::AgentPolicy;

/// Time between two turns of an agent that pulls.
const TURN_EVERY: Duration = Duration::from_secs(30);
/// An agent that got an error thinks before it tries again.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// A model that was woken reads, says nothing and is done.
const AFTER_WAKING: Duration = Duration::from_secs(1);

/// Follows the policy until the session ends.
pub(crate) async fn follow(mut policy: watch::Receiver<AgentPolicy>, port: SessionPort) {
    loop {
        let current = *policy.borrow_and_update();
        tokio::select! {
            biased;
            changed = policy.changed() => if changed.is_err() { return },
            () = port.ended() => return,
            () = act(current, &port) => {}
        }
    }
}

async fn act(policy: AgentPolicy, port: &SessionPort) {
    match policy {
        AgentPolicy::Scripted | AgentPolicy::Forgets => loop {
            port.woken().await;
            tokio::time::sleep(AFTER_WAKING).await;
            port.end_turn();
        },
        AgentPolicy::Listens => {
            port.ready().await;
            port.begin_turn("Listen for messages.");
            loop {
                listen(port).await;
            }
        }
        AgentPolicy::Replies => {
            port.ready().await;
            port.begin_turn("Listen for messages and answer each one.");
            loop {
                for message in listen(port).await {
                    answer(port, &message).await;
                }
            }
        }
        AgentPolicy::Pulls => {
            port.ready().await;
            loop {
                port.begin_turn("Look at your inbox.");
                while pull(port).await > 0 {}
                port.end_turn();
                tokio::time::sleep(TURN_EVERY).await;
            }
        }
    }
}

/// One wait; the messages it brought.
async fn listen(port: &SessionPort) -> Vec<Value> {
    let end = port.call("wait_for_inbound_message", json!({})).await;
    if end.outcome != "ok" || end.is_error {
        tokio::time::sleep(AFTER_ERROR).await;
    }
    first_json(&end.text)
        .and_then(|v| v.get("messages").and_then(Value::as_array).cloned())
        .unwrap_or_default()
}

/// One pull; how much is left.
async fn pull(port: &SessionPort) -> u64 {
    let end = port.call("inbox_pull", json!({})).await;
    if end.outcome != "ok" || end.is_error {
        tokio::time::sleep(AFTER_ERROR).await;
        return 0;
    }
    let remaining = first_json(&end.text).and_then(|v| v.get("unread_remaining").and_then(Value::as_u64));
    remaining.unwrap_or(0)
}

async fn answer(port: &SessionPort, message: &Value) {
    let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
    if message.get("channel").and_then(Value::as_str) == Some("email") {
        let arguments = json!({"reply_to": id, "content": format!("answer to {id}"), "content_type": "text"});
        port.call("send_email", arguments).await;
        return;
    }
    let Some(chat_id) = message.get("chat_id") else { return };
    let content = format!("answer to {id}");
    if message.get("channel").and_then(Value::as_str) == Some("bot") {
        let arguments = json!({"conversation_id": chat_id, "content": content, "reply_to": id});
        port.call("send_bot_message", arguments).await;
        return;
    }
    let arguments = json!({"chat_id": chat_id, "content": content, "content_type": "text"});
    port.call("send_teams_message", arguments).await;
}
