//! Faults as data: which calls they strike, when, how often, and what happens to these calls.
//! They only break answers; they must never change the state of the world.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::draw;
use super::moment::{self, Ms};
use super::route::Operation;
use super::rules::RuleId;
use super::script_error::ScriptError;
use super::throttle::RetryAfterForm;
use crate::wire::{Answer, Fate};

/// How many faults a world can have.
pub(super) const FAULTS_MAX: usize = 1000;
/// The largest padding of a page, in bytes.
pub(super) const HUGE_PAGE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One fault. It strikes when all given conditions hold; instants count from the start of the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// Strikes only this verb.
    pub method: Option<String>,
    /// Strikes only this path, decoded and without the query. `*` matches any text, as in
    /// `/v1.0/chats/*/messages`.
    pub path: Option<String>,
    /// Strikes only this operation.
    pub operation: Option<Operation>,
    /// Strikes only calls on the chat with this handle.
    pub chat: Option<String>,
    /// The instant at which the fault begins, in milliseconds.
    pub from_ms: Option<u64>,
    /// The instant at which the fault ends, in milliseconds.
    pub until_ms: Option<u64>,
    /// Lets this many matching calls pass first.
    #[serde(default)]
    pub skip: u32,
    /// Strikes only this many matching calls after that; absent means all.
    pub first: Option<u32>,
    /// Strikes each of those with this probability (0 to 1), by the seed; absent means always.
    pub probability: Option<f64>,
    /// What happens to the call.
    #[serde(rename = "do")]
    pub action: FaultAction,
}

impl FaultSpec {
    /// A fault on every call.
    pub fn always(action: FaultAction) -> Self {
        Self {
            method: None,
            path: None,
            operation: None,
            chat: None,
            from_ms: None,
            until_ms: None,
            skip: 0,
            first: None,
            probability: None,
            action,
        }
    }

    /// A fault on one operation.
    pub fn on(operation: Operation, action: FaultAction) -> Self {
        Self { operation: Some(operation), ..Self::always(action) }
    }

    /// The same fault, but only on the first `n` matching calls.
    #[must_use]
    pub fn first(mut self, n: u32) -> Self {
        self.first = Some(n);
        self
    }
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FaultAction {
    /// Answers with an error status; the request has no effect.
    Status {
        /// The status, 400 to 599.
        code: u16,
        /// Seconds of `Retry-After`; absent means no such header.
        retry_after_s: Option<u32>,
        /// The form of `Retry-After`.
        #[serde(default)]
        form: RetryAfterForm,
        /// The form of the body.
        #[serde(default)]
        body: ErrorBody,
    },
    /// Answers with 401 and a claims challenge.
    ClaimsChallenge {
        /// The claims, not encoded.
        claims: String,
    },
    /// Answers with 400 to a chat list with `$orderby`.
    OrderbyRefused,
    /// Breaks the connection; the request has no effect.
    ResetBeforeApply,
    /// Breaks the connection after the request was served. It took effect unless the service refused it.
    ResetAfterApply,
    /// Answers with a fixed body, whatever the call asked for.
    Body {
        /// The status, 200 to 599.
        status: u16,
        /// The content type.
        content_type: String,
        /// The body.
        text: String,
    },
    /// Cuts the body.
    TruncatedJson {
        /// The percentage of the body that is kept.
        keep_percent: u8,
    },
    /// Adds half of a character after each occurrence of a text, as a service does that cuts UTF-16 at a
    /// length. The answer still has the form of JSON, but strict readers refuse it.
    HalfCharacter {
        /// The text after which half of a character is added.
        behind: String,
    },
    /// Removes the body.
    EmptyBody,
    /// Gives the answer another content type.
    WrongContentType {
        /// The other content type.
        content_type: String,
    },
    /// Removes fields from every item of a list, or from the object.
    MissingFields {
        /// The names of the fields.
        fields: Vec<String>,
    },
    /// Delays the answer.
    Slow {
        /// The additional time in milliseconds.
        delay_ms: u64,
    },
    /// Points the next link to another URL, and adds a next link if there was none.
    ForeignNextLink {
        /// The URL of the next link.
        url: String,
    },
    /// Adds a large annotation to the page.
    HugePage {
        /// The size of the annotation in bytes.
        bytes: usize,
    },
    /// Makes the next link lead to the same page.
    DuplicatePage,
    /// Removes all items of the page and makes the next link lead to the same page.
    EmptyPage,
}

/// The body of an error status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorBody {
    /// Graph's own error body.
    #[default]
    Envelope,
    /// An HTML page from a gateway.
    Html,
    /// An empty body.
    Empty,
}

