//! Sign-ins by a person: device code, browser with PKCE, and renewing either by refresh token.
//! The scenario acts as the person; the fake must never approve anything by itself.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::form::Form;
use super::given::{BrowserCode, Device, Given, seconds};
use super::refuse::Refusal;
use super::rules::EntraRuleId;
use super::state::FakeEntra;
use crate::graph::guid_of;

const DEVICE_LIFE_S: u64 = 900;
const INTERVAL_S: u64 = 5;
const CODE_LIFE_S: u64 = 600;
/// How many sign-ins can be open at one time.
const OPEN_MAX: usize = 1_000;

fn refused(rule: EntraRuleId, error: &str, number: u64, message: &str) -> Refusal {
    Refusal::new(rule, 400, error, number, message)
}

impl FakeEntra {
    fn public_client(&self, form: &Form) -> Result<(), Refusal> {
        let client_id = form.need("client_id")?;
        if client_id == self.ids.client_id { Ok(()) } else { Err(Self::client_unknown(client_id)) }
    }

    pub(super) fn device_code(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        self.public_client(form)?;
        let scope = form.need("scope")?.to_owned();
        self.minted_total += 1;
        let device_code = guid_of(self.seed, &format!("entra/device/{}", self.minted_total));
        let user_code: String = guid_of(self.seed, &format!("entra/user-code/{}", self.minted_total))
            .to_uppercase()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(9)
            .collect();
        self.remember(device_code.clone());
        while self.devices.len() >= OPEN_MAX {
            self.devices.pop_first();
        }
        let device = Device {
            user_code: user_code.clone(),
            verdict: None,
            scope,
            ends_ms: now_ms.saturating_add(seconds(DEVICE_LIFE_S)),
            may_ask_ms: now_ms.saturating_add(seconds(INTERVAL_S)),
        };
        self.devices.insert(device_code.clone(), device);
        self.note(EntraRuleId::DeviceCode);
        let verification_uri = "https://microsoft.com/devicelogin";
        Ok(Given::Json(json!({
            "user_code": user_code, "device_code": device_code, "verification_uri": verification_uri,
            "expires_in": DEVICE_LIFE_S, "interval": INTERVAL_S,
            "message": format!("To sign in, open {verification_uri} and enter the code {user_code}."),
        })))
    }

    pub(super) fn device_poll(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        self.public_client(form)?;
        let code = form.need("device_code")?;
        let Some(device) = self.devices.get_mut(code) else {
            let message = "The device code is not known.";
            return Err(refused(EntraRuleId::DeviceUnknown, "bad_verification_code", 70_018, message));
        };
        let early = now_ms < device.may_ask_ms;
        device.may_ask_ms = now_ms.saturating_add(seconds(INTERVAL_S));
        if now_ms >= device.ends_ms {
            let message = "The device code has expired.";
            return Err(refused(EntraRuleId::DeviceExpired, "expired_token", 70_019, message));
        }
        if early {
            let message = "The device asks more often than it was told.";
            return Err(refused(EntraRuleId::DeviceSlowDown, "slow_down", 70_016, message));
        }
        match device.verdict {
            None => {
                let message = "OAuth 2.0 device flow: the person is not done. Authorization is pending.";
                Err(refused(EntraRuleId::DevicePending, "authorization_pending", 70_016, message))
            }
            Some(false) => {
                let message = "The person declined.";
                Err(refused(EntraRuleId::DeviceDeclined, "authorization_declined", 70_021, message))
            }
            Some(true) => {
                let scope = device.scope.clone();
                self.devices.remove(code);
                self.check_consent()?;
                Ok(self.with_offline(&scope, now_ms))
            }
        }
    }

