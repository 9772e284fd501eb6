//! The errors in the steps of a scenario.

/// A step of a scenario that cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// No person or application has that handle.
    #[error("no person or application `{name}` in this world; there are {known}")]
    UnknownPerson {
        /// The name that was asked for.
        name: String,
        /// The existing names, comma separated.
        known: String,
    },
    /// No chat has that handle.
    #[error("no chat `{name}` in this world; there are {known}")]
    UnknownChat {
        /// The name that was asked for.
        name: String,
        /// The existing names, comma separated.
        known: String,
    },
    /// No message of the chat has that handle or id.
    #[error("no message `{name}` in chat `{chat}`; name it with `handle:` when it is posted")]
    UnknownMessage {
        /// The chat's handle.
        chat: String,
        /// The name that was asked for.
        name: String,
    },
    /// A value is invalid.
    #[error("{field}: {reason}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// The reason, and which value would be right.
        reason: String,
    },
    /// The scenario exceeds a limit of the fake.
    #[error("more than {max} {what}; use fewer")]
    TooMany {
        /// The things of which there are too many.
        what: &'static str,
        /// The limit.
        max: usize,
    },
}
