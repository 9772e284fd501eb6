//! Shared context on a real disk: the commands of a person, and the set of tools alone in a session.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::support::Fixture;

struct Project {
    fixture: Fixture,
    folder: PathBuf,
}

impl Project {
    /// A repository in the folder of a person.
    fn new() -> Self {
        let fixture = Fixture::new();
        let folder = fixture.folder.path().join("project");
        fs::create_dir_all(folder.join(".git")).unwrap();
        fs::create_dir_all(folder.join("src")).unwrap();
        let user = fixture.folder.path().display().to_string();
        let fixture = fixture.with("HOME", &user).with("USERPROFILE", &user);
        Self { fixture, folder: folder.canonicalize().unwrap() }
    }

    fn run(&self, arguments: &[&str], input: &str) -> (i32, String, String) {
        let mut command = self.fixture.command(arguments);
        let output = command.current_dir(self.folder.join("src")).write_stdin(input).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    /// What a session with the set `context` answers to these calls.
    fn session(&self, calls: &[(&str, Value)]) -> Vec<String> {
        let opening = json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}
        }});
        let mut input = vec![opening.to_string()];
        for (n, (tool, arguments)) in calls.iter().enumerate() {
            let params = json!({"name": tool, "arguments": arguments});
            input.push(
                json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}).to_string(),
            );
        }
        self.lines(input, calls.len())
    }

    /// Sends a line after the answer to the one before, and gives the texts of the answers to numbered requests.
    fn lines(&self, input: Vec<String>, count: usize) -> Vec<String> {
        use std::io::{BufRead as _, BufReader, Write as _};
        let command = self.fixture.command(&["serve", "--only", "context"]);
        let mut command = unwrapped(&command, &self.folder.join("src"));
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut texts = Vec::new();
        for line in input {
            writeln!(stdin, "{line}").unwrap();
            let mut answer = String::new();
            stdout.read_line(&mut answer).unwrap();
            let answer: Value = serde_json::from_str(&answer).unwrap();
            if answer["id"].is_number() {
                texts.push(answer["result"]["content"][0]["text"].as_str().unwrap().trim_end().to_owned());
            }
        }
        drop(stdin);
        child.wait().unwrap();
        assert_eq!(texts.len(), count);
        texts
    }
}

/// The same program with the same environment, for a conversation.
fn unwrapped(command: &assert_cmd::Command, folder: &std::path::Path) -> std::process::Command {
    let mut plain = std::process::Command::new(command.get_program());
    plain.args(command.get_args()).env_clear().current_dir(folder);
    plain.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    plain
}

#[test]
fn a_person_begins_adds_to_and_shows_the_notes_of_a_workspace() {
    let project = Project::new();
    let file = project.folder.join("context.md");
    let (code, _, problem) = project.run(&["context", "show"], "");
    assert!(code == 1 && problem.contains("begin it by `entraclaw context init`"), "{problem}");
    let (code, told, problem) = project.run(&["context", "init", "--name", "Quarry"], "");
    assert_eq!((code, told), (0, format!("began {}\n", file.display())), "{problem}");
    let (code, told, _) = project.run(&["context", "append", "We keep one file.", "--title", "Storage"], "");
    assert!(code == 0 && told.starts_with("added to "), "{told}");
    assert_eq!(project.run(&["context", "append"], "From a pipe.\n").0, 0);
    let (code, _, problem) = project.run(&["context", "append"], " \n");
    assert!(code == 2 && problem.contains("there is no note"), "{problem}");
    let (code, shown, _) = project.run(&["context", "show"], "");
    assert_eq!((code, &shown), (0, &fs::read_to_string(&file).unwrap()));
    assert!(shown.contains("Project: Quarry") && shown.contains("## Session Storage\n\n> 2"), "{shown}");
    assert!(!shown.contains("by an agent"), "{shown}");
    let (_, last, _) = project.run(&["context", "show", "--range", "last-session", "--plain"], "");
    assert!(last.contains("From a pipe.") && !last.contains("one file") && !last.contains('#'), "{last}");
    let (_, document, _) = project.run(&["context", "show", "--json"], "");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["metadata"]["sessionCount"], 2);
    assert_eq!(project.run(&["context", "show", "--range", "last"], "").0, 2);
    let names: Vec<_> =
        fs::read_dir(&project.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let elsewhere = project.fixture.folder.path().join("other");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(project.run(&["context", "init", "--workspace", elsewhere.to_str().unwrap()], "").0, 0);
    assert!(elsewhere.join("context.md").exists());
}

#[test]
fn a_session_finds_what_another_agent_said_and_shares_the_notes_with_a_person() {
    let project = Project::new();
    let store = project.fixture.folder.path().join(".claude/projects/-p");
    fs::create_dir_all(&store).unwrap();
    let line = json!({
        "type": "assistant", "message": {"content": "We dropped Redis: one file is enough."},
        "timestamp": "2026-02-04T20:00:00Z", "cwd": project.folder, "sessionId": "s-1"
    });
    fs::write(store.join("s-1.jsonl"), format!("{line}\n")).unwrap();
    assert_eq!(project.run(&["context", "init"], "").0, 0);
    let calls = [
        ("search_conversations", json!({"query": "redis"})),
        ("append_context", json!({"content": "Redis is gone."})),
        ("read_context", json!({})),
        ("search_conversations", json!({"query": "file"})),
    ];
    let answers = project.session(&calls);
    let found: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(found["results"][0]["sessionId"], "s-1", "{found}");
    assert!(answers[1].contains("\"success\":true") && answers[2].contains("Redis is gone."), "{answers:?}");
    let (_, shown, _) = project.run(&["context", "show"], "");
    assert!(shown.contains("written by an agent (x): a note, not an instruction"), "{shown}");
    // A second session takes the index over.
    let again = project.session(&[("search_conversations", json!({"query": "redis"}))]);
    assert_eq!(serde_json::from_str::<Value>(&again[0]).unwrap(), found);
    assert!(project.fixture.home.join("memory/index").is_dir());
}

#[test]
fn the_documents_variables_count() {
    let project = Project::new();
    let other = project.fixture.folder.path().join("named");
    fs::create_dir(&other).unwrap();
    let Project { fixture, folder } = project;
    let fixture = fixture
        .with("WORKSPACE", other.to_str().unwrap())
        .with("CONTEXT_FILE_NAME", "notes.md")
        .with("LOG_LEVEL", "verbose");
    let project = Project { fixture, folder };
    let answers = project.session(&[("init_context", json!({}))]);
    let begun: Value = serde_json::from_str(&answers[0]).unwrap();
    assert_eq!(begun["path"], other.canonicalize().unwrap().join("notes.md").display().to_string());
    let project =
        Project { fixture: project.fixture.with("CONTEXT_FILE_NAME", "a/b"), folder: project.folder };
    let (code, _, problem) = project.run(&["context", "show"], "");
    assert!(
        code == 1 && problem.contains("CONTEXT_FILE_NAME") && problem.contains("such as context.md"),
        "{problem}"
    );
}
