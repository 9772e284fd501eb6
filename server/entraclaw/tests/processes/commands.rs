//! The commands as a person runs them: real processes, real files, exit codes, and output.

#![expect(clippy::disallowed_methods, reason = "tests make and look at real files")]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use assert_cmd::Command as Asserted;
use assert_cmd::cargo::cargo_bin;
use base64::Engine as _;
use entraclaw::command::{InboxView, Recalled};
use entraclaw::doctor::Diagnosis;
use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::DiskStorage;
use entraclaw_session::status::{Report, SessionFile, StatusFile};
use rstest::rstest;
use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use tempfile::TempDir;
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "bbbbbbbb-0000-0000-0000-000000000002";
const AGENT: &str = "bbbbbbbb-0000-0000-0000-000000000003";

struct Place {
    _folder: TempDir,
    home: PathBuf,
    environment: Vec<(String, String)>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        Self { home, _folder: folder, environment: Vec::new() }
    }

    /// A place with a home folder as the server makes it.
    fn made() -> Self {
        let place = Self::new();
        DiskStorage::open(&place.home).unwrap();
        place
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    fn config(&self, text: &str) {
        let path = self.home.join("config.toml");
        fs::write(&path, text).unwrap();
        private(&path);
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Asserted::new(cargo_bin("entraclaw"));
        command.env_clear().env("ENTRACLAW_HOME", &self.home).envs(self.environment.iter().cloned());
        command.args(arguments).timeout(Duration::from_secs(30)).output().unwrap()
    }

    /// The exit code and stdout.
    fn says(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{output:?}");
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }

    fn doctor(&self) -> (i32, Diagnosis) {
        let (code, text) = self.says(&["doctor", "--json"]);
        (code, serde_json::from_str(&text).unwrap())
    }

    fn status(&self) -> (i32, Report) {
        let (code, text) = self.says(&["status", "--json"]);
        (code, serde_json::from_str(&text).unwrap())
    }

    fn serve(&self, consumer: &str, host: &str) -> Session {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.args(["serve", "--consumer", consumer]).env_clear().env("ENTRACLAW_HOME", &self.home);
        command.envs(self.environment.iter().cloned());
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let client = json!({"name": host, "version": "9.9"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 50}});
        let wait = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": wait});
        let stdin = child.stdin.as_mut().unwrap();
        for line in [hello, ready, wait] {
            writeln!(stdin, "{line}").unwrap();
        }
        let mut answer = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut answer).unwrap();
        assert!(answer.contains("serverInfo"), "{answer}");
        Session { child, _stdout: stdout }
    }

    /// Waits until the condition holds, for at most ten seconds.
    fn status_until(&self, holds: impl Fn(&Report) -> bool) -> (i32, Report) {
        for _ in 0..100 {
            let (code, report) = self.status();
            if holds(&report) {
                return (code, report);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("it never came: {:#?}", self.status().1);
    }
}

/// A server process with the host's end of its pipes.
struct Session {
    child: Child,
    /// Kept open, because a server ends when its output is closed.
    _stdout: BufReader<ChildStdout>,
}

impl Session {
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Closes the connection, as a host does.
    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

fn private(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    #[cfg(not(unix))]
    let _ = path;
}

/// A token with these claims; no test checks its signature.
fn token(claims: &Value) -> String {
    let part = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    format!("{}.{}.x", part("{}"), part(&claims.to_string()))
}

fn good_token() -> String {
    let scopes = "Chat.Read ChatMessage.Send User.Read";
    token(&json!({"tid": TENANT, "oid": AGENT, "scp": scopes, "exp": 4_000_000_000_i64}))
}

/// A Graph that answers, with a clock of its own.
fn graph(runtime: &tokio::runtime::Runtime, ahead_s: i64) -> MockServer {
    runtime.block_on(async {
        let server = MockServer::start().await;
        let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(ahead_s);
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        for (at, body) in [("/v1.0/me", json!({"id": AGENT})), ("/v1.0/me/chats", json!({"value": []}))] {
            let answer = ResponseTemplate::new(200).set_body_json(body).insert_header("date", date.as_str());
            Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&server).await;
        }
        server
    })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

fn signed_in(graph: &str, token: &str) -> Place {
    let place = Place::made().with("ENTRACLAW_GRAPH_URL", graph).with("ENTRACLAW_ACCESS_TOKEN", token);
    place.config(&format!(
        "[identity]\ntenant_id = \"{TENANT}\"\n[[allow]]\ntenant_id = \"{TENANT}\"\nobject_id = \"{ALICE}\"\n"
    ));
    place
}

fn find<'a>(diagnosis: &'a Diagnosis, name: &str) -> &'a entraclaw::doctor::Check {
    diagnosis.checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("{diagnosis:#?}"))
}

