//! What is forgotten is not found, whatever becomes of the index.

use entraclaw_memory::search::{Forget, IndexPlace};
use entraclaw_memory::stores::Agent;
use entraclaw_seams::storage::Storage;

use crate::machine::{Machine, NEW, OLD, files, holds, ids, search, terms};

#[test]
fn a_forgotten_session_stays_forgotten() {
    let machine = Machine::new();
    machine.say("one", "user", "zanzibar", OLD);
    machine.say("two", "user", "zanzibar", OLD);
    let mut memory = machine.open();
    let answer = search(&mut memory, "zanzibar");
    let one = answer.sessions.iter().find(|found| found.session.id == "one").unwrap().session.clone();
    let what = Forget::Session { agent: one.agent, id: one.id };
    assert_eq!(memory.would_forget(&what).unwrap().messages, 1);
    memory.forget(&what).unwrap();
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
    machine.say("one", "user", "zanzibar again", NEW);
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
    // The index in memory is gone with its process, and what is forgotten is not.
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["two"]);
}

#[test]
fn what_is_forgotten_is_in_no_file_and_stays_forgotten_when_the_index_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { index: IndexPlace::Folder(folder.path().to_owned()), ..Machine::new() };
    machine.say("falcon", "user", "Project Falcon begins at Easter.", OLD);
    machine.say("falcon", "assistant", "The weather is fine.", OLD);
    machine.say("other", "user", "The weather of the quicksand is bad.", OLD);
    machine.say("third", "user", "The weather is zanzibar.", OLD);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    let mut beside = machine.open();
    assert_eq!(ids(&search(&mut beside, "falcon")), ["falcon"]);
    assert!(terms(folder.path()).contains("quicksand"));

    let words = Forget::Words("\"project falcon\"".to_owned());
    let would = memory.would_forget(&words).unwrap();
    assert_eq!((would.sessions.len(), would.messages, would.sessions[0].id.as_str()), (1, 1, "falcon"));
    assert_eq!(ids(&search(&mut memory, "falcon")), ["falcon"], "a look forgets nothing");
    assert_eq!(memory.forget(&words).unwrap(), would);
    memory.forget(&Forget::Session { agent: Agent::Claude, id: "other".to_owned() }).unwrap();
    for reader in [&mut memory, &mut beside] {
        assert!(search(reader, "falcon").sessions.is_empty());
        assert!(search(reader, "easter quicksand").sessions.is_empty());
        // The rest of the session is still found, and its title is gone.
        let answer = search(reader, "weather");
        assert_eq!(answer.total, 2);
        assert!(!format!("{answer:?}").contains("Easter"));
    }
    let clean = |machine: &Machine| {
        let catalog = machine.storage.bytes("memory/catalog.json").unwrap();
        let rules = machine.storage.bytes("memory/forgotten.json").unwrap();
        let kept = files(folder.path()).into_iter().map(|(_, _, bytes)| bytes);
        for bytes in kept.chain([catalog, rules, terms(folder.path()).into_bytes()]) {
            assert!(["begins at", "easter", "quicksand"].iter().all(|word| !holds(&bytes, word)));
        }
    };
    clean(&machine);

    // The agent's own files are as they were, so a new index would find it all again.
    drop((memory, beside));
    machine.storage.remove("memory/catalog.json").unwrap();
    let mut again = machine.open();
    assert!(search(&mut again, "falcon easter quicksand").sessions.is_empty());
    machine.say("falcon", "user", "What of project falcon?", NEW);
    machine.say("other", "user", "More quicksand.", NEW);
    assert!(search(&mut again, "quicksand").sessions.is_empty());
    assert!(search(&mut again, "\"project falcon\"").sessions.is_empty());
    assert_eq!(search(&mut again, "weather").total, 2);
    again.flush().unwrap();
    clean(&machine);
}

#[test]
fn a_workspace_is_forgotten_up_to_now() {
    let machine = Machine::new();
    machine.say("old", "user", "zanzibar", OLD);
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["old"]);
    let what = Forget::Workspace("/home/alice/".to_owned());
    assert_eq!(memory.would_forget(&what).unwrap().messages, 1);
    memory.forget(&what).unwrap();
    machine.say("old", "user", "zanzibar again", "2026-11-27T00:00:00Z");
    machine.say("later", "user", "zanzibar", "2026-11-27T00:00:00Z");
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["later"]);
    assert!(memory.forget(&Forget::Words("?".to_owned())).is_err());
    assert!(memory.forget(&Forget::Workspace("/".to_owned())).is_err());
    // Rules that can't be read are no leave to show everything.
    machine.storage.set_bytes("memory/forgotten.json", b"{");
    assert!(machine.try_open().is_err());
}
