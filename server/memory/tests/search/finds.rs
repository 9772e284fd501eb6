//! What is found, and by which filter.

use entraclaw_memory::search::Filter;
use entraclaw_memory::stores::{Agent, Role};
use entraclaw_seams::storage::Storage;

use crate::machine::{Machine, NEW, OLD, ids, search};

#[test]
fn what_was_decided_is_found_with_the_words_around_it() {
    let machine = Machine::new();
    machine.say("one", "user", "why did we drop redis", OLD);
    machine.say("one", "assistant", "We dropped Redis because one file with a lock is enough.", OLD);
    machine.say("two", "user", "name the colours of the rainbow", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        let answer = search(&mut memory, "redis lock");
        assert_eq!((ids(&answer), answer.total), (vec!["one"], 1));
        let found = &answer.sessions[0];
        assert!((found.relevance - 1.0).abs() < f32::EPSILON);
        assert_eq!(found.snippets[0].text, "We dropped Redis because one file with a lock is enough.");
        assert_eq!((found.snippets[0].role, found.snippets[1].role), (Role::Assistant, Role::User));
        assert_eq!(found.session.folder.as_deref(), Some("/home/alice/project"));
        // Committed or not makes no difference.
        memory.flush().unwrap();
    }
    assert!(search(&mut memory, "absent").sessions.is_empty());
    assert!(search(&mut memory, " \"\" ").sessions.is_empty());
}

#[test]
fn what_was_said_a_moment_ago_is_found_and_what_is_gone_is_not() {
    let machine = Machine::new();
    machine.say("one", "user", "the first word", OLD);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    machine.say("one", "assistant", "zanzibar", NEW);
    assert_eq!(ids(&search(&mut memory, "zanzibar")), ["one"]);
    assert_eq!(ids(&search(&mut memory, "first")), ["one"]);

    machine.storage.remove(&Machine::path("one")).unwrap();
    assert!(search(&mut memory, "first zanzibar").sessions.is_empty());

    machine.say("one", "user", "another text under the old name", NEW);
    assert!(search(&mut memory, "zanzibar").sessions.is_empty());
    assert_eq!(ids(&search(&mut memory, "another")), ["one"]);
    memory.flush().unwrap();
    assert!(search(&mut memory, "zanzibar first").sessions.is_empty());
}

#[test]
fn filters_narrow_the_answer_before_and_after_a_commit() {
    let machine = Machine::new();
    machine.say("old", "user", "a word", OLD);
    machine.say("recent", "assistant", "a word", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        let mut found = |filter: Filter| -> Vec<String> {
            let answer = memory.search("word", &filter, 10).unwrap();
            ids(&answer).into_iter().map(str::to_owned).collect()
        };
        let since = Some("2026-06-01T00:00:00Z".parse().unwrap());
        assert_eq!(found(Filter { since, ..Filter::default() }), ["recent"]);
        assert_eq!(found(Filter { until: since, ..Filter::default() }), ["old"]);
        assert_eq!(found(Filter { role: Some(Role::User), ..Filter::default() }), ["old"]);
        assert_eq!(found(Filter { agent: Some(Agent::Claude), ..Filter::default() }).len(), 2);
        assert!(found(Filter { agent: Some(Agent::Codex), ..Filter::default() }).is_empty());
        assert_eq!(found(Filter { folder: Some("/home/alice".to_owned()), ..Filter::default() }).len(), 2);
        assert!(found(Filter { folder: Some("/home/al".to_owned()), ..Filter::default() }).is_empty());
        memory.flush().unwrap();
    }
}

#[test]
fn a_tool_can_be_asked_for_by_its_name() {
    let machine = Machine::new();
    let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash","input":{"command":"ls zanzibar"}}]}}"#;
    machine.raw("shell", call);
    machine.raw("edit", &call.replace("Bash", "Edit"));
    machine.say("said", "user", "zanzibar", OLD);
    let mut memory = machine.open();
    for _ in 0..2 {
        let filter = Filter { tool: Some("Bash".to_owned()), ..Filter::default() };
        let answer = memory.search("zanzibar", &filter, 10).unwrap();
        assert_eq!((ids(&answer), answer.total), (vec!["shell"], 1));
        assert_eq!(search(&mut memory, "zanzibar").total, 3);
        memory.flush().unwrap();
    }
}

#[test]
fn what_thousands_of_sessions_gain_is_found() {
    let machine = Machine::new();
    for n in 0..2_100 {
        machine.say(&format!("session-{n}"), "user", "a word of many", OLD);
    }
    let mut memory = machine.open();
    assert_eq!(search(&mut memory, "many").total, 2_100);
    machine.say("session-0", "user", "the first one gained zanzibar", NEW);
    machine.say("session-2099", "user", "the last one gained zanzibar", NEW);
    let mut found = ids(&search(&mut memory, "zanzibar")).iter().map(ToString::to_string).collect::<Vec<_>>();
    found.sort_unstable();
    assert_eq!(found, ["session-0", "session-2099"]);
}