#[test]
fn a_full_disk_fails_a_command_and_a_reader_that_has_gone_does_not() {
    let print = |to: Stdio| {
        let mut command = Command::new(cargo_bin("entraclaw"));
        command.args(["init", "--print"]).env_clear().stdin(Stdio::null()).stdout(to).status().unwrap().code()
    };
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(print(writer.into()), Some(0));
    #[cfg(target_os = "linux")]
    assert_eq!(print(fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into()), Some(1));
}

#[rstest]
#[case("serve")]
#[case("status")]
#[case("inbox")]
#[case("watch")]
#[case("doctor")]
#[case("import")]
fn every_command_has_help_with_an_example(#[case] command: &str) {
    let (code, text) = Place::new().says(&[command, "--help"]);
    assert_eq!(code, 0);
    assert!(text.contains("Example: ") && text.contains("Exit codes: "), "{text}");
}

#[rstest]
#[case(&["status", "--jsn"])]
#[case(&["inbox", "--limit", "many"])]
#[case(&["inbox", "--consumer", "../x"])]
#[case(&["watch", "--consumer", "../x"])]
#[case(&["doctor", "extra"])]
#[case(&["import"])]
fn wrong_usage_is_2(#[case] arguments: &[&str]) {
    let output = Place::made().run(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty() && !output.stderr.is_empty());
}

#[test]
fn reading_commands_write_nothing() {
    let place = Place::new();
    for arguments in [&["status"][..], &["inbox"], &["doctor"]] {
        let (_, text) = place.says(arguments);
        assert!(!text.contains('\u{1b}'), "no colours in a pipe: {text}");
        assert!(!place.home.exists(), "{arguments:?}");
    }
    assert_eq!(place.says(&["status"]).0, 1, "there is no sign-in");
}

