//! Tests which messages reach the journal despite failures of Graph, the disk or the process.

use super::*;
use crate::warnings::Warnings;
use entraclaw_inbox::permission::{BOOK_FILE, Behavior, Book, Question, questions};
use entraclaw_inbox::record::{Channel, Draft};

#[tokio::test(start_paused = true)]
async fn a_broken_cursor_is_kept_aside_and_nothing_is_lost_or_repeated() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "one");
    house.run_s(6).await;
    let house = house.restarted();
    house.storage.set_bytes(CURSOR_FILE, b"{\"v\":1,\"since\":");
    graph.say(DM, "two");
    house.run_s(6).await;
    assert_eq!(house.texts(), ["one", "two"]);
    assert!(house.storage.bytes("sources/teams.json.broken").is_some());
    assert!(house.interactions().iter().any(|i| i["kind"] == "fault"));
}

/// Builds a house that was stopped while a message came. When `heard`, it had got a message and then many
/// mails.
async fn away_with_a_broken_cursor(graph: &TestGraph, heard: bool, broken: &str) -> House {
    let house = House::new(graph);
    house.run_s(6).await;
    if heard {
        graph.say(DM, "before");
        house.run_s(6).await;
        let record = house.records().pop().unwrap();
        let mail = |n: u32| Draft {
            key: format!("email/{n}"),
            id: n.to_string(),
            channel: Channel::Email,
            chat_id: "email".to_owned(),
            from: record.from.clone(),
            ts: record.ts.clone(),
            content_text_sanitized: "mail".to_owned(),
            meta: record.meta.clone(),
            edit_of: None,
            deleted: false,
        };
        house.journal.append((0..600).map(mail).collect()).unwrap();
    }
    let house = house.restarted();
    if broken != CURSOR_FILE {
        // The process that kept the file aside ended before its next step.
        house.parts.storage.rename(CURSOR_FILE, broken).unwrap();
    }
    house.storage.set_bytes(broken, b"{\"v\":1,\"since\":");
    graph.say(DM, "while nobody looked");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    house
}

#[rstest]
#[case::nothing_was_heard(false, CURSOR_FILE)]
#[case::others_were_heard_since(true, CURSOR_FILE)]
#[case::the_last_process_ended_after_keeping_it_aside(false, "sources/teams.json.broken")]
#[tokio::test(start_paused = true)]
async fn a_broken_cursor_is_no_first_start(#[case] heard: bool, #[case] broken: &str) {
    let graph = TestGraph::new();
    let house = away_with_a_broken_cursor(&graph, heard, broken).await;
    house.run_s(6).await;
    let texts = house.texts().into_iter().filter(|text| text != "mail").collect::<Vec<_>>();
    let expected: &[&str] = if heard { &["before", "while nobody looked"] } else { &["while nobody looked"] };
    assert_eq!(texts, expected);
    let told = house.interactions().into_iter().find(|i| i["kind"] == "fault").unwrap();
    let tells_why = told["detail"].as_str().unwrap().contains("the journal has no message of this source");
    assert_eq!(tells_why, !heard, "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cant_be_kept_at_once_counts_later_and_is_no_message() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let question = Question {
        code: "abcde".to_owned(),
        session: "s".to_owned(),
        chat_id: DM.to_owned(),
        tenant_id: guid(TENANT),
        object_id: guid(ALICE),
        asked_at: graph.now(),
        answer: None,
    };
    let book = Book { v: 1, questions: vec![question] };
    house.storage.set_bytes(BOOK_FILE, &serde_json::to_vec(&book).unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    graph.say(DM, "yes abcde");
    graph.say(DM, "and good morning");
    let busy = house.storage.new_process().try_lock("permission.lock").unwrap().unwrap();
    house.run_s(12).await;
    assert_eq!(house.texts(), ["and good morning"]);
    let house = house.restarted();
    drop(busy);
    house.run_s(12).await;
    assert_eq!(questions(&*house.parts.storage).questions[0].answer, Some(Behavior::Allow));
    assert_eq!(house.texts(), ["and good morning"]);
}

#[tokio::test(start_paused = true)]
async fn unreadable_messages_stop_no_other() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "first");
    let raw = |set: &[(&str, Value)]| {
        let set = set.iter().map(|(pointer, value)| ((*pointer).to_owned(), value.clone())).collect();
        MessageSpec { raw: Some(RawOverride { set, remove: Vec::new() }), ..MessageSpec::text("nameless") }
    };
    graph.post(DM, "alice", &raw(&[("/messageType", json!("unknownFutureValue"))]));
    graph.post(DM, "alice", &raw(&[("/messageType", json!("systemEventMessage"))]));
    graph.post(DM, "alice", &raw(&[("/id", json!(null))]));
    graph.post(DM, "alice", &raw(&[("/from", json!(null))]));
    graph.post(
        DM,
        "alice",
        &raw(&[
            ("/from/user/displayName", json!(null)),
            ("/body/contentType", json!("strange")),
            ("/createdDateTime", json!("2026-11-2199:99")),
            ("/importance", json!("alarming")),
            ("/attachments", json!([{"contentType": "forwardedMessageReference", "content": "{broken"}])),
        ]),
    );
    graph.post(
        DM,
        "alice",
        &raw(&[("/from", json!({"application": {"id": "app", "displayName": "Alice"}}))]),
    );
    graph.say(DM, "last");
    house.run_s(6).await;
    let texts = house.texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0] == "first" && texts[1].contains("nameless") && texts[2] == "last", "{texts:?}");
}

