//! The world as a page and a server use it.

use fake_microsoft::graph::Request;
use serde_json::{Value, json};

use super::show::SHOWN_MAX;
use super::watch::SILENT_AFTER_MS;
use super::*;
use crate::sandbox::state::{Item, Polling, State};

const TOKEN: &str = "t";

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_600_000_000 + ms).unwrap()
}

fn say(place: &str, from: &str, text: &str) -> Deed {
    let (place, from, text) = (place.to_owned(), from.to_owned(), text.to_owned());
    Deed::Say { place, from, subject: "s".to_owned(), text, html: false, mention: false }
}

fn ask(world: &World, now: Timestamp, method: &str, path: &str, body: &Value) -> Value {
    let request = Request::new(method, path).bearer(TOKEN).json(body);
    world.graph().handle(now, &request).json()
}

fn chat(world: &World, handle: &str) -> String {
    world.graph().with(|graph| graph.chat_id(handle).unwrap().to_owned())
}

fn item(world: &World, place: &str, index: usize) -> Item {
    world.place(place, true).messages[index].clone()
}

#[test]
fn a_message_is_read_when_the_server_has_asked_for_it() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    world.act(at(1), say("alice", "alice", "a < b")).unwrap();
    world.act(at(2), say("bob", "bob", "later")).unwrap();
    assert!(world.look(at(3)).is_empty());
    assert_eq!(
        (item(&world, "alice", 0).text.as_str(), world.polling(at(3)).is),
        ("a < b", PollingIs::Never)
    );
    let before = world.version();
    let path = format!("/v1.0/chats/{}/messages", chat(&world, "alice"));
    ask(&world, at(4), "GET", &path, &Value::Null);
    let read = News::Read { who: "Alice".to_owned(), place: "Alice".to_owned() };
    assert_eq!(world.look(at(5)), [News::Polls, read]);
    assert!(item(&world, "alice", 0).read_by_server && !item(&world, "bob", 0).read_by_server);
    assert!(world.version() > before);
    assert!(world.look(at(6)).is_empty(), "nothing is told twice");
}

#[test]
fn a_change_is_unread_again_and_a_deletion_shows() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    world.act(at(1), say("alice", "alice", "first")).unwrap();
    let path = format!("/v1.0/chats/{}/messages", chat(&world, "alice"));
    ask(&world, at(2), "GET", &path, &Value::Null);
    world.look(at(3));
    let (place, message) = ("alice".to_owned(), item(&world, "alice", 0).id);
    let edit = Deed::Edit { place: place.clone(), message: message.clone(), text: "<second>".to_owned() };
    world.act(at(4), edit).unwrap();
    let changed = item(&world, "alice", 0);
    assert!(changed.edited && !changed.read_by_server && changed.text == "<second>", "{changed:?}");
    world.act(at(5), Deed::Delete { place, message }).unwrap();
    let gone = item(&world, "alice", 0);
    assert!(gone.deleted && gone.text.is_empty(), "{gone:?}");
}

#[test]
fn the_page_shows_what_the_agent_writes() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    let path = format!("/v1.0/chats/{}/messages", chat(&world, "group"));
    let body = json!({"body": {"contentType": "html", "content": "<b>done</b><script>x()</script>"}});
    ask(&world, at(1), "POST", &path, &body);
    let wanted = News::Agent { does: "writes in Group".to_owned(), text: "done".to_owned() };
    assert_eq!(world.look(at(2)), [wanted]);
    let reply = item(&world, "group", 0);
    assert!(reply.by_agent && reply.text == "done" && reply.source.contains("<script>"), "{reply:?}");
    let id = reply.id.clone();
    let change = Deed::Edit { place: "group".to_owned(), message: id, text: "x".to_owned() };
    assert!(world.act(at(3), change).is_err(), "the agent's words are its own");
}

#[test]
fn silence_and_a_wrong_token_are_told_once() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    let refused = Request::get("/v1.0/me/chats").bearer("other");
    world.graph().handle(at(1), &refused);
    assert_eq!(world.look(at(1)), [News::Refused]);
    world.graph().handle(at(2), &refused);
    assert!(world.look(at(2)).is_empty());
    ask(&world, at(3), "GET", "/v1.0/me/chats", &Value::Null);
    assert_eq!(world.look(at(4)), [News::Polls]);
    assert!(world.look(at(3 + SILENT_AFTER_MS)).is_empty());
    assert_eq!(world.look(at(4 + SILENT_AFTER_MS)), [News::Silent]);
    assert_eq!(
        world.polling(at(4 + SILENT_AFTER_MS)),
        Polling { is: PollingIs::Stopped, ago_ms: Some(10_001) }
    );
}

