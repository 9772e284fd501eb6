//! What every answer has, what is no question at all, and the faults that a scenario orders.

use fake_microsoft::entra::{EntraFault, EntraFaultAction, EntraFaultBody, EntraSpec, Grant, serve};
use fake_microsoft::graph::{Fate, Request};

use crate::bench::{Bench, at, cases};

fn fault(b: &Bench, action: EntraFaultAction) {
    b.entra
        .with(|entra| {
            entra.clear_faults();
            entra.add_fault(EntraFault { first: Some(1), ..EntraFault::always(action) })
        })
        .unwrap();
}

cases! {
    questions_that_are_none [UnknownEndpoint, TenantUnknown, FormEncoded, ErrorBody, DateHeader] EntraSpec::default(), |b| {
        for (method, path) in [("GET", "/"), ("GET", ""), ("POST", "/x/oauth2/v2.0/other"), ("PUT", "/%ff"), ("POST", "/x/oauth2/token")] {
            assert_eq!(b.send(&Request::new(method, path)).status, 404, "{path}");
        }
        let other = Request::new("POST", "https://login.microsoftonline.com/contoso.com/oauth2/v2.0/token");
        Bench::check(&b.send(&other), 400, "invalid_request", 90_002);
        Bench::check(&b.send(&Request::post(&b.url("token"), &serde_json::json!({}))), 400, "invalid_request", 900_144);
        b.refused(&[("a", "1"), ("a", "2")], 400, "invalid_request", 900_144);
        b.refused(&[], 400, "invalid_request", 900_144);
        let answer = b.send(&Request::get("http://["));
        assert_eq!((answer.status, answer.header("date")), (404, Some("Thu, 01 Jan 2026 00:00:00 GMT")));
    }

    faults_of_all_kinds [FaultStatus, FaultRefuse, ErrorInSuccess, FaultReset, FaultSlow, FaultTruncated] EntraSpec::default(), |b| {
        for (body, starts) in [(EntraFaultBody::Html, "<html>"), (EntraFaultBody::Empty, ""), (EntraFaultBody::Json, "{")] {
            fault(&b, EntraFaultAction::Status { code: 503, retry_after_s: None, body });
            let answer = b.post("token", &[]);
            assert!(answer.status == 503 && answer.body.starts_with(starts.as_bytes()));
            b.refused(&[], 400, "invalid_request", 900_144);
        }
        fault(&b, EntraFaultAction::Refuse { error: "invalid_grant".into(), number: 50_126, status: Some(200) });
        b.refused(&[], 200, "invalid_grant", 50_126);
        fault(&b, EntraFaultAction::ResetBeforeApply);
        let assertion = b.assertion();
        assert_eq!(b.hop_1_with(&assertion).fate, Fate::DroppedBeforeApply);
        fault(&b, EntraFaultAction::ResetAfterApply);
        assert_eq!(b.hop_1_with(&assertion).fate, Fate::DroppedAfterApply);
        Bench::check(&b.hop_1_with(&assertion), 401, "invalid_client", 700_027);
        fault(&b, EntraFaultAction::Slow { delay_ms: 9_000 });
        assert_eq!(b.post("token", &[]).delay_ms, 9_000);
        fault(&b, EntraFaultAction::Truncated);
        assert!(b.post("token", &[]).json().is_null());
    }

    who_comes_back_too_early_is_noticed [RetriedEarly] EntraSpec::default(), |b| {
        fault(&b, EntraFaultAction::Status { code: 429, retry_after_s: Some(7), body: EntraFaultBody::Json });
        assert_eq!(b.post("token", &[]).header("retry-after"), Some("7"));
        b.pass_s(6);
        b.post("token", &[]);
        b.pass_s(1);
        b.post("token", &[]);
        b.entra.with(|entra| assert_eq!(entra.violations().len(), 1));
    }

    the_log_knows_what_was_wanted_and_no_secret [Hop1] EntraSpec::default(), |b| {
        let (first, second) = b.two_hops();
        let token = b.token(&b.hop_3_fields(&first, &second));
        b.entra.with(|entra| {
            let grants: Vec<Grant> = entra.calls().iter().map(|call| call.grant).collect();
            assert_eq!(grants, [Grant::Hop1, Grant::Hop2, Grant::Hop3]);
            let written = format!("{:?}", entra.calls());
            for secret in [&first, &second, &token] {
                assert!(!written.contains(secret.as_str()) && entra.secrets().contains(secret));
            }
        });
    }
}

#[tokio::test]
async fn it_is_served_over_http() {
    let bench = Bench::new(&EntraSpec::default());
    let server = serve(bench.entra.clone(), || at(0)).await;
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let url = format!("{}/{}/oauth2/v2.0/token", server.base_url(), bench.ids.tenant_id);
    let answer = client
        .post(&url)
        .header("content-type", "application/x-www-form-urlencoded")
        .body("grant_type=x")
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 400);
    assert!(answer.text().await.unwrap().contains("AADSTS70003"));
    fault(&bench, EntraFaultAction::ResetBeforeApply);
    assert!(client.post(&url).send().await.is_err());
}

/// The same questions give the same answers, to the byte.
#[test]
fn a_tenant_repeats_itself() {
    let answers = || {
        let bench = Bench::new(&EntraSpec::default());
        let device = bench.post("devicecode", &[("client_id", &bench.ids.client_id), ("scope", "x")]);
        (device.body, bench.post("token", &[]).body)
    };
    assert_eq!(answers(), answers());
}
