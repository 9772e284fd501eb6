//! The source against a small Graph, on a paused clock: what reaches the journal, when, and at what cost.

use std::sync::Arc;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use super::mini::{AGENT, ALICE, BOB, MALLORY, Mini, TENANT, start_of_time};
use super::*;
use crate::clock::TokioClock;
use crate::config::{Config, GroupMessages, Sources};
use crate::gate::{Agent, Guid};
use crate::graph::script::Reply;
use crate::journal::JournalOptions;
use crate::record::Record;
use crate::storage::MemoryStorage;

const DM: &str = "19:alice_agent@unq.gbl.spaces";
const GROUP: &str = "19:team@thread.v2";

/// A home folder with its journal and a source.
struct House {
    mini: Mini,
    storage: MemoryStorage,
    journal: Journal,
    parts: TeamsParts,
}

impl House {
    fn new(mini: &Mini) -> Self {
        Self::at(mini, MemoryStorage::new())
    }

    fn at(mini: &Mini, storage: MemoryStorage) -> Self {
        let guid = |text| Guid::parse(text).unwrap();
        let clock = Arc::new(TokioClock::starting_at(mini.now()));
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let (journal, _) = Journal::open(shared.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let agent = Agent { tenant_id: Some(guid(TENANT)), object_id: None };
        let parts = TeamsParts {
            client: Arc::new(mini.script.client_at(clock.clone())),
            storage: shared,
            clock,
            gate: Arc::new(Gate::new([(guid(TENANT), guid(ALICE)), (guid(TENANT), guid(BOB))])),
            known: Arc::new(Known::new(agent)),
            options: Config::load(&Sources::default()).unwrap().teams,
        };
        Self { mini: mini.clone(), storage, journal, parts }
    }

    /// Lets the source run for a while; then it is dropped where it stands.
    async fn run(&self, time: Duration) -> SourceStatus {
        let mut source = TeamsSource::new(self.parts.clone());
        let status = source.status();
        let _ = tokio::time::timeout(time, source.run(&self.journal)).await;
        status
    }

    async fn run_s(&self, seconds: u64) -> SourceStatus {
        self.run(Duration::from_secs(seconds)).await
    }

    /// A new process in the same home.
    fn restarted(self) -> Self {
        let storage = self.storage.new_process();
        self.storage.kill();
        drop(self.journal);
        Self::at(&self.mini, storage)
    }

    fn records(&self) -> Vec<Record> {
        self.journal.read_after(0, 100_000).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.records().into_iter().map(|r| r.content_text_sanitized).collect()
    }

    fn interactions(&self) -> Vec<Value> {
        let paths = self.storage.paths().into_iter().filter(|p| p.starts_with("interactions/"));
        let bytes: Vec<u8> = paths.flat_map(|p| self.storage.bytes(&p).unwrap()).collect();
        String::from_utf8(bytes).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
    }
}

fn count(lines: &[String], part: &str) -> usize {
    lines.iter().filter(|line| line.contains(part)).count()
}

#[tokio::test(start_paused = true)]
async fn the_first_start_takes_history_for_read_and_then_delivers() {
    let mini = Mini::new();
    mini.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&mini);
    let writer = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        mini.say(DM, "new");
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
    let lines = mini.lines();
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
    let mini = Mini::new();
    mini.say(DM, "too old");
    tokio::time::sleep(Duration::from_secs(600)).await;
    mini.say(DM, "recent");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut house = House::new(&mini);
    house.parts.options.look_back = Duration::from_secs(300);
    house.run_s(6).await;
    assert_eq!(house.texts(), ["recent"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_while_the_server_started_is_news() {
    let mini = Mini::new();
    let house = House::new(&mini);
    let mut refused = 0;
    mini.fault(move |_| {
        refused += 1;
        (refused <= 3).then(Reply::unreachable)
    });
    let writer = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        mini.say(DM, "early");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["early"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_chat_is_news_whatever_its_date() {
    let mini = Mini::new();
    mini.say(DM, "old");
    let house = House::new(&mini);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let writer = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        mini.put(GROUP, |m| {
            m["id"] = json!("1600000000000");
            m["createdDateTime"] = json!("2020-09-13T12:26:40Z");
            m["lastModifiedDateTime"] = json!("2020-09-13T12:26:40Z");
            m["from"] = json!({"user": {"id": BOB}});
            m["body"] = json!({"contentType": "text", "content": "hello"});
        });
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["hello"]);
    assert_eq!(house.records()[0].meta["sender_tenant_id"], TENANT, "no tenant id means the agent's own");
    assert_eq!(house.records()[0].from, "(no name)");
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_paged_to_the_cursor_and_keeps_its_order() {
    let mini = Mini::new();
    mini.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&mini);
    house.run_s(6).await;
    for n in 0..500 {
        mini.say(if n % 2 == 0 { DM } else { GROUP }, &n.to_string());
    }
    house.run_s(30).await;
    let expected: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    assert_eq!(house.texts(), expected);
    // Each page of one chat a good second after the last.
    let seen = mini.script.seen();
    let dm: Vec<_> = seen.iter().filter(|s| s.line().contains("alice_agent")).map(|s| s.at).collect();
    assert!(dm.len() >= 5 && dm.windows(2).all(|pair| pair[1] >= pair[0] + Duration::from_secs(1)), "{dm:?}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_catches_up_without_repeating() {
    let mini = Mini::new();
    mini.say(DM, "old");
    tokio::time::sleep(Duration::from_secs(60)).await;
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "one");
    house.run_s(6).await;
    let house = house.restarted();
    mini.say(DM, "two");
    tokio::time::sleep(Duration::from_secs(86_400)).await;
    mini.say(GROUP, "three");
    let house = house.restarted();
    house.run_s(6).await;
    assert_eq!(house.texts(), ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_cursor_is_kept_aside_and_nothing_is_lost_or_repeated() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "one");
    house.run_s(6).await;
    let house = house.restarted();
    house.storage.set_bytes(CURSOR_FILE, b"{\"v\":1,\"since\":");
    mini.say(DM, "two");
    house.run_s(6).await;
    assert_eq!(house.texts(), ["one", "two"]);
    assert!(house.storage.bytes("sources/teams.json.broken").is_some());
    assert!(house.interactions().iter().any(|i| i["kind"] == "fault"));
}

#[tokio::test(start_paused = true)]
async fn odd_messages_stop_no_other() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "first");
    mini.put(DM, |m| m["messageType"] = json!("unknownFutureValue"));
    mini.put(DM, |m| m["messageType"] = json!("systemEventMessage"));
    mini.put(DM, |m| *m = json!(null));
    mini.put(DM, |m| m["from"] = json!(null));
    mini.put(DM, |m| {
        m["from"] = json!({"user": {"id": ALICE, "tenantId": TENANT, "displayName": null}});
        m["body"] = json!({"contentType": "strange", "content": "nameless"});
        m["createdDateTime"] = json!("2026-11-2199:99");
        m["importance"] = json!("alarming");
        m["attachments"] = json!([{"contentType": "forwardedMessageReference", "content": "{broken"}]);
    });
    mini.put(DM, |m| m["from"] = json!({"application": {"id": "app", "displayName": "Alice"}}));
    mini.say(DM, "last");
    house.run_s(6).await;
    let texts = house.texts();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0] == "first" && texts[1].contains("nameless") && texts[2] == "last", "{texts:?}");
}

