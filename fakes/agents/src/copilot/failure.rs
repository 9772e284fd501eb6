//! What `copilot` says when its model's provider refuses.

use crate::invocation::Invocation;
use crate::script::Failure;

/// A refusal as the program shows it.
pub(crate) struct Shown {
    /// The words, in text form and in the event.
    pub(crate) text: String,
    /// The `errorType` of the event.
    pub(crate) kind: &'static str,
    /// How long the program tries again before.
    pub(crate) after_ms: u64,
}

/// How long the retries of a failing provider take.
const RETRIES_MS: u64 = 16_500;

/// The words for a refusal.
pub(crate) fn shown(failure: &Failure, model: &str, invocation: &Invocation) -> Shown {
    let own = invocation.variable("COPILOT_PROVIDER_BASE_URL");
    let provider = own.unwrap_or("https://api.githubcopilot.com");
    let words = format!("{} {}", failure.status, failure.message);
    match failure.status {
        401 => Shown {
            text: format!(
                "Authentication failed with provider at {provider} (HTTP 401).\n  Check your COPILOT_PROVIDER_API_KEY, COPILOT_PROVIDER_API_KEY_COMMAND, or COPILOT_PROVIDER_BEARER_TOKEN."
            ),
            kind: "authentication",
            after_ms: 0,
        },
        404 => Shown {
            text: format!(
                "Model '{model}' not found on provider at {provider} (HTTP 404).\n  Check that the model is available on your provider."
            ),
            kind: "query",
            after_ms: 0,
        },
        500..=599 => Shown {
            text: format!(
                "Failed to get response from the AI model; retried 5 times (total retry wait time: 16.50 seconds) Last error: {words}"
            ),
            kind: "query",
            after_ms: RETRIES_MS,
        },
        _ => Shown { text: words, kind: "query", after_ms: 0 },
    }
}
