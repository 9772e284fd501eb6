//! The result of a sign-in: an access token with its lifetime, and perhaps a token for getting the next one.
//! It must never be shown, and its lifetime must have a bound.

use std::time::Duration;

use serde_json::Value;

use super::refusal::Step;
use super::{AuthError, AuthFailure};
use entraclaw_seams::secret::Secret;

/// The longest lifetime that is accepted; tokens under continuous access evaluation are valid for 28 hours.
const LIFE_MAX: Duration = Duration::from_secs(48 * 3_600);
/// The shortest lifetime that is accepted, so that a wrong value causes no repeated sign-ins.
const LIFE_MIN: Duration = Duration::from_secs(10);
/// The lifetime of a token that names none.
const LIFE_DEFAULT: Duration = Duration::from_secs(300);
/// The longest token that is accepted.
const TOKEN_BYTES_MAX: usize = 64 * 1024;

/// A successful answer of the token endpoint.
#[derive(Debug, Clone)]
pub(super) struct Grant {
    pub(super) access_token: Secret,
    /// The token's lifetime, counted from the answer.
    pub(super) life: Duration,
    pub(super) refresh_token: Option<Secret>,
}

impl Grant {
    /// Reads a body that has no `error`.
    pub(super) fn read(step: Step, body: &Value) -> Result<Self, AuthError> {
        let odd = |what: &str| {
            let problem = format!("entra answered {} with {what}", step.0);
            AuthError::new(AuthFailure::Malformed, problem, "it is tried again by itself")
        };
        let token = |name: &str| -> Result<Option<Secret>, AuthError> {
            let Some(text) = body.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
            let text = text.as_str().filter(|t| !t.is_empty() && t.len() <= TOKEN_BYTES_MAX);
            // A token goes into a header, so it may hold no line ends.
            let text = text.filter(|t| t.bytes().all(|b| b.is_ascii_graphic()));
            text.map(|t| Some(Secret::new(t))).ok_or_else(|| odd(&format!("an {name} that is none")))
        };
        let kind = body.get("token_type").and_then(Value::as_str);
        if !kind.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
            return Err(odd("a token that is no bearer token"));
        }
        let access_token = token("access_token")?.ok_or_else(|| odd("no access_token"))?;
        let seconds = body.get("expires_in").and_then(|life| {
            // Older endpoints write numbers as texts.
            life.as_u64().or_else(|| life.as_str()?.parse().ok())
        });
        let life = seconds.map_or(LIFE_DEFAULT, Duration::from_secs).clamp(LIFE_MIN, LIFE_MAX);
        Ok(Self { access_token, life, refresh_token: token("refresh_token")? })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!(3599), 3_599)]
    #[case(json!("3599"), 3_599)]
    #[case(json!(0), 10)]
    #[case(json!(-5), 300)]
    #[case(json!(null), 300)]
    #[case(json!(u64::MAX), 48 * 3_600)]
    fn the_life_is_read_leniently(#[case] expires_in: Value, #[case] seconds: u64) {
        let body = json!({"token_type": "bearer", "access_token": "a", "expires_in": expires_in});
        assert_eq!(Grant::read(Step("x"), &body).unwrap().life, Duration::from_secs(seconds));
    }

    #[rstest]
    #[case(json!({"token_type": "Bearer"}))]
    #[case(json!({"token_type": "pop", "access_token": "a"}))]
    #[case(json!({"access_token": "a"}))]
    #[case(json!({"token_type": "Bearer", "access_token": "a\r\nX: y"}))]
    #[case(json!({"token_type": "Bearer", "access_token": ""}))]
    #[case(json!({"token_type": "Bearer", "access_token": 7}))]
    #[case(json!({"token_type": "Bearer", "access_token": "a", "refresh_token": 7}))]
    #[case(json!("Bearer"))]
    fn what_is_no_grant_is_malformed_and_not_repeated(#[case] body: Value) {
        let error = Grant::read(Step("x"), &body).unwrap_err();
        assert_eq!(error.failure, AuthFailure::Malformed);
        assert!(!error.to_string().contains("X: y"));
    }
}
