//! The three hops: each checks the token of the hop before it, and that this token was made for it.
//! A token of one hop must never be valid for another purpose.

use super::form::Form;
use super::given::{Given, Minted};
use super::grant::Grant;
use super::refuse::Refusal;
use super::rules::EntraRuleId;
use super::state::FakeEntra;

const EXCHANGE_SCOPE: &str = "api://AzureADTokenExchange/.default";
const GRAPH_SCOPE: &str = "https://graph.microsoft.com/.default";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const NO_MATCH: &str = "No matching federated identity record found for presented assertion issuer.";

impl FakeEntra {
    /// The hop that a `client_credentials` request belongs to.
    pub(super) fn hop_of(&self, form: &Form) -> Grant {
        if form.get("client_id") == Some(&self.ids.agent_id) { Grant::Hop2 } else { Grant::Hop1 }
    }

    pub(super) fn hop_1(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        let client_id = form.need("client_id")?;
        if client_id != self.ids.blueprint_id {
            return Err(Self::client_unknown(client_id));
        }
        if form.get("client_secret").is_some() {
            let message = "Invalid client secret provided.";
            return Err(Refusal::new(EntraRuleId::SecretRefused, 401, "invalid_client", 7_000_215, message));
        }
        let scope = form.need("scope")?;
        Self::assertion_type(form)?;
        self.check_assertion(form.need("client_assertion")?, client_id, now_ms)?;
        let usable = scope == EXCHANGE_SCOPE;
        self.note(if usable { EntraRuleId::Hop1 } else { EntraRuleId::ExchangeScope });
        let fmi_path = form.get("fmi_path").filter(|_| usable).map(str::to_owned);
        Ok(self.mint(Minted::First { fmi_path }, now_ms))
    }

    pub(super) fn hop_2(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        let client_id = form.need("client_id")?.to_owned();
        let scope = form.need("scope")?;
        Self::assertion_type(form)?;
        self.check_first(form.need("client_assertion")?, now_ms)?;
        let usable = scope == EXCHANGE_SCOPE;
        self.note(if usable { EntraRuleId::Hop2 } else { EntraRuleId::ExchangeScope });
        let audience = if usable { client_id } else { String::new() };
        Ok(self.mint(Minted::Second { audience }, now_ms))
    }

    pub(super) fn hop_3(&mut self, form: &Form, now_ms: i64) -> Result<Given, Refusal> {
        let client_id = form.need("client_id")?;
        if client_id != self.ids.agent_id {
            return Err(Self::client_unknown(client_id));
        }
        if form.need("scope")? != GRAPH_SCOPE {
            let message = "The scope is not valid for this grant.";
            return Err(Refusal::new(EntraRuleId::GraphScope, 400, "invalid_scope", 70_011, message));
        }
        Self::assertion_type(form)?;
        self.check_first(form.need("client_assertion")?, now_ms)?;
        let second = form.need("user_federated_identity_credential")?;
        let bound = matches!(self.live(second, now_ms), Some(Minted::Second { audience }) if *audience == self.ids.agent_id);
        if !bound {
            return Err(Refusal::new(EntraRuleId::T2Bound, 400, "invalid_grant", 700_211, NO_MATCH));
        }
        if form.get("requested_token_use").is_some_and(|used| used != "on_behalf_of") {
            let message = "The value of 'requested_token_use' is not supported.";
            return Err(Refusal::new(EntraRuleId::TokenUse, 400, "invalid_request", 900_144, message));
        }
        let named = match (form.get("user_id"), form.get("username")) {
            (Some(id), None) => id.eq_ignore_ascii_case(&self.ids.agent_user_id),
            (None, Some(name)) => name.eq_ignore_ascii_case(&self.ids.agent_user_name),
            _ => false,
        };
        if !named {
            let message =
                "The user account does not exist in the directory or is not of this agent identity.";
            return Err(Refusal::new(EntraRuleId::UserNamed, 400, "invalid_grant", 50_034, message));
        }
        self.check_consent()?;
        let claims = self.claims_of(form)?;
        self.note(EntraRuleId::Hop3);
        Ok(self.access_token(claims, false, now_ms))
    }

    fn assertion_type(form: &Form) -> Result<(), Refusal> {
        if form.need("client_assertion_type")? == ASSERTION_TYPE {
            return Ok(());
        }
        let message = "The value of 'client_assertion_type' is not supported.";
        Err(Refusal::new(EntraRuleId::AssertionType, 401, "invalid_client", 700_027, message))
    }

    /// Checks T1 as an assertion of the agent identity.
    fn check_first(&mut self, token: &str, now_ms: i64) -> Result<(), Refusal> {
        let bound = matches!(self.live(token, now_ms), Some(Minted::First { fmi_path: Some(path) }) if *path == self.ids.agent_id);
        if bound {
            return Ok(());
        }
        Err(Refusal::new(EntraRuleId::FmiBound, 401, "invalid_client", 700_211, NO_MATCH))
    }

    pub(super) fn client_unknown(client_id: &str) -> Refusal {
        let message = format!("Application with identifier '{client_id}' was not found in the directory.");
        Refusal::new(EntraRuleId::ClientUnknown, 400, "unauthorized_client", 700_016, message)
    }

    pub(super) fn check_consent(&mut self) -> Result<(), Refusal> {
        if !self.spec.without_consent {
            return Ok(());
        }
        let message = "The user or administrator has not consented to use the application.";
        let refusal = Refusal::new(EntraRuleId::Consent, 400, "invalid_grant", 65_001, message);
        Err(Refusal { suberror: Some("consent_required"), ..refusal })
    }
}
