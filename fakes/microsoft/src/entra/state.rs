//! The state machine of the fake Entra, which takes one request and gives one answer.
//! It must never read a clock, use randomness other than its seed, or do I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use url::Url;

use super::fault::{EntraFault, EntraFaultAction, EntraFaultBody, FAULTS_MAX, Struck};
use super::form::Form;
use super::given::{BrowserCode, Device, Given, Issued, Minted, RefreshToken};
use super::grant::Grant;
use super::refuse::Refusal;
use super::rules::EntraRuleId;
use super::spec::EntraSpec;
use crate::graph::{
    AGENT, Answer, Fate, HOME_TENANT, Request, ScriptError, application_id, http_date_of, object_id,
    tenant_id,
};

/// The origin of the login service in Microsoft's public cloud.
pub const DEFAULT_LOGIN_URL: &str = "https://login.microsoftonline.com";
/// How many requests are recorded.
const CALLS_MAX: usize = 100_000;
const GATEWAY_PAGE: &str = "<html><body><h1>Our services aren't available right now</h1></body></html>";

/// The ids of the tenant and of everything in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntraIds {
    /// The id of the tenant.
    pub tenant_id: String,
    /// The blueprint's application id.
    pub blueprint_id: String,
    /// The agent identity's application id.
    pub agent_id: String,
    /// The agent user's object id, which is the id of the agent in the fake Graph.
    pub agent_user_id: String,
    /// The agent user's principal name.
    pub agent_user_name: String,
    /// The application id of a public client.
    pub client_id: String,
}

/// The record of one request. It holds no token and no form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntraCall {
    /// The instant of the request, by the world's clock.
    pub at: Timestamp,
    /// The kind of request.
    pub grant: Grant,
    /// The status of the answer, even if the answer was lost.
    pub status: u16,
    /// The number of the refusal, if the request was refused.
    pub number: Option<u64>,
    /// Whether the caller got the answer.
    pub fate: Fate,
}

/// A fake Microsoft Entra with one tenant.
#[derive(Debug, Clone)]
pub struct FakeEntra {
    pub(super) seed: u64,
    started_ms: i64,
    base_url: String,
    pub(super) spec: EntraSpec,
    pub(super) ids: EntraIds,
    faults: Vec<Struck>,
    pub(super) jtis: BTreeSet<String>,
    pub(super) minted: BTreeMap<String, (Minted, i64)>,
    pub(super) minted_total: u64,
    pub(super) devices: BTreeMap<String, Device>,
    pub(super) codes: BTreeMap<String, BrowserCode>,
    pub(super) refresh_tokens: BTreeMap<String, RefreshToken>,
    pub(super) issued: Vec<Issued>,
    pub(super) secrets: Vec<String>,
    calls: Vec<EntraCall>,
    calls_total: u64,
    told_until_ms: Option<i64>,
    violations: Vec<String>,
    exercised: BTreeSet<EntraRuleId>,
}

impl FakeEntra {
    /// Makes the tenant that a scenario describes.
    pub fn new(spec: &EntraSpec, seed: u64, started_at: Timestamp) -> Self {
        Self {
            seed,
            started_ms: started_at.as_millisecond(),
            base_url: DEFAULT_LOGIN_URL.to_owned(),
            ids: EntraIds {
                tenant_id: tenant_id(HOME_TENANT),
                blueprint_id: application_id("blueprint"),
                agent_id: application_id("agent-identity"),
                agent_user_id: object_id(AGENT),
                agent_user_name: format!("{AGENT}@{HOME_TENANT}.com"),
                client_id: application_id("public-client"),
            },
            faults: spec.faults.iter().take(FAULTS_MAX).cloned().map(Struck::new).collect(),
            spec: spec.clone(),
            jtis: BTreeSet::new(),
            minted: BTreeMap::new(),
            minted_total: 0,
            devices: BTreeMap::new(),
            codes: BTreeMap::new(),
            refresh_tokens: BTreeMap::new(),
            issued: Vec::new(),
            secrets: Vec::new(),
            calls: Vec::new(),
            calls_total: 0,
            told_until_ms: None,
            violations: Vec::new(),
            exercised: BTreeSet::new(),
        }
    }

