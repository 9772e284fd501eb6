//! Which mails are read, which are news, and which are kept.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn removed(id: &str) -> Value {
    json!({"id": id, "@removed": {"reason": "deleted"}})
}

#[tokio::test(start_paused = true)]
async fn mails_of_several_pages_come_in_the_order_of_their_receipt() {
    let house = House::new();
    let rows: Vec<Value> = [5, 1, 4, 2, 3].map(|n| house.mini.mail(&format!("m{n}"), n, &json!({}))).into();
    house.mini.round(vec![rows[..2].to_vec(), vec![], rows[2..].to_vec()]);
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1", "m2", "m3", "m4", "m5"]);
    let first = house.mini.lines().iter().find(|line| line.contains("delta")).unwrap().clone();
    assert!(first.contains("$filter=receivedDateTime%20ge%202026-11-21T10:00:00Z"), "{first}");
    let seen = house.mini.script.seen();
    let mailbox = seen.iter().filter(|s| s.line().contains("messages")).collect::<Vec<_>>();
    assert!(mailbox.iter().all(|s| s.header("prefer").unwrap().contains("IdType=\"ImmutableId\"")));
}

#[tokio::test(start_paused = true)]
async fn what_is_old_removed_partial_or_a_repeat_is_no_news() {
    let house = House::new();
    let mini = &house.mini;
    let new = mini.mail("new", 5, &json!({}));
    let copy = mini.mail("copy", 6, &json!({"internetMessageId": "<new@contoso.com>"}));
    let gone = mini.mail("gone", 7, &json!({}));
    mini.mail("old", 0, &json!({"receivedDateTime": "2026-11-21T09:59:59Z"}));
    let old = json!({"id": "old", "isRead": "true"});
    mini.round(vec![vec![new.clone(), copy, gone, old.clone(), removed("gone"), removed("never")]]);
    mini.round(vec![]);
    house.run_s(30).await;
    mini.round(vec![vec![new, old, json!({"id": "new", "isRead": false}), json!({"nothing": 1})]]);
    house.run_s(120).await;
    assert_eq!(house.ids(), ["new"]);
    let gets =
        |id: &str| house.mini.lines().iter().filter(|l| l.contains(&format!("messages/{id}?"))).count();
    assert_eq!((gets("new"), gets("old"), gets("gone")), (1, 1, 0), "what was dealt with is not read again");
}

#[tokio::test(start_paused = true)]
async fn a_stranger_costs_no_request_and_one_line_in_the_log() {
    let house = House::new();
    let stranger =
        json!({"from": {"emailAddress": {"name": "alice@contoso.com", "address": "mallory@contoso.com"}}});
    let rows = (1..5).map(|n| house.mini.mail(&format!("m{n}"), n, &stranger)).collect();
    let spoofed =
        json!({"internetMessageHeaders": [{"name": "Authentication-Results", "value": "dmarc=fail"}]});
    let spoofed = house.mini.mail("spoofed", 9, &spoofed);
    house.mini.round(vec![rows]);
    house.run_s(30).await;
    assert!(house.mini.lines().iter().all(|line| !line.contains("/messages/m")));
    house.mini.round(vec![vec![spoofed]]);
    house.run_s(90).await;
    assert!(house.ids().is_empty());
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
    let house = House::new();
    let forged = json!({"internetMessageId": "<real@contoso.com>", "internetMessageHeaders": []});
    let forged = house.mini.mail("forged", 1, &forged);
    house.mini.round(vec![vec![forged]]);
    house.run_s(30).await;
    let real = house.mini.mail("real", 2, &json!({}));
    house.mini.round(vec![vec![real]]);
    house.run_s(90).await;
    assert_eq!(house.ids(), ["real"]);
}

