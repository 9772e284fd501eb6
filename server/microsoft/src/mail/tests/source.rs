//! Which mails are read, which are news, and which are kept.

use fake_microsoft::graph::{DeltaLoss, RawOverride};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// Whether a line asks for a page behind a link of the delta.
fn is_behind_a_link(line: &str) -> bool {
    line.contains("/delta?") && line.contains("token=")
}

fn count(house: &House, part: &str) -> usize {
    house.mailbox.lines().iter().filter(|line| line.contains(part)).count()
}

#[tokio::test(start_paused = true)]
async fn mails_of_several_pages_come_in_the_order_of_their_receipt() {
    let house =
        House::with(&MailboxSpec { page_items_max: Some(2), empty_pages: 1, ..MailboxSpec::default() }).await;
    for n in [5, 1, 4, 2, 3] {
        house.mailbox.mail(&format!("m{n}"), n, MailSpec::default()).await;
    }
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1", "m2", "m3", "m4", "m5"]);
    let lines = house.mailbox.lines();
    assert_eq!(lines.iter().filter(|line| line.contains("skiptoken=")).count(), 3, "{lines:?}");
    let first = lines.iter().find(|line| line.contains("delta")).unwrap();
    assert!(first.contains("$filter=receivedDateTime%20ge%202026-11-21T10:00:00Z"), "{first}");
    let seen = house.mailbox.graph.script.seen();
    let mailbox = seen.iter().filter(|s| s.line().contains("messages")).collect::<Vec<_>>();
    assert!(mailbox.iter().all(|s| s.header("prefer").unwrap().contains("IdType=\"ImmutableId\"")));
}

#[tokio::test(start_paused = true)]
async fn more_mails_than_are_held_at_a_time_come_in_the_order_of_their_receipt() {
    let house = House::new().await;
    let names: Vec<String> = (0..1_200).map(|n| format!("m{n:04}")).collect();
    for (name, second) in names.iter().zip(1..) {
        house.mailbox.mail(name, second, MailSpec::default()).await;
    }
    house.run_s(600).await;
    assert_eq!(house.news(), names);
}

#[tokio::test(start_paused = true)]
async fn many_mails_do_not_wait_for_ever_for_a_page_that_fails() {
    let house = House::new().await;
    let names: Vec<String> = (0..1_200).map(|n| format!("m{n:04}")).collect();
    for (name, second) in names.iter().zip(1..) {
        house.mailbox.mail(name, second, MailSpec::default()).await;
    }
    let mut pages = 0;
    house.mailbox.fault(move |line| {
        if line.contains("/delta") {
            pages = if line.contains("skiptoken=") { pages + 1 } else { 0 };
        }
        (pages > 21 && line.contains("/delta")).then(|| Reply::error(503, "ServiceUnavailable"))
    });
    house.run_s(900).await;
    assert!(house.news().len() > 1_000, "{}", house.news().len());
    house.mailbox.heal();
    house.run_s(900).await;
    let mut news = house.news();
    news.sort();
    assert_eq!(news, names);
}

#[tokio::test(start_paused = true)]
async fn what_is_old_removed_partial_or_a_repeat_is_no_news() {
    let house = House::new().await;
    let mailbox = &house.mailbox;
    let copy = MailSpec { internet_id: Some("<new@contoso.com>".to_owned()), ..MailSpec::default() };
    mailbox.mail("new", 5, MailSpec::default()).await;
    mailbox.mail("copy", 6, copy).await;
    mailbox.mail("gone", 7, MailSpec::default()).await;
    mailbox.mail("old", -1, MailSpec::default()).await;
    mailbox.mail("older", -2, MailSpec::default()).await;
    let gone = mailbox.row("gone");
    mailbox.remove("gone");
    let old = json!({"id": mailbox.id("old"), "isRead": "true"});
    let never = json!({"id": "never", "@removed": {"reason": "deleted"}});
    mailbox.also_tell(vec![gone, old.clone(), mailbox.row("older"), never]);
    house.run_s(30).await;
    mailbox.graph.with(|fake, now| fake.mark_mail(now, "new", false).unwrap());
    mailbox.also_tell(vec![mailbox.row("new"), old, json!({"nothing": 1})]);
    house.run_s(120).await;
    assert_eq!(house.news(), ["new"]);
    let gets = |handle: &str| count(&house, &format!("messages/{handle}?"));
    assert_eq!((gets("new"), gets("old"), gets("gone")), (1, 1, 0), "what was dealt with is not read again");
    assert_eq!(gets("older"), 0, "its row tells that it is old");
}

