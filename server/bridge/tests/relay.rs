//! The bridge between a host and engines that come and go.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use entraclaw_bridge::{End, Engines, relay};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex,
    split,
};

const PIPE_BYTES: usize = 64 * 1024;

/// The far end of a pipe, read and written by a test.
struct Far {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Far {
    fn pair() -> (End, Self) {
        let (near, far) = duplex(PIPE_BYTES);
        let (reader, writer) = split(near);
        let (far_reader, far_writer) = split(far);
        let end = End { reader: Box::new(reader), writer: Box::new(writer) };
        (end, Self { lines: BufReader::new(far_reader).lines(), writer: far_writer })
    }

    async fn say(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().expect("a line")).unwrap()
    }
}

/// Engines that a test lets come, and stand-ins that it sees.
#[derive(Clone, Default)]
struct Stage {
    engines: Arc<Mutex<VecDeque<End>>>,
    stand_ins: Arc<Mutex<VecDeque<Far>>>,
}

impl Stage {
    fn engine_comes(&self) -> Far {
        let (end, far) = Far::pair();
        self.engines.lock().unwrap().push_back(end);
        far
    }

    async fn stand_in(&self) -> Far {
        loop {
            if let Some(far) = self.stand_ins.lock().unwrap().pop_front() {
                return far;
            }
            tokio::task::yield_now().await;
        }
    }
}

impl Engines for Stage {
    fn connect(&mut self, _is_wanted: bool) -> BoxFuture<'_, Option<End>> {
        let found = self.engines.lock().unwrap().pop_front();
        async move { found }.boxed()
    }

    fn stand_in(&mut self) -> End {
        let (end, far) = Far::pair();
        self.stand_ins.lock().unwrap().push_back(far);
        end
    }
}

fn host(stage: &Stage) -> Far {
    let (near, far) = Far::pair();
    tokio::spawn(relay(near.reader, near.writer, stage.clone()));
    far
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}})
}

fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "status"}})
}

#[tokio::test]
async fn lines_go_through_as_they_are_and_in_their_order() {
    let stage = Stage::default();
    let mut engine = stage.engine_comes();
    let mut host = host(&stage);
    for id in 0..500 {
        host.say(&call(id)).await;
        assert_eq!(engine.hear().await, call(id));
        engine.say(&json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
        assert_eq!(host.hear().await["id"], id);
    }
    let told =
        json!({"jsonrpc": "2.0", "method": "notifications/task_progress", "params": {"task_id": "task_1"}});
    engine.say(&told).await;
    assert_eq!(host.hear().await, told);
}

#[tokio::test(start_paused = true)]
async fn a_session_goes_on_with_the_engine_that_comes() {
    let stage = Stage::default();
    let mut host = host(&stage);
    host.say(&initialize()).await;
    let mut stand_in = stage.stand_in().await;
    assert_eq!(stand_in.hear().await, initialize());
    stand_in.say(&json!({"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {}}})).await;
    assert_eq!(host.hear().await["id"], 1);
    host.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    stand_in.hear().await;

    let mut engine = stage.engine_comes();
    host.say(&call(2)).await;
    let opened = engine.hear().await;
    assert_eq!((&opened["method"], &opened["params"]), (&json!("initialize"), &initialize()["params"]));
    engine.say(&json!({"jsonrpc": "2.0", "id": opened["id"], "result": {"serverInfo": {}}})).await;
    assert_eq!(engine.hear().await["method"], "notifications/initialized");
    assert_eq!(engine.hear().await, call(2));
    engine.say(&json!({"jsonrpc": "2.0", "id": 2, "result": {"content": []}})).await;
    // The host never sees the second opening.
    assert_eq!(host.hear().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn what_an_engine_leaves_unanswered_is_answered_and_the_next_engine_is_found() {
    let stage = Stage::default();
    let mut engine = stage.engine_comes();
    let mut host = host(&stage);
    host.say(&call(7)).await;
    engine.hear().await;
    host.say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})).await;
    engine.hear().await;
    drop(engine);
    let mut answers = vec![host.hear().await, host.hear().await];
    answers.sort_by_key(|answer| answer["id"].to_string());
    assert!(answers[0]["error"]["message"].as_str().unwrap().contains("went away"), "{answers:?}");
    assert_eq!(answers[1]["result"]["isError"], true);
    assert_eq!(
        answers[1]["result"]["resultType"], "complete",
        "there is no session, so the results have types"
    );

    let mut stand_in = stage.stand_in().await;
    host.say(&json!({"jsonrpc": "2.0", "id": "b", "method": "tools/list"})).await;
    assert_eq!(stand_in.hear().await["id"], "b");
    stand_in.say(&json!({"jsonrpc": "2.0", "id": "b", "result": {"tools": []}})).await;
    assert_eq!(host.hear().await["id"], "b");
    // It is found without a call, so that what it tells unasked reaches the host.
    let mut next = stage.engine_comes();
    let told =
        json!({"jsonrpc": "2.0", "method": "notifications/task_completed", "params": {"task_id": "task_1"}});
    next.say(&told).await;
    assert_eq!(host.hear().await, told);
}

#[tokio::test]
async fn the_end_of_the_host_is_the_end_and_answers_on_their_way_still_go() {
    let stage = Stage::default();
    let mut engine = stage.engine_comes();
    let mut host = host(&stage);
    host.say(&call(1)).await;
    engine.hear().await;
    host.writer.shutdown().await.unwrap();
    engine.say(&json!({"jsonrpc": "2.0", "id": 1, "result": {}})).await;
    assert_eq!(host.hear().await["id"], 1);
    assert!(engine.lines.next_line().await.unwrap().is_none());
}
