//! Notifications of changes, in both eras: soon, once for a burst, and only while a client listens.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::support::{Client, Machine};

const CURRENT: &str = "context://current";
const SOON: Duration = Duration::from_millis(100);

/// A client that listens to these resources.
async fn listening(machine: &Machine, uris: &[&str], is_modern: bool) -> Client {
    if is_modern {
        let mut client = machine.modern();
        client.send("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": uris}})).await;
        let acknowledged = client.next().await;
        assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"], json!(uris));
        return client;
    }
    let mut client = machine.legacy(&[]).await;
    for uri in uris {
        let answer = client.request("resources/subscribe", json!({"uri": uri})).await;
        assert!(answer.get("result").is_some(), "{answer}");
    }
    client
}

async fn told(client: &mut Client) -> Value {
    let began = Instant::now();
    let notified = client.next().await;
    assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
    assert_eq!(notified["method"], "notifications/resources/updated", "{notified}");
    notified["params"]["uri"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_write_by_anybody_is_told_within_100_ms_and_a_burst_once() {
    let machine = Machine::new();
    let mut writer = machine.modern();
    writer.done("init_context", json!({})).await;
    for is_modern in [true, false] {
        let mut client = listening(&machine, &[CURRENT], is_modern).await;
        client.silent(Duration::from_secs(60)).await;
        writer.done("append_context", json!({"content": "one"})).await;
        assert_eq!(told(&mut client).await, CURRENT);
        client.silent(Duration::from_secs(60)).await;

        // A person's editor puts the whole text anew.
        let text = machine.context() + "a person's line\n";
        machine.storage.set_bytes("home/alice/project/context.md", text.as_bytes());
        assert_eq!(told(&mut client).await, CURRENT);
        client.silent(Duration::from_secs(5)).await;

        let began = Instant::now();
        for n in 0..20 {
            writer.done("append_context", json!({"content": format!("burst {n}")})).await;
            sleep(Duration::from_millis(2)).await;
        }
        let _ = client.next().await;
        assert!(began.elapsed() <= SOON, "{:?}", began.elapsed());
        client.silent(Duration::from_secs(60)).await;

        // Another file of the workspace.
        machine.storage.set_bytes("home/alice/project/src/main.rs", b"fn main() {}");
        client.silent(Duration::from_secs(60)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_seconds_is_told_a_few_times_and_at_its_end() {
    let machine = Machine::new();
    let mut writer = machine.modern();
    writer.done("init_context", json!({})).await;
    let mut client = listening(&machine, &[CURRENT], true).await;
    client.silent(Duration::from_secs(1)).await;
    let (mut count, began) = (0, Instant::now());
    while began.elapsed() < Duration::from_secs(3) {
        writer.done("append_context", json!({"content": "more"})).await;
        sleep(Duration::from_millis(10)).await;
        while tokio::time::timeout(Duration::ZERO, client.next()).await.is_ok() {
            count += 1;
        }
    }
    writer.done("append_context", json!({"content": "the last one"})).await;
    told(&mut client).await;
    assert!((3..=10).contains(&count), "{count}");
    client.silent(Duration::from_secs(5)).await;
}

#[tokio::test(start_paused = true)]
async fn sessions_and_one_session_are_told_of() {
    let machine = Machine::new();
    machine.say("dddddddd-4444-4444-8444-444444444444", "user", "begin");
    let one = "context://sessions/dddddddd-4444-4444-8444-444444444444";
    let uris = ["context://cli-sessions", one, "context://sessions", "context://workspaces"];
    for is_modern in [true, false] {
        let mut client = listening(&machine, &uris, is_modern).await;
        client.silent(Duration::from_secs(5)).await;
        machine.say("dddddddd-4444-4444-8444-444444444444", "assistant", "go on");
        assert_eq!(told(&mut client).await, "context://cli-sessions");
        assert_eq!(told(&mut client).await, one);
        let another = format!("eeeeeeee-5555-4555-8555-55555555555{}", u8::from(is_modern));
        machine.say(&another, "user", "another");
        assert_eq!(told(&mut client).await, "context://cli-sessions");
        let folder = "home/alice/.config/Code/User/workspaceStorage/1/chatSessions";
        let count = machine.storage.files(folder).len();
        machine.storage.set_bytes(&format!("{folder}/chat-{count}.json"), b"{}");
        assert_eq!(told(&mut client).await, "context://sessions");
        client.silent(Duration::from_secs(5)).await;
    }
    let mut client = listening(&machine, &["context://workspaces"], true).await;
    machine.modern().done("init_context", json!({})).await;
    assert_eq!(told(&mut client).await, "context://workspaces");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_looked_at_while_no_client_listens() {
    let machine = Machine::new();
    let mut writer = machine.modern();
    writer.done("init_context", json!({})).await;
    let mut client = machine.legacy(&[]).await;
    client.request("resources/subscribe", json!({"uri": CURRENT})).await;
    client.silent(Duration::from_secs(5)).await;
    client.request("resources/unsubscribe", json!({"uri": CURRENT})).await;
    let before = machine.storage.calls();
    machine.storage.set_bytes("home/alice/project/other.md", b"");
    client.silent(Duration::from_secs(600)).await;
    assert_eq!(machine.storage.calls(), before);
    writer.done("append_context", json!({"content": "unheard"})).await;
    client.silent(Duration::from_secs(5)).await;
}
