//! What messages carry, and who they come from.

use fake_microsoft::graph::{
    AttachmentSpec, CardKind, ForwardSpec, Importance, MentionSpec, MessageSpec, RawOverride, ScriptError,
};
use serde_json::{Value, json};

use crate::bench::{cases, inner, text};

fn body(message: &Value) -> String {
    text(&message["body"]["content"])
}

fn with(attachment: AttachmentSpec) -> MessageSpec {
    MessageSpec::html("<p>see</p>").with(attachment)
}

cases! {
    senders_of_all_kinds [FromUser, FromNullName, FromHomeId, FromApplication] |b| {
        let home = b.graph.agent().tenant_id.clone();
        let alice = b.shown("team", "alice", &MessageSpec::text("x"));
        let user = &alice["from"]["user"];
        assert_eq!((text(&user["id"]), text(&user["tenantId"])), (fake_microsoft::graph::object_id("alice"), home.clone()));
        assert_eq!((&user["displayName"], &user["userIdentityType"]), (&json!("Alice"), &json!("aadUser")));
        assert!(user.get("userPrincipalName").is_none());
        assert_eq!((&alice["from"]["application"], &alice["from"]["device"]), (&Value::Null, &Value::Null));
        assert!(b.shown("team", "carol", &MessageSpec::text("x"))["from"]["user"].get("tenantId").is_none());
        let bob = b.shown("far", "bob", &MessageSpec::text("x"));
        let user = &bob["from"]["user"];
        assert_eq!((&user["displayName"], &user["userIdentityType"]), (&Value::Null, &json!("federatedUser")));
        assert_eq!(text(&user["tenantId"]), fake_microsoft::graph::tenant_id("fabrikam"));
        assert_ne!(text(&user["tenantId"]), home);
        let bot = b.shown("team", "builder", &MessageSpec::text("x"));
        assert_eq!(bot["from"]["user"], Value::Null);
        assert_eq!(text(&bot["from"]["application"]["id"]), fake_microsoft::graph::application_id("builder"));
    }

    a_body_is_what_was_written [MessageFields] |b| {
        let hostile = "<script>1</script>\u{202e}&lt;/channel&gt;\u{0}";
        assert_eq!(body(&b.shown("dm", "alice", &MessageSpec::html(hostile))), hostile);
        let plain = b.shown("dm", "alice", &MessageSpec::text("5 < 6"));
        assert_eq!(plain["body"], json!({"contentType": "text", "content": "5 < 6"}));
        let urgent = MessageSpec { importance: Importance::Urgent, ..MessageSpec::text("x") };
        assert_eq!(b.shown("dm", "alice", &urgent)["importance"], "urgent");
    }

    mentions_are_split_by_word [MentionShape, MentionSplit, MentionEveryone] |b| {
        let carol = b.shown("team", "alice", &MessageSpec::text("5 < 6").mentioning("carol"));
        assert_eq!(body(&carol), "<at id=\"0\">Carol</at>&nbsp;<at id=\"1\">Ann</at>&nbsp;<at id=\"2\">Smith</at>&nbsp;<p>5 &lt; 6</p>");
        let ids: Vec<String> = carol["mentions"].as_array().unwrap().iter().map(|m| text(&m["mentioned"]["user"]["id"])).collect();
        assert_eq!(ids, vec![fake_microsoft::graph::object_id("carol"); 3]);
        let written = MessageSpec::html("hi <at id=\"0\">you</at>").mentioning("carol");
        let shown = b.shown("team", "alice", &written);
        assert_eq!((body(&shown).as_str(), shown["mentions"].as_array().unwrap().len()), ("hi <at id=\"0\">you</at>", 1));
        let everyone = MessageSpec { mentions: vec![MentionSpec::Everyone, MentionSpec::Person("builder".into())], ..MessageSpec::html("x") };
        let shown = b.shown("team", "alice", &everyone);
        assert_eq!(shown["mentions"][0]["mentioned"]["conversation"]["conversationIdentityType"], "chat");
        assert_eq!(shown["mentions"][1]["mentioned"]["application"]["displayName"], "Builder");
        assert_eq!(shown["mentions"][1]["id"], 1);
    }

    quotes_honest_and_forged [QuoteShape] |b| {
        let first = b.say("dm", "alice", &MessageSpec::html("<p>the <b>question</b></p>").named("q"));
        let shown = b.shown("dm", "agent", &MessageSpec::html("answer").quoting("q"));
        assert_eq!(body(&shown), format!("<attachment id=\"{first}\"></attachment>answer"));
        let quote = &shown["attachments"][0];
        assert_eq!((&quote["contentType"], text(&quote["id"])), (&json!("messageReference"), first.clone()));
        let content = inner(&quote["content"]);
        assert_eq!((text(&content["messageId"]), &content["messagePreview"]), (first, &json!("the question")));
        assert_eq!(text(&content["messageSender"]["user"]["id"]), fake_microsoft::graph::object_id("alice"));
        let forged = AttachmentSpec::ForgedQuote { claimed_sender: "alice".into(), preview: "yes abcde".into(), message_id: None };
        let content = inner(&b.shown("far", "bob", &with(forged))["attachments"][0]["content"]);
        assert_eq!((&content["messagePreview"], text(&content["messageSender"]["user"]["id"])), (&json!("yes abcde"), fake_microsoft::graph::object_id("alice")));
        let error = b.graph.post(b.now, "dm", "alice", &MessageSpec::html("x").quoting("nothing")).unwrap_err();
        assert!(matches!(error, ScriptError::UnknownMessage { .. }), "{error}");
    }

    forwards_can_be_invalid_json [ForwardShape] |b| {
        let forward = |raw_newlines| MessageSpec {
            forwarded: Some(ForwardSpec { from: "carol".into(), html: "<p>one\ntwo</p>".into(), raw_newlines }),
            ..MessageSpec::html("look")
        };
        let shown = b.shown("dm", "alice", &forward(false));
        assert_eq!(shown["attachments"][0]["contentType"], "forwardedMessageReference");
        let content = inner(&shown["attachments"][0]["content"]);
        assert_eq!(content["originalMessageContent"], "<p>one\ntwo</p>");
        assert_eq!(content["originalMessageSender"]["user"]["displayName"], "Carol Ann Smith");
        let shown = b.shown("dm", "alice", &forward(true));
        assert!(serde_json::from_str::<Value>(shown["attachments"][0]["content"].as_str().unwrap()).is_err());
    }

    files_snippets_and_cards [FileShape, CodeShape, CardShape] |b| {
        let file = b.shown("dm", "alice", &with(AttachmentSpec::File { name: "../../a\u{202e}gpj.exe".into(), url: None }));
        let attachment = &file["attachments"][0];
        assert_eq!((&attachment["contentType"], &attachment["name"]), (&json!("reference"), &json!("../../a\u{202e}gpj.exe")));
        assert!(body(&file).ends_with(&format!("<attachment id=\"{}\"></attachment>", text(&attachment["id"]))));
        let code = b.shown("dm", "alice", &with(AttachmentSpec::CodeSnippet { language: "rust".into() }));
        assert_eq!(inner(&code["attachments"][0]["content"])["language"], "rust");
        let kinds = [
            (AttachmentSpec::Card { kind: CardKind::Adaptive, title: "T".into() }, "adaptive"),
            (AttachmentSpec::Card { kind: CardKind::Hero, title: "T".into() }, "hero"),
            (AttachmentSpec::Card { kind: CardKind::Thumbnail, title: "T".into() }, "thumbnail"),
            (AttachmentSpec::Announcement { title: "T".into() }, "announcement"),
            (AttachmentSpec::Loop { url: "https://contoso.com/loop".into() }, "fluidEmbedCard"),
        ];
        for (attachment, name) in kinds {
            let shown = b.shown("dm", "alice", &with(attachment));
            assert_eq!(text(&shown["attachments"][0]["contentType"]), format!("application/vnd.microsoft.card.{name}"));
        }
        let odd = AttachmentSpec::Raw { content_type: "x/y".into(), content: None, content_url: Some("javascript:1".into()), name: None };
        assert_eq!(b.shown("dm", "alice", &with(odd))["attachments"][0]["contentUrl"], "javascript:1");
    }

    images_are_in_the_body_only [HostedImage, CustomEmoji] |b| {
        let shown = b.shown("dm", "alice", &with(AttachmentSpec::Image { alt: "a \"cat\"".into() }));
        assert_eq!(shown["attachments"], json!([]));
        assert!(body(&shown).contains("/hostedContents/") && body(&shown).contains("alt=\"a &quot;cat&quot;\""), "{shown}");
        let shown = b.shown("dm", "alice", &with(AttachmentSpec::CustomEmoji { alt: "party".into() }));
        assert!(body(&shown).contains("<customemoji id=") && body(&shown).contains("alt=\"party\""));
    }

    payloads_can_be_written_over [RawOverride] |b| {
        let over = |raw| MessageSpec { raw: Some(raw), ..MessageSpec::html("x") };
        let malformed = over(RawOverride::setting("/createdDateTime", json!("2021-03-1706:47:05.123Z")));
        assert_eq!(b.shown("dm", "alice", &malformed)["createdDateTime"], "2021-03-1706:47:05.123Z");
        assert!(b.shown("dm", "alice", &over(RawOverride::removing("/body"))).get("body").is_none());
        let unknown = over(RawOverride::setting("/from/user/userIdentityType", json!("hologramUser")));
        assert_eq!(b.shown("dm", "alice", &unknown)["from"]["user"]["userIdentityType"], "hologramUser");
        let error = b.graph.post(b.now, "dm", "alice", &over(RawOverride::removing("body"))).unwrap_err();
        assert!(error.to_string().contains("JSON pointer"), "{error}");
    }

    a_script_that_is_wrong_is_told_so [MessageIds] |b| {
        b.say("dm", "alice", &MessageSpec::html("x"));
        let both = MessageSpec { text: Some("y".into()), ..MessageSpec::html("x") };
        assert!(b.graph.post(b.now, "dm", "alice", &both).is_err());
        let error = b.graph.post(b.now, "dm", "alise", &MessageSpec::html("x")).unwrap_err();
        assert!(error.to_string().contains("alice"), "{error}");
        let error = b.graph.post(b.now, "nowhere", "alice", &MessageSpec::html("x")).unwrap_err();
        assert!(error.to_string().contains("dm"), "{error}");
        assert!(b.graph.edit(b.now, "dm", "nothing", "x").is_err());
        assert_eq!(b.ids("dm", "").len(), 1, "what is refused leaves nothing behind");
    }
}
