//! Tests which messages reach the journal, when, in which order and at what cost.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_first_start_takes_history_for_read_and_then_delivers() {
    let graph = TestGraph::new();
    graph.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&graph);
    let writer = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        graph.say(DM, "new");
        tokio::time::sleep(Duration::from_secs(6)).await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["new"]);
    let record = &house.records()[0];
    assert_eq!(record.from, "Alice");
    assert_eq!(record.meta["sender_id"], ALICE);
    assert_eq!(record.meta["sender_tenant_id"], TENANT);
    assert_eq!(record.meta["chat_type"], "oneOnOne");
    for key in ["chat_id", "message_id", "user", "ts"] {
        assert!(record.meta.contains_key(key), "{key}");
    }
    let lines = graph.lines();
    assert_eq!(lines[0], "GET /v1.0/me");
    assert_eq!(
        lines[1],
        "GET /v1.0/me/chats?$expand=lastMessagePreview&$top=50&$orderby=lastMessagePreview/createdDateTime%20desc"
    );
    let read = lines.iter().find(|l| l.contains("/messages")).unwrap();
    assert!(
        read.contains("$orderby=lastModifiedDateTime%20desc&$filter=lastModifiedDateTime%20gt%202026"),
        "{read}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_look_back_is_what_the_configuration_says() {
    let graph = TestGraph::new();
    graph.say(DM, "too old");
    tokio::time::sleep(Duration::from_secs(600)).await;
    graph.say(DM, "recent");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut house = House::new(&graph);
    house.parts.options.look_back = Duration::from_secs(300);
    house.run_s(6).await;
    assert_eq!(house.texts(), ["recent"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_while_the_server_started_is_news() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    let mut refused = 0;
    graph.fault(move |_| {
        refused += 1;
        (refused <= 3).then(Reply::unreachable)
    });
    let writer = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        graph.say(DM, "early");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["early"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_chat_is_news_whatever_its_date() {
    let graph = TestGraph::new();
    graph.say(DM, "old");
    let house = House::new(&graph);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let writer = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        let ago_ms = u64::try_from(graph.now().as_millisecond() - 1_600_000_000_000).unwrap();
        let old = MessageSpec { created_ago_ms: ago_ms, ..MessageSpec::text("hello") };
        graph.post(GROUP, "bob", &old);
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["hello"]);
    assert_eq!(house.records()[0].meta["sender_tenant_id"], TENANT, "no tenant id means the agent's own");
    assert_eq!(house.records()[0].from, "(no name)");
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_paged_to_the_cursor_and_keeps_its_order() {
    let graph = TestGraph::new();
    graph.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&graph);
    house.run_s(6).await;
    for n in 0..500 {
        graph.say(if n % 2 == 0 { DM } else { GROUP }, &n.to_string());
    }
    house.run_s(30).await;
    let expected: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    assert_eq!(house.texts(), expected);
    // Each page of one chat is asked for more than a second after the last.
    let seen = graph.script.seen();
    let dm: Vec<_> = seen.iter().filter(|s| s.line().contains(DM)).map(|s| s.at).collect();
    assert!(dm.len() >= 5 && dm.windows(2).all(|pair| pair[1] >= pair[0] + Duration::from_secs(1)), "{dm:?}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_catches_up_without_repeating() {
    let graph = TestGraph::new();
    graph.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "one");
    house.run_s(6).await;
    let house = house.restarted();
    graph.say(DM, "two");
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    graph.say(GROUP, "three");
    let house = house.restarted();
    house.run_s(6).await;
    assert_eq!(house.texts(), ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn strangers_are_logged_by_id_and_never_shown() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    for _ in 0..20 {
        graph.say_as(GROUP, "mallory", "secret words");
    }
    graph.say_as(GROUP, "agent", "own words");
    house.run_s(6).await;
    assert!(house.texts().is_empty());
    let refused: Vec<_> = house.interactions().into_iter().filter(|i| i["kind"] == "refused").collect();
    assert_eq!(refused.len(), 1, "one line for one stranger");
    assert_eq!(refused[0]["who"], format!("{TENANT}/{MALLORY}"));
    assert_eq!(refused[0]["detail"], "not on the allowlist");
    assert!(!format!("{refused:?}").contains("secret words"));
}

#[tokio::test(start_paused = true)]
async fn groups_can_be_told_to_mention_the_agent() {
    let graph = TestGraph::new();
    let mut house = House::new(&graph);
    house.parts.options.group_messages = GroupMessages::Mentioned;
    house.run_s(6).await;
    graph.say(GROUP, "to all");
    graph.say(DM, "to you alone");
    graph.post(GROUP, "alice", &MessageSpec::html("to you").mentioning("agent"));
    house.run_s(6).await;
    let texts = house.texts();
    assert!(texts.len() == 2 && texts[0] == "to you alone" && texts[1].contains("to you"), "{texts:?}");
    assert_eq!(house.records()[1].meta["mentions_me"], "true");
}

#[rstest]
#[case(1)]
#[case(200)]
#[tokio::test(start_paused = true)]
async fn an_idle_minute_costs_the_same_for_one_and_many_chats(#[case] chats: usize) {
    let graph = TestGraph::new();
    for n in 0..chats {
        graph.say(&format!("19:{n}@thread.v2"), "old");
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    House::new(&graph).run(Duration::from_millis(59_999)).await;
    assert_eq!(graph.lines().len(), 1 + 12, "one question about itself, then one list each five seconds");
}

#[tokio::test(start_paused = true)]
async fn while_nothing_happens_the_disk_is_left_alone() {
    let mut calls = Vec::new();
    for seconds in [12, 42] {
        let graph = TestGraph::new();
        graph.say(DM, "old");
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let house = House::new(&graph);
        house.run_s(seconds).await;
        calls.push(house.storage.calls());
    }
    assert_eq!(calls[0], calls[1]);
}

#[tokio::test(start_paused = true)]
async fn edits_and_deletions_of_what_was_delivered_are_records_of_their_own() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let first = graph.say(DM, "one");
    let second = graph.say(DM, "two");
    let third = graph.say(DM, "before anybody saw it");
    graph.edit(DM, &third, "after");
    let writer = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        graph.edit(DM, &first, "one, better");
        graph.delete(DM, &second);
        graph.like(DM, &third);
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(180) => {}, () = writer => {} }
    let records = house.records();
    let told: Vec<_> = records
        .iter()
        .map(|r| (r.content_text_sanitized.as_str(), r.edit_of.as_deref(), r.deleted))
        .collect();
    assert_eq!(
        told,
        [
            ("one", None, false),
            ("two", None, false),
            ("after", None, false),
            ("one, better", Some(first.as_str()), false),
            ("(this message was deleted by its author)", Some(second.as_str()), true),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_edit_and_a_deletion_far_below_the_newest_messages_are_told() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let (first, second) = (graph.say(DM, "one"), graph.say(DM, "two"));
    for n in 0..120 {
        graph.say(DM, &format!("later {n}"));
    }
    let writer = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        graph.edit(DM, &first, "one, better");
        graph.delete(DM, &second);
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(240) => {}, () = writer => {} }
    let records = house.records();
    assert_eq!(records.len(), 124);
    let edits: Vec<_> = records.iter().filter_map(|r| Some((r.edit_of.clone()?, r.deleted))).collect();
    assert_eq!(edits, [(first, false), (second, true)]);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_shows_new_members_is_told_to_other_sessions_and_no_other_is() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(GROUP, "without Mallory");
    house.run_s(20).await;
    assert_eq!(house.texts(), ["without Mallory"]);
    assert_eq!(house.storage.bytes("sources/members"), None);
    graph.with(|fake, now| fake.remove_member(now, "team", "alice", "mallory").unwrap());
    house.run_s(20).await;
    let told = String::from_utf8(house.storage.bytes("sources/members").unwrap()).unwrap();
    assert!(told.contains(GROUP), "{told}");
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_is_logged_once_and_stays_unheard_when_its_author_is_let_in() {
    let graph = TestGraph::new();
    let house = House::with_policy(&graph, MemoryStorage::new());
    house.run_s(6).await;
    graph.say_as(DM, "mallory", "let me in");
    house.run_s(6).await;
    let house = house.restarted_with_policy();
    house.run_s(6).await;
    let mallory = Person::by_ids(guid(TENANT), guid(MALLORY));
    operator::allow(&house.storage, &mallory, None, house.parts.clock.now()).unwrap();
    // The chat is still read back over the refused message, and the policy has not been read since.
    graph.say_as(DM, "mallory", "thank you");
    house.run_s(12).await;
    assert_eq!(house.texts(), ["thank you"]);
    let refused = house.interactions().into_iter().filter(|i| i["kind"] == "refused").count();
    assert_eq!(refused, 1);
    // The message does not come back when the position is lost, either.
    house.storage.set_bytes(CURSOR_FILE, b"{");
    let house = house.restarted_with_policy();
    house.run_s(12).await;
    assert_eq!(house.texts(), ["thank you"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_message_is_judged_anew_when_it_is_edited() {
    let graph = TestGraph::new();
    let mut house = House::new(&graph);
    house.parts.options.group_messages = GroupMessages::Mentioned;
    house.run_s(6).await;
    let id = graph.say(GROUP, "to all");
    house.run_s(6).await;
    house.parts.options.group_messages = GroupMessages::All;
    house.run_s(60).await;
    assert!(house.texts().is_empty(), "it was refused when it came");
    graph.edit(GROUP, &id, "<p>to all, better</p>");
    house.run_s(60).await;
    assert_eq!(house.texts(), ["to all, better"]);
    assert_eq!(house.records()[0].edit_of, None, "nobody was shown it before");
}

/// The list of chats has a date that is years ahead, from a wrong clock or a hostile payload.
#[tokio::test(start_paused = true)]
async fn a_preview_from_the_future_hides_no_message_of_a_chat_that_begins_later() {
    let graph = TestGraph::new();
    graph.say(DM, "before the first start");
    let house = House::new(&graph);
    house.run_s(6).await;
    let future = RawOverride::setting("/createdDateTime", json!("2099-01-01T00:00:00Z"));
    graph.post("odd", "mallory", &MessageSpec { raw: Some(future), ..MessageSpec::text("") });
    house.run_s(60).await;
    graph.say("19:new@thread.v2", "one");
    graph.say("19:new@thread.v2", "two");
    house.run_s(20).await;
    assert_eq!(house.texts(), ["one", "two"]);
}