#[test]
fn status_follows_a_leader_its_follower_and_their_ends() {
    let runtime = runtime();
    let graph = graph(&runtime, 0);
    let place = signed_in(&graph.uri(), &good_token()).with("ENTRACLAW_TEAMS_POLL_INTERVAL", "1s");
    let before = jiff::Timestamp::now();
    let leader = place.serve("reviewer", "claude-code");
    place.status_until(|report| report.leader.is_some());
    let follower = place.serve("builder", "copilot-cli");
    let (code, report) = place.status_until(|report| {
        let status = report.status.as_ref();
        let answered = status.is_some_and(|s| s.sources.iter().all(|s| s.state.answered_at.is_some()));
        report.sessions.len() == 2 && report.consumers.len() == 2 && answered
    });
    assert_eq!((code, report.healthy), (0, true), "{report:#?}");
    let first = report.leader.clone().unwrap().file;
    assert_eq!(first.pid, leader.child.id());
    assert!(first.started_at.parse::<jiff::Timestamp>().unwrap() >= before, "{}", first.started_at);
    assert_eq!((first.hosts[0].name.as_str(), first.hosts[0].version.as_str()), ("claude-code", "9.9"));
    assert!(first.carriers.contains(&"channel".to_owned()) && first.carriers.contains(&"wait".to_owned()));
    assert!(report.consumers.iter().all(|consumer| consumer.sessions == 1 && consumer.unread == 0));
    #[cfg(unix)]
    for entry in fs::read_dir(place.home.join("sessions")).unwrap().flatten() {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let (_, text) = place.says(&["status"]);
    assert!(text.contains("claude-code 9.9") && text.contains("reads as builder"), "{text}");

    leader.kill();
    let (_, report) = place.status_until(|report| {
        report.leader.as_ref().is_some_and(|leader| leader.file.pid == follower.child.id())
    });
    let dead = report.sessions.iter().find(|session| !session.alive);
    // The new leader may have removed the file already.
    assert!(dead.is_none_or(|session| session.file.pid == first.pid));
    follower.end();
    let (code, report) = place.status_until(|report| report.leader.is_none());
    assert_eq!(code, 0, "{:?}", report.problems);
    assert!(report.sessions.iter().all(|session| !session.alive));
}

/// A folder of the home folder that no session can use keeps every tool from working.
#[test]
fn a_file_in_place_of_a_folder_is_reported_by_doctor_and_status() {
    let place = Place::made();
    fs::write(place.home.join("sources"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(place.home.join("elsewhere"), place.home.join("inbox")).unwrap();
    let before = fs::read_dir(&place.home).unwrap().count();
    let (code, diagnosis) = place.doctor();
    let found: Vec<_> = diagnosis.checks.iter().filter(|check| check.name == "home").collect();
    let told = |what: &str| found.iter().any(|check| check.fix.is_some() && check.found.contains(what));
    assert!(code == 1 && told("sources is not a folder"), "{diagnosis:#?}");
    assert!(cfg!(not(unix)) || told("inbox is a symlink"), "{diagnosis:#?}");
    let (code, report) = place.status();
    assert!(code == 1 && report.problems.join("\n").contains("sources is not a folder"), "{report:#?}");
    assert_eq!(fs::read_dir(&place.home).unwrap().count(), before, "nothing is left behind");
}

#[test]
fn a_session_with_trouble_is_reported() {
    let place = Place::made();
    place.config("[teams]\npol_interval = \"5s\"\n");
    let session = place.serve("reviewer", "claude-code");
    let (code, report) = place.status_until(|report| !report.sessions.is_empty());
    assert_eq!(code, 1);
    let all = report.problems.join("\n");
    assert!(all.contains("unknown key `teams.pol_interval`") && all.contains("does nothing"), "{all}");
    session.end();
}

fn filled(place: &Place, texts: &[&str]) {
    let disk = Arc::new(DiskStorage::open(&place.home).unwrap());
    let (journal, _) = Journal::open(disk, Arc::new(SystemClock), JournalOptions::default()).unwrap();
    drop(journal.mailbox(&ConsumerName::new("claude-code").unwrap(), "test").unwrap());
    let draft = |(n, text): (usize, &&str)| Draft {
        key: format!("teams/19:a/{n}"),
        id: format!("{n}"),
        channel: Channel::Teams,
        chat_id: "19:a@thread.v2".to_owned(),
        from: "Alice \u{1b}]0;owned\u{7}".to_owned(),
        ts: "2026-11-21T10:00:00Z".to_owned(),
        content_text_sanitized: (*text).to_owned(),
        meta: std::collections::BTreeMap::new(),
        edit_of: None,
        deleted: false,
    };
    journal.append(texts.iter().enumerate().map(draft).collect()).unwrap();
}

#[test]
fn the_inbox_is_shown_and_stays_unread() {
    let place = Place::made();
    filled(&place, &["hello &lt;you&gt;", "\u{1b}[2Jcleared \u{202e}screen\u{9b}31m", "third"]);
    for _ in 0..2 {
        let (code, text) = place.says(&["inbox", "--limit", "2"]);
        assert_eq!(code, 0);
        assert!(text.starts_with("3 unread messages for claude-code\n"), "{text}");
        assert!(text.contains("  hello <you>\n"), "{text}");
        assert!(text.contains("send_teams_message chat_id=19:a@thread.v2 reply_to=0"), "{text}");
        assert!(text.contains("1 more") && !text.contains("third"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && !text.contains('\u{202e}'), "{text:?}");
    }
    let (code, text) = place.says(&["inbox", "--json"]);
    let view: InboxView = serde_json::from_str(&text).unwrap();
    assert_eq!((code, view.unread, view.messages.len()), (0, 3, 3));
    assert!(!view.messages[1].text.contains('\u{9b}') && view.messages[1].text.contains("cleared"));
    let output = place.run(&["inbox", "--consumer", "nobody"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there are claude-code"));
}

#[test]
fn a_machine_without_problems_is_reported_as_well() {
    let runtime = runtime();
    let graph = graph(&runtime, 0);
    let place = signed_in(&graph.uri(), &good_token());
    let (code, diagnosis) = place.doctor();
    assert_eq!(code, 0, "{diagnosis:#?}");
    assert!(diagnosis.checks.iter().all(|check| check.fix.is_none()), "{diagnosis:#?}");
    let (_, text) = place.says(&["doctor"]);
    assert!(
        text.contains("All is well.") && !text.contains("eyJ") && !text.contains(&good_token()),
        "{text}"
    );
}

#[test]
fn the_doctor_finds_each_problem() {
    let runtime = runtime();
    // No configuration.
    let (code, diagnosis) = Place::new().doctor();
    assert_eq!(code, 1);
    assert!(find(&diagnosis, "sign-in").found.contains("none is configured"));
    // No program listens there.
    let place = signed_in("http://127.0.0.1:9", &good_token());
    let (code, diagnosis) = place.doctor();
    assert_eq!(code, 1);
    assert!(find(&diagnosis, "graph").found.contains("cannot reach 127.0.0.1:9"));
    assert!(find(&diagnosis, "clock").found.contains("not compared"));
    // Wrong clock.
    let wrong_clock = graph(&runtime, 3_600);
    let (code, diagnosis) = signed_in(&wrong_clock.uri(), &good_token()).doctor();
    assert_eq!(code, 1);
    let found = &find(&diagnosis, "clock").found;
    assert!(found.contains("s behind Graph's"), "{found}");
    // Wrong tenant, ended token.
    let graph = graph(&runtime, 0);
    let ended = token(&json!({"tid": ALICE, "scp": "User.Read", "exp": 1_700_000_000}));
    let (code, diagnosis) = signed_in(&graph.uri(), &ended).doctor();
    assert_eq!(code, 1);
    assert!(find(&diagnosis, "sign-in").found.contains("the token ended"));
    assert!(find(&diagnosis, "tenant").found.contains(ALICE));
    assert!(find(&diagnosis, "scopes").fix.as_ref().unwrap().contains("Chat.Read"));
    // Wrong configuration: every mistake.
    let place = Place::made();
    place.config("[teams]\nx = 1\n[log]\nlevel = \"loud\"\n");
    let (code, diagnosis) = place.doctor();
    let mistakes = diagnosis.checks.iter().filter(|check| check.name == "config").count();
    assert_eq!((code, mistakes), (1, 2), "{diagnosis:#?}");
}

#[test]
fn the_doctor_names_another_leader() {
    let runtime = runtime();
    let graph = graph(&runtime, 0);
    let place = signed_in(&graph.uri(), &good_token());
    let session = place.serve("reviewer", "claude-code");
    place.status_until(|report| report.leader.is_some());
    let (code, diagnosis) = place.doctor();
    assert_eq!(code, 0, "{diagnosis:#?}");
    let wanted = format!("process {} polls", session.child.id());
    assert!(find(&diagnosis, "leader").found.contains(&wanted), "{diagnosis:#?}");
    session.kill();
}

#[cfg(unix)]
#[test]
fn open_files_and_foreign_homes_are_reported() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::made();
    place.config("");
    fs::set_permissions(place.home.join("config.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    let (_, diagnosis) = place.doctor();
    assert!(find(&diagnosis, "modes").found.contains("config.toml"));
    fs::set_permissions(&place.home, fs::Permissions::from_mode(0o777)).unwrap();
    let (code, diagnosis) = place.doctor();
    assert_eq!(code, 1);
    assert!(find(&diagnosis, "home").found.contains("can be written by others"), "{diagnosis:#?}");
    let output = place.run(&["inbox"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("chmod 700"));
}

#[cfg(unix)]
#[test]
fn a_symlink_to_an_own_configuration_is_fine() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::made();
    let real = place.home.parent().unwrap().join("dotfiles.toml");
    fs::write(&real, "[log]\nlevel = \"loud\"\n").unwrap();
    std::os::unix::fs::symlink(&real, place.home.join("config.toml")).unwrap();
    let (_, diagnosis) = place.doctor();
    assert!(find(&diagnosis, "config").found.contains("`log.level` is \"loud\""), "it was read");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o666)).unwrap();
    let (_, diagnosis) = place.doctor();
    let check = find(&diagnosis, "config");
    assert!(
        check.found.contains("can be written by others") && check.fix.as_ref().unwrap().contains("chmod o-w")
    );
    fs::remove_file(&real).unwrap();
    let (_, diagnosis) = place.doctor();
    assert!(find(&diagnosis, "config").found.contains("leads nowhere"));
}

fn peer(folder: &Path) {
    fs::create_dir_all(folder.join("data/chat_cursors")).unwrap();
    let environment = format!(
        "ENTRABOT_TENANT_ID={TENANT}\nENTRABOT_AGENT_USER_ID={AGENT}\nENTRABOT_HUMAN_USER_ID={ALICE}\n\
         ENTRABOT_BOT_APP_PASSWORD=hunter2\n"
    );
    fs::write(folder.join(".env"), environment).unwrap();
    fs::write(folder.join("data/watched_chats"), "19:a@thread.v2\n").unwrap();
    fs::write(folder.join("data/email_cursor.txt"), "2026-11-20T08:00:00Z").unwrap();
    let cursor = r#"{"last_ts":"2026-11-20T10:00:00Z","seen_ids_tail":["1"],"bootstrapped":true}"#;
    fs::write(folder.join("data/chat_cursors/19%3Aa%40thread.v2.json"), cursor).unwrap();
}

#[test]
fn an_import_reports_its_changes_and_makes_them_once() {
    let place = Place::new();
    let other = tempfile::tempdir().unwrap();
    peer(other.path());
    let from = other.path().display().to_string();
    let (code, text) = place.says(&["import", &from, "--dry-run"]);
    assert_eq!(code, 0);
    assert!(text.contains(&format!("+ identity.tenant_id = \"{TENANT}\"")), "{text}");
    assert!(text.contains("- ENTRABOT_BOT_APP_PASSWORD: a secret") && !text.contains("hunter2"), "{text}");
    assert!(!place.home.exists(), "a dry run writes nothing");

    let (code, first) = place.says(&["import", &from]);
    assert_eq!(code, 0);
    assert_eq!(first.lines().next(), text.lines().next());
    let config = fs::read_to_string(place.home.join("config.toml")).unwrap();
    assert!(config.contains(TENANT) && config.contains(ALICE) && !config.contains("hunter2"), "{config}");
    let teams = fs::read_to_string(place.home.join("sources/teams.json")).unwrap();
    assert!(teams.contains("19:a@thread.v2"), "{teams}");
    #[cfg(unix)]
    for file in ["config.toml", "sources/teams.json", "sources/mail.json"] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            fs::metadata(place.home.join(file)).unwrap().permissions().mode() & 0o777,
            0o600,
            "{file}"
        );
    }

    let (code, again) = place.says(&["import", &from]);
    assert_eq!(code, 0);
    assert!(!again.contains("\n  +"), "{again}");
    assert_eq!(fs::read_to_string(place.home.join("config.toml")).unwrap(), config);
    let output = place.run(&["import", place.home.parent().unwrap().to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("holds none of .env"));
}

/// The server reads the positions that an import writes.
#[test]
fn a_server_goes_on_from_imported_positions() {
    let runtime = runtime();
    let graph = graph(&runtime, 0);
    let place =
        Place::new().with("ENTRACLAW_GRAPH_URL", &graph.uri()).with("ENTRACLAW_ACCESS_TOKEN", &good_token());
    let other = tempfile::tempdir().unwrap();
    peer(other.path());
    place.says(&["import", &other.path().display().to_string()]);
    let session = place.serve("reviewer", "claude-code");
    place.status_until(|report| {
        let sources = report.status.as_ref().map(|status| status.sources.clone()).unwrap_or_default();
        sources.iter().any(|source| source.state.answered_at.is_some() && source.state.conversations == 1)
    });
    session.end();
    assert!(!place.home.join("sources/teams.json.broken").exists());
}

#[test]
fn the_log_file_is_json_and_holds_no_text_of_a_person() {
    let place = Place::made().with("ENTRACLAW_LOG_LEVEL", "trace");
    place.config("[log]\nfile = true\n");
    filled(&place, &["the secret of Alice"]);
    let session = place.serve("claude-code", "claude-code");
    std::thread::sleep(Duration::from_millis(500));
    session.end();
    let log = fs::read_to_string(place.home.join("log/entraclaw.log")).unwrap();
    assert!(!log.is_empty() && !log.contains("the secret of Alice"), "{log}");
    for line in log.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["timestamp"].is_string() && line["level"].is_string(), "{line}");
    }
}

fn schema<T: JsonSchema>() -> Value {
    serde_json::to_value(schema_for!(T)).unwrap()
}

#[test]
fn the_committed_schemas_are_those_of_the_types() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../schemas/own");
    for (name, schema) in [
        ("status.schema.json", schema::<StatusFile>()),
        ("session.schema.json", schema::<SessionFile>()),
        ("status-report.schema.json", schema::<Report>()),
        ("diagnosis.schema.json", schema::<Diagnosis>()),
        ("inbox-view.schema.json", schema::<InboxView>()),
        ("recall.schema.json", schema::<Recalled>()),
    ] {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = folder.join(name);
        if std::env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "{name} is not what its type says; look and run with UPDATE_SCHEMAS=1");
    }
}
