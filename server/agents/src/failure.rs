//! Why an agent gave no answer: one class for each remedy, read from the status or the words of its program.
//! It must never guess a class from a word that an ordinary answer may hold: only errors are read.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A class of failures that have the same remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Its program is not on this machine.
    NotInstalled,
    /// It is not signed in, or its sign-in is not accepted.
    NotSignedIn,
    /// Its quota is used up, or too many questions came at once.
    Quota,
    /// It does not have the model.
    ModelUnknown,
    /// The service behind it can't be reached or fails.
    ProviderDown,
    /// It took too long.
    TimedOut,
    /// It refused to start: a wrong argument, folder or session.
    Refused,
    /// Anything else.
    Failed,
}

impl Class {
    /// The name of the class.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotInstalled => "not-installed",
            Self::NotSignedIn => "not-signed-in",
            Self::Quota => "quota",
            Self::ModelUnknown => "model-unknown",
            Self::ProviderDown => "provider-down",
            Self::TimedOut => "timed-out",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }

    /// The class of a status that a service of models has answered with.
    pub fn of_status(status: u64) -> Self {
        match status {
            401 | 403 => Self::NotSignedIn,
            402 | 429 => Self::Quota,
            404 => Self::ModelUnknown,
            408 | 504 => Self::TimedOut,
            500..=599 => Self::ProviderDown,
            400 | 422 => Self::Refused,
            _ => Self::Failed,
        }
    }

    /// The class of an error message.
    pub fn of_words(message: &str) -> Self {
        let message = message.to_lowercase();
        let found = WORDS.iter().find(|(_, words)| words.iter().all(|word| message.contains(word)));
        found.map_or(Self::Failed, |(class, _)| *class)
    }

    /// What to do about it.
    pub fn remedy(self, sign_in: &str) -> String {
        match self {
            Self::NotInstalled => "install it, or choose another agent by `agent`".to_owned(),
            Self::NotSignedIn => format!("your user has to sign in: {sign_in}"),
            Self::Quota => "wait until the quota is renewed, or choose another agent by `agent`".to_owned(),
            Self::ModelUnknown => {
                "leave `model` out for its own default, or name one that it lists".to_owned()
            }
            Self::ProviderDown => {
                "its service can't be reached or fails; ask again later, or choose another agent by `agent`"
                    .to_owned()
            }
            Self::TimedOut => "ask again, or ask for less at once".to_owned(),
            Self::Refused => "correct what it names, or ask without it".to_owned(),
            Self::Failed => "ask again; if it fails again, your user can try it in a terminal".to_owned(),
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The beginning of the error of an agent that asked for more than it may do. What follows may hold any words.
pub(crate) const NOT_PERMITTED: &str = "it asked for what it is not permitted: ";

/// Words of error messages, in lower case; all words of a row must be there, and the first row that fits decides. They are
/// recorded from the programs in `docs/src/facts/agents.md`.
const WORDS: &[(Class, &[&str])] = &[
    (Class::Refused, &[NOT_PERMITTED]),
    (Class::Quota, &["no quota"]),
    (Class::Quota, &["quota", "exceeded"]),
    (Class::Quota, &["rate limit"]),
    (Class::Quota, &["usage limit"]),
    (Class::Quota, &["credit balance"]),
    (Class::Quota, &["402"]),
    (Class::Quota, &["429"]),
    (Class::NotSignedIn, &["no authentication information"]),
    (Class::NotSignedIn, &["authentication failed"]),
    (Class::NotSignedIn, &["not logged in"]),
    (Class::NotSignedIn, &["please run /login"]),
    (Class::NotSignedIn, &["invalid api key"]),
    (Class::NotSignedIn, &["personal access tokens", "not supported"]),
    (Class::NotSignedIn, &["auth method"]),
    (Class::NotSignedIn, &["401"]),
    (Class::NotSignedIn, &["403"]),
    (Class::ModelUnknown, &["model", "not found"]),
    (Class::ModelUnknown, &["model", "not available"]),
    (Class::ModelUnknown, &["model", "not supported"]),
    (Class::ModelUnknown, &["model", "does not exist"]),
    (Class::ModelUnknown, &["issue with the selected model"]),
    (Class::ModelUnknown, &["--model", "interactive mode"]),
    (Class::ModelUnknown, &["--model", "invalid"]),
    (Class::ProviderDown, &["could not connect"]),
    (Class::ProviderDown, &["connection refused"]),
    (Class::ProviderDown, &["econnrefused"]),
    (Class::ProviderDown, &["fetch failed"]),
    (Class::ProviderDown, &["network error"]),
    (Class::ProviderDown, &["overloaded"]),
    (Class::ProviderDown, &["high demand"]),
    (Class::ProviderDown, &["500"]),
    (Class::ProviderDown, &["502"]),
    (Class::ProviderDown, &["503"]),
    (Class::Refused, &["no session", "matched"]),
    (Class::Refused, &["no conversation found"]),
    (Class::Refused, &["no rollout found"]),
    (Class::Refused, &["prompt budget"]),
    (Class::Refused, &["invalid command format"]),
    (Class::Refused, &["is invalid"]),
    (Class::Refused, &["unknown option"]),
    (Class::Refused, &["unexpected argument"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(&[401, 403], Class::NotSignedIn)]
    #[case(&[402, 429], Class::Quota)]
    #[case(&[404], Class::ModelUnknown)]
    #[case(&[408, 504], Class::TimedOut)]
    #[case(&[500, 502, 503, 529, 599], Class::ProviderDown)]
    #[case(&[400, 422], Class::Refused)]
    #[case(&[200, 302, 418, 600], Class::Failed)]
    fn a_status_has_a_class(#[case] statuses: &[u64], #[case] class: Class) {
        for status in statuses {
            assert_eq!(Class::of_status(*status), class, "{status}");
        }
    }

    #[rstest]
    #[case("402 You have no quota", Class::Quota)]
    #[case("Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).", Class::NotSignedIn)]
    #[case("Error: No authentication information found.", Class::NotSignedIn)]
    #[case("Error: Classic Personal Access Tokens (ghp_) are not supported by Copilot.", Class::NotSignedIn)]
    #[case("Could not connect to local model provider at http://127.0.0.1:1/v1", Class::ProviderDown)]
    #[case("Error: No session, task, or name matched 'x'", Class::Refused)]
    #[case("error: option '--add-dir <directory>' argument '/x' is invalid", Class::Refused)]
    #[case("Error: Run copilot --model gpt-9 in interactive mode", Class::ModelUnknown)]
    #[case("the token of the parser was unexpected", Class::Failed)]
    #[case("", Class::Failed)]
    fn a_message_of_a_real_program_has_its_class(#[case] message: &str, #[case] class: Class) {
        assert_eq!(Class::of_words(message), class);
    }

    #[test]
    fn every_class_says_what_to_do() {
        for status in [400, 401, 402, 403, 404, 408, 418, 429, 500, 503] {
            let remedy = Class::of_status(status).remedy("run it once");
            assert!(remedy.len() > 10 && !remedy.ends_with('.'), "{remedy}");
        }
        assert!(Class::NotSignedIn.remedy("run it once").ends_with("run it once"));
    }
}
