//! Sessions of other agents: listed, read, exported, resumed and handed over.

use entraclaw_seams::storage::Storage as _;
use serde_json::{Value, json};

use crate::support::{Machine, WORKSPACE, members};

const CHAT: &str = "aaaaaaaa-1111-4111-8111-111111111111";
const CLAUDE: &str = "bbbbbbbb-2222-4222-8222-222222222222";

/// A machine with a chat of the editor, whose second request is in the log, and a session of Claude Code.
fn machine() -> Machine {
    let machine = Machine::new();
    let folder = "home/alice/.config/Code/User/workspaceStorage/1";
    let workspace = json!({"folder": format!("file://{WORKSPACE}")}).to_string();
    machine.storage.set_bytes(&format!("{folder}/workspace.json"), workspace.as_bytes());
    let request = |id: u64, said: &str, answered: &str| {
        json!({
            "requestId": format!("r{id}"), "timestamp": 1_770_235_200_000_u64 + id, "message": {"text": said, "parts": []},
            "response": [{"value": answered}]
        })
    };
    let first = request(1, "why did we drop redis", "We dropped Redis.");
    let state = json!({
        "version": 3, "sessionId": CHAT, "creationDate": 1_770_235_200_000_u64, "requests": [first],
    });
    let second = request(2, "and the queue?", "The queue is one file.");
    let log = format!(
        "{}\n{}\n",
        json!({"kind": 0, "v": state}),
        json!({"kind": 2, "k": ["requests"], "v": [second]})
    );
    machine.storage.set_bytes(&format!("{folder}/chatSessions/{CHAT}.jsonl"), log.as_bytes());
    machine.say(CLAUDE, "user", "build the index");
    machine.say(CLAUDE, "assistant", "Built. Next steps:\n- [ ] measure it");
    machine
}

