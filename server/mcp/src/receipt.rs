//! The receipt of an answer: what it stands for is told to its provider when the pipe has taken it.
//! It must never know what a provider makes of it.

/// Comes back when what it stands for has left. The provider that gave it out knows what that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Whom it was for, by the provider's own name for them.
    pub reader: String,
    /// Which delivery, by [`Connection::next_number`](crate::Connection::next_number).
    pub number: u64,
}
