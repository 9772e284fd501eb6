//! The scripted agent: what a model does of its own accord in a session. It sees only its own results.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use fake_hosts::ShellShown;
use scenario::AgentPolicy;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::session_port::SessionPort;
use crate::matching::first_json;

/// Time between two turns of an agent that pulls.
const TURN_EVERY: Duration = Duration::from_secs(30);
/// An agent that got an error thinks before it tries again.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Time between two tools of an agent that works.
const WORK_EVERY: Duration = Duration::from_secs(10);
/// Tools of one of its turns.
const WORKS: u32 = 6;
/// Time between two of its turns.
const REST: Duration = Duration::from_secs(60);

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
        AgentPolicy::Scripted | AgentPolicy::Forgets => match idle(port).await {},
        AgentPolicy::Parks => {
            port.ready().await;
            port.begin_turn("Listen for messages.");
            loop {
                park(port).await;
            }
        }
        AgentPolicy::Arms => {
            port.ready().await;
            port.begin_turn("Keep listening in the background.");
            loop {
                arm(port).await;
            }
        }
        AgentPolicy::Attends => {
            port.ready().await;
            port.begin_turn("Answer people who write while I am away.");
            attend(port).await;
        }
        AgentPolicy::Works => {
            port.ready().await;
            loop {
                port.begin_turn("Work on something.");
                for _ in 0..WORKS {
                    tokio::time::sleep(WORK_EVERY).await;
                    port.work();
                }
                finish(port).await;
                let rest = tokio::time::Instant::now() + REST;
                // It may be woken while it rests.
                let _ = tokio::time::timeout_at(rest, idle(port)).await;
            }
        }
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
                finish(port).await;
                tokio::time::sleep(TURN_EVERY).await;
            }
        }
    }
}

/// Answers what comes, works on it, and rests until it is woken.
async fn attend(port: &SessionPort) -> Infallible {
    const SHELL: [&str; 1] = ["background_shell"];
    let mut answered = BTreeSet::new();
    // How often the command in the shell had ended when it was last started.
    let mut armed = None;
    loop {
        let news = answer_all(port, &mut answered).await;
        for _ in 0..news.min(WORKS) {
            tokio::time::sleep(WORK_EVERY).await;
            port.work();
        }
        // Messages that came meanwhile are read in this turn.
        if news > 0 {
            continue;
        }
        let ended = port.shown_by(&SHELL);
        if port.has_shell() && armed.is_none_or(|before| ended > before) && port.shell().await.outcome == "ok"
        {
            armed = Some(ended);
        }
        let turns = port.turns_by_itself();
        if port.end_turn().await {
            port.woken_after(turns).await;
        }
        tokio::time::sleep(AFTER_WAKING).await;
    }
}

/// Pulls until nothing is left and answers what was not answered before. How many that were.
async fn answer_all(port: &SessionPort, answered: &mut BTreeSet<String>) -> u32 {
    let mut news = 0;
    loop {
        let end = port.call("inbox_pull", json!({})).await;
        if end.outcome != "ok" || end.is_error {
            tokio::time::sleep(AFTER_ERROR).await;
            continue;
        }
        let page = first_json(&end.text).unwrap_or_default();
        let messages = page.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        for message in &messages {
            read_on(port, message).await;
            let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
            if answered.insert(id.to_owned()) {
                answer(port, message).await;
                news += 1;
            }
        }
        if messages.is_empty() || page.get("unread_remaining").and_then(Value::as_u64) == Some(0) {
            return news;
        }
    }
}

/// Reads the rest of a text that was too long for one answer.
async fn read_on(port: &SessionPort, message: &Value) {
    let rest = |message: &Value| message.get("rest_since_id").and_then(Value::as_str).map(str::to_owned);
    let mut next = rest(message);
    while let Some(since_id) = next {
        let end = port.call("inbox_pull", json!({"since_id": since_id})).await;
        let page = first_json(&end.text).unwrap_or_default();
        next = page.pointer("/messages/0").and_then(rest);
    }
}

/// Whenever the model is woken, it reads, says nothing and is done.
async fn idle(port: &SessionPort) -> Infallible {
    let mut turns = port.turns_by_itself();
    loop {
        port.woken_after(turns).await;
        turns = finish_later(port).await;
    }
}