    /// The ids of the tenant and of everything in it.
    pub fn ids(&self) -> &EntraIds {
        &self.ids
    }

    /// The origin of the fake's endpoints, e.g. `http://127.0.0.1:4000`.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Gives the fake another origin.
    pub fn set_base_url(&mut self, base_url: &str) {
        base_url.trim_end_matches('/').clone_into(&mut self.base_url);
    }

    /// Adds a fault after the existing ones.
    pub fn add_fault(&mut self, fault: EntraFault) -> Result<(), ScriptError> {
        if self.faults.len() >= FAULTS_MAX {
            return Err(ScriptError::TooMany { what: "faults", max: FAULTS_MAX });
        }
        self.faults.push(Struck::new(fault));
        Ok(())
    }

    /// Removes all faults.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }

    /// Replaces the registered certificate.
    pub fn register(&mut self, certificate: super::Credential) {
        self.spec.registered = certificate;
    }

    /// Records that an administrator consents to the agent's permissions.
    pub fn consent(&mut self) {
        self.spec.without_consent = false;
    }

    /// Acts as a person who enters a code and approves or refuses the sign-in.
    pub fn answer_device(&mut self, user_code: &str, yes: bool) -> Result<(), ScriptError> {
        let device = self.devices.values_mut().find(|device| device.user_code == user_code);
        let Some(device) = device else {
            let reason = format!("no device waits with the code `{user_code}`");
            return Err(ScriptError::Invalid { field: "user_code", reason });
        };
        device.verdict = Some(yes);
        Ok(())
    }

    /// The codes that a person could enter now.
    pub fn user_codes(&self) -> Vec<String> {
        self.devices.values().map(|device| device.user_code.clone()).collect()
    }

    /// Makes the refresh token of a sign-in at the start of the world.
    pub fn signed_in_before(&mut self) -> String {
        let now_ms = self.started_ms;
        self.new_refresh_token(now_ms)
    }

    /// Revokes every refresh token, as an administrator can.
    pub fn revoke_refresh_tokens(&mut self) {
        self.refresh_tokens.values_mut().for_each(|token| token.revoked = true);
    }

    /// All tokens and codes so far; none of them may appear in a line, a file or a text.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The records of the requests so far.
    pub fn calls(&self) -> &[EntraCall] {
        &self.calls
    }

    /// The actions of clients that a well-behaved client would not have done.
    pub fn violations(&self) -> &[String] {
        &self.violations
    }

    /// The rules that the fake has followed so far.
    pub fn rules_exercised(&self) -> &BTreeSet<EntraRuleId> {
        &self.exercised
    }

    /// Takes the access tokens that were made since the last call.
    pub(super) fn take_issued(&mut self) -> Vec<Issued> {
        std::mem::take(&mut self.issued)
    }

    pub(super) fn note(&mut self, rule: EntraRuleId) {
        self.exercised.insert(rule);
    }

    pub(super) fn endpoint(&self, name: &str) -> String {
        format!("{}/{}/oauth2/v2.0/{name}", self.base_url, self.ids.tenant_id)
    }