#[tokio::test(start_paused = true)]
async fn strangers_are_logged_by_id_and_never_shown() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    for _ in 0..20 {
        mini.say_as(GROUP, MALLORY, "secret words");
    }
    mini.say_as(GROUP, AGENT, "own words");
    house.run_s(6).await;
    assert!(house.texts().is_empty());
    let refused: Vec<_> = house.interactions().into_iter().filter(|i| i["kind"] == "refused").collect();
    assert_eq!(refused.len(), 1, "one line for one stranger");
    assert_eq!(refused[0]["who"], MALLORY);
    assert_eq!(refused[0]["detail"], "not on the allowlist");
    assert!(!format!("{refused:?}").contains("secret words"));
}

#[tokio::test(start_paused = true)]
async fn groups_can_be_told_to_mention_the_agent() {
    let mini = Mini::new();
    let mut house = House::new(&mini);
    house.parts.options.group_messages = GroupMessages::Mentioned;
    house.run_s(6).await;
    mini.say(GROUP, "to all");
    mini.say(DM, "to you alone");
    mini.put(GROUP, |m| {
        m["from"] = json!({"user": {"id": ALICE, "tenantId": TENANT, "displayName": "Alice"}});
        m["body"] = json!({"contentType": "html", "content": "<at id=\"0\">Agent</at> to you"});
        m["mentions"] = json!([{"id": 0, "mentionText": "Agent", "mentioned": {"user": {"id": AGENT}}}]);
    });
    house.run_s(6).await;
    let texts = house.texts();
    assert!(texts.len() == 2 && texts[0] == "to you alone" && texts[1].contains("to you"), "{texts:?}");
    assert_eq!(house.records()[1].meta["mentions_me"], "true");
}

