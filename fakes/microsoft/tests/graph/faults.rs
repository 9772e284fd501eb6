//! Faults that a scenario orders.

use fake_microsoft::graph::{
    Answer, ErrorBody, Fate, FaultAction, FaultSpec, MessageSpec, Operation, RetryAfterForm, RuleId,
};
use serde_json::{Value, json};

use crate::bench::{Bench, cases, next_link};

fn status(code: u16, body: ErrorBody) -> FaultAction {
    FaultAction::Status { code, retry_after_s: None, form: RetryAfterForm::Seconds, body }
}

/// Orders a fault on the first listing of chats and gives back that answer.
fn listing(b: &mut Bench, action: FaultAction) -> Answer {
    b.graph.clear_faults();
    b.graph.add_fault(FaultSpec::on(Operation::ListChats, action).first(1)).unwrap();
    b.get("/v1.0/me/chats?$top=2")
}

cases! {
    statuses_of_all_kinds [FaultStatus, FaultHtml, FaultEmptyBody] |b| {
        for code in [429, 500, 502, 503, 504, 507] {
            let answer = listing(b, status(code, ErrorBody::Envelope));
            b.check_refusal(&answer, code, RuleId::FaultStatus);
            assert_eq!(b.get("/v1.0/me/chats").status, 200, "only the first");
        }
        let html = listing(b, status(503, ErrorBody::Html));
        assert!(html.header("content-type").unwrap().starts_with("text/html") && html.body.starts_with(b"<html>"));
        let empty = listing(b, status(502, ErrorBody::Empty));
        assert_eq!((empty.status, empty.body.len(), empty.header("content-type")), (502, 0, None));
        let empty = listing(b, FaultAction::EmptyBody);
        assert_eq!((empty.status, empty.body.len()), (200, 0));
        let dated = FaultAction::Status { code: 503, retry_after_s: Some(30), form: RetryAfterForm::HttpDate, body: ErrorBody::Html };
        assert_eq!(listing(b, dated).header("retry-after"), Some("Thu, 01 Jan 2026 00:00:30 GMT"));
    }

    bodies_that_are_broken [FaultTruncated, FaultHalfCharacter, FaultContentType, FaultMissing, FaultBody] |b| {
        let whole = b.get("/v1.0/me/chats?$top=2").body;
        let cut = listing(b, FaultAction::TruncatedJson { keep_percent: 50 });
        assert!(cut.status == 200 && cut.json() == Value::Null && whole.starts_with(&cut.body));
        assert_eq!(cut.body.len(), whole.len() / 2);
        let half = listing(b, FaultAction::HalfCharacter { behind: "oneOnOne".into() });
        let text = String::from_utf8(half.body.clone()).unwrap();
        assert!(half.json() == Value::Null && text.contains("oneOnOne\\ud83d\""), "{text}");
        let odd = listing(b, FaultAction::WrongContentType { content_type: "text/plain".into() });
        assert_eq!(odd.header("content-type"), Some("text/plain"));
        let less = listing(b, FaultAction::MissingFields { fields: vec!["id".into(), "chatType".into()] }).json();
        assert!(less["value"].as_array().unwrap().iter().all(|c| c.get("id").is_none() && c.get("topic").is_some()));
        assert_eq!(less["value"].as_array().unwrap().len(), 2);
        b.graph.add_fault(FaultSpec::on(Operation::Me, FaultAction::MissingFields { fields: vec!["id".into()] })).unwrap();
        assert!(b.json("/v1.0/me").get("id").is_none());
        let any = FaultAction::Body { status: 200, content_type: "application/json".into(), text: "[1,2".into() };
        assert_eq!(listing(b, any).body, b"[1,2");
    }

    pages_that_are_odd [FaultForeignLink, FaultHugePage, FaultDuplicatePage, FaultEmptyPage] |b| {
        let first = b.json("/v1.0/me/chats?$top=2");
        let foreign = listing(b, FaultAction::ForeignNextLink { url: "https://evil.example/v1.0/me/chats".into() }).json();
        assert_eq!(next_link(&foreign).as_deref(), Some("https://evil.example/v1.0/me/chats"));
        let huge = listing(b, FaultAction::HugePage { bytes: 3_000_000 });
        assert!(huge.body.len() > 3_000_000 && huge.json()["value"] == first["value"]);
        let page = listing(b, FaultAction::DuplicatePage).json();
        assert_eq!(page["value"], first["value"]);
        let again = b.json(&next_link(&page).unwrap());
        assert_eq!(again, first, "the second time it is an ordinary page");
        let empty = listing(b, FaultAction::EmptyPage).json();
        assert_eq!(empty["value"], json!([]));
        assert_eq!(b.json(&next_link(&empty).unwrap()), first);
    }

    slow_answers [FaultSlow] |b| {
        let slow = listing(b, FaultAction::Slow { delay_ms: 30_000 });
        assert_eq!((slow.status, slow.delay_ms), (200, 30_000));
        assert_eq!(b.get("/v1.0/me/chats").delay_ms, 0);
    }

    connections_that_break [FaultResetBefore, FaultResetAfter] |b| {
        let path = b.chat("dm", "/messages");
        let body = json!({"body": {"content": "x"}});
        b.graph.add_fault(FaultSpec::on(Operation::SendMessage, FaultAction::ResetBeforeApply).first(1)).unwrap();
        assert_eq!(b.send("POST", &path, &body).fate, Fate::DroppedBeforeApply);
        assert!(b.graph.messages_sent_by_agent().is_empty() && b.ids("dm", "").is_empty());
        b.graph.clear_faults();
        b.graph.add_fault(FaultSpec::on(Operation::SendMessage, FaultAction::ResetAfterApply).first(1)).unwrap();
        assert_eq!(b.send("POST", &path, &body).fate, Fate::DroppedAfterApply);
        assert_eq!((b.graph.messages_sent_by_agent().len(), b.ids("dm", "").len()), (1, 1));
        assert_eq!(b.send("POST", &path, &body).status, 201);
        assert_eq!(b.graph.call_log().filter(|c| c.fate != Fate::Delivered).count(), 2);
    }

    the_order_that_a_peer_saw_refused [FaultOrderby] |b| {
        b.graph.add_fault(FaultSpec::always(FaultAction::OrderbyRefused)).unwrap();
        b.refused("/v1.0/me/chats?$orderby=lastMessagePreview/createdDateTime%20desc", 400, RuleId::FaultOrderby);
        assert_eq!(b.get("/v1.0/me/chats").status, 200);
        let path = b.chat("dm", "/messages?$orderby=createdDateTime%20desc");
        assert_eq!(b.get(&path).status, 200);
    }

    a_challenge_on_order [ClaimsChallenge] |b| {
        let answer = listing(b, FaultAction::ClaimsChallenge { claims: "{}".into() });
        assert_eq!((answer.status, b.get("/v1.0/me/chats").status), (401, 200));
    }

    scopes_of_faults [FaultEmptyBody] |b| {
        b.say("dm", "alice", &MessageSpec::text("x"));
        let (dm, far) = (b.chat("dm", "/messages"), b.chat("far", "/messages"));
        let on = |b: &mut Bench, spec: FaultSpec| {
            b.graph.clear_faults();
            b.graph.add_fault(spec).unwrap();
        };
        let all = FaultSpec::always(FaultAction::EmptyBody);
        on(b, FaultSpec { path: Some("/v1.0/chats/*/messages".into()), ..all.clone() });
        assert!(b.get(&dm).body.is_empty() && b.get(&far).body.is_empty() && !b.get("/v1.0/me").body.is_empty());
        on(b, FaultSpec { chat: Some("dm".into()), ..all.clone() });
        assert!(b.get(&dm).body.is_empty() && !b.get(&far).body.is_empty());
        on(b, FaultSpec { from_ms: Some(10), until_ms: Some(20), ..all.clone() });
        let empty: Vec<bool> = [9, 10, 19, 20].map(|ms| b.at(ms).get(&dm).body.is_empty()).to_vec();
        assert_eq!(empty, [false, true, true, false]);
        on(b, FaultSpec { probability: Some(0.5), ..all.clone() });
        let hits = (0..200).filter(|_| b.get("/v1.0/me").body.is_empty()).count();
        assert!((60..140).contains(&hits), "{hits}");
        assert!(b.graph.add_fault(FaultSpec { chat: Some("nowhere".into()), ..all.clone() }).is_err());
        // Several faults at once: the first that answers wins, what only spoils is added.
        b.graph.clear_faults();
        b.graph.add_fault(FaultSpec::always(FaultAction::Slow { delay_ms: 5 })).unwrap();
        b.graph.add_fault(FaultSpec::always(status(500, ErrorBody::Envelope))).unwrap();
        let answer = b.get("/v1.0/me");
        assert_eq!((answer.status, answer.delay_ms), (500, 5));
    }
}