    /// Redirects a browser to the client's address, with a code.
    pub(super) fn authorize(&mut self, url: &Url, now_ms: i64) -> Result<Given, Refusal> {
        let of = |name: &str| url.query_pairs().find(|(n, _)| n == name).map(|(_, value)| value.into_owned());
        let client_id = of("client_id").unwrap_or_default();
        if client_id != self.ids.client_id {
            return Err(Self::client_unknown(&client_id));
        }
        let redirect = of("redirect_uri").and_then(|uri| Url::parse(&uri).ok().map(|parsed| (uri, parsed)));
        let redirect = redirect.filter(|(_, uri)| {
            uri.scheme() == "http" && uri.host_str() == Some("localhost") && matches!(uri.path(), "" | "/")
        });
        let Some((redirect_uri, mut back)) = redirect else {
            let message = "The redirect URI specified in the request does not match those configured for the application.";
            return Err(refused(EntraRuleId::RedirectLoopback, "invalid_request", 50_011, message));
        };
        let challenge = of("code_challenge").unwrap_or_default();
        let asks_well = of("response_type").as_deref() == Some("code")
            && of("response_mode").is_none_or(|mode| mode == "query")
            && of("code_challenge_method").as_deref() == Some("S256")
            && challenge.len() == 43;
        let (Some(scope), Some(state), true) = (of("scope"), of("state"), asks_well) else {
            let message = "The request lacks response_type=code, a scope, a state or an S256 code_challenge.";
            return Err(refused(EntraRuleId::Pkce, "invalid_request", 9_002_313, message));
        };
        self.minted_total += 1;
        let code = format!("0.{}", guid_of(self.seed, &format!("entra/code/{}", self.minted_total)));
        self.remember(code.clone());
        while self.codes.len() >= OPEN_MAX {
            self.codes.pop_first();
        }
        let ends_ms = now_ms.saturating_add(seconds(CODE_LIFE_S));
        let kept = BrowserCode { challenge, redirect_uri, scope, ends_ms, used: false };
        self.codes.insert(code.clone(), kept);
        self.note(EntraRuleId::Authorize);
        back.query_pairs_mut().append_pair("code", &code).append_pair("state", &state);
        Ok(Given::Redirect(back.into()))
    }

    pub(super) fn browser_code(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        self.public_client(form)?;
        let (code, redirect_uri) = (form.need("code")?, form.need("redirect_uri")?);
        let verifier = form.need("code_verifier")?;
        let kept = self
            .codes
            .get_mut(code)
            .filter(|kept| !kept.used && now_ms < kept.ends_ms && kept.redirect_uri == redirect_uri);
        let Some(kept) = kept else {
            let message = "The code has expired, was redeemed already or belongs to another redirect URI.";
            return Err(refused(EntraRuleId::CodeOnce, "invalid_grant", 70_008, message));
        };
        kept.used = true;
        if URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes())) != kept.challenge {
            let message =
                "The Code_Verifier does not match the code_challenge supplied in the authorization request.";
            return Err(refused(EntraRuleId::Pkce, "invalid_grant", 501_481, message));
        }
        let scope = kept.scope.clone();
        self.check_consent()?;
        Ok(self.with_offline(&scope, now_ms))
    }

    pub(super) fn refresh(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        self.public_client(form)?;
        let (rule, number, message) = match self.refresh_tokens.get(form.need("refresh_token")?) {
            Some(token) if token.revoked => (
                EntraRuleId::RefreshRevoked,
                50_173,
                "The provided grant has expired due to it being revoked, a fresh auth token is needed.",
            ),
            Some(token) if token.ends_ms <= now_ms => {
                (EntraRuleId::RefreshEnded, 700_082, "The refresh token has expired due to inactivity.")
            }
            Some(_) => {
                let claims = self.claims_of(form)?;
                self.note(EntraRuleId::Refresh);
                return Ok(self.access_token(claims, true, now_ms));
            }
            None => (EntraRuleId::RefreshUnknown, 9_002_313, "The refresh token is malformed or unknown."),
        };
        Err(refused(rule, "invalid_grant", number, message))
    }

    fn with_offline(&mut self, scope: &str, now_ms: i64) -> Given {
        let offline = scope.split(' ').any(|scope| scope == "offline_access");
        self.note(EntraRuleId::OfflineAccess);
        self.access_token(None, offline, now_ms)
    }
}
