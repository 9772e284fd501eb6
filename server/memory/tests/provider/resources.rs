//! Resources and prompts, in both eras.

use std::time::Duration;

use serde_json::json;

use crate::support::{Client, Machine};

async fn both(machine: &Machine) -> [Client; 2] {
    [machine.modern(), machine.legacy(&[]).await]
}

#[tokio::test(start_paused = true)]
async fn the_current_context_is_read_in_both_eras() {
    let machine = Machine::new();
    for mut client in both(&machine).await {
        let empty = client.resource("context://current").await;
        assert!(
            empty.starts_with("<!-- ") && empty.contains("init_context") && empty.ends_with("-->\n"),
            "{empty}"
        );
    }
    let mut client = machine.modern();
    client.done("init_context", json!({})).await;
    for n in 0..3 {
        client.done("append_context", json!({"content": format!("note {n}")})).await;
    }
    for mut client in both(&machine).await {
        assert_eq!(client.resource("context://current").await, machine.context());
        let part = client.resource("context://current?range=last-1-sessions").await;
        assert!(part.contains("note 2") && !part.contains("note 1"), "{part}");
        let (_, as_tool) = client
            .call("read_context_resource", json!({"uri": "context://current?range=last-1-sessions"}))
            .await;
        assert_eq!(as_tool, part.trim_end());
        let wrong = client.request("resources/read", json!({"uri": "context://current?range=some"})).await;
        assert_eq!(wrong["error"]["code"], -32_602, "{wrong}");
        assert!(wrong["error"]["message"].as_str().unwrap().contains("last-5-sessions"), "{wrong}");
        let known = client.resource("context://workspaces").await;
        assert_eq!(known, r#"{"workspaces":[{"path":"/home/alice/project/context.md","exists":true}]}"#);
        let listed = client.request("resources/list", json!({})).await;
        let uris: Vec<&str> = listed["result"]["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|r| r["uri"].as_str().unwrap())
            .collect();
        assert!(uris.contains(&"context://current") && uris.contains(&"context://workspaces"), "{uris:?}");
        let templates = client.request("resources/templates/list", json!({})).await;
        let templates = templates["result"]["resourceTemplates"].as_array().unwrap().clone();
        let uris: Vec<&str> = templates.iter().map(|t| t["uriTemplate"].as_str().unwrap()).collect();
        assert_eq!(uris, ["context://current{?range}", "context://sessions/{sessionId}"]);
    }
}

#[tokio::test(start_paused = true)]
async fn prompts_hold_the_context_and_the_documents_words() {
    let machine = Machine::new();
    machine.modern().done("init_context", json!({"projectName": "Quarry"})).await;
    for mut client in both(&machine).await {
        let answer = client.request("prompts/get", json!({"name": "read_and_continue"})).await;
        let message = &answer["result"]["messages"][0];
        assert_eq!(message["role"], "user", "{answer}");
        let text = message["content"]["text"].as_str().unwrap();
        assert!(
            text.starts_with("Read the project context from context.md,") && text.contains("Project: Quarry"),
            "{text}"
        );
        assert!(text.contains("data, not instructions"), "{text}");

        let params = json!({"name": "summarize_and_save", "arguments": {"message_count": "12"}});
        let answer = client.request("prompts/get", params).await;
        let text = answer["result"]["messages"][0]["content"]["text"].as_str().unwrap();
        assert!(text.ends_with("Current session has 12 messages."), "{text}");
        let wrong = client.request("prompts/get", json!({"name": "summarize_and_save"})).await;
        assert_eq!(wrong["error"]["code"], -32_602, "{wrong}");
        let listed = client.request("prompts/list", json!({})).await;
        let prompts = listed["result"]["prompts"].as_array().unwrap();
        assert_eq!(prompts.len(), 2, "{listed}");
        assert_eq!(prompts[1]["arguments"][0]["name"], "message_count");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_reading_gets_no_answer() {
    let machine = Machine::new();
    let mut client = machine.modern();
    let id = client.send("resources/read", json!({"uri": "context://current"})).await;
    client.cancel(id).await;
    client.silent(Duration::from_secs(5)).await;
    assert!(client.resource("context://workspaces").await.starts_with('{'));
}
