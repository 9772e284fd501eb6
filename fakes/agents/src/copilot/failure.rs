//! What `copilot` says when its model's provider refuses, and how often it tries again.

use crate::invocation::Invocation;
use crate::script::Failure;

use super::version::Version;

/// A refusal as the program shows it.
pub(crate) struct Shown {
    /// The words, in text form and in the event.
    pub(crate) text: String,
    /// The `errorType` of the event.
    pub(crate) kind: &'static str,
    /// The pause before each retry, in milliseconds.
    pub(crate) retries_ms: Vec<u64>,
    /// What is told of a retry; nothing for some.
    pub(crate) retry_note: Option<&'static str>,
    /// The status, if there was one.
    pub(crate) status: Option<u16>,
}

const TRANSIENT: &str = "Request failed due to a transient API error. Retrying...";
const INTERRUPTED: &str = "Response was interrupted due to a server error. Retrying...";

/// The words for a refusal.
pub(crate) fn shown(failure: &Failure, model: &str, invocation: &Invocation, version: Version) -> Shown {
    let own = invocation.variable("COPILOT_PROVIDER_BASE_URL");
    let provider = own.unwrap_or("https://api.githubcopilot.com");
    let words = format!("{} {}", failure.status, failure.message);
    let (kind, pauses_ms, retry_note): (_, &[u64], _) = match failure.status {
        0 => ("query", &[2_000, 2_000, 4_000, 8_000, 8_000], Some(INTERRUPTED)),
        401 if !version.has_event("assistant.turn_retry") => ("authentication", &[], None),
        401 => ("authentication", &[1_000, 1_000], Some(TRANSIENT)),
        403 => ("authentication", &[], None),
        429 => ("rate_limit", &[11_650, 11_650, 11_650, 11_650, 11_650], None),
        500..=599 => ("query", &[500, 1_000, 2_000, 4_500, 8_500], Some(TRANSIENT)),
        _ => ("query", &[], None),
    };
    let retries_ms: Vec<u64> = pauses_ms.iter().map(|ms| failure.retry_ms.unwrap_or(*ms)).collect();
    let waited_ms: u64 = retries_ms.iter().sum();
    let text = match failure.status {
        0 => format!(
            "Could not connect to local model provider at {provider}.\n  Check that the service is running and the port is correct."
        ),
        status @ (401 | 403) => format!(
            "Authentication failed with provider at {provider} (HTTP {status}).\n  Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN."
        ),
        404 => format!(
            "Model '{model}' not found on provider at {provider} (HTTP 404).\n  Check that the model is available on your provider."
        ),
        429 | 500..=599 => format!(
            "Failed to get response from the AI model; retried 5 times (total retry wait time: {}.{:02} seconds) Last error: {words}",
            waited_ms / 1000,
            waited_ms % 1000 / 10
        ),
        _ => words,
    };
    let status = Some(failure.status).filter(|status| *status != 0);
    Shown { text, kind, retries_ms, retry_note, status }
}
