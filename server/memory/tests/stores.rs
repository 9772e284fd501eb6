//! The readers, held to stores that the real programs have made; see `stores/README.md`.

#![expect(clippy::disallowed_methods, reason = "the stores of the tests are real files")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use entraclaw_memory::files::{DiskFiles, Files, SimulatedFiles};
use entraclaw_memory::stores::{Agent, Batch, Found, Homes, Message, Role, System, find, read, read_again};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::{MemoryStorage, Storage};
use proptest::prelude::*;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores")
}

fn homes() -> Homes {
    let variables = [
        ("COPILOT_HOME", "copilot"),
        ("CLAUDE_CONFIG_DIR", "claude"),
        ("CODEX_HOME", "codex"),
        ("GEMINI_CLI_HOME", "gemini"),
        ("QWEN_HOME", "qwen"),
        ("XDG_CONFIG_HOME", "vscode"),
        ("XDG_DATA_HOME", "opencode/new"),
    ];
    let variables =
        variables.map(|(name, value)| (name.to_owned(), folder().join(value).to_str().unwrap().to_owned()));
    Homes { home: folder().join("nobody"), variables: variables.into(), system: System::Linux }
}

fn sessions(agent: Agent) -> Vec<Batch> {
    let (found, troubles) = find(&DiskFiles, &homes());
    assert!(troubles.is_empty(), "{troubles:?}");
    let found = found.iter().filter(|found| found.agent == agent);
    found.map(|found| read(&DiskFiles, found, None).unwrap().unwrap()).collect()
}

fn shown(messages: &[Message]) -> Vec<(Role, Option<&str>, &str)> {
    messages.iter().map(|message| (message.role, message.tool.as_deref(), message.text.as_str())).collect()
}

const QUESTION: &str = "Why did we drop Redis? Look at notes.txt";
const ANSWER: &str = "We dropped Redis because a single file with a lock is enough for one machine.";
const SECOND: &str = "And what do we use now?";
const JOURNAL: &str = "A journal with a cursor for each consumer.";

/// What the five recorded sessions have in common. Gives the name of the tool, its call and its result.
fn check_recorded(batch: &Batch, version: Option<&str>) -> (String, String, String) {
    let session = batch.session();
    assert_eq!(session.folder.as_deref(), Some("/home/alice/project"));
    assert_eq!(session.title.as_deref(), Some(QUESTION));
    assert_eq!(session.version.as_deref(), version);
    let (started, last) = (session.started.unwrap(), session.last.unwrap());
    assert!(started < last && started.to_string().starts_with("2026-11-26T00:1"), "{started} {last}");
    assert!(batch.tally.is_empty(), "{:?}", batch.tally);
    assert!(batch.is_from_start);
    assert!(batch.messages.iter().all(|message| message.at.is_some() && !message.is_side));

    let messages = shown(&batch.messages);
    assert_eq!(messages[0], (Role::User, None, QUESTION));
    assert_eq!(
        messages[3..],
        [(Role::Assistant, None, ANSWER), (Role::User, None, SECOND), (Role::Assistant, None, JOURNAL)]
    );
    assert_eq!((messages[1].0, messages[2].0), (Role::Tool, Role::Tool));
    let name = messages[1].1.unwrap().to_owned();
    assert!(messages[1].2.contains("cat notes.txt"), "{}", messages[1].2);
    assert!(messages[2].2.contains("redis: dropped, one machine only"), "{}", messages[2].2);
    (name, messages[1].2.to_owned(), messages[2].2.to_owned())
}

#[test]
fn claude_code_is_read() {
    let batches = sessions(Agent::Claude);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].session().id, "0cb916db-26aa-40f2-86b5-1ba81b225fd2");
    assert_eq!(check_recorded(&batches[0], Some("2.1.330")).0, "Bash");
}

