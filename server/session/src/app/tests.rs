//! Whole servers in one thread on a paused clock: which one polls, which takes over, and what stops when.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fake_microsoft::graph::{HOME_TENANT, object_id, tenant_id};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::time::{Instant, sleep};

use super::*;
use crate::config::Sources;
use crate::status::{STATUS_FILE, StatusFile};
use entraclaw_inbox::journal::{DeliveryId, Query};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;

#[expect(dead_code, reason = "the tests of the crate below use more of it")]
#[path = "../../../microsoft/tests/support/mod.rs"]
mod support;

use support::graph::{DM, TestGraph};
use support::script::Reply;

/// Longer than a list takes, and shorter than a request may take.
const ANSWERED_LATE: Duration = Duration::from_secs(12);

fn config(token: bool) -> Config {
    let mut environment =
        vec![("ENTRACLAW_ALLOW", format!("{}/{}", tenant_id(HOME_TENANT), object_id("alice")))];
    if token {
        environment.push(("ENTRACLAW_ACCESS_TOKEN", "token-1".to_owned()));
    }
    let environment = environment.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Config::load(&Sources { environment, ..Sources::default() }).unwrap()
}

fn app(graph: &TestGraph, storage: &MemoryStorage, seed: u64) -> App {
    App::new(
        config(true),
        Arc::new(TokioClock::starting_at(graph.now())),
        Arc::new(SplitMix::seeded(seed)),
        Arc::new(storage.clone()),
        graph.script.clone(),
    )
}

/// The host's end of a connection.
struct Host {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to_server: WriteHalf<DuplexStream>,
    next_id: u64,
}

/// Makes a server as a future, and its host.
fn connect(app: App) -> (std::pin::Pin<Box<dyn Future<Output = Exit>>>, Host) {
    let (host, server) = tokio::io::duplex(256 * 1024);
    let (reader, writer) = tokio::io::split(server);
    let (from_server, to_server) = tokio::io::split(host);
    let lines = BufReader::new(from_server).lines();
    (Box::pin(run(app, reader, writer)), Host { lines, to_server, next_id: 0 })
}

