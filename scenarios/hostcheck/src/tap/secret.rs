//! What stands in place of a secret in a log. It must never differ from the text that readers of a log look for.

/// The replacement of a secret.
pub(crate) const MASK: &str = "***";

/// A masked text and how many secrets were hidden in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<T> {
    /// The text.
    pub text: T,
    /// The number of hidden secrets.
    pub count: u32,
}
