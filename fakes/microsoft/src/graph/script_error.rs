//! What a scenario asked of the world that it can't have.

/// A step of a scenario that cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// No person or application has that handle.
    #[error("no person or application `{name}` in this world; there are {known}")]
    UnknownPerson {
        /// What was asked for.
        name: String,
        /// What there is, comma separated.
        known: String,
    },
    /// No chat has that handle.
    #[error("no chat `{name}` in this world; there are {known}")]
    UnknownChat {
        /// What was asked for.
        name: String,
        /// What there is, comma separated.
        known: String,
    },
    /// No message of the chat has that handle or id.
    #[error("no message `{name}` in chat `{chat}`; name it with `handle:` when it is posted")]
    UnknownMessage {
        /// The chat's handle.
        chat: String,
        /// What was asked for.
        name: String,
    },
    /// A value makes no sense.
    #[error("{field}: {reason}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// Why, and what would do.
        reason: String,
    },
    /// A bound of the fake.
    #[error("more than {max} {what}; use fewer")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The bound.
        max: usize,
    },
}
