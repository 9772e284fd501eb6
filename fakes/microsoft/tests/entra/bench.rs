//! A tenant to ask questions of, with a client that signs for itself and shares nothing with the server.

use std::cell::Cell;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fake_microsoft::entra::{Credential, EntraIds, EntraRuleId, EntraSpec, FakeEntra, SharedEntra};
use fake_microsoft::graph::{Answer, FakeGraph, Request, SharedGraph};
use jiff::Timestamp;
use rustls::SignatureScheme;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

/// 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;
pub(crate) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
pub(crate) const EXCHANGE: &str = "api://AzureADTokenExchange/.default";
pub(crate) const GRAPH: &str = "https://graph.microsoft.com/.default";

pub(crate) struct Bench {
    pub(crate) entra: SharedEntra,
    pub(crate) graph: SharedGraph,
    pub(crate) ids: EntraIds,
    now_ms: Cell<i64>,
    jti: Cell<u32>,
}

impl Bench {
    pub(crate) fn new(spec: &EntraSpec) -> Self {
        let graph = SharedGraph::new(FakeGraph::new(1, at(0)));
        let entra = FakeEntra::new(spec, 1, at(0));
        let ids = entra.ids().clone();
        Self {
            entra: SharedEntra::new(entra, Some(graph.clone())),
            graph,
            ids,
            now_ms: Cell::new(0),
            jti: Cell::new(0),
        }
    }

    /// Lets time pass.
    pub(crate) fn pass_s(&self, seconds: i64) {
        self.now_ms.set(self.now_ms.get() + seconds * 1_000);
    }

    pub(crate) fn url(&self, endpoint: &str) -> String {
        format!("https://login.microsoftonline.com/{}/oauth2/v2.0/{endpoint}", self.ids.tenant_id)
    }

    pub(crate) fn send(&self, request: &Request) -> Answer {
        self.entra.handle(at(self.now_ms.get()), request)
    }

    pub(crate) fn post(&self, endpoint: &str, fields: &[(&str, &str)]) -> Answer {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let mut request = Request::new("POST", &self.url(endpoint));
        request.body = body.into_bytes();
        self.send(&request.header("Content-Type", "application/x-www-form-urlencoded"))
    }

    /// The token of a request that must succeed.
    pub(crate) fn token(&self, fields: &[(&str, &str)]) -> String {
        let answer = self.post("token", fields);
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        text(&answer.json()["access_token"])
    }

    /// Asserts that a request is refused with a status, a word and a number.
    pub(crate) fn refused(&self, fields: &[(&str, &str)], status: u16, word: &str, number: u64) {
        Self::check(&self.post("token", fields), status, word, number);
    }

    pub(crate) fn check(answer: &Answer, status: u16, word: &str, number: u64) {
        let body = answer.json();
        assert_eq!(
            (answer.status, &body["error"], &body["error_codes"]),
            (status, &json!(word), &json!([number])),
            "{body}"
        );
        let description = text(&body["error_description"]);
        assert!(
            description.starts_with(&format!("AADSTS{number}: ")) && description.contains("\r\nTrace ID"),
            "{description}"
        );
        assert!(
            body["trace_id"].is_string()
                && body["correlation_id"].is_string()
                && body["timestamp"].is_string()
        );
        assert!(answer.header("date").is_some());
    }

    /// The claims of a good assertion, and a new id.
    pub(crate) fn claims(&self) -> Value {
        self.jti.set(self.jti.get() + 1);
        let now = (START_MS + self.now_ms.get()) / 1_000;
        json!({
            "aud": self.url("token"), "iss": self.ids.blueprint_id, "sub": self.ids.blueprint_id,
            "jti": format!("id-{}", self.jti.get()), "nbf": now, "iat": now, "exp": now + 540,
        })
    }

    pub(crate) fn assertion(&self) -> String {
        let claims = self.claims();
        sign(&json!({"alg": "PS256", "typ": "JWT", "x5t#S256": Credential::Blueprint.thumbprint()}), &claims)
    }

    pub(crate) fn hop_1_with(&self, assertion: &str) -> Answer {
        self.post("token", &self.hop_1_fields(assertion))
    }

    pub(crate) fn hop_1_fields<'a>(&'a self, assertion: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("client_id", &self.ids.blueprint_id),
            ("grant_type", "client_credentials"),
            ("scope", EXCHANGE),
            ("fmi_path", &self.ids.agent_id),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", assertion),
        ]
    }

    pub(crate) fn hop_2_fields<'a>(&'a self, first: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("client_id", &self.ids.agent_id),
            ("grant_type", "client_credentials"),
            ("scope", EXCHANGE),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", first),
        ]
    }

    pub(crate) fn hop_3_fields<'a>(&'a self, first: &'a str, second: &'a str) -> Vec<(&'a str, &'a str)> {
        vec![
            ("client_id", &self.ids.agent_id),
            ("grant_type", "user_fic"),
            ("scope", GRAPH),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", first),
            ("user_federated_identity_credential", second),
            ("user_id", &self.ids.agent_user_id),
            ("requested_token_use", "on_behalf_of"),
        ]
    }

    /// T1 and T2.
    pub(crate) fn two_hops(&self) -> (String, String) {
        let assertion = self.assertion();
        let first = self.token(&self.hop_1_fields(&assertion));
        let second = self.token(&self.hop_2_fields(&first));
        (first, second)
    }

    /// What Graph says to a token.
    pub(crate) fn graph_status(&self, token: &str) -> u16 {
        self.graph.handle(at(self.now_ms.get()), &Request::get("/v1.0/me").bearer(token)).status
    }

    pub(crate) fn went_by(&self, rules: &[EntraRuleId]) {
        let exercised = self.entra.with(|entra| entra.rules_exercised().clone());
        for rule in rules {
            assert!(exercised.contains(rule), "the case never went by the rule {rule:?}");
        }
    }
}

pub(crate) fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(START_MS + ms).unwrap()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// One field replaced, or taken away.
pub(crate) fn with<'a>(
    fields: Vec<(&'a str, &'a str)>,
    name: &str,
    value: Option<&'a str>,
) -> Vec<(&'a str, &'a str)> {
    fields
        .into_iter()
        .filter_map(|(n, v)| if n == name { value.map(|value| (n, value)) } else { Some((n, v)) })
        .collect()
}

pub(crate) fn sign(header: &Value, claims: &Value) -> String {
    sign_with(Credential::Blueprint, header, claims)
}

pub(crate) fn sign_with(credential: Credential, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let scheme = match header["alg"].as_str() {
        Some("RS256") => SignatureScheme::RSA_PKCS1_SHA256,
        _ => SignatureScheme::RSA_PSS_SHA256,
    };
    let der = PrivateKeyDer::from_pem_slice(credential.key_pem().as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&der).unwrap();
    let signature = key.choose_scheme(&[scheme]).unwrap().sign(signed.as_bytes()).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Cases: a name, the rules it goes by, the tenant, what it does there.
macro_rules! cases {
    ($( $name:ident [$($rule:ident),*] $spec:expr, |$bench:ident| $body:block )*) => {
        pub(crate) fn cases() -> Vec<fake_microsoft::entra::EntraRuleId> {
            vec![$( $(fake_microsoft::entra::EntraRuleId::$rule,)* )*]
        }

        $(
            #[test]
            fn $name() {
                let $bench = crate::bench::Bench::new(&$spec);
                $body
                $bench.went_by(&[$(fake_microsoft::entra::EntraRuleId::$rule),*]);
            }
        )*
    };
}
pub(crate) use cases;