impl FaultAction {
    pub(super) fn rule(&self) -> RuleId {
        match self {
            Self::Status { body: ErrorBody::Html, .. } => RuleId::FaultHtml,
            Self::Status { body: ErrorBody::Envelope, .. } => RuleId::FaultStatus,
            Self::Status { body: ErrorBody::Empty, .. } | Self::EmptyBody => RuleId::FaultEmptyBody,
            Self::ClaimsChallenge { .. } => RuleId::ClaimsChallenge,
            Self::OrderbyRefused => RuleId::FaultOrderby,
            Self::ResetBeforeApply => RuleId::FaultResetBefore,
            Self::ResetAfterApply => RuleId::FaultResetAfter,
            Self::Body { .. } => RuleId::FaultBody,
            Self::TruncatedJson { .. } => RuleId::FaultTruncated,
            Self::HalfCharacter { .. } => RuleId::FaultHalfCharacter,
            Self::WrongContentType { .. } => RuleId::FaultContentType,
            Self::MissingFields { .. } => RuleId::FaultMissing,
            Self::Slow { .. } => RuleId::FaultSlow,
            Self::ForeignNextLink { .. } => RuleId::FaultForeignLink,
            Self::HugePage { .. } => RuleId::FaultHugePage,
            Self::DuplicatePage => RuleId::FaultDuplicatePage,
            Self::EmptyPage => RuleId::FaultEmptyPage,
        }
    }

    /// Whether the fault answers instead of the service.
    pub(super) fn preempts(&self) -> bool {
        matches!(
            self,
            Self::Status { .. }
                | Self::ClaimsChallenge { .. }
                | Self::OrderbyRefused
                | Self::ResetBeforeApply
                | Self::Body { .. }
        )
    }

    /// Changes an answer that the service gave. `again` is the URL of the same request.
    pub(super) fn spoil(&self, answer: &mut Answer, again: &str) {
        match self {
            Self::ResetAfterApply => answer.fate = Fate::DroppedAfterApply,
            Self::TruncatedJson { keep_percent } => {
                let keep = answer.body.len().saturating_mul(usize::from((*keep_percent).min(99))) / 100;
                answer.body.truncate(keep);
            }
            Self::HalfCharacter { behind } => {
                let text = String::from_utf8_lossy(&answer.body);
                answer.body = text.replace(behind.as_str(), &format!("{behind}\\ud83d")).into_bytes();
            }
            Self::EmptyBody => answer.body.clear(),
            Self::WrongContentType { content_type } => answer.set_header("content-type", content_type),
            Self::Slow { delay_ms } => answer.delay_ms = answer.delay_ms.saturating_add(*delay_ms),
            Self::MissingFields { fields } => edit(answer, |page| {
                let items = match page.get_mut("value").and_then(Value::as_array_mut) {
                    Some(items) => items.iter_mut().collect(),
                    None => vec![page],
                };
                for object in items.into_iter().filter_map(Value::as_object_mut) {
                    object.retain(|name, _| !fields.contains(name));
                }
            }),
            Self::ForeignNextLink { url } => edit(answer, |page| link(page, url)),
            Self::DuplicatePage => edit(answer, |page| link(page, again)),
            Self::EmptyPage => edit(answer, |page| {
                if page.get("value").is_some_and(Value::is_array) {
                    page["value"] = json!([]);
                }
                link(page, again);
            }),
            Self::HugePage { bytes } => edit(answer, |page| {
                if let Some(page) = page.as_object_mut() {
                    let padding = "a".repeat((*bytes).min(HUGE_PAGE_BYTES_MAX));
                    page.insert("@microsoft.graph.tips".to_owned(), Value::String(padding));
                }
            }),
            Self::Status { .. }
            | Self::ClaimsChallenge { .. }
            | Self::OrderbyRefused
            | Self::ResetBeforeApply
            | Self::Body { .. } => {}
        }
    }
}

fn edit(answer: &mut Answer, change: impl FnOnce(&mut Value)) {
    if let Ok(mut page) = serde_json::from_slice::<Value>(&answer.body) {
        change(&mut page);
        answer.body = page.to_string().into_bytes();
    }
}

fn link(page: &mut Value, url: &str) {
    if page.get("value").is_some_and(Value::is_array) {
        page["@odata.nextLink"] = json!(url);
    }
}