#[tokio::test(start_paused = true)]
async fn a_stranger_costs_no_request_and_one_line_in_the_log() {
    let house = House::new().await;
    for n in 1..5 {
        let stranger = MailSpec { name: Some("alice@contoso.com".to_owned()), ..MailSpec::default() };
        house.mailbox.mail_of("mallory", &format!("m{n}"), n, stranger).await;
    }
    house.run_s(30).await;
    assert!(house.mailbox.lines().iter().all(|line| !line.contains("/messages/m")));
    let spoofed = MailSpec { auth: MailAuth::Fail, ..MailSpec::default() };
    house.mailbox.mail("spoofed", 9, spoofed).await;
    house.run_s(90).await;
    assert!(house.news().is_empty());
    let refused = house.interactions("refused");
    assert_eq!(refused.len(), 2);
    assert_eq!(
        (&refused[0]["who"], &refused[0]["detail"]),
        (&json!("mallory@contoso.com"), &json!("not on the allowlist"))
    );
    assert!(refused[1]["detail"].as_str().unwrap().contains("authentication of the sender failed"));
    assert!(refused.iter().all(|line| !line.to_string().contains("text of")));
}

#[tokio::test(start_paused = true)]
async fn a_refused_copy_does_not_hide_the_real_mail() {
    let house = House::new().await;
    let forged = MailSpec {
        internet_id: Some("<real@contoso.com>".to_owned()),
        raw: Some(RawOverride::setting("/internetMessageHeaders", json!([]))),
        ..MailSpec::default()
    };
    house.mailbox.mail("forged", 1, forged).await;
    house.run_s(30).await;
    assert_eq!(house.interactions("refused").len(), 1);
    house.mailbox.mail("real", 2, MailSpec::default()).await;
    house.run_s(90).await;
    assert_eq!(house.news(), ["real"]);
}

fn refuse_one_link(house: &House, status: u16, code: &'static str) {
    let mut reset = Some(Reply::error(status, code));
    house.mailbox.fault(move |line| if is_behind_a_link(line) { reset.take() } else { None });
}

