//! Tests of the gate with a policy file that changes while it runs.

use super::*;
use crate::gate::policy_file::BROKEN_POLICY_FILE;
use crate::gate::{Reason, SenderKind, operator};
use crate::journal::JournalOptions;
use crate::record::Channel;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{Fault, MemoryStorage};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "bbbbbbbb-0000-0000-0000-00000000000a";
const BOB: &str = "bbbbbbbb-0000-0000-0000-00000000000b";

#[derive(Debug)]
struct StoppedClock;

impl Clock for StoppedClock {
    fn now(&self) -> Timestamp {
        now()
    }
}

fn now() -> Timestamp {
    "2026-11-21T10:00:00Z".parse().unwrap()
}

fn person(object: &str) -> Person {
    Person::parse(&format!("{TENANT}/{object}")).unwrap()
}

fn verdict(gate: &Gate, object: &str) -> Verdict {
    let sender = Sender { tenant_id: Some(TENANT), object_id: Some(object), kind: SenderKind::Person };
    gate.decide(&sender, &Agent::default())
}

/// A gate whose configuration lets Alice in.
fn gate(storage: &MemoryStorage) -> Gate {
    Gate::for_people(vec![person(ALICE)]).with_policy(Arc::new(storage.clone()))
}

#[test]
fn changes_are_noticed_at_the_next_look_and_looking_costs_one_call() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    assert_eq!(gate.refresh(), None);
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    assert_eq!(verdict(&gate, BOB), Verdict::Refuse(Reason::NotListed));
    let before = gate.generation();
    assert_eq!(gate.refresh(), Some(PolicyNews::Changed { allowed: 1, denied: 0 }));
    assert_eq!((verdict(&gate, BOB), gate.generation() > before), (Verdict::Accept, true));
    let calls = storage.calls();
    assert_eq!(gate.refresh(), None);
    assert_eq!(storage.calls() - calls, 1);
    operator::deny(&storage, &person(ALICE), None).unwrap();
    gate.refresh();
    assert_eq!(verdict(&gate, ALICE), Verdict::Refuse(Reason::Denied), "denied wins over the configuration");
}

#[test]
fn a_broken_file_lets_no_person_in_and_keeps_denied_people_out() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    operator::set_chat(&storage, "loud", Some(ChatRule::All)).unwrap();
    operator::set_chat(&storage, "off", Some(ChatRule::Off)).unwrap();
    gate.refresh();
    storage.set_bytes(POLICY_FILE, b"{\"v\":1,");
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(why)) if why.contains("allow")));
    assert_eq!(verdict(&gate, BOB), Verdict::Later, "neither heard nor refused");
    assert_eq!(verdict(&gate, ALICE), Verdict::Accept, "the configuration still counts");
    assert_eq!((gate.chat_rule("loud"), gate.chat_rule("off")), (None, Some(ChatRule::Off)));
    assert!(gate.was_heard_whole("loud") && !gate.was_heard_whole("off"));
    assert!(storage.bytes(BROKEN_POLICY_FILE).is_none(), "an editor may still be writing");
    storage.set_bytes(POLICY_FILE, b"{\"v\":1,\"allow\"");
    gate.refresh();
    assert!(storage.bytes(BROKEN_POLICY_FILE).is_none(), "broken in another way, it is still being written");
    assert_eq!(gate.refresh(), None, "told once");
    assert!(storage.bytes(BROKEN_POLICY_FILE).is_some() && storage.bytes(POLICY_FILE).is_none());
    assert_eq!(gate.refresh(), None);
    assert!(gate.trouble().is_some(), "that it is gone repairs nothing");
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    assert!(gate.refresh().is_some());
    assert_eq!((verdict(&gate, BOB), gate.trouble()), (Verdict::Accept, None));
    assert!(!gate.was_heard_whole("loud"), "the new file says nothing of it");
}

#[test]
fn a_file_that_is_gone_for_a_moment_makes_the_gate_wait() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    gate.refresh();
    let (bytes, generation) = (storage.bytes(POLICY_FILE).unwrap(), gate.generation());
    storage.remove(POLICY_FILE).unwrap();
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(why)) if why.contains("gone")));
    assert_eq!((verdict(&gate, BOB), gate.is_settled()), (Verdict::Later, false));
    storage.set_bytes(POLICY_FILE, &bytes);
    gate.refresh();
    assert_eq!((verdict(&gate, BOB), gate.trouble()), (Verdict::Accept, None));
    assert!(gate.generation() > generation + 1);
    storage.remove(POLICY_FILE).unwrap();
    gate.refresh();
    gate.refresh();
    assert_eq!((verdict(&gate, BOB), gate.is_settled()), (Verdict::Refuse(Reason::NotListed), true));
    assert_eq!(gate.trouble(), None);
}

#[test]
fn judging_twice_in_a_moment_is_no_second_look_at_a_file_that_is_gone() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    let shared: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let (journal, _) = Journal::open(shared, Arc::new(StoppedClock), JournalOptions::default()).unwrap();
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    gate.look(&journal);
    assert_eq!(verdict(&gate, BOB), Verdict::Accept);
    storage.remove(POLICY_FILE).unwrap();
    gate.look(&journal);
    gate.look(&journal);
    assert_eq!(verdict(&gate, BOB), Verdict::Later);
    gate.refresh();
    assert_eq!(verdict(&gate, BOB), Verdict::Refuse(Reason::NotListed));
}

