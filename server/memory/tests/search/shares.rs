//! The index beside other processes, other users and damage.

use entraclaw_memory::search::IndexPlace;
use entraclaw_seams::storage::Storage;

use crate::machine::{Machine, NEW, OLD, files, ids, kept, mode, search};

#[test]
fn two_processes_share_one_index() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { index: IndexPlace::Folder(folder.path().to_owned()), ..Machine::new() };
    machine.say("one", "user", "first", OLD);
    let (mut one, mut other) = (machine.open(), machine.open());
    for n in 0..1200 {
        machine.say("many", "user", &format!("number{n}"), OLD);
    }
    assert_eq!(one.refresh().unwrap().messages, 1201);
    assert_eq!(ids(&search(&mut one, "number7")), ["many"]);
    // The other one takes over what was committed, and reads nothing again.
    assert_eq!(other.refresh().unwrap().messages, 0);
    assert_eq!(ids(&search(&mut other, "number7")), ["many"]);
    machine.say("one", "user", "second", NEW);
    search(&mut other, "second");
    other.flush().unwrap();
    assert_eq!(ids(&search(&mut one, "second")), ["one"]);
    drop((one, other));

    // Without its catalog the index is made anew.
    machine.storage.remove("memory/catalog.json").unwrap();
    let mut again = machine.open();
    let answer = search(&mut again, "number7");
    assert_eq!((ids(&answer), answer.sessions[0].snippets.len()), (vec!["many"], 1));
}

#[test]
fn the_index_is_for_this_user_alone_and_is_made_anew_when_it_can_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("index");
    std::fs::create_dir(&place).unwrap();
    let machine = Machine { index: IndexPlace::Folder(place.clone()), ..Machine::new() };
    machine.say("one", "user", "zanzibar", OLD);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    assert_eq!(mode(&place), 0o700);
    let found = files(&place);
    assert!(found.len() > 5 && found.iter().all(|(_, mode, _)| *mode == 0o600), "{found:?}");
    drop(memory);
    for (path, _, _) in found {
        #[expect(clippy::disallowed_methods, reason = "the test damages real files")]
        std::fs::write(path, b"{}").unwrap();
    }
    assert_eq!(ids(&search(&mut machine.open(), "zanzibar")), ["one"]);
}

#[test]
fn a_text_is_kept_only_where_its_file_is_no_list_of_messages() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { index: IndexPlace::Folder(folder.path().to_owned()), ..Machine::new() };
    machine.say("one", "user", "zanzibar in a line", OLD);
    let index = |found: &[&str]| {
        let mut memory = machine.open();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let answer = search(&mut memory, "zanzibar");
        let mut texts: Vec<&str> =
            answer.sessions.iter().map(|found| found.snippets[0].text.as_str()).collect();
        texts.sort_unstable();
        assert_eq!(texts, found);
    };
    index(&["zanzibar in a line"]);
    assert_eq!(kept(folder.path()), 0);
    let state = r#"{"sessionId":"two","requests":[{"message":"zanzibar in a state"}]}"#;
    let path = "home/alice/.config/Code/User/workspaceStorage/1/chatSessions/two.json";
    machine.storage.set_bytes(path, state.as_bytes());
    index(&["zanzibar in a line", "zanzibar in a state"]);
    assert_eq!(kept(folder.path()), 1);
}

#[test]
fn while_another_process_commits_no_more_is_read_than_may_wait() {
    let machine = Machine::new();
    let lines: Vec<String> = (0..1_500)
        .map(|n| {
            let message = serde_json::json!({"content": format!("number{n}")});
            serde_json::json!({"type": "user", "message": message, "timestamp": OLD}).to_string()
        })
        .collect();
    for session in ["one", "two", "three", "four"] {
        machine.raw(session, &lines.join("\n"));
    }
    let mut memory = machine.open();
    let other = machine.storage.new_process();
    other.create_dir("memory").unwrap();
    let turn = other.try_lock("memory/lock").unwrap().unwrap();
    assert_eq!(memory.refresh().unwrap().messages, 4_500, "those of three sessions");
    drop(turn);
    memory.flush().unwrap();
    assert_eq!(memory.refresh().unwrap().messages, 1_500);
    assert_eq!(search(&mut memory, "number7").total, 4);
}
