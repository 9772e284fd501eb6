//! The mailbox.

use fake_microsoft::graph::{
    Answer, DeltaLoss, FaultAction, FaultSpec, MailAuth, MailEncryption, MailSpec, MailboxSpec, Operation,
    RawOverride, Request, RuleId, ThrottleSpec, object_id,
};
use serde_json::{Value, json};

use crate::bench::{Bench, TOKEN, cases, next_link, text};

const DELTA: &str = "/v1.0/me/mailFolders/inbox/messages/delta";
const IMMUTABLE: &str = "odata.maxpagesize=2, IdType=\"ImmutableId\"";

fn mailbox(b: &mut Bench, spec: &MailboxSpec) {
    b.graph.open_mailbox(b.now, spec).unwrap();
}

fn mail(b: &mut Bench, subject: &str) -> String {
    mail_as(b, subject, &MailSpec::default())
}

fn mail_as(b: &mut Bench, subject: &str, spec: &MailSpec) -> String {
    let spec = MailSpec { subject: subject.to_owned(), handle: Some(subject.to_owned()), ..spec.clone() };
    b.graph.mail(b.now, "alice", &spec).unwrap()
}

fn ask(b: &mut Bench, method: &str, path: &str, body: Option<&Value>) -> Answer {
    let request = Request::new(method, path).bearer(TOKEN).header("Prefer", IMMUTABLE);
    b.ask(&body.map_or(request.clone(), |body| request.json(body)))
}

fn get(b: &mut Bench, path: &str) -> Value {
    let answer = ask(b, "GET", path, None);
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer.json()
}

/// All items of a round with the number of its pages, and the link for the next.
fn round(b: &mut Bench, link: &str) -> (Vec<Value>, usize, String) {
    let (mut items, mut pages, mut link) = (Vec::new(), 0, link.to_owned());
    loop {
        let page = get(b, &link);
        pages += 1;
        items.extend(page["value"].as_array().cloned().unwrap());
        match next_link(&page) {
            Some(next) => {
                assert!(page.get("@odata.deltaLink").is_none());
                link = next;
            }
            None => return (items, pages, text(&page["@odata.deltaLink"])),
        }
    }
}

fn subjects(items: &[Value]) -> Vec<String> {
    let mut subjects: Vec<String> = items.iter().map(|item| text(&item["subject"])).collect();
    subjects.sort();
    subjects
}

fn header(mail: &Value, name: &str) -> Vec<String> {
    let list = mail["internetMessageHeaders"].as_array().unwrap();
    list.iter().filter(|h| h["name"] == name).map(|h| text(&h["value"])).collect()
}

fn whole(b: &mut Bench, id: &str) -> Value {
    get(
        b,
        &format!(
            "/v1.0/me/messages/{id}?$select=subject,body,uniqueBody,internetMessageHeaders,replyTo&$expand=attachments"
        ),
    )
}

