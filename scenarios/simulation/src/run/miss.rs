//! Why a demand or a step did not hold.

/// Why a demand does not hold (yet). Among the errors of a step it is the one that is no fault of the scenario.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Miss {
    pub(crate) message: String,
    pub(crate) expected: Option<String>,
    pub(crate) observed: Option<String>,
}

impl Miss {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), expected: None, observed: None }
    }

    pub(super) fn texts(message: impl Into<String>, expected: &str, observed: &str) -> Self {
        Self {
            message: message.into(),
            expected: Some(expected.to_owned()),
            observed: Some(observed.to_owned()),
        }
    }
}
