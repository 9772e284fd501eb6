//! Taking over from the Python server of the same name: its settings, and how far it had read.
//!
//! Pure: files in as text, a plan out. It must never take a secret, nor anything that this home has already.

mod env_file;
mod plan;
mod positions;
mod toml_text;

pub use plan::{Found, Plan, plan};
pub use toml_text::merged;

#[cfg(test)]
mod tests;
