//! Permission requests on the wire: announced only where they are relayed, strict on the way in, exact on the way out.

use entraclaw_inbox::permission::{
    ANSWER_METHOD, Behavior, CAPABILITY, PermissionAnswer, PermissionPort, PermissionRequest, REQUEST_METHOD,
    REQUESTS_MAX,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Home, Host, initialize};

struct Relayed {
    host: Host,
    asked: mpsc::Receiver<PermissionRequest>,
    answers: mpsc::Sender<PermissionAnswer>,
}

fn relayed(home: &Home) -> Relayed {
    let (requests, asked) = mpsc::channel(REQUESTS_MAX);
    let (answered, answers) = mpsc::channel(REQUESTS_MAX);
    let mut options = home.options();
    options.permission = Some(PermissionPort { requests, answers });
    Relayed { host: Host::start(options, 64 * 1024), asked, answers: answered }
}

/// Opens the session; the answer to `initialize`.
async fn begin(host: &mut Host) -> Value {
    host.send(initialize("claude-code", "2025-11-25")).await;
    let answer = host.next_answer().await;
    host.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    answer
}

fn request(id: &Value) -> Value {
    let params = json!({"request_id": id, "tool_name": "Bash", "description": "d", "input_preview": "p"});
    json!({"jsonrpc": "2.0", "method": REQUEST_METHOD, "params": params})
}

#[tokio::test(start_paused = true)]
async fn a_request_goes_out_and_its_answer_comes_back() {
    let home = Home::new();
    let Relayed { mut host, mut asked, answers } = relayed(&home);
    host.send(request(&json!("early"))).await;
    let answer = begin(&mut host).await;
    assert_eq!(answer["result"]["capabilities"]["experimental"][CAPABILITY], json!({}));
    host.send(request(&json!("abcde"))).await;
    let request = asked.recv().await.unwrap();
    assert_eq!((request.request_id.as_str(), request.tool_name.as_str()), ("abcde", "Bash"));
    let answer = PermissionAnswer { request_id: "abcde".to_owned(), behavior: Behavior::Deny };
    answers.send(answer).await.unwrap();
    let line = host.next().await;
    assert_eq!(
        line,
        json!({"jsonrpc": "2.0", "method": ANSWER_METHOD, "params": {"request_id": "abcde", "behavior": "deny"}})
    );
}

#[tokio::test(start_paused = true)]
async fn requests_of_another_shape_go_nowhere_and_a_flood_is_bounded() {
    let home = Home::new();
    let Relayed { mut host, mut asked, answers: _answers } = relayed(&home);
    begin(&mut host).await;
    for id in [
        json!("abcle"),
        json!("ABCDE"),
        json!("abcd"),
        json!("abcdef"),
        json!(5),
        json!(null),
        json!("<b>x>"),
    ] {
        host.send(request(&id)).await;
    }
    host.send(json!({"jsonrpc": "2.0", "method": REQUEST_METHOD})).await;
    for _ in 0..100 {
        host.send(request(&json!("abcde"))).await;
    }
    host.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(host.next().await["id"], 1);
    let mut count = 0;
    while let Ok(request) = asked.try_recv() {
        assert_eq!(request.request_id, "abcde");
        count += 1;
    }
    assert_eq!(count, REQUESTS_MAX);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_announced_where_nothing_is_relayed() {
    let home = Home::new();
    let mut host = home.connect();
    let answer = begin(&mut host).await;
    assert!(answer["result"]["capabilities"]["experimental"].get(CAPABILITY).is_none());
    host.send(request(&json!("abcde"))).await;
    host.send(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(host.next().await["id"], 1);
}