#[test]
fn copilot_cli_is_read() {
    let batches = sessions(Agent::Copilot);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].session().id, "0cb916db-26aa-40f2-86b5-1ba81b225fd2");
    assert_eq!(check_recorded(&batches[0], Some("1.0.102")).0, "bash");
}

#[test]
fn codex_is_read() {
    let batches = sessions(Agent::Codex);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].session().id, "01a21536-8602-7c92-b30c-28a0f6303714");
    let (name, call, _) = check_recorded(&batches[0], Some("0.169.0"));
    assert_eq!((name.as_str(), call.as_str()), ("exec_command", "cat notes.txt"));
}

#[test]
fn gemini_cli_is_read() {
    let batches = sessions(Agent::Gemini);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].session().id, "0cb916db-26aa-40f2-86b5-1ba81b225fd2");
    assert_eq!(check_recorded(&batches[0], None).0, "run_shell_command");
}

/// opencode's titles come from its model, which is scripted here.
fn check_opencode(homes: &Homes, version: &str) {
    let (found, troubles) = find(&DiskFiles, homes);
    assert!(troubles.is_empty(), "{troubles:?}");
    let found: Vec<_> = found.iter().filter(|found| found.agent == Agent::Opencode).collect();
    assert_eq!(found.len(), 1);
    let batch = read(&DiskFiles, found[0], None).unwrap().unwrap();
    let session = batch.session();
    assert!(session.id.starts_with("ses_"), "{session:?}");
    assert_eq!(session.folder.as_deref(), Some("/home/alice/project"));
    assert_eq!((session.title.as_deref(), session.version.as_deref()), (Some("title"), Some(version)));
    assert!(batch.tally.is_empty() && batch.is_from_start, "{:?}", batch.tally);
    assert_eq!(
        shown(&batch.messages),
        [
            (Role::User, None, QUESTION),
            (Role::Tool, Some("bash"), batch.messages[1].text.as_str()),
            (Role::Tool, None, "redis: dropped, one machine only"),
            (Role::Assistant, None, ANSWER),
            (Role::User, None, SECOND),
            (Role::Assistant, None, JOURNAL),
        ]
    );
    assert!(batch.messages[1].text.starts_with("cat notes.txt"), "{:?}", batch.messages[1]);
    assert!(session.started < session.last);
    assert!(read(&DiskFiles, found[0], Some(&batch.mark)).unwrap().is_none());
}

#[test]
fn opencode_is_read_from_its_database() {
    check_opencode(&homes(), "1.18.33");
}

#[test]
fn opencode_is_read_from_its_files() {
    let mut homes = homes();
    let old = folder().join("opencode/old").to_str().unwrap().to_owned();
    homes.variables.insert("XDG_DATA_HOME".to_owned(), old);
    check_opencode(&homes, "1.1.11");
}

