//! Who may ask, and what every answer has.

use fake_microsoft::graph::{ErrorStyle, MessageSpec, Request, RuleId, TokenSpec, ViolationKind};
use serde_json::Value;

use crate::bench::{TOKEN, cases, text};

cases! {
    a_token_is_asked_for [TokenMissing, TokenWrong, ErrorEnvelope] |b| {
        let unknown = [("", RuleId::TokenMissing), ("Bearer ", RuleId::TokenMissing), ("Basic abc", RuleId::TokenMissing),
            ("Bearer other", RuleId::TokenWrong)];
        for (value, rule) in unknown {
            let request = Request::get("/v1.0/me");
            let answer = b.ask(&if value.is_empty() { request } else { request.header("Authorization", value) });
            b.check_refusal(&answer, 401, rule);
            assert!(answer.header("www-authenticate").is_some_and(|v| v.starts_with("Bearer ")));
            assert_eq!(answer.json()["error"]["code"], "InvalidAuthenticationToken");
            assert_eq!(answer.json()["error"]["innerError"]["date"], "2026-01-01T00:00:00");
        }
        b.graph.revoke_token(TOKEN);
        b.refused("/v1.0/me", 401, RuleId::TokenWrong);
    }

    a_token_ends [TokenExpired] |b| {
        b.graph.accept_token(&TokenSpec { token: TOKEN.into(), expires_after_ms: Some(1000), scopes: None });
        assert_eq!(b.at(999).get("/v1.0/me").status, 200);
        b.at(1000).refused("/v1.0/me", 401, RuleId::TokenExpired);
        b.graph.accept_bearer("second");
        assert_eq!(b.ask(&Request::get("/v1.0/me").bearer("second")).status, 200);
    }

    policy_ends_a_session [ClaimsChallenge] |b| {
        b.graph.challenge_token(TOKEN, r#"{"access_token":{"nbf":{"essential":true}}}"#);
        let answer = b.get("/v1.0/me");
        b.check_refusal(&answer, 401, RuleId::ClaimsChallenge);
        let header = answer.header("www-authenticate").unwrap();
        assert!(header.contains(r#"error="insufficient_claims""#) && header.contains("claims=\"eyJ"), "{header}");
    }

    scopes_are_checked [ScopeMissing, PreviewNeedsRead] |b| {
        b.graph.set_scopes(&["Chat.ReadBasic"]);
        assert_eq!(b.get("/v1.0/me/chats").status, 200);
        b.refused("/v1.0/me/chats?$expand=lastMessagePreview", 403, RuleId::PreviewNeedsRead);
        b.refused("/v1.0/me", 403, RuleId::ScopeMissing);
        let path = b.chat("dm", "/messages");
        b.refused(&path, 403, RuleId::ScopeMissing);
        let answer = b.send("POST", &path, &serde_json::json!({"body": {"content": "x"}}));
        b.check_refusal(&answer, 403, RuleId::ScopeMissing);
        assert!(text(&answer.json()["error"]["message"]).contains("ChatMessage.Send"));
        b.graph.set_scopes(&["Chat.Read"]);
        assert_eq!(b.get(&path).status, 200);
    }

    a_user_reads_own_chats_only [OtherUser] |b| {
        let alice = b.graph.person("alice").unwrap().object_id.clone();
        b.refused(&format!("/v1.0/users/{alice}/chats"), 403, RuleId::OtherUser);
        assert_eq!(b.get("/v1.0/users/agent@contoso.com/chats").status, 200);
    }

    who_am_i [Me] |b| {
        let me = b.json("/v1.0/me");
        assert_eq!(text(&me["id"]), fake_microsoft::graph::object_id("agent"));
        assert_eq!(text(&me["userPrincipalName"]), "agent@contoso.com");
        let some = b.json("/v1.0/me?$select=id,mail");
        assert!(some.get("displayName").is_none() && some.get("mail").is_some());
    }

    ids_and_dates_of_every_answer [RequestIds, DateHeader] |b| {
        let request = Request::get("/v1.0/me").bearer(TOKEN).header("Client-Request-Id", "mine-1");
        let answer = b.ask(&request);
        assert_eq!(answer.header("client-request-id"), Some("mine-1"));
        assert_eq!(answer.header("date"), Some("Thu, 01 Jan 2026 00:00:00 GMT"));
        assert!(answer.header("cache-control").is_some_and(|v| v.contains("no-store")));
        let first = answer.header("request-id").map(str::to_owned);
        b.graph.set_date_skew_ms(-90_000);
        let second = b.get("/v1.0/nothing");
        assert_ne!(second.header("request-id").map(str::to_owned), first);
        assert_eq!(second.header("date"), Some("Wed, 31 Dec 2025 23:58:30 GMT"));
        let log: Vec<_> = b.graph.call_log().collect();
        assert_eq!(log[0].client_request_id.as_deref(), Some("mine-1"));
        assert_eq!((log[0].status, log[1].status, b.graph.calls_total()), (200, 404, 2));
        let written = serde_json::to_string(&log).unwrap();
        assert!(!written.contains(TOKEN), "the log never holds a token");
    }

    errors_of_the_other_form [ErrorLowerCase] |b| {
        b.graph.set_error_style(ErrorStyle::LowerCaseNested);
        let error = b.get("/v1.0/nothing").json()["error"].clone();
        assert_eq!((&error["code"], &error["innerError"]), (&Value::from(""), &Value::Null));
        assert_eq!(error["innererror"]["innererror"]["code"], "NotFound");
        assert!(error["innererror"]["request-id"].is_string());
    }

    paths_and_verbs [UnknownPath, WrongMethod] |b| {
        for path in ["/v1.0/nothing", "/beta/me/chats", "/", "", "/v1.0/me/calendar", "/v1.0/%ff/..%2f"] {
            b.refused(path, 404, RuleId::UnknownPath);
        }
        for (method, path) in [("DELETE", "/v1.0/me"), ("PATCH", "/v1.0/me/chats"), ("get", "/v1.0/me"), ("", "/v1.0/chats")] {
            let answer = b.ask(&Request::new(method, path).bearer(TOKEN));
            b.check_refusal(&answer, 405, RuleId::WrongMethod);
        }
    }

    other_origins_are_noticed [ForeignOrigin] |b| {
        b.graph.set_base_url("https://graph.microsoft.com").unwrap();
        let hosts = ["https://graph.microsoft.com.evil.example/v1.0/me", "https://graph.microsoft.com@evil.example/v1.0/me",
            "http://graph.microsoft.com/v1.0/me", "//evil.example/v1.0/me", "https://me@graph.microsoft.com/v1.0/me", "http://["];
        for (n, url) in hosts.iter().enumerate() {
            assert_eq!(b.get(url).status, 404, "{url}");
            assert_eq!(b.graph.violations().len(), n + 1, "{url}");
        }
        assert!(b.graph.violations().iter().all(|v| matches!(v.kind, ViolationKind::ForeignOrigin { with_token: true, .. })));
        assert_eq!(b.get("https://graph.microsoft.com/v1.0/me").status, 200);
        assert_eq!(b.graph.violations().len(), hosts.len());
        b.say("dm", "alice", &MessageSpec::text("x"));
        assert!(b.graph.set_base_url("nonsense").is_err() && b.graph.set_base_url("https://a.example/path").is_err());
    }
}
