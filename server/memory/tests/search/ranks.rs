//! What comes first, and what is told beside it.

use entraclaw_memory::stores::Role;

use crate::machine::{Machine, NEW, OLD, ids, search};

#[test]
fn of_two_that_say_the_same_the_newer_one_is_first() {
    let machine = Machine::new();
    machine.say("old", "user", "the port of the bot", OLD);
    machine.say("recent", "user", "the port of the bot", NEW);
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "port")), ["recent", "old"]);
    memory.flush().unwrap();
    assert_eq!(ids(&search(&mut memory, "port")), ["recent", "old"]);
}

#[test]
fn words_that_follow_each_other_as_in_the_query_are_before_the_same_apart() {
    let machine = Machine::new();
    machine.say("together", "user", "take the file lock first", OLD);
    machine.say("apart", "user", "take the lock file first", NEW);
    let mut memory = machine.open();
    assert_eq!(ids(&search(&mut memory, "file lock")), ["together", "apart"]);
    memory.flush().unwrap();
    assert_eq!(ids(&search(&mut memory, "file lock")), ["together", "apart"]);
}

#[test]
fn the_word_that_a_question_asks_for_counts_more_than_the_others() {
    let machine = Machine::new();
    machine.say("focus", "user", "the port is open", OLD);
    machine.say("other", "user", "the exporter is open", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        assert_eq!(ids(&search(&mut memory, "which port has the exporter")), ["focus", "other"]);
        assert_eq!(ids(&search(&mut memory, "port exporter")), ["other", "focus"]);
        memory.flush().unwrap();
    }
}

#[test]
fn a_verb_that_says_little_counts_less_in_a_question() {
    for verb in ["came", "happened", "use", "work"] {
        let machine = Machine::new();
        machine.say("subject", "user", "the exporter is open", OLD);
        machine.say("verb", "user", &format!("this is what they {verb}"), NEW);
        let mut memory = machine.open();
        for _ in 0..2 {
            assert_eq!(ids(&search(&mut memory, &format!("why did the exporter {verb}"))), ["subject"]);
            assert_eq!(ids(&search(&mut memory, &format!("exporter {verb}"))), ["verb", "subject"]);
            memory.flush().unwrap();
        }
    }
}

#[test]
fn a_phrase_must_stand_together() {
    let machine = Machine::new();
    machine.say("apart", "user", "the lock of the file, and one file more", NEW);
    machine.say("together", "user", "take the File Lock first", OLD);
    let mut memory = machine.open();
    assert_eq!(search(&mut memory, "file lock").sessions.len(), 2);
    let answer = search(&mut memory, "\"file lock\"");
    assert_eq!((ids(&answer), answer.total), (vec!["together"], 1));
}

#[test]
fn a_phrase_is_found_behind_many_newer_messages_that_have_its_words_apart() {
    let machine = Machine::new();
    machine.say("one", "user", "take the file lock first", OLD);
    // More than half of the bytes that are read for a phrase, and not all of them.
    let apart = "the lock of the file, and more of it. ".repeat(500);
    for _ in 0..14 {
        machine.say("one", "user", &apart, NEW);
    }
    assert_eq!(search(&mut machine.open(), "\"file lock\"").total, 1);
}

#[test]
fn a_typing_error_is_forgiven_where_the_word_is_not_found() {
    let machine = Machine::new();
    machine.say("exact", "user", "the kubernetes cluster of the team", OLD);
    machine.say("other", "user", "name the colours of the rainbow", OLD);
    let mut memory = machine.open();
    for _ in 0..2 {
        assert_eq!(ids(&search(&mut memory, "kuberentes")), ["exact"]);
        assert_eq!(ids(&search(&mut memory, "kubernets clustr")), ["exact"]);
        // A short word and a number are taken as they are.
        assert!(search(&mut memory, "tem").sessions.is_empty());
        memory.flush().unwrap();
    }
    // Who writes it right is first.
    machine.say("wrong", "user", "the kuberentes cluster", NEW);
    let answer = search(&mut memory, "kuberentes");
    assert_eq!(ids(&answer), ["wrong", "exact"]);
    assert!(answer.sessions[0].snippets[0].text.contains("kuberentes"));
}

#[test]
fn other_forms_of_a_word_are_found_after_the_word_itself() {
    let machine = Machine::new();
    machine.say("form", "user", "we are caching the files", NEW);
    machine.say("itself", "user", "we cache the files", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        assert_eq!(ids(&search(&mut memory, "cache")), ["itself", "form"]);
        assert_eq!(ids(&search(&mut memory, "caching")), ["form", "itself"]);
        memory.flush().unwrap();
    }
}

#[test]
fn a_title_is_searched_too_and_shown_where_it_alone_answers() {
    let machine = Machine::new();
    machine.say("titled", "user", "name the colours", OLD);
    machine.raw("titled", r#"{"type":"ai-title","aiTitle":"Choosing a palette for zanzibar"}"#);
    machine.say("said", "user", "the palette is blue", OLD);
    let mut memory = machine.open();
    for _ in 0..2 {
        let answer = search(&mut memory, "zanzibar");
        assert_eq!(ids(&answer), ["titled"]);
        assert_eq!(answer.sessions[0].snippets[0].text, "Choosing a palette for zanzibar");
        assert_eq!(ids(&search(&mut memory, "palette")).len(), 2);
        memory.flush().unwrap();
    }
}

#[test]
fn what_was_taken_back_later_in_the_session_is_told() {
    let machine = Machine::new();
    machine.say("one", "user", "Which cache do we take for the sessions?", OLD);
    machine.say("one", "assistant", "We take Redis as the cache of the sessions.", OLD);
    machine.say("one", "user", "Name the colours of the rainbow.", OLD);
    machine.say("one", "user", "Scratch that. We drop Redis and keep the sessions in one file.", NEW);
    machine.say("two", "user", "Redis is the cache. Use tabs.", OLD);
    machine.say("two", "user", "Tabs are bad, I changed my mind about tabs.", NEW);
    let mut memory = machine.open();
    for _ in 0..2 {
        let answer = search(&mut memory, "redis cache");
        let of = |id: &str| answer.sessions.iter().find(|found| found.session.id == id).unwrap();
        let later = of("one").superseded.as_ref().expect("it was taken back");
        assert!(later.text.starts_with("Scratch that. We drop Redis"), "{later:?}");
        assert_eq!((later.role, later.at), (Role::User, Some(NEW.parse().unwrap())));
        // It speaks of something else.
        assert_eq!(of("two").superseded, None);
        // What took it back is not taken back itself.
        assert_eq!(search(&mut memory, "\"drop redis\"").sessions[0].superseded, None);
        memory.flush().unwrap();
    }
}

#[test]
fn what_is_said_in_other_words_counts_the_sessions_that_it_finds() {
    let machine = Machine::new();
    for n in 0..30 {
        machine.say(&format!("s{n:02}"), "user", "we talk of the weather", OLD);
    }
    machine.say("redis", "user", "why did we drop redis", OLD);
    let mut memory = machine.open();
    // The common words alone are no answer beside a rare one.
    let answer = search(&mut memory, "did we drop redis");
    assert_eq!((ids(&answer), answer.total), (vec!["redis"], 1));
    let answer = search(&mut memory, "weather");
    assert_eq!((answer.sessions.len(), answer.total), (10, 30));
}