#[rstest]
#[case(Reply::error(410, "resyncRequired"))]
#[case(Reply::error(400, "syncStateNotFound"))]
#[case(Reply::error(404, "SyncStateNotFound"))]
#[case(Reply::error(409, "resyncApplyDifferences"))]
#[tokio::test(start_paused = true)]
async fn a_reset_begins_a_new_series_and_repeats_nothing(#[case] reset: Reply) {
    let house = House::new();
    let first = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![first.clone()]]);
    house.run_s(30).await;
    let second = house.mini.mail("m2", 40, &json!({}));
    house.mini.round(vec![vec![second, first]]);
    let mut reset = Some(reset);
    house.mini.fault(move |line| if line.contains("$t=") { reset.take() } else { None });
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1", "m2"]);
    let questions = house.mini.lines().iter().filter(|l| l.contains("$filter")).count();
    assert_eq!((questions, house.interactions("fault").len()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn resets_without_end_are_asked_about_ever_more_rarely() {
    let house = House::new();
    house.run_s(30).await;
    house.mini.fault(|line| line.contains("delta").then(|| Reply::error(410, "resyncRequired")));
    let before = house.mini.lines().len();
    let status = house.run_s(3_600).await;
    let asked = house.mini.lines().len() - before;
    assert!(asked < 20, "{asked}");
    assert!(status.get().error.unwrap().contains("the inbox could not be read"));
}

#[tokio::test(start_paused = true)]
async fn a_refused_link_is_given_up_after_a_while() {
    let house = House::new();
    house.run_s(30).await;
    let mail = house.mini.mail("m1", 50, &json!({}));
    house.mini.round(vec![vec![mail]]);
    house.mini.fault(|line| line.contains("$t=").then(|| Reply::error(400, "BadRequest")));
    house.run_s(900).await;
    assert_eq!(house.ids(), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn a_link_to_another_host_is_not_followed() {
    let house = House::new();
    house.mini.fault(|line| {
        let link = "https://graph.microsoft.com.example.com/v1.0/me/x";
        line.contains("delta").then(|| Reply::json(200, &json!({"value": [], "@odata.deltaLink": link})))
    });
    let status = house.run_s(30).await;
    assert!(status.get().error.unwrap().contains("not followed"));
    assert!(
        house.mini.script.seen().iter().all(|s| s.request.url.starts_with("https://graph.microsoft.com/"))
    );
    // The same for a link in the file.
    house.mini.heal();
    house.run_s(30).await;
    let text = String::from_utf8(house.storage.bytes(CURSOR_FILE).unwrap()).unwrap();
    let text = text.replace("https://graph.microsoft.com/", "https://example.com/");
    house.parts.storage.replace(CURSOR_FILE, text.as_bytes()).unwrap();
    house.run_s(30).await;
    assert!(
        house.mini.script.seen().iter().all(|s| s.request.url.starts_with("https://graph.microsoft.com/"))
    );
}

#[tokio::test(start_paused = true)]
async fn one_mail_that_fails_waits_alone_also_over_a_restart() {
    let house = House::new();
    let rows = (1..4).map(|n| house.mini.mail(&format!("m{n}"), n, &json!({}))).collect();
    house.mini.round(vec![rows]);
    house.mini.fault(|line| line.contains("messages/m2?").then(|| Reply::error(500, "InternalServerError")));
    let status = house.run_s(59).await;
    assert_eq!(house.ids(), ["m1", "m3"]);
    assert_eq!(status.get().behind, 1);
    let house = house.restarted();
    house.mini.heal();
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1", "m3", "m2"]);
}

#[tokio::test(start_paused = true)]
async fn a_mail_that_was_removed_is_not_asked_for_any_more() {
    let house = House::new();
    let row = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![row]]);
    house.mini.fault(|line| line.contains("messages/m1?").then(|| Reply::error(500, "InternalServerError")));
    house.run_s(59).await;
    house.mini.round(vec![vec![removed("m1")]]);
    let asked = |house: &House| house.mini.lines().iter().filter(|l| l.contains("messages/m1?")).count();
    let before = asked(&house);
    house.mini.heal();
    let status = house.run_s(600).await;
    assert_eq!((asked(&house), status.get().behind, house.ids().len()), (before, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn mails_that_always_fail_keep_no_other_from_its_turn() {
    let house = House::new();
    let rows = (1..8).map(|n| house.mini.mail(&format!("a{n}"), n, &json!({}))).collect();
    house.mini.round(vec![rows]);
    // Six of the first seven never answer: two whole batches.
    house
        .mini
        .fault(|line| (line.contains("messages/a") && !line.contains("messages/a7?")).then(Reply::broken));
    house.run_s(600).await;
    assert_eq!(house.ids(), ["a7"]);
    let new = house.mini.mail("z1", 59, &json!({}));
    house.mini.round(vec![vec![new]]);
    house.run_s(120).await;
    assert_eq!(house.ids(), ["a7", "z1"]);
    house.mini.fault(|line| line.contains("messages/a1?").then(Reply::broken));
    house.run_s(600).await;
    assert_eq!(house.ids(), ["a7", "z1", "a2", "a3", "a4", "a5", "a6"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_read_mails_few_are_asked_for_and_the_fix_is_told() {
    let house = House::new();
    let rows = (0..50).map(|n| house.mini.mail(&format!("m{n:02}"), n, &json!({}))).collect();
    house.mini.round(vec![rows]);
    house.mini.fault(|line| line.contains("/messages/m").then(|| Reply::error(403, "ErrorAccessDenied")));
    let status = house.run_s(600).await;
    let asked = house.mini.lines().iter().filter(|line| line.contains("/messages/m")).count();
    assert!(asked <= 3 * 11, "{asked}");
    assert!(status.get().error.unwrap().contains("Mail.ReadWrite"));
    house.mini.heal();
    house.run_s(30).await;
    assert_eq!(house.ids().len(), 50);
    assert!(house.ids().is_sorted());
}

#[tokio::test(start_paused = true)]
async fn a_mail_that_never_can_be_read_is_given_up_and_said_to_be_lost() {
    let house = House::new();
    let row = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![row, json!({"id": "phantom"})]]);
    house.mini.fault(|line| line.contains("messages/m1?").then(|| Reply::raw(200, "[]")));
    house.run_s(25 * 3_600).await;
    let dropped = house.interactions("dropped");
    assert_eq!((dropped.len(), &dropped[0]["id"]), (1, &json!("m1")));
    let lines = house.mini.lines();
    let of = |id: &str| lines.iter().filter(|l| l.contains(&format!("messages/{id}?"))).count();
    assert!(of("m1") < 6_000 && (5..20).contains(&of("phantom")), "{} {}", of("m1"), of("phantom"));
}

#[tokio::test(start_paused = true)]
async fn what_the_journal_does_not_keep_does_not_move_the_position() {
    let house = House::new();
    house.run_s(30).await;
    let long = json!({"body": {"contentType": "text", "content": "a long text ".repeat(1_000)}});
    let row = house.mini.mail("m1", 35, &long);
    house.mini.round(vec![vec![row]]);
    // There is room for the position, but not for the mail.
    house.storage.set_space_left(Some(3_000));
    house.run_s(10).await;
    let house = house.restarted();
    house.storage.set_space_left(None);
    assert!(house.ids().is_empty());
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1"]);
}

#[rstest]
#[case(false)]
#[case(true)]
#[tokio::test(start_paused = true)]
async fn what_is_known_waits_for_a_page_that_fails_also_over_a_restart(#[case] dies: bool) {
    let mut house = House::new();
    let rows: Vec<Value> = [3, 1, 2].map(|n| house.mini.mail(&format!("m{n}"), n, &json!({}))).into();
    house.mini.round(rows.into_iter().map(|row| vec![row]).collect());
    house.mini.fault(|line| line.ends_with("$t=1").then(|| Reply::error(503, "ServiceUnavailable")));
    house.run_s(2).await;
    assert!(house.ids().is_empty(), "it waits for the order's sake");
    if dies {
        house = house.restarted();
    }
    house.mini.heal();
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1", "m2", "m3"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_known_does_not_wait_for_ever() {
    let house = House::new();
    let rows: Vec<Value> = [3, 1, 2].map(|n| house.mini.mail(&format!("m{n}"), n, &json!({}))).into();
    house.mini.round(rows.into_iter().map(|row| vec![row]).collect());
    house.mini.fault(|line| line.ends_with("$t=1").then(|| Reply::error(503, "ServiceUnavailable")));
    house.run_s(60).await;
    assert_eq!(house.ids(), ["m3"]);
    house.mini.heal();
    house.run_s(120).await;
    assert_eq!(house.ids(), ["m3", "m1", "m2"]);
}

#[rstest]
#[case(b"{\"v\":1,".as_slice())]
#[case(b"\xff\xfe")]
#[case(b"{\"v\":2}")]
#[case(b"[]")]
#[case(b"")]
#[tokio::test(start_paused = true)]
async fn a_broken_position_is_kept_aside_and_nothing_comes_twice(#[case] bytes: &[u8]) {
    let house = House::new();
    let first = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![first.clone()]]);
    house.run_s(30).await;
    house.parts.storage.replace(CURSOR_FILE, bytes).unwrap();
    let second = house.mini.mail("m2", 40, &json!({}));
    house.mini.round(vec![vec![first, second]]);
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1", "m2"]);
    assert_eq!(house.storage.bytes("sources/mail.json.broken").unwrap(), bytes);
}

#[tokio::test(start_paused = true)]
async fn an_old_series_is_begun_anew_and_repeats_nothing() {
    let house = House::new();
    let row = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![row.clone()]]);
    house.run_s(30).await;
    let before = house.mini.lines().iter().filter(|l| l.contains("$filter")).count();
    tokio::time::sleep(Duration::from_secs(31 * 24 * 3_600)).await;
    house.mini.round(vec![vec![row]]);
    house.run_s(30).await;
    assert_eq!(house.mini.lines().iter().filter(|l| l.contains("$filter")).count(), before + 1);
    assert_eq!(house.ids(), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn mail_is_read_even_if_the_agents_addresses_are_unknown() {
    let house = House::new();
    let row = house.mini.mail("m1", 1, &json!({}));
    house.mini.round(vec![vec![row]]);
    house.mini.fault(|line| {
        (line == "GET /v1.0/me?$select=id,mail,userPrincipalName,proxyAddresses")
            .then(|| Reply::error(403, "Forbidden"))
    });
    house.run_s(30).await;
    assert_eq!(house.ids(), ["m1"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every mail arrives exactly once, despite repeated, cut off and reset answers and killed processes.
    #[test]
    fn every_mail_comes_exactly_once(
        rounds in prop::collection::vec(
            (prop::collection::vec(0_usize..12, 0..8), 0_usize..4, 0_u8..24, prop::bool::ANY, 1_u64..20_000), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut house = House::new();
            let mut told = std::collections::BTreeSet::new();
            for (mails, cuts, fault, dies, runs_ms) in rounds {
                let mut rows: Vec<Vec<Value>> = vec![Vec::new(); cuts + 1];
                for (at, n) in mails.iter().enumerate() {
                    let second = u32::try_from(*n).unwrap();
                    rows[at % (cuts + 1)].push(house.mini.mail(&format!("m{n:02}"), second, &json!({})));
                    told.insert(format!("m{n:02}"));
                }
                house.mini.round(rows);
                let mut countdown = fault / 3;
                house.mini.fault(move |line| {
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
                house.mini.heal();
                house.run_s(200).await;
            }
            let mut ids = house.ids();
            ids.sort();
            prop_assert_eq!(ids, told.into_iter().collect::<Vec<_>>());
            Ok(())
        })?;
    }
}
