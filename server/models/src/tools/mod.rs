//! Tools that a model asks for: joined from fragments, found in text, and repaired by stated rules.
//! It must never complete what was cut off, and never make up a value.

mod fragments;
mod in_text;
mod repair;

pub(crate) use fragments::{Fragment, Fragments, Joined};
pub(crate) use in_text::TextWatch;
pub(crate) use repair::{arguments, name};
