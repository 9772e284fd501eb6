//! Questions as tasks of the protocol: who gets a result, and when.

use std::time::Duration;

use entraclaw_work::Claim;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{sleep, timeout};

use crate::support::{Client, EXTENSION, Machine};

impl Client {
    /// Asks a question that goes on as a task, and returns its id.
    async fn asks(&mut self, machine: &Machine, seconds: u64) -> String {
        let call = json!({"name": "ask", "arguments": {"prompt": seconds.to_string()}});
        self.send("tools/call", call, &json!({"extensions": {EXTENSION: {}}})).await;
        sleep(Duration::from_millis(10)).await;
        machine.start();
        let result = self.answer().await["result"].clone();
        assert_eq!(
            (&result["resultType"], &result["status"]),
            (&json!("task"), &json!("working")),
            "{result}"
        );
        result["taskId"].as_str().unwrap().to_owned()
    }

    async fn get(&mut self, task: &str) -> Value {
        self.request("tasks/get", json!({"taskId": task})).await["result"].clone()
    }
}

fn text(task: &Value) -> &str {
    task["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_task_brings_its_answer_and_the_inbox_never_does() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    assert!(task.starts_with("work-"), "{task}");
    assert_eq!(client.get(&task).await["status"], "working");
    sleep(Duration::from_secs(120)).await;
    let done = client.get(&task).await;
    assert_eq!((&done["status"], text(&done).contains("forty-two")), (&json!("completed"), true), "{done}");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
    // It is the same however often it is asked for, also by the next session.
    assert_eq!(client.get(&task).await["result"], done["result"]);
    assert_eq!(machine.connect().get(&task).await["result"], done["result"]);
}

#[tokio::test(start_paused = true)]
async fn a_task_of_another_session_is_working_until_it_has_its_answer() {
    let machine = Machine::new();
    let (mut client, mut other) = (machine.connect(), machine.connect());
    let task = client.asks(&machine, 120).await;
    let looked = other.get(&task).await;
    assert_eq!((&looked["status"], looked.get("result")), (&json!("working"), None), "{looked}");
    sleep(Duration::from_secs(120)).await;
    for session in [&mut client, &mut other] {
        let done = session.get(&task).await;
        assert_eq!(
            (&done["status"], text(&done).contains("forty-two")),
            (&json!("completed"), true),
            "{done}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_quick_answer_is_no_task_and_who_declares_none_gets_a_ticket() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let declared = json!({"extensions": {EXTENSION: {}}});
    for (seconds, capabilities, says) in [(5, declared, "forty-two"), (120, json!({}), "still working on")] {
        let call = json!({"name": "ask", "arguments": {"prompt": seconds.to_string()}});
        client.send("tools/call", call, &capabilities).await;
        sleep(Duration::from_millis(10)).await;
        machine.start();
        let result = client.answer().await["result"].clone();
        assert_eq!(result["resultType"], "complete", "{result}");
        assert!(result["content"][0]["text"].as_str().unwrap().contains(says), "{result}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_ends_its_agent_and_nobody_tells_of_it() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 3_000).await;
    assert!(client.request("tasks/cancel", json!({"taskId": task})).await["result"].is_object());
    assert_eq!(client.get(&task).await["status"], "cancelled");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
    assert_eq!(client.get(&task).await["status"], "cancelled");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_fetches_goes_to_the_inbox() {
    let machine = Machine::new();
    // The client goes away.
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    drop(client);
    sleep(Duration::from_secs(200)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Released));
    // The client stays and does not ask.
    let mut client = machine.connect();
    let task = client.asks(&machine, 120).await;
    sleep(Duration::from_secs(400)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Released));
    let late = client.get(&task).await;
    assert!(text(&late).contains("on its way to your inbox"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_taken_back_is_there_for_the_next_request() {
    let machine = Machine::new();
    let mut client = machine.connect();
    let task = client.asks(&machine, 60).await;
    sleep(Duration::from_secs(60)).await;
    // Nothing is read, so the cancel finds the answer in the queue: a line of the pipe's size is before it.
    let declared = json!({"extensions": {EXTENSION: {}}});
    for _ in 0..80 {
        client.send("tools/list", json!({}), &declared).await;
    }
    let id = client.send("tasks/get", json!({"taskId": task}), &declared).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.to.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Claimed));
    for _ in 0..80 {
        client.answer().await;
    }
    assert!(timeout(Duration::from_secs(1), client.answer()).await.is_err());
    assert_eq!(client.get(&task).await["status"], "completed");
    sleep(Duration::from_millis(10)).await;
    assert_eq!(machine.claim(&task), Some(Claim::Seen));
}

#[tokio::test(start_paused = true)]
async fn a_task_of_another_kind_or_without_the_extension_is_refused() {
    let machine = Machine::new();
    let mut client = machine.connect();
    for task in ["x", "work-00000000-0000-4000-8000-000000000000", "work-../../etc"] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let answer = client.request(method, json!({"taskId": task})).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
        }
    }
    client.send("tasks/get", json!({"taskId": "work-x"}), &json!({})).await;
    assert_eq!(client.answer().await["error"]["code"], -32021);
    let listed = client.request("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let may = ["ask", "suggest", "explain"].iter().any(|name| tool["name"] == *name);
        assert_eq!(tool["execution"]["taskSupport"] == "optional", may, "{tool}");
    }
    let found = client.request("server/discover", json!({})).await;
    assert_eq!(found["result"]["capabilities"]["extensions"][EXTENSION], json!({}));
}
