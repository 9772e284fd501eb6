//! Jobs as processes of this machine: the real program does the work, and processes are killed meanwhile.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "tests look at what the program leaves on the disk")]

mod ask;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assert_cmd::cargo::cargo_bin;
use entraclaw_seams::clock::{Clock as _, SystemClock};
use entraclaw_seams::processes::{Processes as _, SystemProcesses, look};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{DiskStorage, Storage as _};
use entraclaw_work::{
    Ask, Collector, Ended, Limits, ProgramSpec, Ready, Reply, WorkResult, Works, WorksParts,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

/// Longest time that any step here may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// The variable that makes a test of this file the host that another one kills.
const AS_HOST: &str = "ENTRACLAW_TEST_AS_HOST";

struct Fixture {
    folder: tempfile::TempDir,
    storage: Arc<DiskStorage>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let storage = Arc::new(DiskStorage::open(&folder.path().join("home")).unwrap());
        Self { folder, storage }
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn works(&self) -> Works {
        works(&self.home())
    }

    fn collector(&self) -> Collector {
        Collector::new(self.storage.clone(), Arc::new(SystemClock), Arc::new(SystemProcesses))
    }

    fn shell(&self, script: &str) -> Ask {
        shell(self.folder.path(), script)
    }

    /// Sweeps until a result is ready for the inbox.
    async fn ready(&self) -> Ready {
        let mut collector = self.collector();
        let looks = async {
            loop {
                collector.sweep().unwrap();
                if let Some(ready) = collector.ready().unwrap().0.pop() {
                    return ready;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, looks).await.expect("a result comes")
    }

    /// A number that a script has written.
    async fn number(&self, file: &str) -> u32 {
        let path = self.folder.path().join(file);
        let looks = async {
            loop {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                if text.ends_with('\n') {
                    return text.trim().parse().unwrap();
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, looks).await.expect("the script writes its number")
    }

    fn process_of(&self, id: &str) -> Option<u32> {
        let text = std::fs::read(self.home().join("work").join(id).join("process.json")).ok()?;
        let trace: Value = serde_json::from_slice(&text).ok()?;
        trace["process"].as_str()?.split('-').next()?.parse().ok()
    }
}

fn works(home: &Path) -> Works {
    Works::new(WorksParts {
        storage: Arc::new(DiskStorage::open(home).unwrap()),
        home: home.display().to_string(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SplitMix::from_os()),
        processes: Arc::new(SystemProcesses),
        program: cargo_bin("entraclaw"),
    })
}

fn shell(folder: &Path, script: &str) -> Ask {
    let spec = ProgramSpec {
        argv: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        folder: folder.to_owned(),
        environment: vec!["PATH".to_owned()],
    };
    Ask {
        kind: "program".to_owned(),
        what: serde_json::to_value(spec).unwrap(),
        title: "a script".to_owned(),
        consumer: "claude-code".to_owned(),
        host: None,
        limits: Limits::default(),
    }
}

async fn result_of(works: &Works, ask: Ask) -> WorkResult {
    match works.begin(ask).unwrap().until(Instant::now() + PATIENCE).await {
        Reply::Done(claimed) => claimed.hand_on(),
        Reply::Ticket(ticket) => panic!("it took too long: {ticket:?}"),
    }
}

fn runs(pid: u32) -> bool {
    look(pid).is_some()
}

fn kill_9(pid: u32) {
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
}

async fn gone(pids: &[u32], within: Duration) -> Duration {
    let began = Instant::now();
    while pids.iter().any(|pid| runs(*pid)) {
        assert!(began.elapsed() < within, "still there after {within:?}: {pids:?}");
        sleep(Duration::from_millis(2)).await;
    }
    began.elapsed()
}

#[tokio::test]
async fn a_program_prints_or_fails_or_is_missing() {
    let fixture = Fixture::new();
    let works = fixture.works();
    let done = result_of(&works, fixture.shell("echo hello; echo aside >&2; env | wc -l")).await;
    assert_eq!((done.ended, done.reason.as_deref()), (Ended::Done, None));
    let mut lines = done.text.lines();
    assert_eq!(lines.next(), Some("hello"));
    // These are PATH and the variables that the shell itself sets.
    assert!(lines.next().unwrap().trim().parse::<u32>().unwrap() <= 4, "{done:?}");
    let failed = result_of(&works, fixture.shell("echo half; echo it is broken >&2; exit 3")).await;
    assert_eq!((failed.ended, failed.text.as_str()), (Ended::Failed, "half\n"));
    let reason = failed.reason.unwrap();
    assert!(reason.contains("exit code 3") && reason.ends_with("it is broken"), "{reason}");
    let mut missing = fixture.shell("");
    missing.what["argv"] = json!(["/no/such/program"]);
    let reason = result_of(&works, missing).await.reason.unwrap();
    assert!(reason.contains("\"/no/such/program\" could not be started"), "{reason}");
    let mut nowhere = fixture.shell("true");
    nowhere.what["folder"] = json!("relative");
    let reason = result_of(&works, nowhere).await.reason.unwrap();
    assert!(reason.contains("not the absolute path of a folder"), "{reason}");
    let mut slow = fixture.shell("sleep 60");
    slow.limits.time_s = 1;
    let reason = result_of(&works, slow).await.reason.unwrap();
    assert!(reason.contains("longer than 1 s"), "{reason}");
}

#[tokio::test]
async fn ten_megabytes_are_bounded_and_kept_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new();
    let script = "cat /proc/$PPID/status | grep VmHWM >&2; head -c 10000000 /dev/zero | tr '\\0' x; \
                  cat /proc/$PPID/status | grep VmHWM >&2; exit 1";
    let flood = result_of(&fixture.works(), fixture.shell(script)).await;
    assert_eq!((flood.total_bytes, flood.kept_bytes, flood.text.len()), (10_000_000, 10_000_000, 64 * 1024));
    let folder = fixture.home().join("work").join(&flood.id);
    assert_eq!(std::fs::metadata(folder.join("output")).unwrap().len(), 10_000_000);
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(&folder).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let reason = flood.reason.unwrap();
    let peak: Vec<u64> = reason
        .split_whitespace()
        .zip(reason.split_whitespace().skip(1))
        .filter_map(|(kb, unit)| kb.parse().ok().filter(|_| unit == "kB"))
        .collect();
    assert_eq!(peak.len(), 2, "{reason}");
    assert!(peak[1] - peak[0] < 4 * 1024, "the flood is not kept in memory: {peak:?} kB");
}

#[tokio::test]
async fn a_cancelled_job_leaves_no_process_behind() {
    let fixture = Fixture::new();
    let works = fixture.works();
    // One grandchild stays in the group and ignores signals, another one leaves the group.
    let script = "trap '' TERM; sh -c \"trap '' TERM; echo \\$\\$ > stays; sleep 600\" & \
                  setsid sh -c 'echo $$ > leaves; sleep 600' & echo $$ > own; sleep 600; wait";
    let ticket = works.begin(fixture.shell(script)).unwrap().let_go();
    let pids = [fixture.number("own").await, fixture.number("stays").await, fixture.number("leaves").await];
    let job = fixture.process_of(&ticket.id).unwrap();
    assert!(pids.iter().chain([&job]).all(|pid| runs(*pid)));
    let began = Instant::now();
    assert!(works.cancel(&ticket.id).unwrap());
    gone(&[pids[0], pids[1], pids[2], job], PATIENCE).await;
    println!("cancelled to no process left: {:?}", began.elapsed());
    assert_eq!(fixture.ready().await.result.ended, Ended::Cancelled);
}

#[tokio::test]
async fn a_programs_background_processes_are_ended_with_it() {
    let fixture = Fixture::new();
    let left = result_of(&fixture.works(), fixture.shell("sleep 600 & echo $! > left; echo done")).await;
    assert_eq!((left.ended, left.text.as_str()), (Ended::Done, "done\n"));
    let pid = fixture.number("left").await;
    gone(&[pid], Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_killed_job_is_lost_and_its_programs_are_ended() {
    let fixture = Fixture::new();
    let job = fixture.works().begin(fixture.shell("echo so far; echo $$ > own; exec sleep 600")).unwrap();
    let own = fixture.number("own").await;
    let output = fixture.home().join("work").join(job.id()).join("output");
    while std::fs::read(&output).unwrap_or_default() != b"so far\n" {
        sleep(Duration::from_millis(2)).await;
    }
    kill_9(fixture.process_of(job.id()).unwrap());
    let waiting = job.until(Instant::now() + PATIENCE);
    let sweeps = async {
        let mut collector = fixture.collector();
        loop {
            collector.sweep().unwrap();
            assert!(collector.ready().unwrap().0.is_empty(), "the caller lives and waits");
            sleep(Duration::from_millis(20)).await;
        }
    };
    let reply = tokio::select! {
        reply = waiting => reply,
        () = sweeps => unreachable!("it goes on for ever"),
    };
    let Reply::Done(claimed) = reply else { panic!("the caller is told") };
    let result = claimed.hand_on();
    assert_eq!((result.ended, result.text.as_str()), (Ended::Lost, "so far\n"));
    assert!(result.reason.unwrap().contains("was ended before it could say"));
    gone(&[own], Duration::from_secs(1)).await;
}

/// No test of its own: the host that the next test starts and kills.
#[tokio::test]
async fn a_host_that_is_killed() {
    let Some(home) = std::env::var_os(AS_HOST).map(PathBuf::from) else { return };
    let job = works(&home).begin(shell(home.parent().unwrap(), "echo $$ > own; sleep 1; echo late")).unwrap();
    println!("\nbegan {}", job.id());
    std::io::stdout().flush().unwrap();
    let _ = job.until(Instant::now() + PATIENCE).await;
    sleep(PATIENCE).await;
}

#[tokio::test]
async fn a_job_outlives_a_host_that_is_killed_with_its_call_open() {
    let fixture = Fixture::new();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["work::a_host_that_is_killed", "--exact", "--nocapture"])
        .env(AS_HOST, fixture.home())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let began = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("began ").map(str::to_owned));
    let id = began.expect("the host begins a job");
    fixture.number("own").await;
    host.kill().unwrap();
    host.wait().unwrap();
    let ready = fixture.ready().await;
    assert_eq!((ready.request.id, ready.result.ended), (id.clone(), Ended::Done));
    assert_eq!((ready.result.text.as_str(), ready.may_be_known), ("late\n", false));
    fixture.collector().told(&id).unwrap();
    assert!(fixture.storage.list("work/spool").unwrap().is_empty());
}

#[tokio::test]
async fn a_job_is_run_by_one_process() {
    let fixture = Fixture::new();
    let ticket = fixture.works().begin(fixture.shell("echo $$ > own; sleep 600")).unwrap().let_go();
    fixture.number("own").await;
    let again = || {
        let run = Command::new(cargo_bin("entraclaw"))
            .args(["work", &ticket.id, "--home"])
            .arg(fixture.home())
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(1));
        String::from_utf8(run.stderr).unwrap()
    };
    assert!(again().contains("runs already"));
    assert!(fixture.works().cancel(&ticket.id).unwrap());
    fixture.ready().await;
    // The process may hold its lock for a moment after its result is there.
    let said = (0..100).map(|_| again()).find(|said| !said.contains("runs already"));
    assert!(said.is_some_and(|said| said.contains("has ended already")));
}

/// A host's side of a real server.
struct Session {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    next_id: u64,
}

impl Session {
    fn start(fixture: &Fixture) -> Self {
        let mut child = Command::new(cargo_bin("entraclaw"))
            .args(["serve", "--home"])
            .arg(fixture.home())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut session = Self { child, lines, next_id: 0 };
        let client = json!({"name": "claude-code", "version": "2.1.140"});
        session.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        session.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        session
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.child.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.lines.next().expect("the server answers").unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn a_session_brings_the_result_to_the_consumer_that_asked_and_to_no_other() {
    let fixture = Fixture::new();
    let mut session = Session::start(&fixture);
    let mut others = fixture.shell("echo not for you");
    others.consumer = "codex".to_owned();
    fixture.works().begin(others).unwrap().let_go();
    let ticket = fixture
        .works()
        .begin(fixture.shell("sleep 1; printf '\\033[31m<b>late</b>\\033[0m'"))
        .unwrap()
        .let_go();
    let text = session.call("wait_for_inbound_message", &json!({"timeout_s": 30}));
    let now = SystemClock.now();
    let answer: Value = serde_json::from_str(&text).unwrap();
    let messages = answer["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1, "{answer}");
    let message = &messages[0];
    assert_eq!(
        (message["channel"].as_str(), message["id"].as_str()),
        (Some("work"), Some(ticket.id.as_str()))
    );
    let content = message["content_text_sanitized"].as_str().unwrap();
    assert!(content.contains("is done: a script)\n&lt;b&gt;late&lt;/b&gt;"), "{content}");
    let ended_at: jiff::Timestamp = message["ts"].as_str().unwrap().parse().unwrap();
    let took = now.duration_since(ended_at);
    println!("from the end of the job to the model: {took:#}");
    assert!(took < jiff::SignedDuration::from_secs(10), "{took:#}");
    let rest = session.call("inbox_pull", &json!({}));
    assert!(!rest.contains("not for you") && !rest.contains("late"), "{rest}");
    for (chat, ids) in [("work", json!([])), ("19:x@thread.v2", json!([ticket.id]))] {
        let reply = json!({"chat_id": chat, "content": "thanks", "reply_to": ids});
        let refused = session.call("send_teams_message", &reply);
        assert!(refused.contains("not a person's message; nothing was sent"), "{refused}");
    }
    assert!(fixture.storage.list("work/spool").unwrap().is_empty());
    assert!(SystemProcesses.identify(session.child.id()).is_some());
}
