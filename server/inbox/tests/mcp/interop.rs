//! A client that others wrote, in both of its lifecycles, against this server.

use entraclaw_inbox::provider::serve;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt};
use serde_json::Value;

use crate::support::Home;

fn client(name: &str) -> ClientConfig {
    let mut config = ClientConfig::default();
    config.client_info = Implementation::new(name.to_owned(), "1.0.0".to_owned());
    config
}

fn pipe(home: &Home) -> tokio::io::DuplexStream {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(ours);
    tokio::spawn(serve(home.options(), reader, writer));
    theirs
}

fn text(result: &rmcp::model::CallToolResult) -> Value {
    let text = result.content[0].as_text().expect("one text block");
    serde_json::from_str(&text.text).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_client_of_a_session_initialises_lists_and_calls() {
    let home = Home::new();
    home.receive([1, 2]);
    let client = client("interop").serve(tokio::io::split(pipe(&home))).await.unwrap();
    let info = client.peer_info().unwrap();
    assert_eq!(info.protocol_version, ProtocolVersion::V_2025_11_25);
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools.len(), 4);
    let result = client.call_tool(CallToolRequestParams::new("inbox_pull")).await.unwrap();
    assert_eq!(text(&result)["messages"].as_array().unwrap().len(), 2);
    let error = client.call_tool(CallToolRequestParams::new("inbox_poll")).await.unwrap_err();
    assert!(error.to_string().contains("did you mean inbox_pull?"), "{error}");
    assert_eq!(client.list_all_resources().await.unwrap().len(), 1);
    client.cancel().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_of_the_modern_era_discovers_lists_and_calls() {
    let home = Home::new();
    home.receive([1]);
    let mode = ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] };
    let client = client("interop").serve_with_lifecycle(tokio::io::split(pipe(&home)), mode).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version, ProtocolVersion::V_2026_07_28);
    assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    let result = client.call_tool(CallToolRequestParams::new("wait_for_inbound_message")).await.unwrap();
    assert_eq!(text(&result)["messages"][0]["id"], "m1");
    client.cancel().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_client_that_tries_both_falls_back_where_it_is_sent_to_initialize() {
    let home = Home::new();
    let mode = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    let client =
        client("claude-code").serve_with_lifecycle(tokio::io::split(pipe(&home)), mode).await.unwrap();
    assert_eq!(client.peer_info().unwrap().protocol_version, ProtocolVersion::V_2025_11_25);
    assert_eq!(client.list_all_tools().await.unwrap().len(), 4);
    client.cancel().await.unwrap();
}
