//! Reads Entra's error bodies: the kind of failure, and what a person can do about it.
//! A body without an OAuth error code must never count as a refusal; a known number only gives a more exact
//! kind and text.

use serde_json::Value;

use super::{AuthError, AuthFailure};
use crate::http::one_line;

/// The step of a flow that was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step(pub(super) &'static str);

/// Reads an OAuth error body; `None` for any other body.
pub(super) fn refusal(step: Step, status: u16, body: &Value) -> Option<AuthError> {
    let word = body.get("error")?.as_str()?;
    let word = one_line(word);
    let description = body.get("error_description").and_then(Value::as_str).unwrap_or_default();
    // The other lines of the text hold only ids and a time.
    let description = one_line(description.split(['\r', '\n']).next().unwrap_or_default());
    let suberror = body.get("suberror").and_then(Value::as_str).unwrap_or_default();
    let number = number_of(body, &description);
    let (failure, fix) = meaning(&word, number, suberror, status);
    let said = match (description.is_empty(), number) {
        (false, Some(n)) if !description.contains("AADSTS") => format!("AADSTS{n}: {description}"),
        (false, _) => description,
        (true, Some(n)) => format!("AADSTS{n}"),
        (true, None) => "no reason given".to_owned(),
    };
    let problem = format!("entra refused {} with {word}: {said}", step.0);
    Some(AuthError { word: Some(word), ..AuthError::new(failure, problem, fix) })
}

/// The number of an `AADSTS…` code, from the list or from the text.
fn number_of(body: &Value, description: &str) -> Option<u64> {
    let listed = body.get("error_codes").and_then(Value::as_array).and_then(|codes| codes.first()?.as_u64());
    listed.or_else(|| {
        let digits = description.split("AADSTS").nth(1)?;
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        digits.get(..end)?.parse().ok()
    })
}

/// Numbers that name the cause better than the OAuth error code alone.
const BY_NUMBER: &[(&[u64], AuthFailure, &str)] = &[
    (
        &[700_024],
        AuthFailure::Clock,
        "set this machine's clock; the time in a sign-in must be within five minutes of Entra's",
    ),
    (
        &[700_027, 700_030, 7_000_215, 700_023, 700_021],
        AuthFailure::Credential,
        "add the certificate that this machine signs in with to the blueprint application, or bring the right key and \
         certificate here with `entraclaw login --key FILE`",
    ),
    (&[1_000_502], AuthFailure::Credential, CERTIFICATE_ENDED),
    (
        &[700_211, 700_212, 700_213],
        AuthFailure::Setup,
        "check that the agent identity `auth.agent_id` is a child of the blueprint `auth.blueprint_id`",
    ),
    (
        &[700_016],
        AuthFailure::Setup,
        "check `auth.blueprint_id`, `auth.agent_id` and `auth.client_id`, and that they are in the tenant `identity.tenant_id`",
    ),
    (&[90_002, 900_023], AuthFailure::Setup, "check `identity.tenant_id`"),
    (
        &[50_034, 50_020],
        AuthFailure::Setup,
        "check `identity.object_id` or `identity.user_name`: the agent user of this agent identity",
    ),
    (&[7_000_218], AuthFailure::Setup, "allow public client flows for the application `auth.client_id`"),
    (&[50_011], AuthFailure::Setup, "add http://localhost as a redirect URI for desktop applications"),
    (
        &[65_001, 65_004],
        AuthFailure::Consent,
        "grant the agent its delegated Graph permissions (User.Read, Chat.Read, ChatMessage.Send) as an administrator; \
         a new grant needs up to two minutes",
    ),
    (
        &[53_000, 53_001, 53_002, 53_003, 53_004, 530_034, 50_105],
        AuthFailure::Blocked,
        "ask the administrator to except the agent from this Conditional Access policy",
    ),
    (
        &[50_076, 50_079, 50_055, 50_173, 700_082, 70_008, 70_043],
        AuthFailure::Interaction,
        "run `entraclaw login` again",
    ),
    (&[50_057], AuthFailure::Blocked, "the account is disabled; ask the administrator to enable it"),
    (
        &[50_196],
        AuthFailure::Looping,
        "wait some minutes; if it comes back, see that no other program signs in with the same ids",
    ),
    (&[90_033, 90_024, 90_055, 90_006], AuthFailure::Unavailable, LATER),
];

/// The fix for an expired certificate, because Entra's own text does not say plainly that it has expired.
const CERTIFICATE_ENDED: &str = "the certificate has expired, or is not valid yet: `entraclaw doctor` shows its dates; make a new \
                                 key with its certificate, add the certificate to the blueprint application, and bring both \
                                 with `entraclaw login --key FILE`";

const LATER: &str = "entra is in trouble; it is tried again by itself";

