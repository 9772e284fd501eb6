//! Tests which messages of an allowed person reach the journal, in which versions, and despite a full disk.

use rstest::rstest;

use super::*;
use entraclaw_inbox::gate::{ChatRule, operator, policy_file};

fn again(event: BotEvent, id: &str, words: &str) -> BotSaying {
    BotSaying { event, id: Some(id.to_owned()), ..text(words) }
}

#[tokio::test(start_paused = true)]
async fn a_message_its_edits_and_its_end_are_each_kept_once() {
    let house = House::new();
    let alice = person(ALICE);
    house
        .listening(async {
            let first = house.delivery(&alice, &text("the plan"));
            for _ in 0..2 {
                assert_eq!(house.door.bring(request(&first)).await.status, 200);
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
            let edit = house.delivery(&alice, &again(BotEvent::Update, &first.id, "the new plan"));
            for _ in 0..2 {
                assert_eq!(house.door.bring(request(&edit)).await.status, 200);
            }
            tokio::time::sleep(Duration::from_secs(60)).await;
            let end = again(BotEvent::Delete, &first.id, "");
            for _ in 0..2 {
                assert_eq!(house.bring(&alice, &end).await, 200);
            }
        })
        .await;
    let records = house.records();
    let versions: Vec<_> = records.iter().map(|record| (record.edit_of.is_some(), record.deleted)).collect();
    assert_eq!(versions, [(false, false), (true, false), (true, true)]);
    assert_eq!(records[1].content_text_sanitized, "the new plan");
    assert!(records.iter().all(|record| record.id == records[0].id));
}

#[rstest]
#[case::an_edit(BotEvent::Update, &["words"])]
#[case::a_deletion(BotEvent::Delete, &[])]
#[tokio::test(start_paused = true)]
async fn of_a_message_that_never_came_an_edit_is_new_and_a_deletion_is_nothing(
    #[case] event: BotEvent,
    #[case] kept: &[&str],
) {
    let house = House::new();
    let saying = again(event, "1796000000000", "words");
    assert_eq!(house.listening(house.bring(&person(ALICE), &saying)).await, 200);
    assert_eq!(house.texts(), kept);
    assert!(house.records().iter().all(|record| record.edit_of.is_none() && !record.deleted));
}

#[rstest]
#[case::no_rule(None, false, Some("the agent is not mentioned"))]
#[case::mentioned(None, true, None)]
#[case::all(Some(ChatRule::All), false, None)]
#[case::only_mentions(Some(ChatRule::Mentioned), false, Some("the agent is not mentioned"))]
#[case::off(Some(ChatRule::Off), true, Some("the chat is off"))]
#[case::off_and_chatter(Some(ChatRule::Off), false, Some("the chat is off"))]
#[tokio::test(start_paused = true)]
async fn in_a_group_the_chats_rule_says_what_is_heard(
    #[case] rule: Option<ChatRule>,
    #[case] mention: bool,
    #[case] refused: Option<&str>,
) {
    let house = House::new();
    operator::set_chat(&house.storage, &FakeBot::conversation_id(GROUP), rule).unwrap();
    let saying = BotSaying { mention, ..in_group("lunch at noon") };
    assert_eq!(house.listening(house.bring(&person(ALICE), &saying)).await, 200);
    assert_eq!(house.texts().len(), usize::from(refused.is_none()));
    assert_eq!(house.details("refused").len(), usize::from(refused.is_some()));
    let reasons = house.details("refused");
    assert!(
        reasons.iter().all(|reason| refused.is_some_and(|wanted| reason.contains(wanted))),
        "{reasons:?}"
    );
}

/// The rule is not known while the policy can't be read, and the channel sends what was refused only once.
#[tokio::test(start_paused = true)]
async fn chatter_of_a_group_that_was_heard_whole_comes_again_when_the_policy_is_broken() {
    let house = House::new();
    operator::set_chat(&house.storage, &FakeBot::conversation_id(GROUP), Some(ChatRule::All)).unwrap();
    house
        .listening(async {
            assert_eq!(house.bring(&person(ALICE), &in_group("one")).await, 200);
            house.storage.set_bytes(policy_file::POLICY_FILE, b"{");
            assert_eq!(house.bring(&person(ALICE), &in_group("two")).await, 503);
            let other = BotSaying { conversation: "group-other".to_owned(), ..in_group("three") };
            assert_eq!(house.bring(&person(ALICE), &other).await, 200);
        })
        .await;
    assert_eq!(house.texts(), ["one"]);
    assert_eq!(house.details("refused").len(), 1, "that of the other group");
}

#[tokio::test(start_paused = true)]
async fn with_a_full_disk_a_message_waits_and_is_kept_once() {
    let house = House::new();
    let alice = person(ALICE);
    house
        .listening(async {
            house.bring(&alice, &text("before")).await;
            house.storage.set_space_left(Some(0));
            let waiting = house.delivery(&alice, &text("while it is full"));
            for _ in 0..3 {
                assert_eq!(house.door.bring(request(&waiting)).await.status, 503);
            }
            let edit = again(BotEvent::Update, &waiting.id, "an edit");
            assert_eq!(house.bring(&alice, &edit).await, 503, "the first version may not be there");
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(house.door.bring(request(&waiting)).await.status, 503);
            house.storage.set_space_left(None);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(house.door.bring(request(&waiting)).await.status, 200);
            assert_eq!(house.bring(&alice, &edit).await, 200);
        })
        .await;
    assert_eq!(house.texts(), ["before", "while it is full", "an edit"]);
    // Also for a process that begins now.
    let storage = house.storage.new_process();
    house.storage.kill();
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let (journal, _) = Journal::open(storage, house.parts.clock.clone(), JournalOptions::default()).unwrap();
    assert_eq!(journal.read_after(0, 10).unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_a_hundred_messages_wait_for_the_disk() {
    let house = House::new();
    house
        .listening(async {
            house.bring(&person(ALICE), &text("before")).await;
            house.storage.set_space_left(Some(0));
            for n in 0..101 {
                assert_eq!(house.bring(&person(ALICE), &text(&format!("message {n}"))).await, 503);
            }
            house.storage.set_space_left(None);
            tokio::time::sleep(Duration::from_secs(2)).await;
        })
        .await;
    assert_eq!(house.texts().len(), 101, "the last one was not taken and comes again");
    assert_eq!(house.texts().last().map(String::as_str), Some("message 99"));
}

#[tokio::test(start_paused = true)]
async fn the_bot_is_remembered_where_an_allowed_person_spoke_or_added_it() {
    let house = House::new();
    let known = || house.state().conversations;
    let in_other = |event| BotSaying { conversation: "other".to_owned(), event, ..text("hello") };
    house
        .listening(async {
            assert_eq!(house.bring(&person(MALLORY), &event(BotEvent::Added)).await, 200);
            assert_eq!(known(), 0, "a stranger opens no conversation");
            assert_eq!(house.bring(&person(ALICE), &event(BotEvent::Added)).await, 200);
            assert_eq!(known(), 1);
            house.bring(&person(ALICE), &in_other(BotEvent::Message)).await;
            assert_eq!(known(), 2);
            assert_eq!(house.bring(&person(MALLORY), &event(BotEvent::Removed)).await, 200);
            assert_eq!(known(), 1, "the bot is out, whoever removed it");
        })
        .await;
    let kept = Conversations::read(&house.storage, house.journal.term()).unwrap().conversations;
    assert_eq!(kept.keys().collect::<Vec<_>>(), [&FakeBot::conversation_id("other")]);
    let [kept] = kept.into_values().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!(kept.people.into_iter().collect::<Vec<_>>(), [format!("{TENANT}/{ALICE}")]);
    assert!(kept.bot_id.starts_with("28:"));
}

#[tokio::test(start_paused = true)]
async fn who_added_the_bot_is_judged_when_the_policy_can_be_read() {
    let house = House::new();
    house.storage.set_bytes(policy_file::POLICY_FILE, b"{");
    house.parts.gate.refresh();
    assert_eq!(house.listening(house.bring(&person(MALLORY), &event(BotEvent::Added))).await, 503);
    assert_eq!(house.state().conversations, 0);
}
