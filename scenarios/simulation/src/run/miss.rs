//! Why a demand or a step did not hold.

/// Why a demand does not hold (yet).
#[derive(Debug, Clone)]
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

/// A step's outcome: `Ok(Err(…))` is a demand that did not hold, `Err(…)` a scenario that can't be played.
pub(super) type Played = anyhow::Result<Result<(), Miss>>;