/// The form of the newer store, with what the recorded session lacks.
#[test]
fn sub_sessions_what_was_taken_back_and_unknown_parts_of_opencode_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("opencode");
    std::fs::create_dir(&folder).unwrap();
    let connection = rusqlite::Connection::open(folder.join("opencode-dev.db")).unwrap();
    connection
        .execute_batch(
            r#"PRAGMA journal_mode = wal;
            CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT, time_updated INTEGER);
            CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT);
            CREATE TABLE account (access_token TEXT);
            INSERT INTO session VALUES ('ses_a', NULL, '/p', 'The title', '2', '{"messageID":"msg_3"}', 5);
            INSERT INTO session VALUES ('ses_b', 'ses_a', '/p', 'A task', '2', NULL, 5);
            INSERT INTO session VALUES ('../../x', NULL, '/p', 'hostile', '2', NULL, 5);
            INSERT INTO session VALUES ('--resume', NULL, '/p', 'hostile', '2', NULL, 5);
            INSERT INTO message VALUES ('msg_1', 'ses_a', 1, '{"role":"user"}');
            INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_a', 1, '{"type":"text","text":"the question"}');
            INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_a', 1, '{"type":"text","text":"a file","synthetic":true}');
            INSERT INTO message VALUES ('msg_2', 'ses_a', 2, '{"role":"assistant","summary":true}');
            INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_a', 2, '{"type":"text","text":"what was before"}');
            INSERT INTO part VALUES ('prt_4', 'msg_2', 'ses_a', 2, '{"type":"of-tomorrow"}');
            INSERT INTO part VALUES ('prt_5', 'msg_2', 'ses_a', 2, 'no JSON');
            INSERT INTO part VALUES ('prt_6', 'msg_2', 'ses_a', 2, 7);
            INSERT INTO message VALUES ('msg_3', 'ses_a', 3, '{"role":"user"}');
            INSERT INTO part VALUES ('prt_7', 'msg_3', 'ses_a', 3, '{"type":"text","text":"taken back"}');
            INSERT INTO message VALUES ('msg_4', 'ses_b', 4, '{"role":"user"}');
            INSERT INTO part VALUES ('prt_8', 'msg_4', 'ses_b', 4, '{"type":"text","text":"a task"}');"#,
        )
        .unwrap();
    let variables = BTreeMap::from([("XDG_DATA_HOME".to_owned(), home.path().to_str().unwrap().to_owned())]);
    let homes = Homes { home: home.path().join("nobody"), variables, system: System::Linux };
    let names = DiskFiles.list(&folder).unwrap();
    let (all, troubles) = find(&DiskFiles, &homes);
    assert!(troubles.is_empty(), "{troubles:?}");
    assert_eq!(all.len(), 2);
    let batches: Vec<Batch> =
        all.iter().map(|found| read(&DiskFiles, found, None).unwrap().unwrap()).collect();
    assert_eq!(
        shown(&batches[0].messages),
        [(Role::User, None, "the question"), (Role::Summary, None, "what was before")]
    );
    let unknown = BTreeMap::from([("of-tomorrow".to_owned(), 1), ("a part without a type".to_owned(), 1)]);
    assert_eq!((&batches[0].tally.unknown, batches[0].tally.malformed), (&unknown, 1));
    assert!(all[1].is_of_sub_agent() && !all[0].is_of_sub_agent());
    assert_eq!((batches[1].session().id.as_str(), batches[1].messages[0].is_side), ("ses_a", true));
    assert_eq!(DiskFiles.list(&folder).unwrap(), names);

    connection
        .execute_batch(
            r#"INSERT INTO part VALUES ('prt_9', 'msg_1', 'ses_a', 9, '{"type":"text","text":"more"}');"#,
        )
        .unwrap();
    assert!(
        read(&DiskFiles, &all[0], Some(&batches[0].mark)).unwrap().is_none(),
        "it reads what the last look has found"
    );
    find(&DiskFiles, &homes);
    let again = read(&DiskFiles, &all[0], Some(&batches[0].mark)).unwrap().unwrap();
    assert_eq!(again.messages[1].text, "more");
    assert!(read(&DiskFiles, &all[1], Some(&batches[1].mark)).unwrap().is_none());
    std::fs::write(folder.join("opencode.db"), "SQLite format 3\0 and then nothing").unwrap();
    assert_eq!(find(&DiskFiles, &homes).1.len(), 1);
}

