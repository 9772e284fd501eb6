//! The receipt of an answer, which goes back to its provider when the answer was sent.
//! It must never know what a provider uses it for.

/// Goes back to the provider that made it when its answer was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The reader of the answer, by the provider's own name.
    pub reader: String,
    /// The number of the delivery, from [`Connection::next_number`](crate::Connection::next_number).
    pub number: u64,
}
