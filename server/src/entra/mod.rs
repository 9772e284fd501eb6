//! Sign-in: where access tokens come from, and what a token says about its owner.
//! It must never write a token anywhere, and never trust a claim for anything but a default.

mod claims;
mod token;

pub use claims::{Claims, TokenUse, claims, token_use};
pub use token::{AuthError, NoToken, StaticToken, TokenSource};
