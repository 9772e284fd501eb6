//! A parsed form body; a field that occurs twice is refused.
//! It must never interpret a value.

use std::collections::BTreeMap;

use super::refuse::Refusal;
use super::rules::EntraRuleId;
use crate::graph::Request;

/// The fields by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Form {
    fields: BTreeMap<String, String>,
}

impl Form {
    pub(super) fn read(request: &Request) -> Result<Self, Refusal> {
        let malformed =
            |message: &str| Refusal::new(EntraRuleId::FormEncoded, 400, "invalid_request", 900_144, message);
        let kind = request.header_value("content-type").unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/x-www-form-urlencoded") {
            return Err(malformed("The request body must be form-encoded."));
        }
        let mut fields = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(&request.body) {
            if fields.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(malformed(&format!("The request holds the parameter '{name}' twice.")));
            }
        }
        Ok(Self { fields })
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    pub(super) fn need(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| {
            let message = format!("The request body must contain the following parameter: '{name}'.");
            Refusal::new(EntraRuleId::FieldMissing, 400, "invalid_request", 900_144, message)
        })
    }
}