cases! {
    without_a_mailbox_there_is_nothing [MailboxMissing] |b| {
        let answer = b.get(DELTA);
        b.check_refusal(&answer, 404, RuleId::MailboxMissing);
        assert_eq!(answer.json()["error"]["code"], "MailboxNotEnabledForRESTAPI");
    }

    rounds_of_pages_tell_everything_once [MailDelta, MailDeltaLinks, MailDeltaUnordered, MailPageSize] |b| {
        mailbox(b, &MailboxSpec::default());
        for n in 0..5 { mail(b, &format!("m{n}")); }
        let (items, pages, link) = round(b, DELTA);
        assert_eq!((subjects(&items), pages), (vec!["m0".into(), "m1".into(), "m2".into(), "m3".into(), "m4".into()], 3));
        assert_ne!(items.iter().map(|i| text(&i["subject"])).collect::<Vec<_>>(), subjects(&items), "the order means nothing");
        let (items, pages, link) = round(b, &link);
        assert_eq!((items.len(), pages), (0, 1));
        // Also what comes in the very millisecond of a question is told once.
        mail(b, "m5");
        let (items, _, link) = round(b, &link);
        assert_eq!(subjects(&items), ["m5"]);
        assert!(round(b, &link).0.is_empty());
    }

    a_late_mail_is_told_when_it_is_seen [MailDelta] |b| {
        mailbox(b, &MailboxSpec::default());
        mail_as(b, "late", &MailSpec { visible_after_ms: 30_000, ..MailSpec::default() });
        let (items, _, link) = round(b, DELTA);
        assert!(items.is_empty());
        let (items, _, link) = round(b.at(30_000), &link);
        assert_eq!(items[0]["receivedDateTime"], "2026-01-01T00:00:00Z");
        assert!(round(b, &link).0.is_empty());
    }

    a_page_has_ten_mails_when_nobody_asks [MailPageDefault] |b| {
        mailbox(b, &MailboxSpec::default());
        for n in 0..12 { mail(b, &format!("m{n}")); }
        assert_eq!(b.json(DELTA)["value"].as_array().unwrap().len(), 10);
        b.graph.open_mailbox(b.now, &MailboxSpec { page_items_max: Some(3), ..MailboxSpec::default() }).unwrap();
        for n in 0..4 { mail(b, &format!("m{n}")); }
        assert_eq!(b.json(DELTA)["value"].as_array().unwrap().len(), 3);
    }

    what_may_be_asked_of_a_delta [MailDeltaOptions, MailDeltaFilter, MailDeltaTampered] |b| {
        mailbox(b, &MailboxSpec::default());
        mail_as(b, "old", &MailSpec { received_ago_ms: 60_000, ..MailSpec::default() });
        mail(b, "new");
        for query in ["$search=x", "$count=true", "$orderby=receivedDateTime asc", "$filter=isRead eq false", "$filter=receivedDateTime le 2026-01-01T00:00:00Z", "$filter=receivedDateTime ge today"] {
            b.refused(&format!("{DELTA}?{query}"), 400, RuleId::MailDeltaOptions);
        }
        for query in ["$skiptoken=abc", "$deltatoken=abc", "$deltatoken="] {
            b.refused(&format!("{DELTA}?{query}"), 400, RuleId::MailDeltaTampered);
        }
        let filtered = format!("{DELTA}?$select=subject&$orderby=receivedDateTime desc&$filter=receivedDateTime ge 2026-01-01T00:00:00Z");
        let (items, _, link) = round(b, &filtered);
        assert_eq!(subjects(&items), ["new"]);
        assert_eq!(items[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["id", "subject"]);
        // The link keeps what was asked at first.
        mail_as(b, "older", &MailSpec { received_ago_ms: 1, ..MailSpec::default() });
        mail(b, "newer");
        assert_eq!(subjects(&round(b, &link).0), ["newer"]);
        let answer = b.get("/v1.0/me/mailFolders/archive/messages/delta");
        assert_eq!(answer.status, 404);
    }

    the_list_of_the_inbox_has_pages_and_says_nothing_of_changes [MailList, MailListOptions] |b| {
        const LIST: &str = "/v1.0/me/mailFolders/inbox/messages";
        mailbox(b, &MailboxSpec::default());
        assert_eq!(b.json(LIST)["value"], json!([]));
        mail_as(b, "older", &MailSpec { received_ago_ms: 60_000, ..MailSpec::default() });
        mail_as(b, "late", &MailSpec { visible_after_ms: 30_000, ..MailSpec::default() });
        for n in 0..11 { mail(b, &format!("m{n}")); }
        let page = b.json(&format!("{LIST}?$top=1&$select=id"));
        assert_eq!(page["value"][0].as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
        let first = b.json(LIST);
        assert_eq!(first["value"].as_array().unwrap().len(), 10);
        assert!(first.get("@odata.deltaLink").is_none());
        let second = b.json(&next_link(&first).unwrap());
        assert_eq!(subjects(second["value"].as_array().unwrap()), ["m0", "older"]);
        assert!(next_link(&second).is_none());
        let all = b.at(30_000).json(&format!("{LIST}?$top=1000"));
        assert_eq!(all["value"].as_array().unwrap().len(), 13);
        for query in ["$top=0", "$top=1001", "$skip=x", "$filter=isRead eq false", "$orderby=subject"] {
            b.refused(&format!("{LIST}?{query}"), 400, RuleId::MailListOptions);
        }
        assert_eq!(b.get("/v1.0/me/mailFolders/archive/messages").status, 404);
    }

    rough_edges_of_a_round [MailDeltaDuplicates, MailDeltaReplay, MailEmptyPage] |b| {
        mailbox(b, &MailboxSpec { duplicates: true, replays: true, empty_pages: 2, ..MailboxSpec::default() });
        mail(b, "a");
        let (items, pages, link) = round(b, DELTA);
        assert_eq!((subjects(&items), pages), (vec!["a".into(), "a".into()], 3));
        mail(b, "b");
        let (items, pages, _) = round(b, &link);
        assert_eq!((subjects(&items), pages), (vec!["a".into(), "a".into(), "b".into(), "b".into()], 4));
    }

    changes_are_partial_and_removals_say_why [MailPartial, MailRemoved] |b| {
        mailbox(b, &MailboxSpec::default());
        for name in ["read", "moved", "deleted"] { mail(b, name); }
        let (_, _, link) = round(b, DELTA);
        b.at(1000).graph.mark_mail(crate::bench::at(1000), "read", true).unwrap();
        b.graph.remove_mail(b.now, "moved", false).unwrap();
        b.graph.remove_mail(b.now, "deleted", true).unwrap();
        let (items, _, _) = round(b, &link);
        let of = |key: &str| items.iter().filter(|i| i.get(key).is_some()).cloned().collect::<Vec<_>>();
        assert_eq!(of("isRead")[0]["isRead"], "true");
        assert!(of("isRead")[0].get("subject").is_none());
        let mut reasons: Vec<String> = of("@removed").iter().map(|i| text(&i["@removed"]["reason"])).collect();
        reasons.sort();
        assert_eq!(reasons, ["changed", "deleted"]);
        // In a first round what is gone is shown as removed too.
        let (items, _, _) = round(b, DELTA);
        assert_eq!(items.iter().filter(|i| i.get("@removed").is_some()).count(), 2);
        assert!(b.graph.mark_mail(b.now, "nobody", true).is_err());
    }

    a_lost_state_is_told_in_two_ways [MailDeltaGone, MailStateNotFound] |b| {
        mailbox(b, &MailboxSpec::default());
        mail(b, "a");
        let (_, _, link) = round(b, DELTA);
        b.graph.lose_mail_delta(DeltaLoss::Gone).unwrap();
        let answer = b.get(&link);
        b.check_refusal(&answer, 410, RuleId::MailDeltaGone);
        assert_eq!(answer.json()["error"]["code"], "resyncRequired");
        assert!(answer.header("location").unwrap().ends_with("/messages/delta?$deltatoken="));
        let (_, _, link) = round(b, DELTA);
        b.graph.lose_mail_delta(DeltaLoss::NotFound).unwrap();
        let answer = b.get(&link);
        b.check_refusal(&answer, 400, RuleId::MailStateNotFound);
        assert_eq!(answer.json()["error"]["code"], "syncStateNotFound");
        assert_eq!(subjects(&round(b, DELTA).0), ["a"]);
    }

    ids_survive_a_move_only_when_asked [MailImmutableId, MailIdMoves, MailGone] |b| {
        mailbox(b, &MailboxSpec::default());
        let id = mail(b, "a");
        let first = text(&b.json(DELTA)["value"][0]["id"]);
        assert_ne!(first, id);
        b.graph.remove_mail(b.now, "a", false).unwrap();
        b.refused(&format!("/v1.0/me/messages/{first}"), 404, RuleId::MailGone);
        assert_eq!(text(&whole(b, &id)["id"]), id);
        assert_ne!(text(&b.json(&format!("/v1.0/me/messages/{id}"))["id"]), id);
        b.graph.remove_mail(b.now, "a", true).unwrap();
        b.refused(&format!("/v1.0/me/messages/{id}"), 404, RuleId::MailGone);
    }

    a_mail_in_full [MailFields, MailHeadersSingle, MailAttachments, MailInvitation, RawOverride] |b| {
        mailbox(b, &MailboxSpec::default());
        let spec = MailSpec {
            html: Some("<p>new</p><p>old</p>".to_owned()),
            unique: Some("<p>new</p>".to_owned()),
            attachments: vec!["a.pdf".to_owned()],
            invitation: true,
            raw: Some(RawOverride::setting("/replyTo", json!(7))),
            ..MailSpec::default()
        };
        let id = mail_as(b, "a", &spec);
        let shown = whole(b, &id);
        assert_eq!(shown["uniqueBody"]["content"], "<p>new</p>");
        assert_eq!((&shown["attachments"][0]["name"], &shown["replyTo"]), (&json!("a.pdf"), &json!(7)));
        assert_eq!(shown["@odata.type"], "#microsoft.graph.eventMessageRequest");
        let usual = get(b, &format!("/v1.0/me/messages/{id}"));
        assert_eq!(usual["from"]["emailAddress"], json!({"name": "Alice", "address": "alice@contoso.com"}));
        assert!(usual.get("uniqueBody").is_none() && usual.get("internetMessageHeaders").is_none());
        let listed = get(b, &format!("{DELTA}?$select=internetMessageHeaders"));
        assert!(listed["value"][0].get("internetMessageHeaders").is_none());
        b.refused(&format!("/v1.0/me/messages/{id}?$expand=body"), 400, RuleId::MailAttachments);
    }

    what_the_mail_system_writes_into_a_mail [MailFields] |b| {
        mailbox(b, &MailboxSpec::default());
        let as_ = |b: &mut Bench, auth: MailAuth, encrypted: Option<MailEncryption>| {
            let id = mail_as(b, "a", &MailSpec { auth, encrypted, ..MailSpec::default() });
            let shown = whole(b, &id);
            let names = shown["attachments"].as_array().unwrap().iter().map(|a| text(&a["name"])).collect::<Vec<_>>();
            (header(&shown, "Authentication-Results"), header(&shown, "X-MS-Exchange-Organization-AuthAs"), names)
        };
        let (results, inner, _) = as_(b, MailAuth::Auto, None);
        assert!(results[0].contains("dmarc=none") && inner == ["Internal"]);
        for (auth, word) in [(MailAuth::Pass, "dmarc=pass"), (MailAuth::Fail, "dmarc=fail"), (MailAuth::None, "dmarc=none"), (MailAuth::Composite, "compauth=pass")] {
            let (results, inner, _) = as_(b, auth, None);
            assert!(results.len() == 1 && results[0].contains(word) && inner == ["Anonymous"], "{results:?}");
        }
        let (results, ..) = as_(b, MailAuth::Forged, None);
        assert!(results[0].contains("dmarc=fail") && results[1].contains("dmarc=pass"));
        let (results, ..) = as_(b, MailAuth::ForgedBelowRelay, None);
        assert!(results[0].starts_with("mx.relay.example; ") && results[1].contains("dmarc=pass"), "{results:?}");
        let (results, inner, _) = as_(b, MailAuth::ForgedInternal, None);
        assert!(results[0].contains("dmarc=none") && inner == ["Anonymous", "Internal"], "{inner:?}");
        let (results, ..) = as_(b, MailAuth::OtherDomain, None);
        assert!(results[0].contains("dmarc=pass action=none header.from=mallory.example"), "{results:?}");
        let (results, ..) = as_(b, MailAuth::TwoVerdicts, None);
        assert!(results[0].contains("dmarc=none") && results[0].contains("dmarc=pass"), "{results:?}");
        assert_eq!(as_(b, MailAuth::Internal, Some(MailEncryption::Rights)).2, ["message.rpmsg"]);
        assert_eq!(as_(b, MailAuth::Internal, Some(MailEncryption::Smime)).2, ["smime.p7m"]);
        let id = b.graph.mail(b.now, "bob", &MailSpec::default()).unwrap();
        assert!(header(&whole(b, &id), "Authentication-Results")[0].contains("dmarc=pass"));
    }

    a_draft_is_made_changed_and_sent_once [MailDraft, MailEditDraft, MailSend, MailSendOnce, MailSendNobody, MailSentLate, MailOwnHeaders, MailInvalid] |b| {
        mailbox(b, &MailboxSpec { sent_delay_ms: 3_000, ..MailboxSpec::default() });
        let path = "/v1.0/me/messages";
        for (body, rule) in [
            (json!({"subject": 5}), RuleId::MailInvalid),
            (json!({"body": {"contentType": "rtf", "content": "x"}}), RuleId::MailInvalid),
            (json!({"body": {}}), RuleId::MailInvalid),
            (json!({"toRecipients": [{"name": "x"}]}), RuleId::MailInvalid),
            (json!({"internetMessageHeaders": [{"name": "Auto-Submitted", "value": "auto-replied"}]}), RuleId::MailOwnHeaders),
        ] {
            let answer = ask(b, "POST", path, Some(&body));
            b.check_refusal(&answer, 400, rule);
        }
        let draft = json!({"subject": "s", "body": {"contentType": "html", "content": "<p>x</p>"},
            "internetMessageHeaders": [{"name": "X-Mine", "value": "1"}]});
        let answer = ask(b, "POST", path, Some(&draft));
        assert_eq!((answer.status, &answer.json()["isDraft"]), (201, &json!(true)));
        let id = text(&answer.json()["id"]);
        let send = format!("{path}/{id}/send");
        let answer = ask(b, "POST", &send, None);
        b.check_refusal(&answer, 400, RuleId::MailSendNobody);
        let to = json!({"toRecipients": [{"emailAddress": {"address": "alice@contoso.com"}}]});
        let answer = ask(b, "PATCH", &format!("{path}/{id}"), Some(&to));
        assert_eq!((answer.status, &answer.json()["subject"]), (200, &json!("s")));
        let answer = ask(b, "PATCH", &format!("{path}/{id}"), Some(&json!({"internetMessageHeaders": [{"name": "x-a", "value": "1"}]})));
        b.check_refusal(&answer, 400, RuleId::MailOwnHeaders);
        assert_eq!(ask(b, "POST", &send, None).status, 202);
        assert_eq!(ask(b, "POST", &send, None).status, 404, "it is nowhere now");
        let shown = get(b.at(3_000), &format!("{path}/{id}?$select=isDraft"));
        assert_eq!(shown["isDraft"], false);
        let answer = ask(b, "POST", &send, None);
        b.check_refusal(&answer, 400, RuleId::MailSendOnce);
        let answer = ask(b, "PATCH", &format!("{path}/{id}"), Some(&to));
        b.check_refusal(&answer, 400, RuleId::MailEditDraft);
        let sent = b.graph.mails_sent_by_agent();
        assert_eq!(sent.len(), 1);
        assert_eq!((sent[0].message_id.as_str(), sent[0].to.as_slice()), (id.as_str(), &["alice@contoso.com".to_owned()][..]));
        assert_eq!(sent[0].headers, [("X-Mine".to_owned(), "1".to_owned())]);
    }

    an_answer_stays_in_its_conversation [MailReplyDraft, MailReplyBoth, MailReply] |b| {
        mailbox(b, &MailboxSpec::default());
        let id = mail(b, "q");
        let elsewhere = MailSpec { reply_to: vec!["other@contoso.com".to_owned()], answers: Some("q".to_owned()), ..MailSpec::default() };
        let other = mail_as(b, "RE: q", &elsewhere);
        let both = json!({"comment": "x", "message": {"body": {"content": "y"}}});
        let answer = ask(b, "POST", &format!("/v1.0/me/messages/{id}/createReply"), Some(&both));
        b.check_refusal(&answer, 400, RuleId::MailReplyBoth);
        let draft = ask(b, "POST", &format!("/v1.0/me/messages/{id}/createReply"), Some(&json!({})));
        let shown = get(b, &format!("/v1.0/me/messages/{id}"));
        assert_eq!((draft.status, &draft.json()["subject"]), (201, &json!("RE: q")));
        assert_eq!(draft.json()["conversationId"], shown["conversationId"]);
        assert_eq!(draft.json()["toRecipients"][0]["emailAddress"]["address"], "alice@contoso.com");
        let draft = ask(b, "POST", &format!("/v1.0/me/messages/{other}/createReply"), Some(&json!({}))).json();
        assert_eq!((&draft["subject"], &draft["toRecipients"][0]["emailAddress"]["address"]), (&json!("RE: q"), &json!("other@contoso.com")));
        let answer = ask(b, "POST", &format!("/v1.0/me/messages/{id}/reply"), Some(&json!({"comment": "ok"})));
        assert_eq!((answer.status, answer.body.len()), (202, 0));
        let sent = b.graph.mails_sent_by_agent();
        assert!(sent.len() == 1 && sent[0].answers == Some(text(&shown["internetMessageId"])) && sent[0].content.starts_with("ok"));
    }

    a_mail_to_oneself_arrives [MailToOneself] |b| {
        mailbox(b, &MailboxSpec::default());
        let mail = json!({"subject": "me", "toRecipients": [{"emailAddress": {"address": "Agent@contoso.com"}}]});
        let id = text(&ask(b, "POST", "/v1.0/me/messages", Some(&mail)).json()["id"]);
        assert_eq!(ask(b, "POST", &format!("/v1.0/me/messages/{id}/send"), None).status, 202);
        assert_eq!(subjects(&round(b, DELTA).0), ["me"]);
    }

    four_requests_at_a_time [ThrottleMailboxConcurrency] |b| {
        mailbox(b, &MailboxSpec::default());
        b.limited();
        b.graph.add_fault(FaultSpec::on(Operation::MailDelta, FaultAction::Slow { delay_ms: 1_000 })).unwrap();
        let statuses: Vec<u16> = (0..6).map(|_| ask(b, "GET", DELTA, None).status).collect();
        assert_eq!(statuses, [200, 200, 200, 200, 429, 429]);
        let answer = b.get(DELTA);
        assert_eq!((answer.header("retry-after"), &answer.json()["error"]["code"]), (Some("1"), &json!("ApplicationThrottled")));
        assert_eq!(ask(b.at(1_000), "GET", DELTA, None).status, 200);
    }

    ten_thousand_in_ten_minutes [ThrottleMailbox] |b| {
        mailbox(b, &MailboxSpec::default());
        b.graph.set_throttle(ThrottleSpec { retry_after_s: Some(5), ..ThrottleSpec::default() });
        let refused = (0..10_010).position(|n| ask(b.at(n * 10), "GET", DELTA, None).status == 429);
        assert_eq!(refused, Some(10_000));
    }

    only_with_the_scopes_for_it [ScopeMissing, Me] |b| {
        mailbox(b, &MailboxSpec { aliases: vec!["helper@contoso.com".to_owned()], ..MailboxSpec::default() });
        let id = mail(b, "a");
        b.graph.set_scopes(&["Mail.Read", "User.Read"]);
        assert_eq!(ask(b, "GET", DELTA, None).status, 200);
        assert_eq!(ask(b, "GET", &format!("/v1.0/users/{}/messages/{id}", object_id("agent")), None).status, 200);
        let answer = ask(b, "POST", "/v1.0/me/messages", Some(&json!({})));
        b.check_refusal(&answer, 403, RuleId::ScopeMissing);
        let answer = ask(b, "POST", &format!("/v1.0/me/messages/{id}/send"), None);
        b.check_refusal(&answer, 403, RuleId::ScopeMissing);
        let me = get(b, "/v1.0/me?$select=mail,proxyAddresses");
        assert_eq!(me["proxyAddresses"], json!(["SMTP:agent@contoso.com", "smtp:helper@contoso.com"]));
        assert_eq!(ask(b, "DELETE", DELTA, None).status, 405);
    }
}
