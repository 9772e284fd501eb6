//! `recall` over stores that the real programs have made, and what `status` and `doctor` then know.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::support::{Fixture, Said};

const ID: &str = "0cb916db-26aa-40f2-86b5-1ba81b225fd2";

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../memory/tests/stores").canonicalize().unwrap()
}

fn fixture() -> Fixture {
    let of = |name: &str| stores().join(name).display().to_string();
    Fixture::new()
        .with("HOME", "/nobody")
        .with("USERPROFILE", "/nobody")
        .with("COPILOT_HOME", &of("copilot"))
        .with("CLAUDE_CONFIG_DIR", &of("claude"))
        .with("CODEX_HOME", &of("codex"))
        .with("GEMINI_CLI_HOME", &of("gemini"))
        .with("QWEN_HOME", &of("qwen"))
        .with("XDG_DATA_HOME", &of("opencode/new"))
        .with("XDG_CONFIG_HOME", &of("vscode"))
}

fn json(said: &Said) -> Value {
    assert_eq!(said.err, "");
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn what_was_said_to_any_agent_is_found_with_the_way_to_go_on() {
    let fixture = fixture();
    for _ in 0..2 {
        let said = fixture.run(&["recall", "why", "did we", "drop redis"]);
        assert_eq!((said.code, said.err.as_str()), (0, ""));
        assert!(!said.out.contains('\u{1b}'), "a pipe gets no colours: {}", said.out);
        for part in [
            format!("copilot --resume={ID}\n"),
            format!("cd -- /home/alice/project && claude --resume {ID}\n"),
            "codex resume 01a21536-8602-7c92-b30c-28a0f6303714\n".to_owned(),
            "cd -- /home/alice/project && opencode --session ses_de9fe8b45ffeLDZkpJXGUusWCa\n".to_owned(),
            "agent: We dropped Redis because a single file with a lock is enough for one machine.\n"
                .to_owned(),
        ] {
            assert!(said.out.contains(&part), "{part} is missing in {}", said.out);
        }
    }
}

#[test]
fn the_answer_is_a_document_and_can_be_narrowed() {
    let fixture = fixture();
    let all = json(&fixture.run(&["recall", "--json", "journal cursor"]));
    assert_eq!(
        (&all["v"], &all["query"], &all["unreadable"]),
        (&1.into(), &"journal cursor".into(), &0.into())
    );
    assert!(all["total"].as_u64().unwrap() >= 6, "{all}");
    let best = &all["sessions"][0];
    assert_eq!((&best["relevance"], &best["folder"]), (&1.0.into(), &"/home/alice/project".into()));
    assert!(best["snippets"][0]["text"].as_str().unwrap().contains("A journal with a cursor"), "{best}");

    let one = json(&fixture.run(&["recall", "--json", "--agent", "codex", "journal cursor"]));
    assert_eq!((&one["total"], &one["sessions"][0]["agent"]), (&1.into(), &"codex".into()));
    assert_eq!(one["sessions"][0]["running"], "unknown");
    let few = json(&fixture.run(&["recall", "--json", "--limit", "2", "journal cursor"]));
    assert_eq!(few["sessions"].as_array().unwrap().len(), 2);
    let none = fixture.run(&["recall", "--since", "2026-11-27T00:00:00Z", "journal cursor"]);
    assert_eq!(none.code, 0);
    assert_eq!(
        none.out,
        "Nothing was said of \"journal cursor\" in any session; try fewer or other words.\n"
    );
}

#[test]
fn what_was_taken_back_later_is_told() {
    let fixture = Fixture::new();
    let store = fixture.folder.path().join("claude");
    let session = store.join("projects/-p/a-session.jsonl");
    fs::create_dir_all(session.parent().unwrap()).unwrap();
    let said = ["We use Redis for the queue.", "No, not Redis: we use one file instead of Redis."];
    let lines =
        said.map(|text| format!("{}\n", serde_json::json!({"type": "user", "message": {"content": text}})));
    fs::write(&session, lines.concat()).unwrap();
    let fixture = fixture.with("CLAUDE_CONFIG_DIR", store.to_str().unwrap());
    let found = json(&fixture.run(&["recall", "--json", "redis for the queue"]));
    let best = &found["sessions"][0];
    assert_eq!(best["snippets"][0]["text"], said[0], "{best}");
    assert!(best["superseded"]["text"].as_str().unwrap().contains("one file instead"), "{best}");
}

#[test]
fn a_whole_session_is_shown() {
    let said = fixture().run(&["recall", "--agent", "copilot", "--open", "journal"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(
        said.out.starts_with(&format!(
            "# Why did we drop Redis? Look at notes.txt\n\n- Session: `copilot/{ID}`\n"
        )),
        "{}",
        said.out
    );
    assert!(said.out.contains("\n> A journal with a cursor for each consumer.\n"), "{}", said.out);
    assert!(said.out.ends_with(&format!("- Goes on with: copilot --resume={ID}\n")), "{}", said.out);
    let said = fixture().run(&["recall", "--agent", "copilot", "--open=7", "journal"]);
    assert_eq!((said.code, said.out.as_str()), (1, ""));
    assert_eq!(said.err, "error: there is no answer 7 to \"journal\": 1 were found\n");
}

#[test]
fn what_a_sub_agent_said_opens_the_session_that_began_it() {
    let fixture = Fixture::new();
    let store = fixture.folder.path().join("claude");
    let line = |text: &str, side: bool| {
        let message = serde_json::json!({"type": "user", "sessionId": "a-session", "isSidechain": side, "message": {"content": text}});
        format!("{message}\n")
    };
    let folder = store.join("projects/-p/a-session/subagents");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("agent-1.jsonl"), line("a zanzibar for the sub-agent", true)).unwrap();
    fs::write(store.join("projects/-p/a-session.jsonl"), line("what the person asked", false)).unwrap();
    let fixture = fixture.with("CLAUDE_CONFIG_DIR", store.to_str().unwrap());
    let said = fixture.run(&["recall", "--open", "zanzibar"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert!(said.out.contains("> what the person asked\n"), "{}", said.out);
}

#[test]
fn a_wrong_line_is_refused_with_what_to_write() {
    let fixture = fixture();
    for (arguments, wanted) in [
        (&["recall"][..], "QUERY"),
        (&["recall", "--agent", "clippy", "x"], "possible values: vscode, copilot"),
        (&["recall", "--since", "yesterday", "x"], "write 2026-11-01"),
        (&["recall", "--limit", "0", "x"], "0 is not in 1..=200"),
        (&["recall", "?!"], "the query holds no word"),
        (&["recall", "--json", "--open", "x"], "cannot be used with"),
    ] {
        let said = fixture.run(arguments);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{arguments:?}");
        assert!(said.err.contains(wanted), "{wanted:?} is missing in {}", said.err);
    }
}

#[test]
fn status_and_doctor_know_the_memory_once_there_is_one() {
    let fixture = fixture();
    assert!(json(&fixture.run(&["status", "--json"])).get("memory").is_none());
    // Enough messages for a commit, of which one is of a kind that nobody knows.
    let store = fixture.folder.path().join("claude");
    let session = store.join("projects/-p/a-session.jsonl");
    fs::create_dir_all(session.parent().unwrap()).unwrap();
    let line = "{\"type\":\"user\",\"message\":{\"content\":\"zanzibar\"}}\n";
    fs::write(&session, line.repeat(60) + "{\"type\":\"of-tomorrow\"}\n").unwrap();
    let fixture = fixture.with("CLAUDE_CONFIG_DIR", store.to_str().unwrap());
    assert_eq!(fixture.run(&["recall", "zanzibar"]).code, 0);

    let status = json(&fixture.run(&["status", "--json"]));
    assert!(status["memory"]["bytes"].as_u64().unwrap() > 1000, "{status}");
    let of = |agent: &str| {
        let agents = status["memory"]["agents"].as_array().unwrap();
        agents.iter().find(|one| one["agent"] == agent).map(|one| one["sessions"].as_u64().unwrap())
    };
    assert_eq!((of("claude"), of("codex"), of("opencode")), (Some(1), Some(1), Some(1)), "{status}");
    let doctor = json(&fixture.run(&["doctor", "--json"]));
    let checks: Vec<&Value> =
        doctor["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "memory").collect();
    assert!(
        checks[0]["found"].as_str().unwrap().contains("codex 1, gemini 1, qwen 1, opencode 1"),
        "{checks:?}"
    );
    let of_claude =
        "claude: what this version does not know, in 1 session of the newest 20: \"of-tomorrow\" 1";
    assert!(checks.iter().any(|check| check["found"] == of_claude && check["level"] == "warn"), "{checks:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(fixture.home.join(path)).unwrap().permissions().mode() & 0o077;
        assert_eq!((mode("memory"), mode("memory/index"), mode("memory/catalog.json")), (0, 0, 0));
    }
}

#[test]
fn what_a_person_forgets_is_shown_first_and_never_found_again() {
    let fixture = fixture();
    let found = |words: &str| json(&fixture.run(&["recall", "--json", words]))["total"].as_u64().unwrap();
    let before = found("redis");
    assert!(before > 1);
    let would = fixture.run(&["recall", "--forget", "session", ID]);
    assert!(would.out.starts_with("would forget ") && would.out.contains(ID), "{}", would.out);
    assert!(would.out.contains("add --yes") && found("redis") == before);
    let gone = fixture.run(&["recall", "--forget", "session", ID, "--yes"]);
    assert!(
        gone.out.starts_with("forgot ") && gone.out.contains("own files still have them"),
        "{}",
        gone.out
    );
    assert!(found("redis") < before);
    let words = fixture.run(&["recall", "--forget", "words", "redis", "--yes"]);
    assert!(words.out.starts_with("forgot "), "{}", words.out);
    assert_eq!(found("redis"), 0);
    let unknown = fixture.run(&["recall", "--forget", "session", "none-such"]);
    assert!(unknown.code == 1 && unknown.err.contains("no session has the id none-such"), "{}", unknown.err);
    let alone = fixture.run(&["recall", "redis", "--yes"]);
    assert!(alone.code == 2 && alone.err.contains("--forget"), "{}", alone.err);
}