#[rstest]
#[case::nothing("", 0)]
#[case::of_a_message("/messages", 1)]
#[case::of_a_chat("/me/chats?", 1)]
#[tokio::test(start_paused = true)]
async fn a_missing_id_is_warned_of_and_nothing_else_is(#[case] place: &'static str, #[case] warnings: usize) {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "one");
    graph.change(move |line, mut reply| {
        if !place.is_empty() && line.contains(place) {
            let answer = reply.outcome.as_mut().unwrap();
            let mut body: Value = serde_json::from_slice(&answer.body).unwrap();
            body["value"].as_array_mut().unwrap().push(json!({"id": null}));
            answer.body = body.to_string().into_bytes();
        }
        reply
    });
    let log = Warnings::default();
    let logging = tracing::subscriber::set_default(log.clone());
    house.run_s(2).await;
    drop(logging);
    assert_eq!(house.texts(), ["one"]);
    assert_eq!(log.count(), warnings);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_chat_holds_only_itself() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let mut refusals = 0;
    graph.fault(move |line| {
        if !line.contains(GROUP) || refusals >= 1 {
            return None;
        }
        refusals += 1;
        Some(Reply::error(429, "TooManyRequests").header("retry-after", "40"))
    });
    graph.say(GROUP, "held");
    graph.say(DM, "free");
    house.run_s(10).await;
    assert_eq!(house.texts(), ["free"]);
    let house = house.restarted();
    house.run_s(45).await;
    assert_eq!(house.texts(), ["free", "held"], "a restart does not forget the chat that was held");
    let asked = count(&graph.lines(), &format!("{GROUP}/messages"));
    assert_eq!(asked, 3, "refused, read, and once more for what may turn up late");
}

