//! Sign-ins with a person, and what they can be renewed by.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fake_microsoft::entra::EntraSpec;
use fake_microsoft::graph::{Answer, Request};
use sha2::{Digest as _, Sha256};
use url::Url;

use crate::bench::{Bench, cases, text};

const SCOPE: &str = "offline_access Chat.Read";

fn plain() -> EntraSpec {
    EntraSpec::default()
}

fn device(b: &Bench) -> (String, String) {
    let answer = b.post("devicecode", &[("client_id", &b.ids.client_id), ("scope", SCOPE)]).json();
    assert_eq!((answer["expires_in"].as_u64(), answer["interval"].as_u64()), (Some(900), Some(5)));
    assert!(answer["message"].as_str().unwrap().contains(answer["user_code"].as_str().unwrap()));
    assert!(answer.get("verification_uri_complete").is_none());
    (text(&answer["device_code"]), text(&answer["user_code"]))
}

fn ask(b: &Bench, code: &str) -> Answer {
    let grant = "urn:ietf:params:oauth:grant-type:device_code";
    b.post("token", &[("client_id", &b.ids.client_id), ("grant_type", grant), ("device_code", code)])
}

fn renew(b: &Bench, token: &str) -> Answer {
    b.post(
        "token",
        &[("client_id", &b.ids.client_id), ("grant_type", "refresh_token"), ("refresh_token", token)],
    )
}

/// Where the browser is led.
fn authorize(b: &Bench, change: &[(&str, &str)]) -> Answer {
    let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(b"verifier"));
    let fields = [
        ("client_id", b.ids.client_id.as_str()),
        ("response_type", "code"),
        ("redirect_uri", "http://localhost:4711"),
        ("scope", SCOPE),
        ("state", "s t"),
        ("code_challenge", challenge.as_str()),
        ("code_challenge_method", "S256"),
    ];
    let mut url = Url::parse(&b.url("authorize")).unwrap();
    for (name, value) in fields {
        let value = change.iter().find(|(n, _)| *n == name).map_or(value, |(_, changed)| changed);
        url.query_pairs_mut().append_pair(name, value);
    }
    b.send(&Request::get(url.as_str()))
}

fn code(b: &Bench) -> String {
    let answer = authorize(b, &[]);
    assert_eq!(answer.status, 302);
    let back = Url::parse(answer.header("location").unwrap()).unwrap();
    assert_eq!((back.host_str(), back.port()), (Some("localhost"), Some(4711)));
    let pairs: Vec<_> = back.query_pairs().collect();
    assert!(pairs.iter().any(|(name, value)| name == "state" && value == "s t"));
    pairs.iter().find(|(name, _)| name == "code").unwrap().1.to_string()
}

fn redeem(b: &Bench, code: &str, redirect: &str, verifier: &str) -> Answer {
    let fields = [
        ("client_id", b.ids.client_id.as_str()),
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
    ];
    b.post("token", &fields)
}