#[test]
fn the_editors_index_gives_a_title_where_the_file_has_none() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join("Code/User/workspaceStorage/a");
    std::fs::create_dir_all(storage.join("chatSessions")).unwrap();
    let state = |id: &str, title: &str| {
        format!("{{\"sessionId\":\"{id}\"{title},\"requests\":[{{\"message\":\"why\"}}]}}")
    };
    for (id, title) in [("one", ""), ("two", ",\"customTitle\":\"Its own\""), ("three", ""), ("trimmed", "")]
    {
        std::fs::write(storage.join(format!("chatSessions/{id}.json")), state(id, title)).unwrap();
    }
    let connection = rusqlite::Connection::open(storage.join("state.vscdb")).unwrap();
    connection
        .execute_batch("CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        .unwrap();
    let index = r#"{"version":1,"entries":{"one":{"title":"Of the index"},"two":{"title":"Of the index"},"three":{"title":"New Chat"}}}"#;
    connection.execute("INSERT INTO ItemTable VALUES ('chat.ChatSessionStore.index', ?1)", [index]).unwrap();
    connection.execute("INSERT INTO ItemTable VALUES ('secret', 'x')", []).unwrap();
    let variables =
        BTreeMap::from([("XDG_CONFIG_HOME".to_owned(), home.path().to_str().unwrap().to_owned())]);
    let homes = Homes { home: home.path().join("nobody"), variables, system: System::Linux };
    let (all, _) = find(&DiskFiles, &homes);
    let titles = || -> Vec<String> {
        let session = |found| read(&DiskFiles, found, None).unwrap().unwrap();
        all.iter().map(|found| session(found).session().title.clone().unwrap()).collect()
    };
    assert_eq!(titles(), ["Of the index", "why", "why", "Its own"]);
    // An editor that ends within a transaction leaves its journal.
    std::fs::write(storage.join("state.vscdb-journal"), "x").unwrap();
    assert_eq!(titles(), ["why", "why", "why", "Its own"], "its sessions are read nevertheless");
}

