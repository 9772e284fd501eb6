//! What a secret looks like, and texts without the secrets that can be recognised.
//!
//! There is one list, which the server and hostcheck share although neither may know the other. From the ground up:
//! `vendor` knows secrets by their vendor's prefix, `name` by the name of what holds them, `shape` by where they stand.
//!
//! It must never read a file, nor take more than linear time.

mod name;
mod shape;
mod vendor;

pub use name::{Secrecy, secrecy};
pub use shape::hide_possible;
pub use vendor::hide_sure;

/// A text and how many secrets were hidden in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hidden<'a> {
    /// The text.
    pub text: std::borrow::Cow<'a, str>,
    /// The number of hidden secrets.
    pub count: u32,
}
