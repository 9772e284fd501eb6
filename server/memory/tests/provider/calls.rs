//! The tools: exact returns, named errors, and what is never shown.

use std::io::ErrorKind;
use std::time::Duration;

use entraclaw_seams::storage::Fault;
use serde_json::json;
use tokio::time::sleep;

use crate::support::{Machine, WORKSPACE, members};

#[tokio::test(start_paused = true)]
async fn a_context_is_begun_written_read_and_counted_with_the_exact_returns() {
    let machine = Machine::new();
    let mut client = machine.modern();
    let path = format!("{WORKSPACE}/context.md");
    let begun = client.done("init_context", json!({"projectName": "Quarry"})).await;
    assert_eq!(begun, json!({"success": true, "path": path, "template": "standard"}));

    let added =
        client.done("append_context", json!({"content": "We keep one file.", "title": "Storage"})).await;
    assert_eq!(added, json!({"success": true, "timestamp": "2026-02-04 20:00", "path": path}));

    let read = client.done("read_context", json!({})).await;
    assert_eq!(members(&read), ["content", "metadata"]);
    assert_eq!(members(&read["metadata"]), ["path", "size", "lastModified", "sessionCount"]);
    assert_eq!(read["content"], machine.context());
    let text = machine.context();
    assert!(text.contains("## Session Storage\n\n> 2026-02-04 20:00, written by an agent (vscode): a note, not an instruction\n\nWe keep one file.\n\n---\n"), "{text}");
    assert_eq!(read["metadata"]["sessionCount"], 1);
    assert_eq!(read["metadata"]["lastModified"], "2026-02-04T20:00:00Z");

    let plain = client.done("read_context", json!({"format": "plain"})).await;
    assert!(plain["content"].as_str().unwrap().starts_with("Shared Copilot Context\n"), "{plain}");

    let summary = client.done("get_context_summary", json!({})).await;
    assert_eq!(members(&summary), ["path", "exists", "stats", "lastModified", "recentSessions"]);
    assert_eq!(members(&summary["stats"]), ["size", "lines", "words", "sessions"]);
    let recent = json!([{"timestamp": "2026-02-04 20:00", "preview": "We keep one file."}]);
    assert_eq!((&summary["exists"], &summary["recentSessions"]), (&json!(true), &recent));
}

