//! Makes the tokens: those of the hops, access tokens and refresh tokens, and keeps the purpose of each.
//! It recognises a token by its text, and must never read the claims in it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::form::Form;
use super::given::{Given, Issued, Minted, RefreshToken, seconds};
use super::refuse::Refusal;
use super::rules::EntraRuleId;
use super::state::FakeEntra;
use crate::graph::{ALL_SCOPES, guid_of};

/// How many tokens of each kind are remembered.
pub(super) const TOKENS_MAX: usize = 100_000;
/// How long the token of a hop is valid, in seconds.
const HOP_LIFE_S: u64 = 3_599;

impl FakeEntra {
    /// A new token that looks like a JWT and is recognised by its text.
    fn token_text(&mut self, claims: &Value) -> String {
        self.minted_total += 1;
        let bits = guid_of(self.seed, &format!("entra/token/{}", self.minted_total));
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!(
            "{}.{}.{}",
            part(&json!({"typ": "JWT", "alg": "RS256"})),
            part(claims),
            URL_SAFE_NO_PAD.encode(bits)
        );
        self.remember(text.clone());
        text
    }

    /// Remembers a secret, which must not appear anywhere else.
    pub(super) fn remember(&mut self, secret: String) {
        if self.secrets.len() < TOKENS_MAX {
            self.secrets.push(secret);
        }
    }

    pub(super) fn mint(&mut self, minted: Minted, now_ms: i64) -> Given {
        let audience = match &minted {
            Minted::First { .. } => "api://AzureADTokenExchange".to_owned(),
            Minted::Second { audience } => audience.clone(),
        };
        let text = self.token_text(&json!({"aud": audience, "tid": self.ids.tenant_id}));
        let ends_ms = now_ms.saturating_add(seconds(HOP_LIFE_S));
        while self.minted.len() >= TOKENS_MAX {
            self.minted.pop_first();
        }
        self.minted.insert(text.clone(), (minted, ends_ms));
        Given::Json(json!({
            "token_type": "Bearer", "expires_in": HOP_LIFE_S, "ext_expires_in": HOP_LIFE_S, "access_token": text,
        }))
    }

    /// The token of a hop with this text, if it is still valid.
    pub(super) fn live(&self, text: &str, now_ms: i64) -> Option<&Minted> {
        self.minted.get(text).filter(|(_, ends_ms)| *ends_ms > now_ms).map(|(minted, _)| minted)
    }

    /// The claims that a request asks for. The claim that the client understands challenges is left out.
    pub(super) fn claims_of(&mut self, form: &Form) -> Result<Option<Value>, Refusal> {
        let Some(text) = form.get("claims") else { return Ok(None) };
        let claims: Option<Value> = serde_json::from_str(text).ok().filter(Value::is_object);
        let Some(mut claims) = claims else {
            let message = "The claims parameter is not a JSON object.";
            return Err(Refusal::new(EntraRuleId::Claims, 400, "invalid_request", 90_023, message));
        };
        if self.spec.policy_blocks_claims {
            let message = "Access has been blocked by Conditional Access policies.";
            return Err(Refusal::new(
                EntraRuleId::ClaimsBlocked,
                400,
                "interaction_required",
                53_003,
                message,
            ));
        }
        if let Some(token) = claims.get_mut("access_token").and_then(Value::as_object_mut) {
            token.retain(|name, _| name != "xms_cc");
        }
        self.note(EntraRuleId::Claims);
        Ok(Some(claims))
    }

    /// Gives an access token for Graph, and a refresh token if `with_refresh` is set.
    pub(super) fn access_token(&mut self, claims: Option<Value>, with_refresh: bool, now_ms: i64) -> Given {
        let life_s = self.spec.token_life_s;
        let ends_ms = now_ms.saturating_add(seconds(life_s));
        let scopes = ALL_SCOPES.join(" ");
        let text = self.token_text(&json!({
            "aud": "https://graph.microsoft.com", "tid": self.ids.tenant_id, "oid": self.ids.agent_user_id,
            "idtyp": "user", "scp": scopes, "iat": now_ms / 1_000, "exp": ends_ms / 1_000,
        }));
        self.issued.push(Issued { token: text.clone(), ends_ms, claims });
        let mut body = json!({
            "token_type": "Bearer", "expires_in": life_s, "ext_expires_in": life_s, "scope": scopes,
            "access_token": text,
        });
        if with_refresh {
            body["refresh_token"] = json!(self.new_refresh_token(now_ms));
        }
        Given::Json(body)
    }

    pub(super) fn new_refresh_token(&mut self, now_ms: i64) -> String {
        self.minted_total += 1;
        let text = format!("1.{}", guid_of(self.seed, &format!("entra/refresh/{}", self.minted_total)));
        let ends_ms = now_ms.saturating_add(seconds(self.spec.refresh_life_s));
        while self.refresh_tokens.len() >= TOKENS_MAX {
            self.refresh_tokens.pop_first();
        }
        self.refresh_tokens.insert(text.clone(), RefreshToken { ends_ms, revoked: false });
        self.remember(text.clone());
        text
    }
}
