//! Tests that the bot answers at most once, and only where an allowed person spoke.

use entraclaw_inbox::gate::{ChatRule, Person, operator};
use fake_microsoft::bot::BotFault;
use rstest::rstest;
use serde_json::json;
use tokio::time::Instant;

use super::*;

/// A house in whose conversation of two Alice has spoken.
async fn spoken() -> House {
    let house = House::new();
    assert_eq!(house.listening(house.bring(&person(ALICE), &text("hello"))).await, 200);
    house
}

fn message(content: &str) -> Outgoing {
    Outgoing {
        conversation_id: FakeBot::conversation_id(PERSONAL),
        content: content.to_owned(),
        reply_to: String::new(),
        html: false,
    }
}

async fn send(house: &House, message: &Outgoing) -> Result<Sent, SendError> {
    house.source().connector(&house.journal).send(message).await
}

/// The requests to the connector.
fn posts(house: &House) -> Vec<Seen> {
    let seen = house.script.seen().into_iter();
    seen.filter(|seen| seen.request.url.contains("/v3/conversations/")).collect()
}

fn body(seen: &Seen) -> Value {
    serde_json::from_slice(seen.request.body.as_deref().unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_posted_as_plain_text_under_the_message_that_it_answers() {
    let house = spoken().await;
    let answer = Outgoing { reply_to: "17".to_owned(), ..message("<b>yes</b>") };
    let sent = send(&house, &answer).await.unwrap();
    assert_eq!((sent.message_id.as_str(), sent.ts), ("bot-1", house.parts.clock.now().to_string()));
    let [post] = posts(&house).try_into().unwrap();
    assert!(post.request.url.ends_with("/activities/17"), "{}", post.request.url);
    let activity = body(&post);
    assert_eq!((&activity["textFormat"], &activity["replyToId"]), (&json!("plain"), &json!("17")));
    assert_eq!(activity["conversation"]["id"], FakeBot::conversation_id(PERSONAL));
    assert!(activity["from"]["id"].as_str().unwrap().starts_with("28:"));
    assert!(post.header("authorization").unwrap().starts_with("Bearer sim-bot-token-"));
    assert_eq!(house.sent(), ["<b>yes</b>"]);
    assert_eq!(house.details("outbound"), ["about to send", "sent as bot-1"]);
}

#[tokio::test(start_paused = true)]
async fn words_of_the_servers_own_are_html_and_answer_nothing() {
    let house = spoken().await;
    let outbox = house.source().outbox(&house.journal);
    outbox.tell(&FakeBot::conversation_id(PERSONAL), "<p>may I?</p>".to_owned()).await.unwrap();
    let [post] = posts(&house).try_into().unwrap();
    assert_eq!(body(&post)["textFormat"], "xml");
    assert_eq!(body(&post).get("replyToId"), None);
}

#[rstest]
#[case::they_are_denied(|house: &House| {
    operator::deny(&house.storage, &Person::by_ids(guid(TENANT), guid(ALICE)), None).unwrap();
})]
#[case::the_chat_is_off(|house: &House| {
    operator::set_chat(&house.storage, &FakeBot::conversation_id(PERSONAL), Some(ChatRule::Off)).unwrap();
})]
#[tokio::test(start_paused = true)]
async fn nothing_is_sent_where_no_allowed_person_is_heard_now(#[case] change: fn(&House)) {
    let house = spoken().await;
    change(&house);
    assert!(matches!(send(&house, &message("x")).await, Err(SendError::NotAllowed)));
    assert!(posts(&house).is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_where_the_people_who_spoke_have_left() {
    let house = spoken().await;
    house.listening(house.bring(&person(ALICE), &event(BotEvent::Left))).await;
    assert!(matches!(send(&house, &message("x")).await, Err(SendError::NotAllowed)));
    // They may come back.
    house.listening(house.bring(&person(ALICE), &text("hello again"))).await;
    assert!(send(&house, &message("x")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_where_nobody_spoke() {
    let house = spoken().await;
    let other = Outgoing { conversation_id: FakeBot::conversation_id("other"), ..message("x") };
    assert!(matches!(send(&house, &other).await, Err(SendError::UnknownChat)));
    assert!(posts(&house).is_empty());
    let [detail] = house.details("outbound").try_into().unwrap();
    assert_eq!(detail, "not sent, or not known to be: no chat with this id");
}

#[tokio::test(start_paused = true)]
async fn a_list_of_conversations_that_can_not_be_read_opens_none() {
    let house = spoken().await;
    let path = house.storage.paths().into_iter().find(|path| path.ends_with("bot.json")).unwrap();
    house.storage.set_bytes(&path, b"{");
    let Err(SendError::Refused(why)) = send(&house, &message("x")).await else { panic!("it was sent") };
    assert!(why.contains("the list of the bot's conversations can't be read"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn neither_secret_nor_token_leaves_in_a_text() {
    let house = spoken().await;
    let connector = house.source().connector(&house.journal);
    connector.send(&message("first")).await.unwrap();
    for secret in house.fake.with(|bot| bot.secrets()) {
        let said = connector.send(&message(&format!("look: {secret}"))).await;
        let Err(SendError::Refused(why)) = said else { panic!("{secret} was sent") };
        assert!(why.contains("secret or token") && !why.contains(&secret), "{why}");
    }
    assert_eq!(house.sent(), ["first"]);
}

#[rstest]
#[case::throttled(&[BotFault::Throttled], true, 2)]
#[case::throttled_twice(&[BotFault::Throttled, BotFault::Throttled], true, 3)]
#[case::throttled_for_long(&[BotFault::Throttled, BotFault::Throttled, BotFault::Throttled], false, 3)]
#[case::the_token_ended(&[BotFault::TokenEnded], true, 2)]
#[case::both(&[BotFault::TokenEnded, BotFault::Throttled], true, 3)]
#[case::the_next_token_ended_too(&[BotFault::TokenEnded, BotFault::TokenEnded], false, 2)]
#[case::not_reached(&[BotFault::Refused], false, 1)]
#[case::secret_wrong(&[BotFault::SecretWrong], false, 0)]
#[tokio::test(start_paused = true)]
async fn what_was_certainly_not_taken_is_sent_again_a_few_times(
    #[case] faults: &[BotFault],
    #[case] sent: bool,
    #[case] tries: usize,
) {
    let house = spoken().await;
    for fault in faults {
        house.fake.with(|bot| bot.add_fault(*fault));
    }
    let outcome = send(&house, &message("x")).await;
    assert_eq!(outcome.is_ok(), sent, "{outcome:?}");
    assert!(sent || matches!(outcome, Err(SendError::Refused(_))), "{outcome:?}");
    assert_eq!(house.sent().len(), usize::from(sent));
    assert_eq!(posts(&house).len(), tries);
}

#[rstest]
#[case::the_answer_is_lost(BotFault::LostAnswer, 1)]
#[case::the_connector_fails(BotFault::Unavailable, 0)]
#[tokio::test(start_paused = true)]
async fn what_may_have_been_taken_is_never_sent_again(#[case] fault: BotFault, #[case] taken: usize) {
    let house = spoken().await;
    house.fake.with(|bot| bot.add_fault(fault));
    let outcome = send(&house, &message("x")).await;
    assert!(matches!(outcome, Err(SendError::UnknownOutcome(_))), "{outcome:?}");
    assert_eq!((house.sent().len(), posts(&house).len()), (taken, 1));
}

fn connector(seen: &Seen) -> bool {
    seen.request.url.contains("/v3/conversations/")
}

#[rstest]
#[case::it_may_be_tried_soon(Some("10"), 10, true)]
#[case::none_is_named(None, 2, true)]
#[case::it_is_no_number(Some("soon"), 2, true)]
#[case::it_is_too_long(Some("11"), 0, false)]
#[tokio::test(start_paused = true)]
async fn a_throttled_answer_is_repeated_after_the_time_that_it_names(
    #[case] named: Option<&'static str>,
    #[case] waited_s: u64,
    #[case] sent: bool,
) {
    let house = spoken().await;
    let mut first = true;
    house.fault(move |seen| {
        let strikes = connector(seen) && std::mem::replace(&mut first, false);
        let reply = || Reply::error(429, "Throttled");
        strikes.then(|| named.map_or_else(reply, |time| reply().header("retry-after", time)))
    });
    let begun = Instant::now();
    let outcome = send(&house, &message("x")).await;
    assert_eq!(outcome.is_ok(), sent, "{outcome:?}");
    assert_eq!(begun.elapsed().as_secs(), waited_s);
}

#[rstest]
#[case::no_such_conversation(404, "no chat with this id")]
#[case::refused_with_a_reason(403, "the connector answered 403: because")]
#[case::a_redirect(302, "no answer came, it may or may not have arrived: the connector answered 302")]
#[tokio::test(start_paused = true)]
async fn what_the_connector_says_is_told(#[case] status: u16, #[case] says: &str) {
    let house = spoken().await;
    house.fault(move |seen| connector(seen).then(|| Reply::error(status, "x")));
    assert_eq!(send(&house, &message("x")).await.unwrap_err().to_string(), says);
    assert_eq!(posts(&house).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_words_names_the_status_alone() {
    let house = spoken().await;
    house.fault(|seen| connector(seen).then(|| Reply::raw(400, "no JSON")));
    assert_eq!(send(&house, &message("x")).await.unwrap_err().to_string(), "the connector answered 400");
}

/// The shortest time limit of a host for a call is a minute.
#[tokio::test(start_paused = true)]
async fn a_slow_connector_is_given_up_within_the_time_of_a_call() {
    let house = spoken().await;
    let slow = Duration::from_secs(14);
    house.fault(move |seen| {
        let throttled = connector(seen).then(|| Reply::error(429, "Throttled").header("retry-after", "10"));
        throttled.map(|reply| reply.after(slow))
    });
    let begun = Instant::now();
    let outcome = send(&house, &message("x")).await;
    assert!(
        matches!(&outcome, Err(SendError::UnknownOutcome(why)) if why == "no answer within 45 s"),
        "{outcome:?}"
    );
    assert_eq!(begun.elapsed().as_secs(), 45);
}
