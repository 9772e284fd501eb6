//! The tasks extension: waiting goes on after the request, and the same rules hold for what it brings.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Home, Host, ids, modern_meta, tool_json};

const WAIT: &str = "wait_for_inbound_message";

fn with_tasks(client: &str) -> Value {
    let mut meta = modern_meta(client);
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}, "sampling": {}});
    meta
}

/// A request of a client that declares the extension.
async fn ask(host: &mut Host, id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["_meta"] = with_tasks("copilot-cli");
    host.request(id, method, params).await;
    host.next().await
}

/// A call that waits until something arrives.
async fn start(host: &mut Host, id: u32) -> String {
    let answer = ask(host, id, "tools/call", json!({"name": WAIT, "arguments": {"timeout_s": 0}})).await;
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].as_str().unwrap().to_owned()
}

async fn get(host: &mut Host, id: u32, task: &str) -> Value {
    let answer = ask(host, id, "tasks/get", json!({"taskId": task})).await;
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_eq!(answer["result"]["taskId"], task);
    answer["result"].clone()
}

/// Ids of the messages in a task's result.
fn brought(task: &Value) -> Vec<String> {
    assert_eq!(task["status"], "completed", "{task}");
    ids(&tool_json(task))
}

#[tokio::test(start_paused = true)]
async fn a_client_that_did_not_declare_the_extension_never_meets_a_task() {
    let home = Home::new();
    let mut host = home.connect();
    let meta = modern_meta("copilot-cli");
    host.request(1, "tools/call", json!({"name": WAIT, "arguments": {"timeout_s": 0}, "_meta": meta})).await;
    assert_eq!(ids(&tool_json(&host.next().await)), Vec::<String>::new());
    host.request(2, "tools/list", json!({"_meta": meta})).await;
    assert!(!host.next().await.to_string().contains("taskSupport"));
    for (id, method, params) in [
        (3, "tasks/get", json!({"taskId": "x"})),
        (4, "tasks/update", json!({"taskId": "x", "inputResponses": {}})),
        (5, "tasks/cancel", json!({"taskId": "x"})),
        (6, "subscriptions/listen", json!({"notifications": {"taskIds": ["x"]}})),
    ] {
        let mut params = params;
        params["_meta"] = meta.clone();
        host.request(id, method, params).await;
        let error = host.next().await["error"].clone();
        assert_eq!(error["code"], -32021, "{method}");
        let required = json!({"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}});
        assert_eq!(error["data"], required, "{method}");
    }
    // A session of the older era has another kind of tasks, which are not offered.
    host.open("copilot-cli", "2025-11-25").await;
    host.request(7, "tasks/get", json!({"taskId": "x"})).await;
    assert_eq!(host.next().await["error"]["code"], -32601);
}

#[tokio::test(start_paused = true)]
async fn the_extension_is_declared_and_the_tool_that_waits_says_so_to_who_knows_it() {
    let mut host = Home::new().connect();
    let answer = ask(&mut host, 1, "server/discover", json!({})).await;
    assert_eq!(answer["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    let answer = ask(&mut host, 2, "tools/list", json!({})).await;
    for tool in answer["result"]["tools"].as_array().unwrap() {
        let support = &tool["execution"]["taskSupport"];
        assert_eq!(*support, if tool["name"] == WAIT { json!("optional") } else { json!(null) });
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_until_something_arrives_goes_on_as_a_task_and_completes_with_the_messages() {
    let home = Home::new();
    let mut host = home.connect();
    let call = json!({"name": WAIT, "arguments": {"timeout_s": 0, "max_items": 2}});
    let created = ask(&mut host, 1, "tools/call", call).await["result"].clone();
    let task = created["taskId"].as_str().unwrap();
    assert_eq!(
        created,
        json!({
            "resultType": "task", "taskId": task, "status": "working",
            "statusMessage": "listening; it completes when a person writes",
            "createdAt": "2026-01-01T00:00:00Z", "lastUpdatedAt": "2026-01-01T00:00:00Z",
            "ttlMs": 86_400_000, "pollIntervalMs": 2_000, "_meta": created["_meta"]
        })
    );
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    let working = get(&mut host, 2, task).await;
    assert_eq!((&working["status"], &working["ttlMs"]), (&json!("working"), &json!(86_400_000 + 3_600_000)));
    home.receive([1, 2, 3]);
    host.quiet(60).await;
    let completed = get(&mut host, 3, task).await;
    assert_eq!(brought(&completed), ["m1", "m2"]);
    assert_eq!(tool_json(&completed)["unread_remaining"], 1);
    assert_eq!(completed["createdAt"], "2026-01-01T00:00:00Z");
    assert_ne!(completed["lastUpdatedAt"], "2026-01-01T00:00:00Z");
    // It is the same however often it is asked for.
    assert_eq!(get(&mut host, 4, task).await["result"], completed["result"]);
    // Coming back acknowledges what it brought.
    let pulled = ask(&mut host, 5, "tools/call", json!({"name": "inbox_pull"})).await;
    assert_eq!(ids(&tool_json(&pulled)), ["m3"]);
    let stats = ask(&mut host, 6, "tools/call", json!({"name": "inbound_queue_stats"})).await;
    assert_eq!(tool_json(&stats)["depth"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_with_messages_or_with_a_time_limit_needs_no_task() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.connect();
    let answer = ask(&mut host, 1, "tools/call", json!({"name": WAIT, "arguments": {"timeout_s": 0}})).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(ids(&tool_json(&answer)), ["m1"]);
    let answer = ask(&mut host, 2, "tools/call", json!({"name": WAIT, "arguments": {"timeout_s": 5}})).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(ids(&tool_json(&answer)), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_consumes_nothing() {
    let home = Home::new();
    let mut host = home.connect();
    let task = start(&mut host, 1).await;
    let answer = ask(&mut host, 2, "tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(answer["result"]["resultType"], "complete");
    home.receive([1]);
    assert_eq!(get(&mut host, 3, &task).await["status"], "cancelled");
    let update = ask(&mut host, 4, "tasks/update", json!({"taskId": task, "inputResponses": {}})).await;
    assert_eq!(update["result"]["resultType"], "complete");
    let pulled = ask(&mut host, 5, "tools/call", json!({"name": "inbox_pull"})).await;
    assert_eq!(ids(&tool_json(&pulled)), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_lost_on_its_way_is_brought_again_marked() {
    let home = Home::new();
    let mut host = home.connect();
    let task = start(&mut host, 1).await;
    home.receive([1]);
    assert_eq!(brought(&get(&mut host, 2, &task).await), ["m1"]);
    host.cancel(2, Some("request timeout")).await;
    assert_eq!(brought(&get(&mut host, 3, &task).await), ["m1 redelivered"]);
    // Once the consumer came back, a late cancel means nothing any more.
    ask(&mut host, 4, "tools/call", json!({"name": "inbox_pull"})).await;
    host.cancel(3, Some("request timeout")).await;
    assert_eq!(brought(&get(&mut host, 5, &task).await), ["m1 redelivered"]);
    let pulled = ask(&mut host, 6, "tools/call", json!({"name": "inbox_pull"})).await;
    assert_eq!(ids(&tool_json(&pulled)), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_session_that_ended_with_a_fetched_result_leaves_it_to_the_next() {
    let home = Home::new();
    let mut host = home.connect();
    let task = start(&mut host, 1).await;
    home.receive([1]);
    assert_eq!(brought(&get(&mut host, 2, &task).await), ["m1"]);
    let unfetched = start(&mut host, 3).await;
    home.receive([2]);
    assert_eq!(brought(&get(&mut host, 4, &unfetched).await), ["m2"]);
    drop(host.finish().await);
    let mut next = home.connect();
    // The second call had acknowledged the first message.
    let pulled = ask(&mut next, 1, "tools/call", json!({"name": "inbox_pull"})).await;
    assert_eq!(ids(&tool_json(&pulled)), ["m2 redelivered"]);
    let gone = ask(&mut next, 2, "tasks/get", json!({"taskId": task})).await;
    assert_eq!(gone["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn a_newer_call_of_the_consumer_ends_an_older_task_empty() {
    let home = Home::new();
    let mut host = home.connect();
    let older = start(&mut host, 1).await;
    let newer = start(&mut host, 2).await;
    assert_ne!(older, newer);
    let ended = get(&mut host, 3, &older).await;
    assert_eq!(brought(&ended), Vec::<String>::new());
    assert!(tool_json(&ended)["next"].as_str().unwrap().contains("do not repeat it"));
    home.receive([1]);
    assert_eq!(brought(&get(&mut host, 4, &older).await), Vec::<String>::new());
    assert_eq!(brought(&get(&mut host, 5, &newer).await), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn unknown_and_expired_tasks_are_refused_and_asking_keeps_one_alive() {
    let mut host = Home::new().connect();
    let asked_about = start(&mut host, 1).await;
    for hours in 1..=3 {
        tokio::time::sleep(Duration::from_secs(20 * 3_600)).await;
        assert_eq!(get(&mut host, 10 + hours, &asked_about).await["status"], "working");
    }
    tokio::time::sleep(Duration::from_secs(25 * 3_600)).await;
    for (id, params, message) in [
        (2, json!({"taskId": asked_about}), "params.taskId: no such task"),
        (3, json!({"taskId": "never"}), "params.taskId: no such task"),
        (4, json!({"taskId": 5}), "params.taskId: must be a string"),
        (5, json!({}), "params.taskId: missing"),
    ] {
        for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
            let error = ask(&mut host, id, method, params.clone()).await["error"].clone();
            assert_eq!(error["code"], -32602, "{method} {params}");
            assert!(error["message"].as_str().unwrap().starts_with(message), "{error}");
        }
    }
    for (id, method) in [(6, "tasks/list"), (7, "tasks/result")] {
        assert_eq!(ask(&mut host, id, method, json!({})).await["error"]["code"], -32601);
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_are_bounded_and_what_ended_first_is_forgotten_first() {
    let mut host = Home::new().connect();
    let mut tasks = Vec::new();
    for id in 0..20 {
        tasks.push(start(&mut host, id).await);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for (index, task) in tasks.iter().enumerate() {
        let answer = ask(&mut host, "get", "tasks/get", json!({"taskId": task})).await;
        assert_eq!(answer.get("error").is_some(), index < 4, "{index} {answer}");
    }
    // One that listens is never pushed out: another one then waits as an ordinary call.
    let mut host = Home::new().connect();
    for number in 0..16 {
        let meta = with_tasks(&format!("host-{number}"));
        host.request(
            number,
            "tools/call",
            json!({"name": WAIT, "arguments": {"timeout_s": 0}, "_meta": meta}),
        )
        .await;
        assert_eq!(host.next().await["result"]["resultType"], "task");
    }
    let meta = with_tasks("one-more");
    host.request(16, "tools/call", json!({"name": WAIT, "arguments": {"timeout_s": 0}, "_meta": meta})).await;
    assert_eq!(host.next().await["result"]["resultType"], "complete");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_asks_for_tasks_is_promised_none() {
    let home = Home::new();
    let mut host = home.connect();
    let task = start(&mut host, 1).await;
    let filter = json!({"notifications": {"taskIds": [task]}});
    let acknowledged = ask(&mut host, 2, "subscriptions/listen", filter).await;
    assert_eq!(acknowledged["params"]["notifications"], json!({}));
    home.receive([1]);
    host.quiet(60).await;
    assert_eq!(brought(&get(&mut host, 3, &task).await), ["m1"]);
}
