//! Tests which requests are believed, and what the channel is answered.

use fake_microsoft::bot::{BotFault, Forgery};
use futures_util::future::join_all;
use rstest::rstest;
use serde_json::json;

use super::*;

#[rstest]
#[case::none(Forgery::NoToken, 401, "no bearer token")]
#[case::garbage(Forgery::Garbage, 403, "the token is malformed")]
#[case::wrong_key(Forgery::WrongKey, 403, "the token's signature is wrong")]
#[case::unknown_key(Forgery::UnknownKey, 403, "the token names a key that is not published")]
#[case::unsigned(Forgery::Unsigned, 403, "the token is not signed by RS256")]
#[case::symmetric(Forgery::Symmetric, 403, "the token is not signed by RS256")]
#[case::tampered(Forgery::Tampered, 403, "the token's signature is wrong")]
#[case::wrong_audience(Forgery::WrongAudience, 403, "the token is for another bot")]
#[case::longer_audience(Forgery::LongerAudience, 403, "the token is for another bot")]
#[case::wrong_issuer(Forgery::WrongIssuer, 403, "the token has another issuer")]
#[case::expired(Forgery::Expired, 403, "the token has expired")]
#[case::endless(Forgery::Endless, 403, "the token has expired")]
#[case::not_yet(Forgery::NotYet, 403, "the token is not valid yet")]
#[case::other_service(Forgery::OtherServiceUrl, 403, "the token is for another service address")]
#[case::no_service(Forgery::NoServiceUrl, 403, "the token is for another service address")]
#[case::foreign_service(Forgery::ForeignService, 403, "the service address is not Microsoft's")]
#[case::unendorsed(Forgery::Unendorsed, 403, "the key may not speak for this channel")]
#[case::for_nothing(Forgery::EndorsedForNothing, 403, "the key may not speak for this channel")]
#[case::no_endorsements(Forgery::WithoutEndorsements, 403, "the key may not speak for this channel")]
#[case::other_channel(Forgery::OtherChannel, 403, "the key may not speak for this channel")]
#[tokio::test(start_paused = true)]
async fn a_forged_activity_leaves_nothing_but_its_reason(
    #[case] forgery: Forgery,
    #[case] status: u16,
    #[case] reason: &str,
) {
    let house = House::new();
    let saying = BotSaying { forgery: Some(forgery), ..text("hello") };
    let delivery = house.delivery(&person(ALICE), &saying);
    let reply = house.listening(house.door.bring(request(&delivery))).await;
    assert_eq!(reply.status, status);
    assert_eq!(reply.header, (status == 401).then_some(("www-authenticate", "Bearer")));
    assert_eq!(house.texts(), Vec::<String>::new());
    assert_eq!(house.details("refused"), [reason]);
    assert_eq!(house.state().conversations, 0);
    assert_eq!(house.state().answered_at, None, "no activity of the channel has come");
}

#[tokio::test(start_paused = true)]
async fn a_token_may_have_ended_within_the_permitted_difference_of_clocks() {
    let house = House::new();
    let saying = BotSaying { forgery: Some(Forgery::JustExpired), ..text("hello") };
    assert_eq!(house.listening(house.bring(&person(ALICE), &saying)).await, 200);
    assert_eq!(house.texts(), ["hello"]);
    let state = house.state();
    assert_eq!((state.asked_at, state.answered_at), (state.answered_at, state.asked_at));
    assert!(state.answered_at.is_some());
}