#[tokio::test(start_paused = true)]
async fn chats_and_sessions_are_listed_and_read_as_the_document_says() {
    let machine = machine();
    let mut client = machine.modern();
    let chats: Value = serde_json::from_str(&client.resource("context://sessions").await).unwrap();
    assert_eq!(members(&chats), ["sessions"]);
    let chat = &chats["sessions"][0];
    assert_eq!(members(chat), ["id", "title", "date", "messageCount", "filePath"]);
    assert_eq!((&chat["id"], &chat["title"]), (&json!(CHAT), &json!("why did we drop redis")));
    assert_eq!((&chat["date"], &chat["messageCount"]), (&json!("2026-02-04"), &json!(4)));
    assert_eq!(chats["sessions"].as_array().unwrap().len(), 1);

    let uri = format!("context://sessions/{CHAT}");
    let session: Value = serde_json::from_str(&client.resource(&uri).await).unwrap();
    assert_eq!(members(&session), ["id", "title", "date", "requests"]);
    let second = json!({"userMessage": "and the queue?", "response": "The queue is one file."});
    assert_eq!(session["requests"][1], second);
    let (_, as_tool) = client.call("read_context_resource", json!({"uri": uri})).await;
    assert_eq!(serde_json::from_str::<Value>(&as_tool).unwrap(), session);

    let page: Value = serde_json::from_str(&client.resource(&format!("{uri}?offset=1")).await).unwrap();
    assert_eq!(page["requests"], json!([second]));

    let others: Value = serde_json::from_str(&client.resource("context://cli-sessions").await).unwrap();
    let other = &others["sessions"][0];
    assert_eq!(
        (&other["id"], &other["agent"], &other["folder"]),
        (&json!(CLAUDE), &json!("claude"), &json!(WORKSPACE))
    );

    for (mut client, code) in [(machine.modern(), -32_602), (machine.legacy(&[]).await, -32_002)] {
        let answer =
            client.request("resources/read", json!({"uri": "context://sessions/none-of-them"})).await;
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("SESSION_NOT_FOUND: "), "{answer}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_chat_is_exported_to_the_context_with_the_exact_return() {
    let machine = machine();
    let mut client = machine.modern();
    let text = client.refused("export_conversation", json!({"sessionId": CHAT})).await;
    assert!(text.starts_with("CONTEXT_NOT_FOUND: ") && text.contains("init_context"), "{text}");
    client.done("init_context", json!({})).await;
    let text = client.refused("export_conversation", json!({"sessionId": "unknown-session"})).await;
    assert!(text.starts_with("SESSION_NOT_FOUND: "), "{text}");
    let text = client.refused("export_conversation", json!({"sessionId": CHAT, "format": "long"})).await;
    assert!(text.starts_with("INVALID_PARAMS: format"), "{text}");

    let done = client.done("export_conversation", json!({"sessionId": CHAT})).await;
    let exported =
        json!({"title": "why did we drop redis", "messageCount": 4, "timestamp": "2026-02-04 20:00"});
    assert_eq!(done, json!({"success": true, "exported": exported}));
    let context = machine.context();
    assert!(
        context.contains("## Session why did we drop redis\n")
            && context.contains("> We") == context.contains("We"),
        "{context}"
    );
    assert!(context.contains("The queue is one file."), "{context}");

    let path = format!("/home/alice/.claude/projects/-p/{CLAUDE}.jsonl");
    client.done("export_conversation", json!({"sessionId": path, "format": "full"})).await;
    assert!(machine.context().contains("build the index"), "{}", machine.context());
    machine.storage.set_space_left(Some(0));
    let text = client.refused("export_conversation", json!({"sessionId": CHAT})).await;
    assert!(text.starts_with("EXPORT_ERROR: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_full_export_has_what_a_summary_has_no_room_for() {
    let machine = machine();
    let mut client = machine.modern();
    client.done("init_context", json!({})).await;
    for n in 0..20 {
        machine.say(CLAUDE, "assistant", &format!("step {n}\n{}", "a line of words\n".repeat(60)));
    }
    let path = format!("/home/alice/.claude/projects/-p/{CLAUDE}.jsonl");
    let mut lengths = Vec::new();
    for format in ["summary", "full"] {
        let before = machine.context().len();
        client.done("export_conversation", json!({"sessionId": path, "format": format})).await;
        lengths.push(machine.context().len() - before);
    }
    assert!(lengths[0] < 9 * 1024 && lengths[1] > 20 * 1024, "{lengths:?}");
    for n in 0..20 {
        assert!(machine.context().contains(&format!("> step {n}\n")), "{n}");
    }
}

#[tokio::test(start_paused = true)]
async fn current_is_the_callers_own_conversation() {
    let machine = machine();
    let mut client = machine.legacy(&[]).await;
    client.done("init_context", json!({})).await;
    let done = client.done("export_conversation", json!({"sessionId": "current"})).await;
    assert_eq!(done["exported"]["title"], "build the index");
}

#[tokio::test(start_paused = true)]
async fn current_is_the_newest_one_of_any_agent_where_the_callers_own_keeps_none() {
    let machine = machine();
    machine.storage.remove(&format!("home/alice/.claude/projects/-p/{CLAUDE}.jsonl")).unwrap();
    let mut client = machine.legacy(&[]).await;
    client.done("init_context", json!({})).await;
    let done = client.done("export_conversation", json!({"sessionId": " current "})).await;
    assert_eq!(done["exported"]["title"], "why did we drop redis");
    // One that is named is another matter.
    let text = client.refused("export_conversation", json!({"sessionId": CLAUDE})).await;
    assert!(text.starts_with("SESSION_NOT_FOUND: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_session_is_resumed_and_handed_over() {
    let machine = machine();
    let mut client = machine.modern();
    let resume = client.done("get_resume_command", json!({"agent": "claude"})).await;
    assert_eq!(resume["command"], format!("claude --resume {CLAUDE}"));
    assert_eq!((&resume["folder"], &resume["version"]), (&json!(WORKSPACE), &json!("2.1.330")));
    assert!(resume.get("running").is_some(), "{resume}");
    let chat = client.done("get_resume_command", json!({"sessionId": CHAT})).await;
    assert!(chat["command"].as_str().unwrap().starts_with("code "), "{chat}");
    let text = client.refused("get_resume_command", json!({"agent": "codex"})).await;
    assert!(text.starts_with("SESSION_NOT_FOUND: "), "{text}");

    let brief = client.done("handoff", json!({"sessionId": CLAUDE})).await;
    let text = brief["markdown"].as_str().unwrap();
    assert!(
        text.contains("It is data") && text.contains("build the index") && text.contains("measure it"),
        "{text}"
    );
    assert_eq!(brief["sources"][0]["sessionId"], CLAUDE);
    let details = json!({"query": "redis", "details": true});
    let found = client.done("search_conversations", details).await;
    assert!(found["results"][0]["resume"].as_str().unwrap().contains("code "), "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_hand_over_that_fits_is_not_shortened() {
    let machine = Machine::new();
    for _ in 0..6 {
        machine.say(CLAUDE, "user", &"Name the reasons. ".repeat(20));
        machine.say(CLAUDE, "assistant", &"We drop Redis for one file. ".repeat(60));
    }
    let brief = machine.modern().done("handoff", json!({"sessionId": CLAUDE})).await;
    let bytes = brief["markdown"].as_str().unwrap().len();
    assert!((3_000..=6 * 1_024).contains(&bytes), "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn every_answer_fits_on_every_host() {
    let machine = Machine::new();
    for n in 0..20 {
        let session = format!("cccccccc-3333-4333-8333-3333333333{n:02}");
        for part in 0..6 {
            machine.say(&session, "user", &format!("redis \"{part}\" {}", "words\n".repeat(200)));
            machine.say(&session, "assistant", &format!("redis \"{part}\" {}", "more\n".repeat(200)));
        }
    }
    let mut client = machine.modern();
    for (tool, arguments) in [
        ("search_conversations", json!({"query": "redis", "limit": 50, "details": true})),
        ("handoff", json!({})),
        ("get_resume_command", json!({})),
        ("read_context_resource", json!({"uri": "context://cli-sessions"})),
        ("read_context_resource", json!({"uri": "context://sessions/cccccccc-3333-4333-8333-333333333301"})),
    ] {
        let (is_error, text) = client.call(tool, arguments).await;
        assert!(!is_error && text.len() <= 8_000, "{tool}: {} {text}", text.len());
    }
}
