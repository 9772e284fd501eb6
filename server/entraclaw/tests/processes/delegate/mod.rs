//! The engine as its own process, a scripted model server, and hosts that reach the engine through the shipped program.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "real processes live in real time")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};

use support::{Host, World, git, says, slowly, writes};

#[test]
fn a_session_without_an_engine_says_what_to_start_and_finds_it_when_it_comes() {
    let world = World::new(vec![says("The board is there.")]);
    let mut host = Host::start(&world, &["serve", "--only", "delegate"]);
    let listed = host.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.len() == 7 && listed.to_string().len() <= 5_100, "{listed}");
    let (is_error, text) = host.call("chat", &json!({"message": "Make the board.", "wait": true}));
    assert!(is_error && text.contains("`entraclaw delegate`") && text.contains("no engine of"), "{text}");
    let engine = world.engine();
    let done = host.until_done(&json!({"message": "Make the board.", "wait": true}));
    assert_eq!((&done["status"], &done["response"]), (&json!("completed"), &json!("The board is there.")));
    engine.end();
    // The bridge of another host sees the same engine, started anew, with its conversation.
    let _engine = world.engine();
    let mut bridge = Host::start(&world, &["mcp-bridge"]);
    let (is_error, text) = bridge.call("get_history", &json!({}));
    assert!(!is_error && text.contains("claude-code") && text.contains("The board is there."), "{text}");
    // It has begun anew, without what reading the configuration has touched.
    assert!(bridge.words().contains(" mcp-bridge-ready "), "{}", bridge.words());
}

#[test]
fn the_tools_stand_beside_those_of_the_inbox() {
    let world = World::new(vec![says("Yes.")]);
    let _engine = world.engine();
    let mut host = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    let (is_error, text) = host.call("inbound_queue_stats", &json!({}));
    assert!(!is_error, "{text}");
    let (is_error, text) = host.call("chat", &json!({"message": "Well?", "wait": true}));
    assert!(!is_error && text.contains("\"response\":\"Yes.\""), "{text}");
    let (is_error, text) = host.call("chat", &json!({"message": " "}));
    assert!(is_error && text.contains("invalid_args"), "{text}");
}

#[test]
fn the_answer_for_a_host_that_has_gone_is_in_its_inbox() {
    let world = World::new(vec![slowly("The board is there.", 300)]);
    let engine = world.engine();
    let mut host = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    let (is_error, text) = host.call("inbox_pull", &json!({}));
    assert!(!is_error, "{text}");
    let (is_error, text) = host.call("chat", &json!({"message": "Make the board."}));
    assert!(!is_error, "{text}");
    drop(host);
    let mut again = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    let text = again.until("inbox_pull", "The board is there.");
    assert!(text.contains("work that you asked for is done: Make the board."), "{text}");
    assert!(text.contains("task_id: task_"), "{text}");
    engine.end();
}

#[test]
fn the_answer_for_a_session_with_a_consumer_of_its_own_is_in_that_inbox() {
    let world = World::new(vec![slowly("The board is there.", 300)]);
    let engine = world.engine();
    let words = ["serve", "--tools", "inbound,delegate", "--consumer", "reviewer"];
    let mut host = Host::start(&world, &words);
    let (is_error, text) = host.call("inbox_pull", &json!({}));
    assert!(!is_error, "{text}");
    let (is_error, text) = host.call("chat", &json!({"message": "Make the board."}));
    assert!(!is_error, "{text}");
    drop(host);
    let mut again = Host::start(&world, &words);
    let text = again.until("inbox_pull", "The board is there.");
    assert!(text.contains("work that you asked for is done: Make the board."), "{text}");
    let mut other = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    let (_, text) = other.call("inbox_pull", &json!({}));
    assert!(!text.contains("The board is there."), "{text}");
    engine.end();
}

#[test]
fn a_hosts_task_in_a_worktree_ends_as_a_branch_and_merges_nothing() {
    let world = World::new(vec![writes("board.txt", "8 x 8\n"), says("The board is written.")]);
    world.begin_git();
    std::fs::create_dir_all(world.home()).unwrap();
    std::fs::write(world.home().join("config.toml"), "[delegate]\nworktree = true\n").unwrap();
    let engine = world.engine();
    let mut host = Host::start(&world, &["mcp-bridge"]);
    let done = host.until_done(&json!({"message": "Make the board.", "wait": true}));
    let response = done["response"].as_str().unwrap();
    assert!(response.starts_with("The board is written."), "{done}");
    let branch = format!("entraclaw/{}", done["task_id"].as_str().unwrap());
    assert!(response.contains(&branch) && response.contains("board.txt"), "{response}");
    assert!(!world.project().join("board.txt").exists(), "nothing is merged");
    assert_eq!(git(&world.project(), &["show", &format!("{branch}:board.txt")]), "8 x 8");
    engine.end();
}

#[test]
fn the_answer_of_an_engine_that_was_killed_comes_to_the_inbox_once() {
    let world = World::new(vec![slowly("The board is there.", 300)]);
    let engine = world.engine();
    let mut host = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    host.call("inbox_pull", &json!({}));
    let (is_error, text) = host.call("chat", &json!({"message": "Make the board."}));
    assert!(!is_error, "{text}");
    let queued: Value = serde_json::from_str(&text).unwrap();
    drop(host);
    std::thread::sleep(Duration::from_millis(400));
    engine.kill_9();
    let _engine = world.engine();
    let mut again = Host::start(&world, &["serve", "--tools", "inbound,delegate"]);
    let text = again.until("inbox_pull", "The board is there.");
    assert!(text.contains("the engine was restarted while this task ran"), "{text}");
    let (_, polled) = again.call("poll_task", &json!({"task_id": queued["task_id"]}));
    assert!(polled.contains("it comes to your inbox too, once, as work-task-"), "{polled}");
    std::thread::sleep(Duration::from_secs(1));
    let (_, text) = again.call("inbox_pull", &json!({}));
    assert!(!text.contains("The board is there."), "{text}");
}
