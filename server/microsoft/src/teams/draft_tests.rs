//! Tests the records that come of all forms of messages.

use rstest::rstest;
use serde_json::{Value, json};

use super::draft::draft;
use super::wire;
use crate::incoming::Version;
use entraclaw_inbox::gate::{Agent, Guid};
use entraclaw_inbox::record::Draft;

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "BBBBBBBB-0000-0000-0000-00000000000A";
const AGENT: &str = "bbbbbbbb-0000-0000-0000-00000000000c";

fn drafted(change: &dyn Fn(&mut Value)) -> Draft {
    let mut message = json!({
        "id": "1763719200000", "messageType": "message", "createdDateTime": "2026-11-21T10:00:00Z",
        "lastModifiedDateTime": "2026-11-21T10:00:00Z",
        "from": {"user": {"id": ALICE, "displayName": "Alice"}},
        "body": {"contentType": "html", "content": "<p>hello</p>"}
    });
    change(&mut message);
    let agent = Agent { tenant_id: Guid::parse(TENANT), object_id: Guid::parse(AGENT) };
    let now = "2026-11-21T11:00:00Z".parse().unwrap();
    draft("19:x@thread.v2", "group", &wire::message(&message).unwrap(), Version::First, &agent, now)
}

#[test]
fn a_plain_message() {
    let plain = drafted(&|_| {});
    assert_eq!(plain.key, "teams/19:x@thread.v2/1763719200000");
    assert_eq!((plain.content_text_sanitized.as_str(), plain.from.as_str()), ("hello", "Alice"));
    assert_eq!(plain.meta["sender_id"], ALICE.to_lowercase());
    assert_eq!(plain.meta["sender_tenant_id"], TENANT);
    let keys: Vec<&str> = plain.meta.keys().map(String::as_str).collect();
    assert_eq!(keys, ["chat_id", "chat_type", "message_id", "sender_id", "sender_tenant_id", "ts", "user"]);
}

#[test]
fn a_quote_is_an_inner_block_with_its_own_author() {
    let quote = r#"{"messageId":"1700000000000","messagePreview":"<b>launch</b> the rockets",
        "messageSender":{"user":{"id":"x","displayName":"Bob"}}}"#;
    let reply = drafted(&|m| {
        m["body"]["content"] = json!("<attachment id=\"1700000000000\"></attachment><p>no</p>");
        m["attachments"] =
            json!([{"id": "1700000000000", "contentType": "messageReference", "content": quote}]);
    });
    let text = &reply.content_text_sanitized;
    assert!(text.contains("launch") && text.contains("Bob") && text.contains("unverified"), "{text}");
    assert!(text.ends_with("no"), "{text}");
    assert_eq!(reply.meta["reply_to"], "1700000000000");
    assert!(!reply.meta.contains_key("attachments"));
}

#[test]
fn a_forwarded_message_with_a_raw_line_break_in_its_json_is_read() {
    let forwarded = drafted(&|m| {
        m["attachments"] = json!([{
            "id": "f", "contentType": "forwardedMessageReference",
            "content": "{\"originalMessageContent\":\"<p>from\nelsewhere</p>\",\"originalMessageSender\":{\"user\":{\"displayName\":\"Bob\"}}}"
        }]);
    });
    let text = &forwarded.content_text_sanitized;
    assert!(text.contains("elsewhere") && text.contains("Bob"), "{text}");
    assert_eq!(forwarded.meta["attachments"], "forwarded message");
}

#[rstest]
#[case(json!({"contentType": "reference", "name": "../../plan.docx"}), "plan.docx", "file")]
#[case(json!({"contentType": "reference"}), "(no name)", "file")]
#[case(json!({"contentType": "application/vnd.microsoft.card.adaptive", "content": "{\"title\":\"Vote\"}"}), "Vote", "card")]
#[case(json!({"contentType": "application/vnd.microsoft.card.codesnippet", "content": "{\"language\":\"rust\"}"}), "rust", "code snippet")]
#[case(json!({"contentType": "image/png", "name": "cat.png"}), "cat.png", "image")]
#[case(json!({"contentType": "application/x-new"}), "application/x-new", "application/x-new")]
#[case(json!({"contentType": "messageReference", "content": "{broken"}), "unverified", "")]
#[case(json!({}), "", "")]
fn attachments_are_named(#[case] mut attachment: Value, #[case] in_text: &str, #[case] in_meta: &str) {
    attachment["id"] = json!("a-1");
    let with = drafted(&|m| {
        m["body"]["content"] = json!("<p>see</p><attachment id=\"a-1\"></attachment>");
        m["attachments"] = json!([attachment]);
    });
    assert!(with.content_text_sanitized.contains(in_text), "{}", with.content_text_sanitized);
    let meta = with.meta.get("attachments").map_or("", String::as_str);
    assert!(meta.contains(in_meta) && !meta.contains(".."), "{meta}");
}

#[test]
fn nothing_raw_gets_into_the_facts() {
    let hostile = "</channel><b>\n\u{202e}x\u{1b}[31m";
    let dirty = drafted(&|m| {
        m["from"]["user"]["displayName"] = json!(hostile);
        m["subject"] = json!(hostile);
        m["importance"] = json!(hostile);
        m["lastEditedDateTime"] = json!(hostile);
        m["body"]["content"] = json!(format!("<p>{hostile}&lt;/channel&gt;</p>"));
        m["attachments"] =
            json!([{"id": hostile, "contentType": hostile, "name": hostile, "content": hostile}]);
    });
    for (key, value) in dirty.meta.iter().chain([(&"text".to_owned(), &dirty.content_text_sanitized)]) {
        let clean = !value.contains(['<', '>', '\u{202e}', '\u{1b}']);
        assert!(clean && (key == "text" || !value.contains('\n')), "{key}: {value:?}");
    }
    assert!(dirty.meta["sanitized"].contains(':'));
}

#[test]
fn a_mention_of_the_agent_is_a_fact() {
    let mention = drafted(&|m| {
        m["body"]["content"] = json!("<at id=\"0\">Agent</at> hello");
        m["mentions"] =
            json!([{"id": 0, "mentionText": "Agent", "mentioned": {"user": {"id": AGENT.to_uppercase()}}}]);
    });
    assert_eq!(mention.meta["mentions_me"], "true");
}
