//! Request limits.

use fake_microsoft::graph::{
    Answer, Bucket, ChatKind, ChatSpec, FaultAction, FaultSpec, MessageSpec, Operation, PersonSpec, Request,
    RetryAfterForm, RuleId, ThrottleSpec, ViolationKind,
};
use serde_json::json;

use crate::bench::{Bench, TOKEN, cases};

fn many_chats(b: &mut Bench, count: usize) -> Vec<String> {
    (0..count)
        .map(|n| {
            let spec = ChatSpec { kind: ChatKind::Group, ..ChatSpec::default() };
            let id = b.graph.add_chat(b.now, &format!("g{n}"), &spec).unwrap();
            format!("/v1.0/chats/{id}/messages")
        })
        .collect()
}

/// The number of the first of `calls` that is refused.
fn first_refused(mut calls: impl Iterator<Item = Answer>) -> Option<usize> {
    calls.position(|answer| answer.status == 429)
}

cases! {
    one_a_second_on_one_chat_for_everything [ThrottleChat, ThrottledCounts, RetryAfter] |b| {
        b.limited();
        let list = b.chat("dm", "/messages");
        assert_eq!(b.at(0).get(&list).status, 200);
        assert_eq!(b.at(1000).send("POST", &list, &json!({"body": {"content": "x"}})).status, 201);
        let members = b.chat("dm", "/members");
        let answer = b.at(1999).get(&members);
        b.check_refusal(&answer, 429, RuleId::ThrottleChat);
        assert_eq!((answer.header("retry-after"), &answer.json()["error"]["code"]), (Some("1"), &json!("TooManyRequests")));
        let far = b.chat("far", "/messages");
        assert_eq!(b.get(&far).status, 200);
        assert_eq!(b.at(2999).get(&members).status, 200);
        let single = b.chat("dm", "");
        assert_eq!(b.at(3100).get(&single).status, 429);
        assert!(b.graph.violations().is_empty());
    }

    hammering_prolongs_the_penalty [ThrottledCounts] |b| {
        b.graph.set_throttle(ThrottleSpec { retry_after: RetryAfterForm::Missing, ..ThrottleSpec::default() });
        let list = b.chat("dm", "/messages");
        let statuses: Vec<u16> = (0..40).map(|n| b.at(n * 100).get(&list).status).collect();
        assert_eq!(statuses.iter().filter(|s| **s == 200).count(), 1, "{statuses:?}");
        assert!(b.graph.violations().is_empty(), "no client was told how long to wait");
        assert_eq!(b.at(4900).get(&list).status, 200);
    }

    twenty_reads_a_second [ThrottleGet] |b| {
        let paths = many_chats(b, 25);
        b.limited();
        assert_eq!(first_refused(paths.iter().map(|path| b.get(path))), Some(20));
        let last = b.graph.call_log().nth(20).unwrap();
        assert!(last.rules.contains(&RuleId::ThrottleGet));
    }

    twenty_writes_a_second [ThrottlePost] |b| {
        let paths = many_chats(b, 25);
        b.limited();
        let body = json!({"body": {"content": "x"}});
        assert_eq!(first_refused(paths.iter().map(|path| b.send("POST", path, &body))), Some(20));
        assert!(b.graph.call_log().last().unwrap().rules.contains(&RuleId::ThrottlePost));
        assert_eq!(b.graph.messages_sent_by_agent().len(), 20);
    }

    five_lists_a_second [ThrottleUser] |b| {
        b.limited();
        assert_eq!(first_refused((0..9).map(|_| b.get("/v1.0/me/chats"))), Some(5));
        assert!(b.graph.call_log().last().unwrap().rules.contains(&RuleId::ThrottleUser));
        b.limited().at(60_000);
        assert_eq!(first_refused((0..100).map(|n| b.at(60_000 + n * 200).get("/v1.0/me/chats"))), None);
    }

    thirty_others_a_second [ThrottleOther] |b| {
        b.limited();
        assert_eq!(first_refused((0..40).map(|_| b.get("/v1.0/me"))), Some(30));
        assert!(b.graph.call_log().last().unwrap().rules.contains(&RuleId::ThrottleOther));
    }

    four_members_a_minute [ThrottleMembers] |b| {
        b.limited();
        let path = b.chat("team", "/members");
        let added = |b: &mut Bench, n: i64| {
            b.graph.add_person(&format!("p{n}"), &PersonSpec::default()).unwrap();
            let id = fake_microsoft::graph::object_id(&format!("p{n}"));
            let body = json!({"user@odata.bind": format!("https://graph.microsoft.com/v1.0/users('{id}')")});
            b.at(n * 2000).send("POST", &path, &body)
        };
        assert_eq!((0..4).map(|n| added(b, n).status).collect::<Vec<_>>(), [201; 4]);
        let answer = added(b, 4);
        b.check_refusal(&answer, 429, RuleId::ThrottleMembers);
        assert!(answer.header("retry-after").unwrap().parse::<u32>().unwrap() >= 50);
    }

    a_patient_caller_is_never_refused_twice [RetryAfter] |b| {
        b.graph.set_throttle(ThrottleSpec { retry_after: RetryAfterForm::HttpDate, ..ThrottleSpec::default() });
        let list = b.chat("dm", "/messages");
        b.at(0).get(&list);
        let answer = b.at(300).get(&list);
        // The wait ends at 1.3 s; a date has whole seconds, so it is rounded up.
        assert_eq!(answer.header("retry-after"), Some("Thu, 01 Jan 2026 00:00:02 GMT"));
        assert_eq!(b.at(2000).get(&list).status, 200);
        b.graph.set_throttle(ThrottleSpec { retry_after_s: Some(7), ..ThrottleSpec::default() });
        assert_eq!(b.at(2100).get(&list).header("retry-after"), Some("7"));
        assert_eq!(b.at(9100).get(&list).status, 200);
        b.graph.set_throttle(ThrottleSpec { retry_after: RetryAfterForm::Missing, ..ThrottleSpec::default() });
        assert_eq!(b.at(9200).get(&list).header("retry-after"), None);
        assert!(b.graph.violations().is_empty());
    }

    coming_back_too_early_is_a_violation [RetriedEarly, FaultStatus] |b| {
        b.limited();
        let fault = FaultSpec::on(Operation::ListMessages, FaultAction::Status {
            code: 429, retry_after_s: Some(4), form: RetryAfterForm::Seconds, body: fake_microsoft::graph::ErrorBody::Envelope,
        });
        b.graph.add_fault(FaultSpec { chat: Some("dm".into()), ..fault }.first(1)).unwrap();
        b.say("dm", "alice", &MessageSpec::text("x"));
        let (dm, far) = (b.chat("dm", "/messages"), b.chat("far", "/messages"));
        assert_eq!(b.at(0).get(&dm).header("retry-after"), Some("4"));
        assert_eq!(b.at(0).get(&far).status, 200, "the other chat is free");
        let answer = b.at(3999).get(&dm);
        b.check_refusal(&answer, 429, RuleId::RetriedEarly);
        let violation = b.graph.violations()[0].clone();
        let ViolationKind::RetriedEarly { bucket, until } = violation.kind else { panic!("{violation:?}") };
        assert_eq!((bucket, until), (Bucket::Chat(b.graph.chat_id("dm").unwrap().to_owned()), crate::bench::at(4000)));
        assert_eq!(b.at(5000).get(&dm).status, 200);
        assert_eq!((b.graph.violations().len(), b.graph.violations_total()), (1, 1));
    }

    the_unknown_are_not_counted [TokenMissing] |b| {
        b.limited();
        for _ in 0..50 {
            assert_eq!(b.ask(&Request::get("/v1.0/me")).status, 401);
        }
        assert_eq!(b.ask(&Request::get("/v1.0/me").bearer(TOKEN)).status, 200);
    }
}
