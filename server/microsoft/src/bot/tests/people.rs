//! Tests who is heard, by when they wrote; who is given a code; and who answers a permission request.

use entraclaw_inbox::gate::{Person, operator};
use entraclaw_inbox::permission::{BOOK_FILE, Behavior, Book, Question, questions};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::support::graph::BOB;
use entraclaw_seams::random::SplitMix;

#[rstest]
#[case::a_stranger(json!({"aadObjectId": MALLORY}), Some("not on the allowlist"))]
#[case::the_agent_itself(json!({"aadObjectId": AGENT}), None)]
#[case::the_agents_application(json!({"id": "28:bot", "aadObjectId": AGENT}), None)]
#[case::another_bot(json!({"id": "28:other"}), Some("not a person"))]
#[case::by_its_role(json!({"role": "bot"}), Some("not a person"))]
#[case::without_an_id(json!({"aadObjectId": null}), Some("object id"))]
#[tokio::test(start_paused = true)]
async fn another_author_is_not_heard(#[case] members: Value, #[case] refused: Option<&str>) {
    let house = House::new();
    let change = |activity: &mut Value| {
        activity["from"].as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    };
    let status = house.listening(house.bring_changed(&text("hello"), change)).await;
    assert_eq!(status, 200, "the channel is not told who may speak");
    assert_eq!(house.texts(), Vec::<String>::new());
    assert_eq!(house.state().conversations, 0);
    let reasons = house.details("refused");
    assert_eq!(reasons.len(), usize::from(refused.is_some()), "{reasons:?}");
    assert!(
        reasons.iter().all(|reason| refused.is_some_and(|wanted| reason.contains(wanted))),
        "{reasons:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_who_wrote_where_and_nothing_of_what() {
    let house = House::new();
    let delivery = house.delivery(&person(MALLORY), &text("a secret word"));
    house.listening(house.door.bring(request(&delivery))).await;
    let lines = house.interactions();
    let line = lines.iter().find(|line| line["kind"] == "refused").unwrap();
    assert_eq!(line["who"], format!("{TENANT}/{MALLORY}"));
    assert_eq!((&line["chat_id"], &line["id"]), (&json!(delivery.conversation_id), &json!(delivery.id)));
    assert!(!lines.iter().any(|line| line.to_string().contains("secret word")));
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_is_told_in_two_ways_is_none() {
    let house = House::new();
    let change = |activity: &mut Value| {
        activity["channelData"]["tenant"]["id"] = json!("00000000-0000-0000-0000-000000000000");
    };
    house.listening(house.bring_changed(&text("hello"), change)).await;
    assert_eq!(house.texts(), Vec::<String>::new());
}

/// By this many minutes the clock of the channel is ahead of this machine's.
#[rstest]
#[case::equal_clocks(0)]
#[case::a_channel_that_is_ahead(7)]
#[case::a_channel_that_is_behind(-7)]
#[tokio::test(start_paused = true)]
async fn what_was_written_before_its_author_was_let_in_stays_unread(#[case] ahead_min: i64) {
    let house = House::new();
    let bob = Person::by_ids(guid(TENANT), guid(BOB));
    let stated = |at: Timestamp| (at + SignedDuration::from_mins(ahead_min)).to_string();
    let bring = async |words: &str, written: Timestamp, change: &dyn Fn(&mut Value)| {
        house
            .bring_changed(&text(words), |activity| {
                activity["from"]["aadObjectId"] = json!(BOB);
                activity["timestamp"] = json!(stated(written));
                change(activity);
            })
            .await
    };
    let as_it_is = |_: &mut Value| {};
    let now = || house.parts.clock.now();
    house
        .listening(async {
            // The channel's time is known from any activity, also from one that is refused.
            bring("refused", now(), &as_it_is).await;
            tokio::time::sleep(Duration::from_secs(60)).await;
            let early = now();
            tokio::time::sleep(Duration::from_secs(60)).await;
            operator::allow(&house.storage, &bob, None, now()).unwrap();
            tokio::time::sleep(Duration::from_secs(60)).await;
            bring("early", early, &as_it_is).await;
            bring("late", now(), &as_it_is).await;
            // An edit states its own time, and its id the time of the first writing.
            let edit_of = |first: Timestamp| {
                move |activity: &mut Value| {
                    activity["type"] = json!("messageUpdate");
                    activity["id"] =
                        json!((first + SignedDuration::from_mins(ahead_min)).as_millisecond().to_string());
                }
            };
            bring("an edit of an early one", now(), &edit_of(early)).await;
            bring("an edit of a late one", now(), &edit_of(now())).await;
        })
        .await;
    assert_eq!(house.texts(), ["late", "an edit of a late one"]);
    let before = house.details("refused").into_iter().filter(|reason| reason.contains("before its author"));
    assert_eq!(before.count(), 1, "one line for all of them");
}

/// A house whose gate gives codes to strangers.
fn pairing() -> House {
    let mut house = House::new();
    let gate = Gate::new([(guid(TENANT), guid(ALICE))]).with_policy(house.parts.storage.clone());
    let (gate, _) = gate.with_pairing(house.parts.clock.clone(), Arc::new(SplitMix::seeded(7)));
    house.parts.gate = Arc::new(gate);
    house
}

#[tokio::test(start_paused = true)]
async fn a_stranger_gets_one_code_an_hour_where_they_wrote() {
    let house = pairing();
    let mallory = person(MALLORY);
    house
        .listening(async {
            for _ in 0..2 {
                assert_eq!(house.bring(&mallory, &text("hello")).await, 200);
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        })
        .await;
    let [sent] = house.fake.with(|bot| bot.sent().to_vec()).try_into().unwrap();
    assert_eq!((sent.conversation_id, sent.reply_to), (FakeBot::conversation_id(PERSONAL), String::new()));
    assert!(sent.text.contains("read them this code: <strong>"), "{}", sent.text);
    let lines = house.interactions();
    let told = lines.iter().find(|line| line["detail"] == "is told a pairing code").unwrap();
    assert_eq!(told["who"], format!("{TENANT}/{MALLORY}"));
    let policy: Value = serde_json::from_slice(&house.storage.bytes("policy.json").unwrap()).unwrap();
    assert_eq!(policy["pending"][0]["channel"], "bot");
    // A stranger's conversation stays closed.
    assert_eq!(house.state().conversations, 0);
}

#[rstest]
#[case::a_group(BotSaying { mention: true, ..in_group("hello") }, MALLORY)]
#[case::an_edit(BotSaying { id: Some("1".to_owned()), ..event(BotEvent::Update) }, MALLORY)]
#[case::a_join(event(BotEvent::Added), MALLORY)]
#[case::an_allowed_person(text("hello"), ALICE)]
#[tokio::test(start_paused = true)]
async fn no_other_is_given_a_code(#[case] saying: BotSaying, #[case] who: &str) {
    let house = pairing();
    house
        .listening(async {
            assert_eq!(house.bring(&person(who), &saying).await, 200);
            tokio::time::sleep(Duration::from_secs(5)).await;
        })
        .await;
    assert_eq!(house.sent(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn where_the_chat_is_off_no_stranger_is_given_a_code() {
    let house = pairing();
    let off = Some(entraclaw_inbox::gate::ChatRule::Off);
    operator::set_chat(&house.storage, &FakeBot::conversation_id(PERSONAL), off).unwrap();
    house
        .listening(async {
            house.bring(&person(MALLORY), &text("hello")).await;
            tokio::time::sleep(Duration::from_secs(5)).await;
        })
        .await;
    assert_eq!(house.sent(), Vec::<String>::new());
}

/// Asks Alice in the conversation of two whether a tool may be used.
fn ask(house: &House) {
    let question = Question {
        code: "abcde".to_owned(),
        session: "s".to_owned(),
        chat_id: FakeBot::conversation_id(PERSONAL),
        tenant_id: guid(TENANT),
        object_id: guid(ALICE),
        asked_at: house.parts.clock.now(),
        answer: None,
    };
    let book = Book { v: 1, questions: vec![question] };
    house.storage.set_bytes(BOOK_FILE, &serde_json::to_vec(&book).unwrap());
}

fn answer_of(house: &House) -> Option<Behavior> {
    questions(&house.storage).questions[0].answer
}

#[rstest]
#[case::yes("yes abcde", Behavior::Allow)]
#[case::no("No ABCDE", Behavior::Deny)]
#[tokio::test(start_paused = true)]
async fn an_answer_to_a_permission_request_is_for_the_host_and_no_model(
    #[case] words: &str,
    #[case] behavior: Behavior,
) {
    let house = House::new();
    house
        .listening(async {
            ask(&house);
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(house.bring(&person(ALICE), &text(words)).await, 200);
        })
        .await;
    assert_eq!(answer_of(&house), Some(behavior));
    assert_eq!(house.texts(), Vec::<String>::new());
    let lines = house.interactions();
    let line = lines.iter().find(|line| line["kind"] == "permission").unwrap();
    assert_eq!(line["who"], format!("{TENANT}/{ALICE}"));
    assert_eq!(line["detail"], format!("answered abcde with {behavior:?}"));
}

#[rstest]
#[case::in_a_group(BotSaying { mention: true, ..in_group("yes abcde") })]
#[case::with_more_words(text("yes abcde please"))]
#[case::to_another_question(text("yes fghij"))]
#[case::with_a_quote(BotSaying { quote: Some("yes abcde".to_owned()), ..text("") })]
#[case::with_a_mention(BotSaying { mention: true, ..text("yes abcde") })]
#[tokio::test(start_paused = true)]
async fn what_only_looks_like_an_answer_is_a_message(#[case] saying: BotSaying) {
    let house = House::new();
    house
        .listening(async {
            ask(&house);
            tokio::time::sleep(Duration::from_secs(5)).await;
            assert_eq!(house.bring(&person(ALICE), &saying).await, 200);
        })
        .await;
    assert_eq!(answer_of(&house), None);
    assert_eq!(house.texts().len(), 1);
}

/// Teams repeats every formatted text as HTML beside it.
#[rstest]
#[case::a_file(json!({"contentType": "image/png", "name": "a.png"}), None)]
#[case::its_own_format(json!({"contentType": "text/html", "content": "<p>yes abcde</p>"}), Some(Behavior::Allow))]
#[tokio::test(start_paused = true)]
async fn an_answer_carries_nothing_but_its_format(#[case] part: Value, #[case] behavior: Option<Behavior>) {
    let house = House::new();
    house
        .listening(async {
            ask(&house);
            tokio::time::sleep(Duration::from_secs(5)).await;
            let change = |activity: &mut Value| activity["attachments"] = json!([part]);
            assert_eq!(house.bring_changed(&text("yes abcde"), change).await, 200);
        })
        .await;
    assert_eq!(answer_of(&house), behavior);
    assert_eq!(house.texts().len(), usize::from(behavior.is_none()), "else it is a message");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_can_not_be_kept_comes_again() {
    let house = House::new();
    house
        .listening(async {
            ask(&house);
            tokio::time::sleep(Duration::from_secs(5)).await;
            let answer = house.delivery(&person(ALICE), &text("yes abcde"));
            house.storage.set_space_left(Some(0));
            assert_eq!(house.door.bring(request(&answer)).await.status, 503);
            house.storage.set_space_left(None);
            assert_eq!(house.door.bring(request(&answer)).await.status, 200);
        })
        .await;
    assert_eq!(answer_of(&house), Some(Behavior::Allow));
    assert_eq!(house.texts(), Vec::<String>::new());
}