/// The properties of a call that the conditions of a fault can name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) elapsed_ms: Ms,
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) operation: Operation,
    pub(super) chat: Option<&'a str>,
    pub(super) has_orderby: bool,
}

/// A fault with the number of calls that it has matched.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) spec: FaultSpec,
    matched: u64,
}

impl Fault {
    pub(super) fn new(spec: FaultSpec) -> Result<Self, ScriptError> {
        let invalid = |field, reason: &str| Err(ScriptError::Invalid { field, reason: reason.to_owned() });
        if spec.probability.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
            return invalid("probability", "must be between 0 and 1");
        }
        match &spec.action {
            FaultAction::Status { code, .. } if !(400..600).contains(code) => {
                invalid("do.status.code", "must be between 400 and 599")
            }
            FaultAction::Body { status, .. } if !(200..600).contains(status) => {
                invalid("do.body.status", "must be between 200 and 599")
            }
            FaultAction::HugePage { bytes } if *bytes > HUGE_PAGE_BYTES_MAX => {
                invalid("do.huge_page.bytes", "must be at most 67108864")
            }
            _ => Ok(Self { spec, matched: 0 }),
        }
    }

    /// Whether the fault strikes this call. Counts the call when it matches.
    pub(super) fn strikes(&mut self, seed: u64, index: usize, seen: Seen<'_>) -> bool {
        let spec = &self.spec;
        let matches = spec.method.as_deref().is_none_or(|m| m.eq_ignore_ascii_case(seen.method))
            && spec.path.as_deref().is_none_or(|p| glob(p, seen.path))
            && spec.operation.is_none_or(|o| o == seen.operation)
            && spec.chat.as_deref().is_none_or(|c| seen.chat == Some(c))
            && spec.from_ms.is_none_or(|from| seen.elapsed_ms >= moment::span(from))
            && spec.until_ms.is_none_or(|until| seen.elapsed_ms < moment::span(until))
            && (spec.action != FaultAction::OrderbyRefused
                || (seen.has_orderby && seen.operation == Operation::ListChats));
        if !matches {
            return false;
        }
        let number = self.matched;
        self.matched += 1;
        let Some(number) = number.checked_sub(u64::from(spec.skip)) else { return false };
        spec.first.is_none_or(|first| number < u64::from(first))
            && spec.probability.is_none_or(|p| draw::happens(seed, &format!("fault/{index}/{number}"), p))
    }
}

/// Whether `text` fits a pattern in which `*` matches any text.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_is_anchored_at_both_ends() {
        assert!(glob("/v1.0/chats/*/messages", "/v1.0/chats/19:a@b/messages"));
        assert!(!glob("/v1.0/chats/*/messages", "/v1.0/chats/19:a@b/messages/1"));
        assert!(glob("*messages*", "/v1.0/me/chats/c/messages/1"));
        assert!(glob("/a", "/a") && !glob("/a", "/ab") && !glob("/a*b", "/a"));
    }

    #[test]
    fn skip_first_and_window_choose_the_calls() {
        let mut spec = FaultSpec::always(FaultAction::EmptyBody).first(2);
        spec.skip = 1;
        spec.until_ms = Some(100);
        let mut fault = Fault::new(spec).unwrap();
        let seen = |elapsed_ms| Seen {
            elapsed_ms,
            method: "GET",
            path: "/v1.0/me",
            operation: Operation::Me,
            chat: None,
            has_orderby: false,
        };
        let struck: Vec<bool> = [0, 1, 2, 3, 100].map(|at| fault.strikes(1, 0, seen(at))).to_vec();
        assert_eq!(struck, [false, true, true, false, false]);
    }

    #[test]
    fn faults_are_read_from_yaml_and_nonsense_is_refused() {
        let read = |yaml: &str| yaml::read::<FaultSpec>(yaml);
        let fault =
            read("chat: dm\noperation: send_message\nfirst: 1\ndo: {status: {code: 429, retry_after_s: 4, form: http_date}}")
                .unwrap();
        assert_eq!(fault.chat.as_deref(), Some("dm"));
        assert!(matches!(read("do: reset_after_apply").unwrap().action, FaultAction::ResetAfterApply));
        assert!(read("do: empty_body\nfrist: 1").is_err());
        assert!(read("do: {status: {code: 500, retryafter: 1}}").is_err());
        assert!(read("first: 1").is_err());
        let bad = FaultSpec { probability: Some(2.0), ..FaultSpec::always(FaultAction::EmptyBody) };
        assert!(Fault::new(bad).is_err());
    }
}
