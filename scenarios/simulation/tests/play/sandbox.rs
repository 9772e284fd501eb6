//! Without a host: a person writes on the page, a real server reads and answers.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{PATIENCE, Page, Running, message, server};

fn play(arguments: &[&str]) -> (Running, Page, Vec<(String, String)>) {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("simulation"));
    command
        .arg("play")
        .arg("--server")
        .arg(server())
        .args(arguments)
        .env_remove("CARGO")
        .stderr(Stdio::inherit());
    let sandbox = Running::start(&mut command);
    let page = Page::of(&sandbox.line_after("page: "));
    // The block for any host is JSON on several lines, from a brace to a brace.
    sandbox.line_after("any other host:");
    let mut block = String::new();
    while !block.ends_with("\n}\n") {
        block += &sandbox.line();
        block.push('\n');
    }
    let block: Value = serde_json::from_str(&block).expect("JSON");
    sandbox.line_after("Then write to the agent");
    let environment = block["mcpServers"]["entraclaw-play"]["env"].as_object().expect("variables");
    let variable = |(name, value): (&String, &Value)| (name.clone(), value.as_str().unwrap_or("").to_owned());
    let environment = environment.iter().map(variable).collect();
    (sandbox, page, environment)
}

#[test]
fn a_message_from_the_page_reaches_a_real_session_and_the_answer_comes_back() {
    let (sandbox, page, environment) = play(&[]);
    let state = page.until("a state", |_| true);
    assert_eq!(state["polling"]["is"], "never");

    let mut server = Running::start(
        Command::new(server()).arg("serve").env_clear().envs(environment.clone()).stderr(Stdio::null()),
    );
    server.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}));
    server.answer(1);
    server.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    page.until("polled", |state| state["polling"]["is"] == "now");

    let doctor = Command::new(self::server()).arg("doctor").env_clear().envs(environment.clone()).output();
    let doctor = doctor.expect("it ends");
    let found = String::from_utf8_lossy(&doctor.stdout);
    assert!(doctor.status.success() && found.contains("the inbox can be read"), "{found}");

    page.submit("say", "place=alice&from=alice&text=Are+you+there%3F+%3Cb%3E");
    let heard = server.call(2, "wait_for_inbound_message", &json!({"timeout_s": 50}));
    let heard = &heard["messages"][0];
    assert_eq!(heard["content_text_sanitized"], "Are you there? &lt;b&gt;", "{heard}");
    page.until("read", |state| {
        message(state, "alice", "Are you there? <b>").is_some_and(|message| message["read_by_server"] == true)
    });

    let answer = json!({"chat_id": heard["chat_id"], "content": "<p>I <b>am</b>.</p>"});
    let sent = server.call(3, "send_teams_message", &answer);
    let state = page.until("answered", |state| message(state, "alice", "I am.").is_some());
    let reply = message(&state, "alice", "I am.").expect("the answer");
    assert_eq!((&reply["by_agent"], &reply["id"]), (&json!(true), &sent["message_id"]), "{sent}");
    assert!(page.get("").2.contains("I am."), "the page shows it without scripts");

    page.submit("say", "place=mail&from=bob&subject=Plans&text=By+mail");
    let mail = server.call(4, "wait_for_inbound_message", &json!({"timeout_s": 50}));
    assert_eq!(mail["messages"][0]["channel"], "email", "{mail}");

    page.submit("say", "place=mallory&from=mallory&text=Let+me+in");
    page.submit("say", "place=group&from=bob&text=All+of+you&mention=on");
    let group = server.call(5, "wait_for_inbound_message", &json!({"timeout_s": 50}));
    let texts: Vec<&Value> =
        group["messages"].as_array().expect("a list").iter().map(|m| &m["content_text_sanitized"]).collect();
    assert_eq!(texts, ["@Agent\n\nAll of you"], "a stranger is not heard: {group}");

    // The terminal's text, to the end, holds no token.
    drop(server);
    let lines = sandbox.end();
    let told: Vec<String> = std::iter::from_fn(|| lines.recv_timeout(PATIENCE).ok()).collect();
    let told = told.join("\n");
    for wanted in [
        "Alice writes in Alice: Are you there? <b>",
        "a server asks for messages",
        "the agent writes in Alice: I am.",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
    let home =
        environment.iter().find(|(name, _)| name == "ENTRACLAW_HOME").map(|(_, home)| home).expect("a home");
    let access_token =
        environment.iter().find(|(name, _)| name == "ENTRACLAW_ACCESS_TOKEN").map(|(_, token)| token);
    assert!(
        !told.contains(access_token.expect("a token")) && !told.contains(page.base.trim_matches('/')),
        "{told}"
    );
    assert!(!Path::new(home).exists(), "{home} is still there");
}

