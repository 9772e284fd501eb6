//! Each host's own wake-up: where the message belongs, and what moves it; and hosts that have none.

use std::time::Duration;

use entraclaw_inbox::wake_up::WakeUpSettings;
use entraclaw_inbox::wake_up::{HttpMethod, WakeUpRequest};
use entraclaw_seams::secret::Secret;
use serde_json::json;
use tokio::time::sleep;

use super::{CODEX, Scripted, all_on, begun, connect};
use crate::support::Home;

#[tokio::test(start_paused = true)]
async fn opencode_is_reached_in_the_session_that_is_in_use() {
    let home = Home::new();
    let opencode = begun(&home, "opencode").await;
    let epoch_ms = 1_767_225_600_000_u64;
    let yesterday = json!({"id": "ses_old", "time": {"updated": epoch_ms - 1}});
    *opencode.wake_up.sessions.lock().unwrap() = json!([yesterday]);
    home.receive([1]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(opencode.wake_up.count(), 0);
    assert!(opencode.presence.get().carriers.contains("opencode port (waits for a first prompt)"));
    let in_use = json!({"id": "ses_new", "time": {"updated": epoch_ms + 70_000}});
    *opencode.wake_up.sessions.lock().unwrap() = json!([yesterday, in_use]);
    sleep(Duration::from_secs(30)).await;
    let (_, request) = opencode.wake_up.wake_ups.lock().unwrap()[0].clone();
    let WakeUpRequest::Http { method, port, path, password, body } = &request else { panic!("{request:?}") };
    assert_eq!((*method, *port, path.as_str()), (HttpMethod::Post, 4096, "/session/ses_new/prompt_async"));
    assert_eq!(password.as_ref().map(Secret::expose), Some("hush"));
    assert!(body.as_ref().unwrap().starts_with(r#"{"parts":[{"type":"text","text":"[Entraclaw] "#));
    assert!(!format!("{request:?}").contains("hush"));
    assert!(opencode.presence.get().carriers.contains("opencode port"));
}

#[tokio::test(start_paused = true)]
async fn qwen_is_given_a_line() {
    let home = Home::new();
    let qwen = begun(&home, "qwen-cli-mcp-client-entraclaw").await;
    home.receive([1]);
    sleep(Duration::from_secs(1)).await;
    let (_, request) = qwen.wake_up.wake_ups.lock().unwrap()[0].clone();
    let WakeUpRequest::Append { path, line } = request else { panic!("{request:?}") };
    assert!(path == "/tmp/qwen.jsonl" && !line.contains('\n'));
    assert!(line.starts_with(r#"{"type":"submit","text":"[Entraclaw] message"#), "{line}");
}

#[tokio::test(start_paused = true)]
async fn hosts_without_a_wake_up_that_is_on_are_left_alone() {
    for (client, wake_ups) in [
        ("claude-code", WakeUpSettings { inbox_socket: false, ..all_on() }),
        ("copilot-cli", all_on()),
        ("some-host", all_on()),
        (CODEX, WakeUpSettings::default()),
        ("opencode", WakeUpSettings { opencode_port: None, ..all_on() }),
    ] {
        let home = Home::new();
        let mut host = connect(&home, wake_ups, &Scripted::new(), None);
        host.begin(client).await;
        home.receive([1]);
        sleep(Duration::from_secs(600)).await;
        assert_eq!(host.wake_up.count(), 0, "{client}");
    }
}