#[rstest]
#[case::another_path(|r: &mut BotRequest| r.path = "/api/message".to_owned(), 404, None)]
#[case::another_verb(|r: &mut BotRequest| r.method = "GET".to_owned(), 405, Some(("allow", "POST")))]
#[case::too_large(|r: &mut BotRequest| r.oversized = true, 413, None)]
#[case::one_byte_too_large(|r: &mut BotRequest| r.body.resize(BOT_BODY_BYTES_MAX + 1, b' '), 413, None)]
#[case::as_large_as_may_be(|r: &mut BotRequest| r.body.resize(BOT_BODY_BYTES_MAX, b' '), 200, None)]
#[case::plain_text(|r: &mut BotRequest| kind(r, "text/plain"), 415, None)]
#[case::no_kind(|r: &mut BotRequest| r.headers.retain(|(name, _)| name != "content-type"), 415, None)]
#[case::another_spelling(|r: &mut BotRequest| kind(r, " Application/JSON ;charset=utf-8"), 200, None)]
#[case::no_json(|r: &mut BotRequest| r.body = b"{\"type\":".to_vec(), 400, None)]
#[case::as_it_comes(|_: &mut BotRequest| {}, 200, None)]
#[tokio::test(start_paused = true)]
async fn a_request_has_the_form_of_an_activity(
    #[case] change: fn(&mut BotRequest),
    #[case] status: u16,
    #[case] header: Option<(&'static str, &'static str)>,
) {
    let house = House::new();
    let mut request = request(&house.delivery(&person(ALICE), &text("hello")));
    change(&mut request);
    let reply = house.listening(house.door.bring(request)).await;
    assert_eq!(reply, BotReply { status, header });
    assert_eq!(house.texts().len(), usize::from(status == 200));
}