#[test]
fn the_folder_of_a_window_of_the_editor_is_what_its_file_says() {
    for (workspace, folder, malformed) in [
        (r#"{"folder":"file:///p/my%20project"}"#, Some("/p/my project"), 0),
        (r#"{"workspace":"file:///p/two.code-workspace"}"#, Some("/p/two.code-workspace"), 0),
        (r#"{"folder":"vscode-remote://wsl/p"}"#, Some("vscode-remote://wsl/p"), 0),
        (r#"{"folder":"no address"}"#, None, 0),
        ("{}", None, 0),
        ("{", None, 1),
    ] {
        let machine = Machine::new(Agent::Vscode, "s/chatSessions/one.json");
        machine.write(br#"{"sessionId":"one","requests":[{"message":"why"}]}"#);
        machine.storage.set_bytes("s/workspace.json", workspace.as_bytes());
        let batch = read(&machine.files, &machine.found, None).unwrap().unwrap();
        assert_eq!(
            (batch.session().folder.as_deref(), batch.tally.malformed),
            (folder, malformed),
            "{workspace}"
        );
    }
}

#[test]
fn qwen_code_is_read() {
    let batches = sessions(Agent::Qwen);
    assert_eq!(batches.len(), 1);
    assert_eq!(batches[0].session().id, "0cb916db-26aa-40f2-86b5-1ba81b225fd2");
    assert_eq!(check_recorded(&batches[0], Some("0.24.4")).0, "run_shell_command");
}

#[test]
fn the_editors_log_is_replayed_and_its_old_file_is_left_out() {
    let batches = sessions(Agent::Vscode);
    let ids: Vec<&str> = batches.iter().map(|batch| &batch.session().id[9..13]).collect();
    assert_eq!(ids, ["0001", "0002", "0003"]);

    let session = batches[0].session();
    assert_eq!(session.title.as_deref(), Some("Storage of the inbox"));
    assert_eq!(session.folder.as_deref(), Some("/home/alice/my project"));
    assert_eq!(
        shown(&batches[0].messages),
        [
            (Role::User, None, "Why did we drop Redis?"),
            (Role::Assistant, None, "Because a single file with a lock is enough, see notes.txt."),
            (
                Role::Tool,
                Some("run_in_terminal"),
                "Running `cat notes.txt`\nRan `cat notes.txt`\ncat notes.txt"
            ),
            (Role::Assistant, None, "One machine only."),
            (Role::User, None, SECOND),
            (Role::Assistant, None, JOURNAL),
        ]
    );
    assert_eq!(batches[0].tally.unknown, BTreeMap::from([("aKindOfTomorrow".to_owned(), 1)]));

    let lost = &batches[1];
    assert_eq!(lost.session().title.as_deref(), Some("A log that begins in the middle"));
    assert_eq!(lost.messages.len(), 2);
    assert_eq!(lost.tally.malformed, 1, "the half line at the end is no fault");

    let old = &batches[2];
    assert_eq!(old.session().folder, None);
    assert_eq!(old.messages[0].text, "Which port\ndoes the bot use?");
    assert_eq!(old.messages[1].text, "Port 3978.");
}

/// A machine with one file of an agent.
struct Machine {
    storage: MemoryStorage,
    files: SimulatedFiles,
    found: Found,
}

impl Machine {
    fn new(agent: Agent, path: &str) -> Self {
        let storage = MemoryStorage::new();
        let files = SimulatedFiles::new(storage.clone(), Arc::new(SystemClock));
        Self { storage, files, found: Found { agent, path: PathBuf::from(format!("/{path}")) } }
    }

    fn write(&self, bytes: &[u8]) {
        self.storage.set_bytes(self.found.path.to_str().unwrap().trim_start_matches('/'), bytes);
    }

    fn append(&self, bytes: &[u8]) {
        let path = self.found.path.to_str().unwrap().trim_start_matches('/').to_owned();
        self.storage.append(&path, true).unwrap().append(bytes).unwrap();
    }
}

fn claude_line(text: &str, more: &str) -> String {
    format!("{{\"type\":\"user\",\"message\":{{\"content\":{}}}{more}}}\n", serde_json::json!(text))
}

#[test]
fn only_what_is_new_is_read() {
    let machine = Machine::new(Agent::Claude, "s/one.jsonl");
    machine.write(claude_line("one", ",\"sessionId\":\"abc\",\"cwd\":\"/p\"").as_bytes());
    let first = read(&machine.files, &machine.found, None).unwrap().unwrap();
    assert_eq!(first.messages.len(), 1);

    let more = claude_line("two", "");
    machine.append(&more.as_bytes()[..20]);
    let second = read(&machine.files, &machine.found, Some(&first.mark)).unwrap().unwrap();
    assert!(second.messages.is_empty() && !second.is_from_start, "half a line waits");
    machine.append(&more.as_bytes()[20..]);
    let third = read(&machine.files, &machine.found, Some(&second.mark)).unwrap().unwrap();
    assert_eq!(shown(&third.messages), [(Role::User, None, "two")]);
    assert_eq!((third.session().id.as_str(), third.session().title.as_deref()), ("abc", Some("one")));

    machine.write(claude_line("another file of the same name", "").as_bytes());
    let again = read(&machine.files, &machine.found, Some(&third.mark)).unwrap().unwrap();
    assert!(again.is_from_start);
    assert_eq!(again.messages.len(), 1);
}

#[test]
fn sub_agents_summaries_and_titles_of_claude_code_are_told_apart() {
    let machine = Machine::new(Agent::Claude, "s/one.jsonl");
    let lines = [
        claude_line("<command-name>/clear</command-name>", ""),
        claude_line("a caveat", ",\"isMeta\":true"),
        claude_line("a task", ",\"isSidechain\":true"),
        claude_line("what was before", ",\"isCompactSummary\":true"),
        claude_line("the question", ""),
        "{\"type\":\"system\",\"subtype\":\"compact_boundary\"}\n".to_owned(),
        "{\"type\":\"ai-title\",\"aiTitle\":\"The title\"}\n".to_owned(),
        "{\"type\":\"of-tomorrow\"}\n[]\n{}\n".to_owned(),
    ];
    machine.write(lines.concat().as_bytes());
    let batch = read(&machine.files, &machine.found, None).unwrap().unwrap();
    let found: Vec<_> = batch.messages.iter().map(|m| (m.role, m.is_side, m.text.as_str())).collect();
    assert_eq!(
        found,
        [
            (Role::User, true, "a task"),
            (Role::Summary, false, "what was before"),
            (Role::User, false, "the question")
        ]
    );
    assert_eq!(batch.session().title.as_deref(), Some("The title"));
    assert_eq!(batch.tally.unknown, BTreeMap::from([("of-tomorrow".to_owned(), 1)]));
    assert_eq!(batch.tally.malformed, 2);
}

#[test]
fn a_rewound_session_of_gemini_loses_what_was_taken_back() {
    let machine = Machine::new(Agent::Gemini, "g/tmp/p/chats/one.jsonl");
    let user = |id: &str, text: &str| {
        format!("{{\"id\":\"{id}\",\"type\":\"user\",\"content\":[{{\"text\":\"{text}\"}}]}}\n")
    };
    let lines = [
        "{\"sessionId\":\"abc\",\"startTime\":\"2026-11-26T00:00:00Z\"}\n".to_owned(),
        user("1", "stays"),
        user("2", "goes"),
        "{\"$rewindTo\":\"2\"}\n".to_owned(),
        user("3", "comes"),
        user("3", "comes instead"),
    ];
    machine.write(lines.concat().as_bytes());
    let batch = read(&machine.files, &machine.found, None).unwrap().unwrap();
    assert_eq!(shown(&batch.messages), [(Role::User, None, "stays"), (Role::User, None, "comes instead")]);
}

#[test]
fn each_message_can_be_read_again() {
    let (found, _) = find(&DiskFiles, &homes());
    for found in found {
        let batch = read(&DiskFiles, &found, None).unwrap().unwrap();
        for message in &batch.messages {
            let again = read_again(&DiskFiles, &found, message.place).unwrap().unwrap();
            assert_eq!(again, *message);
        }
        let nowhere = entraclaw_memory::stores::Place { line: 3, nth: 99 };
        assert_eq!(read_again(&DiskFiles, &found, nowhere).unwrap(), None);
    }
}

#[test]
fn no_secret_leaves_a_reader() {
    let secret = "ghp_0123456789abcdefABCDEF";
    let machine = Machine::new(Agent::Claude, "s/one.jsonl");
    machine.write(claude_line(&format!("use {secret}"), ",\"cwd\":\"/p\"").as_bytes());
    let batch = read(&machine.files, &machine.found, None).unwrap().unwrap();
    assert!(!format!("{batch:?}").contains("abcdef"), "{batch:?}");
}

#[test]
fn readers_create_no_file() {
    let before = DiskFiles.list(&folder()).unwrap();
    for agent in Agent::ALL {
        sessions(agent);
    }
    assert_eq!(DiskFiles.list(&folder()).unwrap(), before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_file_makes_a_reader_fail(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        picks in proptest::collection::vec(0_usize..12, 0..12),
    ) {
        const PIECES: [&str; 12] = [
            "{\"type\":", "\"user\"", ",\"message\":{\"content\":[", "{\"type\":\"text\"}", "]}}", "\n",
            "{\"kind\":2,\"k\":[\"requests\"],\"v\":[1,null,{}]}", "{\"kind\":0,\"v\":{\"requests\":[[],{\"response\":{}}]}}",
            "{\"$set\":{\"messages\":[1]}}", "{\"type\":\"response_item\",\"payload\":[]}",
            "{\"type\":\"system\",\"timestamp\":1e300}", "{\"id\":{},\"sessionId\":[],\"cwd\":7}",
        ];
        let text: String = picks.iter().map(|pick| PIECES[*pick]).collect();
        for agent in Agent::ALL {
            for path in ["s/x/one.jsonl", "s/x/one.json"] {
                for content in [bytes.as_slice(), text.as_bytes()] {
                    let machine = Machine::new(agent, path);
                    machine.write(content);
                    let batch = read(&machine.files, &machine.found, None).unwrap().unwrap();
                    prop_assert!(batch.messages.iter().all(|message| !message.text.is_empty()));
                }
            }
        }
    }
}