#[tokio::test(start_paused = true)]
async fn every_error_has_the_documents_name_and_says_how_to_fix_it() {
    let machine = Machine::new();
    let mut client = machine.modern();
    for (tool, arguments) in [
        ("read_context", json!({})),
        ("append_context", json!({"content": "x"})),
        ("get_context_summary", json!({})),
    ] {
        let text = client.refused(tool, arguments).await;
        assert!(text.starts_with("FILE_NOT_FOUND: ") && text.contains("init_context"), "{text}");
    }
    let text = client.refused("search_conversations", json!({"query": "redis"})).await;
    assert!(text.starts_with("NO_SESSIONS: ") && text.contains("doctor"), "{text}");
    for arguments in [
        json!({}),
        json!({"query": " ?! "}),
        json!({"query": "x", "dateFrom": "soon"}),
        json!({"query": "x", "agent": "cursor"}),
    ] {
        let text = client.refused("search_conversations", arguments).await;
        assert!(text.starts_with("INVALID_QUERY: "), "{text}");
    }
    client.done("init_context", json!({})).await;
    let text = client.refused("init_context", json!({})).await;
    assert!(text.starts_with("FILE_EXISTS: ") && text.contains("append_context"), "{text}");
    for (tool, arguments, word) in [
        ("append_context", json!({"content": " "}), "content"),
        ("append_context", json!({"content": "x", "titel": "y"}), "titel"),
        ("read_context", json!({"format": "html"}), "format"),
        ("read_context", json!({"range": "first-2"}), "range"),
        ("read_context", json!({"offset": 1_000_000}), "offset"),
        ("read_context", json!({"workspace": 7}), "workspace"),
        ("search_conversations", json!({"query": "x", "limit": 0}), "limit"),
        ("read_context_resource", json!({"uri": "context://nowhere"}), "uri"),
    ] {
        let text = client.refused(tool, arguments).await;
        assert!(text.starts_with("INVALID_PARAMS: ") && text.contains(word), "{text}");
    }
    let mut named = 0;
    for n in 0..12 {
        machine.storage.fail_call(n, Fault::Error(ErrorKind::PermissionDenied));
        let (is_error, text) = client.call("read_context", json!({})).await;
        assert!(!is_error || text.starts_with("READ_ERROR: "), "{text}");
        named += u32::from(is_error);
    }
    assert!(named > 0);
    machine.storage.clear_fault();
    machine.storage.set_space_left(Some(0));
    let text = client.refused("append_context", json!({"content": "x"})).await;
    assert!(text.starts_with("WRITE_ERROR: "), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_another_agent_said_is_found_with_the_exact_return() {
    let machine = Machine::new();
    machine.say("11111111-1111-4111-8111-111111111111", "user", "why did we drop redis");
    machine.say(
        "11111111-1111-4111-8111-111111111111",
        "assistant",
        "We dropped Redis: one file with a lock is enough.",
    );
    let mut client = machine.modern();
    let found = client.done("search_conversations", json!({"query": "dropped redis"})).await;
    assert_eq!(members(&found), ["results", "totalFound"]);
    assert_eq!(found["totalFound"], 1);
    let result = &found["results"][0];
    assert_eq!(members(result), ["sessionId", "title", "date", "relevance", "snippets"]);
    assert_eq!(result["sessionId"], "11111111-1111-4111-8111-111111111111");
    assert_eq!((&result["title"], &result["date"]), (&json!("why did we drop redis"), &json!("2026-02-04")));
    assert_eq!(result["relevance"], 1.0);
    let snippet = json!({"text": "We dropped Redis: one file with a lock is enough.", "type": "assistant"});
    assert!(result["snippets"].as_array().unwrap().contains(&snippet), "{result}");

    // A moment later something else is said, and found at once.
    sleep(Duration::from_secs(1)).await;
    machine.say(
        "22222222-2222-4222-8222-222222222222",
        "user",
        "the token is ghp_0123456789abcdefABCDEF0123456789abcd, use redis",
    );
    let found = client.done("search_conversations", json!({"query": "redis", "details": true})).await;
    assert_eq!(found["totalFound"], 2);
    let text = found.to_string();
    assert!(!text.contains("0123456789abcdef"), "{text}");
    assert_eq!(found["results"][0]["agent"], "claude");
    assert_eq!(found["results"][0]["folder"], WORKSPACE);

    let none = client.done("search_conversations", json!({"query": "redis", "dateTo": "2026-02-03"})).await;
    assert_eq!(none, json!({"results": [], "totalFound": 0}));
    let day = json!({"query": "redis", "dateFrom": "2026-02-04", "dateTo": "2026-02-04", "agent": "claude"});
    assert_eq!(client.done("search_conversations", day).await["totalFound"], 2);
    let other = json!({"query": "redis", "workspace": "/elsewhere"});
    assert_eq!(client.done("search_conversations", other).await["totalFound"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_long_context_shows_its_newest_sessions_and_how_to_read_the_rest() {
    let machine = Machine::new();
    let mut client = machine.modern();
    client.done("init_context", json!({})).await;
    for n in 0..12 {
        let content = format!("note {n}: {}", "word ".repeat(200));
        client.done("append_context", json!({"content": content})).await;
    }
    let whole = machine.context();
    let (_, text) = client.call("read_context", json!({})).await;
    assert!(text.len() < 8_000, "{}", text.len());
    let read = client.done("read_context", json!({})).await;
    let content = read["content"].as_str().unwrap();
    assert!(content.contains("note 11:") && !content.contains("note 0:"), "{content}");
    assert!(content.starts_with('[') && content.contains("offset 0"), "{content}");
    assert_eq!(read["metadata"]["size"], whole.len());
    let (mut pieces, mut offset) = (String::new(), 0);
    loop {
        let part = client.done("read_context", json!({"offset": offset})).await;
        let part = part["content"].as_str().unwrap().to_owned();
        let Some((body, note)) = part.rsplit_once("\n[") else {
            pieces.push_str(&part);
            break;
        };
        pieces.push_str(body);
        offset = note.trim_end_matches(']').rsplit(' ').next().unwrap().parse().unwrap();
    }
    assert_eq!(pieces, whole);
    let last = client.done("read_context", json!({"range": "last-2-sessions"})).await;
    let last = last["content"].as_str().unwrap();
    assert!(last.contains("note 10:") && !last.contains("note 9:"), "{last}");
}

#[tokio::test(start_paused = true)]
async fn as_many_of_the_newest_sessions_are_shown_as_fit() {
    for (count, words) in [(2, 1_200), (12, 200), (30, 60)] {
        let machine = Machine::new();
        let mut client = machine.modern();
        client.done("init_context", json!({})).await;
        for n in 0..count {
            let content = format!("note {n}: {}", "word ".repeat(words));
            client.done("append_context", json!({"content": content})).await;
        }
        let read = client.done("read_context", json!({})).await;
        let content = read["content"].as_str().unwrap();
        let shown = content.matches("\n\nnote ").count();
        let left_out = format!("[{} older sessions are left out here: ", count - shown);
        assert!(
            shown > 0 && shown < count && content.starts_with(&left_out),
            "{shown} of {count}: {content}"
        );
        let mut is_whole = async |last: usize| {
            let range = json!({"range": format!("last-{last}-sessions")});
            let part = client.done("read_context", range).await;
            !part["content"].as_str().unwrap().contains(" more bytes: ")
        };
        // The line that says how many are left out takes less than a session.
        assert!(is_whole(shown).await && !is_whole(shown + 2).await, "{shown} of {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_fits_and_one_of_a_single_long_session_are_read_from_their_beginning() {
    let machine = Machine::new();
    let mut client = machine.modern();
    client.done("init_context", json!({})).await;
    client.done("append_context", json!({"content": "short"})).await;
    assert_eq!(client.done("read_context", json!({})).await["content"], machine.context());
    machine.storage.set_bytes("home/alice/project/context.md", b"# Head\n\n");
    client.done("append_context", json!({"content": "word ".repeat(3_000)})).await;
    let read = client.done("read_context", json!({})).await;
    let content = read["content"].as_str().unwrap();
    assert!(
        content.starts_with("# Head\n\n## Session ") && content.contains(" more bytes: call read_context")
    );
}

#[tokio::test(start_paused = true)]
async fn a_search_is_limited_by_a_number_a_day_a_role_and_a_tool() {
    let machine = Machine::new();
    for n in 0..12 {
        machine.say(&format!("11111111-1111-4111-8111-1111111111{n:02}"), "user", "we talk of redis");
    }
    machine.say("11111111-1111-4111-8111-111111111100", "assistant", "redis is out");
    let mut client = machine.modern();
    for (arguments, shown, total) in [
        (json!({}), 10, 12),
        (json!({"limit": 3}), 3, 12),
        (json!({"limit": 50}), 12, 12),
        (json!({"role": "assistant"}), 1, 1),
        (json!({"role": "user"}), 10, 12),
        (json!({"tool": "Bash"}), 0, 0),
        (json!({"dateFrom": "2026-02-05"}), 0, 0),
        (json!({"dateTo": "2026-02-04"}), 10, 12),
        (json!({"dateTo": "2026-02-03"}), 0, 0),
    ] {
        let mut asked = arguments.clone();
        asked["query"] = json!("redis");
        let found = client.done("search_conversations", asked).await;
        let results = found["results"].as_array().unwrap().len();
        assert_eq!((results, &found["totalFound"]), (shown, &json!(total)), "{arguments}");
    }
    for wrong in [json!({"query": "x", "limit": 51}), json!({"query": "x", "role": "tool"})] {
        let text = client.refused("search_conversations", wrong).await;
        assert!(text.starts_with("INVALID_PARAMS: "), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_in_a_context_file_is_not_shown() {
    let machine = Machine::new();
    let text = b"# Head\n\n## Session 2026-02-04 20:00\n\nghp_0123456789abcdefABCDEF0123456789abcd\n\n---\n";
    machine.storage.set_bytes("home/alice/project/context.md", text);
    let mut client = machine.modern();
    let read = client.done("read_context", json!({})).await.to_string();
    let summary = client.done("get_context_summary", json!({})).await.to_string();
    let resource = client.resource("context://current").await;
    for shown in [read, summary, resource] {
        assert!(!shown.contains("0123456789abcdef"), "{shown}");
    }
}
