//! Checks of client assertions: the signer, the audience, the time, and whether the assertion is new.
//! They must never trust any part of an assertion before its signature is verified.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use webpki::EndEntityCert;

use super::refuse::Refusal;
use super::rules::EntraRuleId;
use super::state::FakeEntra;

/// How much two clocks may differ, in seconds.
const TOLERANCE_S: i64 = 300;
/// The longest life of an assertion, in seconds.
const LIFE_S_MAX: i64 = 600;
const ASSERTION_BYTES_MAX: usize = 16 * 1024;
/// How many ids of assertions are remembered.
pub(super) const JTIS_MAX: usize = 100_000;

fn refused(rule: EntraRuleId, number: u64, message: &str) -> Refusal {
    Refusal::new(rule, 401, "invalid_client", number, message)
}

impl FakeEntra {
    /// Checks an assertion that `client_id` signed with its certificate for the token endpoint.
    pub(super) fn check_assertion(&mut self, jwt: &str, client_id: &str, now_ms: i64) -> Result<(), Refusal> {
        let form = |message: &str| refused(EntraRuleId::AssertionForm, 50_027, message);
        if jwt.len() > ASSERTION_BYTES_MAX {
            return Err(form("JWT token is invalid or malformed."));
        }
        let parts: Vec<&str> = jwt.split('.').collect();
        let [header, claims, signature] = parts.as_slice() else {
            return Err(form("JWT token is invalid or malformed."));
        };
        let json = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let (Some(head), Some(body), Ok(signature)) =
            (json(header), json(claims), URL_SAFE_NO_PAD.decode(signature))
        else {
            return Err(form("JWT token is invalid or malformed."));
        };
        if head["typ"] != "JWT" {
            return Err(form("The 'typ' of the header must be JWT."));
        }
        self.check_signature(&head, &format!("{header}.{claims}"), &signature)?;
        self.check_claims(&body, client_id, now_ms)
    }

    fn check_signature(&mut self, head: &Value, signed: &str, signature: &[u8]) -> Result<(), Refusal> {
        let algorithm = match head["alg"].as_str() {
            Some("PS256") => webpki::ring::RSA_PSS_2048_8192_SHA256_LEGACY_KEY,
            Some("RS256") => {
                self.note(EntraRuleId::Rs256);
                webpki::ring::RSA_PKCS1_2048_8192_SHA256
            }
            _ => {
                let message = "The algorithm of the client assertion is not supported.";
                return Err(refused(EntraRuleId::AssertionAlgorithm, 5_002_738, message));
            }
        };
        let registered = self.spec.registered;
        if head["x5t#S256"].as_str() != Some(&registered.thumbprint()) {
            let message = "The certificate with identifier used to sign the client assertion is not registered on application.";
            return Err(refused(EntraRuleId::CertificateUnknown, 700_027, message));
        }
        if self.spec.certificate_ended {
            let message = "The certificate used to sign the client assertion is expired on application.";
            return Err(refused(EntraRuleId::CertificateEnded, 700_027, message));
        }
        let verified = registered.certificate().is_some_and(|der| {
            EndEntityCert::try_from(&der)
                .and_then(|certificate| certificate.verify_signature(algorithm, signed.as_bytes(), signature))
                .is_ok()
        });
        if !verified {
            let message = "Client assertion failed signature validation.";
            return Err(refused(EntraRuleId::AssertionSignature, 700_027, message));
        }
        self.note(EntraRuleId::AssertionGood);
        Ok(())
    }

    fn check_claims(&mut self, claims: &Value, client_id: &str, now_ms: i64) -> Result<(), Refusal> {
        let text = |name: &str| claims[name].as_str().unwrap_or_default();
        if text("aud") != self.endpoint("token") {
            let message = "Client assertion audience claim does not match Realm issuer.";
            return Err(refused(EntraRuleId::AssertionAudience, 700_023, message));
        }
        if text("iss") != client_id || text("sub") != client_id {
            let message = "Client assertion application identifier doesn't match 'client_id' parameter.";
            return Err(refused(EntraRuleId::AssertionIssuer, 700_021, message));
        }
        let now = now_ms / 1_000;
        let outside = || {
            let message = "Client assertion is not within its valid time range.";
            refused(EntraRuleId::AssertionTime, 700_024, message)
        };
        let (Some(nbf), Some(exp)) = (claims["nbf"].as_i64(), claims["exp"].as_i64()) else {
            return Err(outside());
        };
        if nbf > now.saturating_add(TOLERANCE_S) || exp.saturating_add(TOLERANCE_S) <= now {
            return Err(outside());
        }
        if exp.saturating_sub(nbf) > LIFE_S_MAX {
            let message = "Client assertion lives longer than ten minutes.";
            return Err(refused(EntraRuleId::AssertionLife, 700_024, message));
        }
        let jti = text("jti");
        if jti.is_empty() || !self.jtis.insert(jti.to_owned()) {
            let message = "Client assertion has been used before.";
            return Err(refused(EntraRuleId::AssertionReplayed, 700_027, message));
        }
        while self.jtis.len() > JTIS_MAX {
            self.jtis.pop_first();
        }
        Ok(())
    }
}