cases! {
    a_device_waits_for_a_person [DeviceCode, DevicePending, DeviceSlowDown, OfflineAccess] plain(), |b| {
        let (device_code, user_code) = device(&b);
        Bench::check(&ask(&b, &device_code), 400, "slow_down", 70_016);
        b.pass_s(5);
        Bench::check(&ask(&b, &device_code), 400, "authorization_pending", 70_016);
        b.entra.with(|entra| {
            assert_eq!(entra.user_codes(), std::slice::from_ref(&user_code));
            assert!(entra.answer_device("nothing", true).is_err());
            entra.answer_device(&user_code, true)
        }).unwrap();
        b.pass_s(5);
        let answer = ask(&b, &device_code).json();
        assert_eq!(b.graph_status(&text(&answer["access_token"])), 200);
        assert!(answer["refresh_token"].is_string());
        b.pass_s(5);
        Bench::check(&ask(&b, &device_code), 400, "bad_verification_code", 70_018);
    }

    a_person_says_no_or_nothing [DeviceDeclined, DeviceExpired, DeviceUnknown] plain(), |b| {
        let (device_code, user_code) = device(&b);
        b.entra.with(|entra| entra.answer_device(&user_code, false)).unwrap();
        b.pass_s(5);
        Bench::check(&ask(&b, &device_code), 400, "authorization_declined", 70_021);
        let (device_code, _) = device(&b);
        b.pass_s(900);
        Bench::check(&ask(&b, &device_code), 400, "expired_token", 70_019);
        Bench::check(&ask(&b, "junk"), 400, "bad_verification_code", 70_018);
    }

    a_browser_comes_back_with_a_code [Authorize, Pkce, CodeOnce] plain(), |b| {
        let good = "http://localhost:4711";
        let one = code(&b);
        Bench::check(&redeem(&b, &one, "http://localhost:4712", "verifier"), 400, "invalid_grant", 70_008);
        let answer = redeem(&b, &one, good, "verifier").json();
        assert!(answer["refresh_token"].is_string());
        assert_eq!(b.graph_status(&text(&answer["access_token"])), 200);
        Bench::check(&redeem(&b, &one, good, "verifier"), 400, "invalid_grant", 70_008);
        let two = code(&b);
        Bench::check(&redeem(&b, &two, good, "guess"), 400, "invalid_grant", 501_481);
        Bench::check(&redeem(&b, &two, good, "verifier"), 400, "invalid_grant", 70_008);
        let three = code(&b);
        b.pass_s(600);
        Bench::check(&redeem(&b, &three, good, "verifier"), 400, "invalid_grant", 70_008);
    }

    wrong_ways_to_the_browser [RedirectLoopback] plain(), |b| {
        for redirect in ["https://contoso.com", "http://localhost.contoso.com:4711", "http://127.0.0.1:4711", "http://localhost:1/x", "", "localhost"] {
            Bench::check(&authorize(&b, &[("redirect_uri", redirect)]), 400, "invalid_request", 50_011);
        }
        for (name, value) in [("response_type", "token"), ("code_challenge_method", "plain"), ("code_challenge", "short")] {
            Bench::check(&authorize(&b, &[(name, value)]), 400, "invalid_request", 9_002_313);
        }
        Bench::check(&authorize(&b, &[("client_id", "nobody")]), 400, "unauthorized_client", 700_016);
    }

    refresh_tokens_renew_until_they_end [Refresh, RefreshEnded, RefreshRevoked, RefreshUnknown] EntraSpec { refresh_life_s: 1_000, ..plain() }, |b| {
        let first = b.entra.with(fake_microsoft::entra::FakeEntra::signed_in_before);
        b.pass_s(900);
        let answer = renew(&b, &first).json();
        assert_eq!(b.graph_status(&text(&answer["access_token"])), 200);
        let second = text(&answer["refresh_token"]);
        assert_ne!(first, second);
        assert_eq!(renew(&b, &first).status, 200, "the old one lives on");
        b.pass_s(100);
        Bench::check(&renew(&b, &first), 400, "invalid_grant", 700_082);
        assert_eq!(renew(&b, &second).status, 200);
        b.entra.with(fake_microsoft::entra::FakeEntra::revoke_refresh_tokens);
        Bench::check(&renew(&b, &second), 400, "invalid_grant", 50_173);
        Bench::check(&renew(&b, "junk"), 400, "invalid_grant", 9_002_313);
    }

    without_offline_access_there_is_nothing_to_renew_by [OfflineAccess] plain(), |b| {
        let answer = b.post("devicecode", &[("client_id", &b.ids.client_id), ("scope", "Chat.Read")]).json();
        b.entra.with(|entra| entra.answer_device(answer["user_code"].as_str().unwrap(), true)).unwrap();
        b.pass_s(5);
        assert!(ask(&b, answer["device_code"].as_str().unwrap()).json().get("refresh_token").is_none());
        let stranger = b.post("devicecode", &[("client_id", "nobody"), ("scope", SCOPE)]);
        Bench::check(&stranger, 400, "unauthorized_client", 700_016);
    }
}