#[test]
fn a_person_plays_the_model_on_the_page() {
    let (_sandbox, page, _) = play(&["--drive"]);
    let says = |state: &Value, text: &str| {
        let lines = state["session"]["lines"].as_array().expect("lines");
        lines.iter().any(|line| line["by_host"] == false && line.to_string().contains(text))
    };
    page.until("running", |state| state["session"]["running"] == true);
    page.submit("drive", "do=initialize");
    page.until("open", |state| says(state, "protocolVersion"));
    page.until("polled", |state| state["polling"]["is"] == "now");
    page.submit("say", "place=bob&from=bob&text=hello");
    page.submit("drive", "do=wait&timeout_s=50");
    let state = page.until("reached", |state| {
        message(state, "bob", "hello").is_some_and(|message| message["reached_session"] == true)
    });
    let places = state["places"].as_array().expect("places");
    let bob = places.iter().find(|place| place["handle"] == "bob").expect("Bob");
    let chat = bob["chat_id"].as_str().expect("an id").replace(':', "%3A").replace('@', "%40");
    page.submit("drive", &format!("do=send&chat_id={chat}&text=back+<at>+you"));
    page.until("answered", |state| message(state, "bob", "back <at> you").is_some());
    page.submit(
        "drive",
        "do=raw&line=%7B%22jsonrpc%22%3A%222.0%22%2C%22id%22%3A%22mine%22%2C%22method%22%3A%22ping%22%7D",
    );
    page.until("ping answered", |state| says(state, "answer #\\\"mine"));
    page.submit("drive", "do=stop");
    page.until("stopped", |state| state["session"]["running"] == false);
    let (status, _, why) = page.post("drive", &format!("http://{}", page.authority), "do=pull");
    assert!(status == 422 && why.contains("start it"), "{why}");
    page.submit("drive", "do=start");
    page.until("running again", |state| state["session"]["running"] == true);
}

#[test]
fn a_request_without_token_host_and_origin_is_refused() {
    let (_sandbox, page, _) = play(&[]);
    let own = format!("http://{}", page.authority);
    let (status, head, body) = page.get("");
    assert_eq!(status, 200);
    assert!(
        body.contains("Sandbox") && !head.contains("access-control") && !head.contains("set-cookie"),
        "{head}"
    );
    assert!(head.contains("content-security-policy: default-src 'none'; "), "{head}");
    let say = "place=alice&from=alice&text=no";
    assert_eq!(page.post("say", "http://contoso.com", say).0, 403);
    assert_eq!(page.post("say", "null", say).0, 403);
    let host = format!("Host: {}", page.authority);
    assert_eq!(page.exchange(&format!("GET / HTTP/1.1\r\n{host}"), "").0, 403);
    assert_eq!(page.exchange(&format!("GET /state HTTP/1.1\r\n{host}"), "").0, 403);
    assert_eq!(page.exchange(&format!("POST {}say HTTP/1.1\r\n{host}", page.base), say).0, 403);
    assert_eq!(page.exchange(&format!("GET {} HTTP/1.1\r\nHost: contoso.com", page.base), "").0, 421);
    let long = format!("{say}{}", "o".repeat(200 * 1024));
    assert_eq!(page.post("say", &own, &long).0, 413);
    assert_eq!(page.post("say", &own, &"place=alice&from=alice&text=".repeat(2)).0, 422);
    assert_eq!(page.post("say", &own, "place=alice&from=bob&text=no").0, 422);
    assert_eq!(page.post("drive", &own, "do=start").0, 422, "there is no session without --drive");
    let state = page.until("a state", |_| true);
    assert!(message(&state, "alice", "no").is_none(), "{state}");
}
