//! Lists of messages and single messages.

use fake_microsoft::graph::{AttachmentSpec, MessageSpec, RuleId, SystemEventSpec};
use serde_json::{Value, json};

use crate::bench::{at, cases, text};

const BY_MODIFIED: &str = "$orderby=lastModifiedDateTime%20desc";
const BY_CREATED: &str = "$orderby=createdDateTime%20desc";

cases! {
    ids_are_milliseconds_and_unique [MessageIds, MessageFields] |b| {
        let first = b.at(123).say("dm", "alice", &MessageSpec::html("one"));
        let second = b.say("dm", "alice", &MessageSpec::html("two"));
        assert_eq!((first.as_str(), second.as_str()), ("1767225600123", "1767225600124"));
        let path = b.chat("dm", &format!("/messages/{first}"));
        let message = b.json(&path);
        assert_eq!(message["createdDateTime"], "2026-01-01T00:00:00.123Z");
        assert_eq!(message["chatId"].as_str(), b.graph.chat_id("dm").ok());
        for null in ["replyToId", "channelIdentity", "webUrl", "subject", "summary", "lastEditedDateTime",
            "deletedDateTime", "policyViolation", "eventDetail", "onBehalfOf"] {
            assert_eq!(message.get(null), Some(&Value::Null), "{null}");
        }
        for list in ["attachments", "mentions", "reactions", "messageHistory"] {
            assert_eq!(message[list], json!([]), "{list}");
        }
        assert_eq!((&message["locale"], &message["importance"]), (&json!("en-us"), &json!("normal")));
        assert_eq!(message["etag"], "1767225600123");
    }

    newest_first_by_change_or_by_creation [MessagesOrder, MessagesTopDefault, MessagesOrderby, MessagesTop] |b| {
        for n in 0..25 {
            b.at(n).say("dm", "alice", &MessageSpec::html("x"));
        }
        let oldest = b.now.as_millisecond() - 24;
        b.graph.edit(at(1000), "dm", &oldest.to_string(), "new").unwrap();
        assert_eq!(b.ids("dm", "").len(), 20);
        assert_eq!(b.ids("dm", "")[0], oldest.to_string());
        assert_eq!(b.ids("dm", &format!("?{BY_MODIFIED}&$top=1")), [oldest.to_string()]);
        assert_eq!(b.ids("dm", &format!("?{BY_CREATED}&$top=50"))[24], oldest.to_string());
        for bad in ["createdDateTime%20asc", "createdDateTime", "lastModifiedDateTime%20asc", "from%20desc", ""] {
            let path = b.chat("dm", &format!("/messages?$orderby={bad}"));
            b.refused(&path, 400, RuleId::MessagesOrderby);
        }
        for top in ["51", "0", "x"] {
            let path = b.chat("dm", &format!("/messages?$top={top}"));
            b.refused(&path, 400, RuleId::MessagesTop);
        }
    }

    a_filter_counts_only_with_its_order [MessagesFilter, MessagesFilterCreated, MessagesFilterIgnored] |b| {
        for ms in [0, 1000, 2000, 3000] {
            b.at(ms).say("dm", "alice", &MessageSpec::html("x"));
        }
        let after = "$filter=lastModifiedDateTime gt 2026-01-01T00:00:01Z";
        let between = format!("{after} and lastModifiedDateTime lt 2026-01-01T00:00:03.000Z");
        let before = "$filter=createdDateTime lt 2026-01-01T00:00:01Z";
        assert_eq!(b.ids("dm", &format!("?{BY_MODIFIED}&{after}")).len(), 2);
        assert_eq!(b.ids("dm", &format!("?{BY_MODIFIED}&{between}")).len(), 1);
        assert_eq!(b.ids("dm", &format!("?{BY_CREATED}&{before}")).len(), 1);
        for ignored in [after.to_owned(), before.to_owned(), format!("{BY_CREATED}&{after}"), format!("{BY_MODIFIED}&{before}")] {
            assert_eq!(b.ids("dm", &format!("?{ignored}")).len(), 4, "{ignored}");
        }
    }

    other_filters_and_options [MessagesFilterOther, MessagesOptions] |b| {
        for filter in ["createdDateTime gt 2026-01-01T00:00:01Z", "from/user/id eq 'x'", "lastModifiedDateTime ge 2026-01-01T00:00:01Z", "nonsense"] {
            let path = b.chat("dm", &format!("/messages?{BY_CREATED}&$filter={filter}"));
            b.refused(&path, 400, RuleId::MessagesFilterOther);
        }
        for option in ["$select=id", "$skip=1", "$count=true", "$expand=hostedContents", "$search=x"] {
            let path = b.chat("dm", &format!("/messages?{option}"));
            b.refused(&path, 400, RuleId::MessagesOptions);
        }
    }

    one_message_or_none [MessageGone] |b| {
        let id = b.say("dm", "alice", &MessageSpec::html("x"));
        for bad in ["1".to_owned(), "x".to_owned(), format!("+{id}"), format!("0{id}"), "99999999999999999999999".to_owned()] {
            let path = b.chat("dm", &format!("/messages/{bad}"));
            b.refused(&path, 404, RuleId::MessageGone);
        }
        let path = b.chat("far", &format!("/messages/{id}"));
        b.refused(&path, 404, RuleId::MessageGone);
        let path = format!("/v1.0/me{}", b.chat("dm", &format!("/messages/{id}")).replace("/v1.0", ""));
        assert_eq!(text(&b.json(&path)["id"]), id);
    }

    newer_values_of_an_enumeration_are_asked_for [SystemUnknown, SystemPrefer, SystemShape, UnknownType] |b| {
        let id = b.say("team", "alice", &MessageSpec::event(SystemEventSpec::MembersAdded(vec!["bob".into()])));
        let path = b.chat("team", &format!("/messages/{id}"));
        let old = b.json(&path);
        assert_eq!((&old["messageType"], &old["from"]), (&json!("unknownFutureValue"), &Value::Null));
        assert_eq!(old["body"], json!({"contentType": "html", "content": "<systemEventMessage/>"}));
        assert_eq!(old["eventDetail"]["@odata.type"], "#microsoft.graph.membersAddedEventMessageDetail");
        assert_eq!(text(&old["eventDetail"]["members"][0]["id"]), b.graph.person("bob").unwrap().object_id);
        assert_eq!(b.json_newer(&path)["messageType"], "systemEventMessage");
        let hologram = MessageSpec { message_type: Some("hologram".into()), ..MessageSpec::html("x") };
        let id = b.say("team", "alice", &hologram);
        let path = b.chat("team", &format!("/messages/{id}"));
        assert_eq!(b.json(&path)["messageType"], "unknownFutureValue");
        assert_eq!(b.json_newer(&path)["messageType"], "hologram");
    }

    every_system_event_has_its_detail [SystemShape] |b| {
        use SystemEventSpec as Event;
        let events = [
            (Event::MembersDeleted(vec!["bob".into()]), "membersDeletedEventMessageDetail"),
            (Event::MembersJoined(vec!["bob".into()]), "membersJoinedEventMessageDetail"),
            (Event::MembersLeft(vec!["bob".into()]), "membersLeftEventMessageDetail"),
            (Event::ChatRenamed("x".into()), "chatRenamedEventMessageDetail"),
            (Event::CallStarted, "callStartedEventMessageDetail"),
            (Event::CallEnded, "callEndedEventMessageDetail"),
            (Event::MessagePinned, "messagePinnedEventMessageDetail"),
            (Event::Other("#microsoft.graph.newEventMessageDetail".into()), "newEventMessageDetail"),
        ];
        for (event, name) in events {
            let shown = b.shown("team", "alice", &MessageSpec::event(event));
            assert_eq!(text(&shown["eventDetail"]["@odata.type"]), format!("#microsoft.graph.{name}"));
        }
    }

    a_deleted_message_leaves_a_stone [Tombstone, EtagChanges] |b| {
        let spec = MessageSpec::html("gone soon").mentioning("alice").named("m").with(AttachmentSpec::File { name: "a".into(), url: None });
        let id = b.say("dm", "alice", &spec);
        b.graph.react(at(400), "dm", "m", "bob", "x", true).unwrap();
        b.graph.delete(at(500), "dm", "m").unwrap();
        let path = b.chat("dm", &format!("/messages/{id}"));
        let stone = b.json(&path);
        assert_eq!(stone["deletedDateTime"], "2026-01-01T00:00:00.500Z");
        assert_eq!(stone["lastModifiedDateTime"], stone["deletedDateTime"]);
        assert_eq!(stone["body"]["content"], "");
        for list in ["attachments", "mentions", "reactions"] {
            assert_eq!(stone[list], json!([]), "{list}");
        }
        assert_ne!(text(&stone["etag"]), id);
        assert_eq!(b.ids("dm", ""), [id]);
    }

    edits_and_reactions_move_different_dates [EditDates, ReactionDates, EtagChanges] |b| {
        let id = b.say("dm", "alice", &MessageSpec::html("a").named("m"));
        let path = b.chat("dm", &format!("/messages/{id}"));
        b.graph.react(at(10), "dm", "m", "bob", "\u{1f44d}", true).unwrap();
        let reacted = b.json(&path);
        assert_eq!((&reacted["lastModifiedDateTime"], &reacted["lastEditedDateTime"]), (&json!("2026-01-01T00:00:00.010Z"), &Value::Null));
        assert_eq!(reacted["reactions"][0]["reactionType"], "\u{1f44d}");
        assert_eq!(text(&reacted["reactions"][0]["user"]["user"]["id"]), b.graph.person("bob").unwrap().object_id);
        // Two changes in the same millisecond still have two etags.
        b.graph.react(at(10), "dm", "m", "bob", "\u{1f44d}", false).unwrap();
        let back = b.json(&path);
        assert_eq!(back["reactions"], json!([]));
        assert_ne!(back["etag"], reacted["etag"]);
        b.graph.edit(at(20), "dm", "m", "b").unwrap();
        let edited = b.json(&path);
        assert_eq!((&edited["lastEditedDateTime"], &edited["body"]["content"]), (&json!("2026-01-01T00:00:00.020Z"), &json!("b")));
        assert_eq!(edited["createdDateTime"], "2026-01-01T00:00:00.000Z");
    }

    a_message_can_be_late [LateVisibility] |b| {
        let late = MessageSpec { visible_after_ms: 5000, ..MessageSpec::html("late") };
        let id = b.at(1000).say("dm", "alice", &late);
        b.at(2000).say("dm", "alice", &MessageSpec::html("newer"));
        assert_eq!(b.ids("dm", "").len(), 1);
        let path = b.chat("dm", &format!("/messages/{id}"));
        b.refused(&path, 404, RuleId::MessageGone);
        b.at(6000);
        let ids = b.ids("dm", "");
        assert_eq!((ids.len(), &ids[1]), (2, &id));
        assert_eq!(b.json(&path)["createdDateTime"], "2026-01-01T00:00:01.000Z");
        let old = MessageSpec { created_ago_ms: 60_000, ..MessageSpec::html("old") };
        b.say("dm", "alice", &old);
        assert_eq!(b.ids("dm", "").len(), 3);
    }

    no_delta_for_a_person [AllMessagesDelegated, ChatDeltaUndocumented] |b| {
        for path in ["/v1.0/me/chats/getAllMessages", "/v1.0/me/chats/getAllMessages/delta", "/v1.0/chats/getAllMessages"] {
            b.refused(path, 412, RuleId::AllMessagesDelegated);
        }
        let path = b.chat("dm", "/messages/delta");
        b.refused(&path, 400, RuleId::ChatDeltaUndocumented);
    }
}
