//! Takes over the settings and positions of the Python server of the same name.
//!
//! It is pure: texts of files come in, a plan goes out. It must never take a secret, nor anything that this home has.

mod env_file;
mod plan;
mod positions;
mod toml_text;

pub use plan::{Found, Plan, plan};
pub use toml_text::merged;

#[cfg(test)]
mod tests;
