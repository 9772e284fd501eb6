//! Rejections: each names the rule that it follows, and becomes an error body in Graph's form.
//! A request must never be refused without a rule.

use serde_json::{Value, json};

use super::error_style::ErrorStyle;
use super::fault::ErrorBody;
use super::moment::{self, Ms};
use super::rules::RuleId;

/// A request that is refused.
#[derive(Debug, Clone)]
pub(super) struct Rejection {
    pub(super) rule: RuleId,
    pub(super) status: u16,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: ErrorBody,
}

impl Rejection {
    pub(super) fn new(rule: RuleId, status: u16, message: impl Into<String>) -> Self {
        Self {
            rule,
            status,
            code: code(status),
            message: message.into(),
            headers: Vec::new(),
            body: ErrorBody::Envelope,
        }
    }

    pub(super) fn bad_request(rule: RuleId, message: impl Into<String>) -> Self {
        Self::new(rule, 400, message)
    }

    pub(super) fn with_header(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }
}

/// The error code that usually goes with a status.
fn code(status: u16) -> &'static str {
    match status {
        400 => "BadRequest",
        401 => "InvalidAuthenticationToken",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Gone",
        412 => "PreconditionFailed",
        413 => "RequestEntityTooLarge",
        423 => "Locked",
        429 => "TooManyRequests",
        502 => "BadGateway",
        503 => "ServiceUnavailable",
        504 => "GatewayTimeout",
        507 => "InsufficientStorage",
        _ => "InternalServerError",
    }
}

/// The ids of a request: the service's and the caller's.
#[derive(Debug, Clone)]
pub(super) struct Ids {
    pub(super) request: String,
    pub(super) client: String,
}

/// The body of an error.
pub(super) fn envelope(code: &str, message: &str, style: ErrorStyle, now_ms: Ms, ids: &Ids) -> Value {
    let date = moment::iso_error(now_ms);
    match style {
        ErrorStyle::Plain => json!({"error": {
            "code": code,
            "message": message,
            "innerError": {"date": date, "request-id": ids.request, "client-request-id": ids.client},
        }}),
        ErrorStyle::LowerCaseNested => json!({"error": {
            "code": "",
            "message": message,
            "innererror": {
                "date": date,
                "request-id": ids.request,
                "client-request-id": ids.client,
                "innererror": {"code": code, "message": message},
            },
        }}),
    }
}