/// Ends the turn, and those that go on or follow by themselves. How many of them there were before the last end.
async fn finish(port: &SessionPort) -> u64 {
    loop {
        let turns = port.turns_by_itself();
        if port.end_turn().await {
            return turns;
        }
        tokio::time::sleep(AFTER_WAKING).await;
    }
}

/// The model reads what woke it and ends the turn.
async fn finish_later(port: &SessionPort) -> u64 {
    tokio::time::sleep(AFTER_WAKING).await;
    finish(port).await
}

/// Ends the turn and sleeps until the model is shown something by one of these carriers, of which it was shown `before`.
async fn sleep_until_shown(port: &SessionPort, carriers: &[&str], before: usize) {
    let mut turns = finish(port).await;
    loop {
        // In a turn that another carrier began it is shown without a wake-up.
        tokio::select! {
            biased;
            () = port.woken_after(turns) => {}
            () = port.shown_after(carriers, before) => {}
        }
        tokio::time::sleep(AFTER_WAKING).await;
        if port.shown_by(carriers) > before {
            return;
        }
        turns = finish(port).await;
    }
}

/// One call that waits until something arrives, in the background where the host lets it.
async fn park(port: &SessionPort) {
    const LATE: [&str; 2] = ["task_notification", "task"];
    let before = port.shown_by(&LATE);
    let end = port.call("wait_for_inbound_message", json!({"timeout_s": 0})).await;
    match end.outcome {
        "backgrounded" => sleep_until_shown(port, &LATE, before).await,
        "ok" if !end.is_error => {}
        _ => tokio::time::sleep(AFTER_ERROR).await,
    }
}

/// One command in the background, and what it brought.
async fn arm(port: &SessionPort) {
    const SHELL: [&str; 1] = ["background_shell"];
    let before = port.shown_by(&SHELL);
    if port.shell().await.outcome != "ok" {
        // The person does not approve the command, so only another carrier can wake it.
        finish(port).await;
        match idle(port).await {}
    }
    sleep_until_shown(port, &SHELL, before).await;
    match port.shell_shown() {
        ShellShown::Output => {}
        ShellShown::Id => port.read_shell().await,
        ShellShown::Path => while pull(port).await > 0 {},
    }
}

/// One wait; the messages it brought.
async fn listen(port: &SessionPort) -> Vec<Value> {
    let end = port.call("wait_for_inbound_message", json!({})).await;
    if end.outcome != "ok" || end.is_error {
        tokio::time::sleep(AFTER_ERROR).await;
    }
    let messages = first_json(&end.text).and_then(|v| v.get("messages").and_then(Value::as_array).cloned());
    let messages = messages.unwrap_or_default();
    for message in &messages {
        read_on(port, message).await;
    }
    messages
}

/// One pull; how much is left.
async fn pull(port: &SessionPort) -> u64 {
    let end = port.call("inbox_pull", json!({})).await;
    if end.outcome != "ok" || end.is_error {
        tokio::time::sleep(AFTER_ERROR).await;
        return 0;
    }
    let page = first_json(&end.text).unwrap_or_default();
    for message in page.get("messages").and_then(Value::as_array).into_iter().flatten() {
        read_on(port, message).await;
    }
    page.get("unread_remaining").and_then(Value::as_u64).unwrap_or(0)
}

async fn answer(port: &SessionPort, message: &Value) {
    let id = message.get("id").and_then(Value::as_str).unwrap_or_default();
    // Two models hardly ever choose the same words.
    let content = match port.number() {
        1 => format!("answer to {id}"),
        number => format!("answer to {id} by session {number}"),
    };
    if message.get("channel").and_then(Value::as_str) == Some("email") {
        port.call("send_email", json!({"reply_to": id, "content": content, "content_type": "text"})).await;
        return;
    }
    let Some(chat_id) = message.get("chat_id") else { return };
    if message.get("channel").and_then(Value::as_str) == Some("bot") {
        let arguments = json!({"conversation_id": chat_id, "content": content, "reply_to": id});
        port.call("send_bot_message", arguments).await;
        return;
    }
    let arguments = json!({"chat_id": chat_id, "content": content, "content_type": "text"});
    port.call("send_teams_message", arguments).await;
}