fn kind(request: &mut BotRequest, kind: &str) {
    request.headers.retain(|(name, _)| name != "content-type");
    request.headers.push(("content-type".to_owned(), kind.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_stranger_learns_nothing_of_a_body_that_is_too_large() {
    let house = House::new();
    let saying = BotSaying { forgery: Some(Forgery::NoToken), ..text("hello") };
    let mut request = request(&house.delivery(&person(ALICE), &saying));
    request.oversized = true;
    assert_eq!(house.listening(house.door.bring(request)).await.status, 401);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_forgeries_writes_one_line_in_ten_minutes() {
    let house = House::new();
    let forged = BotSaying { forgery: Some(Forgery::NoToken), ..text("hello") };
    let other = BotSaying { forgery: Some(Forgery::Garbage), ..text("hello") };
    house
        .listening(async {
            for _ in 0..3 {
                house.bring(&person(ALICE), &forged).await;
            }
            house.bring(&person(ALICE), &other).await;
            assert_eq!(house.details("refused"), ["no bearer token", "the token is malformed"]);
            tokio::time::sleep(Duration::from_secs(599)).await;
            house.bring(&person(ALICE), &forged).await;
            assert_eq!(house.details("refused").len(), 2);
            tokio::time::sleep(Duration::from_secs(1)).await;
            house.bring(&person(ALICE), &forged).await;
            house.bring(&person(ALICE), &forged).await;
        })
        .await;
    let [_, _, last] = house.details("refused").try_into().unwrap();
    assert_eq!(last, "no bearer token (and 3 times before)");
    assert!(house.interactions().iter().all(|line| line["channel"] == "bot" || line["kind"] != "refused"));
}

#[tokio::test(start_paused = true)]
async fn without_the_channels_keys_it_is_asked_to_come_again() {
    let house = House::new();
    house.fake.with(|bot| bot.add_fault(BotFault::KeysDown));
    let delivery = house.delivery(&person(ALICE), &text("hello"));
    house
        .listening(async {
            let reply = house.door.bring(request(&delivery)).await;
            assert_eq!(reply, BotReply { status: 503, header: Some(("retry-after", "5")) });
            let state = house.state();
            assert_eq!(state.failures, 1);
            let error = state.error.unwrap();
            assert!(error.starts_with("the keys that the channel signs with can't be fetched: "), "{error}");
            tokio::time::sleep(Duration::from_secs(10)).await;
            assert_eq!(house.door.bring(request(&delivery)).await.status, 200);
            let state = house.state();
            assert_eq!((state.failures, state.error), (0, None));
        })
        .await;
    assert_eq!(house.texts(), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn a_key_that_may_be_newer_than_the_last_answer_is_not_refused_for_good() {
    let house = House::new();
    house
        .listening(async {
            house.bring(&person(ALICE), &text("one")).await;
            house.fake.with(FakeBot::change_keys);
            let delivery = house.delivery(&person(ALICE), &text("two"));
            let reply = house.door.bring(request(&delivery)).await;
            assert_eq!(reply, BotReply { status: 503, header: Some(("retry-after", "5")) });
            assert_eq!(house.details("refused"), ["the token names a key that is not published"]);
            tokio::time::sleep(Duration::from_secs(300)).await;
            assert_eq!(house.door.bring(request(&delivery)).await.status, 200);
        })
        .await;
    assert_eq!(house.texts(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn one_more_than_thirty_two_at_once_comes_again() {
    let house = House::new();
    let slow = |seen: &Seen| {
        seen.request.url.ends_with("/keys").then(|| Reply::error(500, "x").after(Duration::from_secs(3)))
    };
    house.fault(slow);
    let all = (0..33).map(|n| house.delivery(&person(ALICE), &text(&format!("message {n}"))));
    let all: Vec<BotDelivery> = all.collect();
    let started = tokio::time::Instant::now();
    house
        .listening(async {
            let replies = join_all(all.iter().map(async |delivery| {
                let reply = house.door.bring(request(delivery)).await;
                (reply.status, started.elapsed())
            }));
            let (refused, waited): (Vec<_>, Vec<_>) =
                replies.await.into_iter().partition(|(_, took)| *took < Duration::from_secs(1));
            assert_eq!((refused.len(), waited.len()), (1, 32));
            assert!(refused.iter().chain(&waited).all(|(status, _)| *status == 503));
            // All places are free again.
            *house.fault.lock().unwrap() = None;
            tokio::time::sleep(Duration::from_secs(10)).await;
            let again = all.iter().take(32).map(|delivery| house.door.bring(request(delivery)));
            assert!(join_all(again).await.iter().all(|reply| reply.status == 200));
        })
        .await;
    assert_eq!(house.texts().len(), 32);
}

#[rstest]
#[case::no_conversation(json!({"conversation": {"conversationType": "personal"}}), 400)]
#[case::no_recipient(json!({"recipient": {}}), 400)]
#[case::no_id(json!({"id": ""}), 400)]
#[case::an_id_with_controls(json!({"id": "1\n"}), 400)]
#[case::typing(json!({"type": "typing"}), 200)]
#[case::nothing_to_read(json!({"text": " "}), 200)]
#[case::nothing_to_read_in_an_edit_of_nothing(json!({"type": "messageUpdate", "text": ""}), 200)]
#[tokio::test(start_paused = true)]
async fn what_is_no_message_is_not_kept(#[case] members: Value, #[case] status: u16) {
    let house = House::new();
    let change = |activity: &mut Value| {
        activity.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    };
    assert_eq!(house.listening(house.bring_changed(&text("hello"), change)).await, status);
    assert_eq!(house.texts(), Vec::<String>::new());
    assert_eq!(house.state().conversations, 0);
    assert_eq!(house.details("refused"), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_broken_list_of_conversations_is_begun_anew_and_told() {
    let house = House::new();
    house.storage.set_bytes(CONVERSATIONS_FILE, b"{");
    house.listening(house.bring(&person(ALICE), &text("hello"))).await;
    let [fault] = house.details("fault").try_into().unwrap();
    assert!(fault.starts_with("sources/bot.json was broken and is begun anew: "), "{fault}");
    assert!(house.storage.bytes("sources/bot.json.broken").is_some());
    assert_eq!(house.state().conversations, 1);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_can_not_listen_says_why_and_tries_again() {
    struct Broken(Mutex<u32>);
    impl Endpoint for Broken {
        fn serve<'a>(&'a self, _: SocketAddr, reception: &'a dyn Reception) -> LocalBoxFuture<'a, io::Error> {
            let mut tries = self.0.lock().unwrap();
            *tries += 1;
            if *tries > 3 {
                reception.listening();
                return Box::pin(std::future::pending());
            }
            Box::pin(std::future::ready(io::ErrorKind::AddrInUse.into()))
        }
    }
    let mut house = House::new();
    house.parts.endpoint = Arc::new(Broken(Mutex::new(0)));
    house
        .listening(async {
            tokio::time::sleep(Duration::from_millis(1_400)).await;
            let state = house.state();
            assert_eq!(state.failures, 3);
            let error = state.error.unwrap();
            assert!(
                error.contains("can't listen at 127.0.0.1:3978") && error.contains("`bot.listen`"),
                "{error}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
            let state = house.state();
            assert_eq!((state.failures, state.error), (0, None));
        })
        .await;
}