#[test]
fn a_gate_that_looks_after_a_broken_file_was_kept_aside_waits_as_well() {
    let storage = MemoryStorage::new();
    storage.set_bytes(BROKEN_POLICY_FILE, b"{\"v\":1,");
    let gate = gate(&storage);
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(why)) if why.contains("policy.json.broken")));
    assert_eq!((verdict(&gate, BOB), verdict(&gate, ALICE)), (Verdict::Later, Verdict::Accept));
    assert_eq!(gate.refresh(), None);
    operator::allow(&storage, &person(BOB), None, now()).unwrap();
    gate.refresh();
    assert_eq!((verdict(&gate, BOB), gate.trouble()), (Verdict::Accept, None));
}

#[test]
fn a_disk_that_fails_once_leaves_nothing_open_for_longer() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    gate.refresh();
    storage.fail_call(0, Fault::Error(std::io::ErrorKind::Other));
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(_))));
    assert_eq!(verdict(&gate, BOB), Verdict::Later);
    let before = gate.generation();
    assert_eq!(gate.refresh(), None);
    assert_eq!((verdict(&gate, BOB), gate.trouble()), (Verdict::Refuse(Reason::NotListed), None));
    assert!(gate.generation() > before, "what was left open is judged again");
}

#[test]
fn a_file_that_was_half_written_is_read_when_it_is_whole() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    storage.set_bytes(POLICY_FILE, b"{\"v\":1,");
    gate.refresh();
    let whole = format!("{{\"v\":1,\"deny\":[{{\"tenant_id\":\"{TENANT}\",\"object_id\":\"{ALICE}\"}}]}}");
    storage.set_bytes(POLICY_FILE, whole.as_bytes());
    assert_eq!(gate.refresh(), Some(PolicyNews::Changed { allowed: 0, denied: 1 }));
    assert_eq!(verdict(&gate, ALICE), Verdict::Refuse(Reason::Denied));
    assert!(storage.bytes(BROKEN_POLICY_FILE).is_none());
}

#[test]
fn denials_outlive_a_broken_file_and_a_disk_that_fails() {
    let storage = MemoryStorage::new();
    let gate = gate(&storage);
    operator::deny(&storage, &person(ALICE), None).unwrap();
    gate.refresh();
    storage.fail_call(0, Fault::Error(std::io::ErrorKind::Other));
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(_))));
    assert_eq!(verdict(&gate, ALICE), Verdict::Refuse(Reason::Denied));
    for _ in 0..3 {
        storage.set_bytes(POLICY_FILE, b"nonsense");
        gate.refresh();
        gate.refresh();
        assert_eq!(verdict(&gate, ALICE), Verdict::Refuse(Reason::Denied));
    }
}

#[test]
fn a_file_of_a_newer_version_is_left_alone_and_lets_no_person_in() {
    let storage = MemoryStorage::new();
    storage.set_bytes(POLICY_FILE, b"{\"v\":9}");
    let gate = gate(&storage);
    assert!(matches!(gate.refresh(), Some(PolicyNews::Closed(why)) if why.contains("version 9")));
    assert_eq!(gate.refresh(), None);
    assert!(storage.bytes(POLICY_FILE).is_some());
}

#[test]
fn sponsors_are_let_in_while_they_are_known() {
    let gate = Gate::new([]);
    let bob = person(BOB).ids().unwrap();
    gate.set_sponsors(None, Some("no answer".to_owned()));
    assert_eq!(gate.sponsors_trouble(), Some(("no answer".to_owned(), false)));
    let before = gate.generation();
    assert_eq!((verdict(&gate, BOB), gate.is_closed()), (Verdict::Later, true), "neither heard nor refused");
    assert_eq!(gate.sponsors_trouble(), Some(("no answer".to_owned(), true)), "and it waits");
    let elsewhere = Agent { tenant_id: Guid::parse("aaaaaaaa-0000-0000-0000-000000000009"), object_id: None };
    let sender = Sender { tenant_id: Some(TENANT), object_id: Some(BOB), kind: SenderKind::Person };
    let verdict_there = gate.decide(&sender, &elsewhere);
    assert_eq!(verdict_there, Verdict::Refuse(Reason::NotListed), "sponsors are of the agent's own tenant");
    gate.set_sponsors(Some(BTreeSet::from([bob])), None);
    assert_eq!(gate.sponsors_trouble(), None);
    assert!(gate.generation() > before);
    assert_eq!((verdict(&gate, BOB), gate.is_closed()), (Verdict::Accept, false));
    gate.set_sponsors(Some(BTreeSet::new()), None);
    assert_eq!((verdict(&gate, BOB), gate.is_closed()), (Verdict::Refuse(Reason::NotListed), true));
}

#[test]
fn strangers_are_told_a_code_where_the_operator_wants_it_only() {
    let storage = MemoryStorage::new();
    let (tenant_id, object_id) = person(BOB).ids().unwrap();
    let bob =
        Stranger { tenant_id, object_id, name: None, chat_id: "chat-b".to_owned(), channel: Channel::Teams };
    let without = gate(&storage);
    assert_eq!((without.pairs(), without.meet(&bob)), (false, None));
    let clock: Arc<dyn Clock> = Arc::new(StoppedClock);
    let (gate, mut queue) = gate(&storage).with_pairing(clock, Arc::new(SplitMix::seeded(1)));
    assert!(gate.pairs());
    let reply = gate.meet(&bob).unwrap();
    assert_eq!(queue.try_recv().unwrap(), reply);
    assert_eq!((gate.meet(&bob), gate.refresh()), (None, None), "asking changes nothing for anybody");
    assert_eq!(verdict(&gate, BOB), Verdict::Refuse(Reason::NotListed));
    operator::pair(&storage, &reply.code, now()).unwrap().outcome.unwrap();
    gate.refresh();
    assert_eq!(verdict(&gate, BOB), Verdict::Accept);
}
