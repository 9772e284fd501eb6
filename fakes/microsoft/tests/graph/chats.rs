//! Lists of chats, single chats, members.

use fake_microsoft::graph::{
    AGENT, AttachmentSpec, ChatKind, ChatSpec, MessageSpec, PersonSpec, RuleId, SystemEventSpec,
    agent_identity_id,
};
use serde_json::{Value, json};

use crate::bench::{cases, next_link, text};

const ORDERED: &str = "$orderby=lastMessagePreview/createdDateTime%20desc";

fn topics(page: &Value) -> Vec<String> {
    page["value"].as_array().expect("a list").iter().map(|chat| text(&chat["id"])).collect()
}

fn find<'a>(page: &'a Value, id: &str) -> &'a Value {
    page["value"].as_array().expect("a list").iter().find(|c| c["id"] == id).expect("the chat is listed")
}

cases! {
    sponsors_are_ids [SponsorsList, SponsorsUnknown] |b| {
        let path = |id: &str| format!("/v1.0/servicePrincipals/{id}/microsoft.graph.agentIdentity/sponsors");
        let id = agent_identity_id();
        assert_eq!(b.json(&path(&id))["value"], json!([]));
        b.graph.set_sponsors(&["alice".to_owned()]).unwrap();
        let alice = b.graph.person("alice").unwrap().object_id.clone();
        let listed = b.json(&path(&id))["value"].clone();
        assert_eq!(listed, json!([{"@odata.type": "#microsoft.graph.user", "id": alice}]));
        b.refused(&path(&alice), 404, RuleId::SponsorsUnknown);
        assert!(b.graph.set_sponsors(&["nobody".to_owned()]).is_err());
    }

    the_three_ways_to_list_are_one [ChatFields, ChatIdShapes, PreviewAbsent, ChatsTopDefault] |b| {
        let me = b.graph.agent().object_id.clone();
        let page = b.json("/v1.0/me/chats");
        assert_eq!(topics(&page), topics(&b.json("/v1.0/chats")));
        assert_eq!(topics(&page), topics(&b.json(&format!("/v1.0/users/{me}/chats"))));
        assert_eq!(page["@odata.count"], 4);
        assert!(page.get("@odata.nextLink").is_none());
        for chat in page["value"].as_array().unwrap() {
            assert!(chat.get("lastMessagePreview").is_none() && chat.get("members").is_none());
            assert!(chat["viewpoint"]["lastMessageReadDateTime"].is_string());
            assert!(chat["webUrl"].is_string() && chat["tenantId"].is_string());
        }
        let dm = find(&page, b.graph.chat_id("dm").unwrap());
        assert_eq!((&dm["topic"], &dm["chatType"], &dm["onlineMeetingInfo"]), (&Value::Null, &json!("oneOnOne"), &Value::Null));
        let id = text(&dm["id"]);
        assert!(id.starts_with("19:") && id.ends_with("@unq.gbl.spaces"));
        assert!(id.contains(&me) && id.contains(&b.graph.person("alice").unwrap().object_id));
        let team = find(&page, b.graph.chat_id("team").unwrap());
        assert_eq!((&team["topic"], &team["chatType"]), (&json!("The team"), &json!("group")));
        assert!(text(&team["id"]).ends_with("@thread.v2"));
        let meet = find(&page, b.graph.chat_id("meet").unwrap());
        assert!(text(&meet["id"]).starts_with("19:meeting_") && meet["onlineMeetingInfo"].is_object());
        for n in 0..30 {
            let spec = ChatSpec { kind: ChatKind::Group, ..ChatSpec::default() };
            b.graph.add_chat(b.now, &format!("g{n}"), &spec).unwrap();
        }
        assert_eq!(b.json("/v1.0/me/chats")["@odata.count"], 20);
    }

    only_the_documented_order [ChatsOrderby, ChatsOrdered, ChatsOrderWithoutExpand] |b| {
        for other in [
            "lastMessagePreview/createdDateTime",
            "lastMessagePreview/createdDateTime%20asc",
            "lastUpdatedDateTime%20desc",
            "topic",
            "",
        ] {
            b.refused(&format!("/v1.0/me/chats?$orderby={other}"), 400, RuleId::ChatsOrderby);
        }
        for (ms, chat, from) in [(1, "team", "alice"), (2, "dm", "alice"), (3, "far", "bob")] {
            b.at(ms).say(chat, from, &MessageSpec::html("hi"));
        }
        let page = b.json(&format!("/v1.0/me/chats?{ORDERED}&$expand=lastMessagePreview"));
        let wanted: Vec<&str> = ["far", "dm", "team", "meet"].iter().map(|c| b.graph.chat_id(c).unwrap()).collect();
        assert_eq!(topics(&page), wanted);
        let bare = b.json(&format!("/v1.0/me/chats?{ORDERED}"));
        assert_eq!(topics(&bare), topics(&page));
        assert!(bare["value"][0].get("lastMessagePreview").is_none());
    }

    without_an_order_there_is_none [ChatsUnordered] |b| {
        for n in 0..12 {
            let spec = ChatSpec { kind: ChatKind::Group, ..ChatSpec::default() };
            b.graph.add_chat(b.now, &format!("g{n}"), &spec).unwrap();
            b.at(n).say(&format!("g{n}"), "alice", &MessageSpec::html("x"));
        }
        let loose = topics(&b.json("/v1.0/me/chats"));
        let by_date = topics(&b.json(&format!("/v1.0/me/chats?{ORDERED}")));
        let mut by_id = loose.clone();
        by_id.sort();
        assert!(loose != by_date && loose != by_id);
    }

    page_size_and_options [ChatsTop, ChatsExpand, ChatsOptions] |b| {
        for top in ["51", "0", "-1", "many", ""] {
            b.refused(&format!("/v1.0/me/chats?$top={top}"), 400, RuleId::ChatsTop);
        }
        assert_eq!(b.json("/v1.0/me/chats?$top=50")["@odata.count"], 4);
        b.refused("/v1.0/me/chats?$expand=messages", 400, RuleId::ChatsExpand);
        b.refused("/v1.0/me/chats?$expand=members($select=id)", 400, RuleId::ChatsExpand);
        b.refused("/v1.0/me/chats?$search=x", 400, RuleId::ChatsOptions);
        assert_eq!(b.get("/v1.0/me/chats?model=A&$expand=members,lastMessagePreview").status, 200);
    }

    a_filter_by_ids [ChatsFilterIds, ChatsFilterOther] |b| {
        let dm = b.graph.chat_id("dm").unwrap().to_owned();
        let page = b.json(&format!("/v1.0/me/chats?$filter=id in ('{dm}','19:nobody@thread.v2')"));
        assert_eq!(topics(&page), [dm]);
        b.refused("/v1.0/me/chats?$filter=chatType eq 'group'", 400, RuleId::ChatsFilterOther);
        b.refused("/v1.0/me/chats?$filter=id in (oops)", 400, RuleId::ChatsFilterOther);
    }

    the_preview [PreviewNull, PreviewShape, PreviewListOnly] |b| {
        let spec = MessageSpec::html("see").mentioning("alice").with(AttachmentSpec::File { name: "a".into(), url: None });
        b.at(5).say("dm", "alice", &spec);
        let page = b.json("/v1.0/me/chats?$expand=lastMessagePreview");
        let preview = find(&page, b.graph.chat_id("dm").unwrap())["lastMessagePreview"].clone();
        let body = text(&preview["body"]["content"]);
        assert!(body.contains("<at id=\"0\">") && body.contains("<attachment id="), "{body}");
        assert!(preview.get("mentions").is_none() && preview.get("attachments").is_none());
        assert_eq!(preview["isDeleted"], false);
        assert_eq!(preview["createdDateTime"], "2026-01-01T00:00:00.005Z");
        let empty = find(&page, b.graph.chat_id("meet").unwrap());
        assert_eq!(empty.get("lastMessagePreview"), Some(&Value::Null));
        b.at(6).graph.delete(crate::bench::at(6), "dm", &text(&preview["id"])).unwrap();
        let page = b.json("/v1.0/me/chats?$expand=lastMessagePreview");
        let preview = &find(&page, b.graph.chat_id("dm").unwrap())["lastMessagePreview"];
        assert_eq!((&preview["isDeleted"], &preview["body"]["content"]), (&json!(true), &json!("")));
        let path = b.chat("dm", "?$expand=lastMessagePreview");
        b.refused(&path, 400, RuleId::PreviewListOnly);
    }

    members_stop_at_25_when_expanded [MembersCap, MembersList, FederatedMail] |b| {
        for n in 0..40 {
            b.graph.add_person(&format!("p{n}"), &PersonSpec::default()).unwrap();
            b.graph.add_member(b.now, "team", "alice", &format!("p{n}")).unwrap();
        }
        let path = b.chat("team", "?$expand=members");
        assert_eq!(b.json(&path)["members"].as_array().unwrap().len(), 25);
        let page = b.json("/v1.0/me/chats?$expand=members");
        assert_eq!(find(&page, b.graph.chat_id("team").unwrap())["members"].as_array().unwrap().len(), 25);
        let path = b.chat("team", "/members");
        let all = b.json(&path);
        assert_eq!((all["value"].as_array().unwrap().len(), &all["@odata.count"]), (44, &json!(44)));
        let bob = b.graph.person("bob").unwrap().clone();
        let member = all["value"].as_array().unwrap().iter().find(|m| m["userId"] == bob.object_id.as_str()).unwrap();
        assert_eq!((&member["email"], text(&member["tenantId"])), (&Value::Null, bob.tenant_id));
        assert_ne!(text(&member["tenantId"]), b.graph.agent().tenant_id);
        let alice = all["value"].as_array().unwrap().iter().find(|m| m["displayName"] == "Alice").unwrap();
        assert_eq!(alice["email"], "alice@contoso.com");
    }

    one_chat_and_the_date_of_its_update [UpdatedByMembership] |b| {
        let path = b.chat("team", "");
        let before = b.json(&path)["lastUpdatedDateTime"].clone();
        b.at(1000).say("team", "alice", &MessageSpec::html("x"));
        assert_eq!(b.json(&path)["lastUpdatedDateTime"], before);
        b.graph.rename(b.now, "team", "alice", "New").unwrap();
        let after = b.json(&path);
        assert_eq!((&after["topic"], &after["lastUpdatedDateTime"]), (&json!("New"), &json!("2026-01-01T00:00:01.000Z")));
        let last = b.messages("team", "?$top=1");
        assert_eq!(last[0]["eventDetail"]["@odata.type"], "#microsoft.graph.chatRenamedEventMessageDetail");
    }

    somebody_elses_chat_is_not_there [NotAMember] |b| {
        for rest in ["", "/messages", "/members", "/messages/1"] {
            let path = b.chat("secret", rest);
            b.refused(&path, 404, RuleId::NotAMember);
        }
        b.refused("/v1.0/chats/19:nothing@thread.v2", 404, RuleId::NotAMember);
        assert!(!topics(&b.json("/v1.0/me/chats")).contains(&b.graph.chat_id("secret").unwrap().to_owned()));
        b.graph.add_member(b.now, "secret", "alice", AGENT).unwrap();
        let path = b.chat("secret", "");
        assert_eq!(b.json(&path)["chatType"], "group");
        b.graph.remove_member(b.now, "team", "alice", AGENT).unwrap();
        let path = b.chat("team", "/messages");
        b.refused(&path, 404, RuleId::NotAMember);
    }

    pages_are_opaque_links [NextLink, NextLinkTampered] |b| {
        b.graph.set_base_url("http://127.0.0.1:9/").unwrap();
        for n in 0..7 {
            b.at(n).say("dm", "alice", &MessageSpec::html("x"));
        }
        let first = b.json(&format!("/v1.0/me/chats?$top=3&{ORDERED}&$expand=lastMessagePreview"));
        let link = next_link(&first).unwrap();
        assert!(link.starts_with("http://127.0.0.1:9/v1.0/me/chats?$skiptoken="), "{link}");
        let second = b.json(&link);
        assert!(second["value"][0].get("lastMessagePreview").is_some(), "the options are in the link");
        assert_eq!((topics(&first).len(), topics(&second).len(), next_link(&second)), (3, 1, None));
        let path = b.chat("dm", "/messages?$top=3&$orderby=createdDateTime%20desc");
        let page = b.json(&path);
        let link = next_link(&page).unwrap();
        assert_eq!(b.json(&link)["value"].as_array().unwrap().len(), 3);
        let bad = format!("{}x", link.split_at(link.len() - 4).0);
        b.refused(&bad, 400, RuleId::NextLinkTampered);
        let elsewhere = b.chat("far", &format!("/messages?{}", link.split_once('?').unwrap().1));
        b.refused(&elsewhere, 400, RuleId::NextLinkTampered);
        for junk in ["", "%00", "AAAA", "eyJ9"] {
            b.refused(&format!("/v1.0/me/chats?$skiptoken={junk}"), 400, RuleId::NextLinkTampered);
        }
    }

    a_system_event_is_a_preview_too [SystemShape] |b| {
        b.at(9).say("team", "alice", &MessageSpec::event(SystemEventSpec::CallStarted));
        let page = b.json_newer("/v1.0/me/chats?$expand=lastMessagePreview");
        let preview = &find(&page, b.graph.chat_id("team").unwrap())["lastMessagePreview"];
        assert_eq!((&preview["messageType"], &preview["from"]), (&json!("systemEventMessage"), &Value::Null));
    }
}