#[tokio::test(start_paused = true)]
async fn a_throttled_chat_holds_only_itself() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    let mut refusals = 0;
    mini.fault(move |line| {
        if !line.contains("team@thread") || refusals >= 1 {
            return None;
        }
        refusals += 1;
        Some(Reply::error(429, "TooManyRequests").header("retry-after", "40"))
    });
    mini.say(GROUP, "held");
    mini.say(DM, "free");
    house.run_s(10).await;
    assert_eq!(house.texts(), ["free"]);
    let house = house.restarted();
    house.run_s(45).await;
    assert_eq!(house.texts(), ["free", "held"], "a restart does not forget the chat that was held");
    assert_eq!(count(&mini.lines(), "team@thread.v2/messages"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_refused_order_is_replaced_by_a_whole_list() {
    let mini = Mini::new();
    for n in 0..120 {
        mini.say(&format!("19:{n}@thread.v2"), "old");
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    mini.fault(|line| line.contains("$orderby=lastMessagePreview").then(|| Reply::error(400, "BadRequest")));
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say("19:77@thread.v2", "new");
    house.run_s(6).await;
    assert_eq!(house.texts(), ["new"]);
    let asked = count(&mini.lines(), "$orderby=lastMessagePreview");
    assert_eq!(asked, 2, "once for each process, and not again for an hour");
}

#[tokio::test(start_paused = true)]
async fn a_refused_filter_is_replaced_by_our_own() {
    let mini = Mini::new();
    for n in 0..60 {
        mini.say(DM, &format!("old {n}"));
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    mini.fault(|line| line.contains("$filter").then(|| Reply::error(400, "BadRequest")));
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "new");
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
    for place in ["/me/chats?", "alice_agent@unq.gbl.spaces/messages"] {
        let mini = Mini::new();
        let house = House::new(&mini);
        house.run_s(6).await;
        mini.say(DM, "held");
        mini.say(GROUP, "free");
        let mut left = 2;
        mini.fault(move |line| {
            let hit = line.contains(place) && left > 0;
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
async fn a_list_that_fails_says_so() {
    let mini = Mini::new();
    let house = House::new(&mini);
    mini.fault(|_| Some(Reply::error(403, "Forbidden")));
    let state = house.run_s(6).await.get();
    let error = state.error.unwrap();
    assert!(error.contains("graph answered 403 Forbidden") && error.contains("Chat.Read"), "{error}");
    assert_eq!(state.answered_at, None);
}

#[tokio::test(start_paused = true)]
async fn a_link_to_somewhere_else_gets_no_token() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "held");
    mini.say(GROUP, "free");
    mini.fault(|line| {
        line.contains("alice_agent").then(|| {
            Reply::json(200, &json!({"value": [], "@odata.nextLink": "https://contoso.com/v1.0/steal"}))
        })
    });
    house.run_s(10).await;
    assert_eq!(house.texts(), ["free"]);
    assert!(mini.script.seen().iter().all(|s| s.request.url.starts_with("https://graph.microsoft.com/")));
}

#[rstest]
#[case(1)]
#[case(200)]
#[tokio::test(start_paused = true)]
async fn an_idle_minute_costs_the_same_for_one_and_many_chats(#[case] chats: usize) {
    let mini = Mini::new();
    for n in 0..chats {
        mini.say(&format!("19:{n}@thread.v2"), "old");
    }
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    House::new(&mini).run(Duration::from_millis(59_999)).await;
    assert_eq!(mini.lines().len(), 1 + 12, "one question about itself, then one list each five seconds");
}

#[tokio::test(start_paused = true)]
async fn edits_and_deletions_of_what_was_delivered_are_records_of_their_own() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    let first = mini.say(DM, "one");
    let second = mini.say(DM, "two");
    let third = mini.say(DM, "before anybody saw it");
    mini.change(DM, &third, |m, now| {
        m["body"]["content"] = json!("after");
        m["lastEditedDateTime"] = json!(now);
    });
    let writer = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        mini.change(DM, &first, |m, now| {
            m["body"]["content"] = json!("one, better");
            m["lastEditedDateTime"] = json!(now);
        });
        mini.change(DM, &second, |m, now| {
            m["deletedDateTime"] = json!(now);
            m["body"]["content"] = json!("");
        });
        mini.change(DM, &third, |m, _| m["reactions"] = json!([{"reactionType": "like"}]));
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
async fn a_message_that_becomes_visible_late_is_still_delivered() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    let old = mini.now();
    let writer = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        mini.say(DM, "newer");
        tokio::time::sleep(Duration::from_secs(10)).await;
        mini.put(DM, |m| {
            m["createdDateTime"] = json!(old.to_string());
            m["lastModifiedDateTime"] = json!(old.to_string());
            m["from"] = json!({"user": {"id": ALICE, "tenantId": TENANT, "displayName": "Alice"}});
            m["body"] = json!({"contentType": "text", "content": "older"});
        });
        mini.say(DM, "newest");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    let mut texts = house.texts();
    texts.sort();
    assert_eq!(texts, ["newer", "newest", "older"]);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_ahead_of_the_messages_is_asked_again() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "late");
    let mut left = 2;
    mini.fault(move |line| {
        let hit = line.contains("/messages") && left > 0;
        left -= i32::from(hit);
        hit.then(|| Reply::json(200, &json!({"value": []})))
    });
    house.run_s(20).await;
    assert_eq!(house.texts(), ["late"]);
}

#[tokio::test(start_paused = true)]
async fn dates_from_the_future_hide_nothing() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.put(DM, |m| {
        m["createdDateTime"] = json!("9998-01-01T00:00:00Z");
        m["lastModifiedDateTime"] = json!("9998-01-01T00:00:00Z");
        m["from"] = json!({"user": {"id": ALICE, "tenantId": TENANT}});
        m["body"] = json!({"contentType": "text", "content": "from the future"});
    });
    let writer = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        mini.say(GROUP, "in another chat");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(60) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["from the future", "in another chat"]);
}

#[tokio::test(start_paused = true)]
async fn the_servers_clock_counts() {
    let mini = Mini::new();
    let mut house = House::new(&mini);
    // Our clock is an hour ahead of Graph's.
    let ahead = Arc::new(TokioClock::starting_at(start_of_time() + jiff::SignedDuration::from_hours(1)));
    house.parts.clock = ahead.clone();
    house.parts.client = Arc::new(mini.script.client_at(ahead));
    let date = mini.clone();
    mini.fault(move |line| {
        line.ends_with("/me").then(|| {
            let text = date.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
            Reply::json(200, &json!({"id": AGENT})).header("date", &text)
        })
    });
    let writer = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        mini.say(DM, "hello");
        std::future::pending::<()>().await;
    };
    tokio::select! { biased; _ = house.run_s(30) => {}, () = writer => {} }
    assert_eq!(house.texts(), ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_moment_nothing_is_lost_or_repeated() {
    let mini = Mini::new();
    mini.empty_chat(DM);
    let mut house = House::new(&mini);
    house.run_s(6).await;
    for round in 0..150_u64 {
        mini.say(if round % 3 == 0 { GROUP } else { DM }, &format!("{round:03}"));
        // From before the first request to well after the last one.
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
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "one");
    house.run_s(6).await;
    mini.say(DM, "two");
    house.storage.set_bytes(CURSOR_FILE, b"");
    let house = house.restarted();
    house.run_s(12).await;
    assert_eq!(house.texts(), ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_delays_nothing_and_moves_no_position() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    house.storage.set_space_left(Some(0));
    mini.say(DM, "one");
    let writer = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(house.texts(), ["one"], "served from memory");
        mini.say(GROUP, "two");
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(house.texts(), ["one", "two"], "and the next one, too");
        house.storage.set_space_left(None);
        tokio::time::sleep(Duration::from_secs(20)).await;
    };
    tokio::select! { biased; _ = house.run_s(600) => {}, () = writer => {} }
    let house = house.restarted();
    assert_eq!(house.texts(), ["one", "two"], "on disk in the end");
}
