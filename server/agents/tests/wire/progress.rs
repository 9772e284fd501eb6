//! What a host hears while an agent works and says nothing.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Instant, sleep};

use crate::support::Machine;

/// A host that gives up a call without progress, so it is told at every half of the time that it allows.
#[tokio::test(start_paused = true)]
async fn a_host_that_waits_as_long_as_it_hears_something_is_told_in_time_and_no_more_often() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let opens = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "copilot-cli", "version": "1.0.102"}
    });
    let call = json!({"name": "ask", "arguments": {"prompt": "65"}, "_meta": {"progressToken": "t"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opens}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}),
    ] {
        client.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
    assert_eq!(client.answer().await["id"], 1);
    let began = Instant::now();
    sleep(Duration::from_millis(10)).await;
    machine.start();
    let mut told: Vec<(u64, Value)> = Vec::new();
    let answer = loop {
        let message = client.answer().await;
        if message["id"] == 2 {
            break message;
        }
        assert_eq!(message["method"], "notifications/progress", "{message}");
        told.push((began.elapsed().as_secs(), message["params"]["message"].clone()));
    };
    let expected =
        [10, 20, 30, 40, 50, 60].map(|second| (second, json!(format!("still working, {second} s"))));
    assert_eq!(told, expected);
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("forty-two"), "{answer}");
}