    /// Serves one request at the instant `now`.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Answer {
        let now_ms = now.as_millisecond();
        self.calls_total += 1;
        let url = Url::parse(&self.base_url).and_then(|base| base.join(&request.url));
        let form = Form::read(request);
        let grant = url.as_ref().map_or(Grant::Other, |url| self.grant_of(request, url, form.as_ref().ok()));
        if self.told_until_ms.is_some_and(|until| now_ms < until) {
            self.note(EntraRuleId::RetriedEarly);
            self.violations.push(format!("{grant:?} came before Retry-After was over"));
        }
        let actions = self.struck(grant, now_ms);
        let instead = actions.iter().find_map(|action| self.instead(action, now_ms));
        let mut answer = instead.unwrap_or_else(|| {
            let given = match &url {
                Ok(url) => self.serve(grant, url, form, now_ms),
                Err(_) => Err(Self::nowhere()),
            };
            self.answer(given, now_ms)
        });
        for action in &actions {
            self.spoil(action, &mut answer);
        }
        self.note(EntraRuleId::DateHeader);
        answer.headers.push(("date".to_owned(), http_date_of(now_ms)));
        answer.headers.push(("cache-control".to_owned(), "no-store, no-cache".to_owned()));
        answer.delay_ms = answer.delay_ms.saturating_add(self.spec.latency_ms);
        let number = answer.json()["error_codes"][0].as_u64();
        if self.calls.len() < CALLS_MAX {
            self.calls.push(EntraCall { at: now, grant, status: answer.status, number, fate: answer.fate });
        }
        answer
    }

    fn grant_of(&self, request: &Request, url: &Url, form: Option<&Form>) -> Grant {
        let endpoint = url.path().rsplit('/').next().unwrap_or_default();
        let kind = form.and_then(|form| form.get("grant_type")).unwrap_or_default();
        match (request.method.as_str(), endpoint, kind) {
            ("GET", "authorize", _) => Grant::Authorize,
            ("POST", "devicecode", _) => Grant::DeviceCode,
            ("POST", "token", "client_credentials") => form.map_or(Grant::Hop1, |form| self.hop_of(form)),
            ("POST", "token", "user_fic") => Grant::Hop3,
            ("POST", "token", "urn:ietf:params:oauth:grant-type:device_code") => Grant::DevicePoll,
            ("POST", "token", "authorization_code") => Grant::BrowserCode,
            ("POST", "token", "refresh_token") => Grant::Refresh,
            _ => Grant::Other,
        }
    }

    fn nowhere() -> Refusal {
        Refusal::new(EntraRuleId::UnknownEndpoint, 404, "", 0, "")
    }

    fn serve(
        &mut self,
        grant: Grant,
        url: &Url,
        form: Result<Form, Refusal>,
        now_ms: i64,
    ) -> Result<Given, Refusal> {
        let segments: Vec<&str> = url.path_segments().map(Iterator::collect).unwrap_or_default();
        let [tenant, "oauth2", "v2.0", "token" | "devicecode" | "authorize"] = segments.as_slice() else {
            return Err(Self::nowhere());
        };
        if !tenant.eq_ignore_ascii_case(&self.ids.tenant_id) {
            let message = format!("Tenant '{tenant}' not found.");
            return Err(Refusal::new(EntraRuleId::TenantUnknown, 400, "invalid_request", 90_002, message));
        }
        if grant == Grant::Authorize {
            return self.authorize(url, now_ms);
        }
        let form = form?;
        match grant {
            Grant::Hop1 => self.hop_1(&form, now_ms),
            Grant::Hop2 => self.hop_2(&form, now_ms),
            Grant::Hop3 => self.hop_3(&form, now_ms),
            Grant::DeviceCode => self.device_code(&form, now_ms),
            Grant::DevicePoll => self.device_poll(&form, now_ms),
            Grant::BrowserCode => self.browser_code(&form, now_ms),
            Grant::Refresh => self.refresh(&form, now_ms),
            Grant::Authorize | Grant::Other => {
                form.need("grant_type")?;
                let message = "The app requested an unsupported grant type.";
                // The grant of October 2025 for hop 3 is one of the unsupported types.
                if form
                    .get("user_federated_identity_credential")
                    .or(form.get("requested_token_use"))
                    .is_some()
                {
                    self.note(EntraRuleId::UserFicOnly);
                }
                Err(Refusal::new(EntraRuleId::GrantUnknown, 400, "unsupported_grant_type", 70_003, message))
            }
        }
    }

    fn answer(&mut self, given: Result<Given, Refusal>, now_ms: i64) -> Answer {
        match given {
            Ok(Given::Json(value)) => json(200, &value),
            Ok(Given::Redirect(to)) => {
                Answer { headers: vec![("location".to_owned(), to)], ..plain(302, "text/html", "") }
            }
            Err(refusal) => self.refuse(&refusal, now_ms),
        }
    }

    fn refuse(&mut self, refusal: &Refusal, now_ms: i64) -> Answer {
        self.note(refusal.rule);
        if refusal.rule == EntraRuleId::UnknownEndpoint {
            return plain(404, "text/html", "<html><body>Not found</body></html>");
        }
        self.note(EntraRuleId::ErrorBody);
        json(refusal.status, &refusal.body(self.seed, self.calls_total, now_ms))
    }

    fn struck(&mut self, grant: Grant, now_ms: i64) -> Vec<EntraFaultAction> {
        let elapsed_ms = now_ms.saturating_sub(self.started_ms);
        self.faults
            .iter_mut()
            .filter_map(|fault| fault.strikes(grant, elapsed_ms).then(|| fault.spec.action.clone()))
            .collect()
    }

    /// The answer of a fault that answers instead of the service.
    fn instead(&mut self, action: &EntraFaultAction, now_ms: i64) -> Option<Answer> {
        match action {
            EntraFaultAction::Status { code, retry_after_s, body } => {
                self.note(EntraRuleId::FaultStatus);
                let mut answer = match body {
                    EntraFaultBody::Html => plain(*code, "text/html", GATEWAY_PAGE),
                    EntraFaultBody::Empty => plain(*code, "text/html", ""),
                    EntraFaultBody::Json => {
                        let message = "A transient error has occurred. Please try again.";
                        let rule = EntraRuleId::FaultStatus;
                        self.refuse(
                            &Refusal::new(rule, *code, "temporarily_unavailable", 90_033, message),
                            now_ms,
                        )
                    }
                };
                if let Some(seconds) = retry_after_s {
                    answer.headers.push(("retry-after".to_owned(), seconds.to_string()));
                    self.told_until_ms = Some(now_ms.saturating_add(i64::from(*seconds) * 1_000));
                }
                Some(answer)
            }
            EntraFaultAction::Refuse { error, number, status } => {
                let status = status.unwrap_or(400);
                if status < 300 {
                    self.note(EntraRuleId::ErrorInSuccess);
                }
                let message = "The request was refused.";
                let refusal = Refusal::new(EntraRuleId::FaultRefuse, status, error, *number, message);
                Some(self.refuse(&refusal, now_ms))
            }
            EntraFaultAction::ResetBeforeApply => {
                self.note(EntraRuleId::FaultReset);
                Some(Answer { fate: Fate::DroppedBeforeApply, ..plain(0, "text/html", "") })
            }
            EntraFaultAction::ResetAfterApply
            | EntraFaultAction::Slow { .. }
            | EntraFaultAction::Truncated => None,
        }
    }

    fn spoil(&mut self, action: &EntraFaultAction, answer: &mut Answer) {
        match action {
            EntraFaultAction::ResetAfterApply => {
                self.note(EntraRuleId::FaultReset);
                answer.fate = Fate::DroppedAfterApply;
            }
            EntraFaultAction::Slow { delay_ms } => {
                self.note(EntraRuleId::FaultSlow);
                answer.delay_ms = answer.delay_ms.saturating_add(*delay_ms);
            }
            EntraFaultAction::Truncated => {
                self.note(EntraRuleId::FaultTruncated);
                answer.body.truncate(answer.body.len() / 2);
            }
            _ => {}
        }
    }
}

fn plain(status: u16, kind: &str, body: &str) -> Answer {
    Answer {
        status,
        headers: vec![("content-type".to_owned(), format!("{kind}; charset=utf-8"))],
        body: body.as_bytes().to_vec(),
        delay_ms: 0,
        fate: Fate::Delivered,
    }
}

fn json(status: u16, value: &Value) -> Answer {
    plain(status, "application/json", &value.to_string())
}
