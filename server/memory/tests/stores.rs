//! The readers, held to stores that the real programs have made; see `stores/README.md`.

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
        let nowhere = entraclaw_memory::stores::Place { line: 3, nth: 9 };
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
