//! What the agent does.

use fake_microsoft::graph::{AttachmentSpec, MessageSpec, PersonSpec, Request, RuleId};
use serde_json::{Value, json};

use crate::bench::{Bench, at, cases, text};

fn html(content: &str) -> Value {
    json!({"body": {"contentType": "html", "content": content}})
}

fn send_refused(b: &mut Bench, body: &Value, status: u16, rule: RuleId) {
    let path = b.chat("dm", "/messages");
    let answer = b.send("POST", &path, body);
    b.check_refusal(&answer, status, rule);
}

cases! {
    a_sent_message_is_there_for_all [Send, SendOwnAppears] |b| {
        let path = b.chat("dm", "/messages");
        let answer = b.at(70).send("POST", &path, &html("<p>done</p>"));
        assert_eq!(answer.status, 201);
        let message = answer.json();
        assert_eq!((&message["id"], &message["body"]["content"]), (&json!("1767225600070"), &json!("<p>done</p>")));
        assert_eq!(text(&message["from"]["user"]["id"]), b.graph.agent().object_id);
        assert_eq!(b.ids("dm", ""), [text(&message["id"])]);
        let sent = b.graph.messages_sent_by_agent();
        assert_eq!((sent.len(), sent[0].chat.as_str(), sent[0].content.as_str()), (1, "dm", "<p>done</p>"));
        assert_eq!(sent[0].message_id, text(&message["id"]));
        let answer = b.send("POST", &path, &json!({"body": {"content": "plain"}}));
        assert_eq!(answer.json()["body"], json!({"contentType": "text", "content": "plain"}));
    }

    a_body_that_is_none [MalformedBody, SendInvalid] |b| {
        let path = b.chat("dm", "/messages");
        for body in ["", "{", "[]", "null", "\u{ff}"] {
            let mut request = Request::new("POST", &path).bearer(crate::bench::TOKEN);
            request.body = body.as_bytes().to_vec();
            let answer = b.ask(&request);
            b.check_refusal(&answer, 400, RuleId::MalformedBody);
        }
        for body in [
            json!({}), json!({"body": "x"}), json!({"body": {"content": 5}}), json!({"body": {"content": "  "}}),
            json!({"body": {"content": "x", "contentType": "markdown"}}),
            json!({"body": {"content": "x"}, "importance": "very"}),
            json!({"body": {"content": "x"}, "mentions": {}}), json!({"body": {"content": "x"}, "attachments": 1}),
        ] {
            send_refused(b, &body, 400, RuleId::SendInvalid);
        }
        assert!(b.graph.messages_sent_by_agent().is_empty() && b.ids("dm", "").is_empty());
    }

    markers_and_lists_must_match [SendUnmatched] |b| {
        let mention = json!([{"id": 0, "mentionText": "Alice", "mentioned": {"user": {"id": fake_microsoft::graph::object_id("alice")}}}]);
        for body in [
            html("<at id=\"0\">Alice</at>"),
            json!({"body": {"contentType": "html", "content": "hi"}, "mentions": mention}),
            json!({"body": {"contentType": "text", "content": "<at id=\"0\">Alice</at>"}, "mentions": mention}),
            html("<attachment id=\"a\"></attachment>"),
            json!({"body": {"contentType": "html", "content": "x"}, "attachments": [{"id": "a", "contentType": "reference"}]}),
        ] {
            send_refused(b, &body, 400, RuleId::SendUnmatched);
        }
        let path = b.chat("dm", "/messages");
        let body = json!({"body": {"contentType": "html", "content": "<at id=\"0\">Alice</at> hi"}, "mentions": mention});
        assert_eq!(b.send("POST", &path, &body).status, 201);
        assert_eq!(b.graph.messages_sent_by_agent()[0].mentions, [fake_microsoft::graph::object_id("alice")]);
    }

    too_much_in_one_message [SendTooLarge] |b| {
        send_refused(b, &html(&"x".repeat(28 * 1024 + 1)), 413, RuleId::SendTooLarge);
        let path = b.chat("dm", "/messages");
        assert_eq!(b.send("POST", &path, &html(&"x".repeat(28 * 1024))).status, 201);
    }

    a_reply_with_quotes [QuoteReply, QuoteShape, QuoteLimit, MessageGone] |b| {
        let id = b.say("dm", "alice", &MessageSpec::html("why?"));
        let path = b.chat("dm", "/messages/replyWithQuote");
        let reply = |ids: Vec<&str>| json!({"messageIds": ids, "replyMessage": {"body": {"content": "5 < 6"}}});
        let answer = b.send("POST", &path, &reply(vec![&id]));
        assert_eq!(answer.status, 201);
        let message = answer.json();
        assert_eq!(text(&message["body"]["content"]), format!("<attachment id=\"{id}\"></attachment><p>5 &lt; 6</p>"));
        assert_eq!(message["attachments"][0]["contentType"], "messageReference");
        assert_eq!(b.graph.messages_sent_by_agent()[0].quotes, std::slice::from_ref(&id));
        for ids in [vec![], vec![id.as_str(); 11]] {
            let answer = b.send("POST", &path, &reply(ids));
            b.check_refusal(&answer, 400, RuleId::QuoteLimit);
        }
        let answer = b.send("POST", &path, &json!({"messageIds": [5], "replyMessage": {"body": {"content": "x"}}}));
        b.check_refusal(&answer, 400, RuleId::QuoteLimit);
        let answer = b.send("POST", &path, &reply(vec!["17"]));
        b.check_refusal(&answer, 404, RuleId::MessageGone);
        assert_eq!(b.graph.messages_sent_by_agent().len(), 1);
    }

    own_messages_can_be_edited [EditOwn, EditForeign, EditDates, EtagChanges] |b| {
        let own = b.say("dm", "agent", &MessageSpec::html("v1"));
        let theirs = b.say("dm", "alice", &MessageSpec::html("x"));
        let path = b.chat("dm", &format!("/messages/{own}"));
        let answer = b.at(900).send("PATCH", &path, &html("v2"));
        assert_eq!((answer.status, answer.body.len()), (204, 0));
        let edited = b.json(&path);
        assert_eq!((&edited["body"]["content"], &edited["lastEditedDateTime"]), (&json!("v2"), &json!("2026-01-01T00:00:00.900Z")));
        assert_ne!(text(&edited["etag"]), own);
        let path = b.chat("dm", &format!("/messages/{theirs}"));
        let answer = b.send("PATCH", &path, &html("v2"));
        b.check_refusal(&answer, 403, RuleId::EditForeign);
    }

    deletion_has_one_form [SoftDelete, SoftDeleteForm, SoftDeleteForeign, Tombstone] |b| {
        let own = b.say("dm", "agent", &MessageSpec::html("oops"));
        let theirs = b.say("dm", "alice", &MessageSpec::html("x"));
        let plain = b.chat("dm", &format!("/messages/{own}/softDelete"));
        let answer = b.send("POST", &plain, &json!({}));
        b.check_refusal(&answer, 405, RuleId::SoftDeleteForm);
        let mine = plain.replace("/v1.0/", "/v1.0/me/");
        assert_eq!(b.at(5).send("POST", &mine, &json!({})).status, 204);
        let shown = b.json(&plain.replace("/softDelete", ""));
        assert_eq!(shown["deletedDateTime"], "2026-01-01T00:00:00.005Z");
        let answer = b.send("POST", &mine, &json!({}));
        b.check_refusal(&answer, 404, RuleId::MessageGone);
        let answer = b.send("POST", &mine.replace(&own, &theirs), &json!({}));
        b.check_refusal(&answer, 403, RuleId::SoftDeleteForeign);
        let answer = b.send("PATCH", &plain.replace("/softDelete", ""), &html("back"));
        b.check_refusal(&answer, 404, RuleId::MessageGone);
    }

    reactions_come_and_go [React, ReactionDates] |b| {
        let id = b.say("dm", "alice", &MessageSpec::html("x"));
        let path = b.chat("dm", &format!("/messages/{id}"));
        let like = json!({"reactionType": "\u{1f44d}"});
        for _ in 0..2 {
            assert_eq!(b.send("POST", &format!("{path}/setReaction"), &like).status, 204);
        }
        let shown = b.json(&path);
        assert_eq!(shown["reactions"].as_array().unwrap().len(), 1);
        assert_eq!(shown["lastEditedDateTime"], Value::Null);
        assert_eq!(b.send("POST", &format!("{path}/unsetReaction"), &like).status, 204);
        assert_eq!(b.json(&path)["reactions"], json!([]));
        let answer = b.send("POST", &format!("{path}/setReaction"), &json!({}));
        b.check_refusal(&answer, 400, RuleId::MalformedBody);
    }

    members_can_be_added [AddMember, SystemShape] |b| {
        b.graph.add_person("dave", &PersonSpec::default()).unwrap();
        let id = fake_microsoft::graph::object_id("dave");
        let bind = |id: &str| json!({"roles": ["owner"], "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')")});
        let path = b.chat("team", "/members");
        let answer = b.send("POST", &path, &bind(&id));
        assert_eq!((answer.status, text(&answer.json()["userId"])), (201, id));
        assert_eq!(b.json(&path)["@odata.count"], 5);
        assert_eq!(b.messages("team", "?$top=1")[0]["eventDetail"]["@odata.type"], "#microsoft.graph.membersAddedEventMessageDetail");
        let answer = b.send("POST", &path, &bind("nobody"));
        b.check_refusal(&answer, 400, RuleId::MalformedBody);
        assert!(b.graph.post(at(0), "team", "dave", &MessageSpec::text("hello")).is_ok());
    }

    chats_begin [CreateOneOnOne, CreateGroup, CreateBroken] |b| {
        let member = |id: &str| json!({"roles": ["owner"], "user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')")});
        let me = member(&b.graph.agent().object_id.clone());
        let (alice, carol) = (member(&fake_microsoft::graph::object_id("alice")), member(&fake_microsoft::graph::object_id("carol")));
        let mut create = |kind: &str, members: Vec<&Value>| {
            b.send("POST", "/v1.0/chats", &json!({"chatType": kind, "members": members, "topic": "Plans"}))
        };
        let (first, again) = (create("oneOnOne", vec![&me, &carol]), create("oneOnOne", vec![&me, &carol]));
        assert_eq!((first.status, &first.json()["id"]), (201, &again.json()["id"]));
        let groups = [create("group", vec![&me, &alice]), create("group", vec![&me, &alice])].map(|answer| text(&answer.json()["id"]));
        assert_ne!(groups[0], groups[1]);
        for (kind, members) in [("oneOnOne", vec![&me]), ("group", vec![&alice, &carol]), ("party", vec![&me, &alice])] {
            assert_eq!(create(kind, members).status, 400, "{kind}");
        }
        let answer = create("group", vec![&me, &member("nobody")]);
        b.check_refusal(&answer, 400, RuleId::CreateBroken);
        assert_eq!(b.get(&format!("/v1.0/chats/{}", groups[0])).status, 200);
    }

    a_chat_is_marked_read_for_oneself [MarkRead, MarkReadOther] |b| {
        let path = b.chat("dm", "/markChatReadForUser");
        let me = b.graph.agent().object_id.clone();
        assert_eq!(b.send("POST", &path, &json!({"user": {"id": me}})).status, 204);
        let answer = b.send("POST", &path, &json!({"user": {"id": "other"}}));
        b.check_refusal(&answer, 403, RuleId::MarkReadOther);
    }

    what_is_attached_can_be_fetched [HostedContent, ShareContent, StoreWithoutToken] |b| {
        let message = MessageSpec::html("look")
            .with(AttachmentSpec::Image { alt: "a plan".into() })
            .with(AttachmentSpec::File { name: "plan.docx".into(), url: Some("https://contoso.sharepoint.com/plan.docx".into()) });
        let shown = b.shown("dm", "alice", &message);
        let content = text(&shown["body"]["content"]);
        let hosted = content.split("src=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap().to_owned();
        let image = b.get(&hosted);
        assert_eq!((image.status, image.header("content-type")), (200, Some("image/png")));
        b.refused(&hosted.replace("/$value", "x/$value"), 404, RuleId::HostedContent);
        let share = "u!aHR0cHM6Ly9jb250b3NvLnNoYXJlcG9pbnQuY29tL3BsYW4uZG9jeA";
        let answer = b.get(&format!("/v1.0/shares/{share}/driveItem/content"));
        let link = answer.header("location").unwrap().to_owned();
        assert_eq!(answer.status, 302);
        assert_eq!(b.ask(&Request::get(&link)).body, b"the contents of plan.docx\n");
        b.refused(&link, 401, RuleId::StoreWithoutToken);
        b.refused("/v1.0/shares/u!aHR0cHM/driveItem/content", 404, RuleId::ShareContent);
    }
}