fn meaning(word: &str, number: Option<u64>, suberror: &str, status: u16) -> (AuthFailure, &'static str) {
    let by_number = number.and_then(|n| BY_NUMBER.iter().find(|(numbers, ..)| numbers.contains(&n)));
    if let Some((_, failure, fix)) = by_number {
        return (*failure, fix);
    }
    match (word, suberror) {
        (_, "consent_required") | ("consent_required", _) => {
            (AuthFailure::Consent, "grant the agent its delegated Graph permissions as an administrator")
        }
        ("temporarily_unavailable" | "server_error", _) => (AuthFailure::Unavailable, LATER),
        ("invalid_client", _) => (
            AuthFailure::Credential,
            "check the certificate of the blueprint application and its private key here",
        ),
        ("invalid_grant" | "interaction_required" | "login_required", _) => {
            (AuthFailure::Interaction, "run `entraclaw login` again")
        }
        ("access_denied" | "authorization_declined", _) => {
            (AuthFailure::Blocked, "somebody said no; run `entraclaw login` again if that was a mistake")
        }
        ("expired_token" | "bad_verification_code", _) => {
            (AuthFailure::NotSignedIn, "the code is over; run `entraclaw login` again")
        }
        _ if status >= 500 => (AuthFailure::Unavailable, LATER),
        _ if status == 429 => (AuthFailure::Throttled, "wait; it is tried again by itself"),
        _ => (AuthFailure::Setup, "check the ids below [identity] and [auth] of the configuration"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn of(body: &Value, status: u16) -> AuthError {
        refusal(Step("hop 1"), status, body).unwrap()
    }

    #[rstest]
    #[case("invalid_client", 700_027, AuthFailure::Credential, "login --key")]
    #[case("invalid_client", 1_000_502, AuthFailure::Credential, "the certificate has expired")]
    #[case("invalid_client", 700_024, AuthFailure::Clock, "clock")]
    #[case("invalid_grant", 65_001, AuthFailure::Consent, "administrator")]
    #[case("invalid_grant", 700_082, AuthFailure::Interaction, "entraclaw login")]
    #[case("interaction_required", 53_003, AuthFailure::Blocked, "Conditional Access")]
    #[case("unauthorized_client", 700_016, AuthFailure::Setup, "auth.agent_id")]
    #[case("invalid_client", 1, AuthFailure::Credential, "certificate")]
    #[case("invalid_grant", 1, AuthFailure::Interaction, "entraclaw login")]
    #[case("temporarily_unavailable", 1, AuthFailure::Unavailable, "by itself")]
    #[case("invalid_request", 1, AuthFailure::Setup, "ids")]
    fn each_refusal_says_what_to_do(
        #[case] word: &str,
        #[case] number: u64,
        #[case] failure: AuthFailure,
        #[case] fix: &str,
    ) {
        let text = format!("AADSTS{number}: because.\r\nTrace ID: 1\r\nTimestamp: 2");
        let error = of(&json!({"error": word, "error_description": text, "error_codes": [number]}), 400);
        assert_eq!(error.failure, failure);
        assert!(error.fix.contains(fix), "{error}");
        assert_eq!(error.problem, format!("entra refused hop 1 with {word}: AADSTS{number}: because."));
        assert!(error.says(word));
    }

    #[rstest]
    #[case(400, AuthFailure::Setup)]
    #[case(429, AuthFailure::Throttled)]
    #[case(500, AuthFailure::Unavailable)]
    #[case(503, AuthFailure::Unavailable)]
    fn a_word_that_is_not_known_is_judged_by_the_status(#[case] status: u16, #[case] failure: AuthFailure) {
        assert_eq!(of(&json!({"error": "something_new"}), status).failure, failure);
    }

    #[test]
    fn the_error_number_is_found_in_the_text_too() {
        let error = of(&json!({"error": "invalid_client", "error_description": "AADSTS700027: no"}), 401);
        assert_eq!(error.failure, AuthFailure::Credential);
    }

    #[rstest]
    #[case(json!({"error": "x", "error_codes": ["seven"], "error_description": 5}))]
    #[case(json!({"error": "x\u{1b}[31m\n", "error_description": "AADSTS: \u{202e}"}))]
    #[case(json!({"error": "x", "error_codes": [], "suberror": []}))]
    fn odd_bodies_stay_one_line(#[case] body: Value) {
        let error = of(&body, 400).to_string();
        assert!(!error.contains(char::is_control), "{error}");
    }

    #[rstest]
    #[case(json!({"access_token": "x"}))]
    #[case(json!({"error": {"code": "x"}}))]
    #[case(json!([]))]
    fn what_is_no_refusal_is_none(#[case] body: Value) {
        assert_eq!(refusal(Step("hop 1"), 400, &body), None);
    }
}