#[rstest]
#[case(|house: &House| house.mailbox.with(|fake| fake.lose_mail_delta(DeltaLoss::Gone).unwrap()))]
#[case(|house: &House| house.mailbox.with(|fake| fake.lose_mail_delta(DeltaLoss::NotFound).unwrap()))]
#[case(|house: &House| refuse_one_link(house, 404, "SyncStateNotFound"))]
#[case(|house: &House| refuse_one_link(house, 409, "resyncApplyDifferences"))]
#[tokio::test(start_paused = true)]
async fn a_reset_begins_a_new_series_and_repeats_nothing(#[case] reset: fn(&House)) {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.run_s(30).await;
    house.mailbox.mail("m2", 40, MailSpec::default()).await;
    reset(&house);
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1", "m2"]);
    assert_eq!((count(&house, "$filter"), house.interactions("fault").len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn resets_without_end_are_asked_about_ever_more_rarely() {
    let house = House::new().await;
    house.mailbox.fault(|line| line.contains("delta").then(|| Reply::error(410, "resyncRequired")));
    let before = house.mailbox.lines().len();
    let status = house.run_s(3_600).await;
    let asked = house.mailbox.lines().len() - before;
    assert!(asked < 20, "{asked}");
    assert!(status.get().error.unwrap().contains("the inbox could not be read"));
    assert_eq!(house.interactions("fault").len(), 1, "without a link there is nothing to forget");
}

#[tokio::test(start_paused = true)]
async fn a_refused_link_is_given_up_after_a_while() {
    let house = House::new().await;
    house.mailbox.mail("m1", 50, MailSpec::default()).await;
    house.mailbox.fault(|line| is_behind_a_link(line).then(|| Reply::error(400, "BadRequest")));
    house.run_s(900).await;
    assert_eq!(house.news(), ["m1"]);
}

#[rstest]
#[case::in_trouble_for_long(503, "ServiceUnavailable", 30, 1)]
#[case::forbidden_for_long(403, "ErrorAccessDenied", 5, 1)]
#[case::refused_twice(400, "BadRequest", 2, 1)]
#[case::refused_three_times(400, "BadRequest", 3, 2)]
#[case::not_found_twice(404, "ErrorItemNotFound", 2, 1)]
#[case::not_found_three_times(404, "ErrorItemNotFound", 3, 2)]
#[tokio::test(start_paused = true)]
async fn a_link_is_kept_until_graph_has_refused_it_three_times(
    #[case] status: u16,
    #[case] code: &'static str,
    #[case] times: u32,
    #[case] series: usize,
) {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    let mut left = times;
    house.mailbox.fault(move |line| {
        let fails = is_behind_a_link(line) && left > 0;
        left -= u32::from(fails);
        fails.then(|| Reply::error(status, code))
    });
    house.run_s(7_200).await;
    assert_eq!(house.news(), ["m1"]);
    assert_eq!((count(&house, "$filter"), house.interactions("fault").len()), (series, series - 1));
}

#[tokio::test(start_paused = true)]
async fn a_link_to_another_host_is_not_followed() {
    let house = House::new().await;
    house.mailbox.change_pages(|page| {
        page["@odata.deltaLink"] = json!("https://graph.microsoft.com.example.com/v1.0/me/x");
    });
    let status = house.run_s(30).await;
    assert!(status.get().error.unwrap().contains("not followed"));
    let at_home = || {
        let seen = house.mailbox.graph.script.seen();
        seen.iter().all(|s| s.request.url.starts_with("https://graph.microsoft.com/"))
    };
    assert!(at_home());
    // The same for a link in the file.
    house.mailbox.heal();
    house.run_s(30).await;
    let text = String::from_utf8(house.storage.bytes(CURSOR_FILE).unwrap()).unwrap();
    let foreign = text.replace("https://graph.microsoft.com/", "https://example.com/");
    assert_ne!(foreign, text);
    house.parts.storage.replace(CURSOR_FILE, foreign.as_bytes()).unwrap();
    house.run_s(30).await;
    assert!(at_home());
}

#[tokio::test(start_paused = true)]
async fn a_time_from_which_mails_are_read_again_is_kept_until_they_are() {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.run_s(30).await;
    let cursor = || serde_json::from_slice::<Value>(&house.storage.bytes(CURSOR_FILE).unwrap()).unwrap();
    let mut before = cursor();
    before["again_from"] = json!("2026-11-21T10:00:00Z");
    house.parts.storage.replace(CURSOR_FILE, before.to_string().as_bytes()).unwrap();
    house.run_s(30).await;
    assert_eq!(cursor().get("again_from"), None);
    assert_eq!(house.news(), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn one_mail_that_fails_waits_alone_also_over_a_restart() {
    let house = House::new().await;
    for n in 1..4 {
        house.mailbox.mail(&format!("m{n}"), n, MailSpec::default()).await;
    }
    house
        .mailbox
        .fault(|line| line.contains("messages/m2?").then(|| Reply::error(500, "InternalServerError")));
    let status = house.run_s(59).await;
    assert_eq!(house.news(), ["m1", "m3"]);
    assert_eq!(status.get().behind, 1);
    let house = house.restarted();
    house.mailbox.heal();
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1", "m3", "m2"]);
}

#[tokio::test(start_paused = true)]
async fn a_mail_that_was_removed_is_not_asked_for_any_more() {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house
        .mailbox
        .fault(|line| line.contains("messages/m1?").then(|| Reply::error(500, "InternalServerError")));
    house.run_s(59).await;
    house.mailbox.remove("m1");
    let before = count(&house, "messages/m1?");
    assert!(before > 0);
    house.mailbox.heal();
    let status = house.run_s(600).await;
    assert_eq!((count(&house, "messages/m1?"), status.get().behind, house.news().len()), (before, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn mails_that_always_fail_keep_no_other_from_its_turn() {
    let house = House::new().await;
    let mut names: Vec<String> = (1..8).map(|n| format!("a{n}")).collect();
    for (name, second) in names.iter().zip(1..) {
        house.mailbox.mail(name, second, MailSpec::default()).await;
    }
    // Mails are read in the order of their ids. The first six never answer: two whole batches.
    let in_turn = |name: &String| house.mailbox.id(name);
    let last = names.iter().max_by_key(|name| in_turn(name)).unwrap().clone();
    let first = names.iter().min_by_key(|name| in_turn(name)).unwrap().clone();
    let answers = format!("messages/{last}?");
    house
        .mailbox
        .fault(move |line| (line.contains("messages/a") && !line.contains(&answers)).then(Reply::broken));
    house.run_s(600).await;
    assert_eq!(house.news(), [last.as_str()]);
    house.mailbox.mail("z1", 59, MailSpec::default()).await;
    house.run_s(120).await;
    assert_eq!(house.news(), [last.as_str(), "z1"]);
    let broken = format!("messages/{first}?");
    house.mailbox.fault(move |line| line.contains(&broken).then(Reply::broken));
    house.run_s(600).await;
    names.retain(|name| ![&first, &last].contains(&name));
    assert_eq!(house.news(), [vec![last, "z1".to_owned()], names].concat());
}

#[tokio::test(start_paused = true)]
async fn more_mails_that_fail_than_can_be_remembered_come_by_the_old_link() {
    let house = House::new().await;
    let names: Vec<String> = (0..1_100).map(|n| format!("m{n:04}")).collect();
    for (name, second) in names.iter().zip(1..) {
        house.mailbox.mail(name, second, MailSpec::default()).await;
    }
    house.mailbox.fault(|line| line.contains("messages/m").then(|| Reply::raw(200, "[]")));
    let status = house.run_s(120).await;
    assert_eq!(status.get().behind, 1_000);
    house.mailbox.heal();
    house.run_s(900).await;
    let mut news = house.news();
    news.sort();
    assert_eq!(news, names);
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_read_mails_few_are_asked_for_and_the_fix_is_told() {
    let house = House::new().await;
    for n in 0..50 {
        house.mailbox.mail(&format!("m{n:02}"), n, MailSpec::default()).await;
    }
    house.mailbox.with(|fake| fake.set_scopes(&["User.Read", "Mail.ReadBasic"]));
    let status = house.run_s(600).await;
    let asked = count(&house, "/messages/m");
    assert!((1..=3 * 11).contains(&asked), "{asked}");
    assert!(status.get().error.unwrap().contains("check that the token has the scope Mail.ReadWrite"));
    house.mailbox.heal();
    house.run_s(30).await;
    assert_eq!(house.news().len(), 50);
    assert!(house.news().is_sorted());
}

#[tokio::test(start_paused = true)]
async fn a_mail_that_never_can_be_read_is_given_up_and_said_to_be_lost() {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.mailbox.also_tell(vec![json!({"id": "phantom"})]);
    house.mailbox.fault(|line| line.contains("messages/m1?").then(|| Reply::raw(200, "[]")));
    house.run_s(25 * 3_600).await;
    let dropped = house.interactions("dropped");
    assert_eq!((dropped.len(), &dropped[0]["id"]), (1, &json!(house.mailbox.id("m1"))));
    let of = |handle: &str| count(&house, &format!("messages/{handle}?"));
    assert!(of("m1") < 6_000 && (5..20).contains(&of("phantom")), "{} {}", of("m1"), of("phantom"));
}

#[tokio::test(start_paused = true)]
async fn what_the_journal_does_not_keep_does_not_move_the_position() {
    let house = House::new().await;
    let long = MailSpec { text: Some("a long text ".repeat(1_000)), ..MailSpec::default() };
    house.mailbox.mail("m1", 35, long).await;
    // There is room for the position, but not for the mail.
    house.storage.set_space_left(Some(3_000));
    let status = house.run_s(10).await;
    assert!(count(&house, "messages/m1?") > 0 && status.get().unsaved.is_some());
    let house = house.restarted();
    house.storage.set_space_left(None);
    assert!(house.news().is_empty());
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1"]);
}

/// A house to which each page tells one of three mails, and only the first page, with the newest mail, comes.
async fn house_of_cut_pages() -> House {
    let house = House::with(&MailboxSpec { page_items_max: Some(1), ..MailboxSpec::default() }).await;
    // The fake tells them in an order of its own.
    for n in [1, 3, 2] {
        house.mailbox.mail(&format!("m{n}"), n, MailSpec::default()).await;
    }
    house.mailbox.fault(|line| line.contains("skiptoken=").then(|| Reply::error(503, "ServiceUnavailable")));
    house
}

#[rstest]
#[case(false)]
#[case(true)]
#[tokio::test(start_paused = true)]
async fn what_is_known_waits_for_a_page_that_fails_also_over_a_restart(#[case] dies: bool) {
    let mut house = house_of_cut_pages().await;
    house.run_s(2).await;
    assert!(house.news().is_empty(), "it waits for the order's sake");
    if dies {
        house = house.restarted();
    }
    house.mailbox.heal();
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1", "m2", "m3"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_known_does_not_wait_for_ever() {
    let house = house_of_cut_pages().await;
    house.run_s(60).await;
    assert_eq!(house.news(), ["m3"]);
    house.mailbox.heal();
    house.run_s(120).await;
    assert_eq!(house.news(), ["m3", "m1", "m2"]);
}

#[rstest]
#[case(b"{\"v\":1,".as_slice())]
#[case(b"\xff\xfe")]
#[case(b"{\"v\":2}")]
#[case(b"[]")]
#[case(b"")]
#[tokio::test(start_paused = true)]
async fn a_broken_position_is_kept_aside_and_nothing_comes_twice(#[case] bytes: &[u8]) {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.run_s(30).await;
    house.parts.storage.replace(CURSOR_FILE, bytes).unwrap();
    house.mailbox.mail("m2", 40, MailSpec::default()).await;
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1", "m2"]);
    assert_eq!(house.storage.bytes("sources/mail.json.broken").unwrap(), bytes);
}

#[tokio::test(start_paused = true)]
async fn an_old_series_is_begun_anew_and_repeats_nothing() {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.run_s(30).await;
    let before = count(&house, "$filter");
    tokio::time::sleep(Duration::from_secs(31 * 24 * 3_600)).await;
    house.run_s(30).await;
    assert_eq!(count(&house, "$filter"), before + 1);
    assert_eq!(house.news(), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn mail_is_read_even_if_the_agents_addresses_are_unknown() {
    let house = House::untouched(&MailboxSpec::default());
    house.mailbox.with(|fake| fake.set_scopes(&["Mail.ReadWrite"]));
    house.run_ms(200).await;
    house.mailbox.mail("m1", 1, MailSpec::default()).await;
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1"]);
    assert_eq!(count(&house, "GET /v1.0/me?$select=id,mail,userPrincipalName,proxyAddresses"), 1);
    assert!(house.parts.known.own().is_empty());
}

proptest! {
    /// Every mail arrives exactly once, despite repeated, cut off and reset answers and killed processes.
    #[test]
    fn every_mail_comes_exactly_once(
        (page_items, empty_pages, duplicates, replays) in (1_usize..9, 0_usize..3, prop::bool::ANY, prop::bool::ANY),
        first_run_ms in 1_u64..100,
        rounds in prop::collection::vec(
            (prop::collection::vec(0_i64..12, 0..8), 0_u8..24, prop::bool::ANY, 1_u64..20_000), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let spec = MailboxSpec { page_items_max: Some(page_items), empty_pages, duplicates, replays, ..MailboxSpec::default() };
            let mut house = House::untouched(&spec);
            // The first look may end before the inbox has answered.
            house.run_ms(first_run_ms).await;
            let mut told = std::collections::BTreeSet::new();
            for (mails, fault, dies, runs_ms) in rounds {
                let mut again = Vec::new();
                for n in mails {
                    let handle = format!("m{n:02}");
                    if told.insert(handle.clone()) {
                        house.mailbox.mail(&handle, n, MailSpec::default()).await;
                    } else {
                        again.push(house.mailbox.row(&handle));
                        house.mailbox.graph.with(|fake, now| fake.mark_mail(now, &handle, true).unwrap());
                    }
                }
                house.mailbox.also_tell(again);
                let mut countdown = fault / 3;
                house.mailbox.fault(move |line| {
                    countdown = countdown.checked_sub(1)?;
                    match (fault % 3, line.contains("delta")) {
                        _ if countdown > 0 => None,
                        (0, true) => Some(Reply::error(410, "resyncRequired")),
                        (1, true) => Some(Reply::error(503, "ServiceUnavailable")),
                        (_, true) => Some(Reply::raw(200, "{\"value\": [")),
                        (_, false) => line.contains("messages/").then(Reply::broken),
                    }
                });
                // The process may end at any moment.
                house.run_ms(runs_ms).await;
                if dies {
                    house = house.restarted();
                }
                house.mailbox.fault(|_| None);
                house.run_s(200).await;
            }
            let mut news = house.news();
            news.sort();
            prop_assert_eq!(news, told.into_iter().collect::<Vec<_>>());
            Ok(())
        })?;
    }
}