#[tokio::test(start_paused = true)]
async fn a_refused_order_is_replaced_by_a_whole_list() {
    let graph = TestGraph::new();
    for n in 0..120 {
        graph.say(&format!("19:{n}@thread.v2"), "old");
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    graph.fault(|line| line.contains("$orderby=lastMessagePreview").then(|| Reply::error(400, "BadRequest")));
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say("19:77@thread.v2", "new");
    house.run_s(6).await;
    assert_eq!(house.texts(), ["new"]);
    let asked = count(&graph.lines(), "$orderby=lastMessagePreview");
    assert_eq!(asked, 2, "once for each process, and not again for an hour");
}

#[tokio::test(start_paused = true)]
async fn a_refused_filter_is_replaced_by_our_own() {
    let graph = TestGraph::new();
    for n in 0..60 {
        graph.say(DM, &format!("old {n}"));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    graph.fault(|line| line.contains("$filter").then(|| Reply::error(400, "BadRequest")));
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "new");
    house.run_s(6).await;
    assert_eq!(house.texts(), ["new"]);
}

#[rstest]
#[case(|| Reply::raw(503, "<html>busy</html>"))]
#[case(|| Reply::raw(200, "{\"value\": ["))]
#[case(|| Reply::raw(200, "<html>hello</html>"))]
#[case(|| Reply::json(200, &json!({"value": "x"})))]
#[case(|| Reply::json(200, &json!([])))]
#[case(Reply::broken)]
#[case(|| Reply::json(200, &json!({"value": []})).after(Duration::from_secs(3_600)))]
#[case(|| Reply::error(418, "Teapot"))]
#[tokio::test(start_paused = true)]
async fn a_broken_answer_is_survived_wherever_it_comes(#[case] broken: fn() -> Reply) {
    for place in ["/me/chats?".to_owned(), format!("{DM}/messages")] {
        let graph = TestGraph::new();
        let house = House::new(&graph);
        house.run_s(6).await;
        graph.say(DM, "held");
        graph.say(GROUP, "free");
        let (mut left, at) = (2, place.clone());
        graph.fault(move |line| {
            let hit = line.contains(&at) && left > 0;
            left -= i32::from(hit);
            hit.then(broken)
        });
        let status = house.run_s(300).await;
        let mut texts = house.texts();
        texts.sort();
        assert_eq!(texts, ["free", "held"], "{place}");
        assert_eq!(status.get().behind, 0);
        assert!(status.get().error.is_none(), "{:?}", status.get().error);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_fails_is_reported() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    graph.fault(|_| Some(Reply::error(403, "Forbidden")));
    let state = house.run_s(6).await.get();
    let error = state.error.unwrap();
    assert!(error.contains("graph answered 403 Forbidden") && error.contains("Chat.Read"), "{error}");
    assert_eq!(state.answered_at, None);
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_fails_is_reported_and_its_filter_stays() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "held");
    let messages = format!("{DM}/messages");
    let at = messages.clone();
    graph.fault(move |line| line.contains(&at).then(|| Reply::error(403, "Forbidden")));
    let error = house.run_s(60).await.get().error.unwrap_or_default();
    assert!(error.contains(&format!("chat {DM} could not be read: graph answered 403")), "{error}");
    let lines = graph.lines();
    let (asked, filtered) = (count(&lines, &messages), count(&lines, "$filter="));
    assert!(asked > 1 && asked == filtered, "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_is_refused_is_asked_for_ever_more_rarely() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "held");
    let messages = format!("{DM}/messages");
    let at = messages.clone();
    graph.fault(move |line| line.contains(&at).then(|| Reply::error(403, "Forbidden")));
    house.run_s(200).await;
    assert_eq!(count(&graph.lines(), &messages), 3, "at once, after 30 s and after 60 s more");
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_refused_is_asked_for_ever_more_rarely() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    graph.fault(|line| line.contains("/me/chats?").then(|| Reply::error(403, "Forbidden")));
    house.run_s(200).await;
    assert_eq!(count(&graph.lines(), "/me/chats?"), 3, "at once, after 30 s and after 60 s more");
}

#[tokio::test(start_paused = true)]
async fn a_link_to_somewhere_else_gets_no_token() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "held");
    graph.say(GROUP, "free");
    graph.fault(|line| {
        line.contains(DM).then(|| {
            Reply::json(200, &json!({"value": [], "@odata.nextLink": "https://contoso.com/v1.0/steal"}))
        })
    });
    house.run_s(10).await;
    assert_eq!(house.texts(), ["free"]);
    assert!(graph.script.seen().iter().all(|s| s.request.url.starts_with("https://graph.microsoft.com/")));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_becomes_visible_late_is_still_delivered() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let writer = async {
        let late = MessageSpec { visible_after_ms: 20_000, ..MessageSpec::text("older") };
        graph.post(DM, "alice", &late);
        tokio::time::sleep(Duration::from_secs(10)).await;
        graph.say(DM, "newer");
        tokio::time::sleep(Duration::from_secs(10)).await;
        graph.say(DM, "newest");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    let mut texts = house.texts();
    texts.sort();
    assert_eq!(texts, ["newer", "newest", "older"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_ahead_of_the_messages_is_asked_again() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "late");
    let mut left = 2;
    graph.fault(move |line| {
        let hit = line.contains("/messages") && left > 0;
        left -= i32::from(hit);
        hit.then(|| Reply::json(200, &json!({"value": []})))
    });
    house.run_s(20).await;
    assert_eq!(house.texts(), ["late"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_in_its_chat_is_looked_for_after_a_restart() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "late");
    graph.fault(|line| line.contains("/messages").then(|| Reply::json(200, &json!({"value": []}))));
    house.run_s(30).await;
    let asked = count(&graph.lines(), "/messages");
    assert_eq!(asked, 5, "it is given up for a while, but for what may turn up late");
    let house = house.restarted();
    graph.fault(|_| None);
    house.run_s(6).await;
    assert_eq!(house.texts(), ["late"]);
}

#[tokio::test(start_paused = true)]
async fn dates_from_the_future_hide_nothing() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let future = ["/createdDateTime", "/lastModifiedDateTime"]
        .map(|at| (at.to_owned(), json!("9998-01-01T00:00:00Z")));
    let raw = Some(RawOverride { set: future.into(), remove: Vec::new() });
    graph.post(DM, "alice", &MessageSpec { raw, ..MessageSpec::text("from the future") });
    let writer = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        graph.say(GROUP, "in another chat");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["from the future", "in another chat"]);
}

#[tokio::test(start_paused = true)]
async fn the_servers_clock_counts() {
    let graph = TestGraph::new();
    let mut house = House::new(&graph);
    // This machine's clock is an hour ahead of Graph's.
    let ahead = Arc::new(TokioClock::starting_at(start_of_time() + jiff::SignedDuration::from_hours(1)));
    house.parts.clock = ahead.clone();
    house.parts.client = Arc::new(graph.script.client_at(ahead));
    let writer = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        graph.say(DM, "hello");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(30) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_moment_nothing_is_lost_or_repeated() {
    let graph = TestGraph::new();
    graph.open(DM);
    let mut house = House::new(&graph);
    house.run_s(6).await;
    for round in 0..150_u64 {
        graph.say(if round % 3 == 0 { GROUP } else { DM }, &format!("{round:03}"));
        // The times reach from before the first request to well after the last one.
        house.run(Duration::from_millis((round * 37) % 1_700)).await;
        house = house.restarted();
    }
    house.run_s(60).await;
    let mut texts = house.texts();
    texts.sort();
    assert_eq!(texts, (0..150).map(|n| format!("{n:03}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_position_that_cannot_be_saved_costs_nothing_but_reading_again() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "one");
    house.run_s(6).await;
    graph.say(DM, "two");
    house.storage.set_bytes(CURSOR_FILE, b"");
    let house = house.restarted();
    house.run_s(12).await;
    assert_eq!(house.texts(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_delays_nothing_and_moves_no_position() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    house.storage.set_space_left(Some(0));
    graph.say(DM, "one");
    let writer = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(house.texts(), ["one"], "served from memory");
        graph.say(GROUP, "two");
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(house.texts(), ["one", "two"], "and the next one, too");
        house.storage.set_space_left(None);
        tokio::time::sleep(Duration::from_secs(20)).await;
    };
    tokio::select! { biased; _ = house.run_s(600) => {}, () = writer => {} }
    let house = house.restarted();
    assert_eq!(house.texts(), ["one", "two"], "on disk in the end");
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_was_held_is_found_again_after_restarts_in_an_outage() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(GROUP, "held");
    graph.fault(|line| line.contains(GROUP).then(|| Reply::error(403, "Forbidden")));
    let writer = async {
        // Enough other chats are created to push the held chat off the first page.
        for n in 0..60 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            graph.say(&format!("19:{n}@thread.v2"), "other");
        }
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(120) => {}, () = writer => {} }
    assert_eq!(house.texts().len(), 60);
    let house = house.restarted();
    graph.fault(|_| Some(Reply::error(503, "busy")));
    house.run_s(30).await;
    let house = house.restarted();
    graph.fault(|_| None);
    house.run_s(30).await;
    assert_eq!(house.texts().last().unwrap(), "held");
    assert_eq!(house.texts().len(), 61);
}