impl Host {
    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let line = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        self.to_server.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the server speaks");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == self.next_id {
                return message["result"].clone();
            }
        }
    }

    async fn initialize(&mut self, name: &str) {
        let client = json!({"name": name, "version": "1"});
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        self.request("initialize", hello).await;
        let ready = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
        self.to_server.write_all(ready).await.unwrap();
    }

    async fn call(&mut self, name: &str, arguments: Value) -> (bool, String) {
        let result = self.request("tools/call", json!({"name": name, "arguments": arguments})).await;
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (result["isError"] == true, text)
    }

    async fn wait(&mut self) -> String {
        self.call("wait_for_inbound_message", json!({"timeout_s": 50})).await.1
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_is_answered_before_the_network_is_touched() {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        assert!(graph.lines().is_empty());
        sleep(Duration::from_secs(1)).await;
        assert!(!graph.lines().is_empty());
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

#[tokio::test(start_paused = true)]
async fn a_message_reaches_a_waiting_call_within_a_poll_and_a_reply_is_sent() {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(12)).await;
        let written = Instant::now();
        graph.say(DM, "are you there?");
        let text = host.wait().await;
        assert!(text.contains("are you there?"), "{text}");
        assert!(written.elapsed() <= Duration::from_secs(6), "{:?}", written.elapsed());
        let (failed, text) =
            host.call("send_teams_message", json!({"chat_id": DM, "content": "<p>yes</p>"})).await;
        assert!(!failed, "{text}");
        let text = host.wait().await;
        assert!(!text.contains("yes"), "its own message does not come back: {text}");
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

#[tokio::test(start_paused = true)]
async fn another_session_follows_and_takes_over_within_two_seconds() {
    let graph = TestGraph::new();
    let disk = MemoryStorage::new();
    let leader_disk = disk.new_process();
    let (mut leader, mut first) = connect(app(&graph, &leader_disk, 1));
    let (mut follower, mut second) = connect(app(&graph, &disk.new_process(), 2));
    let both = async {
        first.initialize("claude-code").await;
        second.initialize("copilot-cli").await;
        sleep(Duration::from_secs(6)).await;
        graph.say(DM, "one");
        let (a, b) = tokio::join!(first.wait(), second.wait());
        assert!(a.contains("one") && b.contains("one"), "{a} {b}");
    };
    tokio::select! {
        biased;
        _ = &mut leader => panic!("the leader ended"),
        _ = &mut follower => panic!("the follower ended"),
        () = both => {}
    }
    let lists = |graph: &TestGraph| graph.lines().iter().filter(|l| l.contains("/me/chats?")).count();
    assert!(lists(&graph) <= 4, "only one of them polls");
    drop(leader);
    leader_disk.kill();
    let killed_at = Instant::now();
    let before = lists(&graph);
    graph.say(DM, "two");
    let alone = async {
        while lists(&graph) == before {
            sleep(Duration::from_millis(10)).await;
        }
        assert!(killed_at.elapsed() <= Duration::from_secs(2), "{:?}", killed_at.elapsed());
        let text = second.wait().await;
        assert!(text.contains("two") && !text.contains("\"one\""), "{text}");
    };
    tokio::select! { biased; _ = &mut follower => panic!("the follower ended"), () = alone => {} }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_poll_leaves_the_lead_to_others() {
    let graph = TestGraph::new();
    let disk = MemoryStorage::new();
    let mut signed_out = app(&graph, &disk.new_process(), 1);
    signed_out.config = config(false);
    let mut broken = app(&graph, &disk.new_process(), 2);
    broken.trouble = Some("config.toml, line 1: wrong; correct it".to_owned());
    let (mut a, mut signed_out) = connect(signed_out);
    let (mut b, mut broken) = connect(broken);
    let (mut c, mut good) = connect(app(&graph, &disk.new_process(), 3));
    let session = async {
        signed_out.initialize("a").await;
        broken.initialize("b").await;
        good.initialize("c").await;
        sleep(Duration::from_secs(6)).await;
        graph.say(DM, "hello");
        assert!(good.wait().await.contains("hello"));
        assert!(signed_out.wait().await.contains("hello"), "it follows");
        let (failed, text) =
            signed_out.call("send_teams_message", json!({"chat_id": DM, "content": "x"})).await;
        assert!(failed && text.contains("ENTRACLAW_ACCESS_TOKEN"), "{text}");
        let (failed, text) = broken.call("inbox_pull", json!({})).await;
        assert!(failed && text.contains("line 1: wrong"), "{text}");
    };
    tokio::select! {
        biased;
        _ = &mut a => panic!("ended"), _ = &mut b => panic!("ended"), _ = &mut c => panic!("ended"),
        () = session => {}
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_goes_on_after_the_end() {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let ended = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(7)).await;
        host.to_server.shutdown().await.unwrap();
        std::future::pending::<()>().await;
    };
    let exit = tokio::select! { biased; exit = server => exit, () = ended => unreachable!() };
    assert_eq!(exit, Exit::InputClosed);
    let requests = graph.lines().len();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(graph.lines().len(), requests);
}

#[tokio::test(start_paused = true)]
async fn a_graph_that_never_answers_holds_nothing_up() {
    let graph = TestGraph::new();
    graph.fault(|_| Some(Reply::unreachable().after(Duration::from_secs(3_600))));
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(30)).await;
        let asked = Instant::now();
        let (failed, _) = host.call("inbox_pull", json!({})).await;
        assert!(!failed && asked.elapsed() < Duration::from_millis(10));
        let (failed, text) = host.call("send_teams_message", json!({"chat_id": DM, "content": "x"})).await;
        assert!(failed && asked.elapsed() <= Duration::from_secs(50), "{text} {:?}", asked.elapsed());
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

/// A clock at the last possible time stops nothing.
#[tokio::test(start_paused = true)]
async fn messages_arrive_when_the_clock_is_at_its_last_time() {
    let graph = TestGraph::new();
    let mut app = app(&graph, &MemoryStorage::new(), 1);
    app.clock = Arc::new(TokioClock::starting_at(Timestamp::MAX));
    app.config.bot.enabled = false;
    let (server, mut host) = connect(app);
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(45)).await;
        graph.say(DM, "still there?");
        assert!(host.wait().await.contains("still there?"));
        graph.fault(|line| line.contains("/me/chats?").then(|| Reply::error(503, "busy")));
        sleep(Duration::from_secs(3_700)).await;
        assert!(host.pulled_warning().await.is_some());
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

/// Over two midnights: records that a consumer has not read stay, records that all have read go, new ones still come.
#[tokio::test(start_paused = true)]
async fn old_days_go_when_all_consumers_have_read_them() {
    let graph = TestGraph::new();
    let disk = MemoryStorage::new();
    let mut app = app(&graph, &disk.new_process(), 1);
    app.config.retention.journal.days = Some(1);
    app.config.teams.poll_interval = Duration::from_secs(600);
    let late: Timestamp = "2026-11-21T23:30:00Z".parse().unwrap();
    let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(late));
    app.clock = clock.clone();
    let (server, mut host) = connect(app);
    let days = || disk.paths().into_iter().filter(|path| path.starts_with("inbox/2")).count();
    let told = |word: &str| String::from_utf8(disk.bytes("status.json").unwrap()).unwrap().contains(word);
    let session = async {
        host.initialize("claude-code").await;
        let follower = JournalOptions { may_lead: false, ..JournalOptions::default() };
        let (journal, _) = Journal::open(Arc::new(disk.new_process()), clock, follower).unwrap();
        let mut slow = journal.mailbox(&"slow".parse().unwrap(), "s").unwrap();
        sleep(Duration::from_secs(5)).await;
        graph.say(DM, "read yesterday");
        sleep(Duration::from_secs(700)).await;
        assert!(host.call("inbox_pull", json!({})).await.1.contains("read yesterday"));
        assert!(!host.call("inbox_pull", json!({})).await.1.contains("read yesterday"));
        sleep(Duration::from_secs(24 * 3_600)).await;
        graph.say(DM, "read today");
        sleep(Duration::from_secs(5_400)).await;
        assert!(host.call("inbox_pull", json!({})).await.1.contains("read today"));
        assert!(days() == 2 && told("\"held_back_by\":[\"slow\"]"));
        journal.refresh().unwrap();
        slow.hand_out(DeliveryId(1), &Query::default()).unwrap();
        slow.acknowledge(DeliveryId(1)).unwrap();
        sleep(Duration::from_secs(3_700)).await;
        assert!(days() == 1 && told("\"held_back_by\":[]") && told("\"journal_records\":1"));
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

/// Each write wakes the disk, and a poll comes every few seconds.
#[tokio::test(start_paused = true)]
async fn polls_that_are_answered_are_written_down_now_and_then_and_one_that_is_not_at_once() {
    let graph = TestGraph::new();
    let disk = MemoryStorage::new();
    let mut app = app(&graph, &disk.new_process(), 1);
    app.config.mail.enabled = false;
    let clock = app.clock.clone();
    let file = || serde_json::from_slice::<StatusFile>(&disk.bytes(STATUS_FILE).unwrap()).unwrap();
    let (server, mut host) = connect(app);
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(10)).await;
        let mut written = BTreeSet::new();
        for _ in 0..600 {
            sleep(Duration::from_millis(500)).await;
            let file = file();
            let at: Timestamp = file.written_at.parse().unwrap();
            assert!(clock.now().duration_since(at).as_secs() <= 31, "{at} is old");
            let state = &file.sources[0].state;
            assert!(state.error.is_none() && state.silence(clock.now()).is_none(), "{state:?}");
            written.insert(at);
        }
        assert!((9..=12).contains(&written.len()), "written {} times in 300 s", written.len());
        let requests = file().graph.requests_last_minute;
        assert!((11..=13).contains(&requests), "{requests} requests in the last minute, and one every 5 s");

        graph.fault(|line| {
            line.contains("/me/chats?").then(|| Reply::json(200, &json!({})).after(ANSWERED_LATE))
        });
        sleep(Duration::from_secs(7)).await;
        let state = &file().sources[0].state;
        assert!(state.waits(), "it is told that an answer is awaited: {state:?}");
        graph.fault(|line| line.contains("/me/chats?").then(|| Reply::error(403, "Forbidden")));
        sleep(ANSWERED_LATE + Duration::from_secs(7)).await;
        assert!(file().sources[0].state.error.is_some());
        graph.fault(|_| None);
        // A refused list is asked for again after a minute.
        sleep(Duration::from_secs(100)).await;
        let state = &file().sources[0].state;
        assert!(state.error.is_none() && !state.waits(), "{state:?}");
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

/// The same seed gives the same requests at the same times.
#[tokio::test(start_paused = true)]
async fn a_seed_repeats_a_run_exactly() {
    let mut runs = Vec::new();
    for _ in 0..2 {
        let graph = TestGraph::new();
        let mut count = 0;
        graph.fault(move |_| {
            count += 1;
            (count % 5 == 0).then(|| Reply::error(503, "busy"))
        });
        let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 42));
        let session = async {
            host.initialize("claude-code").await;
            for n in 0..20 {
                graph.say(&format!("19:{}@thread.v2", n % 3), "hello");
                sleep(Duration::from_secs(3)).await;
            }
        };
        tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
        let seen = graph.script.seen();
        // Cursors hold dates of the run, so they are cut off.
        let line = |line: String| line.split("gt%20").next().unwrap().to_owned();
        runs.push(
            seen.iter()
                .map(|s| (s.at, line(s.line()), s.header("client-request-id").map(str::to_owned)))
                .collect::<Vec<_>>(),
        );
    }
    assert!(runs[0].len() > 20);
    assert_eq!(runs[0], runs[1]);
}

/// The warning that comes with an answer.
fn warning(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).unwrap();
    answer["warning"].as_str().map(str::to_owned)
}

impl Host {
    async fn pulled_warning(&mut self) -> Option<String> {
        warning(&self.call("inbox_pull", json!({})).await.1)
    }
}

/// Answers the next request whose line contains `part` with `reply`, once.
fn once(graph: &TestGraph, part: &'static str, reply: fn() -> Reply) {
    let mut left = 1;
    graph.fault(move |line| {
        let hit = line.contains(part) && left > 0;
        left -= i32::from(hit);
        hit.then(reply)
    });
}

#[rstest::rstest]
#[case::a_long_pause(|| Reply::error(429, "TooManyRequests").header("retry-after", "300"))]
#[case::signed_out(|| Reply::error(401, "InvalidAuthenticationToken"))]
#[case::forbidden(|| Reply::error(403, "Forbidden"))]
#[tokio::test(start_paused = true)]
async fn a_failure_that_needs_the_user_is_reported_at_once(#[case] reply: fn() -> Reply) {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(12)).await;
        graph.say(DM, "before");
        assert_eq!(warning(&host.wait().await), None);
        graph.fault(move |line| line.contains("/me/chats?").then(reply));
        sleep(Duration::from_secs(7)).await;
        let told = host.pulled_warning().await.expect("a warning");
        assert!(told.contains("Teams can't be read at the moment"), "{told}");
        let told = warning(&host.wait().await).expect("a warning");
        assert!(told.contains("Teams can't be read at the moment"), "{told}");
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

#[rstest::rstest]
#[case::busy("/me/chats?", || Reply::error(503, "busy"))]
#[case::short_pause("/me/chats?", || Reply::error(429, "TooManyRequests").header("retry-after", "5"))]
#[case::broken("/messages", Reply::broken)]
#[tokio::test(start_paused = true)]
async fn a_short_failure_is_not_reported(#[case] part: &'static str, #[case] reply: fn() -> Reply) {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(12)).await;
        once(&graph, part, reply);
        graph.say(DM, "hello");
        for _ in 0..30 {
            assert_eq!(host.pulled_warning().await, None);
            sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

#[tokio::test(start_paused = true)]
async fn a_graph_that_hangs_is_reported_before_the_timeout() {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(12)).await;
        graph.fault(|_| Some(Reply::unreachable().after(Duration::from_secs(3_600))));
        let hangs = Instant::now();
        sleep(Duration::from_secs(8)).await;
        assert_eq!(host.pulled_warning().await, None);
        let mut told = None;
        while told.is_none() {
            sleep(Duration::from_secs(1)).await;
            told = host.pulled_warning().await;
        }
        assert!(hangs.elapsed() <= Duration::from_secs(22), "{:?}", hangs.elapsed());
        assert!(told.as_ref().is_some_and(|told| told.contains("Teams has not answered for")), "{told:?}");
        for _ in 0..60 {
            sleep(Duration::from_secs(1)).await;
            assert!(host.pulled_warning().await.is_some());
        }
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}

#[rstest::rstest]
#[case::the_list("/me/chats?")]
#[case::the_chat("/messages")]
#[tokio::test(start_paused = true)]
async fn a_message_after_a_failure_comes_without_its_warning(#[case] part: &'static str) {
    let graph = TestGraph::new();
    let (server, mut host) = connect(app(&graph, &MemoryStorage::new(), 1));
    let session = async {
        host.initialize("claude-code").await;
        sleep(Duration::from_secs(12)).await;
        once(&graph, part, || Reply::error(429, "TooManyRequests").header("retry-after", "40"));
        graph.say(DM, "late");
        sleep(Duration::from_secs(10)).await;
        assert!(host.pulled_warning().await.is_some());
        let told = host.wait().await;
        assert!(told.contains("late"), "{told}");
        assert_eq!(warning(&told), None);
    };
    tokio::select! { biased; _ = server => panic!("the server ended"), () = session => {} }
}