#[test]
fn a_line_to_the_session_marks_its_messages() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    world.act(at(1), say("alice", "alice", "one")).unwrap();
    world.act(at(2), say(MAIL, "bob", "two")).unwrap();
    let result = json!({"messages": [{"id": item(&world, MAIL, 0).id}]}).to_string();
    world.reached(&json!({"id": 1, "result": {"content": [{"type": "text", "text": result}]}}));
    assert!(item(&world, MAIL, 0).reached_session && !item(&world, "alice", 0).reached_session);
    let meta = json!({"message_id": item(&world, "alice", 0).id});
    world.reached(&json!({"method": "notifications/claude/channel", "params": {"meta": meta}}));
    assert!(item(&world, "alice", 0).reached_session);
    for hostile in
        [json!(null), json!({"result": {"content": 5}}), json!({"result": {"content": [{"text": "{"}]}})]
    {
        world.reached(&hostile);
    }
}

#[test]
fn a_person_writes_only_where_they_are_a_member() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    for (place, from) in [("alice", "bob"), ("mail", "mallory"), ("nowhere", "alice"), ("alice", AGENT)] {
        assert!(world.act(at(1), say(place, from, "x")).is_err(), "{from} in {place}");
    }
    let delete = Deed::Delete { place: "alice".to_owned(), message: "1".to_owned() };
    assert!(world.act(at(1), delete).is_err());
}

#[test]
fn the_history_is_bounded_and_the_newest_stays() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    for n in 0..=KEPT_MAX {
        world.act(at(i64::try_from(n).unwrap()), say("alice", "alice", &n.to_string())).unwrap();
    }
    let place = world.place("alice", true);
    assert_eq!(
        (place.count, place.messages.len(), place.left_out),
        (KEPT_MAX, SHOWN_MAX, KEPT_MAX - SHOWN_MAX)
    );
    assert_eq!(place.messages.last().unwrap().text, KEPT_MAX.to_string());
}

#[test]
fn a_chat_that_the_agent_begins_is_shown() {
    let mut world = World::new(TOKEN, at(0)).unwrap();
    let member = |id: &str| {
        json!({"@odata.type": "#microsoft.graph.aadUserConversationMember", "roles": ["owner"],
            "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')")})
    };
    let ids = world.graph().with(|graph| {
        [
            graph.agent().object_id.clone(),
            graph.person("alice").unwrap().object_id.clone(),
            graph.person("bob").unwrap().object_id.clone(),
        ]
    });
    let chat = json!({"chatType": "group", "topic": "News", "members": ids.map(|id| member(&id))});
    let made = ask(&world, at(1), "POST", "/v1.0/chats", &chat);
    let path = format!("/v1.0/chats/{}/messages", made["id"].as_str().unwrap_or_else(|| panic!("{made}")));
    ask(&world, at(2), "POST", &path, &json!({"body": {"content": "hello, both"}}));
    world.look(at(3));
    let places = world.places(|_| true);
    let begun = places.last().unwrap();
    assert_eq!((begun.messages[0].text.as_str(), begun.people.len(), places.len()), ("hello, both", 0, 6));
}

#[test]
fn the_state_is_plain_json_without_a_token() {
    let mut world = World::new("access-token", at(0)).unwrap();
    world.act(at(1), say("alice", "alice", "hello")).unwrap();
    let state =
        State { version: 7, polling: world.polling(at(1)), places: world.places(|_| true), session: None };
    let json = serde_json::to_value(&state).unwrap();
    assert_eq!(json["polling"], json!({"is": "never", "ago_ms": null}));
    assert_eq!(json["places"][0]["handle"], "alice");
    let message = &json["places"][0]["messages"][0];
    assert_eq!((&message["text"], &message["by_agent"]), (&json!("hello"), &json!(false)));
    assert!(!json.to_string().contains("access-token"));
}
